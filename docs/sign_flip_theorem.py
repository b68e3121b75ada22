"""The tables of docs/sign-flip-theorem.md: ``python docs/sign_flip_theorem.py``, a minute or two."""

import sys

import numpy as np
from scipy import stats

from bandstrap import SignFlipUCB, simulate
from bandstrap.environments import Arms
from bandstrap.theory import sign_flip_regret_bound, symmetric_divergence, symmetric_rate

GAPS = [0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0]
HORIZONS = [500, 2000, 20_000]
# Each with mean 0 and standard deviation 1.
LAWS = {
    "normal": stats.norm(),
    "Laplace": stats.laplace(scale=0.5**0.5),
    "uniform": stats.uniform(-(3**0.5), 2 * 3**0.5),
    "t(3)": stats.t(3, scale=3**-0.5),
}
COINS = stats.rv_discrete(values=([-1, 1], [0.5, 0.5]))


def about(name, mean):
    """One of the laws about another mean; coins have values of 1 less and 1 more."""
    moves = {
        "normal": lambda: stats.norm(mean),
        "Laplace": lambda: stats.laplace(mean, 0.5**0.5),
        "uniform": lambda: stats.uniform(mean - 3**0.5, 2 * 3**0.5),
        "t(3)": lambda: stats.t(3, mean, 3**-0.5),
        "coins": lambda: COINS(loc=mean),
    }
    return moves[name]()


def print_rates():
    """Rates at several gaps, and the divergence among symmetric rewards."""

    def row(name, values):
        sys.stdout.write(f"| {name} | {' | '.join(f'{value:.4f}' for value in values)} |\n")

    gaps = np.array(GAPS)
    row("self-normalised, J", gaps**2 / (2 * (1 + gaps**2)))
    for name, law in LAWS.items():
        row(f"{name}, I", symmetric_rate(law, gaps))
        row(f"{name}, K", symmetric_divergence(law, gaps))
    row("normal of unknown variance", np.log1p(gaps**2) / 2)


def print_pulls():
    """Pulls of the worse of two arms (standard error) / bound / ratio, at both levels."""
    problems = [(name, gap) for name in LAWS for gap in (1.0,)] + [("coins", 1.0), ("normal", 0.5), ("normal", 2.0)]
    for name, gap in problems:
        environment = Arms([about(name, gap), about(name, 0.0)])
        for alpha in (None, "1/T^2"):
            cells = []
            for horizon in HORIZONS:
                policy = SignFlipUCB(proved=True) if alpha is None else SignFlipUCB(proved=True, alpha=alpha)
                options = {"horizon": horizon, "replications": 200, "seed": 2026, "checkpoints": [horizon]}
                pulls = simulate(policy, environment, progress=False, **options).pulls[0, :, 1]
                bound = np.ceil(10 * sign_flip_regret_bound([0, gap], horizon, scales=1, alpha=alpha) / gap) / 10
                error = pulls.std() / np.sqrt(pulls.size)
                cells.append(f"{pulls.mean():.1f} ({error:.1f}) / {bound:.1f} / {pulls.mean() / bound:.2f}")
            sys.stdout.write(f"| {name}, gap {gap:g}, {alpha or 'falling'} | {' | '.join(cells)} |\n")


def print_default():
    """Mean regret (standard error) of the default and of the proved setting, gap 1."""
    players = {
        "default": SignFlipUCB(),
        "falling": SignFlipUCB(proved=True),
        "1/T^2": SignFlipUCB(proved=True, alpha="1/T^2"),
    }
    for name in [*LAWS, "coins"]:
        environment = Arms([about(name, 1.0), about(name, 0.0)])
        options = {"horizon": 2000, "replications": 200, "seed": 2026, "checkpoints": [2000]}
        result = simulate(players, environment, progress=False, **options)
        cells = zip(result.mean[:, -1], result.standard_error[:, -1], strict=True)
        sys.stdout.write(f"| {name} | {' | '.join(f'{mean:.1f} ({error:.1f})' for mean, error in cells)} |\n")


if __name__ == "__main__":
    print_rates()
    print_pulls()
    print_default()

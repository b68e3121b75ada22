"""The tables and the numbers of docs/theorem.md, and the curves of its figure: ``python docs/theorem.py``, some minutes."""

import sys
from pathlib import Path

import numpy as np
import polars
from scipy import stats

from bandstrap import CHKUCB, StudentizedUCB, simulate
from bandstrap.environments import Arms, Bernoulli, Gaussian, TruncatedNormal, UnequalVariances
from bandstrap.theory import lai_robbins_bound, studentized_regret_bound
from bandstrap.theory.studentized import computed_pulls, miss_probability, multiplier

HORIZONS = [200, 2000, 20_000]
PROBLEMS = {
    "gap 2": ([2, 0], [1, 1]),
    "gap 1": ([1, 0], [1, 1]),
    "gap 0.5": ([0.5, 0], [1, 1]),
    "gap 0.2": ([0.2, 0], [1, 1]),
    "gap 1, worse arm three times as noisy": ([1, 0], [1, 3]),
    "gap 1, best arm three times as noisy": ([1, 0], [3, 1]),
    "means 1, 0.8, 0.6, 0.4, 0.2": ([1, 0.8, 0.6, 0.4, 0.2], [1] * 5),
    "the same, deviations 0.5, 1, 2, 0.2, 1": ([1, 0.8, 0.6, 0.4, 0.2], [0.5, 1, 2, 0.2, 1]),
    "fifty means, from 1 to -1": (np.linspace(1, -1, 50).tolist(), [1] * 50),
}
# Where the bound is nearly met, and where it is far from it.
HARDER = {
    "gap 10": ([10, 0], [1, 1]),
    "gap 100": ([100, 0], [1, 1]),
    "gap 0.05": ([0.05, 0], [1, 1]),
    "gap 1, worse arm 100 times as noisy": ([1, 0], [1, 100]),
    "gap 1, best arm ten times as noisy": ([1, 0], [10, 1]),
    "gap 1, best arm 100 times as noisy": ([1, 0], [100, 1]),
    "gap 1, both deviations 0.01": ([1, 0], [0.01, 0.01]),
    "twenty arms, one of them better by 1": ([1] + [0] * 19, [1] * 20),
    "twenty arms, one of them better by 0.1": ([0.1] + [0] * 19, [1] * 20),
    "twenty arms, the best five times as noisy": ([1] + [0] * 19, [5] + [1] * 19),
    "twenty means, deviations from 0.1 to 10": (np.linspace(1, 0, 20).tolist(), np.geomspace(0.1, 10, 20).tolist()),
}
DRAWN = ["gap 2", "gap 1", "gap 0.2"]
COSTS = {
    "Gaussian": Gaussian(),
    "unequal variances": UnequalVariances(),
    "truncated normal": TruncatedNormal(),
    "Bernoulli": Bernoulli(),
    "rare Bernoulli": Bernoulli(mean_range=(0.01, 0.1)),
    "fifty arms": Gaussian(n_arms=50),
}
PLAYERS = {"default": StudentizedUCB(), "proved": StudentizedUCB(proved=True), "CHK-UCB": CHKUCB()}
# Each with mean 0.
LAWS = {
    "exponential": stats.expon(-1),
    "mirrored exponential": None,
    "Laplace": stats.laplace(),
    "uniform": stats.uniform(-1, 2),
    "t(3)": stats.t(3),
}


def play(means, scales, checkpoints, replications=400):
    """Measured regret of the proved setting."""
    laws = [stats.norm(*law) for law in zip(means, scales, strict=True)]
    options = {"horizon": checkpoints[-1], "checkpoints": checkpoints, "seed": 2019, "progress": False}
    return simulate(StudentizedUCB(proved=True), Arms(laws), replications=replications, **options)


def print_table():
    """Measured regret, the computed bound and their ratio at each horizon, and the closed form at the last."""
    for name, (means, scales) in PROBLEMS.items():
        result = play(means, scales, HORIZONS, 400 if len(means) < 50 else 100)
        bounds = studentized_regret_bound(means, scales, HORIZONS)
        cells = [
            f"{mean:.1f} ({error:.1f}) / {bound:.1f} / {bound / mean:.1f}"
            for mean, error, bound in zip(result.mean[0], result.standard_error[0], bounds, strict=True)
        ]
        closed = studentized_regret_bound(means, scales, HORIZONS[-1], form="closed")
        least = lai_robbins_bound(means, HORIZONS[-1], family="gaussian-unknown-variance", sigma=scales)
        row = " | ".join([name, *cells, f"{closed:.0f}", f"{least:.1f}"])
        sys.stdout.write(f"| {row} |\n")


def print_harder():
    """The same without the last columns, of problems in which the bound is nearly met or far from it."""
    for name, (means, scales) in HARDER.items():
        result = play(means, scales, HORIZONS, 200 if len(means) < 20 else 50)
        bounds = studentized_regret_bound(means, scales, HORIZONS)
        cells = [
            f"{mean:.1f} ({error:.1f}) / {bound:.1f} / {bound / mean:.2f}"
            for mean, error, bound in zip(result.mean[0], result.standard_error[0], bounds, strict=True)
        ]
        sys.stdout.write(f"| {' | '.join([name, *cells])} |\n")


def print_any_gap():
    """The bound for all gaps up to 3 sigma, two equal variances: pulls at the lower end of each of 109 intervals."""
    for horizon in HORIZONS:
        gaps = np.geomspace(0.1 / np.sqrt(horizon), 3, 110)
        pulls = [computed_pulls(gap, 1.0, 1.0, horizon) for gap in gaps[:-1]]
        worst = np.ceil(10 * np.max(gaps[1:] * pulls)) / 10  # it is a bound
        sys.stdout.write(f"T = {horizon}: {worst:.1f} sigma, {worst / np.sqrt(2 * horizon):.1f} times sigma sqrt(2T)\n")


def print_costs():
    """Mean regret (standard error) / 99th percentile after 2000 rounds of the default, the proved setting and CHK-UCB."""
    for name, environment in COSTS.items():
        result = simulate(
            PLAYERS, environment, horizon=2000, replications=400, seed=77, checkpoints=[2000], progress=False
        )
        last = zip(result.mean[:, -1], result.standard_error[:, -1], result.regret[:, :, -1], strict=True)
        cells = [f"{mean:.1f} ({error:.1f}) / {np.quantile(all_, 0.99):.0f}" for mean, error, all_ in last]
        sys.stdout.write(f"| {' | '.join([name, *cells])} |\n")


def print_consistent():
    """The same of the proved setting and of forced pulls that outgrow log t; two Bernoulli arms at 20,000 rounds, too."""
    players = {"proved": StudentizedUCB(proved=True), "consistent": StudentizedUCB(proved=True, consistent=True)}
    pair = {"two Bernoulli arms, 0.2 and 0.1": Bernoulli([0.2, 0.1])}
    plays = [(name, environment, 2000, 400) for name, environment in (COSTS | pair).items()]
    plays.append(("the same, 20,000 rounds", Bernoulli([0.2, 0.1]), 20_000, 200))
    for name, environment, horizon, replications in plays:
        options = {"horizon": horizon, "replications": replications, "seed": 77, "checkpoints": [horizon]}
        result = simulate(players, environment, progress=False, **options)
        cells = [
            f"{mean:.1f} ({error:.1f}) / {np.quantile(regret, 0.99):.0f}"
            for mean, error, regret in zip(
                result.mean[:, -1], result.standard_error[:, -1], result.regret[:, :, -1], strict=True
            )
        ]
        ratio = result.mean[1, -1] / result.mean[0, -1]
        sys.stdout.write(f"| {' | '.join([name, *cells, f'{ratio:.2f}'])} |\n")


def print_zeros_and_ones():
    """Two Bernoulli arms, of means 0.2 and 0.1."""
    options = {"horizon": 20_000, "replications": 200, "seed": 2019, "checkpoints": [20_000], "progress": False}
    result = simulate(StudentizedUCB(proved=True), Bernoulli([0.2, 0.1]), **options)
    given_up = np.mean(result.pulls[0, :, 0] < 5)
    bound = studentized_regret_bound([0.2, 0.1], np.sqrt([0.16, 0.09]), 20_000)
    measured = f"{result.mean[0, -1]:.0f} ({result.standard_error[0, -1]:.0f})"
    sys.stdout.write(f"zeros and ones: regret {measured}, given up in {given_up:.0%}, bound if normal {bound:.1f}\n")


def print_skewness(draws=400_000):
    """How often the index is below the mean: with normal rewards, and with others as a multiple of that."""
    for n in (5, 20):
        for level in (0.05, 0.005):
            normal = float(miss_probability(n, level, 0.0))
            factor = float(multiplier(n, level))
            cells = []
            for law in LAWS.values():
                rng = np.random.default_rng(2019)
                y = 1 - rng.exponential(size=(draws, n)) if law is None else law.rvs((draws, n), random_state=rng)
                index = y.mean(axis=1) + np.sqrt(y.var(axis=1)) * factor
                cells.append(f"x {np.mean(index <= 0) / normal:.2g}")
            sys.stdout.write(f"| {' | '.join([str(n), str(level), f'{normal:.2g}', *cells])} |\n")


def keep_curves(path):
    """What the picture shows: bound, measured regret and the least slope, from 10 to 20,000 rounds."""
    rounds = np.unique(np.geomspace(10, HORIZONS[-1], 25).astype(int)).tolist()
    frames = []
    for name in DRAWN:
        means, scales = PROBLEMS[name]
        columns = {
            "problem": name,
            "round": rounds,
            "bound": studentized_regret_bound(means, scales, rounds),
            "measured": play(means, scales, rounds).mean[0],
            "least": lai_robbins_bound(means, rounds, family="gaussian-unknown-variance", sigma=scales),
        }
        frames.append(polars.DataFrame(columns))
    polars.concat(frames).write_parquet(path)


if __name__ == "__main__":
    print_table()
    print_harder()
    print_any_gap()
    print_costs()
    print_consistent()
    print_zeros_and_ones()
    print_skewness()
    keep_curves(Path(__file__).with_name("theorem.parquet"))

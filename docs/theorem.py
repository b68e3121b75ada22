"""The table and the figure of docs/theorem.md: ``python docs/theorem.py``, some minutes."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

from bandstrap import StudentizedUCB, simulate
from bandstrap.environments import Arms
from bandstrap.theory import lai_robbins_bound, studentized_regret_bound

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
DRAWN = ["gap 2", "gap 1", "gap 0.2"]


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


def draw(path):
    """Bound above measured regret, from 10 to 20,000 rounds."""
    rounds = np.unique(np.geomspace(10, HORIZONS[-1], 25).astype(int)).tolist()
    figure, axes = plt.subplots(1, len(DRAWN), figsize=(9, 3), layout="constrained")
    for ax, name in zip(axes, DRAWN, strict=True):
        means, scales = PROBLEMS[name]
        result = play(means, scales, rounds)
        (line,) = ax.plot(rounds, studentized_regret_bound(means, scales, rounds), label="bound (theorem 1)")
        ax.plot(rounds, result.mean[0], color=line.get_color(), linestyle="--", label="measured mean")
        least = lai_robbins_bound(means, rounds, family="gaussian-unknown-variance", sigma=scales)
        ax.plot(rounds, least, color="0.6", linestyle=":", label="least slope, times log T")
        ax.set(xscale="log", xlabel="rounds", title=name)
    axes[0].set_ylabel("regret")
    axes[0].legend(fontsize=8)
    figure.savefig(path, dpi=80)


if __name__ == "__main__":
    print_table()
    draw(Path(__file__).with_name("theorem.png"))

"""Figure 1 of the paper: thresholds of a 95 % bound on the mean of truncated-normal rewards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from scipy import stats

from bandstrap.bounds import bootstrap, hoeffding, sign_flip
from bandstrap.bounds.empirical_bernstein import empirical_bernstein_terms
from bandstrap.errors import Floats
from bandstrap.plots.style import new_figure

ALPHA, DELTA, SIGMA = 0.05, 0.1, 1.0  # the settings that match the published curves
SUPPORT = (-1.0, 1.0)
SMALL_SIZES = tuple(range(1, 21))
LARGE_SIZES = (20, 30, 50, 70, 100, 150, 200, 300, 400, 550, 700, 850, 1000)

# label, colour, line style, width; the same curve looks the same in both panels
CURVES = {
    "exact": ("true 95 % quantile of the mean", "#000000", "-", 2.4),
    "none": ("bootstrap, naive", "#56B4E9", "--", 1.6),
    "practical": ("bootstrap, practical", "#0072B2", "-", 1.8),
    "stated": ("bootstrap, as stated", "#0072B2", ":", 1.8),
    "sharp": ("bootstrap, sharp (proved at 2 alpha)", "#009E73", "-", 1.8),
    "sign_flip": ("sign flip (no sigma)", "#CC79A7", "-", 1.8),
    "hoeffding": ("Hoeffding, sigma = 1", "#D55E00", "-.", 1.6),
    "bernstein_1": ("empirical Bernstein, b = 1 (paper)", "#E69F00", ":", 1.6),
    "bernstein_2": ("empirical Bernstein, b = 2 (right)", "#E69F00", "-.", 1.6),
}


@dataclass(frozen=True)
class Figure1Panel:
    """Mean threshold of each curve at each sample size; ``exact`` is a number of the distribution, not of samples."""

    sizes: tuple[int, ...]
    thresholds: dict[str, Floats]


def exact_mean_quantile(n: int, alpha: float, n_cells: int = 1000) -> float:
    """Upper ``alpha`` quantile of the mean of ``n`` rewards from N(0, 1) cut to [-1, 1].

    The law is put on a grid of ``n_cells`` cells and convolved with itself by FFT; the grid is finer than the line.
    """
    edges = np.linspace(*SUPPORT, n_cells + 1)
    mass = np.diff(stats.truncnorm(*SUPPORT).cdf(edges))
    length = n * (n_cells - 1) + 1
    size = 1 << (length - 1).bit_length()
    sums = np.fft.irfft(np.fft.rfft(mass, size) ** n, size)[:length]
    # Cell j of the sum lies between its two edges, so its distribution function is known at the upper ones.
    cell = (SUPPORT[1] - SUPPORT[0]) / n_cells
    upper_edges = SUPPORT[0] + cell * ((np.arange(length) + n / 2) / n + 0.5 / n)
    return float(np.interp(1 - alpha, np.cumsum(sums), upper_edges))


def figure1_panel(sizes: Sequence[int], replications: int, seed: int) -> Figure1Panel:
    """Thresholds at ``sizes``, each averaged over ``replications`` samples."""
    law = stats.truncnorm(*SUPPORT)
    rows: dict[str, list[float]] = {name: [] for name in CURVES}
    for n in sizes:
        rewards = law.rvs(size=(replications, n), random_state=np.random.default_rng([seed, n]))
        rows["exact"].append(exact_mean_quantile(n, ALPHA))
        for form in ("none", "practical", "stated", "sharp"):
            bound = bootstrap(rewards, ALPHA, delta=DELTA, sigma=SIGMA, correction=form)
            rows[form].append(float(np.mean(bound.width)))
        rows["sign_flip"].append(float(np.mean(sign_flip(rewards, ALPHA).width)))
        rows["hoeffding"].append(float(np.mean(hoeffding(rewards, ALPHA, sigma=SIGMA).width)))
        for spread in (1, 2):
            main, rest = empirical_bernstein_terms(rewards.var(axis=-1), n, ALPHA, spread)
            rows[f"bernstein_{spread}"].append(float(np.mean(main)) + rest)
    return Figure1Panel(tuple(sizes), {name: np.array(values) for name, values in rows.items()})


def plot_figure1(replications: int = 200, seed: int = 0) -> Figure:
    """Draw both panels of Figure 1, every form labelled."""
    figure, axes = new_figure(12, 5.6, columns=2)
    for axis, sizes, name in zip(axes, (SMALL_SIZES, LARGE_SIZES), ("small", "large"), strict=True):
        panel = figure1_panel(sizes, replications, seed)
        for key, (label, colour, dash, width) in CURVES.items():
            values = panel.thresholds[key]
            axis.plot(panel.sizes, values, dash, color=colour, linewidth=width, label=label)
        axis.set_title(f"{name} samples")
        axis.set_xlabel("sample size n")
        axis.set_yscale("log")
    axes[0].set_ylabel("threshold above the sample mean (log scale)")
    axes[0].set_xticks([1, 5, 10, 15, 20])
    axes[1].set_xscale("log")
    axes[1].set_xticks([20, 50, 100, 200, 500, 1000], ["20", "50", "100", "200", "500", "1000"])
    axes[1].minorticks_off()
    for axis in axes:
        ticks = [
            tick
            for tick in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20)
            if axis.get_ylim()[0] <= tick <= axis.get_ylim()[1]
        ]
        axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.tick_params(axis="y", which="minor", left=False)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle(
        f"95 % upper bounds on the mean of N(0, 1) cut to [-1, 1]; thresholds averaged over {replications} samples"
    )
    return figure

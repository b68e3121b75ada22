"""Evidence like the paper's, made up: every claim holds on it."""

import dataclasses
import functools
from pathlib import Path

import numpy as np

from bandstrap.bounds.coverage import CoverageRow
from bandstrap.experiments import PanelData, read_experiment
from bandstrap.experiments.panels import CurveData
from bandstrap.experiments.spec import Curve
from bandstrap.paper.reproduce import EVIDENCE, FIGURES, paper_file

BUCB = "Bootstrapped UCB"
N = 200
ROUNDS = np.unique(np.linspace(1, 2000, 200).round())


@functools.cache
def spec_panels():
    names = [*(f"figure{name}" for name in FIGURES), *EVIDENCE]
    return {
        panel.name: (panel, name)
        for name in names
        for panel in read_experiment(Path(paper_file(f"{name}.toml"))).panels
    }


# --- evidence that agrees with the paper -------------------------------------------------------------------------------

# Ends of curves without a published value.
ENDS = {
    "OFUL, lambda = 1, no S": 500,
    "TSL": 1550,
    "TSL, larger constant": 4400,
    "TS, right prior": 120,
    "Giro, a = 0.1": 280,
    "naive bootstrap": 180,
    "naive, normal weights": 180,
    "naive, exponential weights": 180,
    "naive, Efron's weights": 180,
    "naive, Mammen's weights": 180,
    "UCB": 30,
    "Bernoulli-TS": 10,
    "Jeffreys-TS": 15,
    BUCB: 22,
    "Giro": 33,
}
# What it has beside a curve that has published points, in parts of that one.
BESIDE = {"Bootstrapped UCB, interpolated": 0.98, "BUCBL, lambda = 1, no S": 1.3}
# Curves that the paper says to be straight lines, by what their names begin with, and the figure.
STRAIGHT = (("naive", "6"), ("naive", "C6"), ("Giro", "7"))
SWEPT = {
    "4a": {"Jeffreys-TS": {1: 58}, "UCB": {1: 73}, BUCB: {1: 74}},
    "4b": {
        "Jeffreys-TS": {0: 0},
        "UCB": {0: 0, 0.1: 113, 0.2: 130, 0.5: 88, 1: 54},
        "UCB, level 1/(t log t)": {0: 0},
        BUCB: {0: 0},
    },
}
# Regret at the end of panels in which all curves are alike.
PANEL_ENDS = {"T3-arms-2": 90, "T3-arms-5": 4 * 90, "T3-arms-10": 9 * 90}
EXACT = "true 95 % quantile of the mean"
THRESHOLDS = {
    "needed by a coin": lambda n: 1.45 * n / (n + 2),
    "enough for the proof": lambda n: 2 * n / (n + 2),
    EXACT: lambda n: 0.868 / np.sqrt(n),
    "bootstrap, naive": lambda n: 0.8 / np.sqrt(n),
    "bootstrap, practical": lambda n: 0.868 / np.sqrt(n) + 2.448 / n,
    "bootstrap, as stated": lambda n: 0.8 / np.sqrt(n) + 6.4 / n,
    "bootstrap, sharp (proved at 2 alpha)": lambda n: 5 / n**0.8,
    "resampling, B = 200": lambda n: 200 + 0 * n,
    "empirical KL-UCB": lambda n: 40 + 0 * n,
    "sign flip (no sigma)": lambda n: 0.9 / np.sqrt(n),
    "Hoeffding, sigma = 1": lambda n: 2.448 / np.sqrt(n),
    "empirical Bernstein, b = 1 (paper)": lambda n: 12.28 / n + 1.54 * np.sqrt(1 / n - 1 / n**2),
    "empirical Bernstein, b = 2 (correct)": lambda n: 24.56 / n + 1.54 * np.sqrt(1 / n - 1 / n**2),
}


def luck(name, n=N):
    """What replications of a panel share, small: a tenth of the mean, and three where the paper's bands say so."""
    return 1 + (0.3 if name == "4a" else 0.1) * np.random.default_rng(list(name.encode())).standard_normal(n)


def beside(panel, curve):
    """A curve that stands beside another as if it had its published points, and the factor it is meant to have."""
    if curve.label not in BESIDE:
        return curve, 1.0
    other = next(each for each in panel.curves if each.label == curve.label.partition(",")[0])
    return curve.model_copy(update={"published": other.published}), BESIDE[curve.label]


def regret_curve(panel, curve):
    own = np.random.default_rng(len(curve.label)).standard_normal((N, 1))
    values = (luck(panel.name)[:, None] + 0.01 * own) * mean_regret(panel, curve)
    return CurveData(curve, ROUNDS, values, (), 1.0)


def mean_regret(panel, curve):
    """Through the published points, and like a logarithm or a straight line up to a single one."""
    curve, factor = beside(panel, curve)
    return factor * published_regret(panel, curve)


def published_regret(panel, curve):
    if isinstance(curve.published, tuple) and len(curve.published) > 1:
        places, values = zip(*curve.published, strict=True)
        end = values[-1] * 2000 / places[-1]
        return np.interp(ROUNDS, (0, *places, 2000.5), (0, *values, end))
    unpublished = PANEL_ENDS.get(panel.name) or ENDS.get(curve.label)
    last = curve.published if curve.published is not None else unpublished
    last = float(last[0][1] if isinstance(last, tuple) else last)
    straight = any(curve.label.startswith(name) and panel.name.startswith(figure) for name, figure in STRAIGHT)
    return last * (ROUNDS / 2000 if straight else np.log1p(ROUNDS) / np.log(2001))


def swept_curve(panel, curve):
    places = np.array(panel.sweep.values, dtype=float)
    if panel.name in ("T3-horizon", "T3-schedule"):
        mean = (3 if "remark" in curve.label else 4) * np.log(places)
    elif panel.name.startswith("T3-beta"):
        mean = 2 * np.log(2 / places)
    elif panel.name.startswith("T3-worst"):
        # The third gap of five is the worst, beyond what four times the gap explain.
        mean = 4 * places + 3 * panel.horizon**0.4 * (1 - 0.1 * np.abs(np.arange(places.size) - 2))
    elif panel.name == "T3-gap":
        mean = 40 / np.sqrt(places)
    else:
        published, factor = beside(panel, curve)
        known = SWEPT.get(panel.name, {}).get(curve.label, {}) | dict(published.published or ())
        mean = factor * np.interp(places, sorted(known), [known[place] for place in sorted(known)])
    own = np.random.default_rng(len(curve.label)).standard_normal((N, places.size))
    return CurveData(curve, places, mean * (luck(panel.name)[:, None] + 0.01 * own), (), 1.0)


def row(n, miss_rate, width=1.0, total=4000):
    misses = round(miss_rate * total)
    return CoverageRow(
        "b", n, 0.05, total, misses, misses / total, 0.0, 1.0, width, None, mean_width=width, width_error=0.01 * width
    )


def bound_curve(panel, curve):
    places = np.array(panel.sample_sizes, dtype=float)
    widths = THRESHOLDS.get(curve.label, lambda n: 1 / n)(places) * (not panel.name.startswith("T4-zeros"))
    if panel.name == "T2-1.33-path" and "printed" in curve.label:  # too small, as is known
        widths = places**-1.25
    rate = 0.2 if "naive" in curve.label else 0.01
    rows = tuple(row(int(n), rate, float(width)) for n, width in zip(places, widths, strict=True))
    if curve.bound == "exact":  # computed, from no sample
        rows = tuple(dataclasses.replace(one, replications=0, misses=0, miss_rate=0.0, width_error=0.0) for one in rows)
    return CurveData(curve, places, widths[None, :], rows, 1.0)


MAKERS = {"regret": regret_curve, "sweep": swept_curve, "bounds": bound_curve}


def agreeing():
    return {
        name: PanelData(panel, tuple(MAKERS[panel.plot](panel, curve) for curve in panel.curves))
        for name, (panel, _) in spec_panels().items()
    }


def published_curve(values, published, places=(10.0,)):
    """A curve of these values with what the paper prints for it."""
    curve = Curve(label="c", policy="ucb1", published=published)
    return CurveData(curve, np.array(places), np.asarray(values, dtype=float).reshape(-1, len(places)), (), 0.0)

"""How often bounds miss the mean of skewed rewards, beside SciPy's bootstrap on the same samples."""

import math
from collections.abc import Callable, Iterator

import numpy as np
from scipy import stats

from bandstrap.bounds import bca, bootstrap, bootstrap_t, hall, student_t
from benchmarks.document import Row, Table

ALPHA = 0.05
SIZES = (20, 50)
REPLICATIONS = 1000
N_RESAMPLES = 999
# Laws with their means.
LAWS: dict[str, tuple[Callable, float]] = {
    "gamma(1/2)": (lambda rng, shape: rng.gamma(0.5, size=shape), 0.5),
    "lognormal": (lambda rng, shape: rng.lognormal(size=shape), math.exp(0.5)),
    "Pareto(2.2)": (lambda rng, shape: 1 + rng.pareto(2.2, size=shape), 2.2 / 1.2),
    "revenue, one in 5 buys": (
        lambda rng, shape: (rng.random(shape) < 0.2) * rng.lognormal(size=shape),
        0.2 * math.exp(0.5),
    ),
}
BOUNDS: dict[str, Callable] = {
    "student_t": student_t,
    "bootstrap (mammen)": lambda sample, alpha, side: bootstrap(
        sample,
        alpha,
        side=side,
        weights="mammen",
        correction="none",
        quantile="monte-carlo",
        n_resamples=N_RESAMPLES,
        rng=0,
    ),
    "bootstrap_t": lambda sample, alpha, side: bootstrap_t(sample, alpha, side=side, n_resamples=N_RESAMPLES),
    "hall": lambda sample, alpha, side: hall(sample, alpha, side=side, n_resamples=N_RESAMPLES),
    "bca": lambda sample, alpha, side: bca(sample, alpha, side=side, n_resamples=N_RESAMPLES),
}


def tables() -> Iterator[Table]:
    """One table per law and sample size."""
    for law, (draw, mean) in LAWS.items():
        for n in SIZES:
            samples = draw(np.random.default_rng([1, n]), (REPLICATIONS, n))
            rows = [
                Row(f"{name}, {side}", 100 * float(bound(samples, ALPHA, side=side).misses(mean).mean()), "%")
                for side in ("upper", "lower")
                for name, bound in BOUNDS.items()
            ]
            low, high = scipy_ends(samples)
            rows.insert(len(BOUNDS), Row("SciPy's BCa, upper", 100 * float((mean > high).mean()), "%"))
            rows.append(Row("SciPy's BCa, lower", 100 * float((mean < low).mean()), "%"))
            yield Table(f"How often are {n} rewards of {law} missed at alpha = {ALPHA}?", rows)


def scipy_ends(samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both ends, each at ``ALPHA``, of ``scipy.stats.bootstrap``."""
    found = stats.bootstrap(
        (samples,),
        np.mean,
        axis=-1,
        n_resamples=N_RESAMPLES,
        batch=20,
        confidence_level=1 - 2 * ALPHA,
        method="BCa",
        rng=np.random.default_rng(2),
    ).confidence_interval
    return found.low, found.high

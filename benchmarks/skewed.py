"""How often bounds miss the mean of skewed rewards, beside SciPy's bootstrap on the same samples."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import stats

from bandstrap.bounds import Bound, bca, bootstrap, bootstrap_t, hall, student_t
from benchmarks.document import Row, Table

ALPHA = 0.05
SIZES = (20, 50)
REPLICATIONS = 1000
N_RESAMPLES = 999
DRAWN = {"n_resamples": N_RESAMPLES}
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
# With the options of each.
BOUNDS: dict[str, tuple[Callable[..., Bound], dict[str, Any]]] = {
    "student_t": (student_t, {}),
    "bootstrap (mammen)": (bootstrap, {"weights": "mammen", "correction": "none", "quantile": "monte-carlo", **DRAWN}),
    "bootstrap_t": (bootstrap_t, DRAWN),
    "hall": (hall, DRAWN),
    "bca": (bca, DRAWN),
}


def tables() -> Iterator[Table]:
    """One table per law and sample size."""
    for law, (draw, mean) in LAWS.items():
        for n in SIZES:
            samples = draw(np.random.default_rng([1, n]), (REPLICATIONS, n))
            rows = [
                Row(f"{name}, {side}", 100 * miss_rate(bound, samples, mean, side), "%")
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


def miss_rate(bound: tuple[Callable[..., Bound], dict[str, Any]], samples: np.ndarray, mean: float, side: str) -> float:
    """Share of samples whose bound misses the mean; a bound that draws does so anew for every 20 of them."""
    function, options = bound
    if options:
        options = options | {"rng": np.random.default_rng(3)}
    found = [function(some, ALPHA, side=side, **options).misses(mean) for some in np.split(samples, REPLICATIONS // 20)]
    return float(np.mean(found))

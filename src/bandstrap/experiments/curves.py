"""Curves that stand beside bounds in a panel: the law itself, what theorems say, and what lemmas are used for.

Each has a name like a bound and gives a row like a bound's; most need no samples.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

import numpy as np

from bandstrap.bounds.coverage import CoverageRow, binomial_interval, draw_samples, measure_exact, resolve_distribution
from bandstrap.bounds.laws import target
from bandstrap.calls import Call
from bandstrap.errors import InvalidInput, check_choice
from bandstrap.multipliers import bootstrap_quantile
from bandstrap.theory.tails import (
    Form,
    least_mean_deviation,
    mean_deviation_bound,
    mean_moment,
    theorem_2_terms,
)

# Samples from which the law of the weighted mean is known, far more than are looked at.
N_POOLED = 400_000
# What the number that quantiles are compared with belongs to: ``alpha``, or its square.
Level = Literal["as used", "squared"]
LEVELS: tuple[Level, ...] = get_args(Level)


def exact(distribution: str, n: int, alpha: float, replications: int, seed: int) -> CoverageRow:
    """The upper quantile of ``mean - sample mean``: what no bound can beat on average."""
    return measure_exact(distribution, n, alpha)


def theorem_2(
    distribution: str,
    n: int,
    alpha: float,
    replications: int,
    seed: int,
    *,
    beta: float,
    form: Form = "corrected",
    power: float | None = None,
) -> CoverageRow:
    """Theorem 2 with ``C = sigma = 1``; with ``power`` at level ``exp(-n^power)`` in place of ``alpha``."""
    return _value("theorem_2", n, alpha, theorem_2_terms(n, _log_level(n, alpha, power), beta, form=form))


def least_deviation(
    distribution: str, n: int, alpha: float, replications: int, seed: int, *, beta: float, power: float | None = None
) -> CoverageRow:
    """What every bound for rewards of ``psi_beta`` norm 1 must exceed, at the same levels."""
    return _value("least_deviation", n, alpha, least_mean_deviation(n, _log_level(n, alpha, power), beta))


def proved_deviation(
    distribution: str, n: int, alpha: float, replications: int, seed: int, *, beta: float
) -> CoverageRow:
    """What moments prove for rewards of ``psi_beta`` norm 1."""
    return _value("proved_deviation", n, alpha, mean_deviation_bound(n, alpha, sigma=1.0, beta=beta))


def moment(distribution: str, n: int, alpha: float, replications: int, seed: int, *, beta: float) -> CoverageRow:
    """Left side of lemma 1 for equal weights, of the order ``log(1/alpha)`` rounded to an even number."""
    order = max(2, 2 * round(math.log(1 / alpha) / 2))
    return _value("moment", n, alpha, mean_moment(n, order, beta))


def quantile_above_joint(
    distribution: str, n: int, alpha: float, replications: int, seed: int, *, level: Level = "as used"
) -> CoverageRow:
    r"""How often the bootstrapped quantile of a sample exceeds the quantile of the weighted mean over all samples.

    Lemma 2 bounds ``(1/n) sum (w_i - wbar)(y_i - mu)`` over weights and rewards together. Let ``x`` be the smallest
    number for which its sentence holds at ``alpha``; a miss is a sample with ``q_alpha(y - ybar) > x``. The proof of
    theorem 3 takes the probability of that to be at most ``alpha`` (``level="as used"``); Markov's inequality gives it if
    ``x`` belongs to ``alpha^2`` (``level="squared"``).
    """
    check_choice(level, "level", "quantile_above_joint", LEVELS)
    rng = np.random.default_rng([seed, n, 2])
    law = resolve_distribution(distribution)
    mean = target(law)
    pooled = draw_samples(law, (N_POOLED, n), rng) - mean
    signs = 2.0 * rng.integers(0, 2, size=pooled.shape) - 1.0
    signs -= signs.mean(axis=1, keepdims=True)
    joint = np.sort((signs * pooled).mean(axis=1))
    tail = alpha if level == "as used" else alpha**2
    # Three standard errors outward: too large a number hides a fault, and makes none up.
    count = N_POOLED * tail
    x = float(joint[-max(1, int(count - 3 * math.sqrt(count)))])
    sample = draw_samples(law, (replications, n), rng)
    quantiles = np.asarray(bootstrap_quantile(sample, alpha))
    misses = int(np.sum(quantiles > x))
    low, high = binomial_interval(misses, replications)
    width = float(quantiles.mean())
    return CoverageRow(
        "quantile_above_joint", n, alpha, replications, misses, misses / replications, low, high, width, None,
        mean_width=width,
    )  # fmt: skip


def kl_visits(
    distribution: str, n: int, alpha: float, replications: int, seed: int, *, upper: float, n_arms: int
) -> CoverageRow:
    r"""How often the index of empirical KL-UCB looks at each reward of an arm, on average over samples.

    Counted on the method of the paper's package, PymaBandits: one look at ``f(U) < D``, where
    ``f(v) = mean log(v - y) + log mean 1/(v - y)`` and ``D = log(t)/n``; else Newton's method on ``f(v) = D`` from
    ``max y + 0.1`` until a step is below ``1e-4``, one look at each. Arms have been pulled equally often, ``t = n_arms n``.
    """
    rng = np.random.default_rng([seed, n, 3])
    divergence = math.log(n_arms * n) / n
    looks = []
    for y in draw_samples(resolve_distribution(distribution), (replications, n), rng):
        looks.append(1)
        if np.log(upper - y).mean() + math.log((1 / (upper - y)).mean()) < divergence or np.ptp(y) == 0:
            continue
        highest = float(y.max())
        v, step = highest + 0.1, math.inf
        while abs(step) > 1e-4:
            inverse = float((1 / (v - y)).mean())
            f = float(np.log(v - y).mean()) + math.log(inverse)
            step = (f - divergence) / (inverse - float((1 / (v - y) ** 2).mean()) / inverse)
            v = v - step if v - step > highest else (v + highest) / 2
            looks[-1] += 1
    return _value("kl_visits", n, alpha, float(np.mean(looks)))


def resampling_visits(
    distribution: str, n: int, alpha: float, replications: int, seed: int, *, n_resamples: int
) -> CoverageRow:
    """The same of a quantile by ``B`` fresh draws, definition (D.1): ``B`` weighted sums over all rewards."""
    return _value("resampling_visits", n, alpha, float(n_resamples))


CURVES: Mapping[str, Callable[..., CoverageRow]] = {
    function.__name__: function
    for function in (
        exact,
        theorem_2,
        least_deviation,
        proved_deviation,
        moment,
        quantile_above_joint,
        kl_visits,
        resampling_visits,
    )
}


def check_curve(call: Call, distribution: str, alpha: float) -> None:
    """Refuse a curve that would fail, by looking at a sample of one."""
    checked = inspect.signature(CURVES[call.name])
    known = [name for name, option in checked.parameters.items() if option.kind is option.KEYWORD_ONLY]
    needed = [name for name in known if checked.parameters[name].default is inspect.Parameter.empty]
    if not set(needed) <= set(call.options) <= set(known):
        takes = f"the options {', '.join(known)}" if known else "no options"
        raise InvalidInput(f"the bound {call.name!r} takes {takes}. Got {str(call)!r} instead.")
    measure_curve(call, distribution, 1, alpha, 1, 0)


def measure_curve(call: Call, distribution: str, n: int, alpha: float, replications: int, seed: int) -> CoverageRow:
    """The row of a curve by name."""
    return CURVES[call.name](distribution, n, alpha, replications, seed, **call.options)


def _log_level(n: int, alpha: float, power: float | None) -> float:
    return math.log(1 / alpha) if power is None else float(n) ** power


def _value(name: str, n: int, alpha: float, value: Any) -> CoverageRow:
    """A row that holds a number, as if it were a width."""
    return CoverageRow(name, n, alpha, 0, 0, 0.0, 0.0, 0.0, value, None, mean_width=value, width_error=0.0)

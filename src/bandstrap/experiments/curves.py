"""Curves that stand beside bounds in a panel: the distribution itself, what theorems say, and what lemmas are used for.

Each has a name like a bound and gives a number, which stands where a bound has its width, or a row like a bound's.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, get_args

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.basics.calls import Call
from bandstrap.basics.distributions import KnownLaw
from bandstrap.bounds.corrections import CORRECTIONS, Correction, correction_term
from bandstrap.bounds.coverage import CoverageRow, binomial_interval, draw_samples, measure_exact, resolve_distribution
from bandstrap.bounds.distributions import target
from bandstrap.errors import InvalidInput, check_choice, check_number
from bandstrap.multipliers import bootstrap_quantile
from bandstrap.theory.coin import coin_constant, coin_misses, proof_constant
from bandstrap.theory.tails import TheoremForm, sub_weibull_constant
from bandstrap.theory.weighted_sums import least_sum_deviation, sum_deviation_bound, sum_moment, weighted_terms

# Samples from which the distribution of the weighted mean is known, far more than are looked at.
N_POOLED = 400_000
# What the number that quantiles are compared with belongs to: ``alpha``, or its square.
Level = Literal["as used", "squared"]
LEVELS: tuple[Level, ...] = get_args(Level)
# A bound on the mean of a coin's tosses, above 1, that never fails.
PHI_OF_COIN = 1 + 1e-6
Inequality = Literal["first", "second"]
# Weights of a sum of n rewards.
Shape = Literal["equal", "one large"]
SHAPES: Mapping[Shape, Callable[[int], Floats]] = {
    "equal": lambda n: np.full(n, 1 / n),
    "one large": lambda n: np.where(np.arange(n) == 0, 1.0, 1 / n),
}
INEQUALITIES: tuple[Inequality, ...] = get_args(Inequality)


class Cell(NamedTuple):
    """Point at which a curve is measured."""

    distribution: str
    n: int
    alpha: float
    replications: int
    seed: int

    def samples(self, stream: int) -> tuple[KnownLaw, np.random.Generator]:
        """The distribution, and the generator of a curve's own."""
        return resolve_distribution(self.distribution), np.random.default_rng([self.seed, self.n, stream])

    def row(self, name: str, misses: int, width: float) -> CoverageRow:
        """So many samples that missed, and a width."""
        low, high = binomial_interval(misses, self.replications)
        rates = misses / self.replications, low, high
        return CoverageRow(name, self.n, self.alpha, self.replications, misses, *rates, width, None, mean_width=width)


def exact(at: Cell) -> CoverageRow:
    """The upper quantile of ``mean - sample mean``: what no bound can beat on average."""
    return measure_exact(at.distribution, at.n, at.alpha)


def theorem_2(
    at: Cell, *, beta: float, form: TheoremForm = "corrected", power: float | None = None, weights: Shape = "equal"
) -> float:
    """Theorem 2 with ``C = sigma = 1``; with ``power`` at level ``exp(-n^power)`` in place of ``alpha``.

    ``weights`` are those of the sum: 1/n each, or one of 1 and the others 1/n.
    """
    return weighted_terms(_weights(weights, at.n), _log_level(at, power), beta, form=form)


def least_deviation(at: Cell, *, beta: float, power: float | None = None, weights: Shape = "equal") -> float:
    """Deviation that every bound for rewards of ``psi_beta`` norm 1 must exceed, at the same levels."""
    return least_sum_deviation(_weights(weights, at.n), _log_level(at, power), beta)


def proved_deviation(at: Cell, *, beta: float, power: float | None = None, weights: Shape = "equal") -> float:
    """Deviation that moments prove for rewards of ``psi_beta`` norm 1, at the same levels; those must be numbers
    above 0.
    """
    return sum_deviation_bound(_weights(weights, at.n), math.exp(-_log_level(at, power)), sigma=1.0, beta=beta)


def moment(at: Cell, *, beta: float, power: float | None = None, weights: Shape = "equal") -> float:
    """Left side of lemma 1, of the order ``log(1/alpha)`` rounded to an even number."""
    return sum_moment(_weights(weights, at.n), max(2, 2 * round(_log_level(at, power) / 2)), beta)


def quantile_above_joint(at: Cell, *, level: Level = "as used") -> CoverageRow:
    r"""Frequency with which the bootstrapped quantile of a sample exceeds the quantile of the weighted mean over all
    samples.

    Lemma 2 bounds ``(1/n) sum (w_i - wbar)(y_i - mu)`` over weights and rewards together. Let ``x`` be the smallest
    number for which its sentence holds at ``alpha``; a miss is a sample with ``q_alpha(y - ybar) > x``. The proof of
    theorem 3 takes the probability of that to be at most ``alpha`` (``level="as used"``); Markov's inequality gives it if
    ``x`` belongs to ``alpha^2`` (``level="squared"``).
    """
    check_choice(level, "level", "quantile_above_joint", LEVELS)
    law, rng = at.samples(2)
    pooled = draw_samples(law, (N_POOLED, at.n), rng) - target(law)
    signs = 2.0 * rng.integers(0, 2, size=pooled.shape) - 1.0
    signs -= signs.mean(axis=1, keepdims=True)
    joint = np.sort((signs * pooled).mean(axis=1))
    tail = at.alpha if level == "as used" else at.alpha**2
    # Three standard errors outward: too large a number hides a fault, and makes none up.
    count = N_POOLED * tail
    x = float(joint[-max(1, int(count - 3 * math.sqrt(count)))])
    quantiles = np.asarray(bootstrap_quantile(draw_samples(law, (at.replications, at.n), rng), at.alpha))
    return at.row("quantile_above_joint", int(np.sum(quantiles > x)), float(quantiles.mean()))


def quantile_above_formula(at: Cell, *, beta: float, sigma: float) -> CoverageRow:
    """Frequency with which the bootstrapped quantile exceeds what the proof of theorem 3 displays after lemma 2.

    A miss is a sample with ``q_alpha(y - ybar) > C sigma (sqrt(log(1/alpha)/n) + log(1/alpha)^(1/beta)/n)``, ``C`` that of
    theorem 2; the width is the largest quantile over that number.
    """
    law, rng = at.samples(4)
    terms = weighted_terms(_weights("equal", at.n), _log_level(at, None), beta, form="printed")
    bound = sub_weibull_constant(beta) * sigma * terms
    shares = np.asarray(bootstrap_quantile(draw_samples(law, (at.replications, at.n), rng), at.alpha)) / bound
    return at.row("quantile_above_formula", int(np.sum(shares > 1)), float(shares.max()))


def kl_visits(at: Cell, *, upper: float, n_arms: int) -> float:
    r"""Number of looks of the index of empirical KL-UCB at each reward of an arm, on average over samples.

    Counted on the method of the paper's package, PymaBandits: one look at ``f(U) < D``, where
    ``f(v) = mean log(v - y) + log mean 1/(v - y)`` and ``D = log(t)/n``; else Newton's method on ``f(v) = D`` from
    ``max y + 0.1`` until a step is below ``1e-4``, one look at each. Arms have been pulled equally often, ``t = n_arms n``.
    """
    law, rng = at.samples(3)
    divergence = math.log(n_arms * at.n) / at.n
    looks = []
    for y in draw_samples(law, (at.replications, at.n), rng):
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
    return float(np.mean(looks))


def resampling_visits(_: Cell, *, n_resamples: int) -> float:
    """The same of a quantile by ``B`` fresh draws, definition (D.1): ``B`` weighted sums over all rewards."""
    return float(n_resamples)


def coin(at: Cell, *, correction: Correction, delta: float) -> CoverageRow:
    """Theorem 1 on a fair coin at the level that suits it worst: the probability of a miss over ``2 alpha``, exactly.

    ``phi`` is a constant above 1, which no mean of a coin reaches. The row has the level and the probability.
    """
    check_choice(correction, "correction", "coin", CORRECTIONS)

    def misses(level: float) -> float:
        return float(coin_misses(at.n, level * (1 - delta), _term_of_coin(at.n, level, correction, delta)))

    return _worst_of_coin("coin", at.n, [(level, misses(level), 2 * level) for level in _levels_of_coin(at.n)])


def coin_by_draws(
    at: Cell, *, delta: float, inequality: Inequality = "first", correction: Correction = "stated"
) -> CoverageRow:
    """The Monte Carlo theorem on a fair coin: misses whatever is drawn, over what is allowed with ``B < 1/alpha``.

    ``inequality`` is that of the theorem: ``alpha + (floor(B alpha) + 1)/(B + 1)``, or ``2 alpha + 1/(B + 1)``.
    """
    check_choice(inequality, "inequality", "coin_by_draws", INEQUALITIES)
    check_choice(correction, "correction", "coin_by_draws", CORRECTIONS)
    found = []
    for level in _levels_of_coin(at.n):
        n_resamples = math.ceil(1 / level) - 1
        allowed = level + 1 / (n_resamples + 1) + (level if inequality == "second" else 0.0)
        found.append((level, float(coin_misses(at.n, 0.0, _term_of_coin(at.n, level, correction, delta))), allowed))
    return _worst_of_coin("coin_by_draws", at.n, found)


def needed_constant(at: Cell) -> float:
    """The factor before ``log(2/(alpha delta))`` that a fair coin needs."""
    return coin_constant(at.n)


def proved_constant(at: Cell) -> float:
    """The factor with which the proof of theorem 1 goes through."""
    return proof_constant(at.n)


CURVES: Mapping[str, Callable[..., CoverageRow | float]] = {
    function.__name__: function
    for function in (
        exact,
        theorem_2,
        least_deviation,
        proved_deviation,
        moment,
        quantile_above_joint,
        quantile_above_formula,
        kl_visits,
        resampling_visits,
        coin,
        coin_by_draws,
        needed_constant,
        proved_constant,
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
    measure_curve(call, Cell(distribution, 1, alpha, 1, 0))


def measure_curve(call: Call, at: Cell) -> CoverageRow:
    """The row of a curve by name; a number stands there as if it were a width."""
    found = CURVES[call.name](at, **call.options)
    return found if isinstance(found, CoverageRow) else _value(call.name, at.n, at.alpha, 0.0, found)


def _weights(shape: Shape, n: int) -> Floats:
    return SHAPES[check_choice(shape, "weights", "a curve", SHAPES)](n)


def _log_level(at: Cell, power: float | None) -> float:
    return math.log(1 / at.alpha) if power is None else float(at.n) ** check_number(power, "power", "a curve")


def _value(name: str, n: int, alpha: float, rate: float, value: float) -> CoverageRow:
    """A row of exact numbers: a miss rate, and what stands as a width."""
    return CoverageRow(name, n, alpha, 0, 0, rate, rate, rate, value, None, mean_width=value, width_error=0.0)


def _term_of_coin(n: int, level: float, correction: Correction, delta: float) -> float:
    return correction_term(CORRECTIONS[correction], n, PHI_OF_COIN, level, delta, n)


def _levels_of_coin(n: int) -> list[float]:
    """Levels from 1/4 down to ``exp(-1.5 n)``, dense enough for every number of tosses to show its worst."""
    return [0.25 * math.exp(-1.5 * n * step / 300) for step in range(301)]


def _worst_of_coin(name: str, n: int, found: list[tuple[float, float, float]]) -> CoverageRow:
    """The level with the largest share of what is allowed, of (level, probability of a miss, what is allowed)."""
    level, misses, allowed = max(found, key=lambda each: each[1] / each[2])
    return _value(name, n, level, misses, misses / allowed)

"""Efron's resamples: samples drawn from a sample with replacement, their moments, and the frame of bounds made of them.

Every sample is sorted before it is resampled, so that a bound does not depend on the order of rewards. By default the
resamples of each are drawn with a seed of its own, derived from its rewards, so that a bound does not depend on what else
is in a batch either; a seed that is given draws the same ones for all samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.basics.seeds import Seed, drawn_seed, seed_of
from bandstrap.bounds.bound import Bound, Side, Threshold, build, too_few
from bandstrap.engine.work.memory import WORD, check_memory
from bandstrap.errors import check_count
from bandstrap.multipliers.quantile import scaled_residuals

# What bounds are computed from unless they are told otherwise: at alpha = 0.05, 100 resamples lie beyond the quantile.
N_RESAMPLES = 1999
# Counts, and moments of resamples, that are held in memory at once.
MOST_NUMBERS = 1 << 20
# Of so many balanced resamples, the standard error is too small by one part in a thousand.
FEWEST_BALANCED = 500
LARGE_SAMPLES = "large samples of independent rewards with a variance; nothing is proved at small ones"
TOLD_A_SUPPORT = "a bound with a known support, such as betting, is finite"


class SampleRows(NamedTuple):
    """Samples of ``n`` rewards as they are resampled, one per row.

    Attributes
    ----------
    rewards
        In ascending order.
    residuals
        The same less their mean, divided by a power of two.
    rounding
        By how much the mean of a resample of residuals may differ from 0 by rounding alone.
    """

    rewards: Floats
    residuals: Floats
    rounding: Floats


class Widths(Protocol):
    """Distances from the mean to the upper bound, one per row and in units of its residuals."""

    def __call__(self, rows: SampleRows, alpha: float, seed: int, /) -> Floats:
        """Widths at ``alpha``, from resamples that start from ``seed``."""


def build_resampled(
    name: str,
    sample: ArrayLike,
    alpha: float,
    side: Side,
    widths: Widths,
    *,
    n_resamples: int,
    seed: Seed,
    check: bool,
    is_drawn: bool = True,
    why_infinite: Callable[[int], str] | None = None,
) -> Bound:
    """A bound whose width is read off resamples, unless ``is_drawn`` says that it does without.

    ``why_infinite`` tells of ``n`` rewards why it may be infinite, where that is not for want of a
    :func:`lower_quantile`.
    """
    check_resamples(n_resamples, name)
    drawn = drawn_seed(seed, name)

    def reason(n: int, level: float) -> str:
        if why_infinite is not None:
            return why_infinite(n)
        return why_no_quantile(n, n_resamples, level) if is_drawn else why_no_spread(n)

    def threshold(rewards: Floats, alpha: float, mirrored: bool) -> Threshold:
        n = rewards.shape[-1]
        ordered = np.sort(rewards.reshape(-1, n), axis=-1)
        residuals, exponents = scaled_residuals(ordered)
        rows = SampleRows(ordered, residuals, rounding_of_means(ordered, exponents))
        if drawn is None and is_drawn:
            each = (SampleRows(*(part[i : i + 1] for part in rows)) for i in range(len(ordered)))
            scaled = np.array([widths(one, alpha, seed_of(None, one.rewards[0]))[0] for one in each])
        else:
            scaled = widths(rows, alpha, drawn or 0)
        width = np.ldexp(scaled, exponents).reshape(rewards.shape[:-1])
        method = f"{n_resamples} resamples" if is_drawn else "closed-form"
        return Threshold(
            width, {"main": width}, method, why_infinite=reason(n, alpha) if np.isinf(scaled).any() else ""
        )

    return build(name, sample, alpha, side, threshold, guarantee=None, holds_for=LARGE_SAMPLES, check=check)


def check_resamples(n_resamples: int, owner: str) -> None:
    """Refuse what is no number of resamples, or one whose moments no memory would hold."""
    check_count(n_resamples, "n_resamples", owner)
    check_memory(8 * WORD * n_resamples, "n_resamples", owner, n_resamples)


def resample_counts(n: int, n_resamples: int, rng: np.random.Generator) -> Iterator[tuple[slice, Floats]]:
    """Count of each of ``n`` rewards in each resample, some resamples at a time.

    They are balanced (Davison, Hinkley and Schechtman 1986): those that are made at a time hold every reward equally
    often. That makes the numbers of few resamples differ less from those of many; of the miss rate of ``bca`` at 20 gamma
    rewards, what the choice of 999 resamples decides falls from a standard deviation of 1.1 per cent to 0.6. The variance
    of the mean of each of ``s`` balanced resamples is ``1 - 1/s`` times that of an independent one, so that there must be
    many of them: see :func:`are_balanced`.
    """
    for some in resamples_at_a_time(n, n_resamples):
        size = some.stop - some.start
        drawn = rng.permutation(np.tile(np.arange(n), size)).reshape(size, n) + n * np.arange(size)[:, None]
        yield some, np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)


def resamples_at_a_time(n: int, n_resamples: int) -> Iterator[slice]:
    """Resamples whose rewards are held in memory at once: about as many each time."""
    times = min(n_resamples, -(-n * n_resamples // MOST_NUMBERS))
    edges = [n_resamples * i // times for i in range(times + 1)]
    yield from map(slice, edges[:-1], edges[1:])


def are_balanced(n: int, n_resamples: int) -> bool:
    """Return whether all resamples, or enough of them, fit into memory at once; else each is drawn by itself."""
    return n * n_resamples <= MOST_NUMBERS or n * FEWEST_BALANCED <= MOST_NUMBERS


def resampled_moments(rows: Floats, n_resamples: int, seed: int, order: int) -> Iterator[tuple[slice, Floats]]:
    """The moments ``mean(y^1), ..., mean(y^order)`` of the resamples of each row: shape ``(order, some rows, B)``.

    Rows are taken as they are, some at a time. Their numbers do not depend on how many there are: each is summed up alone.
    """
    n = rows.shape[-1]
    step = max(1, MOST_NUMBERS // n_resamples)
    fill = balanced_moments if are_balanced(n, n_resamples) else independent_moments
    for start in range(0, len(rows), step):
        block = slice(start, min(start + step, len(rows)))
        moments = np.empty((order, block.stop - block.start, n_resamples))
        fill(rows[block], np.random.default_rng(seed), moments)
        yield block, moments


def balanced_moments(rows: Floats, rng: np.random.Generator, moments: Floats) -> None:
    """Moments by how often each reward is in a resample."""
    order, _, n_resamples = moments.shape
    n = rows.shape[-1]
    powers = [rows ** (power + 1) for power in range(order)]
    for some, counts in resample_counts(n, n_resamples, rng):
        for power, terms in enumerate(powers):
            for i, row in enumerate(terms):
                # Not by a matrix product, whose roundings depend on the shapes and on the number of threads.
                moments[power, i, some] = np.einsum("bn,n->b", counts, row) / n


def independent_moments(rows: Floats, rng: np.random.Generator, moments: Floats) -> None:
    """Moments by the rewards that are drawn; of large samples, where counting them would take longer."""
    order, _, n_resamples = moments.shape
    n = rows.shape[-1]
    for some in resamples_at_a_time(n, n_resamples):
        places = rng.integers(n, size=(some.stop - some.start, n))
        for i, row in enumerate(rows):
            drawn = row.take(places)
            powered = drawn.copy() if order > 1 else drawn
            for power in range(order):
                if power:
                    powered *= drawn
                moments[power, i, some] = powered.sum(axis=-1) / n


def spread_of_resamples(moments: Floats, n: int) -> Floats:
    """Variances (1/n) of resamples from their first two moments; 0 where rounding alone could have made them."""
    variance = moments[1] - moments[0] ** 2
    return np.where(variance <= 8 * n * 2.0**-53 * moments[1], 0.0, variance)


def rounding_of_means(rows: Floats, exponents: NDArray[np.int64] | int) -> Floats:
    """Largest distance from 0 by which rounding alone can move the mean of a resample of residuals, for each row.

    ``exponents`` are those by which the residuals of ``rows`` were scaled, see ``scaled_residuals``.
    """
    return 1e-14 + 2.0**-49 * np.ldexp(np.abs(rows).max(axis=-1), -exponents)


def studentised(deviation: Floats, spread: Floats, rounding: Floats) -> Floats:
    """``deviation / spread``, infinite of its sign where there is no spread, and 0 where there is neither."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((spread == 0) & (np.abs(deviation) <= rounding[..., None]), 0.0, deviation / spread)


def width_of_t(t: Floats, residuals: Floats) -> Floats:
    """``-t s`` with ``s`` the standard deviation of each row, but not below 0; infinite where rewards are all equal."""
    spread = residuals.std(axis=-1)
    with np.errstate(invalid="ignore"):  # of an infinite t beside no spread
        return np.where(spread == 0, np.inf, np.maximum(-t * spread, 0.0))


def why_no_spread(n: int) -> str:
    """Reason why a bound whose width comes from ``n`` rewards is infinite if they are all equal."""
    if n == 1:
        return "the bound is infinite, since one reward cannot show how much rewards vary"
    return f"the bound is infinite, since equal rewards cannot show how much they vary; {TOLD_A_SUPPORT}"


def why_no_quantile(n: int, n_resamples: int, level: float) -> str:
    """Reason why a bound at the :func:`lower_quantile` of resamples of ``n`` rewards may be infinite."""
    if is_beyond(n_resamples, level):
        return why_too_few(n_resamples, level, "resample")
    if n == 1:
        return why_no_spread(n)
    # Of rewards that differ, a resample holds one alone with probability n^(1-n): below the level, that is no reason.
    few = f"{n} rewards are too few, or too many of them are equal" if float(n) ** (1 - n) >= level else ""
    equal = few or "too many of the rewards are equal"
    return f"the bound is infinite: {equal}, so resamples without spread decide it; {TOLD_A_SUPPORT}"


def is_beyond(n_draws: int, level: float) -> bool:
    """Return whether so many draws have no quantile at this level."""
    return level * (n_draws + 1) + 1e-9 < 1


def fewest_draws(level: float) -> int:
    """The smallest number of draws that have a quantile at this level.

    >>> fewest_draws(0.05), is_beyond(19, 0.05), is_beyond(18, 0.05)
    (19, False, True)
    """
    return math.ceil((1 - 1e-9) / level) - 1


def why_too_few(n_draws: int, level: float, what: str) -> str:
    """Reason why a bound at the quantile of so many draws is infinite; empty where they have one."""
    return too_few(n_draws, fewest_draws(level), level, what) if is_beyond(n_draws, level) else ""


def lower_quantile(draws: Floats, level: float) -> Floats:
    """The ``floor(level (B + 1))``-th smallest draw along the last axis; minus infinity where that is none.

    One more draw from the same distribution lies below it with a probability of at most ``level``.
    """
    if is_beyond(draws.shape[-1], level):
        return np.full(draws.shape[:-1], -np.inf)
    rank = math.floor(level * (draws.shape[-1] + 1) + 1e-9)
    return np.partition(draws, rank - 1, axis=-1)[..., rank - 1]


def upper_quantile(draws: Floats, level: float) -> Floats:
    """The same from above: the ``floor(level (B + 1))``-th largest draw, or plus infinity."""
    return -lower_quantile(-draws, level)

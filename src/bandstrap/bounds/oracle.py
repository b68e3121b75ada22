"""The smallest preliminary widths that theorem 1 allows, known to whoever knows the distribution.

The theorem holds for any ``phi(y) >= 0`` with ``P(|ybar - mu| >= phi) <= alpha``. The coverage lab knows the
distribution, and can put the theorem to the hardest test that this condition leaves:

``phi=oracle``
    The smallest constant, the upper ``alpha`` quantile of ``|ybar - mu|``.
``phi=oracle-adaptive``
    The smallest function: no more than ``|ybar - mu|`` itself, and 0 where ``mu - ybar`` is largest, with probability
    ``alpha``. There the threshold is the bare quantile, elsewhere the correction helps as little as it may.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable
from typing import Literal, get_args

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.basics.distributions import KnownLaw, law_name
from bandstrap.bounds.distributions import law_support, target
from bandstrap.errors import check_count, check_number, requirement

Oracle = Literal["oracle", "oracle-adaptive"]
ORACLES: tuple[Oracle, ...] = get_args(Oracle)
# Cells of the grid, and what may lie beyond it.
N_CELLS = 1 << 19
BEYOND = 1e-13
# What a mean computed in another order may differ by, and more.
ROUNDING = 1e-12
# Sums of more rewards are not told apart by so many cells.
MOST_REWARDS = N_CELLS // 8
# Rounding of sums of so many cells stays far below this.
SMALLEST_ALPHA = 1e-6


def oracle_phi(kind: Oracle, law: KnownLaw, n: int, alpha: float) -> float | Callable[[Floats, float], Floats]:
    """The ``phi`` of that name for samples of ``n`` rewards, in a form that :func:`bandstrap.bounds.bootstrap` takes."""
    if kind == "oracle":
        return deviation_quantile(law, n, alpha)
    mean = target(law)
    largest = deviation_quantile(law, n, alpha, two_sided=False)

    def smallest(rewards: Floats, _: float) -> Floats:
        below = mean - rewards.mean(axis=-1)
        return np.where(below >= largest, 0.0, np.abs(below) * (1 + ROUNDING))

    return smallest


def deviation_quantile(law: KnownLaw, n: int, alpha: float, *, two_sided: bool = True) -> float:
    r"""Smallest ``x``, rounded up, such that ``|ybar - mu| >= x`` has probability at most ``alpha``.

    The distribution is put on a grid, each reward at the middle of its cell, and convolved with itself by FFT. A sum
    of ``n`` rewards is then off by half a cell each at most, which is added: the value is never too small. It was too
    large by at most 0.4 % for normal, uniform, Laplace, t(5) and Weibull(1/2) rewards, n up to 50 and alpha from 0.3
    to 1e-6; with more rewards the cells, and what is added, are larger.

    Parameters
    ----------
    law
        A frozen ``scipy.stats`` distribution with a mean and a standard deviation.
    n
        Number of rewards, at most 65,536.
    alpha
        Probability, at least ``1e-6``.
    two_sided
        Whether deviations to both sides count (default), as theorem 1 says, or ``mu - ybar`` alone.

    Returns
    -------
    float
        The quantile.

    Examples
    --------
    >>> from scipy import stats
    >>> from bandstrap.bounds.oracle import deviation_quantile
    >>> round(deviation_quantile(stats.norm(), 4, 0.05), 3)  # 1.96/2
    0.98
    """
    size = check_count(n, "n", "deviation_quantile", at_most=MOST_REWARDS)
    level = check_number(alpha, "alpha", "deviation_quantile", above=0, below=1)
    if level < SMALLEST_ALPHA:
        raise requirement("alpha", "deviation_quantile", f"at least {SMALLEST_ALPHA:g}", level)
    family = law_name(law)
    if family:  # several bounds ask for the same number
        return _of_family(family, tuple(law.args), tuple(sorted(law.kwds.items())), size, level, two_sided)
    return _by_convolution(law, size, level, two_sided)


@functools.lru_cache(maxsize=256)
def _of_family(
    family: str,
    shapes: tuple[Hashable, ...],
    others: tuple[tuple[str, Hashable], ...],
    n: int,
    alpha: float,
    two_sided: bool,
) -> float:
    from scipy import stats

    return _by_convolution(getattr(stats, family)(*shapes, **dict(others)), n, alpha, two_sided)


def _by_convolution(law: KnownLaw, n: int, alpha: float, two_sided: bool) -> float:
    mean, deviation = target(law), float(law.std())
    if not math.isfinite(deviation):
        raise requirement("law", "deviation_quantile", "one with a standard deviation", f"one of {deviation}")
    ends = law_support(law)
    if ends is not None:
        reach = n * max(ends[1] - mean, mean - ends[0])
    else:
        # One reward that is as far out as any of n may be, on top of what the others add up to.
        single = max(float(law.isf(BEYOND / n)) - mean, mean - float(law.ppf(BEYOND / n)))
        reach = single + 10 * math.sqrt(n) * deviation
    cell = 2 * reach / (N_CELLS - 2 * n)
    middles = np.arange(N_CELLS) - N_CELLS // 2
    with np.errstate(all="ignore"):
        edges = np.asarray(law.cdf(mean + cell * (np.append(middles, N_CELLS // 2) - 0.5)))
    transformed = np.fft.rfft(np.fft.ifftshift(np.diff(edges)))
    sums = np.fft.fftshift(np.fft.irfft(transformed**n, N_CELLS))
    below = np.cumsum(sums[: N_CELLS // 2 + 1])[::-1]  # P(sum <= -j cells), j = 0, 1, ...
    above = np.cumsum(sums[::-1])[: N_CELLS // 2][::-1]  # P(sum >= j cells), j = 0, 1, ...
    tails = below[: above.size] + above if two_sided else below[: above.size]
    rank = int(np.argmax(tails <= alpha)) if tails[-1] <= alpha else tails.size
    return (rank + 0.5 * n) * cell / n

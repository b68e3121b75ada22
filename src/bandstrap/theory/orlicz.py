"""The ``psi_beta`` (Orlicz) norm, the scale in which the sub-Weibull theorems are stated: of a distribution and of a
sample.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import expit, log_expit, logsumexp

from bandstrap.basics.arrays import Floats
from bandstrap.basics.distributions import KnownLaw, Law
from bandstrap.bounds.bound import FloatOrArray, as_number
from bandstrap.errors import check_flag, check_number, check_sample, near_one, requirement, sample_mean

# Atoms of probability below exp(-DEEPEST) count for nothing.
DEEPEST = 745.0
MOST_ATOMS = 2_000_000
# How far out tails are looked at, in spreads.
DOUBLING = np.ldexp(1.0, np.arange(300))
# A panel whose halves have another probability, by more than this, is halved, as often as this; unless so many are that
# the density itself must be rounded.
ROUGH = 1e-13
MOST_HALVINGS = 60
MOST_ROUGH = 400
# How near an infinite density, in parts of where it is, nodes may lie; and in any case.
NEAREST, LEAST = 2.0**-40, 2.0**-1000


def orlicz_norm(law: Law, beta: float, *, centred: bool = True) -> float:
    r"""The ``psi_beta`` norm of a distribution.

    .. math:: \|y\|_{\psi_\beta} = \inf\{c > 0 : E \exp(|y|^\beta / c^\beta) \le 2\}

    Parameters
    ----------
    law
        A frozen ``scipy.stats`` distribution, continuous or discrete.
    beta
        Tail exponent: 2 for sub-Gaussian tails, 1 for sub-exponential tails, less for heavier tails.
    centred
        Norm of ``y - E y`` (default), which theorems 2 and 3 bound for rewards; false: of ``y`` itself.

    Returns
    -------
    float
        The norm; infinite if the tails are too heavy for ``beta``, or if a mean is needed and there is none.

    Notes
    -----
    Expectations are sums over atoms: those of a discrete distribution, or the nodes of a tanh-sinh rule between quantiles,
    and beyond them out to where the density ends or vanishes, closer together where it jumps or bends. The logarithm of the
    density falls like ``-t^theta`` in the tail; the norm is infinite if ``theta < beta``. If SciPy computes the logarithm
    of the density from an underflowing number (``rice``), ``theta`` is accurate to about a tenth. Then a norm at which the
    expectation jumps to infinity is accurate to a few hundredths.

    Examples
    --------
    >>> from scipy import stats
    >>> from bandstrap.theory import orlicz_norm
    >>> orlicz_norm(stats.norm(5, 1), 2)  # sqrt(8/3)
    1.632993
    >>> orlicz_norm(stats.laplace(scale=3), 1)
    6.000000
    >>> orlicz_norm(stats.lognorm(1), 0.5)
    inf

    References
    ----------
    .. [1] Hao et al. Bootstrapping upper confidence bound. NeurIPS 2019, definition 1.
    .. [2] Vladimirova, Girard, Nguyen, Arbel. Sub-Weibull distributions. Stat 9, 2020.
    """
    exponent = check_number(beta, "beta", "orlicz_norm", above=0)
    is_centred = check_flag(centred, "centred", "orlicz_norm")
    return _norm(check_law(law, "law", "orlicz_norm"), exponent, is_centred)


def _norm(law: KnownLaw, exponent: float, is_centred: bool) -> float:
    # SciPy's moments and densities overflow and divide by zero on their way to a correct limit.
    with np.errstate(all="ignore"):
        centre = float(law.mean()) if is_centred else 0.0
        if not math.isfinite(centre):
            return math.inf
        is_discrete = hasattr(law, "pmf")
        log_density = law.logpmf if is_discrete else law.logpdf
        middle, spread = middle_and_spread(law)
        low, high = law.support()
        for sign, end in ((-1, low), (1, high)):
            if math.isinf(end) and _tail_exponent(log_density, middle, sign * spread * DOUBLING) < exponent:
                return math.inf
        points, log_weights = discrete_atoms(law, "orlicz_norm") if is_discrete else nodes(law, centre)
    points, log_weights = of_sum_one(points, log_weights)
    return _smallest_scale(np.abs(points - centre), log_weights, exponent)


def sample_orlicz_norm(sample: ArrayLike, beta: float, *, centred: bool = True) -> FloatOrArray:
    r"""The ``psi_beta`` norm of the distribution that puts equal weight on each reward of a sample.

    .. math:: \inf\left\{c > 0 : \frac1n \sum_i \exp(|y_i - \bar y|^\beta / c^\beta) \le 2\right\}

    Parameters
    ----------
    sample
        Rewards of shape ``(..., n)``.
    beta
        Tail exponent.
    centred
        Centre the rewards at their mean (default); false: at 0.

    Returns
    -------
    float or ndarray
        One norm per sample; 0 if all rewards are at the centre. It converges slowly to the norm of the distribution, from
        below, because the expectation depends on rare rewards.

    Examples
    --------
    >>> from bandstrap.theory import sample_orlicz_norm
    >>> sample_orlicz_norm([-1, 1, -1, 1], 2)  # 1/sqrt(log 2)
    1.201122

    References
    ----------
    .. [1] Hao et al. Bootstrapping upper confidence bound. NeurIPS 2019, definition 1.
    """
    exponent = check_number(beta, "beta", "sample_orlicz_norm", above=0)
    rewards, powers = near_one(check_sample(sample, "sample_orlicz_norm"))
    is_centred = check_flag(centred, "centred", "sample_orlicz_norm")
    distances = np.abs(rewards - sample_mean(rewards)[..., None] if is_centred else rewards)
    n = rewards.shape[-1]
    log_weights = np.full(n, -math.log(n))
    shape = rewards.shape[:-1]
    norms = [_smallest_scale(row, log_weights, exponent) for row in distances.reshape(-1, n)]
    with np.errstate(over="ignore"):  # a norm beyond the largest float is infinite
        return as_number(np.ldexp(np.reshape(norms, shape), powers), shape)


def _smallest_scale(distances: Floats, log_weights: Floats, beta: float) -> float:
    """Smallest ``c`` with ``sum_j w_j exp((d_j/c)^beta) <= 2``, for weights of sum 1."""
    farthest = float(distances.max())
    if farthest == 0:
        return 0.0
    powers = (distances / farthest) ** beta

    def excess(log_s: float) -> float:  # s = (farthest/c)^beta
        # Cut off because it is huge far above the root.
        return min(float(logsumexp(log_weights + math.exp(log_s) * powers)) - math.log(2), 1.0)

    # Below: no power exceeds 1, so the sum is at most exp(s). Above: one atom alone exceeds 2.
    with np.errstate(over="ignore", divide="ignore"):
        highest = float(np.min((math.log(2) - log_weights) / powers))
    root = brentq(excess, math.log(math.log(2) / 2), math.log(2 * highest), xtol=1e-14)
    try:
        return farthest * math.exp(-root / beta)
    except OverflowError:  # of a small beta: the norm is beyond the largest float
        return math.inf


def _tail_exponent(log_density: Callable[[Floats], Floats], middle: float, steps: Floats) -> float:
    """The ``theta`` with which ``-log f`` grows like ``t^theta``, rounded up by what is unsure.

    ``steps`` double, from the spread of the distribution. Of ``a t^theta + b log t + c`` the first difference drops
    ``c``, the second ``b``. An origin that is off by a spread bends ``theta`` by about ``(theta - 1) spread / t``.
    """
    depths = -log_density(middle + steps)
    depths = depths[np.logical_and.accumulate(np.isfinite(depths))]
    if depths.size and depths[-1] <= DEEPEST:  # the logarithm of a number that underflowed lost its digits before
        depths = depths[depths < 700]
    if depths.size < 4:
        return math.inf
    slopes = np.diff(depths[-4:])
    bends = np.diff(slopes)
    if bends.min() <= 1e-9 * slopes[0]:  # a power of t
        return 0.0
    theta = math.log2(bends[1] / bends[0])
    return theta + 1 / float(depths[-1]) + 2 * abs(theta - 1) * 0.5 ** (depths.size - 1) + 1e-9


# --- a distribution as atoms, to take expectations over ---------------------------------------------------------------


def check_law(law: object, parameter: str, owner: str) -> KnownLaw:
    """A frozen distribution of one number; all else is refused."""
    needed = ("dist", "mean", "median", "ppf", "isf", "support")
    is_law = all(hasattr(law, name) for name in needed) and (hasattr(law, "pmf") or hasattr(law, "pdf"))
    if not is_law or np.ndim(cast("KnownLaw", law).median()):
        raise requirement(parameter, owner, "a frozen scipy.stats distribution of one number", repr(law))
    return cast("KnownLaw", law)


def middle_and_spread(law: KnownLaw) -> tuple[float, float]:
    """Median and distance of the quartiles, a whole number of at least 1 for a discrete distribution."""
    middle, spread = float(law.median()), float(law.isf(0.25) - law.ppf(0.25))
    return middle, max(1.0, round(spread)) if hasattr(law, "pmf") else spread


def of_sum_one(points: Floats, log_weights: Floats) -> tuple[Floats, Floats]:
    """The atoms that count, their weights of sum 1.

    Gone: atoms of probability 0, and nodes rounded onto an end where the density is infinite.
    """
    matters = np.isfinite(log_weights)
    return points[matters], log_weights[matters] - logsumexp(log_weights[matters])


def nodes(
    law: KnownLaw, *between: float, beyond: bool = True, values: Callable[[Floats], Floats] | None = None
) -> tuple[Floats, Floats]:
    """Nodes and log weights of a quadrature rule for a continuous distribution, with panels that end at the points
    ``between``, and are halved where the density jumps or bends; or bounded ``values``, if given.

    Where the density is infinite, doubles nearby are too few: what is there is put at that point. Not ``beyond``, what
    lies outside quantiles of ``2^-50`` is left out, which no bounded function misses.
    """
    middle = float(law.median())
    low, high = law.support()
    # Between quantiles: towards the ends each panel holds half of what is left.
    small = 0.5 ** np.arange(1, 51)
    edges = [law.ppf(small), law.isf(small), law.ppf(np.arange(1, 32) / 32), np.array([*between, low, high])]
    # Beyond: panels that grow, until the density vanishes or is so small that only divergence could make it count.
    growth = 2 ** (np.arange(440) / 2)
    for end in (law.ppf(small[-1]), law.isf(small[-1])) if beyond else ():
        tail = middle + (end - middle) * growth
        edges.append(tail[-law.logpdf(tail) < 1e13])
    grid = np.concatenate(edges)
    peaks = np.unique(grid[law.logpdf(grid) == math.inf])
    room = np.maximum(np.abs(peaks) * NEAREST, LEAST)
    grid = np.unique(np.concatenate([grid, peaks - room, peaks + room]))
    grid = grid[np.isfinite(grid) & (grid >= low) & (grid <= high)]
    left, right = grid[:-1], grid[1:]
    is_outside = (np.abs((left + right) / 2 - peaks[:, None]) >= room[:, None]).all(axis=0)
    left, right = left[is_outside], right[is_outside]
    points, log_weights = _halved(law, left, right, [np.ones_like, values] if values else [np.ones_like])
    log_peaks = np.log(law.cdf(peaks + room) - law.cdf(peaks - room))
    return np.concatenate([points, peaks]), np.concatenate([log_weights, log_peaks])


def _halved(
    law: KnownLaw, left: Floats, right: Floats, functions: list[Callable[[Floats], Floats]]
) -> tuple[Floats, Floats]:
    """Nodes and log weights of panels, halved until no expectation of a function moves by more than ``ROUGH`` in one."""
    points, log_weights = _panels(law, left, right)
    kept = []
    for _ in range(MOST_HALVINGS):
        centre = left + (right - left) / 2
        left, right = np.concatenate([left, centre]), np.concatenate([centre, right])
        points_of_halves, weights_of_halves = _panels(law, left, right)
        is_rough = np.zeros(len(points), dtype=bool)
        for function in functions:
            whole = (np.exp(log_weights) * function(points)).sum(axis=1)
            halves = (np.exp(weights_of_halves) * function(points_of_halves)).sum(axis=1)
            is_rough |= np.abs(halves.reshape(2, -1).sum(axis=0) - whole) > ROUGH
        if not 0 < is_rough.sum() <= MOST_ROUGH:
            break
        kept.append((points[~is_rough], log_weights[~is_rough]))
        twice = np.tile(is_rough, 2)
        left, right = left[twice], right[twice]
        points, log_weights = points_of_halves[twice], weights_of_halves[twice]
    kept.append((points, log_weights))
    return np.concatenate([row.ravel() for row, _ in kept]), np.concatenate([row.ravel() for _, row in kept])


def _panels(law: KnownLaw, left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Nodes and log weights of the tanh-sinh rule, one row per panel: ``y = left + width expit(pi sinh x)``, which
    forgives a density that is infinite at an end.
    """
    step = 0.15
    x = step * np.arange(-30, 31)
    inner = np.pi * np.sinh(x)
    width = (right - left)[:, None]
    points = np.where(x <= 0, left[:, None] + width * expit(inner), right[:, None] - width * expit(-inner))
    log_weights = np.log(width) + np.log(step * np.pi * np.cosh(x)) + log_expit(inner) + log_expit(-inner)
    return points, log_weights + law.logpdf(points)


def discrete_atoms(law: KnownLaw, owner: str) -> tuple[Floats, Floats]:
    """Atoms and log probabilities of a discrete distribution: those that it lists, or those in steps of 1 that matter."""
    low, high = law.support()
    if hasattr(law.dist, "xk"):  # made from values and their probabilities; values may lie anywhere
        return law.dist.xk + (low - law.dist.a), np.log(law.dist.pk)
    middle, spread = middle_and_spread(law)
    steps = spread * DOUBLING
    reach = [float(steps[np.argmax(-law.logpmf(middle + sign * steps) >= DEEPEST)]) for sign in (-1, 1)]
    first, last = max(low, middle - reach[0]), min(high, middle + reach[1])
    if last - first > MOST_ATOMS:
        rule = f"a distribution with at most {MOST_ATOMS} atoms of relevant probability"
        raise requirement("law", owner, rule, f"{last - first:.0f}")
    points = first + np.arange(round(last - first) + 1)
    return points, law.logpmf(points)

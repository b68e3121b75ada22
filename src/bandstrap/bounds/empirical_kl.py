"""The empirical-likelihood bound behind empirical KL-UCB, by its one-dimensional dual."""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from bandstrap.basics.arrays import Floats, each, sum_in_order
from bandstrap.bounds.bound import Bound, Side, Threshold, build, check_support, register, rewards_inside, scale_inside
from bandstrap.engine.compiler.kernel import compiled_body, entry, jitable
from bandstrap.errors import check_choice, sample_mean

Calibration = Literal["proved", "plain"]
CALIBRATIONS: tuple[Calibration, ...] = get_args(Calibration)


def dual(y: Floats, highest: float, gap: float) -> tuple[float, float, float]:
    """``f = mean log(nu - y) + log mean 1/(nu - y)`` at ``nu = highest + gap``; means of ``1/(nu - y)`` and its square."""
    distances = (highest - y) + gap  # nu - y, without losing a gap far below the rewards
    logs = sum_in_order(each(math.log, distances))
    inverses = sum_in_order(1.0 / distances) / y.size
    with np.errstate(divide="ignore"):  # where the square of a tiny distance vanishes, as in the compiled form
        squares = sum_in_order(1.0 / (distances * distances))
    return logs / y.size + math.log(inverses), inverses, squares / y.size


@compiled_body(dual)
def dual_in_loops(y: Floats, highest: float, gap: float) -> tuple[float, float, float]:
    """:func:`dual` in loops, because arrays take a third longer compiled; loops take five times as long plain."""
    logs = 0.0
    inverses = 0.0
    squares = 0.0
    for i in range(y.size):
        distance = (highest - y[i]) + gap
        logs += math.log(distance)
        inverses += 1.0 / distance
        square = distance * distance
        squares += 1.0 / square if square > 0.0 else math.inf
    inverses /= y.size
    return logs / y.size + math.log(inverses), inverses, squares / y.size


@jitable
def solve_dual(y: Floats, top: float, divergence: float, start: float) -> tuple[float, float]:
    """``sup {E_q : q on the rewards and top, KL(empirical law, q) <= divergence}``, and the dual variable ``nu``.

    The supremum is ``min_{nu >= top} nu - exp(mean log(nu - y) - divergence)``: either ``nu = top`` and some mass moves to
    the unseen top, or ``f(nu) = divergence``, solved by Newton's method on ``log(nu - highest)`` inside a bracket.
    ``start`` is a guess of ``nu``; one that is not above the rewards is ignored. The derivative of the supremum in the
    divergence is ``nu`` minus the supremum.
    """
    highest = y.max()
    lowest = y.min()
    if top > highest:
        f, inverses, _ = dual(y, highest, top - highest)
        if f < divergence:
            return top - math.exp(f - divergence) / inverses, top
    if highest == lowest:
        return highest, highest
    spread = highest - lowest
    low = 0.0
    high = math.inf
    gap = start - highest if start > highest else spread
    inverses = 1.0
    for _ in range(200):
        f, inverses, squares = dual(y, highest, gap)
        excess = f - divergence
        if abs(excess) <= 1e-13 + 1e-12 * divergence:
            break
        if excess > 0.0:
            low = gap
        else:
            high = gap
        slope = (inverses - squares / inverses) * gap  # df/dlog(gap), never positive
        move = -excess / slope if slope < 0.0 else math.inf
        following = gap * math.exp(min(max(move, -3.0), 3.0))
        if not low < following < high:
            following = (
                math.sqrt(low * high) if low > 0.0 and high < math.inf else gap * (8.0 if excess > 0.0 else 0.125)
            )
        if following == gap or gap > 1e14 * spread or gap < 1e-140 * spread:
            break
        gap = following
    return min((highest + gap) - 1.0 / inverses, top), highest + gap


@jitable
def least_divergence(y: Floats, top: float, mean: float, start: float) -> tuple[float, float]:
    """``inf {KL(empirical law, q) : q up to top, E_q >= mean}``, and the dual variable that attains it.

    The inverse of :func:`solve_dual`: the infimum is the maximum of the concave ``mean log(1 - x (y - mean))`` over
    ``0 <= x <= 1/(top - mean)``, found by Newton's method inside a bracket from ``start``. The derivative of the infimum in
    ``mean`` is ``x``.
    """
    if ascent(y, mean, 0.0)[0] <= 0.0:
        return 0.0, 0.0
    if mean >= top:
        return math.inf, math.inf
    low = 0.0
    high = 1.0 / (top - mean)
    x = start if low < start < high else 0.5 * high
    if y.max() < top and ascent(y, mean, high)[0] >= 0.0:
        x = high
    else:
        for _ in range(100):
            slope, curvature = ascent(y, mean, x)
            if slope > 0.0:
                low = x
            else:
                high = x
            following = x + slope / curvature
            if not low < following < high:
                following = 0.5 * (low + high)
            is_close = abs(following - x) <= 1e-9 * x  # the error after a step of Newton's is about its square
            x = following
            if is_close:
                break
    return log_growth(y, mean, x) / y.size, x


def log_growth(y: Floats, mean: float, x: float) -> float:
    """``sum log(1 - x (y - mean))``."""
    return sum_in_order(each(math.log1p, -x * (y - mean)))


@compiled_body(log_growth)
def log_growth_in_loops(y: Floats, mean: float, x: float) -> float:
    """:func:`log_growth` in loops, because compiled code cannot map a function; NumPy's own has other last bits."""
    total = 0.0
    for i in range(y.size):
        total += math.log1p(-x * (y[i] - mean))
    return total


def ascent(y: Floats, mean: float, x: float) -> tuple[float, float]:
    """First derivative of ``sum log(1 - x (y - mean))``, and the negative of the second."""
    distances = y - mean
    ratios = distances / (1.0 - x * distances)
    return 0.0 - sum_in_order(ratios), sum_in_order(ratios * ratios)


@compiled_body(ascent)
def ascent_in_loops(y: Floats, mean: float, x: float) -> tuple[float, float]:
    """:func:`ascent` in loops, because arrays take up to 1.7 times as long compiled; loops take 20 times plain."""
    slope = 0.0
    curvature = 0.0
    for i in range(y.size):
        distance = y[i] - mean
        ratio = distance / (1.0 - x * distance)
        slope -= ratio
        curvature += ratio * ratio
    return slope, curvature


@entry
def largest_mean_batch(rows: Floats, top: float, divergence: float, out: Floats) -> None:
    """The supremum of :func:`solve_dual`, row by row."""
    for i in range(rows.shape[0]):
        out[i] = solve_dual(rows[i], top, divergence, -math.inf)[0]


def divergence_budget(n: int, alpha: float, calibration: Calibration) -> float:
    """``log(1/alpha)/n``, with the factor ``e (n + 2)`` that the proof needs."""
    factor = math.e * (n + 2) if calibration == "proved" else 1.0
    return math.log(factor / alpha) / n


@register(assumes=("bounded",), needs=("support",))
def empirical_kl(
    sample: ArrayLike,
    alpha: float,
    *,
    side: Side = "upper",
    support: tuple[float, float] | None = None,
    calibration: Calibration = "proved",
    check: bool = True,
) -> Bound:
    r"""Empirical-likelihood bound for bounded rewards.

    .. math:: \sup\{E_q : q \text{ on } \{y_1,\dots,y_n, u\},\ \mathrm{KL}(\hat p_n, q) \le d\}

    with ``u`` the upper end of the support.

    Parameters
    ----------
    sample
        Rewards of shape ``(..., n)``.
    alpha
        Error probability in (0, 1/2).
    side
        ``"upper"`` (default), ``"lower"`` or ``"two-sided"``.
    support
        The interval ``(low, high)`` the rewards lie in. An upper bound uses the upper end only.
    calibration
        ``"proved"`` (default): ``d = log(e (n + 2)/alpha)/n``. ``"plain"``: ``d = log(1/alpha)/n``, as empirical KL-UCB
        uses it, without proof at a fixed sample size.
    check
        Test the sample for contradictions of the assumption (default). A contradiction becomes a note and a warning, and
        ``guarantee`` is ``None``. Batches are not tested.

    Returns
    -------
    Bound

    See Also
    --------
    bandstrap.bounds.betting : narrower at small sample sizes, and with ``in_order=True`` valid at all of them together.

    Examples
    --------
    >>> from bandstrap.bounds import empirical_kl
    >>> empirical_kl([0.2, 0.9, 0.4, 0.5], 0.05, support=(0, 1), calibration="plain").value
    0.8139

    References
    ----------
    .. [1] Cappe, Garivier, Maillard, Munos, Stoltz. Kullback-Leibler upper confidence bounds for optimal sequential
       allocation. Annals of Statistics 41, 2013, section 5.
    """
    ends = check_support(support, "empirical_kl")
    check_choice(calibration, "calibration", "empirical_kl", CALIBRATIONS)

    def threshold(rewards: Floats, alpha: float, mirrored: bool) -> Threshold:
        scaled, (_, top), exponent = scale_inside(rewards, ends, "empirical_kl", mirrored)
        n = rewards.shape[-1]
        rows = scaled.reshape(-1, n)
        out = np.empty(len(rows))
        # More than the dual is solved to, so that what comes out is not below the supremum.
        budget = divergence_budget(n, alpha, calibration) * (1.0 + 1e-11) + 1e-12
        largest_mean_batch(20.0 * rows.size, rows, top, budget, out)
        mean = sample_mean(scaled)
        above = np.maximum(out.reshape(rewards.shape[:-1]), np.minimum(mean, scaled.max(axis=-1)))
        with np.errstate(over="ignore"):
            end, main = np.ldexp(above, exponent), np.ldexp(above - mean, exponent)
        return Threshold(main, {"main": main}, "dual", end)

    proved = calibration == "proved"
    return build(
        "empirical_kl",
        sample,
        alpha,
        side,
        threshold,
        guarantee=alpha if proved else None,
        holds_for=rewards_inside(ends) + ("" if proved else ", large samples"),
        check=check,
    )

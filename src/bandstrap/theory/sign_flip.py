r"""Theorems about sign-flip indices and symmetric rewards: rates, the lower bound's divergence, and a regret bound.

Facts, lemmas and theorems are numbered as in ``docs/sign-flip-theorem.md``, where their proofs are. An arm's walk has the
steps

.. math:: X = \log 2 - \log(1 + e^{s (Y - \mu^*)}) \quad\text{or}\quad
    \tfrac s2 (\mu^* - Y) - \tfrac{s^2}8 (\mu^* - Y)^2

for an index of random subsets or the self-normalised one. Steps are at most ``log 2`` or ``1/2``, and their mean, at the
best ``s``, is the rate at which the arm is told from the best.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit

from bandstrap.basics.arrays import Floats
from bandstrap.basics.distributions import KnownLaw, Law
from bandstrap.bounds.bound import FloatOrArray, as_number
from bandstrap.errors import check_choice, check_number, check_numbers, check_sample, is_number, requirement
from bandstrap.theory.orlicz import MOST_ATOMS, check_law, discrete_atoms, middle_and_spread, nodes, of_sum_one
from bandstrap.theory.regret_bounds import check_problem
from bandstrap.theory.studentized import most_regret

FlipIndex = Literal["self-normalised", "subsets"]
# The most that one reward adds to an arm's walk.
LARGEST_STEP: dict[FlipIndex, float] = {"self-normalised": 0.5, "subsets": math.log(2)}
INDICES: tuple[FlipIndex, ...] = get_args(FlipIndex)
# At levels (t (1 + log t))^-2 the best arm's index is too low in at most this many rounds on average: the sum over t >= 2
# of (t - 1)(t (1 + log t))^-2 is below 0.5487, by its first million terms and an integral.
MISSES = 0.55
# Rates are lowered, and bounds and divergences raised, by this part: more than ten times the relative errors of quadrature.
MARGIN = 1e-8
# A divergence is a sum of terms of either sign, each at most log 2; it is raised by this, too: ten times what they lose.
LOST = 1e-15
# A ratio that is raised to a high power is lowered by this first, more than its own roundings.
ROUNDED = 1e-15
# The best bet is sought to less than this part of itself, and taken so much smaller.
SHORT = 1e-11
# Bets beyond this many times the inverse spread are as good as infinite.
LARGEST_BET = 2.0**60
# Distances from the best mean, in spreads, among which the lower bound's centre is looked for.
CENTRES = np.concatenate([[0.0], np.geomspace(1e-2, 30.0, 24)])


class Atoms(NamedTuple):
    """Distances from a centre, in a unit, their probabilities, and how far their mean is below the centre."""

    distances: Floats
    weights: Floats
    gap: float


def symmetric_rate(law: Law | ArrayLike, mean: ArrayLike) -> FloatOrArray:
    r"""Rate at which sign flips tell an arm from a better one: nats per pull.

    .. math:: I = \sup_{s > 0} E\left[\log 2 - \log(1 + e^{s (Y - \mu^*)})\right]

    In theorem 2 an arm is pulled about ``log(1/alpha)/I`` times. For normal rewards the rate is the capacity of a
    binary-input Gaussian channel at the signal-to-noise ratio ``(gap/sigma)^2``. It is never above ``log 2``, and never
    below ``gap^2/(2 (sigma^2 + gap^2))``.

    Parameters
    ----------
    law
        Rewards of the arm: a frozen ``scipy.stats`` distribution with a mean, or a sample of rewards, each of which counts
        with the same probability.
    mean
        Mean of the best arm, ``mu*``; a number or an array.

    Returns
    -------
    float or ndarray
        The rate, of the shape of ``mean``; 0 if the arm's own mean is not below. Rounded down, at gaps however small, as
        long as the distribution's own mean is exact: next to a gap of ``1e-9`` a rounding of the mean counts.

    Notes
    -----
    The expectation is concave in ``s`` and every ``s`` gives a valid rate, so the search can only err downwards. At the
    best ``s`` it is ``E[v tanh v - log cosh v]`` with ``v = s (Y - mu*)/2``, which loses nothing by cancellation.
    Quadrature is that of :func:`~bandstrap.theory.orlicz_norm`; the rate is lowered by ``1e-8`` of itself for its error,
    also where a density jumps or bends. This does not cover tails heavier than those of Student's t with 1.2 degrees of
    freedom. Nor does it cover a density that rises to infinity faster than a beta or gamma density of shape 0.05.

    Examples
    --------
    >>> from scipy import stats
    >>> from bandstrap.theory import symmetric_rate
    >>> symmetric_rate(stats.norm(), [0.5, 1, 2])
    array([0.111421, 0.336831, 0.632720])
    >>> symmetric_rate([0, 1], 1)  # half of log 2
    0.346574

    References
    ----------
    .. [1] ``docs/sign-flip-theorem.md``, theorem 2.
    """
    owner = "symmetric_rate"
    centres = check_numbers(mean, "mean", owner)
    rates = [_rate(_atoms(law, centre, owner)) for centre in centres.flat]
    return as_number(np.reshape(rates, centres.shape), centres.shape)


def _atoms(law: Law | ArrayLike, centre: float, owner: str) -> Atoms:
    """A distribution, or the distribution of a draw from a sample, as atoms about a centre."""
    if not hasattr(law, "median"):
        points = check_sample(cast("ArrayLike", law), owner)
        if points.ndim > 1:
            raise requirement("law", owner, "a distribution, or one sample of shape (n,)", f"shape {points.shape}")
        weights, mean = np.full(points.size, 1 / points.size), None
    else:
        with np.errstate(all="ignore"):
            known = check_law(law, "law", owner)
            mean = float(known.mean())
            if not math.isfinite(mean):
                raise requirement("law", owner, "a distribution with a mean", "one without")
            points, log_weights = discrete_atoms(known, owner) if hasattr(law, "pmf") else nodes(known, centre)
            points, log_weights = of_sum_one(points, log_weights)
        weights = np.exp(log_weights)
    # In a unit that is a power of two no difference overflows, and none is rounded that would not be anyway.
    _, exponent = math.frexp(max(abs(centre), float(np.abs(points).max())))
    unit = math.ldexp(1.0, min(exponent, 1023))
    distances = points / unit - centre / unit
    if mean is None:  # distances are rounded; at small gaps that would count
        gap = math.fsum(np.concatenate([np.full(points.size, centre / unit), -points / unit])) / points.size
    else:
        gap = centre / unit - mean / unit
    return Atoms(distances, weights, gap)


def _intercept(v: Floats) -> Floats:
    """``v tanh v - log cosh v``, to a relative error of a few roundings; it rises from 0 to ``log 2`` with ``|v|``."""
    size = np.abs(v)
    small = np.minimum(size, 1.0)
    near = small * np.tanh(small) - np.log1p(2 * np.sinh(small / 2) ** 2)
    far = math.log(2) - 2 * size * expit(-2 * size) - np.log1p(np.exp(-2 * size))
    return np.where(size < 1, near, far)


def _rate(atoms: Atoms) -> float:
    """``sup_s E X`` from below: the tangent at a bet ``s`` where ``E X`` still rises meets ``s = 0`` below the supremum."""
    weights = atoms.weights
    spread = float(weights @ np.abs(atoms.distances))
    if atoms.gap <= 0 or spread == 0:
        return 0.0
    distances, gap = atoms.distances / spread, atoms.gap / spread

    def slope(log_bet: float) -> float:  # of 2 E X in s; it falls. Two forms, as small and large bets cancel otherwise.
        bet = math.exp(log_bet)
        if bet < 1:
            return gap - float(weights @ (distances * np.tanh(bet / 2 * distances)))
        return -2 * float(weights @ (distances * expit(bet * distances)))

    low = high = 0.0
    while slope(low) <= 0 and low > -math.log(LARGEST_BET):
        low -= 1
    while slope(high) > 0 and high < math.log(LARGEST_BET):
        high += 1
    if slope(low) <= 0:
        return 0.0
    bet = math.exp(brentq(slope, low, high) - SHORT if slope(high) < 0 else high)
    return float(weights @ _intercept(bet / 2 * distances)) * (1 - MARGIN)


def symmetric_divergence(law: Law, mean: ArrayLike) -> FloatOrArray:
    r"""Divergence from an arm to the symmetric distributions with a higher mean than the best: theorem 1.

    .. math:: K = \inf_{m > \mu^*} \mathrm{JSD}(\nu, R_m \nu) = \inf_{m > \mu^*} E \log \frac{2 f(Y)}{f(Y) + f(2 m - Y)}

    with ``f`` the density and :math:`R_m \nu` the distribution mirrored at ``m``. A policy that is consistent for all
    symmetric rewards pulls the arm at least ``log(T)/K`` times, asymptotically, and ``K`` is at most ``log 2``.

    Parameters
    ----------
    law
        Rewards of the arm: a frozen ``scipy.stats`` distribution with a mean, symmetric about it. A discrete one has
        its values on a lattice of step 1.
    mean
        Mean of the best arm, ``mu*``, above that of the arm; a number or an array.

    Returns
    -------
    float or ndarray
        The divergence, of the shape of ``mean``, rounded up. The infimum is searched among 25 centres and between the best
        and its neighbours. Every centre gives a valid lower bound on pulls, so the search can only make that bound smaller.

    Examples
    --------
    >>> from scipy import stats
    >>> from bandstrap.theory import symmetric_divergence
    >>> symmetric_divergence(stats.laplace(scale=0.5**0.5), [0.5, 1, 2])
    array([0.152752, 0.369797, 0.603796])
    >>> symmetric_divergence(stats.bernoulli(0.5), 1)  # at m = 1 it is half of this
    0.693147

    References
    ----------
    .. [1] ``docs/sign-flip-theorem.md``, theorem 1.
    .. [2] Larsson, Ramdas, Ruf. The numeraire e-variable and reverse information projection. 2024: the projection.
    """
    owner = "symmetric_divergence"
    known = check_law(law, "law", owner)
    centres = check_numbers(mean, "mean", owner)
    if not math.isfinite(known.mean()):
        raise requirement("law", owner, "a distribution with a mean", "one without")
    if (centres <= known.mean()).any():
        raise requirement("mean", owner, "above the mean of the distribution", float(centres.min()))
    least = _least_on_lattice if hasattr(law, "pmf") else _least_divergence
    with np.errstate(all="ignore"):
        found = np.array([least(known, centre, owner) for centre in centres.flat])
    raised = np.minimum(np.maximum(found, 0.0) * (1 + MARGIN) + LOST, math.log(2))
    return as_number(np.reshape(raised, centres.shape), centres.shape)


def _least_divergence(law: KnownLaw, mean: float, owner: str) -> float:
    """The infimum over centres for a distribution with a density, where it is continuous in the centre."""
    middle, spread = middle_and_spread(law)
    low, high = law.support()

    def mirrored(centre: float) -> float:
        def gains(points: Floats) -> Floats:
            ratios = law.logpdf(2 * centre - points) - law.logpdf(points)
            # At a node rounded onto an end the mirrored density may be infinite.
            return np.where(ratios == math.inf, 0.0, math.log(2) - np.logaddexp(0.0, ratios))

        edges = (centre, middle, 2 * centre - middle, 2 * centre - low, 2 * centre - high)
        points, log_weights = of_sum_one(*nodes(law, *edges, beyond=False, values=gains))
        return float(np.exp(log_weights) @ gains(points))

    centres = mean + spread * CENTRES
    values = [mirrored(centre) for centre in centres]
    best = int(np.argmin(values))
    if best in (0, len(values) - 1):
        return values[best]
    between = (centres[best - 1], centres[best + 1])
    return min(values[best], float(minimize_scalar(mirrored, bounds=between, method="bounded").fun))


def _least_on_lattice(law: KnownLaw, mean: float, owner: str) -> float:
    """The infimum for a discrete distribution: but for centres midway between atoms nothing is shared with the
    mirrored distribution.
    """
    points, log_weights = of_sum_one(*discrete_atoms(law, owner))
    places = np.rint(points - points[0])
    if places[-1] > MOST_ATOMS or not np.allclose(points - points[0], places, rtol=0, atol=1e-9):
        rule = f"a discrete distribution with values on a lattice of step 1, at most {MOST_ATOMS} apart"
        raise requirement("law", owner, rule, f"values from {points[0]:g} to {points[-1]:g}")
    weights = np.bincount(places.astype(np.int64), np.exp(log_weights))
    n = weights.size
    least = math.log(2)
    for total in range(2 * n - 1):  # atoms i and total - i are mirrored onto each other
        if points[0] + total / 2 > mean:
            i = np.arange(max(0, total - n + 1), min(total, n - 1) + 1)
            i = i[weights[i] > 0]
            shared = weights[i] @ np.log1p(weights[total - i] / weights[i])
            least = min(least, math.log(2) - float(shared))
    return least


def sign_flip_regret_bound(
    gaps: ArrayLike,
    horizon: ArrayLike,
    *,
    scales: ArrayLike | None = None,
    rates: ArrayLike | None = None,
    moments: ArrayLike | None = None,
    order: float = 2.0,
    index: FlipIndex = "self-normalised",
    alpha: float | Literal["1/T^2"] | None = None,
) -> FloatOrArray:
    r"""Upper bound on the expected regret of ``SignFlipUCB(proved=True)``, whose best arm is symmetric: theorem 2.

    .. math:: E N_i(T) \le \frac{2 \log T + 2 \log(1 + \log T) + 1.55\, b}{r_i}, \qquad
        E N_i(T) \le \frac{\log(1/\alpha) + b}{r_i} + \alpha T (T - 1)

    at the levels :math:`\alpha_t = (t (1 + \log t))^{-2}` and at a fixed level. The rate of arm ``i`` is

    =================== ======================= ==================================================================
    index               ``b``                   ``r``
    =================== ======================= ==================================================================
    ``self-normalised`` ``1/2``                 ``gap^2/(2 (scale^2 + gap^2))``
    ``subsets``         ``log 2``               ``rates``, the same, or ``2c (1+c)^(-1-1/c) (gap^(1+c)/moment)^(1/c)``
    =================== ======================= ==================================================================

    with ``order = 1 + c``. Nothing is asked of the best arm but symmetry, and nothing of the others but what ``r`` needs.

    Parameters
    ----------
    gaps
        Distance of each arm's mean to the best, shape ``(n_arms,)``; 0 for the best.
    horizon
        Number of rounds ``T``, a number or an array, each at least 2.
    scales
        Standard deviations of the worse arms, or upper bounds on them; one number or one per arm. Entries of best arms are
        not used.
    rates
        For ``index="subsets"``, in place of ``scales``: :func:`symmetric_rate` of each arm.
    moments
        In place of ``scales``: ``E|Y_i - mu*|^order``, or more, for rewards that may have no variance.
    order
        Of ``moments``, above 1 and at most 2 (default); 2 for the self-normalised index.
    index
        ``"self-normalised"`` (default), as in ``SignFlipUCB(proved=True)``; ``"subsets"`` is any index between the
        sign-flip bound and its Chernoff bound, such as :func:`bandstrap.bounds.sign_flip` itself.
    alpha
        The policy's level: by default the one that falls with ``t``; ``"1/T^2"``, or a number.

    Returns
    -------
    float or ndarray
        The bound, of the shape of ``horizon``, never above ``T`` times the largest gap. Rounded up, by ``1e-8`` of itself.

    Notes
    -----
    The bound holds if each reward is learned before the next choice, without delay or batches. At decreasing levels arms
    must be independent of each other; at a fixed level they need not be. Several best arms may tie; one of them must be
    symmetric.

    Examples
    --------
    >>> from scipy import stats
    >>> from bandstrap.theory import sign_flip_regret_bound, symmetric_rate
    >>> sign_flip_regret_bound([0, 1], [200, 2000], scales=1)
    array([60.2088, 81.1222])
    >>> sign_flip_regret_bound([0, 1], 2000, scales=1, alpha="1/T^2")
    63.8067
    >>> rate = symmetric_rate(stats.norm(), 1)
    >>> sign_flip_regret_bound([0, 1], 2000, rates=rate, index="subsets", alpha="1/T^2")
    48.1892

    References
    ----------
    .. [1] ``docs/sign-flip-theorem.md``, theorem 2 and its corollary.
    """
    owner = "sign_flip_regret_bound"
    arms, rounds = check_problem(gaps, horizon, owner)
    check_choice(index, "index", owner, INDICES)
    every = {"scales": scales, "rates": rates, "moments": moments}
    given = {name: values for name, values in every.items() if values is not None}
    if len(given) != 1:
        rule = "given, or one of 'rates' and 'moments' instead"
        raise requirement("scales", owner, rule, " and ".join(given) or "none of them")
    if alpha is not None and alpha != "1/T^2" and not is_number(alpha):
        raise requirement("alpha", owner, "'1/T^2', a number in (0, 1), or left out", repr(alpha))
    level = check_number(alpha, "alpha", owner, above=0, below=1) if is_number(alpha) else alpha
    wrong = arms > 0
    ((name, values),) = given.items()
    most = LARGEST_STEP[index]
    totals = []
    with np.errstate(over="ignore", divide="ignore", under="ignore"):  # a rate of 0 tells nothing: all rounds
        rate = _rates(arms, wrong, name, values, order, index, owner)
        for t in np.ceil(rounds).flat:
            log = math.log(t)
            if level is None:
                pulls = (2 * log + 2 * math.log1p(log) + most * (1 + MISSES)) / rate
            elif level == "1/T^2":
                pulls = (2 * log + most) / rate + (1 - 1 / t)
            else:
                pulls = (most - math.log(level)) / rate + level * t * (t - 1)
            each = np.zeros(arms.size)
            each[wrong] = np.minimum(pulls * (1 + MARGIN), t)
            totals.append(most_regret(arms, each, t))
    return as_number(np.reshape(totals, rounds.shape), rounds.shape)


def _rates(
    gaps: Floats, wrong: NDArray[np.bool_], name: str, values: ArrayLike, order: float, index: FlipIndex, owner: str
) -> Floats:
    """``r_i`` of the worse arms."""
    each = check_numbers(values, name, owner, at_least=0)
    if each.shape not in ((), gaps.shape):
        raise requirement(name, owner, "one number, or one per arm", f"shape {each.shape}")
    gap, each = gaps[wrong], np.broadcast_to(each, gaps.shape)[wrong]
    power = check_number(order, "order", owner, above=1)
    if power > 2 or (power < 2 and (name != "moments" or index != "subsets")):
        rule = "2, unless 'moments' are given for index='subsets', when it may be less"
        raise requirement("order", owner, rule, power)
    if name == "rates":
        if index != "subsets":
            raise requirement("rates", owner, "left out unless index='subsets'", repr(values))
        if not ((each > 0) & (each <= math.log(2))).all():
            raise requirement("rates", owner, "above 0 and at most log 2 for the worse arms", float(each.min()))
        return np.asarray(each)
    if name == "scales":
        return np.asarray(1 / (2 * (1 + (each / gap) ** 2)))
    roots = each ** (1 / power)  # a gap to this power may be beyond the doubles, the root of a moment is not
    if not (roots >= gap * (1 - MARGIN)).all():
        raise requirement("moments", owner, "at least gap**order, as moments about the best mean are", repr(values))
    c = power - 1
    ratio = np.minimum(gap / roots, 1.0) * (1 - ROUNDED)
    return np.asarray(2 * c * (1 + c) ** (-1 - 1 / c) * ratio ** (power / c))

"""Differences between arms from an adaptive log, at all times: one e-process per ordered pair of arms."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bandstrap.basics.arrays import Bools, Floats
from bandstrap.errors import brief, check_count, check_number, requirement
from bandstrap.evidence.betting import (
    BETS,
    EPS,
    N_BETS,
    ROUNDINGS,
    STEEPEST,
    add_in_order,
    advance_levels,
    log_threshold,
    log_wealth,
    lower_sum,
)
from bandstrap.evidence.table import (
    ArmPlaces,
    check_arm,
    check_arms,
    check_columns,
    check_joining,
    check_labels,
    check_range,
    check_rewards,
    check_state,
    check_weights,
    chunks,
    read_arrays,
)

# Arrays of the state, whose first two axes are the arms of a pair.
ARRAYS = ("log_products", "overlap", "sums", "squares", "means")


@dataclass(frozen=True)
class Contrast:
    """Effect of serving one arm instead of another: the difference of their mean rewards, weighted by overlap.

    Attributes
    ----------
    arm, over
        The arm, and the arm of the comparison.
    estimate
        Overlap-weighted estimate of the effect; ``nan`` while the two arms were never available together.
    lower, upper
        Ends of the interval, which holds at all times at once.
    log_evidence
        Logarithm of the e-value against "on average, ``arm`` was no better than ``over``".
    overlap
        Sum of ``p_a p_b/(p_a + p_b)``: a quarter of the decisions where both arms had a probability of 1/2.
    baseline
        Overlap-weighted mean reward of ``over``; ends divided by it are the effect in per cent, approximately. ``nan``
        while the two arms were never available together.
    """

    arm: str
    over: str
    estimate: float
    lower: float
    upper: float
    log_evidence: float
    overlap: float
    baseline: float


@dataclass(frozen=True, eq=False)
class ContrastIntervals:
    """Contrasts of all pairs of arms at one time: ``found["green", "red"]`` is the effect of green over red.

    Attributes
    ----------
    labels
        Labels of the arms, in the order of rows and columns.
    alpha
        Error probability of an interval; with ``simultaneous`` that of all intervals against one arm together.
    simultaneous
        True if the contrasts with one arm share ``alpha``.
    n_decisions
        Number of decisions counted.
    estimate, lower, upper, log_evidence, overlap, baseline
        See :class:`Contrast`; of shape ``(K, K)``, with the arm in the row and its comparison in the column.
    """

    labels: tuple[str, ...]
    alpha: float
    simultaneous: bool
    n_decisions: int
    estimate: Floats
    lower: Floats
    upper: Floats
    log_evidence: Floats
    overlap: Floats
    baseline: Floats

    def __getitem__(self, pair: tuple[str | int, str | int]) -> Contrast:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise requirement("pair", "ContrastIntervals", "two arms", brief(pair))
        row, column = (check_arm(arm, self.labels, "pair", "ContrastIntervals") for arm in pair)
        arrays = (self.estimate, self.lower, self.upper, self.log_evidence, self.overlap, self.baseline)
        numbers = [float(array[row, column]) for array in arrays]
        return Contrast(self.labels[row], self.labels[column], *numbers)

    def __iter__(self) -> Iterator[Contrast]:
        pairs = np.argwhere(~np.eye(len(self.labels), dtype=bool)).tolist()
        return (self[row, column] for row, column in pairs)

    def against(self, control: str | int) -> list[Contrast]:
        """Contrasts of all other arms with one of them."""
        place = check_arm(control, self.labels, "control", "ContrastIntervals.against")
        return [self[row, place] for row in range(len(self.labels)) if row != place]


class Contrasts:
    r"""Evidence about the differences between arms, updated decision by decision.

    For decision ``i`` with probabilities ``p_a`` and ``p_b`` of two arms, and rewards scaled to [0, 1]:

    .. math::

        g_i = \frac{p_a p_b}{p_a + p_b}, \qquad
        \xi_i = g_i (R_i - r_i) \Bigl(\frac{1\{A_i = b\}}{p_b} - \frac{1\{A_i = a\}}{p_a}\Bigr), \qquad
        M_{ba}(S) = \sum_j \pi_j \exp\Bigl(\sum_i \log(1 + l_j \xi_i) - l_j S\Bigr)

    with bets :math:`l_j = 0.9 \cdot 2^{-j}`, ``j = 0, ..., 11``, prior :math:`\pi_j \propto 1/(1 + ((j - 2)/1.5)^2)`, and a
    level ``r_i`` that depends on earlier decisions only. The effect is :math:`\sum_i g_i \delta_i / \sum_i g_i`, the
    difference :math:`\delta_i = \mu_i(b) - \mu_i(a)` of mean rewards averaged over time, weighted by the overlap of both
    arms. Its lower end is ``S/G`` with :math:`M_{ba}(S) = 2/\alpha` and :math:`G = \sum_i g_i`.

    Parameters
    ----------
    arms
        Labels of the arms, or their number; from 2 to 64. Arms that join late have probability 0 until then.
    low, high
        Lowest and highest possible reward. Default: 0 and 1.

    Attributes
    ----------
    labels
        Labels of the arms.
    n_decisions
        Number of decisions counted.
    n_before
        Number of earlier decisions used for the level, if evidence was restarted.
    level
        ``r`` for the next decision, for rewards scaled to [0, 1]: a mean of the rewards of all arms over about the last 200
        decisions. It removes the common level from the scores, which makes intervals narrower. No guarantee depends on it.
    log_products, overlap, sums, squares, means
        The state: sums of :math:`\log(1 + l_j \xi)` of shape ``(K, K, 12)``, and of ``g``, :math:`\xi`,
        :math:`\xi^2` and :math:`g 1\{A = b\} R/p_b` of shape ``(K, K)``. Row ``b`` and column ``a`` belong to the effect
        of ``b`` over ``a``.

    See Also
    --------
    bandstrap.evidence.contrasts : the same for a whole table at once.
    bandstrap.evidence.verdict : whether to stop, and with which arm.

    Notes
    -----
    *Assumptions.* Each decision draws its arm with the probabilities given, which may depend on everything before, and
    rewards lie between ``low`` and ``high``. Decisions are counted in their order, each with its final reward. There is no
    assumption on mean rewards: they may drift, together or separately, and react to the traffic.

    *Proof.* ``g/p_b = p_a/(p_a + p_b)`` is at most 1, so that :math:`|\xi| \le 1` and every factor is positive. Given
    everything before decision ``i``, :math:`E\, \xi_i = g_i \delta_i`, because the level drops out:

    .. math:: E(1 + l \xi_i) = 1 + l g_i \delta_i \le \exp(l g_i \delta_i).

    So every term of :math:`M_{ba}(\sum_i g_i \delta_i)` is a supermartingale that starts with its prior, and the
    mixture starts with 1. Ville's inequality bounds by ``alpha/2`` the probability that it ever reaches ``2/alpha``.

    *The interval contains the estimate* :math:`\sum \xi_i/G`: by :math:`\log(1 + x) \le x` the exponents of
    :math:`M_{ba}(S)` are at most :math:`l_j (\sum \xi_i - S)`, so sums above :math:`\sum \xi_i` are never ruled out from
    below.

    *Late and paused arms.* An arm with probability 0 adds nothing to its contrasts: ``g = 0``.

    *Rounding.* Products are lowered by a bound on the rounding of all sums, and ends are rounded outwards. The state
    does not depend on how decisions are grouped into calls of :meth:`update`.

    Examples
    --------
    >>> import numpy as np
    >>> from bandstrap.evidence import Contrasts
    >>> rng = np.random.default_rng(0)
    >>> state = Contrasts(["red", "green"])
    >>> for _ in range(3000):
    ...     arm = int(rng.random() < 0.3)
    ...     state.update(arm, rng.random() < (0.1, 0.2)[arm], [0.7, 0.3])
    >>> found = state.intervals(0.05)["green", "red"]
    >>> round(found.estimate, 3), round(found.lower, 3), round(found.upper, 3)
    (0.086, 0.042, 0.135)

    References
    ----------
    .. [1] Mineiro. A lower confidence sequence for the changing mean of non-negative right heavy-tailed observations
       with bounded mean. arXiv:2210.11133, 2022: constant bets and a mixture of them, for a running average.
    .. [2] Waudby-Smith, Wu, Ramdas, Karampatziakis, Mineiro. Anytime-valid off-policy inference for contextual bandits.
       ACM/IMS Journal of Data Science 1, 2024.
    .. [3] Li, Morgan, Zaslavsky. Balancing covariates via propensity score weighting. JASA 113, 2018: overlap weights.
    """

    def __init__(self, arms: int | Sequence[str], *, low: float = 0.0, high: float = 1.0) -> None:
        self.labels = check_labels(arms, "Contrasts")
        self.low, self.high = check_range(low, high, "Contrasts")
        self.n_decisions = 0
        self.n_before = 0
        self.level = 0.5
        n_arms = len(self.labels)
        self.log_products: Floats = np.zeros((n_arms, n_arms, N_BETS))
        self.overlap: Floats = np.zeros((n_arms, n_arms))
        self.sums: Floats = np.zeros((n_arms, n_arms))
        self.squares: Floats = np.zeros((n_arms, n_arms))
        self.means: Floats = np.zeros((n_arms, n_arms))

    def update(self, arms: ArrayLike, rewards: ArrayLike, weights: ArrayLike) -> None:
        """Count one decision or several, in their order.

        Parameters
        ----------
        arms
            The arm chosen, or a column of arms: labels or positions.
        rewards
            Their rewards.
        weights
            Probabilities of all arms at the time of the decision, of shape ``(K,)`` or ``(n, K)``.
        """
        owner = "Contrasts.update"
        chosen = check_arms(arms, self.labels, owner)
        scaled = check_rewards(rewards, len(chosen), self.low, self.high, owner)
        table = check_weights(weights, chosen, len(self.labels), owner)
        for some in chunks(len(chosen), 2 * N_BETS * len(self.labels) + len(self.labels) ** 2):
            self._add(chosen[some], scaled[some], table[some])

    def _add(self, chosen: ArmPlaces, scaled: Floats, weights: Floats) -> None:
        """Add decisions that were checked."""
        n_arms = weights.shape[1]
        levels, self.level = advance_levels(self.level, self.n_before + self.n_decisions, scaled)
        self.n_decisions += len(chosen)
        shares = pair_shares(chosen, weights)
        scores = (scaled - levels)[:, None] * shares
        others = np.arange(n_arms) != chosen[:, None]
        # The arm chosen over another, and the other over it, decision by decision: sums are added in this order.
        over = chosen[:, None] * n_arms + np.arange(n_arms)
        under = np.arange(n_arms) * n_arms + chosen[:, None]
        pairs = np.stack([over[others], under[others]], axis=1).reshape(-1)
        values = np.stack([scores[others], -scores[others]], axis=1).reshape(-1)
        cells = pairs[:, None] * N_BETS + np.arange(N_BETS)
        np.add.at(self.log_products.reshape(-1), cells.reshape(-1), np.log1p(values[:, None] * BETS).reshape(-1))
        np.add.at(self.sums.reshape(-1), pairs, values)
        np.add.at(self.squares.reshape(-1), pairs, values * values)
        np.add.at(self.means.reshape(-1), over[others], (scaled[:, None] * shares)[others])
        first, second = np.triu_indices(n_arms, 1)
        self.overlap[first, second] = add_in_order(
            self.overlap[first, second], overlaps(weights[:, first], weights[:, second])
        )
        self.overlap[second, first] = self.overlap[first, second]

    def add_arm(self, label: str) -> None:
        """Add a new arm; it had probability 0 until now.

        Intervals of single contrasts stay exact. Simultaneous contrasts, and verdicts, share alpha among the known arms. If
        arms join in reaction to results, the error probability is at most ``1 + 1/k + ... + 1/(K - 1)`` times alpha, with
        ``k`` arms at first and ``K`` in the end. To avoid this, name all arms from the start.
        """
        self.labels = check_joining(self.labels, label, "Contrasts.add_arm")
        for name in ARRAYS:
            array = getattr(self, name)
            setattr(self, name, np.pad(array, [(0, 1), (0, 1)] + [(0, 0)] * (array.ndim - 2)))

    def merge(self, later: Contrasts) -> Contrasts:
        """Evidence of two parts of a log together: all sums add.

        The guarantee requires only that each part used a level from its own earlier decisions. So parts may be consecutive
        or parallel. The level for further decisions is that of the ``later`` part.

        Examples
        --------
        >>> from bandstrap.evidence import Contrasts
        >>> monday, tuesday = Contrasts(2), Contrasts(2)
        >>> monday.update([0, 1], [0, 1], [0.5, 0.5])
        >>> tuesday.update([1, 1], [0, 1], [0.5, 0.5])
        >>> monday.merge(tuesday).n_decisions
        4
        """
        if not isinstance(later, Contrasts) or (later.labels, later.low, later.high) != (
            self.labels,
            self.low,
            self.high,
        ):
            rule = f"Contrasts of the same arms and rewards from {self.low:g} to {self.high:g}"
            raise requirement("later", "Contrasts.merge", rule, brief(later))
        merged = copy.copy(self)
        for name in ARRAYS:
            setattr(merged, name, getattr(self, name) + getattr(later, name))
        merged.n_decisions = self.n_decisions + later.n_decisions
        merged.level = later.level if later.n_decisions else self.level
        return merged

    def restarted(self) -> Contrasts:
        """Contrasts without evidence, for the next time bin; the level is kept."""
        fresh = Contrasts(self.labels, low=self.low, high=self.high)
        fresh.level, fresh.n_before = self.level, self.n_before + self.n_decisions
        return fresh

    def to_dict(self) -> dict[str, Any]:
        """The state as plain lists and numbers, for JSON; :meth:`from_dict` reads them back without loss."""
        numbers = {name: getattr(self, name) for name in ("low", "high", "n_decisions", "n_before", "level")}
        return {"arms": list(self.labels), **numbers, **{name: getattr(self, name).tolist() for name in ARRAYS}}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Contrasts:
        """Restore the state from :meth:`to_dict`; impossible numbers are refused.

        Examples
        --------
        >>> from bandstrap.evidence import Contrasts
        >>> Contrasts.from_dict(Contrasts(["red", "green"]).to_dict()).labels
        ('red', 'green')
        """
        owner = "Contrasts.from_dict"
        check_state(state, ("low", "high", "n_decisions", "n_before", "level", *ARRAYS), owner)
        found = cls(state["arms"], low=state["low"], high=state["high"])
        found.n_decisions = check_count(state["n_decisions"], "n_decisions", owner, at_least=0)
        found.n_before = check_count(state["n_before"], "n_before", owner, at_least=0)
        found.level = check_number(state["level"], "level", owner)
        read_arrays(found, state, ARRAYS, owner)
        consistent = (
            0.0 <= found.level <= 1.0
            and np.array_equal(found.overlap, found.overlap.T)
            and np.array_equal(found.sums, -found.sums.T)
            and np.array_equal(found.squares, found.squares.T)
            and min(found.overlap.min(), found.squares.min(), found.means.min()) >= 0.0
            and max(found.overlap.max() * 2, found.squares.max(), found.means.max()) <= found.n_decisions
        )
        if not consistent:
            raise requirement("state", owner, "one that to_dict wrote", "numbers that contradict each other")
        return found

    def lowered_products(self) -> Floats:
        """Logarithms of the products, each lowered by a bound on the rounding error.

        ``n`` additions lose at most ``n eps/2`` of the largest partial sum, which is at most
        ``-log(1 - l_j) sum |xi| <= -log(1 - l_j) sqrt(n sum xi^2)``; each term loses a few ``eps`` of itself.
        """
        reach = np.sqrt(self.n_decisions * self.squares)[..., None] * STEEPEST
        return self.log_products - EPS * (self.n_decisions + ROUNDINGS) * reach

    def log_evidence(self) -> Floats:
        """Logarithm of ``M_ba(0)``, ``(K, K)``: the e-value against "``b`` was no better than ``a`` on average"."""
        evidence = log_wealth(self.lowered_products())
        np.fill_diagonal(evidence, 0.0)
        return evidence

    def intervals(self, alpha: float = 0.05, *, simultaneous: bool = False) -> ContrastIntervals:
        """Estimates and intervals of all contrasts.

        Parameters
        ----------
        alpha
            Error probability, of both sides together: each interval misses the effect, at any time ever, with at most
            this probability. Default: 0.05.
        simultaneous
            Make ``alpha`` hold for all contrasts with one arm together, such as a control. Default: each by itself.
        """
        alpha = check_number(alpha, "alpha", "Contrasts.intervals", above=0, below=1)
        n_arms = len(self.labels)
        target = log_threshold(alpha, n_arms - 1 if simultaneous else 1)
        evidence = self.log_evidence()
        lower = self._lower_ends(target, evidence >= target)
        with np.errstate(invalid="ignore", over="ignore"):
            shares = np.clip(self.sums / self.overlap, -1.0, 1.0)
        estimate = np.where(self.overlap > 0.0, shares * (self.high - self.low), np.nan)
        # Sums and their order are rounded as well: the estimate is kept inside.
        estimate = np.clip(estimate, lower, -lower.T)
        np.fill_diagonal(estimate, 0.0)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            means = np.where(self.overlap > 0.0, np.clip(self.means / self.overlap, 0.0, 1.0), np.nan)
        baseline = self.low + (self.high - self.low) * means.T
        counted = (self.labels, alpha, simultaneous, self.n_decisions)
        return ContrastIntervals(*counted, estimate, lower, -lower.T, evidence, self.overlap.copy(), baseline)

    def _lower_ends(self, target: float, proved: Bools) -> Floats:
        """Lower ends of all effects; positive only where the evidence against 0 reaches the target."""
        sums = lower_sum(self.lowered_products(), target)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ends = sums / self.overlap
        ends = np.where(self.overlap > 0.0, ends, -1.0)
        # Rounding of the overlap, of the quotient, and of rewards that were scaled.
        ends -= EPS * ((self.n_decisions + ROUNDINGS) * np.abs(ends) + 4.0)
        ends = np.where(proved, np.maximum(ends, 0.0), np.minimum(ends, 0.0))
        np.fill_diagonal(ends, 0.0)
        return np.clip(ends, -1.0, 1.0) * (self.high - self.low)


def pair_shares(chosen: ArmPlaces, weights: Floats) -> Floats:
    r"""Factors ``g/p_A = p_k/(p_k + p_A)`` by which ``R - r`` becomes the score of the arm chosen over each arm."""
    own = np.take_along_axis(weights, chosen[:, None], axis=1)
    return weights / (weights + own)


def overlaps(first: Floats, second: Floats) -> Floats:
    """``p_a p_b/(p_a + p_b)``, and 0 where both are 0."""
    total = first + second
    return first * np.divide(second, total, out=np.zeros(total.shape), where=total > 0.0)


def contrasts(
    arms: ArrayLike,
    rewards: ArrayLike,
    weights: ArrayLike,
    *,
    low: float = 0.0,
    high: float = 1.0,
    alpha: float = 0.05,
    labels: Sequence[str] | None = None,
    simultaneous: bool = False,
) -> ContrastIntervals:
    """Differences between the arms of an adaptive log, with intervals that hold at all times.

    Parameters
    ----------
    arms
        The arm of each decision, in the order of decision: positions, or labels if ``labels`` are given.
    rewards
        The reward of each decision.
    weights
        Probabilities of all arms at each decision, of shape ``(n, K)``; ``(K,)`` if they never changed.
    low, high
        Lowest and highest possible reward. Default: 0 and 1.
    alpha
        Error probability of an interval. Default: 0.05.
    labels
        Labels of the arms, in the order of the columns of ``weights``. Default: their positions.
    simultaneous
        Make ``alpha`` hold for all contrasts with one arm together. Default: each by itself.

    Returns
    -------
    ContrastIntervals
        Estimates and intervals of all pairs of arms.

    See Also
    --------
    bandstrap.evidence.Contrasts : formulas, assumptions and proof; decision by decision.

    Examples
    --------
    >>> import numpy as np
    >>> from bandstrap.evidence import contrasts
    >>> rng = np.random.default_rng(1)
    >>> weights = np.tile([0.5, 0.3, 0.2], (4000, 1))
    >>> arms = rng.choice(3, 4000, p=weights[0])
    >>> rewards = rng.random(4000) < np.array([0.1, 0.1, 0.2])[arms]
    >>> for found in contrasts(arms, rewards, weights, labels=["a", "b", "c"]).against("a"):
    ...     print(found.arm, f"{found.estimate:+.3f} ({found.lower:+.3f} to {found.upper:+.3f})")
    b -0.014 (-0.048 to +0.021)
    c +0.085 (+0.038 to +0.138)
    """
    state = Contrasts(check_columns(labels, weights, "contrasts"), low=low, high=high)
    state.update(arms, rewards, weights)
    return state.intervals(alpha, simultaneous=simultaneous)

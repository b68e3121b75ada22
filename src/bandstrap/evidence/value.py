"""Value of a fixed policy, or of one arm for all, from an adaptive log: off-policy evaluation, valid at all times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bandstrap.basics.arrays import Floats
from bandstrap.errors import InvalidInput, brief, check_count, check_number, read_numbers, requirement
from bandstrap.evidence.betting import (
    BETS,
    EPS,
    LARGEST_BET,
    LOG_PRIOR,
    N_BETS,
    ROUNDINGS,
    VALUE_LOG_PRIOR,
    add_in_order,
    advance_levels,
    log_threshold,
    lower_sum,
)
from bandstrap.evidence.table import (
    ArmPlaces,
    check_arms,
    check_columns,
    check_joining,
    check_labels,
    check_probabilities,
    check_range,
    check_rewards,
    check_state,
    check_weights,
    chunks,
    read_arrays,
)

# Larger ratios count as so much, so that sums of squares are numbers; none that large is ever drawn.
LARGEST_RATIO = 1e100
# Arrays of the state, whose first axis are the targets; the second one of products is low and high.
SUMS = ("doubly_robust", "weighted", "weight", "weight_squares", "uncovered")
ARRAYS = ("log_products", "magnitudes", *SUMS)


@dataclass(frozen=True)
class ValueEstimate:
    """Estimated mean reward per decision of a policy, over the whole log.

    Attributes
    ----------
    name
        Name of the policy, or label of the arm.
    estimate
        Doubly robust estimate; ``nan`` without overlap and without decisions.
    lower, upper
        Ends of its interval, which holds at all times at once.
    ips, snips
        Estimates by inverse propensity scores, plain and self-normalised; ``nan`` without overlap.
    effective_size
        Effective sample size: ``(sum W)^2/sum W^2``.
    n_decisions
        Number of decisions that were counted.
    uncovered
        Number of decisions in which the policy might choose an arm whose logged probability is 0; there is an estimate only
        without such decisions.
    """

    name: str
    estimate: float
    lower: float
    upper: float
    ips: float
    snips: float
    effective_size: float
    n_decisions: int
    uncovered: int


class PolicyValues:
    r"""Evidence about the values of fixed policies, updated decision by decision.

    With ``W_i = pi(A_i)/p_i(A_i)``, rewards scaled to [0, 1], and a level ``r_i`` from earlier decisions:

    .. math::

        \text{IPS} = \frac1n \sum_i W_i R_i, \qquad \text{SNIPS} = \frac{\sum_i W_i R_i}{\sum_i W_i}, \qquad
        \text{DR} = \frac1n \sum_i \bigl(r_i + W_i (R_i - r_i)\bigr).

    The lower end of the running average value is ``S/n``, with ``M(S) = 2/alpha`` and

    .. math::

        M(S) = \sum_j \pi_j \exp\Bigl(\sum_i \log\bigl(1 + l_j x_{ij}\bigr) - l_j \bigl(S - \sum_i c_{ij}\bigr)\Bigr),
        \quad x_{ij} = W_i \bigl(R_i - r'_{ij}(A_i)\bigr), \quad c_{ij} = \sum_a \pi(a) r'_{ij}(a),
        \quad r'_{ij}(a) = \min\Bigl(r_i, \frac{0.9\, p_i(a)}{l_j\, \pi(a)}\Bigr),

    bets as in :class:`Contrasts`, and prior :math:`\pi_j \propto 1/(1 + ((j - 3.5)/1.5)^2)`. The upper end is 1 minus the
    lower end for rewards ``1 - R``.

    Parameters
    ----------
    arms
        Labels of the arms, or their number; from 2 to 64.
    targets
        Probabilities of all arms under each policy, of shape ``(T, K)``. Default: each arm for all decisions.
    names
        Names of the policies. Default: the labels of the arms, or the positions of the targets.
    low, high
        Lowest and highest possible reward. Default: 0 and 1.
    less_served
        Estimate the value of each policy minus the value of the policy that was served: its regret, or gain. The score is
        :math:`x_{ij} - (R_i - r_i)`, with 1 less in place of :math:`0.9/l_j`. It varies less, so that the prior is that of
        :class:`Contrasts`. Default: the value itself.

    See Also
    --------
    bandstrap.evidence.value : the same for a whole table and one policy.
    bandstrap.evidence.rejection_replay : for policies that learn.

    Notes
    -----
    *Assumptions.* Each decision draws its arm with the probabilities given, which may depend on everything before, and
    rewards lie between ``low`` and ``high``. Mean rewards may drift. The target is fixed before the decision.

    *Proof.* :math:`l_j W r' \le 0.9`, so that factors are at least 0.1, however large ``W`` is. Given everything before,
    :math:`E\, x_{ij} = v_i - c_{ij}` with the value ``v_i``, and :math:`1 + l(v - c) \le \exp(l (v - c))`. So ``M`` at
    the true sum is a supermartingale that starts with 1; Ville's inequality does the rest. With ``less_served``,
    :math:`l_j (W r' + R - r) \le 0.9` again.

    *Overlap.* An arm that the policy may choose must have had a positive probability in every decision.

    Examples
    --------
    >>> import numpy as np
    >>> from bandstrap.evidence import PolicyValues
    >>> rng = np.random.default_rng(0)
    >>> arms = (rng.random(4000) < 0.2).astype(int)
    >>> state = PolicyValues(["red", "green"])
    >>> state.update(arms, rng.random(4000) < np.array([0.1, 0.3])[arms], [0.8, 0.2])
    >>> for found in state.estimates():
    ...     print(found.name, f"{found.estimate:.3f} ({found.lower:.3f} to {found.upper:.3f})")
    red 0.103 (0.086 to 0.121)
    green 0.319 (0.266 to 0.381)

    References
    ----------
    .. [1] Mineiro. A lower confidence sequence for the changing mean of non-negative right heavy-tailed observations
       with bounded mean. arXiv:2210.11133, 2022.
    .. [2] Dudík, Langford, Li. Doubly robust policy evaluation and learning. ICML 2011.
    .. [3] Swaminathan, Joachims. The self-normalized estimator for counterfactual learning. NeurIPS 2015.
    """

    def __init__(
        self,
        arms: int | Sequence[str],
        targets: ArrayLike | None = None,
        *,
        names: Sequence[str] | None = None,
        low: float = 0.0,
        high: float = 1.0,
        less_served: bool = False,
    ) -> None:
        owner = "PolicyValues"
        self.labels = check_labels(arms, owner)
        self.low, self.high = check_range(low, high, owner)
        n_arms = len(self.labels)
        if targets is None:
            self.targets: Floats = np.eye(n_arms)
            self.names = self.labels
        else:
            rows = np.atleast_2d(read_numbers(targets, "targets", owner, "probabilities", kinds="biuf"))
            self.targets = check_probabilities(rows, "targets", len(rows), n_arms, owner)
            self.names = tuple(map(str, range(len(rows))))
        if names is not None:
            self.names = tuple(map(str, names))
            if len(self.names) != len(self.targets):
                raise requirement("names", owner, f"one for each of the {len(self.targets)} targets", brief(names))
        self.less_served = bool(less_served)
        self._prior = LOG_PRIOR if self.less_served else VALUE_LOG_PRIOR
        self.n_decisions = 0
        self.level = 0.5
        n_targets = len(self.targets)
        self.log_products: Floats = np.zeros((n_targets, 2, N_BETS))
        self.magnitudes: Floats = np.zeros((n_targets, 2, N_BETS))
        self.doubly_robust: Floats = np.zeros(n_targets)
        self.weighted: Floats = np.zeros(n_targets)
        self.weight: Floats = np.zeros(n_targets)
        self.weight_squares: Floats = np.zeros(n_targets)
        self.uncovered: Floats = np.zeros(n_targets)

    def update(self, arms: ArrayLike, rewards: ArrayLike, weights: ArrayLike) -> None:
        """Count one decision or several, in their order; see :meth:`Contrasts.update`."""
        owner = "PolicyValues.update"
        chosen = check_arms(arms, self.labels, owner)
        scaled = check_rewards(rewards, len(chosen), self.low, self.high, owner)
        table = check_weights(weights, chosen, len(self.labels), owner)
        for some in chunks(len(chosen), N_BETS * len(self.targets)):
            self._add(chosen[some], scaled[some], table[some])

    def _add(self, chosen: ArmPlaces, scaled: Floats, weights: Floats) -> None:
        """Add decisions that were checked."""
        levels, self.level = advance_levels(self.level, self.n_decisions, scaled)
        self.n_decisions += len(chosen)
        with np.errstate(over="ignore"):
            ratios = self.targets.T[chosen] / np.take_along_axis(weights, chosen[:, None], axis=1)  # (n, T)
        ratios = np.minimum(ratios, LARGEST_RATIO)
        served = (scaled - levels)[:, None]
        robust = levels[:, None] + ratios * served - (scaled[:, None] if self.less_served else 0.0)
        covered = (weights == 0.0).astype(np.float64) @ (self.targets > 0.0).T > 0.0
        terms = {
            "doubly_robust": robust,
            "weighted": scaled[:, None] * ratios,
            "weight": ratios,
            "weight_squares": ratios * ratios,
            "uncovered": covered.astype(np.float64),
        }
        for name, term in terms.items():
            setattr(self, name, add_in_order(getattr(self, name), term))
        for side, (ups, centres) in enumerate(((scaled, levels), (1.0 - scaled, 1.0 - levels))):
            self._bet(side, chosen, ups, centres, weights, ratios)

    def _bet(
        self, side: int, chosen: ArmPlaces, rewards: Floats, levels: Floats, weights: Floats, ratios: Floats
    ) -> None:
        """Let all bets on one side meet decisions."""
        share = 1.0 if self.less_served else 0.0
        caps = LARGEST_BET / BETS - share  # 2^j, or 1 less
        logs = np.zeros((*ratios.shape, N_BETS))
        centres = np.zeros((*ratios.shape, N_BETS))
        for target, policy in enumerate(self.targets):
            for arm in np.flatnonzero(policy):
                reach = weights[:, arm, None] * (caps / policy[arm])
                lowered = np.minimum(levels[:, None], reach)  # r'_ij(a)
                centres[:, target] += policy[arm] * lowered
                here = chosen == arm
                logs[here, target] = ratios[here, target, None] * (rewards[here, None] - lowered[here])
        logs -= share * (rewards - levels)[:, None, None]
        np.log1p(logs * BETS, out=logs)
        centres = BETS * (centres - share * levels[:, None, None])
        self.log_products[:, side] = add_in_order(self.log_products[:, side], logs + centres)
        self.magnitudes[:, side] = add_in_order(self.magnitudes[:, side], np.abs(logs) + np.abs(centres))

    def restarted(self) -> PolicyValues:
        """Values without evidence; the level is kept."""
        options: dict[str, Any] = {"low": self.low, "high": self.high, "less_served": self.less_served}
        fresh = PolicyValues(self.labels, self.targets, names=self.names, **options)
        fresh.level = self.level
        return fresh

    def add_arm(self, label: str) -> None:
        """Add a new arm: fixed policies give it probability 0, and its own value is estimated from now on."""
        is_arms = self.names == self.labels and np.array_equal(self.targets, np.eye(len(self.labels)))
        self.labels = check_joining(self.labels, label, "PolicyValues.add_arm")
        self.targets = np.pad(self.targets, [(0, 0), (0, 1)])
        if is_arms:
            self.targets, self.names = np.eye(len(self.labels)), self.labels
            for name in ARRAYS:
                array = getattr(self, name)
                setattr(self, name, np.pad(array, [(0, 1)] + [(0, 0)] * (array.ndim - 1)))
            self.uncovered[-1] = self.n_decisions

    def to_dict(self) -> dict[str, Any]:
        """The state as plain lists and numbers, for JSON; :meth:`from_dict` reads them back without loss."""
        return {
            "arms": list(self.labels),
            "targets": self.targets.tolist(),
            "names": list(self.names),
            "low": self.low,
            "high": self.high,
            "less_served": self.less_served,
            "n_decisions": self.n_decisions,
            "level": self.level,
            **{name: getattr(self, name).tolist() for name in ARRAYS},
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> PolicyValues:
        """Restore the state from :meth:`to_dict`; impossible numbers are refused."""
        owner = "PolicyValues.from_dict"
        options = ("names", "low", "high", "less_served")
        check_state(state, ("targets", *options, "n_decisions", "level", *ARRAYS), owner)
        found = cls(state["arms"], state["targets"], **{name: state[name] for name in options})
        found.n_decisions = check_count(state["n_decisions"], "n_decisions", owner, at_least=0)
        found.level = check_number(state["level"], "level", owner)
        read_arrays(found, state, ARRAYS, owner)
        if not (0.0 <= found.level <= 1.0 and min(found.weight.min(), found.weight_squares.min()) >= 0.0):
            raise requirement("state", owner, "one that to_dict wrote", "numbers that contradict each other")
        return found

    def estimates(self, alpha: float = 0.05) -> list[ValueEstimate]:
        """Values of all policies.

        Parameters
        ----------
        alpha
            Error probability of each interval, at all times together. Default: 0.05.
        """
        alpha = check_number(alpha, "alpha", "PolicyValues.estimates", above=0, below=1)
        n, span = self.n_decisions, self.high - self.low
        slack = EPS * (n + ROUNDINGS) * self.magnitudes
        # Without decisions, or without overlap, nothing is known but the range.
        least = -1.0 if self.less_served else 0.0
        ends = np.full((len(self.targets), 2), least)
        if n:
            sums = lower_sum(self.log_products - slack, log_threshold(alpha), self._prior)
            ends = sums / n - EPS * (ROUNDINGS * np.abs(sums / n) + 4.0)
        ends = np.where(self.uncovered[:, None] > 0.0, least, np.clip(ends, least, 1.0))
        found = []
        for target, name in enumerate(self.names):
            is_known = n > 0 and self.uncovered[target] == 0.0
            # Low ends of R and of 1 - R; the latter is turned round. They cross only with a probability of at most alpha,
            # where the log contradicts its probabilities; the interval is then what lies between them.
            lower, upper = sorted((float(ends[target, 0]), float((0.0 if self.less_served else 1.0) - ends[target, 1])))
            robust = float(np.clip(self.doubly_robust[target] / n, lower, upper)) if is_known else np.nan
            shift = 0.0 if self.less_served else self.low
            weight, squares = float(self.weight[target]), float(self.weight_squares[target])
            weighted = self.low * weight + span * float(self.weighted[target])
            found.append(
                ValueEstimate(
                    name,
                    shift + span * robust,
                    shift + span * lower,
                    shift + span * upper,
                    weighted / n if is_known else np.nan,
                    weighted / weight if is_known and weight > 0.0 else np.nan,
                    weight * weight / squares if squares > 0.0 else 0.0,
                    n,
                    int(self.uncovered[target]),
                )
            )
        return found


def value(
    arms: ArrayLike,
    rewards: ArrayLike,
    weights: ArrayLike,
    target: ArrayLike,
    *,
    low: float = 0.0,
    high: float = 1.0,
    alpha: float = 0.05,
    labels: Sequence[str] | None = None,
) -> ValueEstimate:
    """Estimated mean reward per decision of another fixed policy, over the whole log.

    Parameters
    ----------
    arms, rewards, weights
        The decisions; see :func:`bandstrap.evidence.contrasts`.
    target
        Probabilities of all arms under the policy, of shape ``(K,)``; 1 for one arm and 0 for all others to evaluate that
        arm for everybody.
    low, high
        Lowest and highest possible reward. Default: 0 and 1.
    alpha
        Error probability of the interval. Default: 0.05.
    labels
        Labels of the arms, in the order of the columns of ``weights``. Default: their positions.

    Returns
    -------
    ValueEstimate
        Doubly robust estimate and its interval, with IPS, SNIPS and the effective sample size.

    Raises
    ------
    InvalidInput
        If the policy may choose an arm with probability 0 in some decision of the log.

    See Also
    --------
    bandstrap.evidence.PolicyValues : formulas, assumptions and proof; decision by decision.

    Examples
    --------
    >>> import numpy as np
    >>> from bandstrap.evidence import value
    >>> rng = np.random.default_rng(1)
    >>> arms = rng.choice(2, 5000, p=[0.9, 0.1])
    >>> rewards = rng.random(5000) < np.array([0.1, 0.2])[arms]
    >>> found = value(arms, rewards, [0.9, 0.1], [0.5, 0.5])
    >>> print(f"{found.estimate:.3f} ({found.lower:.3f} to {found.upper:.3f}), worth {found.effective_size:.0f} decisions")
    0.157 (0.129 to 0.190), worth 1800 decisions
    """
    names = check_columns(labels, weights, "value")
    state = PolicyValues(names, np.atleast_2d(np.asarray(target)), low=low, high=high)
    state.update(arms, rewards, weights)
    (found,) = state.estimates(alpha)
    if found.uncovered:
        raise no_overlap(found)
    return found


def no_overlap(found: ValueEstimate) -> InvalidInput:
    """The refusal of a policy about which the log says too little."""
    return InvalidInput(
        f"The value of {found.name!r} cannot be estimated: in {found.uncovered} of {found.n_decisions} decisions it might "
        "have chosen an arm whose probability was 0."
    )

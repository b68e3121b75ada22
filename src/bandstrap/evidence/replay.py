"""Value of a policy that learns: rejection replay on a uniformly randomised log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from bandstrap.errors import InvalidInput, brief
from bandstrap.evidence.table import check_arms, check_columns, check_labels, check_range, check_rewards, check_weights
from bandstrap.evidence.value import PolicyValues

# How far probabilities may be from equal: they are often written with six digits.
UNIFORM_SLACK = 1e-5


class Learner(Protocol):
    """Interface that is needed of a policy: :class:`bandstrap.Policy` has it."""

    def select(self) -> Any:
        """The arm to serve next."""

    def update(self, arm: Any, reward: Any) -> None:
        """Learn the reward of an arm."""


@dataclass(frozen=True)
class ReplayEstimate:
    """Mean reward of a policy that learned from the decisions in which it agreed with the log.

    Attributes
    ----------
    estimate
        Mean reward of these decisions; ``nan`` without any.
    lower, upper
        Ends of the interval for the average of their conditional mean rewards; it holds at all times at once.
    n_kept
        Number of these decisions, which is the horizon of the estimate: about one in ``K``.
    n_decisions
        Number of decisions of the log.
    shares
        Share of each arm among those kept.
    """

    estimate: float
    lower: float
    upper: float
    n_kept: int
    n_decisions: int
    shares: dict[str, float]


def rejection_replay(
    policy: Learner,
    arms: ArrayLike,
    rewards: ArrayLike,
    weights: ArrayLike,
    *,
    labels: Sequence[str] | None = None,
    low: float = 0.0,
    high: float = 1.0,
    alpha: float = 0.05,
) -> ReplayEstimate:
    """Play a learning policy on a log in which every arm always had the same probability.

    The policy chooses for each decision of the log. If it chooses the arm of the log, it learns the reward; otherwise the
    decision is skipped. The remaining decisions are a possible run of the policy.

    Parameters
    ----------
    policy
        The policy, without rewards; its arms are ``labels``. It is changed.
    arms, rewards, weights
        The decisions; see :func:`bandstrap.evidence.contrasts`. Probabilities must be equal in every decision.
    labels
        Labels of the arms. Default: their positions, as whole numbers.
    low, high
        Lowest and highest possible reward. Default: 0 and 1.
    alpha
        Error probability of the interval. Default: 0.05.

    Notes
    -----
    Given the past, a decision is kept with probability ``1/K`` for every choice of the policy. So the kept decisions have
    the distribution of a run of ``n_kept`` rounds, if mean rewards do not drift. The interval is that of
    :class:`PolicyValues` for the decisions that were kept.

    Examples
    --------
    >>> import numpy as np
    >>> from bandstrap import UCB1
    >>> from bandstrap.evidence import rejection_replay
    >>> rng = np.random.default_rng(0)
    >>> arms = rng.integers(2, size=4000)
    >>> rewards = rng.random(4000) < np.array([0.2, 0.6])[arms]
    >>> found = rejection_replay(UCB1(arms=[0, 1], sigma=0.5, rng=0), arms, rewards, [0.5, 0.5])
    >>> found.n_kept, round(found.estimate, 2), round(found.shares["1"], 2)
    (2029, 0.6, 0.99)

    References
    ----------
    .. [1] Li, Chu, Langford, Wang. Unbiased offline evaluation of contextual-bandit-based news article recommendation
       algorithms. WSDM 2011.
    """
    owner = "rejection_replay"
    names = check_labels(check_columns(labels, weights, owner), owner)
    known: Sequence[Any] = range(len(names)) if labels is None else names
    low, high = check_range(low, high, owner)
    chosen = check_arms(arms, names, owner)
    check_rewards(rewards, len(chosen), low, high, owner)
    table = check_weights(weights, chosen, len(names), owner)
    uneven = np.abs(table - 1.0 / len(names)).max(axis=1, initial=0.0) > UNIFORM_SLACK
    if uneven.any():
        where = int(np.argmax(uneven))
        raise InvalidInput(
            "A learning policy is replayed only on a log in which all arms have the same probability; those of decision "
            f"{where} are {brief(table[where].round(6).tolist())}. For a fixed policy, use value()."
        )
    plain = np.atleast_1d(np.asarray(rewards, dtype=np.float64))
    kept = np.zeros(len(chosen), dtype=bool)
    for i, (arm, reward) in enumerate(zip(chosen.tolist(), plain.tolist(), strict=True)):
        if policy.select() == known[arm]:
            policy.update(known[arm], reward)
            kept[i] = True
    state = PolicyValues(2, [[1.0, 0.0]], low=low, high=high)  # what was served, with certainty
    n_kept = int(kept.sum())
    state.update(np.zeros(n_kept, dtype=np.int64), plain[kept], [1.0, 0.0])
    (found,) = state.estimates(alpha)
    shares = np.bincount(chosen[kept], minlength=len(names)) / max(n_kept, 1)
    return ReplayEstimate(
        found.estimate,
        found.lower,
        found.upper,
        n_kept,
        len(chosen),
        dict(zip(names, shares.tolist(), strict=True)),
    )

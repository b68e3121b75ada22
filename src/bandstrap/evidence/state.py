"""All evidence of one adaptive log, decision by decision: contrasts over time, values, gain and health."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from bandstrap.basics.arrays import Bools, Floats
from bandstrap.errors import brief, check_choice, check_count, check_number, read_numbers, requirement
from bandstrap.evidence.asymptotic import AsymptoticContrasts
from bandstrap.evidence.betting import add_in_order
from bandstrap.evidence.bins import ContrastBins
from bandstrap.evidence.health import Health
from bandstrap.evidence.table import (
    ArmPlaces,
    check_arms,
    check_flags,
    check_labels,
    check_range,
    check_state,
    check_weights,
)
from bandstrap.evidence.value import PolicyValues

# How the range of exact evidence came about: given; [0, 1], since no reward lies outside; waiting for a cap, capped; or
# there is none, because a reward was negative.
Basis = Literal["declared", "unit", "waiting", "capped", "signed"]
RewardDirection = Literal["max", "min"]
# The cap of revenue is the third largest of the first 200 positive rewards.
CAP_REWARDS = 200
CAP_RANK = 3
FORMAT = 2
COUNTS = ("n_decisions", "n_inactive", "n_missing", "n_skipped", "n_rewarded", "n_beyond", "n_positive")
SUMS = ("earned", "counted_reward", "beyond")
PLAIN = ("direction", "cap", "basis", "low", "high", "largest", *COUNTS, *SUMS)


class LogEvidence:
    """Everything a readout needs, kept in a state of fixed size.

    Decisions are counted in their order. Decisions never shown, and those without a reward, count only for health. Exact
    evidence needs a range of rewards:

    - ``low`` and ``high`` if given; rewards outside count as the nearer end, and their number is kept;
    - otherwise 0 to 1, as long as no reward lies outside;
    - the first reward above 1 restarts the evidence, with rewards capped at ``cap``. Without ``cap``, the cap is the third
      largest of the next 200 positive rewards, and evidence begins after them;
    - the first negative reward ends it: differences of rewards without any bound have no exact interval.

    Parameters
    ----------
    arms
        Labels of the arms, or their number; from 2 to 64.
    low, high
        Lowest and highest possible reward. Default: as said above.
    cap
        Cap for non-negative rewards, such as revenue. Default: as said above.
    direction
        ``"max"`` if more is better, ``"min"`` if less is. Default: ``"max"``.

    See Also
    --------
    bandstrap.evidence.readout : the answers, from a state or a whole table.

    Examples
    --------
    >>> import numpy as np
    >>> from bandstrap.evidence import LogEvidence, readout
    >>> rng = np.random.default_rng(0)
    >>> state = LogEvidence(["red", "green"])
    >>> arms = rng.integers(2, size=4000)
    >>> state.update(arms, rng.random(4000) < np.array([0.1, 0.15])[arms], [0.5, 0.5])
    >>> readout(state, control="red").sentence
    "'green' may be shipped: every other arm is ruled out."
    """

    def __init__(
        self,
        arms: int | Sequence[str],
        *,
        low: float | None = None,
        high: float | None = None,
        cap: float | None = None,
        direction: RewardDirection = "max",
    ) -> None:
        owner = "LogEvidence"
        self.labels = check_labels(arms, owner)
        self.direction: RewardDirection = check_choice(direction, "direction", owner, ("max", "min"))
        self.cap = None if cap is None else check_number(cap, "cap", owner, above=0)
        if (low is None) != (high is None):
            raise requirement("high" if high is None else "low", owner, "given with the other end of the range", "none")
        if cap is not None and low is not None:
            raise requirement("cap", owner, "given without low and high, which it replaces", self.cap)
        self.basis: Basis = "unit"
        self.low, self.high = 0.0, 1.0
        if low is not None:
            self.basis = "declared"
            self.low, self.high = check_range(low, high, owner)
        elif self.cap is not None:
            self.basis, self.high = "capped", self.cap
        for name in COUNTS:
            setattr(self, name, 0)
        for name in SUMS:
            setattr(self, name, 0.0)
        self.n_decisions: int
        self.n_inactive: int
        self.n_missing: int
        self.n_skipped: int  # with a reward, before the range was known
        self.n_rewarded: int
        self.n_beyond: int
        self.n_positive: int  # of the rewards that decide on the cap
        self.earned: float  # all rewards
        self.counted_reward: float  # those counted, as they are
        self.beyond: float  # the part of these beyond the range
        self.largest: list[float] = []
        self.span: tuple[float, float] | None = None  # times of the first and the last decision
        self.missing_rewards = Health(self.labels)
        self.traffic = Health(self.labels)
        self.approximate = AsymptoticContrasts(self.labels)
        self.bins: ContrastBins
        self.values: PolicyValues
        self.gains: PolicyValues
        self._restart()

    @property
    def sign(self) -> float:
        """Sign that makes larger rewards better."""
        return 1.0 if self.direction == "max" else -1.0

    @property
    def is_exact(self) -> bool:
        """True if there is a range now, so that evidence is exact."""
        return self.basis in ("declared", "unit", "capped")

    def _restart(self) -> None:
        """Begin exact evidence, with the present range."""
        low, high = sorted((self.sign * self.low, self.sign * self.high))
        self.bins = ContrastBins(self.labels, low=low, high=high)
        self.values = PolicyValues(self.labels, low=low, high=high)
        self.gains = PolicyValues(self.labels, low=low, high=high, less_served=True)
        self.n_skipped = self.n_rewarded
        self.n_beyond, self.counted_reward, self.beyond = 0, 0.0, 0.0

    def update(
        self,
        arms: ArrayLike,
        rewards: ArrayLike,
        weights: ArrayLike,
        *,
        active: ArrayLike | None = None,
        times: ArrayLike | None = None,
    ) -> None:
        """Count one decision or several, in their order.

        Parameters
        ----------
        arms
            The arm chosen, or a column of arms: labels or positions.
        rewards
            Their rewards; ``nan`` if a reward is finally missing.
        weights
            Probabilities of all arms at the time of the decision, of shape ``(K,)`` or ``(n, K)``.
        active
            True where a decision was shown. Default: all were.
        times
            Time of each in seconds. Default: the number of decisions before it.
        """
        owner = "LogEvidence.update"
        chosen = check_arms(arms, self.labels, owner)
        column = np.atleast_1d(
            read_numbers(rewards, "rewards", owner, "numbers, or nan for missing ones", kinds="biuf")
        )
        if column.shape != chosen.shape or np.isinf(column).any():
            rule = f"a finite number, or nan, for each of the {len(chosen)} decisions"
            raise requirement("rewards", owner, rule, brief(rewards))
        table = check_weights(weights, chosen, len(self.labels), owner)
        shown = np.ones(len(chosen), dtype=bool)
        if active is not None:
            shown = check_flags(active, "active", len(chosen), owner)
        clock = np.arange(self.n_decisions, self.n_decisions + len(chosen), dtype=np.float64)
        if times is not None:
            clock = np.atleast_1d(read_numbers(times, "times", owner, "finite numbers", kinds="iuf"))
            if clock.shape != chosen.shape or not np.isfinite(clock).all():
                rule = f"a finite number for each of the {len(chosen)} decisions"
                raise requirement("times", owner, rule, brief(times))
        if self.basis == "capped" and self.cap is not None and (column < 0.0).any():
            raise requirement("rewards", owner, "at least 0 where a cap is given", float(column[column < 0.0][0]))
        self._count(chosen, column, table, shown, clock)

    def _count(self, chosen: ArmPlaces, rewards: Floats, weights: Floats, shown: Bools, clock: Floats) -> None:
        """Count decisions that were checked."""
        if not len(chosen):
            return
        self.traffic.update(chosen, ~shown, weights)
        missing = np.isnan(rewards)
        self.missing_rewards.update(chosen[shown], missing[shown], weights[shown])
        here = shown & ~missing
        self.n_decisions += len(chosen)
        self.n_inactive += int((~shown).sum())
        self.n_missing += int((shown & missing).sum())
        self.span = (float(clock[0]) if self.span is None else self.span[0], float(clock[-1]))
        chosen, rewards, weights, clock = chosen[here], rewards[here], weights[here], clock[here]
        self.approximate.update(chosen, self.sign * rewards, weights)
        self.earned = added(self.earned, rewards)
        done = 0
        while done < len(chosen):
            n = self._next_part(rewards[done:])
            some = slice(done, done + n)
            self._count_exactly(chosen[some], rewards[some], weights[some], clock[some])
            done += n

    def _next_part(self, rewards: Floats) -> int:
        """Number of the next decisions that have one range, after the range was changed where it must be."""
        if self.basis in ("declared", "signed") or self.cap is not None:
            return len(rewards)
        negative = np.flatnonzero(rewards < 0.0)
        if self.basis == "unit":
            outside = np.flatnonzero((rewards < 0.0) | (rewards > 1.0))
            if outside.size and outside[0] == 0:
                self.basis = "signed" if rewards[0] < 0.0 else "waiting"
                self._restart()
                return self._next_part(rewards)
            return int(outside[0]) if outside.size else len(rewards)
        if negative.size and negative[0] == 0:
            self.basis = "signed"
            self._restart()
            return len(rewards)
        n = int(negative[0]) if negative.size else len(rewards)
        if self.basis == "waiting":
            if self.n_positive >= CAP_REWARDS:
                self.basis, self.high = "capped", self.largest[-1]
                self._restart()
                return n
            positive = np.flatnonzero(rewards[:n] > 0.0)[: CAP_REWARDS - self.n_positive]
            if self.n_positive + positive.size == CAP_REWARDS:
                n = int(positive[-1]) + 1
            self.n_positive += positive.size
            self.largest = sorted([*self.largest, *rewards[positive].tolist()], reverse=True)[:CAP_RANK]
        return n

    def _count_exactly(self, chosen: ArmPlaces, rewards: Floats, weights: Floats, clock: Floats) -> None:
        """Count decisions that have one range."""
        self.n_rewarded += len(chosen)
        if not self.is_exact:
            self.n_skipped += len(chosen)
            return
        inside = np.clip(rewards, self.low, self.high)
        self.n_beyond += int((inside != rewards).sum())
        self.counted_reward = added(self.counted_reward, rewards)
        self.beyond = added(self.beyond, rewards - inside)
        self.bins.update(chosen, self.sign * inside, weights, clock)
        self.values.update(chosen, self.sign * inside, weights)
        self.gains.update(chosen, self.sign * inside, weights)

    def add_arm(self, label: str) -> None:
        """Let an arm join that was not known before; it had probability 0 until now. See :meth:`Contrasts.add_arm`."""
        for part in (self.bins, self.values, self.gains, self.missing_rewards, self.traffic, self.approximate):
            part.add_arm(label)
        self.labels = self.bins.labels

    def to_dict(self) -> dict[str, Any]:
        """The state as plain lists and numbers, for JSON; :meth:`from_dict` reads them back without loss."""
        return {
            "format": FORMAT,
            "arms": list(self.labels),
            **{name: getattr(self, name) for name in PLAIN},
            "span": None if self.span is None else list(self.span),
            **{name: getattr(self, name).to_dict() for name in PARTS},
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> LogEvidence:
        """Restore the state from :meth:`to_dict`; impossible numbers are refused."""
        owner = "LogEvidence.from_dict"
        check_state(state, ("format", *PLAIN, "span", *PARTS), owner)
        if state["format"] != FORMAT:
            raise requirement("format", owner, f"{FORMAT}, which this version reads", brief(state["format"]))
        found = cls(state["arms"], cap=state["cap"], direction=state["direction"])
        found.basis = check_choice(state["basis"], "basis", owner, ("declared", "unit", "waiting", "capped", "signed"))
        found.low, found.high = check_range(state["low"], state["high"], owner)
        found.largest = [check_number(each, "largest", owner) for each in state["largest"]]
        if state["span"] is not None:
            first, last = state["span"]
            found.span = check_number(first, "span", owner), check_number(last, "span", owner)
        for name in COUNTS:
            setattr(found, name, check_count(state[name], name, owner, at_least=0))
        for name in SUMS:
            setattr(found, name, check_number(state[name], name, owner))
        for name, kind in PARTS.items():
            part = kind.from_dict(state[name])
            if part.labels != found.labels:
                raise requirement(name, owner, "of the same arms", brief(part.labels))
            setattr(found, name, part)
        return found


def added(total: float, terms: Floats) -> float:
    """A sum in the order of its terms; one that overflows is the largest number."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = float(add_in_order(np.asarray(total), terms))
    return found if math.isfinite(found) else math.copysign(sys.float_info.max, found)


PARTS: dict[str, Any] = {
    "bins": ContrastBins,
    "values": PolicyValues,
    "gains": PolicyValues,
    "missing_rewards": Health,
    "traffic": Health,
    "approximate": AsymptoticContrasts,
}

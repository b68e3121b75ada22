"""The rule of live experiments: when a decision is settled, and what is learned of its rewards then.

Whoever settles, asks whether a decision is settled, or puts it into the queue of those that will be, asks here.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

from bandstrap.live.rows import EntryKind

Aggregate = Literal["first", "last", "sum"]

# When a decision ``d`` with the activation ``a`` began to count, in SQL; NULL while it is deferred and not activated.
START = "CASE WHEN d.deferred THEN a.at ELSE d.decided_at END"
# Whether its window is over, with places for now and for the length; FALSE of a decision without one.
IS_CLOSED = f"coalesce({{now}} >= {START} + ?, FALSE)"
# The order in which its rewards ``w`` arrived.
ARRIVAL = "w.received_at, w.id"
# Whether nothing is learned of the decision with a number, because it was voided.
IS_VOID = "EXISTS (SELECT 1 FROM live_void v WHERE v.decision = {})"


class Settle(NamedTuple):
    """Rule that says when a decision is settled, and by which of its rewards."""

    window: float | None  # seconds from the decision, or from its activation where it was deferred
    aggregate: Aggregate  # of several rewards under different keys
    default_reward: float | None  # where none came within the window

    @property
    def on_arrival(self) -> bool:
        """True if a reward is learned when it comes; otherwise a decision is settled when its window closes."""
        return self.aggregate == "first" and self.default_reward is None

    def due(self, start: float) -> float:
        """Time at which a decision that begins to count now can be settled, whatever rewards come."""
        return start if self.on_arrival or self.window is None else start + self.window

    def is_over(self, start: float | None, rewards: Sequence[float], now: float) -> bool:
        """Return whether a decision that began to count at ``start``, if it did, is settled by now."""
        return start is not None and (bool(rewards) if self.on_arrival else now >= self.due(start))

    def of(self, rewards: Sequence[float]) -> tuple[EntryKind, float | None]:
        """Reward with which a decision is settled, given its rewards in order of arrival.

        >>> Settle(60.0, "sum", 0.0).of([1.0, 2.5]), Settle(60.0, "sum", 0.0).of([]), Settle(60.0, "last", None).of([])
        (('reward', 3.5), ('default', 0.0), ('nothing', None))
        """
        if not rewards:
            return ("nothing", None) if self.default_reward is None else ("default", self.default_reward)
        if self.aggregate == "sum":
            return "reward", total(rewards)
        return "reward", rewards[0 if self.aggregate == "first" else -1]


def total(rewards: Sequence[float]) -> float:
    """The sum, rounded once, so that it does not depend on an order; beyond the largest float, the largest float."""
    try:
        return math.fsum(rewards)
    except OverflowError:  # of the sum, or on the way to it
        largest = Fraction(sys.float_info.max)
        return float(min(max(sum(map(Fraction, rewards)), -largest), largest))

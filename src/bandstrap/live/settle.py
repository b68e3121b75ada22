"""When a decision is settled, and what is learned of its rewards then."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

from bandstrap.live.rows import EntryKind

Aggregate = Literal["first", "last", "sum"]


class Settle(NamedTuple):
    """When a decision is settled, and by which of its rewards."""

    window: float | None  # seconds from the decision, or from its activation where it was deferred
    aggregate: Aggregate  # of several rewards under different keys
    default_reward: float | None  # where none came within the window

    @property
    def on_arrival(self) -> bool:
        """Whether a reward is learned when it comes; otherwise a decision is settled when its window closes."""
        return self.aggregate == "first" and self.default_reward is None

    def of(self, rewards: Sequence[float]) -> tuple[EntryKind, float | None]:
        """What a decision is settled with whose rewards, in order of arrival, are these.

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

"""History of an experiment: choices and earnings of the policy in equal time intervals."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.live.tally import Tally, student_interval, welch_interval


@dataclass(frozen=True)
class CountHistory:
    """Counts of each time interval, by label of the arm.

    Attributes
    ----------
    ends
        Times at which the intervals end, in seconds since 1970.
    chosen
        Decisions in which the policy chose an arm; in shadow mode those in which it would have.
    learned
        Rewards by the time at which they were learned.
    compared
        Units of the policy and of the holdout, by the time of their first decision; none without a holdout.
    """

    ends: Floats
    chosen: Mapping[str, Sequence[int]]
    learned: Mapping[str, Sequence[Tally]]
    compared: Sequence[tuple[Tally, Tally]]

    @classmethod
    def empty(cls) -> CountHistory:
        """Before the first decision."""
        return cls(np.zeros(0), {}, {}, ())

    def shares(self, labels: Sequence[str]) -> Floats:
        """Share of the decisions of each interval that went to all these arms together; ``nan`` where there was none."""
        total = np.sum(list(self.chosen.values()), axis=0, dtype=float)
        some = np.sum([self.chosen[label] for label in labels], axis=0, dtype=float)
        return np.divide(some, total, out=np.full(total.shape, np.nan), where=total > 0)

    def running_mean(self, label: str, alpha: float) -> Floats:
        """Mean of the rewards learned until the end of each interval, and the ends of Student's interval, in columns."""
        tallies = itertools.accumulate(self.learned[label], Tally.merged)
        return np.array([[each.mean, *(student_interval(each, alpha) or NO_INTERVAL)] for each in tallies])

    def running_lift(self, alpha: float) -> Floats:
        """Difference of units that first came until the end of each interval, and the ends of Welch's interval."""

        def both(before: tuple[Tally, Tally], more: tuple[Tally, Tally]) -> tuple[Tally, Tally]:
            return before[0].merged(more[0]), before[1].merged(more[1])

        pairs = itertools.accumulate(self.compared, both)
        return np.array(
            [
                [first.mean - second.mean, *(welch_interval(first, second, alpha) or NO_INTERVAL)]
                for first, second in pairs
            ]
        )


NO_INTERVAL = (np.nan, np.nan)

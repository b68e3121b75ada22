"""First turns: arms that lack the rewards a policy needs before it compares them.

Rewards may come late, or never. The arms that a policy begins with are handed out in turn until all have their first
rewards, but for those that are lost: when some arms have theirs, turns go on for a while only, and then the policy plays
with those. An arm that lacks rewards then, or is added later, is handed out now and then, ever more seldom: if nothing ever
comes back from it, its share goes to 0, and nobody waits for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from bandstrap.policies.states.fields import Entries

# Turns end when three times as many decisions were made as before any arm had its rewards, and ten rounds of turns more.
PATIENCE = 3
MORE_ROUNDS = 10
# What ``since`` says of arms that the policy began with.
FROM_THE_START = -1


@dataclass
class Turns:
    """Arms handed out so far.

    Attributes
    ----------
    waiting
        For each arm, how often it was handed out without a reward coming back.
    since
        The number of decisions before an arm was added.
    attempts
        How often an arm was handed out, turns aside, while it lacked rewards.
    decisions
        How many there were while some arm lacked rewards.
    end
        The number of decisions after which there are no more turns; -1 while no arm has its rewards.
    """

    waiting: list[int]
    since: list[int] = field(default_factory=list)
    attempts: list[int] = field(default_factory=list)
    decisions: int = 0
    end: int = -1

    @classmethod
    def of(cls, n_arms: int) -> Self:
        """Nothing was handed out yet."""
        return cls([0] * n_arms, [FROM_THE_START] * n_arms, [0] * n_arms)

    def with_another(self, pulls: Entries, arms: Sequence[int]) -> Turns:
        """The same with one more arm; while all ``arms`` wait for rewards, its turn comes when theirs comes again."""
        least = int(min(pulls[arm] + self.waiting[arm] for arm in arms))  # not a number of NumPy's
        return Turns(
            [*self.waiting, least], [*self.since, self.decisions], [*self.attempts, 0], self.decisions, self.end
        )

    def next(self, pulls: Entries, needed: int, arms: Sequence[int]) -> tuple[int, list[int]]:
        """The arm to hand out, or -1; and those of the ``arms`` among which the policy may choose then."""
        ready = [arm for arm in arms if pulls[arm] >= needed]
        if len(ready) == len(arms):
            return -1, ready
        if not ready:
            return self.least(pulls, arms), ready
        lacking = [arm for arm in arms if pulls[arm] < needed]
        first = [arm for arm in arms if self.since[arm] == FROM_THE_START]
        in_turn = self.decisions < self.last(needed) and any(pulls[arm] < needed for arm in first)
        due = [arm for arm in lacking if self.is_due(arm, needed) and not (in_turn and arm in first)]
        if due:
            return min(due, key=self.attempts.__getitem__), ready
        return self.least(pulls, first) if in_turn else -1, ready

    def least(self, pulls: Entries, arms: Sequence[int]) -> int:
        """The arm that was handed out least, the first of several."""
        return min(arms, key=lambda arm: pulls[arm] + self.waiting[arm])

    def last(self, needed: int) -> int:
        """The number of decisions after which there are no more turns, if an arm has its rewards now."""
        n_first = self.since.count(FROM_THE_START)
        return self.end if self.end >= 0 else PATIENCE * self.decisions + MORE_ROUNDS * n_first * needed

    def is_due(self, arm: int, needed: int) -> bool:
        """Return whether it is time for an arm: after 0, 1, 3, 7, 15, ... decisions; where it needs m rewards, m
        times each.
        """
        begun = self.last(needed) if self.since[arm] == FROM_THE_START else self.since[arm]
        doublings, more = divmod(self.attempts[arm], needed)
        return self.decisions - begun >= needed * (2**doublings - 1) + more

    def hand_out(self, arm: int, needed: int, ready: Sequence[int]) -> None:
        """Count a decision; ``arm`` is -1 if it is the policy's."""
        if ready:
            self.end = self.last(needed)
            if arm >= 0 and (self.decisions >= self.end or self.since[arm] != FROM_THE_START):
                self.attempts[arm] += 1
        self.decisions += 1
        if arm >= 0:
            self.waiting[arm] += 1

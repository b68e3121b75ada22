"""Arrival of rewards: at once, late, in batches, or never."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.calls import fingerprint, format_value, parse_call
from bandstrap.basics.distributions import Law, is_law, law_called, law_content, law_name
from bandstrap.engine.simulator.streams import DELAY, LOSS, stream
from bandstrap.errors import brief, check_count, is_number, is_whole, requirement

# Rounds that every reward is late by, or the distribution of their number: a distribution, or the text of one.
Delay = int | str | Law
# Characters of a number of rounds as text; Python refuses to read very long ones.
LONGEST_NUMBER = 100


class Arrivals(NamedTuple):
    """Rewards of a replication that are learned, and when.

    ``order`` has the rounds (from 0) of the decisions whose rewards are learned, in the order of learning. ``due[t]`` is
    the number of rewards learned by the end of round ``t`` (from 0).
    """

    order: NDArray[np.int64]
    due: NDArray[np.int64]


class Feedback:
    """Delay, batches and loss of rewards.

    Parameters
    ----------
    delay
        The reward of the decision in round ``t`` arrives at the end of round ``t + delay``. It is learned after that
        round's decision and before the next one. With 0 (default) each decision knows all earlier rewards. A frozen
        ``scipy.stats`` distribution, or the text of one such as ``"geom:p=0.005"``, gives every round its own, independent
        delay; fractions are rounded up.
    batch
        Rewards are learned only at the ends of rounds ``batch, 2 batch, ...``, each at the first of these at or after its
        arrival. By default (1) at the end of every round.
    lost
        Share of rewards that never arrive; each is lost with this probability, independently. By default none is.
    owner
        Name of the caller, for messages.

    Notes
    -----
    Rewards are learned in the order of their arrival, also within a batch. Ties go to the earlier decision. Rewards that
    arrive after the horizon are not learned.

    Delays and losses belong to the rounds of a replication. They have their own random streams, so they are the same for
    every policy. The reward of an arm's pull number ``i`` is the same as without delay. Losses do not depend on the delay,
    nor delays on the losses.

    Regret counts every decision. The round number that a policy gets counts the rewards it has learned, as a live policy's
    own count does. So a live policy with the same order of decisions and rewards makes the same decisions. Arms are pulled
    in turn until the initial rewards of every arm have been learned, which may take many pulls. A policy without initial
    pulls (a linear policy or a plain object) decides from the first round on.

    Examples
    --------
    Of five rounds, the rewards of the first three are learned in time, each two rounds after its decision:

    >>> Feedback(delay=2).arrivals(5, seed=0, replication=0)
    Arrivals(order=array([0, 1, 2]), due=array([0, 0, 1, 2, 3]))
    >>> Feedback(delay=2, batch=4).arrivals(5, seed=0, replication=0)
    Arrivals(order=array([0, 1]), due=array([0, 0, 0, 2, 2]))
    """

    def __init__(self, delay: Delay = 0, batch: int = 1, lost: float = 0.0, owner: str = "simulate") -> None:
        self._owner = owner
        self.delay, self._law = self._checked_delay(delay)
        self.batch = check_count(batch, "batch", owner)
        self.lost = self._checked_share(lost)

    def _checked_delay(self, delay: object) -> tuple[int | str, Law | None]:
        """The delay as it is shown, and its distribution if it has one."""
        rule = (
            "a whole number of rounds, of at least 0, or a scipy.stats distribution of such numbers or its text, such as "
            "'geom:p=0.005'"
        )
        if isinstance(delay, str) and delay.strip().isdecimal() and len(delay) < LONGEST_NUMBER:
            delay = int(delay)
        if isinstance(delay, str):
            shown, law = str(parse_call(delay)), law_called(delay, "delay", self._owner, rule)
        elif is_law(delay):
            shown, law = f"{law_name(delay)}@{fingerprint(law_content(delay))}", delay
        else:
            if not is_whole(delay) or delay < 0:
                raise requirement("delay", self._owner, rule, brief(delay))
            return check_count(delay, "delay", self._owner, at_least=0), None
        least = law.support()[0]
        if not least >= 0:
            rule = "a distribution of non-negative numbers"
            raise requirement("delay", self._owner, rule, f"{shown}, whose values begin at {least:g},")
        return shown, law

    def _checked_share(self, lost: object) -> float:
        if not is_number(lost) or not 0 <= lost < 1:
            raise requirement("lost", self._owner, "a number of at least 0 and less than 1", brief(lost))
        return float(lost)

    @property
    def is_at_once(self) -> bool:
        """True if each decision knows all earlier rewards."""
        return self.delay == 0 and self.batch == 1 and self.lost == 0

    @cached_property
    def label(self) -> str:
        """Differences from immediate learning, as text: ``"delay 200, batch 100, lost 0.1"``; empty if there are none."""
        parts = ("delay", self.delay, 0), ("batch", self.batch, 1), ("lost", format_value(self.lost), "0")
        return ", ".join(f"{name} {value}" for name, value, default in parts if value != default)

    def arrivals(self, horizon: int, seed: int, replication: int) -> Arrivals:
        """The rewards of one replication in the order in which they are learned."""
        rounds = np.arange(1, horizon + 1)
        arrived = rounds + self._delays(horizon, seed, replication)  # at the end of this round
        if self.lost:
            arrived[stream(seed, replication, LOSS).random(horizon) < self.lost] = horizon + 1
        order = np.argsort(arrived, kind="stable")
        learned = -(-arrived[order] // self.batch) * self.batch
        due = np.searchsorted(learned, rounds, side="right")
        return Arrivals(order[: due[-1]], due)

    def _delays(self, horizon: int, seed: int, replication: int) -> NDArray[np.int64]:
        """The delay of each round, as a whole number that is at most the horizon."""
        if self._law is None:
            return np.full(horizon, min(int(self.delay), horizon))
        drawn = np.asarray(self._law.rvs(size=horizon, random_state=stream(seed, replication, DELAY)), dtype=np.float64)
        if not (drawn >= 0).all():
            wrong = float(drawn[~(drawn >= 0)][0])
            raise requirement("delay", self._owner, "a distribution of non-negative numbers", f"a draw of {wrong:g}")
        return np.minimum(np.ceil(drawn), horizon).astype(np.int64)


AT_ONCE = Feedback()


def as_learned(label: str, feedback: Feedback) -> str:
    """Label of an environment with this feedback.

    >>> as_learned("gaussian", Feedback(delay=200, lost=0.1)), as_learned("gaussian", Feedback())
    ('gaussian, delay 200, lost 0.1', 'gaussian')
    """
    return label if feedback.is_at_once else f"{label}, {feedback.label}"

"""Rounds of duels: the arm pulled most defends its lead, and every challenger that beats it is pulled once.

A round may hand out several arms, which wait in a queue; the next round begins when it is empty. A state that takes part
has ``order``, ``pulls``, ``sums`` (of rewards, all around the same origin), and what :func:`new_contest` makes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.compiler.kernel import inlined, jitable
from bandstrap.policies.kernels.draws import shuffle_first
from bandstrap.policies.states.fields import Leaf, SumState

# Entries of ``contest``: arms left in the queue, the last leader, and the number of the round.
WAITING, LEADER, ROUND = range(3)


class DuelState(SumState, Protocol):
    """A state that takes part in rounds of duels; sums are all around the same origin."""

    @property
    def queue(self) -> NDArray[np.int64]:
        """Arms that wait for their pull."""

    @property
    def contest(self) -> NDArray[np.int64]:
        """Number of waiting arms, last leader, and number of the round."""


@jitable
def open_round(state: DuelState) -> int:
    """Begin a round and name its leader: most pulls, then larger mean, then the last leader, then the order of ties."""
    order, pulls, sums, contest = state.order, state.pulls, state.sums, state.contest
    leader = contest[LEADER] if contest[LEADER] >= 0 else order[0]
    for i in range(len(order)):
        arm = order[i]
        ahead = pulls[arm] - pulls[leader]
        if ahead > 0 or (ahead == 0 and sums[arm] > sums[leader]):
            leader = arm
    contest[LEADER] = leader
    contest[ROUND] += 1
    return leader


@inlined
def enter(state: DuelState, arm: int) -> None:
    """Have an arm wait for its pull."""
    contest = state.contest
    state.queue[contest[WAITING]] = arm
    contest[WAITING] += 1


@jitable
def close_round(state: DuelState, rng: np.random.Generator) -> None:
    """Put the winners into random order; without any, the leader is pulled."""
    contest = state.contest
    if contest[WAITING] == 0:
        enter(state, contest[LEADER])
    shuffle_first(state.queue, contest[WAITING], rng)


@inlined
def leave(state: DuelState) -> int:
    """The next arm of the queue."""
    contest = state.contest
    contest[WAITING] -= 1
    return state.queue[contest[WAITING]]


def by_duels(beats: Callable[..., bool]) -> Callable[..., int]:
    """The ``choose`` of a policy of duels; ``beats(params, state, arm, leader, rng)`` says whether a challenger wins."""

    def choose(params: object, state: DuelState, round_: int, rng: np.random.Generator) -> int:
        """The next winner of the round; a new round once all have been handed out."""
        if state.contest[WAITING] == 0:
            leader = open_round(state)
            order, pulls = state.order, state.pulls
            for i in range(len(order)):
                arm = order[i]
                if pulls[arm] < pulls[leader] and beats(params, state, arm, leader, rng):
                    enter(state, arm)
            close_round(state, rng)
        return leave(state)

    return choose


def new_contest(n_arms: int) -> dict[str, NDArray[np.int64]]:
    """The arrays of a state that holds duels."""
    return {
        "queue": np.zeros(n_arms, dtype=np.int64),
        "contest": np.array([0, -1, 0]),
    }


def contest_among(queue: Leaf, contest: Leaf, arms: Sequence[int]) -> dict[str, Leaf]:
    """Queue and contest among some arms, which are numbered anew; others that wait are passed over."""
    places = {arm: place for place, arm in enumerate(arms)}
    waiting = [places[arm] for arm in queue[: contest[WAITING]] if arm in places]
    few_queue = waiting + [0] * (len(arms) - len(waiting))
    few_contest = [len(waiting), places.get(contest[LEADER], -1), int(contest[ROUND])]
    if isinstance(queue, list):
        return {"queue": few_queue, "contest": few_contest}
    return {"queue": np.array(few_queue, dtype=np.int64), "contest": np.array(few_contest, dtype=np.int64)}


def contest_of_all(whole: DuelState, part: DuelState, arms: Sequence[int]) -> list[tuple[Leaf, slice, list[int]]]:
    """Update queue and contest after a choice among some arms that used theirs."""
    queue, contest = whole.queue, whole.contest
    n_waiting, leader, round_ = (int(entry) for entry in part.contest)
    waiting = [arms[place] for place in part.queue[:n_waiting]]
    leader = arms[leader] if leader >= 0 else int(contest[LEADER])
    return [
        (queue, slice(None), waiting + [int(arm) for arm in queue[n_waiting:]]),
        (contest, slice(None), [n_waiting, leader, round_]),
    ]

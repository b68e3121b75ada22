"""Rounds of duels: the arm pulled most defends its lead, and every challenger that beats it is pulled once.

A round may hand out several arms, which wait in a queue; the next round begins when it is empty. A state that takes part
has ``order``, ``pulls``, ``sums`` (of rewards, all around the same origin), and what :func:`new_contest` makes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bandstrap.engine.kernel import inlined
from bandstrap.policies.draws import shuffle_first

# Entries of ``contest``: arms left in the queue, the last leader, and the number of the round.
WAITING, LEADER, ROUND = range(3)


@inlined
def open_round(state: Any) -> int:
    """Begin a round and name its leader: most pulls, then larger mean, then the last leader, then the order of ties."""
    leader = state.contest[LEADER]
    if leader < 0:
        leader = state.order[0]
    for i in range(len(state.order)):
        arm = state.order[i]
        ahead = state.pulls[arm] - state.pulls[leader]
        if ahead > 0 or (ahead == 0 and state.sums[arm] > state.sums[leader]):
            leader = arm
    state.contest[LEADER] = leader
    state.contest[ROUND] += 1
    return leader


@inlined
def enter(state: Any, arm: int) -> None:
    """Have an arm wait for its pull."""
    state.queue[state.contest[WAITING]] = arm
    state.contest[WAITING] += 1


@inlined
def close_round(state: Any, rng: np.random.Generator) -> None:
    """Put the winners into random order; without any, the leader is pulled."""
    if state.contest[WAITING] == 0:
        enter(state, state.contest[LEADER])
    shuffle_first(state.queue, state.contest[WAITING], rng)


@inlined
def leave(state: Any) -> int:
    """The next arm of the queue."""
    state.contest[WAITING] -= 1
    return state.queue[state.contest[WAITING]]


def new_contest(n_arms: int) -> dict[str, Any]:
    """The arrays of a state that holds duels."""
    return {
        "queue": np.zeros(n_arms, dtype=np.int64),
        "contest": np.array([0, -1, 0]),
    }

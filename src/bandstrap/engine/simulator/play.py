"""One replication: a policy meets a reward table."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.compiled import compiled
from bandstrap.engine.compiler.kernel import Kernel, borrowing, jitable
from bandstrap.engine.compiler.refusals import ARM, ROUND, learning
from bandstrap.engine.compiler.steps import learn, select, select_action
from bandstrap.engine.simulator.feedback import Arrivals
from bandstrap.engine.simulator.tape import Bookmark, opened


class Game(NamedTuple):
    """One replication of one policy: all that it is played with, but for the random numbers.

    ``tape[arm, i]`` is the reward of the arm's pull number ``i``; where means change ``by_round``, that of the arm in round
    ``i``. ``choices`` has room for the arm of each round. Arms are pulled in turn until ``n_initial`` rewards of each have
    been learned.

    A linear policy is shown ``action_sets``: one set of features for all rounds, or one ``by_round``. A contextual one is
    shown a set of one row, the context, which is written into its state before it chooses, and before it learns the reward
    of that round. Without ``arrivals`` each reward is learned at once; a kernel's round counts those that it has learned.

    Where the reward table is shorter than the game, play stops after the round that used up a row, and goes on at the
    ``bookmark`` when it is called again.
    """

    params: Any
    state: Any
    tape: Floats
    choices: NDArray[np.int64]
    n_initial: int
    by_round: bool
    action_sets: Any
    arrivals: Any
    bookmark: Bookmark

    @classmethod
    def begin(
        cls,
        params: Any,
        state: Any,
        tape: Floats,
        choices: NDArray[np.int64],
        n_initial: int = 0,
        by_round: bool = False,
        action_sets: Floats | None = None,
        arrivals: Arrivals | None = None,
    ) -> Game:
        """A game of which no round has been played."""
        n_late = 0 if arrivals is None else choices.size
        n_features = action_sets.shape[2] if action_sets is not None and by_round else 0
        bookmark = opened(len(tape), n_late, n_features)
        return cls(params, state, tape, choices, n_initial, by_round, action_sets, arrivals, bookmark)


@functools.cache
def loop(plays: str, is_late: bool, borrows: bool = False) -> Callable[[Any, Game, np.random.Generator], None]:
    """The rounds of a game, on arms, in contexts or on actions, with rewards learned at once or late.

    Compiled, branches on these are decided before anything is known of types. A loop that ``borrows`` is for kernels
    whose functions all do.
    """
    on_actions, in_contexts = plays == "actions", plays == "contexts"

    def rounds(kernel: Kernel, game: Game, rng: np.random.Generator) -> None:
        params, state = game.params, game.state
        tape, choices = game.tape, game.choices
        by_round, n_initial, bookmark = game.by_round, game.n_initial, game.bookmark
        used, at = bookmark.used, bookmark.at
        n_arms, length = tape.shape
        first = bookmark.n_played[0]
        if is_late:
            order, due = game.arrivals.order, game.arrivals.due
            known, earned, taken = bookmark.known, bookmark.earned, bookmark.taken
            n_learned = due[first - 1] if first > 0 else 0
            n_lacking = 0  # arms
            for arm in range(n_arms):
                if known[arm] < n_initial:
                    n_lacking += 1
        else:
            n_learned = first
            n_lacking = n_arms * n_initial - first  # rewards
        n_played = choices.size
        for t in range(first, choices.size):
            at[ROUND] = n_learned + 1
            if on_actions:
                actions = game.action_sets[t - first if by_round else 0]
                arm = select_action(kernel, params, state, actions, n_learned + 1, rng, at)
            elif n_lacking > 0:
                arm = t % n_arms
            elif in_contexts:
                see(state.context, game.action_sets[t - first, 0])
                arm = select(kernel, params, state, n_learned + 1, rng, at)
            else:
                arm = select(kernel, params, state, n_learned + 1, rng, at)
            place = t - first if by_round else used[arm]
            used[arm] += 1
            choices[t] = arm
            if is_late:
                earned[t] = tape[arm, place]
                if on_actions and by_round:
                    taken[t] = actions[arm]
                if in_contexts:
                    see(taken[t], game.action_sets[t - first, 0])
                while n_learned < due[t]:
                    decision = order[n_learned]
                    arm = choices[decision]
                    n_learned += 1
                    at[ARM], at[ROUND] = learning(arm), n_learned
                    if in_contexts:
                        see(state.context, taken[decision])
                    pulled = (taken[decision] if by_round else actions[arm]) if on_actions else arm
                    learn(kernel, params, state, pulled, earned[decision], n_learned, rng)
                    known[arm] += 1
                    if known[arm] == n_initial:
                        n_lacking -= 1
            else:
                n_learned += 1
                n_lacking -= 1
                at[ARM] = learning(arm)
                learn(kernel, params, state, actions[arm] if on_actions else arm, tape[arm, place], n_learned, rng)
            if place + 1 == length:
                n_played = t + 1
                break
        bookmark.n_played[0] = n_played

    rounds.__name__ = f"play{'_linear' * on_actions}{'_contextual' * in_contexts}{'_late' * is_late}"
    rounds.__qualname__ = f"{rounds.__name__}{'_borrowing' * borrows}"
    return borrowing(rounds) if borrows else rounds


@jitable
def see(place: Floats, context: Floats) -> None:
    """Write a context into a place for one."""
    for j in range(place.size):
        place[j] = context[j]


def plays(game: Game) -> str:
    """Inputs of a game."""
    return "arms" if game.action_sets is None else "contexts" if hasattr(game.state, "context") else "actions"


def play(kernel: Kernel, game: Game, rng: np.random.Generator) -> None:
    """Play the rounds of a game that there are rewards for, in plain Python."""
    loop(plays(game), game.arrivals is not None)(kernel, game, rng)


def compiled_play(kernel: Kernel, game: Game, rng: np.random.Generator) -> None:
    """:func:`play`, compiled."""
    rounds = loop(plays(game), game.arrivals is not None, kernel.borrows)
    compiled(rounds, kernel)(None, game, rng)

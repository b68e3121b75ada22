"""Policies as a user might write them, for tests of what the package does with such ones.

A module of its own, for the reason given in ``compiled.py``.
"""

from typing import Any, NamedTuple

import numpy as np

from bandstrap.policies import Kernel, Policy, jitable
from bandstrap.policies.states.fields import Counts, Order, Path


class Nothing(NamedTuple):
    """No parameters."""

    unused: float


class Own(Policy):
    """What they share: a history of one row per arm, or whatever a state of their own holds."""

    def make_params(self, horizon):
        return Nothing(0.0)


# --- a state whose history is kept sorted, so that a reward moves others ------------------------------------------------


class Ranked(NamedTuple):
    order: Any
    pulls: Any
    history: Any


def prepare(params, state, round_):
    return round_


def median(params, state, arm, shared, rng):
    return state.history[arm][state.pulls[arm] // 2] + rng.random()


@jitable
def insert(row, n, reward):
    place = n
    while place > 0 and row[place - 1] > reward:
        row[place] = row[place - 1]
        place -= 1
    row[place] = reward


def learn_ranked(params, state, arm, reward, round_, rng):
    insert(state.history[arm], state.pulls[arm], reward)
    state.pulls[arm] += 1


class Sorted(Own):
    """The arm with the highest median, and some luck."""

    name = "sorted_own"
    kernel = Kernel("sorted_own", prepare=prepare, score=median, learn=learn_ranked)

    def make_state(self, n_arms, capacity, order):
        return Ranked(order, np.zeros(n_arms, dtype=np.int64), np.zeros((n_arms, capacity)))


# --- two states of one name, with the same types in another order --------------------------------------------------------


def class_of_states(*fields):
    return NamedTuple("State", [(name, Any) for name in fields])


SumsFirst = class_of_states("order", "pulls", "sums", "squares")
SquaresFirst = class_of_states("order", "pulls", "squares", "sums")


def learn_both(params, state, arm, reward, round_, rng):
    state.pulls[arm] += 1
    state.sums[arm] += reward
    state.squares[arm] += reward * reward


def total(params, state, arm, shared, rng):
    return state.sums[arm]


class First(Own):
    """Has the sums first."""

    name = "first_own"
    kernel = Kernel("first_own", prepare=prepare, score=total, learn=learn_both)
    state_class = SumsFirst

    def make_state(self, n_arms, capacity, order):
        return self.state_class(order, np.zeros(n_arms, dtype=np.int64), np.zeros(n_arms), np.zeros(n_arms))


class Second(First):
    """Has the squares first, and the same kernel."""

    name = "second_own"
    state_class = SquaresFirst


# --- a number for all arms ------------------------------------------------------------------------------------------------


def learn_pooled(params, state, arm, reward, round_, rng):
    state.pulls[arm] += 1
    state.sums[arm] += reward
    state.squares[()] += reward * reward


class Pooled(First):
    """Has squares of all arms together, in an array without axes."""

    name = "pooled_own"
    kernel = Kernel("pooled_own", prepare=prepare, score=total, learn=learn_pooled)

    def make_state(self, n_arms, capacity, order):
        return super().make_state(n_arms, capacity, order)._replace(squares=np.zeros(()))


# --- choices that leave a trace, in rows ----------------------------------------------------------------------------------


class Traced(NamedTuple):
    order: Order
    pulls: Counts
    chosen: Path


def choose_first_once(params, state, round_, rng):
    state.chosen[0][0] += 1.0
    return 0 if state.chosen[0][0] == 1.0 and rng.random() < 0.5 else 1


def learn_nothing(params, state, arm, reward, round_, rng):
    state.pulls[arm] += 1


class Fading(Own):
    """The first arm with probability 1/2, and never after the first choice."""

    name = "fading_own"
    kernel = Kernel("fading_own", choose=choose_first_once, learn=learn_nothing)
    state_class = Traced

    def make_state(self, n_arms, capacity, order):
        return self.state_class(order, np.zeros(n_arms, dtype=np.int64), np.zeros((n_arms, 1)))


class UndeclaredFading(Fading):
    """The same with a state that does not say what its fields are."""

    name = "undeclared_fading_own"
    state_class = class_of_states("order", "pulls", "chosen")


# --- what goes wrong ------------------------------------------------------------------------------------------------------


def learn_and_fail(params, state, arm, reward, round_, rng):
    learn_both(params, state, arm, reward, round_, rng)
    state.squares[arm] += 1.0 / (reward - 0.75)


class Failing(First):
    """Divides by zero once the state has changed, for one reward."""

    name = "failing_own"
    kernel = Kernel("failing_own", prepare=prepare, score=total, learn=learn_and_fail)


class Mapped(First):
    """Has a state that no machine code can read."""

    name = "mapped_own"
    kernel = First.kernel

    def make_state(self, n_arms, capacity, order):
        state = super().make_state(n_arms, capacity, order)
        return state._replace(squares=dict.fromkeys(range(n_arms), 0.0))

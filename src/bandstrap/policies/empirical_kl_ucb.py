"""Empirical KL-UCB: the empirical-likelihood bound as an index, solved only where it can matter."""

from __future__ import annotations

import math
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.bounds.empirical_kl import solve_dual
from bandstrap.engine.compiler.kernel import Kernel, jitable
from bandstrap.errors import check_number
from bandstrap.policies.kernels.schedule import exploration
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.fields import Counts, History, Order, Path
from bandstrap.policies.states.history import room

# Columns of State.solved.
DIVERGENCE, INDEX, DUAL, FRESH = range(4)


class Params(NamedTuple):
    """The largest possible reward, and the factor of ``log log t``."""

    upper: float
    c: float


class State(NamedTuple):
    """Rewards, and the last solution of each arm.

    ``solved`` holds its divergence, its index, its dual variable, and whether it belongs to the present rewards.
    """

    order: Order
    pulls: Counts
    solved: Path
    history: History


@jitable
def optimistic_index(state: State, arm: int, divergence: float) -> float:
    """An upper bound on an arm's index that costs nothing: the index is concave in the divergence."""
    row = state.solved[arm]
    if row[FRESH] == 0.0:
        return math.inf
    return row[INDEX] + (row[DUAL] - row[INDEX]) * (divergence - row[DIVERGENCE])


@jitable
def solve_arm(params: Params, state: State, arm: int, divergence: float) -> float:
    """The arm's index; Newton starts at the arm's last dual variable."""
    row = state.solved[arm]
    if row[FRESH] == 0.0 or row[DIVERGENCE] != divergence:
        rewards = state.history[arm][: state.pulls[arm]]
        index, variable = solve_dual(rewards, params.upper, divergence, row[DUAL])
        row[FRESH] = 0.0  # until all is in place: online, an interrupt may come in between
        row[INDEX], row[DUAL] = index, variable
        row[DIVERGENCE] = divergence
        row[FRESH] = 1.0
    return row[INDEX]


def choose(params: Params, state: State, round_: int, rng: np.random.Generator) -> int:
    """The arm with the highest index; an arm whose upper bound is lower than the best index is not solved."""
    total = exploration(round_, params.c)
    best = -1
    best_index = -math.inf
    # Two passes: arms pulled since they were last solved have no bound yet, and set the mark for the others.
    for stale in (True, False):
        for i in range(len(state.order)):
            arm = state.order[i]
            divergence = total / state.pulls[arm]
            bound = optimistic_index(state, arm, divergence)
            if stale != (bound == math.inf) or bound < best_index:
                continue
            index = solve_arm(params, state, arm, divergence)
            if best < 0 or index > best_index or (index == best_index and position(state, arm) < position(state, best)):
                best = arm
                best_index = index
    return best


@jitable
def position(state: State, arm: int) -> int:
    """Place of an arm in the order that breaks ties."""
    for i in range(len(state.order)):
        if state.order[i] == arm:
            return i
    return -1


def learn(params: Params, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Keep the reward."""
    state.history[arm][state.pulls[arm]] = reward
    state.pulls[arm] += 1
    state.solved[arm][FRESH] = 0.0


KERNEL = Kernel("empirical_kl_ucb", learn=learn, choose=choose)


class EmpiricalKLUCB(Policy[Label]):
    r"""Empirical KL-UCB: the largest mean within a Kullback-Leibler ball around the rewards.

    .. math:: \sup\{E_q : q \text{ on } \{y_1,\dots,y_n,u\},\ \mathrm{KL}(\hat p_n, q) \le (\log t + c \log\log t)/n\}

    Assumes rewards that never exceed a known number. Prefer it if that number is certain, a bound is wanted, and rewards
    vary less than 0/1 rewards of the same mean.

    Parameters
    ----------
    upper
        ``u``, the largest possible reward. The lower end of the range does not matter. Costs (``direction="min"``) are at
        least ``-u``: give 0 if they are never negative.
    c
        Factor of ``log log t``; 0 (default) in practice, 3 in theory.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    Choices are those of the exact index, but the index of an arm is computed only if the arm could win. The index is
    concave in the divergence, so the tangent at an arm's last solution bounds its later indices until it is pulled. All
    rewards are kept, and computing an index costs O(n) for n pulls: online about 0.1 microseconds per reward and step of
    Newton's method.

    See Also
    --------
    bandstrap.bounds.empirical_kl : the bound on its own.

    Examples
    --------
    >>> from bandstrap import EmpiricalKLUCB
    >>> policy = EmpiricalKLUCB(arms=2, upper=1.0, rng=0)
    >>> policy.update([0, 1] * 10, [0.1, 0.4] * 10)
    >>> policy.select()
    1

    References
    ----------
    .. [1] Cappe, Garivier, Maillard, Munos, Stoltz. Kullback-Leibler upper confidence bounds for optimal sequential
       allocation. Annals of Statistics 41, 2013.
    """

    kernel = KERNEL
    indices_are_bounds = True
    name = "empirical_kl_ucb"

    def __init__(self, *, upper: float = 1.0, c: float = 0.0, **online: Unpack[Online[Label]]) -> None:
        self.upper = check_number(upper, "upper", type(self).__name__)
        self.c = self.not_negative(c, "c")
        super().__init__(**online)
        self.support = self.support_up_to(self.upper)

    def make_params(self, horizon: int | None) -> Params:
        return Params(self.upper, self.c)

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: no solution yet, and room for ``capacity`` rewards per arm."""
        solved = np.zeros((n_arms, 4))
        solved[:, DUAL] = -np.inf
        return State(order, np.zeros(n_arms, dtype=np.int64), solved, room(n_arms, capacity))

    def indices(self, params: Params, state: State, round_: int, rng: np.random.Generator) -> list[float]:
        """The bound of every arm."""
        total = exploration(round_, params.c)
        return [solve_arm(params, state, arm, total / n) for arm, n in enumerate(state.pulls)]

"""Giro: follow the leader of a bootstrapped history with pseudo-rewards."""

from __future__ import annotations

import math
import sys
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.errors import check_count, check_number
from bandstrap.policies.kernels.draws import draw_heads, draw_successes, sum_of_draws
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.history import State, no_rewards

# Beyond, rewards are lost among pseudo-rewards, and a decision takes seconds.
LARGEST_A = 1e6


class Params(NamedTuple):
    """Pseudo-rewards of each kind per reward, and how many rewards of an arm its history holds at most."""

    a: float
    most_kept: int


def prepare(params: Params, state: State, round_: int) -> int:
    """Nothing is shared."""
    return 0


def score(params: Params, state: State, arm: int, shared: int, rng: np.random.Generator) -> float:
    """Mean of as many draws with replacement from the arm's history as it holds entries.

    How many of them are rewards is binomial, and how many of the others are ones; only the rewards need a draw each.

    A fractional number of pseudo-rewards is rounded anew: kept from score to score, a run of roundings down would leave
    an arm of equal rewards without any, and it would never be explored again.
    """
    n = state.pulls[arm]
    wanted = params.a * n
    pseudo = math.floor(wanted)
    if wanted > pseudo and rng.random() < wanted - pseudo:
        pseudo += 1
    size = n + 2 * pseudo
    of_rewards = draw_successes(size, n / size, rng)
    ones = draw_heads(size - of_rewards, rng)
    return (ones + sum_of_draws(state.history[arm], n, of_rewards, rng)) / size


def learn(params: Params, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Keep the reward, unless the arm's history is complete."""
    n = state.pulls[arm]
    if n < params.most_kept:
        state.history[arm][n] = reward
        state.pulls[arm] = n + 1


KERNEL = Kernel("giro", learn=learn, score=score, prepare=prepare)


class Giro(Policy[Label]):
    r"""Garbage in, reward out: the mean of a bootstrap sample of rewards and pseudo-rewards.

    After ``n`` pulls the history holds the ``n`` rewards, ``a n`` zeros and ``a n`` ones; the index is the mean of
    ``(2a + 1) n`` draws from it with replacement.

    Assumes rewards in [0, 1]. Prefer it for comparison with the literature; :class:`bandstrap.PHE` explores similarly at a
    fraction of the cost.

    Parameters
    ----------
    a
        Pseudo-rewards of each kind per reward, fewer than a million. The default is that of Giro's theory and matches the
        paper's figures; 0.1 does better in practice.
    check_range
        Refuse rewards outside [0, 1], for which the pseudo-rewards 0 and 1 are meant (default). ``False`` accepts them: the
        paper also runs Giro on unbounded rewards, where it fails.
    most_kept
        Number of rewards of an arm after which its history stops growing. ``None``, the default, keeps all. With 1 or 2,
        regret is a straight line, as the paper's figure 7 shows for Giro.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    A fractional ``a n`` is rounded up with a probability equal to its fraction, anew for every index. A decision costs
    O((2a + 1) t) in time, and the rewards are kept: the distribution of the index depends on all of them.

    See Also
    --------
    bandstrap.BootstrappedUCB : needs no pseudo-rewards.

    Examples
    --------
    >>> from bandstrap import Giro
    >>> policy = Giro(arms=2, a=0.1, rng=0)
    >>> policy.update([0, 1] * 30, [0.2, 0.8] * 30)
    >>> policy.select()
    1

    References
    ----------
    .. [1] Kveton, Szepesvari, Vaswani, Wen, Ghavamzadeh, Lattimore. Garbage in, reward out: bootstrapping exploration in
       multi-armed bandits. ICML 2019.
    """

    kernel = KERNEL

    def __init__(
        self, *, a: float = 1.0, check_range: bool = True, most_kept: int | None = None, **online: Unpack[Online[Label]]
    ) -> None:
        self.a = check_number(a, "a", type(self).__name__, above=0, below=LARGEST_A)
        self.most_kept = None if most_kept is None else check_count(most_kept, "most_kept", type(self).__name__)
        self.limit_range(check_range)
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(self.a, sys.maxsize if self.most_kept is None else self.most_kept)

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: room for ``capacity`` of them per arm."""
        return no_rewards(n_arms, capacity, order)

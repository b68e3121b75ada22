"""Arms at random: what every policy should beat."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.policies.kernels.draws import random_index
from bandstrap.policies.online.policy import Label, Policy
from bandstrap.policies.states.sums import State, learn, no_rewards


def choose(params: int, state: State, round_: int, rng: np.random.Generator) -> int:
    """Any arm."""
    return random_index(len(state.order), rng)


KERNEL = Kernel("uniform_random", learn=learn, choose=choose)


class UniformRandom(Policy[Label]):
    """Every arm with the same probability, regardless of the rewards; each once first.

    Assumes nothing. Prefer it to collect data evenly, and as the lowest benchmark.

    Parameters
    ----------
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    See Also
    --------
    bandstrap.EpsilonGreedy : explores at random only occasionally.

    Examples
    --------
    >>> from bandstrap import UniformRandom
    >>> policy = UniformRandom(arms=["a", "b"], rng=0)
    >>> policy.update(["a", "b"], [0.2, 0.8])
    >>> sorted({policy.select() for _ in range(20)})
    ['a', 'b']
    """

    kernel = KERNEL

    def make_params(self, horizon: int | None) -> int:
        """There are no parameters."""
        return 0

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: pulls and sums at zero."""
        return no_rewards(n_arms, order)

    def exact_weights(self, params: int, state: State, round_: int) -> list[float]:
        """The same for all."""
        n_arms = len(state.order)
        return [1.0 / n_arms] * n_arms

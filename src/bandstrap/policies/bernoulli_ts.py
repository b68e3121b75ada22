"""Thompson sampling for rewards in [0, 1], by a coin for each reward (the paper's Bernoulli-TS)."""

from __future__ import annotations

from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.sums import State, no_rewards


class Params(NamedTuple):
    """The prior's pseudo-counts of ones and zeros."""

    ones: float
    zeros: float


def prepare(params: Params, state: State, round_: int) -> int:
    """Nothing is shared."""
    return 0


def score(params: Params, state: State, arm: int, shared: int, rng: np.random.Generator) -> float:
    """A draw from ``Beta(ones + heads, zeros + tails)``."""
    heads = state.sums[arm]
    return rng.beta(params.ones + heads, params.zeros + (state.pulls[arm] - heads))


def learn(params: Params, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Toss a coin that shows heads with probability ``reward``, and count it."""
    state.pulls[arm] += 1
    if rng.random() < reward:
        state.sums[arm] += 1.0


KERNEL = Kernel("bernoulli_ts", learn=learn, score=score, prepare=prepare)


class BernoulliTS(Policy[Label]):
    r"""Thompson sampling with a Beta posterior, for rewards in [0, 1].

    .. math:: \theta \sim \mathrm{Beta}(a + \textstyle\sum z_i,\; b + n - \sum z_i), \qquad z_i \sim \mathrm{Ber}(y_i)

    A reward strictly between 0 and 1 is replaced by a coin that shows 1 with that probability.

    Assumes rewards in [0, 1]. Prefer it for clicks and other 0/1 rewards, above all if they come late: its random draws
    spread the decisions made meanwhile over the arms.

    Parameters
    ----------
    ones, zeros
        The prior's ``a`` and ``b``; the default is uniform.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    See Also
    --------
    bandstrap.BootstrappedUCB : uses the rewards themselves; prefer it if they vary less than coin tosses of the same mean.

    Examples
    --------
    >>> from bandstrap import BernoulliTS
    >>> policy = BernoulliTS(arms=["old", "new"], rng=1)
    >>> policy.update(["old", "new"] * 20, [0, 1] * 20)
    >>> policy.select()
    'new'

    References
    ----------
    .. [1] Agrawal, Goyal. Further optimal regret bounds for Thompson sampling. AISTATS 2013.
    """

    kernel = KERNEL
    support = (0.0, 1.0)

    def __init__(self, *, ones: float = 1.0, zeros: float = 1.0, **online: Unpack[Online[Label]]) -> None:
        self.ones = self.positive(ones, "ones")
        self.zeros = self.positive(zeros, "zeros")
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(self.ones, self.zeros)

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: pulls and sums at zero."""
        return no_rewards(n_arms, order)

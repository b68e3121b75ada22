"""Bootstrapped Thompson sampling: a replicate of the history, kept online, in place of a draw from a posterior."""

from __future__ import annotations

from typing import Literal, NamedTuple, Unpack, cast, get_args

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.engine.work.memory import WORD, check_memory
from bandstrap.errors import check_choice, check_count
from bandstrap.multipliers.weights import RADEMACHER
from bandstrap.policies.kernels.draws import add_weights, doubled_mean
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.fields import Counts, Numbers, Order

Prior = Literal["fixed", "drawn"]
PRIORS: tuple[Prior, ...] = get_args(Prior)
# Replicates times the square of the number of arms up to which the probability of each arm is worked out.
MOST_COMPARED = 10**7


class Params(NamedTuple):
    """Number of replicates of each arm."""

    n_replicates: int


class State(NamedTuple):
    """Sum of the rewards, and of each replicate the prior data and the sums of ``w y`` and ``w`` with random signs."""

    order: Order
    pulls: Counts
    rewards: Numbers
    sums: Numbers  # (arm, replicate)
    totals: Numbers  # (arm, replicate)


def prepare(params: Params, state: State, round_: int) -> int:
    """Nothing is shared."""
    return 0


def score(params: Params, state: State, arm: int, shared: int, rng: np.random.Generator) -> float:
    """The mean of a replicate chosen at random."""
    j = int(rng.random() * params.n_replicates)
    return doubled_mean(state.pulls[arm], state.rewards[arm], state.sums[arm][j], state.totals[arm][j])


def learn(params: Params, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Give the reward to each replicate twice or not at all."""
    state.pulls[arm] += 1
    state.rewards[arm] += reward
    add_weights(RADEMACHER, reward, state.sums[arm], state.totals[arm], rng)


KERNEL = Kernel("bootstrapped_ts", learn=learn, score=score, prepare=prepare)


class BootstrappedTS(Policy[Label]):
    r"""Bootstrapped Thompson sampling with the online double-or-nothing bootstrap.

    .. math:: \theta = \frac{a_j + \sum_i v_{ij} y_i}{a_j + b_j + \sum_i v_{ij}}, \qquad
        v_{ij} \in \{0, 2\}, \quad j \sim \mathrm{Uniform}\{1, \dots, J\}

    Every reward enters each of the arm's ``J`` replicates twice or not at all; this is drawn once and never changes. The
    prior data of a replicate are pseudo-rewards 1 and 0 of weights ``a_j`` and ``b_j``.

    Assumes rewards in [0, 1], between the two prior rewards. Prefer it for models that can be refitted to weighted data but
    have no posterior; for plain arms other policies are cheaper.

    Parameters
    ----------
    n_replicates
        ``J``. Fewer replicates cost less and explore less: an arm whose replicates all lie below those of the best arm is
        not pulled again.
    ones, zeros
        Weights of the prior's pseudo-rewards 1 and 0; the defaults are the counts of a uniform prior.
    prior
        ``"fixed"`` (default) gives each replicate the weights ``ones`` and ``zeros`` [1]. ``"drawn"`` bootstraps the
        prior data too, with exponential weights [2]: the replicates of an arm begin with means from Beta(ones, zeros).
    check_range
        Refuse rewards outside [0, 1], for which the pseudo-rewards are meant (default).
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    A pull costs O(J), a decision O(1). Without prior data the bootstrap has linear regret. With fixed prior data about one
    run in a hundred still loses the best arm for good. With drawn prior data the replicates stay different, and mean regret
    is a little higher.

    See Also
    --------
    bandstrap.WeightedBootstrap : fresh weights in each round; prefer it where its O(t) per decision is cheap enough.

    Examples
    --------
    >>> from bandstrap import BootstrappedTS
    >>> policy = BootstrappedTS(arms=2, n_replicates=100, rng=0)
    >>> policy.update([0, 1] * 30, [0.1, 0.9] * 30)
    >>> policy.select()
    1

    References
    ----------
    .. [1] Eckles, Kaptein. Thompson sampling with the online bootstrap. arXiv:1410.4009, 2014.
    .. [2] Osband, Van Roy. Bootstrapped Thompson sampling and deep exploration. arXiv:1507.00300, 2015.
    """

    kernel = KERNEL

    def __init__(
        self,
        *,
        n_replicates: int = 1000,
        ones: float = 1.0,
        zeros: float = 1.0,
        prior: Prior = "fixed",
        check_range: bool = True,
        **online: Unpack[Online[Label]],
    ) -> None:
        self.n_replicates = check_count(n_replicates, "n_replicates", type(self).__name__)
        self.check_size(1)
        self.ones = self.positive(ones, "ones")
        self.zeros = self.positive(zeros, "zeros")
        self.prior = check_choice(prior, "prior", type(self).__name__, PRIORS)
        self.limit_range(check_range)
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(self.n_replicates)

    def check_size(self, size: int) -> None:
        """Refuse more replicates than memory can hold."""
        check_memory(2 * WORD * size * self.n_replicates, "n_replicates", type(self).__name__, self.n_replicates)

    def start(self, n_arms: int, capacity: int, rng: np.random.Generator) -> State:
        """A new state; the prior data are drawn here where they are random."""
        state = cast("State", super().start(n_arms, capacity, rng))
        if self.prior == "drawn":
            state.sums[:] = rng.standard_gamma(self.ones, state.sums.shape)
            state.totals[:] = state.sums + rng.standard_gamma(self.zeros, state.sums.shape)
        return state

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """Prior data alone."""
        shape = (n_arms, self.n_replicates)
        return State(
            order=order,
            pulls=np.zeros(n_arms, dtype=np.int64),
            rewards=np.zeros(n_arms),
            sums=np.full(shape, self.ones),
            totals=np.full(shape, self.ones + self.zeros),
        )

    def exact_weights(self, params: Params, state: State, round_: int) -> list[float] | None:
        """Share of the ``J^K`` choices of a replicate per arm that have their highest mean in each arm.

        All replicates are sorted, with ties in the tie-breaking order of arms. A replicate has the highest mean in each
        choice with replicates of other arms that come before it.
        """
        order = list(state.order)
        if len(order) ** 2 * params.n_replicates > MOST_COMPARED:
            return None
        rows = zip(state.pulls, state.rewards, state.sums, state.totals, strict=True)
        means = [
            [doubled_mean(n, total, *draw) for draw in zip(sums, totals, strict=True)]
            for n, total, sums, totals in rows
        ]
        ranks = np.argsort(order)
        arms = np.repeat(np.arange(len(order)), params.n_replicates)
        arms = arms[np.lexsort((-ranks[arms], np.concatenate(means)))]
        # Of each arm, the share of replicates up to each place in the line.
        shares = np.cumsum(arms == np.arange(len(order))[:, None], axis=1) / params.n_replicates
        found = []
        for arm in range(len(order)):
            others = np.prod(np.delete(shares[:, arms == arm], arm, axis=0), axis=0)
            found.append(float(others.sum() / params.n_replicates))
        return found

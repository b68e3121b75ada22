"""Maillard sampling: arms drawn with probabilities in closed form."""

from __future__ import annotations

from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.compiler.kernel import Kernel, inlined
from bandstrap.errors import check_choice
from bandstrap.policies.kernels.divergence import DIVERGENCES, Divergence, divergence_between, highest_mean
from bandstrap.policies.kernels.draws import gumbel, shares
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.sums import State, learn, no_rewards


class Params(NamedTuple):
    """Divergence, and its noise scale if normal."""

    kind: int
    sigma: float


def prepare(params: Params, state: State, round_: int) -> float:
    """The highest mean."""
    return highest_mean(state)


@inlined
def log_weight(params: Params, state: State, arm: int, best: float) -> float:
    """``-n d(ybar, best)``, the logarithm of the arm's probability but for a constant."""
    n = state.pulls[arm]
    return -n * divergence_between(params.kind, params.sigma, state.sums[arm] / n, best)


def score(params: Params, state: State, arm: int, shared: float, rng: np.random.Generator) -> float:
    """The logarithm of the weight plus a Gumbel number: the highest such sum is a draw by the weights."""
    return log_weight(params, state, arm, shared) + gumbel(rng)


KERNEL = Kernel("maillard_sampling", learn=learn, score=score, prepare=prepare)


class MaillardSampling(Policy[Label]):
    r"""Maillard sampling: each arm with a probability that falls with its distance from the leader.

    .. math:: P(\text{arm } k) \propto \exp(-n_k\, d(\bar y_k, \max_j \bar y_j))

    with ``d(p, q) = (p - q)^2/(2 sigma^2)``, or the divergence between Bernoulli distributions (KL-MS).

    Assumes noise of a known scale, or rewards in [0, 1]. Prefer it if the probability of each decision must be known in
    closed form.

    Parameters
    ----------
    divergence
        ``"gaussian"`` (default) for sub-Gaussian rewards of noise scale ``sigma``, ``"bernoulli"`` for rewards in [0, 1].
    sigma
        Assumed noise scale, used by ``"gaussian"`` only.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    The probabilities of a decision are known (:meth:`probabilities`), so logged decisions can be used to evaluate other
    policies by importance weighting.

    See Also
    --------
    bandstrap.GaussianTS : slightly lower regret, but no closed form for the probabilities.

    Examples
    --------
    >>> from bandstrap import MaillardSampling
    >>> policy = MaillardSampling(arms=["a", "b"], rng=0)
    >>> policy.update(["a", "b"], [0.0, 1.0])
    >>> policy.probabilities()
    {'a': 0.3775, 'b': 0.6225}

    References
    ----------
    .. [1] Maillard. Apprentissage sequentiel: bandits, statistique et renforcement. PhD thesis, Lille 2011.
    .. [2] Bian, Jun. Maillard sampling: Boltzmann exploration done optimally. AISTATS 2022.
    .. [3] Qin, Jun, Zhang. Kullback-Leibler Maillard sampling for multi-armed bandits with bounded rewards. NeurIPS 2023.
    """

    kernel = KERNEL

    def __init__(
        self, *, divergence: Divergence = "gaussian", sigma: float = 1.0, **online: Unpack[Online[Label]]
    ) -> None:
        self.divergence = check_choice(divergence, "divergence", type(self).__name__, DIVERGENCES)
        self.sigma = self.positive(sigma, "sigma")
        if self.divergence == "bernoulli":
            self.support = (0.0, 1.0)
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(DIVERGENCES[self.divergence], self.sigma)

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: pulls and sums at zero."""
        return no_rewards(n_arms, order)

    def exact_weights(self, params: Params, state: State, round_: int) -> list[float]:
        """The weights divided by their sum."""
        best = highest_mean(state)
        return shares([log_weight(params, state, arm, best) for arm in range(len(state.pulls))])

    def probabilities(self) -> dict[Label, float]:
        """Probability of each arm to be returned by :meth:`select` next: :meth:`weights`, which are exact here."""
        self._need_arms("probabilities")
        return self.weights()

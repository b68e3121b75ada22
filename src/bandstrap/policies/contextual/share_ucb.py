"""ShareUCB: how far an arm's index reaches follows from its share of what is known in the context."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Unpack

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import Kernel, borrowing, inlined, jitable
from bandstrap.errors import check_flag
from bandstrap.multipliers.normal import normal_quantile
from bandstrap.policies.contextual.contextual_policy import ContextualOnline, ContextualPolicy
from bandstrap.policies.contextual.probabilities import IndexLaws, chances_of_highest
from bandstrap.policies.contextual.regressions import Noise, State, find_noise, learn, look_at_all, score
from bandstrap.policies.online.policy import Label

# What a level is multiplied by before it becomes a quantile, so that the index stays above the prediction.
PART = 0.9
LARGEST_LEVEL = 0.5
# An arm with at least so many times less than its fair share of the information has the largest level.
FEWEST_RIVALS = 4


class Params(NamedTuple):
    """Parameters: ``randomized`` if levels are drawn."""

    randomized: bool


@inlined
def level(state: State, arm: int, total: float) -> float:
    """``min(1/2, max(4, K - 1) n_k/sum n_j)``, with ``n_k = 1/leverage``."""
    rivals = max(FEWEST_RIVALS, len(state.leverages) - 1)
    return min(LARGEST_LEVEL, rivals / (state.leverages[arm] * total))


@jitable
def information(state: State) -> float:
    """The sum of ``1/leverage`` over all arms."""
    total = 0.0
    for arm in range(len(state.leverages)):
        total += 1.0 / state.leverages[arm]
    return total


@inlined
def degrees(state: State, arm: int, noise: Noise) -> float:
    """``N_k + d_0``."""
    return state.pulls[arm] + noise.prior


@inlined
def deviation(state: State, arm: int, noise: Noise) -> float:
    """``s_k``: the noise of an arm's rewards, shrunk to that of all."""
    return math.sqrt((state.squares[arm] + noise.prior * noise.pooled) / degrees(state, arm, noise))


@jitable
def index_at(state: State, arm: int, noise: Noise, tail: float) -> float:
    """``f + s sqrt(v nu (exp(z^2/nu) - 1))``, where ``tail`` is the probability of exceeding ``z``."""
    z = normal_quantile(PART * tail)
    nu = degrees(state, arm, noise)
    return state.fits[arm] + deviation(state, arm, noise) * math.sqrt(
        state.leverages[arm] * nu * math.expm1(min(z * z / nu, 600.0))
    )


@borrowing
def prepare(params: Params, state: State, round_: int) -> None:
    """Write down the index of every arm at its share of the information."""
    look_at_all(state)
    noise = find_noise(state)
    total = information(state)
    for arm in range(len(state.leverages)):
        state.scores[arm] = index_at(state, arm, noise, level(state, arm, total))


@borrowing
def choose_randomly(params: Params, state: State, round_: int, rng: np.random.Generator) -> int:
    """The highest index, with a level that is drawn for each arm."""
    look_at_all(state)
    noise = find_noise(state)
    total = information(state)
    best = -1
    highest = -math.inf
    for arm in state.order:
        value = index_at(state, arm, noise, max(level(state, arm, total), LARGEST_LEVEL * rng.random()))
        if best < 0 or value > highest:
            best = arm
            highest = value
    return best


KERNELS = {
    False: Kernel("share_ucb", learn=learn, prepare=prepare, score=score),
    True: Kernel("share_ucb_randomized", learn=learn, choose=choose_randomly),
}


class ShareUCB(ContextualPolicy[Label]):
    r"""Studentized upper confidence bounds in contexts; the level of each arm follows from its share of the information.

    .. math:: f_k + s_k \sqrt{v_k \nu_k \bigl(e^{z_k^2/\nu_k} - 1\bigr)}, \qquad
              z_k = \Phi^{-1}(1 - 0.9\, e_k), \qquad
              e_k = \min\Bigl(\tfrac12, \max(4, K-1) \frac{1/v_k}{\sum_j 1/v_j}\Bigr)

    for the prediction :math:`f_k`, its leverage :math:`v_k`, the variance :math:`s_k^2` of the arm's innovations, shrunk to
    that of all arms, and :math:`\nu_k` degrees of freedom. These are the number of the arm's rewards plus the weight of the
    shrinkage. An arm with much of the information in this context is judged almost by its prediction alone. An arm with
    little information gets a bound that is rarely exceeded. The root is Student's quantile to second order, and can be
    inverted.

    Assumes nothing about the scale of rewards: multiplying or shifting them leads to the same choices. Prefer it to begin
    with. It loses to a tuned width if contexts carry no information, or if there are very many arms.

    Parameters
    ----------
    randomized
        Draw each level, :math:`\max(e_k, U_k/2)` with a uniform :math:`U_k`. By default choices are deterministic.
    contexts, model, features, ridge, standardise
        See :class:`bandstrap.policies.contextual.ContextualPolicy`.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    See Also
    --------
    bandstrap.ContextualLinUCB : the same predictions, with a given width.

    Examples
    --------
    >>> from bandstrap import ShareUCB
    >>> policy = ShareUCB(arms=["red", "blue"], contexts={"device": ["phone", "desktop"]}, rng=0)
    >>> for device, arm, reward in [("phone", "red", 1.0), ("phone", "blue", 0.0), ("desktop", "blue", 1.0)] * 20:
    ...     policy.update(arm, reward, context={"device": device})
    >>> policy.select(context={"device": "phone"})
    'red'

    References
    ----------
    .. [1] Li, Chu, Langford, Schapire. A contextual-bandit approach to personalized news article recommendation. WWW 2010.
    .. [2] Wallace. Bounds on normal approximations to Student's and the chi-square distributions. Annals of Mathematical
       Statistics 30, 1959: the root.
    """

    def __init__(self, *, randomized: bool = False, **online: Unpack[ContextualOnline[Label]]) -> None:
        self.randomized = self.is_random = check_flag(randomized, "randomized", type(self).__name__)
        self.kernel = KERNELS[self.randomized]
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(self.randomized)

    def exact_weights(self, params: Any, state: Any, round_: int) -> list[float] | Any:
        """Probability 1 for the highest index; for drawn levels, an integral over their distributions."""
        if not self.randomized:
            return super().exact_weights(params, state, round_)
        look_at_all(state)
        return chances_of_highest(ShareLaws(state), state.order)


class ShareLaws(IndexLaws):
    """The distributions of indices with drawn levels: ``P(I <= y) = 1 - 2 e(y)`` below the top, where an atom ``2
    e_k`` sits.
    """

    def __init__(self, state: State) -> None:
        noise, total = find_noise(state), information(state)
        arms = range(len(state.leverages))
        levels = [level(state, arm, total) for arm in arms]
        self.atoms = 2.0 * np.array(levels)
        self.tops = np.array([index_at(state, arm, noise, levels[arm]) for arm in arms])
        self.bottoms = np.array([index_at(state, arm, noise, LARGEST_LEVEL) for arm in arms])
        self._nu = np.array([degrees(state, arm, noise) for arm in arms])
        self._centres = np.array(state.fits)
        s = np.array([deviation(state, arm, noise) for arm in arms])
        self._spread = s * s * np.array(state.leverages) * self._nu

    def _z(self, y: Floats) -> Floats:
        above = np.maximum(y[:, None] - self._centres, 0.0)
        return np.sqrt(self._nu * np.log1p(above * above / self._spread))

    def below(self, y: Floats) -> Floats:
        """``P(I_k <= y)`` of each arm, where ``y`` lies below its top."""
        from scipy.special import ndtr

        return 1.0 - 2.0 * ndtr(-self._z(y)) / PART

    def density(self, y: Floats) -> Floats:
        """Its derivative."""
        above = np.maximum(y[:, None] - self._centres, 1e-300)
        z = np.maximum(self._z(y), 1e-300)
        slope = self._nu * above / (self._spread + above * above) / z
        return 2.0 / PART * np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) * slope

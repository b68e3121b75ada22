"""Linear Thompson sampling with labelled arms."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Unpack

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import Kernel, borrowing
from bandstrap.policies.contextual.contextual_policy import ContextualOnline, ContextualPolicy
from bandstrap.policies.contextual.probabilities import IndexLaws, chances_of_highest
from bandstrap.policies.contextual.regressions import State, learn, look_at_all
from bandstrap.policies.online.policy import Label

# Standard deviations beyond which nothing is integrated.
FARTHEST = 8.5


class Params(NamedTuple):
    """The standard deviation of rewards."""

    sigma: float


@borrowing
def choose(params: Params, state: State, round_: int, rng: np.random.Generator) -> int:
    """The highest of ``f + sigma sqrt(v) N``, drawn for each arm."""
    look_at_all(state)
    best = -1
    highest = -math.inf
    for arm in state.order:
        value = state.fits[arm] + params.sigma * math.sqrt(state.leverages[arm]) * rng.standard_normal()
        if best < 0 or value > highest:
            best = arm
            highest = value
    return best


KERNEL = Kernel("contextual_linear_ts", learn=learn, choose=choose)


class ContextualLinearTS(ContextualPolicy[Label]):
    r"""Thompson sampling with labelled arms: a prediction is drawn for each arm, and the highest wins.

    .. math:: \tilde f_k \sim N(f_k, \sigma^2 v_k)

    A linear function of normal coefficients is normal, so one number is drawn per arm instead of ``d``. Draws of arms are
    independent, even if the model shares coefficients.

    Assumes a linear mean and a known noise scale. Prefer it if rewards come in large batches.

    Parameters
    ----------
    sigma
        The standard deviation of rewards; smaller values often lose less.
    contexts, model, features, ridge, standardise
        See :class:`bandstrap.policies.contextual.ContextualPolicy`.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    See Also
    --------
    bandstrap.LinearTS : for actions described by their features.

    Examples
    --------
    >>> from bandstrap import ContextualLinearTS
    >>> policy = ContextualLinearTS(arms=["red", "blue"], contexts=1, sigma=0.5, rng=0)
    >>> policy.update(["red", "blue"] * 50, [0.0, 1.0] * 50, context=[[0.0]] * 100)
    >>> policy.weights(context=[0.0])["blue"] > 0.999
    True

    References
    ----------
    .. [1] Agrawal, Goyal. Thompson sampling for contextual bandits with linear payoffs. ICML 2013.
    """

    kernel = KERNEL
    is_random = True

    def __init__(self, *, sigma: float = 1.0, **online: Unpack[ContextualOnline[Label]]) -> None:
        self.sigma = self.positive(sigma, "sigma")
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(self.sigma)

    def exact_weights(self, params: Any, state: Any, round_: int) -> list[float]:
        """An integral over the distributions of the draws."""
        look_at_all(state)
        return chances_of_highest(
            NormalLaws(np.array(state.fits), params.sigma * np.sqrt(state.leverages)), state.order
        )


class NormalLaws(IndexLaws):
    """Normal distributions, cut off where nothing is left of them."""

    def __init__(self, means: Floats, deviations: Floats) -> None:
        self._means, self._deviations = means, deviations
        self.bottoms, self.tops = means - FARTHEST * deviations, means + FARTHEST * deviations
        self.atoms = np.zeros_like(means)

    def below(self, y: Floats) -> Floats:
        """The distribution functions."""
        from scipy.special import ndtr

        found: Floats = ndtr((y[:, None] - self._means) / self._deviations)
        return found

    def density(self, y: Floats) -> Floats:
        """The densities."""
        z = (y[:, None] - self._means) / self._deviations
        found: Floats = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) / self._deviations
        return found

"""LinUCB with labelled arms: a constant number of standard errors above the prediction."""

from __future__ import annotations

import math
from typing import NamedTuple, Unpack

from bandstrap.engine.compiler.kernel import Kernel, borrowing
from bandstrap.policies.contextual.contextual_policy import ContextualOnline, ContextualPolicy
from bandstrap.policies.contextual.regressions import State, first_of_equals, learn, look_at_all, score
from bandstrap.policies.online.policy import Label


class Params(NamedTuple):
    """Standard errors of rewards with variance 1 above the prediction."""

    width: float


@borrowing
def prepare(params: Params, state: State, round_: int) -> None:
    """Write down ``f + width sqrt(v)``; with width 0 while all rewards are the same, the roots decide."""
    look_at_all(state)
    width = 1.0 if params.width == 0.0 and first_of_equals(state) else params.width
    for arm in range(len(state.leverages)):
        state.scores[arm] = state.fits[arm] + width * math.sqrt(state.leverages[arm])


KERNEL = Kernel("contextual_lin_ucb", learn=learn, prepare=prepare, score=score)


class ContextualLinUCB(ContextualPolicy[Label]):
    r"""LinUCB with labelled arms and one context per decision.

    .. math:: f_k + c \sqrt{v_k}

    for the prediction :math:`f_k` in the context and its leverage :math:`v_k`.

    Assumes a linear mean, and a ``width`` in proportion to the scale of rewards. Prefer it if the scale is known.

    Parameters
    ----------
    width
        :math:`c`; the default 1 is customary for rewards between 0 and 1, smaller ones often lose less.
    contexts, model, features, ridge, standardise
        See :class:`bandstrap.policies.contextual.ContextualPolicy`.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    See Also
    --------
    bandstrap.ShareUCB : needs no width. bandstrap.LinUCB : for actions described by their features.

    Examples
    --------
    >>> from bandstrap import ContextualLinUCB
    >>> policy = ContextualLinUCB(arms=["red", "blue"], contexts={"device": ["phone", "desktop"]}, rng=0)
    >>> policy.update(["red", "blue"] * 20, [1.0, 0.0] * 20, context=[{"device": "phone"}] * 40)
    >>> policy.select(context={"device": "phone"})
    'red'

    References
    ----------
    .. [1] Li, Chu, Langford, Schapire. A contextual-bandit approach to personalized news article recommendation. WWW 2010.
    """

    kernel = KERNEL

    def __init__(self, *, width: float = 1.0, **online: Unpack[ContextualOnline[Label]]) -> None:
        self.width = self.not_negative(width, "width")
        super().__init__(**online)

    def make_params(self, horizon: int | None) -> Params:
        return Params(self.width)

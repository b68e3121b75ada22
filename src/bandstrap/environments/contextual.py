"""Environments with a context in each round: linear ones, linear but for a bend, and the wheel."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from bandstrap.basics.arrays import AnyArray, Floats
from bandstrap.engine.work.memory import WORD, check_memory
from bandstrap.environments.environment import Environment
from bandstrap.errors import check_count, check_number, requirement

CONTEXTUAL_ENVIRONMENTS: dict[str, type[Environment]] = {}


class ContextualEnvironment(Environment):
    """Base of environments with contexts: the means of all arms follow from the context of a round.

    Subclasses give ``draw_contexts`` and ``draw_outcomes``. Policies of arms can also play, but do not see the contexts.
    """

    registry: ClassVar[dict[str, type[Environment]]] = CONTEXTUAL_ENVIRONMENTS
    dimension: int
    contextual: bool = True

    @property
    def offers(self) -> tuple[str, ...]:
        """Contexts, and arms for policies that ignore contexts."""
        return ("contexts", "arms")

    def check_world(self) -> None:
        """Refuse an environment in which a single round exceeds memory."""
        check_memory(WORD * (self.dimension + 2 * self.n_arms), "dimension", type(self).__name__, self.dimension)

    def draw_contexts(self, n: int, rng: np.random.Generator) -> AnyArray:
        """Draw the contexts of ``n`` rounds."""
        raise NotImplementedError

    def draw_outcomes(self, seen: AnyArray, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
        """Means and rewards of every arm, a row per round, and the features that policies are shown."""
        raise NotImplementedError

    def tape(self, horizon: int, rng: np.random.Generator) -> tuple[Floats, ...]:
        """Means ``(horizon, n_arms)``, rewards ``(n_arms, horizon)``, and contexts ``(horizon, 1, dimension)``."""
        means, rewards, features = self.draw_outcomes(self.draw_contexts(horizon, rng), rng)
        return means, self.checked_rewards(rewards.T), np.ascontiguousarray(features[:, None, :], dtype=np.float64)


class LinearContexts(ContextualEnvironment):
    r"""Labelled arms whose means are linear in the context, or linear with a bend.

    .. math:: \text{reward of arm } k = a_k + x^\top\theta_k + c\,\sin(2\,x^\top\eta_k) + \text{noise}

    with standard normal ``x``, and in each replication :math:`\theta_k` and :math:`\eta_k` uniform on the unit sphere and
    :math:`a_k` normal with standard deviation 0.2.

    Parameters
    ----------
    dimension
        Features of a context.
    n_arms
        Number of arms.
    bend
        :math:`c`; with the default 0 a linear model is right.
    relevant
        Number of features that matter; the others have no effect. By default all.
    scale
        Standard deviation of the noise, which is normal.

    Examples
    --------
    >>> import numpy as np
    >>> from bandstrap.environments import LinearContexts
    >>> means, rewards, contexts = LinearContexts(dimension=2, n_arms=3).tape(5, np.random.default_rng(0))
    >>> means.shape, rewards.shape, contexts.shape
    ((5, 3), (3, 5), (5, 1, 2))
    """

    def __init__(
        self,
        dimension: int = 5,
        *,
        n_arms: int = 5,
        bend: float = 0.0,
        relevant: int | None = None,
        scale: float = 0.5,
    ) -> None:
        owner = type(self).__name__
        self.dimension = check_count(dimension, "dimension", owner)
        self.n_arms = check_count(n_arms, "n_arms", owner)
        self.bend = check_number(bend, "bend", owner)
        self.relevant = None if relevant is None else check_count(relevant, "relevant", owner, at_least=0)
        if self.relevant is not None and self.relevant > self.dimension:
            raise requirement("relevant", owner, f"at most the dimension, {self.dimension}", relevant)
        self.scale = self.checked_scale(scale)
        self.check_world()

    def draw_contexts(self, n: int, rng: np.random.Generator) -> AnyArray:
        """Standard normal features."""
        return rng.standard_normal((n, self.dimension))

    def draw_outcomes(self, seen: AnyArray, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
        """Coefficients, then noise."""
        used = self.dimension if self.relevant is None else self.relevant
        offsets = rng.normal(0.0, 0.2, self.n_arms)
        theta, eta = (self._directions(used, rng) for _ in range(2))
        # Not products of BLAS, whose threads compete with ours.
        line, curve = (np.einsum("td,kd->tk", seen[:, :used], one) for one in (theta, eta))
        means = offsets + line + self.bend * np.sin(2.0 * curve)
        return means, means + rng.normal(0.0, self.scale, means.shape), seen

    def _directions(self, used: int, rng: np.random.Generator) -> Floats:
        drawn: Floats = rng.standard_normal((self.n_arms, used))
        return drawn / np.maximum(np.sqrt((drawn * drawn).sum(axis=1, keepdims=True)), 1e-300)


class Wheel(ContextualEnvironment):
    r"""The wheel bandit: the best arm pays only far from the centre, where contexts are rare.

    Contexts are uniform on the unit disc. The first of five arms pays 1.2 on average, the others 1. Farther than ``delta``
    from the centre, the arm of the quadrant pays 50. Noise is normal with standard deviation 0.01.

    Parameters
    ----------
    delta
        Radius of the inner part, between 0 and 1: a share ``1 - delta^2`` of contexts lies outside.

    References
    ----------
    .. [1] Riquelme, Tucker, Snoek. Deep Bayesian bandits showdown. ICLR 2018, section 5.4.

    Examples
    --------
    >>> import numpy as np
    >>> from bandstrap.environments import Wheel
    >>> means, _, contexts = Wheel(0.5).tape(1000, np.random.default_rng(0))
    >>> outside = (contexts[:, 0] ** 2).sum(axis=1) > 0.25
    >>> bool((means.max(axis=1)[outside] == 50).all())
    True
    """

    n_arms = 5
    dimension = 2
    inner: ClassVar[tuple[float, ...]] = (1.2, 1.0, 1.0, 1.0, 1.0)
    prize: ClassVar[float] = 50.0
    noise: ClassVar[float] = 0.01

    def __init__(self, delta: float = 0.5) -> None:
        self.delta = check_number(delta, "delta", "Wheel", above=0)
        if self.delta >= 1:
            raise requirement("delta", "Wheel", "below 1", delta)

    def draw_contexts(self, n: int, rng: np.random.Generator) -> AnyArray:
        """Uniform on the unit disc."""
        radius, angle = np.sqrt(rng.random(n)), 2.0 * math.pi * rng.random(n)
        return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])

    def draw_outcomes(self, seen: AnyArray, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
        """The prize for the arm of the quadrant outside."""
        means = np.tile(np.array(self.inner), (len(seen), 1))
        outside = np.flatnonzero((seen * seen).sum(axis=1) > self.delta * self.delta)
        quadrant = 1 + 2 * (seen[outside, 0] < 0) + (seen[outside, 1] < 0)
        means[outside, quadrant] = self.prize
        return means, means + rng.normal(0.0, self.noise, means.shape), seen


del CONTEXTUAL_ENVIRONMENTS[ContextualEnvironment.name]

"""Linear bandits: the mean of an action is the inner product of its features with an unknown vector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike

from bandstrap.basics.arrays import AnyArray, Floats
from bandstrap.basics.calls import fingerprint, parse_call
from bandstrap.basics.distributions import KnownLaw, Law, is_law, law_content, law_name
from bandstrap.engine.work.memory import WORD, check_memory
from bandstrap.environments.environment import ENVIRONMENTS, Environment, NumberSequence
from bandstrap.environments.noisy import Noisy
from bandstrap.errors import check_choice, check_count, check_flag, requirement


class LinearBandit(Environment):
    r"""The mean of an action is linear in its features; by default the paper's problem of section 4.2.

    .. math:: \text{reward} = x^\top \theta + \text{noise}

    Parameters
    ----------
    dimension
        Number of features, ``d``.
    n_actions
        Actions to choose among.
    contextual
        Draw a new set of actions each round; by default one set per replication.
    theta
        The unknown vector, fixed. By default it is drawn in each replication, normal with mean 0 and standard deviation
        ``theta_scale`` in each coordinate. The default scale is the paper's, variance 10.
    theta_scale
        See ``theta``.
    actions
        Features of the actions, one per row, fixed. By default the entries are uniform between ``-feature_range`` and
        ``feature_range``, drawn in each replication (or round).
    feature_range
        See ``actions``; the default is the paper's ``1/sqrt(10)``.
    noise
        Distribution of the noise: the name of an environment with symmetric noise, with its options (``"gaussian"``,
        ``"student_t:df=5"``, ...), or a frozen ``scipy.stats`` distribution with mean 0.
    scale
        Factor of the noise.

    Notes
    -----
    With one set of actions, policies of arms can also play.

    Examples
    --------
    >>> import numpy as np
    >>> from bandstrap.environments import LinearBandit
    >>> means, rewards, actions = LinearBandit(dimension=2, n_actions=3).tape(5, np.random.default_rng(0))
    >>> means.shape, rewards.shape, actions.shape
    ((3,), (3, 5), (1, 3, 2))
    """

    implied: ClassVar[Mapping[str, float]] = {
        "dimension": 10,
        "n_actions": 100,
        "theta_scale": 10**0.5,
        "feature_range": 0.1**0.5,
    }

    def __init__(
        self,
        dimension: int | None = None,
        *,
        n_actions: int | None = None,
        contextual: bool = False,
        theta: NumberSequence | None = None,
        theta_scale: float | None = None,
        actions: ArrayLike | None = None,
        feature_range: float | None = None,
        noise: str | Law = "gaussian",
        scale: float = 1.0,
    ) -> None:
        owner = type(self).__name__
        self.contextual = check_flag(contextual, "contextual", owner)
        self.theta = None if theta is None else tuple(self._finite(theta, "theta", 1).tolist())
        self.actions = None if actions is None else as_rows(self._finite(actions, "actions", 2))
        rows = self.actions or ()
        self.dimension = self._agreed(dimension, "dimension", len(self.theta or ()), len(rows[0]) if rows else 0)
        self.n_actions = self._agreed(n_actions, "n_actions", len(rows))
        size = self.n_actions * self.dimension
        larger = "dimension" if self.dimension > self.n_actions else "n_actions"
        check_memory(WORD * size, larger, owner, max(self.dimension, self.n_actions))
        if self.actions is not None and self.contextual:
            raise requirement("contextual", owner, "false when 'actions' are given", "true")
        self.theta_scale = self._unless(theta, "theta", theta_scale, "theta_scale")
        self.feature_range = self._unless(actions, "actions", feature_range, "feature_range")
        self.scale = self.checked_scale(scale)
        self._noise = self._law(noise)
        self.noise = (
            noise
            if isinstance(noise, str)
            else f"{law_name(noise)}@{fingerprint(law_content(cast('KnownLaw', noise)))}"
        )
        self.n_arms = self.n_actions

    def _finite(self, values: object, parameter: str, ndim: int) -> Floats:
        shape = "a non-empty sequence" if ndim == 1 else "a non-empty matrix, one action per row,"
        return self.checked_numbers(values, parameter, f"{shape} of finite numbers", ndim)

    def _unless(self, values: object, given: str, scale: object, parameter: str) -> float:
        """The scale of what is drawn; what was given has none."""
        if scale is None:
            return float(self.implied[parameter])
        if values is not None:
            raise requirement(parameter, type(self).__name__, f"left out when {given!r} is given", repr(scale))
        return self.checked_scale(scale, parameter)

    def _agreed(self, value: object, parameter: str, *others: int) -> int:
        """A size as given, as implied by what else was given, or by default; they must agree."""
        owner = type(self).__name__
        sizes = {size for size in others if size}
        if value is not None:
            sizes.add(check_count(value, parameter, owner))
        if len(sizes) > 1:
            raise requirement(parameter, owner, "the same as that of 'theta' and 'actions'", sorted(sizes))
        return sizes.pop() if sizes else int(self.implied[parameter])

    def _law(self, noise: str | Law) -> Noisy | Law:
        """Source of the noise: an environment of symmetric noise or a SciPy distribution."""
        owner = type(self).__name__
        if is_law(noise):
            mean = float(noise.mean())
            if not abs(mean) <= 1e-9 * max(1.0, abs(float(noise.std()))):
                raise requirement("noise", owner, "a distribution with mean 0", f"mean {mean:g}")
            return noise
        known = {name: cls for name, cls in ENVIRONMENTS.items() if issubclass(cls, Noisy)}
        if not isinstance(noise, str):
            check_choice(noise, "noise", owner, known)
        call = parse_call(str(noise))
        check_choice(call.name, "noise", owner, known)
        of_arms = [option for option in call.options if option in Environment.parameters()]
        if of_arms:
            raise requirement("noise", owner, f"a distribution without {of_arms[0]!r}, which is of arms", repr(noise))
        return known[call.name](**call.options)

    def draw_noise(self, shape: tuple[int, int], rng: np.random.Generator) -> Floats:
        """Noise of the distribution and scale."""
        if isinstance(self._noise, Noisy):
            return self.scale * self._noise.scale * self._noise.draw_noise(shape, rng)
        return self.scale * np.asarray(self._noise.rvs(size=shape, random_state=rng), dtype=np.float64)

    def tape(self, horizon: int, rng: np.random.Generator) -> tuple[Floats, ...]:
        """Means, rewards and sets of actions.

        With one set of actions ``means`` has shape ``(n_actions,)`` and ``rewards[a, i]`` is the reward of the action's
        pull number ``i``. With a fresh set each round ``means`` has shape ``(horizon, n_actions)`` and ``rewards[a, t]``
        is the reward of action ``a`` in round ``t``.
        """
        world = self.draw_world(rng)
        if self.contextual:
            return self.draw_rounds(world, horizon, rng)
        means, action_sets = world
        rewards = self.checked_rewards(means[:, None] + self.draw_noise((self.n_actions, horizon), rng))
        return means, rewards, action_sets

    def _draw_sets(self, theta: Floats, n_sets: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Means of the actions, one row per set, and the sets."""
        if self.actions is None:
            shape = (n_sets, self.n_actions, self.dimension)
            action_sets = rng.uniform(-self.feature_range, self.feature_range, shape)
        else:
            action_sets = np.array(self.actions)[None]
        # Not a product of BLAS, whose threads compete with ours.
        return np.einsum("tad,d->ta", action_sets, theta), action_sets

    @property
    def drawn_by(self) -> str:
        """Way in which rewards are drawn: by arm if the set of actions is fixed, else by round."""
        if not self.has_tape_of(LinearBandit):
            return "tape"
        return "round" if self.contextual else "arm"

    def draw_world(self, rng: np.random.Generator) -> tuple[Floats, ...]:
        """The actions' means and features; only the unknown vector if the set changes."""
        theta = rng.normal(0, self.theta_scale, self.dimension) if self.theta is None else np.array(self.theta)
        if self.contextual:
            return (theta,)
        means, action_sets = self._draw_sets(theta, 1, rng)
        return means[0], action_sets

    def draw_rounds(self, world: tuple[Floats, ...], n: int, rng: np.random.Generator) -> tuple[Floats, ...]:
        """Means, rewards and sets of actions of ``n`` rounds, if sets change."""
        means, action_sets = self._draw_sets(world[0], n, rng)
        rewards = self.checked_rewards(means.T + self.draw_noise((self.n_actions, n), rng))
        return means, rewards, action_sets

    def draw_arm(self, world: tuple[AnyArray, ...], arm: int, n: int, rng: np.random.Generator) -> Floats:
        """``n`` rewards of one action."""
        return self.checked_rewards(world[0][arm] + self.draw_noise((1, n), rng))[0]

    @property
    def offers(self) -> tuple[str, ...]:
        """Actions; also arms if the set of actions is fixed."""
        return ("actions",) if self.contextual else ("actions", "arms")


def as_rows(matrix: Floats) -> tuple[tuple[float, ...], ...]:
    """A matrix as a tuple of tuples, which a label can show."""
    return tuple(tuple(row) for row in matrix.tolist())

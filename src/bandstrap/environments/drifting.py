"""Environments that change: a common trend, jump or wave of all arms, or arms that swap."""

from __future__ import annotations

from typing import ClassVar, Literal, get_args

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.basics.calls import Call
from bandstrap.environments.environment import Environment
from bandstrap.environments.noisy import Gaussian
from bandstrap.errors import brief, check_choice, check_number, requirement

Drift = Literal["trend", "jump", "wave", "swap"]


class Drifting(Environment):
    r"""Another environment whose means change over time; regret is counted against the best arm of each round.

    In round t of T, at :math:`x = (t - \frac12)/T`, the mean of an arm is

    .. math:: \mu \bigl(1 + (\text{factor} - 1)\, u(x)\bigr) + \text{shift} \cdot u(x)

    - ``"trend"``: :math:`u(x) = x`. All means rise or fall steadily.
    - ``"jump"``: :math:`u(x) = 1` from ``at`` on, 0 before.
    - ``"wave"``: :math:`u(x) = (1 - \cos(2 \pi \, \text{waves} \, x))/2`, between 0 and 1.
    - ``"swap"``: :math:`u(x) = 0`. From ``at`` on the order of arms is reversed: the best swaps distributions with the
      worst, the second best with the second worst, etc.

    Parameters
    ----------
    environment
        The environment of arms that changes, by default ``Gaussian()``. On the command line it is a call in quotes.
    drift
        Kind of change, see above. The default needs no other parameter.
    factor
        Factor of the means, more than 0: at the end of a trend, after a jump, at the crests of a wave.
    shift
        Number added to the means at the same rounds.
    at
        Share of the rounds before the jump or the swap.
    waves
        Number of waves.

    Notes
    -----
    The rewards of a round are drawn from the distribution with the mean of that round. So a Bernoulli arm changes its
    probability, and an exponential arm also its spread. In :class:`bandstrap.environments.Arms` and
    :class:`bandstrap.environments.Empirical`, means do not determine the distribution, so the rewards themselves are
    multiplied and shifted. ``draw_rewards`` of your own environment must use the means passed to it.

    A late reward belongs to the round of its decision.

    Examples
    --------
    Purchase rates that rise fourfold, the better arm 15 % above the other:

    >>> import numpy as np
    >>> from bandstrap.environments import Bernoulli, Drifting
    >>> rises = Drifting(Bernoulli([0.1, 0.115]), drift="trend", factor=4)
    >>> means, rewards = rises.tape(4, np.random.default_rng(0))
    >>> means.round(4).tolist()
    [[0.1375, 0.1581], [0.2125, 0.2444], [0.2875, 0.3306], [0.3625, 0.4169]]
    >>> rises.label
    "drifting:environment='bernoulli:means=(0.1,0.115),n_arms=2',drift=trend,factor=4"
    """

    first_option: ClassVar[str | None] = "environment"

    def __init__(
        self,
        environment: Environment | None = None,
        *,
        drift: Drift = "swap",
        factor: float = 1.0,
        shift: float = 0.0,
        at: float = 0.5,
        waves: float = 2.0,
    ) -> None:
        if environment is not None and not (
            isinstance(environment, Environment) and environment.has_tape_of(Environment)
        ):
            rule = "an environment of arms whose rewards 'draw_rewards' draws"
            raise requirement("environment", "Drifting", rule, brief(environment))
        self.environment = Gaussian() if environment is None else environment
        self.drift = check_choice(drift, "drift", "Drifting", get_args(Drift))
        self.factor = self.checked_scale(factor, "factor")
        self.shift = check_number(shift, "shift", "Drifting")
        self.at = check_number(at, "at", "Drifting", above=0, below=1)
        self.waves = check_number(waves, "waves", "Drifting", above=0)
        if (drift == "swap") != (self.factor == 1 and self.shift == 0):
            rule = (
                "1, as 'shift' must be 0, for arms that swap"
                if drift == "swap"
                else "other than 1, or 'shift' other than 0"
            )
            raise requirement("factor", "Drifting", rule, self.factor)
        super().__init__(n_arms=self.environment.n_arms)
        self._moved_support = self.environment.moved_support(self.factor, self.shift)

    def progress(self, horizon: int) -> Floats:
        """Progress ``u`` of the means in each round, from 0 to 1."""
        x = (np.arange(horizon) + 0.5) / horizon
        if self.drift == "trend":
            return x
        if self.drift == "wave":
            wave: Floats = (1 - np.cos(2 * np.pi * self.waves * x)) / 2
            return wave
        return (x >= self.at).astype(np.float64)

    def tape(self, horizon: int, rng: np.random.Generator) -> tuple[Floats, ...]:
        """Means of each round, and ``tape[arm, t]``, the reward of an arm in round ``t``."""
        means, traits = self.environment.draw_world(rng)
        u = self.progress(horizon)
        if self.drift == "swap":
            rewards = self.environment.draw_rewards(means, traits, horizon, rng)
            by_round = np.repeat(means[:, None], horizon, axis=1)
            ranked = np.argsort(means, kind="stable")
            since = u == 1
            for part in (rewards, by_round):
                swapped = part[np.ix_(ranked[::-1], since)]
                part[np.ix_(ranked, since)] = swapped
        else:
            level, shift = 1 + (self.factor - 1) * u, self.shift * u
            by_round = means[:, None] * level + shift
            rewards = self.environment.draw_moved(means, traits, level, shift, rng)
        return np.ascontiguousarray(by_round.T), self.checked_rewards(rewards)

    @property
    def support(self) -> tuple[float, float]:
        """The interval that rewards lie in, before and after."""
        both = (self.environment.support, self._moved_support)
        return min(low for low, _ in both), max(high for _, high in both)

    @property
    def label(self) -> str:
        """Settings as text, with the changing environment as a call in quotes."""
        values = {name: getattr(self, name) for name in self.parameters()} | {"environment": self.environment.label}
        defaults = self.parameters() | {"environment": Gaussian.name}
        return str(Call(self.name, {name: value for name, value in values.items() if value != defaults[name]}))

"""Every arm pays a prize of its own or nothing."""

from __future__ import annotations

from typing import ClassVar, Unpack

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.basics.calls import Options
from bandstrap.environments.environment import ArmOptions, Environment, NumberSequence, Uniform
from bandstrap.errors import brief, requirement


class OwnPrizes(Environment):
    """An arm pays its own prize with probability ``mean / prize``, else nothing, such as prices and their sales.

    Every arm has its own scale of rewards, and larger prizes are rarer. Means are uniform in (0.5, 1.5) unless given.

    Parameters
    ----------
    means, n_arms, mean_range
        See :class:`bandstrap.environments.Environment`.
    prizes
        The prize of each arm, at least the arm's mean. By default the prizes from ``prize_range`` are assigned at random in
        each replication, independently of the means.
    prize_range
        Smallest and largest prize, by default 2 and 20. The other prizes lie between them, in geometric progression.

    Examples
    --------
    Three prices, at which one visitor in 10, 30 and 200 buys:

    >>> from bandstrap.environments import OwnPrizes
    >>> OwnPrizes([0.9, 1.0, 0.5], prizes=[9, 30, 100]).support
    (0.0, 100.0)
    >>> OwnPrizes(n_arms=3, prize_range=(2, 8)).sorted_prizes.tolist()
    [2.0, 4.0, 8.0]
    """

    default_range: ClassVar[Uniform] = (0.5, 1.5)
    default_prizes: ClassVar[Uniform] = (2.0, 20.0)

    def __init__(
        self,
        means: NumberSequence | None = None,
        *,
        prizes: NumberSequence | None = None,
        prize_range: Uniform | None = None,
        **options: Unpack[ArmOptions],
    ) -> None:
        self.prizes = None if prizes is None else self._checked_prizes(prizes)
        self.prize_range = None if prize_range is None else self.checked_pair(prize_range, "prize_range", above=0)
        if self.prizes is not None:
            if self.prize_range is not None:
                raise requirement("prize_range", "OwnPrizes", "left out when 'prizes' are given", brief(prize_range))
            if means is None and options.get("n_arms") is None:
                options["n_arms"] = len(self.prizes)
        super().__init__(means, **options)

    def _checked_prizes(self, prizes: object) -> tuple[float, ...]:
        rule = "a non-empty sequence of finite numbers greater than 0"
        array = self.checked_numbers(prizes, "prizes", rule, 1)
        if (array <= 0).any():
            raise requirement("prizes", "OwnPrizes", rule, brief(prizes))
        return tuple(array.tolist())

    def check_means(self, means: Floats) -> None:
        """Means of prizes, which are won with a probability between 0 and 1."""
        if self.prizes is not None and len(self.prizes) != self.n_arms:
            rule = f"as many as there are arms, {self.n_arms}"
            raise requirement("prizes", "OwnPrizes", rule, f"{len(self.prizes)} of them")
        # Where either is dealt out at random, every mean may meet every prize.
        meets_its_own = self.prizes is not None and self.means is not None
        most = np.array(self.prizes) if meets_its_own else self.sorted_prizes[0]
        if ((means < 0) | (means > most)).any():
            raise self.refused_means("between 0 and the arm's prize", means)

    @property
    def sorted_prizes(self) -> Floats:
        """The prizes, ascending."""
        if self.prizes is not None:
            return np.sort(self.prizes)
        return np.geomspace(*(self.prize_range or self.default_prizes), self.n_arms)

    def draw_traits(self, rng: np.random.Generator) -> Floats:
        """The arms' prizes."""
        return rng.permutation(self.sorted_prizes) if self.prizes is None else np.array(self.prizes)

    def draw_rewards(self, means: Floats, traits: Floats, n: int, rng: np.random.Generator) -> Floats:
        """The prize with probability ``mean / prize``."""
        wins = rng.random((means.size, n)) < (means / traits)[:, None]
        return np.where(wins, traits[:, None], 0.0)

    @property
    def support(self) -> tuple[float, float]:
        """Range of rewards: from 0 to the largest prize."""
        return 0.0, float(self.sorted_prizes[-1])

    @classmethod
    def call_parameters(cls) -> Options:
        """Names and defaults of the options of a call as text, with the range that prizes come from by default."""
        return {**super().call_parameters(), "prize_range": cls.default_prizes}

"""The rewards of a replication: a whole reward table, or, where that would be too long, the next ones of each arm.

An arm's rewards are read in order, each once in a game. So an environment too large for a reward table needs only
those that come next: a row for each arm, filled anew when play has used it up. The same numbers come back for every
policy, in whatever order the arms are pulled, because a row is drawn from a generator of its own
(:class:`~bandstrap.engine.simulator.streams.RewardStreams`). Where actions change from round to round, the rounds
that come next are drawn likewise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.engine.simulator.own_file import told_errors
from bandstrap.engine.simulator.streams import ENVIRONMENT, RewardStreams, stream
from bandstrap.engine.work.memory import bytes_of_tape
from bandstrap.errors import InvalidInput, requirement

# Numbers on the longest reward table, 512 MiB of them. This is a rule of the environment alone: what is drawn must
# depend neither on the machine nor on who plays.
LONGEST_TAPE = 2**26
# Numbers at hand of an environment without a reward table, of all arms together. Play stops once in as many numbers as
# a row has, for about as long as it takes to draw them.
AT_HAND = 2**20
SHORTEST_ROW = 16  # more than 1: one set of actions alone is one that never changes


class Bookmark(NamedTuple):
    """Position of a game, from which it can go on.

    ``n_played[0]`` rounds have been played, and ``used[arm]`` rewards of the arm's row on the reward table. Where
    rewards are late, ``known[arm]`` of the arm have been learned, and ``earned[t]`` is the reward of round ``t``,
    learned or not. Where actions change, ``taken[t]`` holds the features of the one that earned it. ``at`` is where
    the kernel is, see ``refusals.py``.
    """

    n_played: NDArray[np.int64]
    used: NDArray[np.int64]
    known: NDArray[np.int64]
    earned: Floats
    taken: Floats
    at: NDArray[np.int64]


def opened(n_arms: int, n_late: int, n_features: int) -> Bookmark:
    """The bookmark of a game that has not begun, with room for ``n_late`` rewards that are learned late."""
    used, known = np.zeros(n_arms, dtype=np.int64), np.zeros(n_arms, dtype=np.int64)
    none, at = np.zeros(1, dtype=np.int64), np.zeros(2, dtype=np.int64)
    return Bookmark(none, used, known, np.empty(n_late), np.empty((n_late, n_features)), at)


class Tape:
    """A whole reward table: means, ``rewards[arm, i]``, and sets of actions where there are any.

    Changing means have an entry per round, shape ``(horizon, n_arms)``; then ``rewards[arm, t]`` belongs to round ``t``.
    """

    means: Floats
    rewards: Floats
    action_sets: tuple[Floats, ...]

    def __init__(self, means: Floats, rewards: Floats, *action_sets: Floats) -> None:
        self.put(means, rewards, *action_sets)

    def put(self, means: Floats, rewards: Floats, *action_sets: Floats) -> None:
        """Use these rewards."""
        self.means, self.rewards, self.action_sets = means, rewards, action_sets
        self._gaps = means.max(axis=-1, keepdims=True) - means

    @property
    def by_round(self) -> bool:
        """True if means change and rewards belong to rounds."""
        return self.means.ndim == 2

    def rewind(self) -> None:
        """Go back to the first rewards, for another policy."""

    def turn(self, bookmark: Bookmark, choices: NDArray[np.int64]) -> None:
        """Draw the next rewards if the current ones are used up."""

    def lost(self, choices: NDArray[np.int64]) -> Floats:
        """Mean loss of the choice of each round, compared with the best."""
        return self._gaps[np.arange(choices.size), choices] if self.by_round else self._gaps[choices]


class EnvironmentLike(Protocol):
    """Interface that the simulator needs of an environment."""

    n_arms: int

    @property
    def offers(self) -> tuple[str, ...]:
        """Kinds of policies that can play: ``"arms"``, ``"actions"``, or both."""

    @property
    def support(self) -> tuple[float, float]:
        """The interval all rewards lie in."""

    @property
    def label(self) -> str:
        """Name shown in results."""

    def tape(self, horizon: int, rng: np.random.Generator) -> tuple[Floats, ...]:
        """Means and rewards of one replication, and the sets of actions where there are any."""


class EndlessWorld(EnvironmentLike, Protocol):
    """An environment whose arms, or rounds, can be drawn one by one."""

    @property
    def drawn_by(self) -> str:
        """``"arm"``, ``"round"``, or ``"tape"`` where they cannot be after all."""

    @property
    def dimension(self) -> int:
        """Features of an action, where rounds are drawn."""

    def draw_world(self, rng: np.random.Generator) -> tuple[Floats, ...]:
        """Properties fixed for a replication: means, and traits or sets of actions."""

    def draw_arm(self, world: tuple[Floats, ...], arm: int, n: int, rng: np.random.Generator) -> Floats:
        """The next rewards of an arm."""

    def draw_rounds(self, world: tuple[Floats, ...], n: int, rng: np.random.Generator) -> tuple[Floats, ...]:
        """Means, rewards and sets of actions of the next rounds."""


def endless(environment: EnvironmentLike, horizon: int) -> EndlessWorld | None:
    """An environment as one without a reward table: that would be too long, and arms or rounds can be drawn one by one."""
    # Asked of the class: what stands in for an environment, and passes on what it does not know, may have a reward
    # table of its own.
    if not hasattr(type(environment), "drawn_by"):
        return None
    world = cast("EndlessWorld", environment)
    is_short = world.drawn_by == "tape" or numbers_per_round(world) * horizon <= LONGEST_TAPE
    return None if is_short else world


class EndlessTape(Tape):
    """The next rewards of every arm, of an environment whose arms can be drawn from one by one."""

    def __init__(self, environment: EndlessWorld, seed: int, replication: int) -> None:
        self._environment, self._streams = environment, RewardStreams(seed, replication)
        self._world = environment.draw_world(stream(seed, replication, ENVIRONMENT))
        n_arms = environment.n_arms
        self._row = np.full(n_arms, -1)  # the number of the row that is at hand
        sets = self._world[1:] if "actions" in environment.offers else ()
        super().__init__(self._world[0], np.empty((n_arms, row_length(environment))), *sets)

    def rewind(self) -> None:
        """Fill the rows that are not the first ones."""
        for arm in np.flatnonzero(self._row != 0).tolist():
            self._fill(arm, 0)

    def turn(self, bookmark: Bookmark, choices: NDArray[np.int64]) -> None:
        """Fill the rows that are used up."""
        for arm in np.flatnonzero(bookmark.used == self.rewards.shape[1]).tolist():
            self._fill(arm, int(self._row[arm]) + 1)
            bookmark.used[arm] = 0

    def _fill(self, arm: int, row: int) -> None:
        rng = self._streams.row(arm, row)
        with told_errors(trouble_of(self._environment)):
            self.rewards[arm] = self._environment.draw_arm(self._world, arm, self.rewards.shape[1], rng)
        self._row[arm] = row


class EndlessRounds(Tape):
    """The next rounds, of an environment that can be drawn round by round."""

    def __init__(self, environment: EndlessWorld, horizon: int, seed: int, replication: int) -> None:
        self._environment, self._streams = environment, RewardStreams(seed, replication)
        self._world = environment.draw_world(stream(seed, replication, ENVIRONMENT))
        self._lost = np.empty(horizon)
        self._fill(0)

    def rewind(self) -> None:
        """Draw the first rounds."""
        if self._row != 0:
            self._fill(0)

    def turn(self, bookmark: Bookmark, choices: NDArray[np.int64]) -> None:
        """Draw the next rounds, once it is known what those that were played lost."""
        n_rounds, last = self.rewards.shape[1], int(bookmark.n_played[0])
        first = self._row * n_rounds
        self._lost[first:last] = super().lost(choices[first:last])
        if last < choices.size:
            self._fill(self._row + 1)

    def lost(self, choices: NDArray[np.int64]) -> Floats:
        """Mean loss of each round that was played."""
        return self._lost

    def _fill(self, row: int) -> None:
        rng = self._streams.row(0, row)
        self.put(*self._environment.draw_rounds(self._world, row_length(self._environment), rng))
        self._row = row


def numbers_per_round(environment: EndlessWorld) -> int:
    """Numbers in a reward table for each round: rewards, and where actions change their means and features."""
    n_arms = environment.n_arms
    return n_arms * (environment.dimension + 2) if environment.drawn_by == "round" else n_arms


def row_length(environment: EndlessWorld) -> int:
    """Rewards of an arm, or rounds, at hand where there is no reward table."""
    return max(AT_HAND // numbers_per_round(environment), SHORTEST_ROW)


def numbers_at_hand(environment: EnvironmentLike, horizon: int) -> int | None:
    """Numbers at hand in an environment without a reward table; ``None`` of others."""
    world = endless(environment, horizon)
    return None if world is None else numbers_per_round(world) * row_length(world)


def bytes_of_replication(environment: EnvironmentLike, horizon: int, *, is_late: bool) -> int:
    """Bytes that one replication holds at a time, in a reward table or without."""
    features = getattr(environment, "dimension", 0) if getattr(environment, "contextual", False) else 0
    n_at_hand = numbers_at_hand(environment, horizon)
    return bytes_of_tape(environment.n_arms, horizon, features, is_late=is_late, n_at_hand=n_at_hand)


def open_tape(environment: EnvironmentLike, horizon: int, seed: int, replication: int) -> Tape:
    """The rewards of one replication."""
    world = endless(environment, horizon)
    if world is None:
        return Tape(*draw_tape(environment, horizon, stream(seed, replication, ENVIRONMENT)))
    if world.drawn_by == "round":
        return EndlessRounds(world, horizon, seed, replication)
    return EndlessTape(world, seed, replication)


def trouble_of(environment: EnvironmentLike) -> Callable[[], str]:
    """First words of a sentence about an error of an environment, perhaps of a user's own."""
    return lambda: f"the environment {environment.label} cannot be played"


def draw_tape(environment: EnvironmentLike, horizon: int, rng: np.random.Generator) -> tuple[Floats, ...]:
    """Means and rewards of one replication, and sets of actions where there are any; refused unless they fit.

    Changing means have an entry per round, shape ``(horizon, n_arms)``; then ``rewards[arm, t]`` belongs to round ``t``.
    """

    def refusal(name: str, rule: str, received: str) -> InvalidInput:
        # A label takes as long as a hundred rounds, so it is made only where it is told.
        return requirement(name, f"the environment {environment.label}", rule, received)

    with told_errors(trouble_of(environment)):
        parts = environment.tape(horizon, rng)
    try:
        means, rewards, *others = (np.ascontiguousarray(part, dtype=np.float64) for part in parts)
    except (TypeError, ValueError):
        raise refusal("tape", "a pair of means and rewards, made of numbers", repr(type(parts))) from None
    n_arms = environment.n_arms
    if means.shape not in ((n_arms,), (horizon, n_arms)):
        rule = (
            f"one per arm, shape ({n_arms},), or one per round and arm, shape ({horizon}, {n_arms}), where they change"
        )
        raise refusal("means", rule, f"shape {means.shape}")
    if rewards.shape != (n_arms, horizon):
        rule = f"one row per arm, shape ({n_arms}, {horizon})"
        raise refusal("rewards", rule, f"shape {rewards.shape}")
    if "actions" in environment.offers:
        when, n_sets = ("per round", horizon) if means.ndim == 2 else ("for all rounds", 1)
        shape = others[0].shape if others else None
        if shape is None or len(shape) != 3 or shape[:2] != (n_sets, n_arms):  # which compiled play would not notice
            rule = f"one set of actions {when}, shape ({n_sets}, {n_arms}, features)"
            raise refusal("actions", rule, "none" if shape is None else f"shape {shape}")
    elif "contexts" in environment.offers:
        shape = others[0].shape if others else None
        if shape is None or len(shape) != 3 or shape[:2] != (horizon, 1) or means.ndim != 2:
            rule = f"one per round, shape ({horizon}, 1, features), with means for each round"
            raise refusal("contexts", rule, "none" if shape is None else f"shape {shape}")
    for name, part in (("means", means), ("rewards", rewards)):
        if not np.isfinite(part).all():
            where = tuple(int(i) for i in np.argwhere(~np.isfinite(part))[0])
            raise refusal(name, "finite", f"{part[where]} at {where}")
    return means, rewards, *others

"""Blocks of replications: what to play, playing it, and the outcome."""

from __future__ import annotations

import time
import warnings
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import ChoiceArray, Floats
from bandstrap.engine.compiler.collecting import collecting_seldom
from bandstrap.engine.compiler.compiled import in_a_sentence
from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.engine.compiler.locks import taking_turns
from bandstrap.engine.compiler.provenance import attributes_in, computed_by
from bandstrap.engine.compiler.refusals import KERNEL_ERRORS, refusal
from bandstrap.engine.simulator.feedback import AT_ONCE, Arrivals, Feedback
from bandstrap.engine.simulator.plain import PlainObject, play_plain
from bandstrap.engine.simulator.play import Game, compiled_play
from bandstrap.engine.simulator.streams import POLICY, stream
from bandstrap.engine.simulator.tape import EnvironmentLike as EnvironmentLike
from bandstrap.engine.simulator.tape import Tape, bytes_of_replication, open_tape
from bandstrap.engine.work.interrupts import step
from bandstrap.engine.work.memory import Room
from bandstrap.errors import SlowWarning, brief, requirement


class PolicyLike(Protocol):
    """Interface that the simulator needs of a policy."""

    @property
    def kernel(self) -> Kernel | None:
        """Its compiled functions; a plain object has none."""

    @property
    def plays(self) -> str:
        """``"arms"``, ``"contexts"`` or ``"actions"``."""

    @property
    def n_initial(self) -> int:
        """Pulls of each arm before it chooses."""

    @property
    def support(self) -> tuple[float, float]:
        """The interval rewards must lie in."""

    @property
    def label(self) -> str:
        """Name shown in results."""

    def make_params(self, horizon: int | None) -> object:
        """Parameters that the compiled functions take."""

    def start(self, size: int, capacity: int, rng: np.random.Generator, /) -> object:
        """A new state for ``size`` arms, or for actions with ``size`` features."""


# Replications in a block: handing one out costs nothing compared with playing it, and a stopped run loses few.
BLOCK_SIZE = 25
N_CHECKPOINTS = 200
# What games that threads play at the same time hold.
GAMES = Room()


@dataclass(frozen=True, eq=False)
class Block:
    """Replications ``first`` to ``last - 1`` of a policy on an environment, and the rounds at which regret is recorded."""

    policy: PolicyLike
    environment: EnvironmentLike
    horizon: int
    seed: int
    first: int
    last: int
    checkpoints: NDArray[np.int64]
    feedback: Feedback = AT_ONCE
    # Replications of a task; no number depends on it.
    size: int = BLOCK_SIZE
    # Whether every choice is kept. Nothing else depends on it, so it is not among what the block is about.
    keeps_choices: bool = False

    @property
    def work(self) -> int:
        """Amount of work: replications."""
        return self.last - self.first

    @property
    def group(self) -> tuple[Hashable, ...]:
        """Blocks of one group meet the same reward tables, which are drawn once for all of them."""
        return *self.race, self.first, self.last

    @property
    def race(self) -> tuple[Hashable, ...]:
        """Blocks of one race meet the same reward tables, delays and losses in the replications they share."""
        return self.environment.label, self.feedback.label, self.horizon, self.seed

    @property
    def needs(self) -> tuple[str, str, bool]:
        """The compiled code it is played with."""
        policy = self.policy
        code = policy.label if policy.kernel is None else policy.kernel.identity.digest
        return code, policy.plays, self.feedback.is_at_once

    @property
    def label(self) -> str:
        """Label of the policy that plays."""
        return self.policy.label

    @cached_property
    def about(self) -> dict[str, object]:
        """Everything its numbers depend on, as text and numbers."""
        return {
            "policy": self.policy.label,
            "environment": self.environment.label,
            "feedback": self.feedback.label,
            "horizon": self.horizon,
            "seed": self.seed,
            "first": self.first,
            "last": self.last,
            "checkpoints": self.checkpoints.tolist(),
            "code": code_of(self.policy, self.environment),
        }

    def cut(self, size: int | None = None) -> Iterator[Block]:
        """The block in tasks of at most ``size`` replications, each made when it is asked for."""
        most = self.size if size is None else size
        starts = range(self.first, self.last, most)
        return (replace(self, first=first, last=min(first + most, self.last)) for first in starts)

    def record(self) -> PlayedSoFar:
        """Record in which its tasks are put together."""
        shape = self.last - self.first, self.checkpoints.size, self.environment.n_arms
        return PlayedSoFar(self.first, np.empty(shape[:2]), np.empty(shape[::2], dtype=np.int64))


class Played(NamedTuple):
    """The outcome of a block: regret ``(replication, checkpoint)``, pulls ``(replication, arm)``, core-seconds.

    And, if they were to be kept, the choices ``(replication, round)``.
    """

    regret: Floats
    pulls: NDArray[np.int64]
    seconds: float
    choices: ChoiceArray | None = None


class PlayedSoFar:
    """The outcome of a block while its tasks come in: room for all of it, and which replications are there."""

    def __init__(
        self, first: int, regret: Floats, pulls: NDArray[np.int64], choices: ChoiceArray | None = None
    ) -> None:
        self.regret, self.pulls, self.choices = regret, pulls, choices
        self.is_there = np.zeros(len(regret), dtype=np.bool_)
        self._first = first
        self._nanoseconds = 0  # whole numbers, whose sum is the same in whatever order tasks come in

    def put(self, piece: Block, played: Played) -> None:
        """Add a task."""
        rows = slice(piece.first - self._first, piece.last - self._first)
        self.regret[rows], self.pulls[rows], self.is_there[rows] = played.regret, played.pulls, True
        if self.choices is not None and played.choices is not None:
            self.choices[rows] = played.choices
        self._nanoseconds += round(1e9 * played.seconds)

    @property
    def seconds(self) -> float:
        """Core-seconds of all tasks."""
        return self._nanoseconds / 1e9


def code_of(policy: PolicyLike, environment: EnvironmentLike) -> str:
    """Code that computes a game: the loop and the rewards of a replication, the policy, the environment."""
    player = getattr(policy, "made", type(policy))
    is_plain = policy.kernel is None
    loop, without = (play_side_by_side, *((play_plain,) if is_plain else ())), () if is_plain else (play_plain,)
    called = attributes_in(*loop, without=without)
    return "-".join(
        (
            computed_by("simulator", *loop, without=without),
            computed_by("simulator", player, policy.kernel, attributes=called),
            computed_by("simulator", *classes_of(environment), attributes=called),
        )
    )


def classes_of(environment: EnvironmentLike) -> list[type]:
    """The class of an environment, and of the one that it changes, if it does."""
    inner = getattr(environment, "environment", None)
    return [type(environment), *([] if inner is None else classes_of(inner))]


def type_of_choices(n_arms: int) -> np.dtype[np.unsignedinteger]:
    """The smallest type of whole numbers that the arms can be told apart with.

    >>> type_of_choices(10), type_of_choices(256), type_of_choices(257)
    (dtype('uint8'), dtype('uint8'), dtype('uint16'))
    """
    return np.min_scalar_type(n_arms - 1)


def checked_checkpoints(checkpoints: Sequence[int] | None, horizon: int) -> NDArray[np.int64]:
    """Rounds at which regret is recorded, ascending, the last round included."""
    if checkpoints is None:
        return np.unique(np.linspace(1, horizon, min(N_CHECKPOINTS, horizon)).round().astype(np.int64))
    try:
        marks = np.unique(np.asarray(checkpoints))
    except (TypeError, ValueError):  # lists of different lengths, and what has no order
        marks = np.array([])
    if marks.size == 0 or marks.dtype.kind not in "iu" or marks[0] < 1 or marks[-1] > horizon:
        raise requirement("checkpoints", "simulate", f"rounds between 1 and {horizon}", brief(checkpoints))
    return np.union1d(marks, [horizon]).astype(np.int64)


def play_blocks(blocks: Sequence[Block]) -> list[Played]:
    """Play blocks of one group, side by side on the same reward tables; a thread waits while others have taken the
    memory.
    """
    one = blocks[0]
    needed = bytes_of_replication(one.environment, one.horizon, is_late=not one.feedback.is_at_once)
    with GAMES.taken(needed, lambda: step(0)):
        return play_side_by_side(blocks)


def play_side_by_side(blocks: Sequence[Block]) -> list[Played]:
    """Play blocks of one group on the same reward tables, which are drawn once."""
    one = blocks[0]
    n_arms = one.environment.n_arms
    found = [
        Played(
            np.empty((block.work, block.checkpoints.size)),
            np.empty((block.work, n_arms), dtype=np.int64),
            0.0,
            np.empty((block.work, block.horizon), dtype=type_of_choices(n_arms)) if block.keeps_choices else None,
        )
        for block in blocks
    ]
    seconds = np.zeros(len(blocks))
    choices = np.empty(one.horizon, dtype=np.int64)
    params = [block.policy.make_params(block.horizon) for block in blocks]
    for i, replication in enumerate(range(one.first, one.last)):
        start = time.thread_time()
        tape = open_tape(one.environment, one.horizon, one.seed, replication)
        arrivals = None if one.feedback.is_at_once else one.feedback.arrivals(one.horizon, one.seed, replication)
        drawing = time.thread_time() - start
        for p, block in enumerate(blocks):
            start = time.thread_time()
            rng = stream(block.seed, replication, POLICY)
            play_policy(block.policy, params[p], tape, choices, rng, arrivals)
            found[p].regret[i] = np.cumsum(tape.lost(choices))[block.checkpoints - 1]
            found[p].pulls[i] = np.bincount(choices, minlength=n_arms)
            kept = found[p].choices
            if kept is not None:
                kept[i] = choices
            seconds[p] += time.thread_time() - start + drawing
            step()
    return [played._replace(seconds=float(spent)) for played, spent in zip(found, seconds, strict=True)]


def play_policy(
    policy: PolicyLike,
    params: object,
    tape: Tape,
    choices: NDArray[np.int64],
    rng: np.random.Generator,
    arrivals: Arrivals | None = None,
) -> None:
    """Play one replication with one policy: compiled, unless it is a plain object; by default it learns at once."""
    tape.rewind()
    kernel, n_arms = policy.kernel, len(tape.rewards)
    sets = tape.action_sets if policy.plays != "arms" else ()
    state = (
        policy.start(n_arms, choices.size, rng, sets[0].shape[-1])  # type: ignore[call-arg] # told both
        if policy.plays == "contexts"
        else policy.start(sets[0].shape[-1] if sets else n_arms, choices.size, rng)
    )
    if kernel is None:
        play_plain(
            cast("PlainObject", state), policy.label, tape, choices, arrivals or AT_ONCE.arrivals(choices.size, 0, 0)
        )
        return
    shown = sets[0] if sets else None
    game = Game.begin(params, state, tape.rewards, choices, policy.n_initial, tape.by_round, shown, arrivals)
    while game.bookmark.n_played[0] < choices.size:
        try:
            compiled_play(kernel, game, rng)
        except KERNEL_ERRORS as error:
            raise refusal(policy, error, game.bookmark.at, range(n_arms)) from error
        tape.turn(game.bookmark, choices)
        if tape.rewards is not game.tape:
            game = game._replace(tape=tape.rewards, action_sets=tape.action_sets[0] if sets else None)
        step(0)  # a game that takes minutes can be called off in its midst


def warm(block: Block) -> None:
    """Compile or load what a block's policy is played with.

    This is done before any block of the policy is handed out, and once by every other process that plays it: two workers
    must not compile the same at once, and the time of a block must not be that of a compiler.
    """
    warm_policy(block.policy, block.environment, is_late=not block.feedback.is_at_once)


def warm_policy(policy: PolicyLike, environment: EnvironmentLike, *, is_late: bool = False) -> None:
    """Play a few rounds, so that a policy that cannot be played is found at once."""
    if policy.kernel is None:
        message = f"{policy.label} is a plain object: it is played in Python, many times slower than a compiled policy."
        warnings.warn(message, SlowWarning, stacklevel=2)
    else:
        policy.kernel.forget_identity()
    horizon = environment.n_arms * max(policy.n_initial, 1) + 1
    tape = open_tape(environment, horizon, 0, 0)
    choices = np.empty(horizon, dtype=np.int64)
    params = policy.make_params(horizon)
    # Nothing is late so soon, or a policy might not come to choose.
    arrivals = AT_ONCE.arrivals(horizon, 0, 0) if is_late else None
    with in_a_sentence(policy.kernel, policy.label), taking_turns(), collecting_seldom():
        play_policy(policy, params, tape, choices, np.random.default_rng(0), arrivals)

"""Many replications: policies side by side on the same tapes, on as many cores as there are."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.kernel import Kernel
from bandstrap.engine.play import compiled_play, compiled_play_linear
from bandstrap.engine.result import Result
from bandstrap.engine.streams import ENVIRONMENT, POLICY, stream
from bandstrap.errors import Floats, check_count, requirement

# Replications in a block: enough that handing one out costs nothing beside playing it.
MOST_BLOCK = 16
N_CHECKPOINTS = 200


class PolicyLike(Protocol):
    """What the simulator needs of a policy."""

    kernel: Any
    plays: Any
    n_initial: Any
    support: Any

    @property
    def label(self) -> str:
        """Name shown in results."""
        ...

    def make_params(self, horizon: int | None) -> Any:
        """Numbers for the kernel."""
        ...

    def start(self, size: int, capacity: int, rng: np.random.Generator) -> Any:
        """A new state for ``size`` arms, or for actions with ``size`` features."""
        ...


class EnvironmentLike(Protocol):
    """What the simulator needs of an environment."""

    n_arms: int

    @property
    def offers(self) -> tuple[str, ...]:
        """Who can play: policies of ``"arms"``, of ``"actions"``, or both."""
        ...

    @property
    def support(self) -> tuple[float, float]:
        """The interval all rewards lie in."""
        ...

    @property
    def label(self) -> str:
        """Name shown in results."""
        ...

    def tape(self, horizon: int, rng: np.random.Generator) -> tuple[Floats, ...]:
        """Means and rewards of one replication, and the sets of actions where there are any."""
        ...


class Block(NamedTuple):
    """A range of replications to play, and all it takes to play them."""

    policies: tuple[Any, ...]
    environment: Any
    horizon: int
    seed: int
    first: int
    last: int
    checkpoints: NDArray[np.int64]


class Played(NamedTuple):
    """Regret at the checkpoints ``(policy, replication, checkpoint)`` and pulls ``(policy, replication, arm)``."""

    regret: Floats
    pulls: NDArray[np.int64]


def simulate(
    policies: Any,
    environment: EnvironmentLike,
    *,
    horizon: int,
    replications: int,
    seed: int,
    executor: Executor | None = None,
    progress: bool = True,
    checkpoints: Sequence[int] | None = None,
    block_size: int | None = None,
) -> Result:
    """Play policies against an environment, many times.

    Parameters
    ----------
    policies
        A policy, a sequence of policies, or a mapping from the names to show to policies.
    environment
        Where rewards come from. Its tape of a replication is the same for all policies.
    horizon
        Rounds of a replication.
    replications
        How many there are.
    seed
        Seed of everything: same seed, same result, for any executor and any block size.
    executor
        Any ``concurrent.futures.Executor``; by default threads, one a core (compiled play releases the GIL).
    progress
        Show a progress bar on standard error, where that is a terminal.
    checkpoints
        Rounds at which regret is recorded; by default 200, evenly spaced, the last round among them.
    block_size
        Replications in a task; chosen by itself if left out.

    Returns
    -------
    Result
        Interrupted by Ctrl-C, the replications that were done until then.

    Examples
    --------
    >>> from bandstrap import UCB1, GaussianTS, simulate
    >>> from bandstrap.environments import Gaussian
    >>> result = simulate([UCB1(), GaussianTS()], Gaussian([0, 1]), horizon=200, replications=20, seed=1, progress=False)
    >>> [row["policy"] for row in result.summary()]
    ['ucb1', 'gaussian_ts']
    """
    names, described = named_policies(policies)
    horizon = check_count(horizon, "horizon", "simulate")
    replications = check_count(replications, "replications", "simulate")
    seed = check_count(seed, "seed", "simulate", at_least=0)
    check_horizon(names, described, environment, horizon)
    marks = checked_checkpoints(checkpoints, horizon)
    size = check_count(block_size, "block_size", "simulate") if block_size is not None else MOST_BLOCK
    size = min(size, math.ceil(replications / (os.cpu_count() or 1)))
    blocks = [
        Block(described, environment, horizon, seed, first, min(first + size, replications), marks)
        for first in range(0, replications, size)
    ]
    warm(described, environment)
    done: dict[int, Played] = {}
    with progress_bar(replications, shown=progress) as advance:
        run_blocks(blocks, executor, done, advance)
    if not done:
        raise KeyboardInterrupt
    order = sorted(done)
    return Result(
        policies=names,
        environment=environment.label,
        horizon=horizon,
        seed=seed,
        checkpoints=marks,
        replications=np.concatenate([np.arange(blocks[i].first, blocks[i].last) for i in order]),
        regret=np.concatenate([done[i].regret for i in order], axis=1),
        pulls=np.concatenate([done[i].pulls for i in order], axis=1),
    )


def play_block(block: Block) -> Played:
    """Play a block of replications with compiled play."""
    n_arms = block.environment.n_arms
    shape = (len(block.policies), block.last - block.first)
    regret = np.empty((*shape, block.checkpoints.size))
    pulls = np.empty((*shape, n_arms), dtype=np.int64)
    choices = np.empty(block.horizon, dtype=np.int64)
    rounds = np.arange(block.horizon)
    params = [policy.make_params(block.horizon) for policy in block.policies]
    for i, replication in enumerate(range(block.first, block.last)):
        means, *tape = block.environment.tape(block.horizon, stream(block.seed, replication, ENVIRONMENT))
        gaps = means.max(axis=-1, keepdims=True) - means
        for p, policy in enumerate(block.policies):
            play_policy(policy, params[p], tape, choices, stream(block.seed, replication, POLICY))
            lost = gaps[choices] if gaps.ndim == 1 else gaps[rounds, choices]
            regret[p, i] = np.cumsum(lost)[block.checkpoints - 1]
            pulls[p, i] = np.bincount(choices, minlength=n_arms)
    return Played(regret, pulls)


def play_policy(
    policy: PolicyLike, params: Any, tape: Sequence[Floats], choices: NDArray[np.int64], rng: np.random.Generator
) -> None:
    """Play one replication with one policy, compiled."""
    rewards = tape[0]
    if policy.plays == "actions":
        action_sets = tape[1]
        state = policy.start(action_sets.shape[-1], choices.size, rng)
        compiled_play_linear(policy.kernel, params, state, action_sets, rewards, rng, choices)
    else:
        n_arms = rewards.shape[0]
        state = policy.start(n_arms, choices.size, rng)
        compiled_play(policy.kernel, params, state, rewards, rng, choices, n_arms * policy.n_initial)


def warm(policies: Sequence[PolicyLike], environment: EnvironmentLike) -> None:
    """Compile or load ``play`` for each policy before workers start, since two must not compile the same at once."""
    for policy in policies:
        horizon = environment.n_arms * policy.n_initial + 1
        _, *tape = environment.tape(horizon, np.random.default_rng(0))
        choices = np.empty(horizon, dtype=np.int64)
        play_policy(policy, policy.make_params(horizon), tape, choices, np.random.default_rng(0))


def run_blocks(
    blocks: Sequence[Block], executor: Executor | None, done: dict[int, Played], advance: Callable[[int], None]
) -> None:
    """Fill ``done`` block by block; Ctrl-C stops handing out blocks and keeps what is finished."""
    own = executor is None
    pool = executor if executor is not None else ThreadPoolExecutor(os.cpu_count() or 1)
    waiting: dict[Future[Played], int] = {}
    try:
        for i, block in enumerate(blocks):
            waiting[pool.submit(play_block, block)] = i
        while waiting:
            finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in finished:
                index = waiting.pop(future)
                done[index] = future.result()
                advance(blocks[index].last - blocks[index].first)
    except KeyboardInterrupt:
        for future, index in waiting.items():
            if not future.cancel() and future.done() and future.exception() is None:
                done[index] = future.result()
    finally:
        if own:
            pool.shutdown(wait=True, cancel_futures=True)


def named_policies(policies: Any) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """Names and policies; equal labels are numbered."""
    if isinstance(policies, Mapping):
        names, described = [str(name) for name in policies], list(policies.values())
    else:
        described = list(policies) if isinstance(policies, Sequence) else [policies]
        names = []
        for policy in described:
            label = getattr(policy, "label", repr(policy))
            same = sum(name == label or name.startswith(f"{label} #") for name in names)
            names.append(f"{label} #{same + 1}" if same else label)
    if not described:
        raise requirement("policies", "simulate", "at least one policy", "none")
    for policy in described:
        if isinstance(policy, type) or not isinstance(getattr(policy, "kernel", None), Kernel):
            raise requirement("policies", "simulate", "policies, such as UCB1()", repr(policy))
        if getattr(policy, "arms", ()) or policy.direction != "max":
            raise requirement("policies", "simulate", "policies without arms and with direction 'max'", repr(policy))
    return tuple(names), tuple(described)


def check_horizon(names: Sequence[str], policies: Sequence[Any], environment: EnvironmentLike, horizon: int) -> None:
    """Refuse a horizon too short to pull every arm, and rewards outside a policy's range."""
    if isinstance(environment, type) or not hasattr(environment, "tape"):
        raise requirement("environment", "simulate", "an environment, such as Gaussian()", repr(environment))
    low, high = environment.support
    for name, policy in zip(names, policies, strict=True):
        if policy.plays not in environment.offers:
            rule = f"one that offers {policy.plays}, which {name} plays"
            raise requirement("environment", "simulate", rule, environment.label)
        features = getattr(policy, "dimension", None)
        if features not in (None, getattr(environment, "dimension", None)):
            rule = f"one with actions of {features} features, the dimension of {name}"
            raise requirement("environment", "simulate", rule, environment.label)
        needed = environment.n_arms * policy.n_initial
        if horizon < needed:
            rule = f"at least {needed}, so that {name} can pull each of {environment.n_arms} arms"
            raise requirement("horizon", "simulate", rule, horizon)
        if low < policy.support[0] or high > policy.support[1]:
            rule = f"one with rewards inside [{policy.support[0]:g}, {policy.support[1]:g}], the range of {name}"
            raise requirement("environment", "simulate", rule, f"rewards in [{low:g}, {high:g}] ({environment.label})")
        policy.make_params(horizon)


def checked_checkpoints(checkpoints: Sequence[int] | None, horizon: int) -> NDArray[np.int64]:
    """Rounds at which regret is recorded, ascending, the last round included."""
    if checkpoints is None:
        return np.unique(np.linspace(1, horizon, min(N_CHECKPOINTS, horizon)).round().astype(np.int64))
    marks = np.unique(np.asarray(checkpoints))
    if marks.size == 0 or marks.dtype.kind not in "iu" or marks[0] < 1 or marks[-1] > horizon:
        raise requirement("checkpoints", "simulate", f"rounds between 1 and {horizon}", repr(checkpoints))
    return np.union1d(marks, [horizon]).astype(np.int64)


@contextmanager
def progress_bar(total: int, *, shown: bool) -> Iterator[Callable[[int], None]]:
    """A bar with rate and time left on standard error; silent where that is not a terminal."""
    if not shown or not sys.stderr.isatty():
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("replications"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("play", total=total, rate="")

        def advance(count: int) -> None:
            bar.advance(task, count)
            elapsed = bar.tasks[0].elapsed or 0.0
            if elapsed > 0:
                bar.update(task, rate=f"{bar.tasks[0].completed / elapsed:.0f}/s")

        yield advance

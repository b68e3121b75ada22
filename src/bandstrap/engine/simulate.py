"""Many replications: policies side by side on the same tapes, on as many cores as there are."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.blocks import (
    Block,
    EnvironmentLike,
    Played,
    PolicyLike,
    play_block,
    warm,
)
from bandstrap.engine.kernel import Kernel
from bandstrap.engine.memory import bytes_of_result, bytes_of_tape, check_memory
from bandstrap.engine.plain import PlainMaker, PlainMakerWithRandomness, PlainObject, PlainPolicy, is_plain
from bandstrap.engine.result import Result
from bandstrap.errors import check_count, requirement

# Replications in a block: enough that handing one out costs nothing beside playing it.
MOST_BLOCK = 16
N_CHECKPOINTS = 200
# Whatever can be raced.
Player = PolicyLike | PlainObject | PlainMaker | PlainMakerWithRandomness


def simulate(
    policies: Player | Sequence[Player] | Mapping[str, Player],
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
        A policy, a sequence of policies, or a mapping from the names to show to policies. An object, or a class, with
        methods ``select()`` and ``update(arm, reward)`` may be among them: it is played in Python, slowly, see
        :class:`bandstrap.engine.plain.PlainPolicy`.
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
    if executor is not None and (isinstance(executor, type) or not callable(getattr(executor, "submit", None))):
        raise requirement("executor", "simulate", "a concurrent.futures.Executor", repr(executor))
    horizon = check_count(horizon, "horizon", "simulate")
    replications = check_count(replications, "replications", "simulate")
    seed = check_count(seed, "seed", "simulate", at_least=0)
    check_horizon(names, described, environment, horizon)
    marks = checked_checkpoints(checkpoints, horizon)
    needed = bytes_of_result(len(described), replications, marks.size, environment.n_arms)
    check_memory(needed, "replications", "simulate", replications)
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
        names, described = [str(name) for name in policies], [as_policy(policy) for policy in policies.values()]
    else:
        several = isinstance(policies, Sequence) and not isinstance(policies, str)
        described = [as_policy(policy) for policy in (policies if several else [policies])]
        names = []
        for policy in described:
            same = sum(name == policy.label or name.startswith(f"{policy.label} #") for name in names)
            names.append(f"{policy.label} #{same + 1}" if same else policy.label)
    if not described:
        raise requirement("policies", "simulate", "at least one policy", "none")
    return tuple(names), tuple(described)


def as_policy(thing: Any) -> Any:
    """A policy as it is, a plain object wrapped; anything else is refused."""
    if isinstance(thing, PlainPolicy):
        return thing
    if isinstance(getattr(thing, "kernel", None), Kernel):
        if isinstance(thing, type):
            raise requirement("policies", "simulate", "policies, such as UCB1()", repr(thing))
        if getattr(thing, "arms", ()) or thing.direction != "max":
            raise requirement("policies", "simulate", "policies without arms and with direction 'max'", repr(thing))
        return thing
    if is_plain(thing):
        return PlainPolicy(thing)
    raise requirement("policies", "simulate", "policies, such as UCB1()", repr(thing))


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
    features = getattr(environment, "dimension", 0) if getattr(environment, "contextual", False) else 0
    check_memory(bytes_of_tape(environment.n_arms, horizon, features), "horizon", "simulate", horizon)


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

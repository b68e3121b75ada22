"""Many replications: policies side by side on the same reward tables, on as many cores as there are."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np

from bandstrap.engine.compiler.kernel import Kernel
from bandstrap.engine.simulator.blocks import (
    BLOCK_SIZE,
    Block,
    EnvironmentLike,
    PlayedSoFar,
    PolicyLike,
    checked_checkpoints,
    play_blocks,
    type_of_choices,
    warm,
)
from bandstrap.engine.simulator.feedback import AT_ONCE, Delay, Feedback, as_learned
from bandstrap.engine.simulator.plain import (
    ContextualPlainObject,
    PlainMaker,
    PlainMakerWithRandomness,
    PlainObject,
    PlainPolicy,
    is_plain,
)
from bandstrap.engine.simulator.result import Result
from bandstrap.engine.simulator.tape import LONGEST_TAPE, bytes_of_replication, numbers_at_hand
from bandstrap.engine.work.memory import WORD, bytes_of_result, check_memory, check_room, length
from bandstrap.engine.work.pool import finish
from bandstrap.engine.work.progress import announce_memory
from bandstrap.engine.work.workers import ExecutorName, at_work
from bandstrap.errors import AssumptionWarning, brief, check_count, check_flag, requirement

# Whatever can be raced.
Player = PolicyLike | PlainObject | ContextualPlainObject | PlainMaker | PlainMakerWithRandomness


def simulate(
    policies: Player | Sequence[Player] | Mapping[str, Player],
    environment: EnvironmentLike,
    *,
    horizon: int,
    replications: int,
    seed: int,
    executor: Executor | ExecutorName | None = None,
    progress: bool = True,
    checkpoints: Sequence[int] | None = None,
    block_size: int | None = None,
    delay: Delay = 0,
    batch: int = 1,
    lost: float = 0.0,
    choices: bool = False,
) -> Result:
    """Play policies against an environment, many times.

    Parameters
    ----------
    policies
        A policy, a sequence of policies, or a mapping from names to policies. An object, or a class, with methods
        ``select()`` and ``update(arm, reward)`` may be among them: it is played in Python, slowly, see
        :class:`bandstrap.engine.simulator.plain.PlainPolicy`.
    environment
        Source of rewards; all policies of a replication meet the same rewards. Up to ``2^26`` rewards (512 MiB) are drawn
        before play, into a reward table. In a larger environment, such as 1000 arms and a million rounds, rewards are drawn
        when needed, from their own streams. Memory then does not grow with their number; see the notes.
    horizon
        Rounds per replication.
    replications
        Number of replications.
    seed
        Seed of all random numbers: same seed, same result, for any executor and any block size; see the notes on versions.
    executor
        Any ``concurrent.futures.Executor``, or ``"thread"``, ``"process"``, ``"dask"`` or ``"mpi"``, one worker per
        core; by default threads (compiled play releases the GIL).
    progress
        Show progress on standard error: a bar on a terminal, else occasional lines if it takes long.
    checkpoints
        Rounds at which regret is recorded; default: 200 evenly spaced rounds, including the last.
    block_size
        Replications in a task; chosen automatically if omitted.
    delay
        Delay of each reward in rounds: a number, or a distribution: a frozen ``scipy.stats`` distribution or its text, such
        as ``"geom:p=0.005"``. :class:`bandstrap.engine.simulator.feedback.Feedback` defines late, batched and lost rewards
        exactly. By default rewards are learned at once.
    batch
        Rewards are learned at the ends of rounds ``batch, 2 batch, ...`` only.
    lost
        Share of rewards that are never learned.
    choices
        Also keep the arm of every round of every replication, in ``Result.choices``: one byte each with up to 256 arms, two
        with up to 65,536. By default only regret at the checkpoints and the pulls of each arm are kept.

    Returns
    -------
    Result

    Raises
    ------
    Interrupted
        A ``KeyboardInterrupt`` whose ``result`` has the replications finished before Ctrl-C, if any. Threads stop between
        two replications; other executors finish their tasks, unless Ctrl-C is pressed again. A simulation called from
        another thread than the main one is not interrupted: Python handles signals only in the main thread.

    Notes
    -----
    Just above that size, the means are the same as just below, but the rewards are other draws from the same distributions.
    In a reward table rewards also change with the horizon. Without a table they do not: the first rounds are the same for
    any horizon. Most memory is taken just below that size, about a gibibyte for each replication that is being played.

    The same seed gives the same numbers as long as NumPy, SciPy (for its distributions) and this library draw them in the
    same way. NumPy guarantees this for its generators, but not for the distributions drawn from them, which occasionally
    change between versions. Results computed from the numbers may differ in the last bit between processors.

    Examples
    --------
    >>> from bandstrap import UCB1, GaussianTS, simulate
    >>> from bandstrap.environments import Gaussian
    >>> result = simulate([UCB1(), GaussianTS()], Gaussian([0, 1]), horizon=200, replications=20, seed=1, progress=False)
    >>> [row["policy"] for row in result.summary()]
    ['ucb1', 'gaussian_ts']

    The same rewards, each learned 20 rounds late:

    >>> sizes = {"horizon": 200, "replications": 20, "seed": 1, "progress": False}
    >>> late = simulate([UCB1(), GaussianTS()], Gaussian([0, 1]), **sizes, delay=20)
    >>> late.environment, bool((late.mean > result.mean)[:, -1].all())
    ('gaussian:means=(0,1),n_arms=2, delay 20', True)
    """
    names, described = named_policies(policies)
    horizon = check_count(horizon, "horizon", "simulate")
    replications = check_count(replications, "replications", "simulate")
    seed = check_count(seed, "seed", "simulate", at_least=0, at_most=None)
    feedback = Feedback(delay, batch, lost)
    check_horizon(names, described, environment, horizon, feedback)
    check_memory(WORD * length(checkpoints), "checkpoints", "simulate", length(checkpoints))
    marks = checked_checkpoints(checkpoints, horizon)
    choices = check_flag(choices, "choices", "simulate")
    kind = type_of_choices(environment.n_arms)
    of_choices = horizon * kind.itemsize if choices else 0
    needed = bytes_of_result(len(described), replications, marks.size, environment.n_arms, of_choices)
    check_memory(needed, "replications", "simulate", replications)
    announce_memory(needed, shown=progress)
    size = check_count(block_size, "block_size", "simulate") if block_size is not None else BLOCK_SIZE
    size = min(size, math.ceil(replications / (os.cpu_count() or 1)))
    regret = np.empty((len(described), replications, marks.size))
    pulls = np.empty((len(described), replications, environment.n_arms), dtype=np.int64)
    chosen = np.empty((len(described), replications, horizon), dtype=kind) if choices else None
    records = {
        Block(policy, environment, horizon, seed, 0, replications, marks, feedback, size, choices): PlayedSoFar(
            0, regret[p], pulls[p], None if chosen is None else chosen[p]
        )
        for p, policy in enumerate(described)
    }

    def result() -> Result:
        """The replications that all policies have played."""
        is_there = np.logical_and.reduce([record.is_there for record in records.values()])
        return Result(
            policies=names,
            environment=as_learned(environment.label, feedback),
            horizon=horizon,
            seed=seed,
            checkpoints=marks,
            replications=np.flatnonzero(is_there),
            regret=regret if is_there.all() else regret[:, is_there],
            pulls=pulls if is_there.all() else pulls[:, is_there],
            choices=chosen if chosen is None or is_there.all() else chosen[:, is_there],
        )

    try:
        with at_work(executor, "simulate") as pool:
            finish([*records], play_blocks, prepare=warm, executor=pool, progress=progress, records=records)
    except KeyboardInterrupt:
        done = result()
        if done.n_replications:
            raise Interrupted(done, replications) from None
        raise
    return result()


class Interrupted(KeyboardInterrupt):
    """A simulation was stopped; ``result`` holds the replications that were done until then."""

    def __init__(self, result: Result, replications: int) -> None:
        super().__init__(f"stopped after {result.n_replications} of {replications} replications, which are in .result")
        self.result = result


def named_policies(policies: object) -> tuple[tuple[str, ...], tuple[PolicyLike, ...]]:
    """Names, no two alike, and policies; equal labels are numbered."""
    named: dict[str, PolicyLike] = {}
    if isinstance(policies, Mapping):
        named = {str(name): as_policy(policy) for name, policy in policies.items()}
        if len(named) < len(policies):
            raise requirement("policies", "simulate", "a mapping of names that differ as texts", brief(list(policies)))
    else:
        several = policies if isinstance(policies, Sequence) and not isinstance(policies, str) else [policies]
        for policy in map(as_policy, several):
            name, number = policy.label, 1
            while name in named:
                number += 1
                name = f"{policy.label} #{number}"
            named[name] = policy
    if not named:
        raise requirement("policies", "simulate", "at least one policy", "none")
    return tuple(named), tuple(named.values())


def as_policy(thing: Any) -> PolicyLike:
    """A policy as it is, a plain object wrapped; anything else is refused."""
    if isinstance(thing, PlainPolicy):
        return thing
    if isinstance(getattr(thing, "kernel", None), Kernel):
        if isinstance(thing, type):
            raise requirement("policies", "simulate", "policies, such as UCB1()", brief(thing))
        if getattr(thing, "arms", ()) or thing.direction != "max":
            raise requirement("policies", "simulate", "policies without arms and with direction 'max'", brief(thing))
        return thing
    if is_plain(thing):
        return PlainPolicy(thing)
    raise requirement("policies", "simulate", "policies, such as UCB1()", brief(thing))


def check_horizon(
    names: Sequence[str],
    policies: Sequence[PolicyLike],
    environment: EnvironmentLike,
    horizon: int,
    feedback: Feedback = AT_ONCE,
) -> None:
    """Refuse a horizon too short to pull every arm, and rewards outside a policy's range."""
    if isinstance(environment, type) or not hasattr(environment, "tape"):
        raise requirement("environment", "simulate", "an environment, such as Gaussian()", brief(environment))
    needed = bytes_of_replication(environment, horizon, is_late=not feedback.is_at_once)
    check_memory(needed, "horizon", "simulate", horizon)
    n_at_hand = numbers_at_hand(environment, horizon)
    low, high = environment.support
    for name, policy in zip(names, policies, strict=True):
        if policy.plays not in environment.offers:
            rule = f"one that offers {policy.plays}, which {name} plays"
            raise requirement("environment", "simulate", rule, environment.label)
        if getattr(policy, "needs_same_actions", False) and getattr(environment, "contextual", False):
            message = f"{name} needs a fixed set of actions; {environment.label} has new actions in each round."
            warnings.warn(message, AssumptionWarning, stacklevel=3)
        features = getattr(policy, "dimension", None)
        if features not in (None, getattr(environment, "dimension", None)):
            rule = f"one with {policy.plays} of {features} features, the dimension of {name}"
            raise requirement("environment", "simulate", rule, environment.label)
        needed = environment.n_arms * policy.n_initial
        if horizon < needed:
            rule = f"at least {needed}, so that {name} can pull each of {environment.n_arms} arms"
            raise requirement("horizon", "simulate", rule, horizon)
        if low < policy.support[0] or high > policy.support[1]:
            rule = f"one with rewards inside [{policy.support[0]:g}, {policy.support[1]:g}], the range of {name}"
            raise requirement("environment", "simulate", rule, f"rewards in [{low:g}, {high:g}] ({environment.label})")
        policy.make_params(horizon)
        check_size = getattr(policy, "check_size", lambda size: None)
        size = getattr(environment, "dimension", 1) if policy.plays == "actions" else environment.n_arms
        check_size(size)
        if n_at_hand is not None and policy.kernel is not None:
            check_room(policy, size, horizon, LONGEST_TAPE // size + 1)

"""``state(v)``: what a policy knows after the first ``v`` entries of the log, and the probabilities that follow from it.

Everything here is a function of the definition and of the log, so that every worker, and whoever replays the log, comes
to the same state. Learning the reward at position ``i`` draws, if it draws at all, from a generator made for ``i``.
Snapshots spare a worker that starts the way through the whole log, and are used only by the very build that wrote them.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from bandstrap.basics.sources import versions
from bandstrap.engine.compiler.provenance import computed_by
from bandstrap.engine.compiler.refusals import PolicyFailure
from bandstrap.errors import InvalidInput, requirement
from bandstrap.live.chain import next_link
from bandstrap.live.database import OtherHistory, StoreError
from bandstrap.live.rows import Build, Change, LogEntry, Snapshot
from bandstrap.live.settings import Settings, SettingValues
from bandstrap.live.store import Store
from bandstrap.live.weights import (
    ArmProbabilities,
    ShareRule,
    cut,
    give_key,
    hash_53,
    is_held_out,
    keyed_generator,
    mixed,
    shares,
)

ServingStatus = Literal["active", "paused", "retired"]
LiveMode = Literal["live", "shadow", "finished", "archived"]

# The version of a snapshot as it is written.
FORMAT = 3
# Entries that are read at once.
PAGE = 20_000
# A snapshot is written after this many entries, or after one in so many of all there are.
FEWEST_ENTRIES = 1000
ONE_IN = 20
# Chances that are remembered within a version, each of other arms or actions.
MOST_REMEMBERED = 256
# Gives the entries of the log up to a version once more.
Again = Callable[[int, list[str]], Iterable[LogEntry] | None]
# What a change of an arm makes of it.
BECOMES: dict[str, ServingStatus] = {"pause": "paused", "resume": "active", "retire": "retired"}


class ServedChoice(NamedTuple):
    """Arm that is served, and its probability; arms are numbers, weights JSON."""

    source: str
    arm: int
    proposed: int | None
    propensity: float
    weights: str | None


class LiveState:
    """A policy and its arms after the first ``version`` entries of the log.

    Parameters
    ----------
    definition
        What the experiment was created with. ``settings`` are those of this version.
    """

    def __init__(self, definition: Settings) -> None:
        self.definition = self.settings = definition
        # Decisions of which nothing is learned: they were voided.
        self.voided: set[str] = set()
        self._begin()

    def _begin(self) -> None:
        """Be the state before the first entry."""
        definition = self.settings = self.definition
        self.version = 0
        self.link = 0  # of the last entry
        self.arms = list(definition.arms)
        self.status: list[ServingStatus] = ["active"] * len(self.arms)
        # Rewards learned of each arm.
        self.rewards = [0] * len(self.arms)
        # Rewards that the policy failed to learn, and what it said of the last; it goes on as if they had not come.
        self.unlearned = 0
        self.failure: str | None = None
        # How it ended, if it did: the arm that all are served, since which version, and whether nobody is any more.
        self.shipped: str | None = None
        self.is_archived = False
        self.ended = 0
        self.policy: Any = definition.make_policy(keyed_generator(definition.seed, "start"))
        self._known: dict[object, ArmProbabilities] = {}
        self._just_voided: list[str] = []

    def active(self) -> list[int]:
        """The arms that may be served."""
        return [arm for arm, status in enumerate(self.status) if status == "active"]

    @property
    def mode(self) -> LiveMode:
        """Mode now: the policy's choices are served, the control, the arm that was shipped, or nothing any more."""
        if self.is_archived:
            return "archived"
        return self.settings.mode if self.shipped is None else "finished"

    @property
    def rule(self) -> ShareRule:
        """Rule that limits the weights of arms."""
        settings = self.settings
        return ShareRule(settings.floor, settings.burn_in, settings.new_arm_share, self.policy.n_initial)

    def named(self, arm: int) -> str | int:
        """The label of an arm; an action is its index."""
        return arm if self.settings.is_linear else self.arms[arm]

    # --- decisions ------------------------------------------------------------------------------------------------------

    def choose(
        self,
        name: str,
        unit: str | None,
        key: str,
        available: Sequence[int] | None,
        context: str | None,
        owner: str = "decide",
        *,
        drawn: tuple[bool, int] | None = None,
    ) -> ServedChoice:
        """Choose the arm that is served under a key: a pure function, by which decisions are made and made again.

        Where the key was erased, ``drawn`` says in its place whether it was held out, and which arm it drew.
        """
        settings = self.settings
        if self.is_archived:
            raise InvalidInput(f"The experiment {name!r} is archived; change(mode='live') lets it decide again.")
        among = self._choices(available, context, owner)
        control = self._control(among, context, owner)
        if drawn is not None:
            is_held, place = drawn[0] and settings.holdout > 0, drawn[1]
        else:
            is_held = is_held_out(settings.seed, name, key if unit is None else unit, settings.holdout)
        if is_held:
            return ServedChoice("holdout", control, None, 1.0, None)
        if self.shipped is not None:
            return ServedChoice("shipped", self._shipped(among, owner), None, 1.0, None)
        chances = self.action_chances(context or "") if settings.is_linear else self.chances(among, context)
        arm = chances.at(hash_53(settings.seed, name, key)) if drawn is None else place
        if settings.mode == "shadow":
            return ServedChoice("shadow", control, arm, 1.0, chances.text)
        return ServedChoice("policy", arm, None, chances.widths[arm], chances.text)

    def _choices(self, available: Sequence[int] | None, context: str | None, owner: str) -> Sequence[int]:
        """The arms or actions that can be served."""
        if self.settings.is_linear:
            return range(len(json.loads(context or "")))
        active = self.active()
        among = [arm for arm in active if available is None or arm in available]
        if not among:
            labels = [self.arms[arm] for arm in active][:20]
            raise requirement("available", owner, f"such that one of the active arms {labels} is there", "none of them")
        return among

    def _control(self, among: Sequence[int], context: str | None, owner: str) -> int:
        """The arm or action of the control, which must be there where it may be served; -1 where it is not asked for.

        Where a share of units is held out, a call without the control is refused for all units: of others nobody would
        notice.
        """
        settings = self.settings
        is_shadow = self.mode == "shadow"
        if not is_shadow and settings.holdout == 0:
            return -1
        control = settings.control if isinstance(settings.control, int) else self.arms.index(str(settings.control))
        if control not in among:
            rule = f"such that the control {settings.control!r} is there, which is served "
            rule += "in shadow mode" if is_shadow else "to the holdout"
            raise requirement("actions" if settings.is_linear else "available", owner, rule, f"{len(among)} others")
        return control

    def _shipped(self, among: Sequence[int], owner: str) -> int:
        """The arm that all are served, which must be there."""
        arm = self.arms.index(str(self.shipped))
        if arm not in among:
            rule = f"such that the arm {self.shipped!r} is there, which is served to all"
            raise requirement("available", owner, rule, f"{len(among)} others")
        return arm

    # --- weights(v) -----------------------------------------------------------------------------------------------------

    def chances(self, among: Sequence[int], context: str | None = None) -> ArmProbabilities:
        """Probability of each arm, in a context if the policy is shown one: 0 for those that are not ``among`` these."""
        key = (context, *among)
        if key not in self._known:
            found = shares(
                self.rule, among, [self.rewards[arm] for arm in among], functools.partial(self._ask, context)
            )
            weights = [0.0] * len(self.arms)
            for arm, share in zip(among, found, strict=True):
                weights[arm] = share
            self._remember(key, cut(weights))
        return self._known[key]

    def action_chances(self, context: str) -> ArmProbabilities:
        """Probability of each action; ``context`` is their matrix of features as JSON."""
        if context not in self._known:
            actions = np.array(json.loads(context))
            weights = self.policy.weights(actions, self.settings.draws, rng=self._generator())
            self._remember(context, cut(mixed(self.settings.floor, [float(weight) for weight in weights])))
        return self._known[context]

    def _ask(self, context: str | None, arms: Sequence[int]) -> list[float]:
        """The policy's weights among some arms."""
        labels = [self.arms[arm] for arm in arms]
        seen = {} if context is None else {"context": json.loads(context)}
        weights = self.policy.weights(self.settings.draws, available=labels, rng=self._generator(), **seen)
        return [float(weights[label]) for label in labels]

    def _generator(self) -> np.random.Generator:
        return keyed_generator(self.settings.seed, "weights", self.version)

    def _remember(self, key: object, chances: ArmProbabilities) -> None:
        if len(self._known) >= MOST_REMEMBERED:
            self._known.clear()
        self._known[key] = chances

    # --- the log --------------------------------------------------------------------------------------------------------

    def fold(self, entries: Iterable[LogEntry], again: Again | None = None) -> None:
        """Take in the next entries of the log; a state in which this was cut short is of no use.

        A policy cannot unlearn a reward: where the entries void decisions of which one was learned, the state is made anew
        from the log up to here, which ``again`` gives, without them; nothing, if none was.
        """
        self._just_voided = []
        self._fold(entries)
        if self._just_voided:
            if again is None:
                raise StoreError("The log of the experiment voids a decision, and cannot be read again.")
            version, link = self.version, self.link
            from_start = again(version, self._just_voided)
            if from_start is None:
                return
            self._begin()
            self._fold(from_start)
            if (self.version, self.link) != (version, link):
                raise OtherHistory("The log of the experiment is another one than a moment ago.")

    def _fold(self, entries: Iterable[LogEntry]) -> None:
        batch: list[LogEntry] = []
        for entry in entries:
            self._known.clear()
            if entry.seq != self.version + 1:
                raise StoreError(f"The log of the experiment is damaged: entry {self.version + 1} is missing.")
            link = next_link(self.link, entry)
            if entry.link is not None and link != entry.link and self.version:
                raise OtherHistory(
                    f"The log of the experiment is damaged: entry {entry.seq} is not the one that was written after entry"
                    f" {self.version}."
                )
            self.version, self.link = entry.seq, link if entry.link is None else entry.link
            if entry.kind in ("reward", "default"):
                if entry.decision not in self.voided:
                    batch.append(entry)
            elif entry.kind == "change":  # which may concern the arms of what follows
                self._learn(batch)
                batch = []
                give_key(self.policy.rng, self.settings.seed, "learn", entry.seq)  # a new arm's place among equals
                try:
                    self._change(entry.action, json.loads(entry.change or ""))
                except (ValueError, TypeError, KeyError):
                    raise unreadable(entry) from None
        self._learn(batch)

    def _learn(self, batch: list[LogEntry]) -> None:
        """Have the policy learn rewards: at once if no random numbers are drawn, else each with its own generator."""
        if not batch:
            return
        rewards, learned = [], []
        for entry in batch:
            try:
                rewards.append(self._learnable(entry.reward))
                learned.append(self._learned(entry))
            except (ValueError, TypeError, IndexError):
                raise unreadable(entry) from None
        draws = self.policy.draws_in_update()
        if not draws and self._has_learned(batch, learned, rewards):
            return
        for entry, what, reward in zip(batch, learned, rewards, strict=True):
            if draws:
                give_key(self.policy.rng, self.settings.seed, "learn", entry.seq)
            self.unlearned += not self._has_learned([entry], [what], [reward])

    def _has_learned(self, batch: list[LogEntry], learned: list[object], rewards: list[float]) -> bool:
        """Have the policy learn rewards, all or none, and count them by arm; whether it did.

        A reward that the policy fails to learn stays in the log. Whoever replays the log meets the same failure and passes
        over the same reward, so that the experiment goes on.
        """
        try:
            if self.settings.is_contextual:
                self.policy.update(learned, rewards, context=[json.loads(entry.context or "") for entry in batch])
            else:
                self.policy.update(learned, rewards)
        except PolicyFailure as failure:
            self.failure = str(failure)
            return False
        if not self.settings.is_linear:
            for entry in batch:
                self.rewards[entry.arm or 0] += 1
        return True

    def _learned(self, entry: LogEntry) -> object:
        """The arm, or the features of the action, whose reward is learned."""
        if self.settings.is_linear:
            return json.loads(entry.context or "")[entry.arm]
        return self.arms[entry.arm or 0]

    def _learnable(self, reward: float | None) -> float:
        """A reward no larger than a policy takes: each was checked, but their sum may be larger."""
        largest = self.policy.largest_reward
        return float(max(-largest, min(largest, reward or 0.0)))

    def _change(self, action: str | None, body: SettingValues) -> None:
        """Let a change of arms or settings take effect."""
        if action == "add_arm":
            self.policy.add_arm(body["arm"])
            self.arms.append(body["arm"])
            self.status.append("active")
            self.rewards.append(0)
        elif action in BECOMES:
            self.status[self.arms.index(body["arm"])] = BECOMES[action]
        elif action == "void":
            self.voided.add(body["decision"])
            self._just_voided.append(body["decision"])
        elif action == "settings":
            self.settings = dataclasses.replace(self.settings, **body)
            if "mode" in body:
                self.shipped, self.is_archived, self.ended = None, False, 0
        elif action == "finish":
            self.settings = dataclasses.replace(self.settings, holdout=body["holdout"])
            self.shipped, self.ended = body["arm"], self.version
        elif action == "archive":
            self.is_archived = True
        else:
            raise StoreError(f"The log of the experiment has a change {action!r}, which this version does not know.")


def unreadable(entry: LogEntry | Change) -> StoreError:
    """The refusal of an entry that nobody can have written so."""
    return StoreError(f"The log of the experiment is damaged: entry {entry.seq} cannot be read.")


def catch_up(state: LiveState, store: Store, experiment: int, last: int | None = None) -> None:
    """Fold the entries of the log after the state's version, up to ``last`` or all there are."""

    def again(version: int, voided: list[str]) -> Iterator[LogEntry] | None:
        is_needed = store.were_learned(experiment, voided)
        return read_log(store, experiment, state.definition, 0, version) if is_needed else None

    newest = sys.maxsize if last is None else last
    while state.version < newest:
        before = state.version
        state.fold(read_log(store, experiment, state.definition, before, min(before + PAGE, newest)), again)
        if state.version == before:
            return


def read_log(store: Store, experiment: int, definition: Settings, after: int, last: int) -> Iterator[LogEntry]:
    """The entries of the log after one up to another, as far as there are any; a page of them is in memory."""
    while after < last:
        page = store.entries(experiment, after, min(PAGE, last - after), context=definition.has_context)
        if not page:
            return
        yield from page
        after = page[-1].seq


# --- snapshots ----------------------------------------------------------------------------------------------------------


def write_snapshot(state: LiveState) -> str:
    """A state as text."""
    return json.dumps(
        {
            "format": FORMAT,
            "version": state.version,
            "link": state.link,
            "settings": dataclasses.asdict(state.settings),
            "arms": state.arms,
            "status": state.status,
            "rewards": state.rewards,
            "unlearned": [state.unlearned, state.failure],
            "ended": [state.shipped, state.is_archived, state.ended],
            "voided": sorted(state.voided),
            "policy": state.policy.to_dict(),
        },
        allow_nan=False,
        separators=(",", ":"),
    )


def read_snapshot(definition: Settings, snapshot: Snapshot) -> LiveState | None:
    """The state that was written; ``None`` if a single character is another than it was.

    A checksum can be computed by whoever writes the row. So the row names nothing that is loaded: its policy must be the
    definition's, with the same settings, before it is read.
    """
    if not is_whole(snapshot):
        return None
    try:
        saved = json.loads(snapshot.body)
        if (saved["format"], saved["version"], saved["link"]) != (FORMAT, snapshot.version, snapshot.link):
            return None
        state = LiveState(definition)
        own = state.policy.to_dict()
        if any(saved["policy"][part] != own[part] for part in ("policy", "settings", "direction")):
            return None
        state.version, state.link = snapshot.version, snapshot.link
        state.arms, state.status, state.rewards = saved["arms"], saved["status"], saved["rewards"]
        state.unlearned, state.failure = saved["unlearned"]
        state.shipped, state.is_archived, state.ended = saved["ended"]
        state.voided = set(saved["voided"])
        state.policy = type(state.policy).from_dict(saved["policy"])
        state.settings = definition.changed(
            [state.arms[arm] for arm in state.active()],
            {name: saved["settings"][name] for name in definition.changeable},
            "snapshot",
        )
        return state if is_sound(state) else None
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):  # under a right checksum: forged
        return None


def is_sound(state: LiveState) -> bool:
    """Return whether the parts of a state are of the right kinds, and speak of the same arms."""
    arms, counts = tuple(state.arms), [state.unlearned, state.ended, *state.rewards]
    checks = [
        isinstance(state.policy.rng.bit_generator, np.random.PCG64),
        arms == (() if state.settings.is_linear else state.policy.arms),
        len(arms) == len(state.status) == len(state.rewards),
        len(state.active()) >= min(len(arms), 1),
        set(state.status) <= {*get_args(ServingStatus)},
        all(type(count) is int and count >= 0 for count in counts),
        isinstance(state.failure, str | None),
        state.shipped is None or state.shipped in [state.arms[arm] for arm in state.active()],
        isinstance(state.is_archived, bool),
        all(isinstance(decision, str) for decision in state.voided),
    ]
    return all(checks)


def checksum(body: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(body.encode()).hexdigest()


def is_whole(snapshot: Snapshot) -> bool:
    """Return whether the body of a stored row is text, and the one that was written."""
    body: object = snapshot.body
    return isinstance(body, str) and checksum(body) == snapshot.checksum


def restore(store: Store, experiment: int, definition: Settings, build: str, newest: int) -> LiveState:
    """The state of the last snapshot of this build that is whole, or the one before the first entry.

    The log after it, up to version ``newest``, is not folded yet.
    """
    snapshot = store.latest_snapshot(experiment, build, newest)
    while snapshot is not None:
        state = read_snapshot(definition, snapshot)
        if state is not None:
            return state
        snapshot = store.latest_snapshot(experiment, build, snapshot.version - 1)
    return LiveState(definition)


def is_due(version: int, last: int) -> bool:
    """Return whether there is enough beyond the last snapshot to write another."""
    return version - last >= max(FEWEST_ENTRIES, version // ONE_IN)


# --- builds -------------------------------------------------------------------------------------------------------------


def this_build(policy: Any) -> Build:
    """Build of the code that decides here; states and weights of equal builds are equal to the last bit."""
    code = computed_by("live", LiveState.fold, LiveState.choose, read_snapshot, LiveState, type(policy), policy.kernel)
    # NumPy takes other instructions, which round differently, where the processor has them.
    instructions = np.show_config(mode="dicts").get("SIMD Extensions", {}).get("found", [])
    machine = f"{platform.system()} {platform.machine()} {' '.join(platform.libc_ver())} {','.join(instructions)}"
    return Build(build_id(code, versions(), machine), code, versions(), machine)


def build_id(code: str, libraries: str, machine: str) -> str:
    """The id of a build: a hash of the rest."""
    return hashlib.blake2b("\0".join((code, libraries, machine)).encode(), digest_size=16).hexdigest()

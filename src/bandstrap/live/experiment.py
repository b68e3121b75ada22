"""An experiment behind live traffic: decisions, rewards and changes, by any number of workers at once."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import math
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from numpy.typing import ArrayLike

from bandstrap.errors import InvalidInput, brief, requirement, warn_caller
from bandstrap.live import fold
from bandstrap.live.changes import AppliedChange, actor_of, check_change
from bandstrap.live.database import HistoryWarning, OtherHistory, ReadOnly, StoreError
from bandstrap.live.rows import Build, DecisionRow, ExperimentRow, NewReward, RewardOutcome
from bandstrap.live.settings import Settings, SettingValues, check_text
from bandstrap.live.store import Store, damaged
from bandstrap.live.weights import decision_id, read_widths

if TYPE_CHECKING:
    from bandstrap.evidence import Readout
    from bandstrap.live.counters import Counters, CountKeeper
    from bandstrap.live.evidence import EvidenceKeeper
    from bandstrap.live.replay import Replay
    from bandstrap.live.status import Status
    from bandstrap.policies.contextual.contextual_policy import Context

R = TypeVar("R")
# Attempts to make a change that others forestall.
ATTEMPTS = 20
# Seconds that a call spends on learning what is due, if nobody asked for it, and entries of the log after which it looks
# whether they are over.
ENOUGH = 1.0
STEP = 1000
# A reward so many times as large as all before is told, where there are that many; first the last ones are looked at.
UNUSUAL = 100
FEWEST_REWARDS = 10
RECENT_REWARDS = 1000
# All that this process has, so that a child of a fork can begin anew: a thread of the parent's may have held a lock, or
# have been in the middle of folding.
EXPERIMENTS: weakref.WeakSet[Experiment] = weakref.WeakSet()


class LargeRewardWarning(UserWarning):
    """A reward is far larger than all earlier ones; it was stored."""


class Decision(NamedTuple):
    """Arm to serve, with its source and probability.

    Attributes
    ----------
    id
        Id for reporting rewards; the same for the same key, from any process.
    arm
        The arm's label, or the index of the action.
    propensity
        Exact probability with which this arm was served: 1 unless the policy decided.
    version
        Number of log entries on which the decision was based.
    source
        ``"policy"``; ``"holdout"``: the unit belongs to the share that gets the control; ``"shadow"``: everybody gets the
        control; or ``"shipped"``: everybody gets the final arm of the experiment.
    proposed
        In shadow mode, the arm that the policy would have served.
    weights
        Policy's probability of each arm or action; 0 for an arm that was not available.
    unit, key, deferred
        As given to the call; a missing key is replaced by a new one.
    decided_at
        Time of storage, in seconds since 1970 by the database's clock.
    """

    id: str
    arm: str | int
    propensity: float
    version: int
    source: str
    unit: str | None
    key: str
    proposed: str | int | None
    weights: dict[str, float] | list[float] | None
    decided_at: float
    deferred: bool


class Experiment:
    """An experiment in a database; made by :func:`bandstrap.live.create` and :func:`bandstrap.live.open`.

    Threads may share it: calls wait for one another. The child of a fork opens its own connection. Any number of processes
    may open the same experiment. Decisions of a worker that has not yet seen the latest rewards are equally valid, and
    record their version.

    Attributes
    ----------
    name
        The experiment's name.
    definition
        The settings at its creation.
    """

    def __init__(self, store: Store, row: ExperimentRow, *, code: bool = False) -> None:
        self.name = row.name
        self.definition = Settings.from_json(row.definition)
        if self.definition.file is not None and not code:
            raise InvalidInput(
                f"The policy of the experiment {self.name!r} is in a file, {self.definition.file}, which is not run only "
                "because a database names it. If you trust both, say code=True (--allow-code), or name it in live.create."
            )
        self.store = store
        self._row, self._place = row, store.place()
        store.expect(row)
        self._referee: Any = None  # a policy that knows which rewards it would take
        self._lock = threading.RLock()
        self._reset()
        EXPERIMENTS.add(self)

    def _reset(self) -> None:
        """Forget all that can be read again."""
        self._state: fold.LiveState | None = None
        self._has_read = False  # a part of the log
        self._snapshot = 0  # version of the last snapshot heard of
        self._refreshed = 0.0
        self._build: Build | None = None
        self._largest = 0.0  # of the rewards known here, up to its sign
        self._keeper: EvidenceKeeper | None = None
        self._count_keeper: CountKeeper | None = None

    @property
    def row(self) -> ExperimentRow:
        """The stored experiment.

        If the database file is replaced, for instance by an older copy, the new file must have the same experiment. The
        worker then forgets its state and reads the log of the new file.
        """
        with self._lock:
            place = self.store.place()
            if place != self._place:
                self._begin_anew()
                self._place = place
            return self._row

    def _begin_anew(self) -> None:
        """Forget what was learned from a log that is gone; there must be the same experiment."""
        row = self.store.experiment(self.name)
        if row is None or row.definition != self._row.definition:
            raise StoreError(f"{self.store} was replaced by one without this experiment {self.name!r}.")
        self._row = row
        self.store.expect(row)
        self._reset()

    def _on_this_log(self, call: Callable[[], R]) -> R:
        """Result of a call, repeated from the start if the database has another log than the one that was read."""
        try:
            return call()
        except OtherHistory:
            has_read = self._has_read
            self._begin_anew()
            if has_read:
                warn_caller(
                    f"The experiment {self.name!r} was restored, lost its end or was made anew: its log differs from"
                    " the one read before. The learned state is dropped, and the log is read from the start.",
                    HistoryWarning,
                )
            return call()

    def _look(self) -> ExperimentRow:
        """The experiment as it is stored, before all of it is read: another one may be in its place."""
        with self._lock:
            row = self.store.experiment(self.name)
            if row != self.row:
                self._begin_anew()
            return self._row

    # --- state ----------------------------------------------------------------------------------------------------------

    def refresh(self) -> int:
        """Learn all rewards that are due, and return the version: the number of entries of the log."""
        with self._lock:
            return self._catch_up(wait=True).version

    @property
    def state(self) -> fold.LiveState:
        """The current state behind decisions; do not change it."""
        with self._lock:
            return self._current()

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.state.settings

    @property
    def build(self) -> Build:
        """Build of the code that decides here."""
        with self._lock:
            if self._build is None:
                build = fold.this_build(self._checker())
                with contextlib.suppress(ReadOnly):  # and nobody decides here
                    self.store.add_build(build)
                self._build = build
            return self._build

    def _current(self) -> fold.LiveState:
        """The state, brought up to date if it is older than ``refresh`` seconds."""
        _ = self.row  # which forgets what was learned from a file that has been replaced
        if self._state is None or time.monotonic() - self._refreshed >= self._state.settings.refresh:
            return self._catch_up()
        return self._state

    def _catch_up(self, *, wait: bool = False, whole: bool = False) -> fold.LiveState:
        """Have what is due sequenced, and fold the log to where it ended then.

        Without ``wait`` another worker that is at it is not waited for: it may have been stopped, and a decision needs some
        state, not the latest. Nor is more work done than takes ``ENOUGH`` seconds, unless ``whole`` says so: the next call
        goes on where this one ended. What can wait are rewards; changes of arms and settings are always followed.
        """
        return self._on_this_log(functools.partial(self._follow, wait, whole or wait))

    def _follow(self, wait: bool, whole: bool) -> fold.LiveState:
        began, experiment = time.monotonic(), self.row.id
        seen = (0, 0) if self._state is None else (self._state.version, self._state.link)
        end = math.inf if whole else began + ENOUGH
        newest = self.store.refresh(experiment, self.definition.settle, *seen, wait=wait, end=end)
        may_be_more = newest > seen[0] and time.monotonic() > end
        state, self._state = self._state, None  # of no use if this is cut short
        if state is None:
            state = fold.restore(self.store, self.row.id, self.definition, self.build.id, newest)
            self._snapshot = state.version
        self._fold(state, newest, end)
        # Where there is more to do, the next call does it, however soon it comes.
        self._refreshed = -math.inf if may_be_more or state.version < newest else began
        self._state, self._has_read = state, True
        if state.version >= fold.FEWEST_ENTRIES:
            self.keeper.keep_up(state)
            self.count_keeper.keep_up(state)
        return state

    def _fold(self, state: fold.LiveState, newest: int, end: float) -> None:
        """Fold the log up to ``newest``, or to its last change and as far as there is time, with snapshots on the way."""
        last_change = None
        before = -1
        while before < state.version:
            before = state.version
            fold.catch_up(
                state, self.store, self.row.id, min(before + (fold.PAGE if end == math.inf else STEP), newest)
            )
            self._save_snapshot(state)
            if state.version >= newest:
                return
            if time.monotonic() > end:
                if last_change is None:
                    last_change = self.store.last_change(self.row.id, newest)
                if state.version >= last_change:
                    return

    def _save_snapshot(self, state: fold.LiveState) -> None:
        """Store a snapshot if one is due that no other worker has stored; decisions do not depend on it."""
        if not fold.is_due(state.version, self._snapshot):
            return
        with contextlib.suppress(StoreError, InvalidInput):  # the latter: a state of one's own that cannot be saved
            newest = self.store.latest_snapshot(self.row.id, self.build.id, state.version)
            self._snapshot = max(self._snapshot, newest.version if newest is not None else 0)
            if fold.is_due(state.version, self._snapshot):
                self._snapshot = state.version  # also if it fails: the next will be due in time
                body = fold.write_snapshot(state)
                self.store.save_snapshot(
                    self.row.id, state.version, self.build.id, state.link, body, fold.checksum(body)
                )

    @property
    def keeper(self) -> EvidenceKeeper:
        """Counter of decisions for the readout."""
        if self._keeper is None:
            from bandstrap.live.evidence import EvidenceKeeper

            policy = self._checker()
            self._keeper = EvidenceKeeper(self.store, self.row.id, self.build.id, self.definition, policy)
        return self._keeper

    @property
    def count_keeper(self) -> CountKeeper:
        """Keeper of the counters of the status."""
        if self._count_keeper is None:
            from bandstrap.live.counters import CountKeeper

            self._count_keeper = CountKeeper(self.store, self.row.id, self.build.id)
        return self._count_keeper

    @property
    def counters(self) -> Counters:
        """Counts for the status, as far as they are final."""
        with self._lock:
            return self.count_keeper.complete(self._current())

    def _checker(self) -> Any:
        if self._referee is None:
            self._referee = fold.LiveState(self.definition).policy
        return self._referee

    # --- decisions ------------------------------------------------------------------------------------------------------

    @property
    def context_fields(self) -> tuple[str, ...] | None:
        """Names of the declared context fields of a contextual policy; None if there are none."""
        schema = self._checker().schema if self.definition.is_contextual else None
        return None if schema is None else tuple(schema.fields)

    def decide(
        self,
        unit: str | None = None,
        *,
        available: Sequence[str] | None = None,
        actions: ArrayLike | None = None,
        context: Context | None = None,
        key: str | None = None,
        defer: bool = False,
    ) -> Decision:
        """Decide what to serve, store the decision, and return it.

        Parameters
        ----------
        unit
            Visitor, user or order that the decision is for. It determines membership in the holdout.
        available
            Labels of the arms that can be served this time; by default all. Paused and retired arms are ignored.
        actions
            The features of the actions, one action per row, for a linear policy.
        context
            Context of this visit, as declared by the policy's ``contexts``, for a contextual policy. It is stored, and the
            reward is learned with it.
        key
            The same key gives the same stored decision, from any worker, even if arms were paused or retired or the holdout
            changed since. By default every call is a new decision; ``key=unit`` gives a unit the same arm for ever.
        defer
            The decision may not be shown; it counts only once it is activated.
        """
        several = None if actions is None else [actions]
        seen = None if context is None else [context]
        return self._decide([unit], [key], available, several, seen, defer, "decide")[0]

    def decide_many(
        self,
        units: Sequence[str | None] | None = None,
        *,
        keys: Sequence[str | None] | None = None,
        available: Sequence[str] | None = None,
        actions: Sequence[ArrayLike] | None = None,
        contexts: Sequence[Context] | None = None,
        defer: bool = False,
    ) -> list[Decision]:
        """Decide for several units at once, in one transaction: all are stored, or none.

        ``units`` and ``keys`` have one entry per decision, ``actions`` one matrix and ``contexts`` one context per
        decision. See :meth:`decide`.
        """
        owner = "decide_many"
        lengths = set()
        for parameter, values in (("units", units), ("keys", keys), ("actions", actions), ("contexts", contexts)):
            if values is None:
                continue
            try:
                if isinstance(values, str | bytes | Set | Mapping):  # which have no order, or are one thing
                    raise TypeError
                lengths.add(len(values))
            except TypeError:
                rule = "a sequence with one entry for each decision"
                raise requirement(parameter, owner, rule, brief(values)) from None
        if len(lengths) != 1:
            got = "none of them" if not lengths else f"lengths {sorted(lengths)}"
            raise requirement("units", owner, "as long as 'keys' and 'actions', of which one is given", got)
        nobody = [None] * lengths.pop()
        return self._decide(
            nobody if units is None else units,
            nobody if keys is None else keys,
            available,
            actions,
            contexts,
            defer,
            owner,
        )

    def _decide(
        self,
        units: Sequence[str | None],
        keys: Sequence[str | None],
        available: Sequence[str] | None,
        actions: Sequence[ArrayLike] | None,
        visits: Sequence[Context] | None,
        defer: bool,
        owner: str,
    ) -> list[Decision]:
        if not isinstance(defer, bool):
            raise requirement("defer", owner, "True or False", brief(defer))
        units = [None if unit is None else check_text(unit, "unit", owner) for unit in units]
        words = [new_key() if key is None else check_text(key, "key", owner) for key in keys]
        with self._lock:
            contexts = self._contexts(actions, visits, len(units), owner)
            ids = [decision_id(self.name, key) for key in words]

            def decided() -> list[DecisionRow]:
                among = None if available is None else self._available(available, owner)
                state, build = self._current(), self.build.id
                planned: list[DecisionRow] = []
                refused: dict[str, InvalidInput] = {}
                for id_, unit, key, context in zip(ids, units, words, contexts, strict=True):
                    try:
                        planned.append(self._plan(state, id_, unit, key, among, context, defer, build, owner))
                    except InvalidInput as refusal:
                        refused[id_] = refusal
                rows = self._stored(refused)
                if planned:
                    rows += self.store.add_decisions(self._row.id, planned, self.definition.settle, state.link)
                found = {row.id: row for row in rows}
                return [found[id_] for id_ in ids]

            return [self._shown(row) for row in self._on_this_log(decided)]

    def _stored(self, refused: Mapping[str, InvalidInput]) -> list[DecisionRow]:
        """Decisions that would be refused today, and are stored: their arms were paused since, or a holdout was set."""
        rows = self.store.decisions(self.row.id, list(refused)) if refused else []
        for row, refusal in zip(rows, refused.values(), strict=True):
            if row is None:
                raise refusal
        return [row for row in rows if row is not None]

    def _plan(
        self,
        state: fold.LiveState,
        id_: str,
        unit: str | None,
        key: str,
        available: list[int] | None,
        context: str | None,
        defer: bool,
        build: str,
        owner: str,
    ) -> DecisionRow:
        """A decision, ready to be stored."""
        choice = state.choose(self.name, unit, key, available, context, owner)
        labels = None if available is None else json.dumps(available)
        return DecisionRow(id_, key, unit, state.version, *choice, labels, context, defer, build)

    def _available(self, labels: object, owner: str) -> list[int]:
        """The arms that can be served, as numbers; an unknown one may have been added by another worker just now."""
        if self.definition.is_linear:
            raise requirement(
                "available", owner, "left out with a linear policy, which is given actions", brief(labels)
            )
        if isinstance(labels, str | bytes) or not hasattr(labels, "__iter__"):
            raise requirement("available", owner, "a sequence of labels of arms", brief(labels))
        labels, state = list(labels), self._current()
        if not all(isinstance(label, str) and label in state.arms for label in labels):
            state = self._catch_up(whole=True)
        for label in labels:
            if not isinstance(label, str) or label not in state.arms:
                raise requirement("available", owner, f"made of the arms {state.arms[:20]}", brief(label))
        return sorted({state.arms.index(label) for label in labels})

    def _contexts(
        self, actions: Sequence[ArrayLike] | None, visits: Sequence[Context] | None, n: int, owner: str
    ) -> list[str | None]:
        """The features of actions or the context, as JSON, for each decision."""
        if visits is not None and not self.definition.is_contextual:
            raise requirement(
                "context", owner, "left out with a policy that is not contextual", brief(next(iter(visits), visits))
            )
        if self.definition.is_contextual and actions is None:
            return [self._context_text(visit, owner) for visit in visits or itertools.repeat(None, n)]
        if not self.definition.is_linear:
            if actions is not None:
                raise requirement("actions", owner, "left out with a policy of arms", brief(actions))
            return [None] * n
        if actions is None:
            raise requirement("actions", owner, "given: the features of the actions, one action per row", "none")
        policy = self._checker()
        return [json.dumps(policy._features(matrix, "actions", owner, 2).tolist()) for matrix in actions]

    def _context_text(self, context: Any, owner: str) -> str:
        """A context as JSON, refused unless the policy reads it."""
        policy = self._checker()
        numbers = policy.read_context(context, owner)
        if policy.schema is not None:
            plain = {name: value.item() if hasattr(value, "item") else value for name, value in dict(context).items()}
            return json.dumps(plain, sort_keys=True)
        return json.dumps([None if math.isnan(number) else number for number in numbers.tolist()])

    def _shown(self, row: DecisionRow) -> Decision:
        """A stored decision, with labels."""
        try:
            return self._labelled(row)
        except (ValueError, TypeError, IndexError):
            raise damaged(row.id) from None

    def _labelled(self, row: DecisionRow) -> Decision:
        state = self._state or self._catch_up()
        widths = () if row.weights is None else read_widths(row.weights)
        weights: dict[str, float] | list[float] = list(widths)
        if not self.definition.is_linear:
            if max(row.arm, len(widths) - 1) >= len(state.arms):  # by another worker, who knew more arms
                state = self._catch_up(whole=True)
            weights = dict(zip(state.arms, widths, strict=False))
        return Decision(
            id=row.id,
            arm=state.named(row.arm),
            propensity=row.propensity,
            version=row.version,
            source=row.source,
            unit=row.unit,
            key=row.key,
            proposed=None if row.proposed is None else state.named(row.proposed),
            weights=None if row.weights is None else weights,
            decided_at=row.decided_at,
            deferred=row.deferred,
        )

    def activate(self, decision: str) -> bool:
        """Activate a deferred decision; returns True the first time."""
        with self._lock:
            ids = [check_text(decision, "decision", "activate")]
            return self._on_this_log(lambda: self.store.activate(self.row.id, ids, self.definition.settle))[0]

    # --- rewards --------------------------------------------------------------------------------------------------------

    def reward(self, decision: str, value: float, key: str | None = None) -> RewardOutcome:
        """Store a reward of a decision, given by its id.

        Parameters
        ----------
        decision
            The ``id`` of a decision.
        value
            A finite number, inside the policy's range and the experiment's ``reward_range``.
        key
            Idempotency key, for a decision with several rewards: a second reward under the same key is a duplicate.

        Returns
        -------
        str
            ``"stored"``; ``"duplicate"``: nothing is stored; or ``"late"``: it is stored, but never learned.

        Warns
        -----
        LargeRewardWarning
            If it is more than 100 times as large as all earlier rewards, of which there are at least 10. It is stored all
            the same; :meth:`void` takes it back.
        """
        return self.reward_many([(decision, value, key)])[0]

    def reward_many(self, rewards: Iterable[tuple[str, float] | tuple[str, float, str | None]]) -> list[RewardOutcome]:
        """Store several rewards, each ``(decision, value)`` or ``(decision, value, key)``, in one transaction."""
        rule = "made of (decision, value) or (decision, value, key)"
        if not isinstance(rewards, Iterable):
            raise requirement("rewards", "reward_many", rule, brief(rewards))
        check = self._checker().check_reward
        rows = []
        for given in rewards:
            if not isinstance(given, tuple | list) or len(given) not in (2, 3):
                raise requirement("rewards", "reward_many", rule, brief(given))
            decision, value, key = (*given, None)[:3]
            decision = check_text(decision, "decision", "reward")
            word = "" if key is None else check_text(key, "key", "reward")
            value = self.definition.within_range(value, "value", "reward")
            rows.append(NewReward(decision, word, check(value, "value", "reward")))
        with self._lock:
            if not rows:
                return []
            large = self._unusual(rows)
            outcomes = self._on_this_log(lambda: self.store.add_rewards(self.row.id, rows, self.definition.settle))
        for row, outcome in zip(rows, outcomes, strict=True):
            if row in large and outcome == "stored":
                warn_caller(
                    f"The reward {row.value:g} of decision {row.decision} is more than {UNUSUAL} times as large as all"
                    f" rewards of the experiment {self.name!r} before. If it is a mistake, void the decision; reward_range"
                    " refuses such rewards.",
                    LargeRewardWarning,
                )
        return outcomes

    def _unusual(self, rows: Sequence[NewReward]) -> list[NewReward]:
        """The rewards that are far larger than all before; the database is asked only if those known here are small."""
        found = []
        n_before, known = 0, self._largest
        for row in rows:
            size = abs(row.value)
            for most in (RECENT_REWARDS, sys.maxsize):
                if size > UNUSUAL * known:
                    n_before, largest = self.store.largest_reward(self.row.id, most)
                    known = self._largest = max(known, largest)
            if size > UNUSUAL * known > 0 and n_before >= FEWEST_REWARDS:
                found.append(row)
            known = max(known, size)
        return found

    # --- changes --------------------------------------------------------------------------------------------------------

    def add_arm(self, arm: str, *, actor: str | None = None, wait: bool = False) -> AppliedChange:
        """Add an arm; while it has fewer than ``burn_in`` rewards it gets at most ``new_arm_share``.

        Parameters
        ----------
        arm
            Its label.
        actor
            Author of the change, for the audit trail; default: the user who runs the process.
        wait
            Return only when all new decisions, of every worker, follow the change: after ``refresh`` seconds. By default
            the call returns when the change is in the log.

        Returns
        -------
        AppliedChange
            The log entry, and the seconds after which all workers follow it.
        """
        return self._change("add_arm", {"arm": arm}, actor, wait)

    def pause(self, arm: str, *, actor: str | None = None, wait: bool = False) -> AppliedChange:
        """Stop serving an arm until it is resumed; its rewards are still learned. See :meth:`add_arm`."""
        return self._change("pause", {"arm": arm}, actor, wait)

    def resume(self, arm: str, *, actor: str | None = None, wait: bool = False) -> AppliedChange:
        """Serve a paused arm again. See :meth:`add_arm`."""
        return self._change("resume", {"arm": arm}, actor, wait)

    def retire(self, arm: str, *, actor: str | None = None, wait: bool = False) -> AppliedChange:
        """Stop serving an arm for good; its data are kept, and its label is not used again.

        See :meth:`add_arm`.
        """
        return self._change("retire", {"arm": arm}, actor, wait)

    def change(self, *, actor: str | None = None, wait: bool = False, **settings: object) -> AppliedChange:
        """Change settings: any of floor, holdout, control, burn_in, new_arm_share, mode and refresh.

        Setting ``mode`` reopens a finished or archived experiment. See :meth:`add_arm` for ``actor``, ``wait`` and the
        result.
        """
        if not settings:
            raise requirement("settings", "change", "given, at least one of them", "none")
        return self._change("settings", settings, actor, wait)

    def finish(self, ship: str, *, holdout: float = 0.0, actor: str | None = None, wait: bool = False) -> AppliedChange:
        """End the experiment: serve one arm to all from now on. Log and evidence are kept.

        Decisions are stored with the source ``"shipped"`` and count in no evidence; :meth:`readout` still shows the
        evidence of the policy's decisions. ``change(mode="live")`` lets the policy decide again.

        Parameters
        ----------
        ship
            The arm to serve.
        holdout
            Share of units that still get the control, to keep measuring the lift. Default: 0.
        actor, wait
            See :meth:`add_arm`, also for the result.

        Examples
        --------
        >>> import tempfile
        >>> from bandstrap import live
        >>> file = tempfile.mkdtemp() + "/shop.db"
        >>> with live.create(file, "checkout", policy="ucb1", arms=["red", "green"], seed=7) as experiment:
        ...     print(experiment.finish(ship="green"))
        ...     print(experiment.decide("u17").arm, experiment.status().mode)
        version 1; other workers follow within 1 s (their refresh)
        green finished
        """
        return self._change("finish", {"arm": ship, "holdout": holdout}, actor, wait)

    def archive(self, *, actor: str | None = None, wait: bool = False) -> AppliedChange:
        """Decide no more. Stored data, reports and exports remain; ``change(mode="live")`` reopens it.

        Stored decisions are still returned for their keys, and their rewards are still accepted. See :meth:`add_arm` for
        ``actor``, ``wait`` and the result.
        """
        return self._change("archive", {}, actor, wait)

    def void(self, decision: str, *, actor: str | None = None, wait: bool = False) -> AppliedChange:
        """Withdraw the rewards of a decision, including later ones; nothing is learned from it any more.

        The void is a log entry. From this entry on, the state of the policy excludes the decision's reward. If it was
        learned, every worker reads the log again from its start, because policies cannot unlearn. Decisions before stay as
        they were made. Decision and rewards stay in the database; exports call them ``void``, and no report counts them.

        Parameters
        ----------
        decision
            The ``id`` of a decision. For a decision already void, the first entry is returned.
        actor, wait
            See :meth:`add_arm`, also for the result.

        Examples
        --------
        >>> import tempfile
        >>> from bandstrap import live
        >>> file = tempfile.mkdtemp() + "/shop.db"
        >>> with live.create(file, "checkout", policy="ucb1", arms=["red", "green"], seed=7) as experiment:
        ...     decision = experiment.decide(key="u17")
        ...     print(experiment.reward(decision.id, 1e12), experiment.refresh())
        ...     print(experiment.void(decision.id))
        ...     experiment.state.rewards
        stored 1
        version 2; other workers follow within 1 s (their refresh)
        [0, 0]
        """
        with self._lock:
            id_ = check_text(decision, "decision", "void")
            if self.store.decisions(self.row.id, [id_]) == [None]:
                raise requirement("decision", "void", "the id of a decision of this experiment", brief(id_))
            self._largest = 0.0  # whatever it was, it may have been this one
        return self._change("void", {"decision": id_}, actor, wait)

    def _change(self, kind: str, wish: SettingValues, actor: str | None, wait: bool) -> AppliedChange:
        """Check a change against the newest state and append it to the log; again if another change came between."""
        owner = "change" if kind == "settings" else kind
        who = actor_of(actor, owner)
        if not isinstance(wait, bool):
            raise requirement("wait", owner, "True or False", brief(wait))
        voided = wish["decision"] if kind == "void" else None

        def appended() -> int | None:
            state = self._catch_up(wait=True)
            if voided in state.voided:
                return self.store.void_entry(self.row.id, voided)
            body = json.dumps(check_change(state, kind, wish))
            return self.store.append_change(self.row.id, kind, body, who, state.version, voided=voided)

        with self._lock:
            for _ in range(ATTEMPTS):
                version = self._on_this_log(appended)
                before = 0.0 if self._state is None else self._state.settings.refresh
                if version is not None:
                    delay = max(before, self._catch_up(wait=True).settings.refresh)
                    break
            else:
                raise StoreError(
                    f"{owner} was not applied: other processes changed the experiment {self.name!r} {ATTEMPTS} times"
                    " meanwhile. Try again."
                )
        if wait:
            time.sleep(min(delay, threading.TIMEOUT_MAX))  # 292 years
        return AppliedChange(version, 0.0 if wait else delay)

    # --- afterwards -----------------------------------------------------------------------------------------------------

    def status(self) -> Status:
        """State of the experiment: arms, rewards, their lag, the lift over the holdout, and changes.

        Examples
        --------
        >>> import tempfile
        >>> from bandstrap import live
        >>> file = tempfile.mkdtemp() + "/shop.db"
        >>> with live.create(file, "checkout", policy="ucb1", arms=["red", "green"], seed=7) as experiment:
        ...     decision = experiment.decide(unit="u17", key="u17")
        ...     print(experiment.status())  # doctest: +ELLIPSIS
        checkout: ucb1, live, version 0, as of ... UTC
        decisions 1 (1 policy); 1 waiting for a reward, 0 without one in time, 0 deferred and not activated
        rewards 0 received, 0 too late; 0 learned, 0 of them defaults; 0 waiting to be processed
        95 % intervals by student_t
        arm    state  decisions  last 24 h  weight  rewards  mean  lower  upper
        red    new            0      0.0 %  50.0 %        0     -      -      -
        green  new            1    100.0 %  50.0 %        0     -      -      -
        Intervals are Student's, 95 % each, as for an ordinary sample. These rewards are no ordinary sample: ...
        """
        from bandstrap.live.status import status_of

        self._look()
        return status_of(self)

    def readout(self, alpha: float = 0.05, *, control: str | None = None, epsilon: float | None = None) -> Readout:
        """Winner, certainty, stopping advice and gain so far; valid at any time and for any number of looks.

        Parameters
        ----------
        alpha
            Error probability of the verdict, and of all differences from the control together. Default: 0.05.
        control
            Arm with which the others are compared. Default: the control of the experiment, or its first arm.
        epsilon
            Difference of mean rewards that does not matter. Default: none, and the word "equivalent" is not used.

        Returns
        -------
        Readout
            Verdict, differences with intervals, values, gain, health, and effects over time; ``str(...)`` is one screen.

        See Also
        --------
        bandstrap.evidence.readout : formulas and promises; ``bandstrap readout`` reads the same from an export.

        Notes
        -----
        With a window, decisions count in their order once their windows are over. Without a window they count when their
        reward comes, and the readout covers decisions with a reward. Then missing rewards must not depend on the arm.

        Examples
        --------
        >>> import random, tempfile
        >>> from bandstrap import live
        >>> file, rng = tempfile.mkdtemp() + "/shop.db", random.Random(1)
        >>> with live.create(file, "checkout", policy="ucb1", arms=["red", "green"], seed=7) as experiment:
        ...     decisions = experiment.decide_many([f"u{i}" for i in range(1000)])
        ...     given = [(each.id, float(rng.random() < {"red": 0.1, "green": 0.3}[each.arm])) for each in decisions]
        ...     outcomes = experiment.reward_many(given)
        ...     found = experiment.readout(control="red")
        >>> found.word, found.arm, found.effects[0].difference.lower > 0
        ('ship', 'green', True)
        """
        from bandstrap.live.evidence import readout_of

        self._look()
        with self._lock:
            return readout_of(self.keeper, self._catch_up(wait=True), alpha, control, epsilon)

    def replay(self, *, deep: bool = False) -> Replay:
        """Recompute every decision from the log, and compare it exactly with the stored one.

        Parameters
        ----------
        deep
            Also let the database check itself: every page and index of a SQLite file (``PRAGMA integrity_check``) and its
            foreign keys; on PostgreSQL, the rows of each index against those of its table. Default: no.
        """
        from bandstrap.live.replay import replay

        if not isinstance(deep, bool):
            raise requirement("deep", "replay", "True or False", brief(deep))
        return replay(self.store, self._look(), deep=deep)

    def export(self, path: str | Path) -> None:
        """Write all decisions to a Parquet file, one row each with its rewards; completely or not at all.

        Parameters
        ----------
        path
            The file, whose name ends in ``.parquet``. Its columns are those of :class:`bandstrap.live.export.ExportRow`;
            its metadata have the definition of the experiment and the labels of its arms. Memory does not grow with the
            log. :func:`bandstrap.live.export.open_bandit_feedback` and :func:`bandstrap.live.export.write_dsjson` convert
            it for other libraries.
        """
        from bandstrap.live.export import export

        self._look()
        export(self, path)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Experiment({self.name!r}, {self.definition.policy})"


def after_fork() -> None:
    """Let the experiments of a child begin anew."""
    for experiment in list(EXPERIMENTS):
        experiment._lock = threading.RLock()
        experiment._reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=after_fork)


def new_key() -> str:
    """A key of a decision for which none was given: no other will ever be the same."""
    return os.urandom(16).hex()

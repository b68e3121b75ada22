"""All experiments of one database, each opened when it is first asked for."""
# ruff: noqa: S608 - statements are put together from parts of this package; whatever comes from outside is a parameter

from __future__ import annotations

import asyncio
import dataclasses
import json
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any, NamedTuple, TypeVar

from bandstrap import live
from bandstrap.engine.simulator.own_file import parse_file_call
from bandstrap.errors import brief
from bandstrap.evidence import Readout
from bandstrap.live import AppliedChange, Decision, Experiment, StoreError
from bandstrap.live.changes import body_of
from bandstrap.live.database import Database, reading, writing
from bandstrap.live.elsewhere import published_weights
from bandstrap.live.erasure import hidden
from bandstrap.live.evidence import is_comparable
from bandstrap.live.rows import Change
from bandstrap.live.settle import START
from bandstrap.live.status import Status
from bandstrap.live.store import Store, is_server
from bandstrap.serve import alerts, forced, limits
from bandstrap.serve.access import Access
from bandstrap.serve.chores import Chores
from bandstrap.serve.desk import Desk
from bandstrap.serve.forced import count_forced
from bandstrap.serve.metrics import Metrics
from bandstrap.serve.problems import Problem
from bandstrap.serve.tokens import TABLE

R = TypeVar("R")
# Decisions of a unit among which its last is looked for.
RECENT = 100
# One row, which is written to see whether anything can be.
WRITTEN = "CREATE TABLE IF NOT EXISTS serve_written (id INTEGER PRIMARY KEY, at DOUBLE PRECISION NOT NULL)"


@dataclasses.dataclass(frozen=True)
class ServiceOptions:
    """Options of a service.

    Attributes
    ----------
    target
        The database: a file of SQLite, or ``postgresql://...``.
    durability, timeout
        As for :func:`bandstrap.live.open`.
    allow_code
        Run policies in files that the database names.
    allowed_hosts, cors_origins
        Allowed host names (empty: any), and origins whose pages may call the service (empty: none).
    privacy_key
        With a key, units and keys are stored as their hashes under it (HMAC-SHA256): without it, the database does not
        reveal them. It must not change during an experiment.
    retain
        Seconds after which units and keys of decisions are erased; by default they are kept.
    alert_url
        Address for alerts, posted as JSON; default: none.
    """

    target: str
    durability: Any = "full"
    timeout: float = 10.0
    allow_code: bool = False
    allowed_hosts: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    privacy_key: str | None = None
    retain: float | None = None
    alert_url: str | None = None

    def hide(self, text: str | None) -> str | None:
        """A unit or a key in its stored form."""
        if text is None or self.privacy_key is None:
            return text
        return hidden(self.privacy_key, text)


class Reader(NamedTuple):
    """An experiment for reading, and the lock of its reports: waiting callers share one report."""

    experiment: Experiment
    lock: threading.RLock


class Hub:
    """Experiments, tokens and metrics of one service."""

    def __init__(self, options: ServiceOptions) -> None:
        self.options = options
        self.metrics = Metrics()
        self._desks: dict[str, Desk] = {}
        self._readers: dict[str, Reader] = {}
        # Experiments share a few connections, so that the number of these does not grow with that of experiments. SQLite
        # lets one write at a time: desks that wait for one connection find the file locked less often.
        self._writing: list[Store] = []
        self._reading: list[Store] = []
        self._n_writing = limits.CONNECTIONS if is_server(options.target) else 1
        self._lock = threading.Lock()
        self._drawing = threading.Lock()
        self._told: dict[str, tuple[float, Any]] = {}
        # Reports have threads of their own: decisions do not wait for these.
        self._reports = ThreadPoolExecutor(limits.REPORTS, "report")

    def open(self, *, create: bool = True) -> None:
        """Connect; with ``create`` a missing database and tables for tokens are made, otherwise it is only read."""
        self.store = self._connect(create=create)
        if create:
            prepare(self.store)
        self.access = Access(self.store)
        self.chores = Chores(self)

    def close(self) -> None:
        """Commit accepted calls, and disconnect."""
        self.chores.close()
        self._reports.shutdown()
        with self._lock:
            for desk in self._desks.values():
                desk.close()
            for store in (*self._writing, *self._reading, self.store):
                store.close()
            self._desks, self._readers = {}, {}

    def _connect(self, *, create: bool = False) -> Store:
        """Open the database by a connection of its own."""
        options = self.options
        return Store.open(options.target, create=create, durability=options.durability, timeout=options.timeout)

    # --- experiments ------------------------------------------------------------------------------------------------------

    async def desk(self, name: str) -> Desk:
        """The desk of an experiment."""
        desk = self._desks.get(name)
        return desk if desk is not None else await asyncio.to_thread(self._open_desk, name)

    def _open_desk(self, name: str) -> Desk:
        with self._lock:
            if name not in self._desks:
                experiment = self._open(name, self._writing, len(self._desks) % self._n_writing)
                self._desks[name] = Desk(experiment, self.metrics.note_commit)
            return self._desks[name]

    def _open(self, name: str, connections: list[Store], place: int) -> Experiment:
        """Open an experiment by one of some connections; one that is not there is not found."""
        row = self.store.experiment(name)
        if row is None:
            raise Problem(HTTPStatus.NOT_FOUND, f"There is no experiment {brief(name)}.")
        if place == len(connections):
            connections.append(self._connect())
        return Experiment(connections[place], row, code=self.options.allow_code)

    async def report(self, call: Callable[..., R], *arguments: Any) -> R:
        """Result of a call that may take long."""
        return await asyncio.get_running_loop().run_in_executor(self._reports, call, *arguments)

    async def read(self, name: str, what: Callable[[Experiment], R]) -> R:
        """Query an experiment over a separate connection, so that decisions do not wait."""
        return await self.report(lambda: what(self._reader(name).experiment))

    def _reader(self, name: str) -> Reader:
        with self._lock:
            if name not in self._readers:
                experiment = self._open(name, self._reading, len(self._readers) % limits.CONNECTIONS)
                self._readers[name] = Reader(experiment, threading.RLock())
            return self._readers[name]

    def _kept(self, name: str, what: str, find: Callable[[Experiment], R]) -> R:
        """Answer of an experiment, kept for ten times as long as it took to say, at least a second."""
        key, reader = f"{what} {name}", self._reader(name)
        until, found = self._told.get(key, (0.0, None))
        if time.monotonic() < until:
            return found
        with reader.lock:
            until, found = self._told.get(key, (0.0, None))
            if time.monotonic() < until:
                return found
            began = time.monotonic()
            answer = find(reader.experiment)
            now = time.monotonic()
            self._told[key] = now + max(10 * (now - began), 1.0), answer
            return answer

    async def status(self, name: str) -> Status:
        """Status of an experiment; it is reused for ten times the time of its computation."""
        return await self.report(self._kept, name, "status", Experiment.status)

    async def readout(self, name: str) -> Readout:
        """Readout: winner, certainty, and when to stop."""
        return await self.report(self._kept, name, "readout", Experiment.readout)

    def told(self, name: str) -> tuple[Status, Readout | None, float | None]:
        """Full report of an experiment: status, readout if arms can be compared, and entropy of the weights."""
        status = self._kept(name, "status", Experiment.status)
        has_readout = self._kept(name, "comparable", lambda experiment: is_comparable(experiment.state))
        readout = self._kept(name, "readout", Experiment.readout) if has_readout else None
        return status, readout, self._kept(name, "entropy", entropy_of)

    async def forced(self, name: str) -> dict[str, int]:
        """Count of forced servings per arm."""
        return await self.report(self.told_forced, name)

    def told_forced(self, name: str) -> dict[str, int]:
        """Count of forced servings per arm."""
        return self._kept(name, "forced", lambda experiment: count_forced(experiment.store, experiment.row.id))

    def kept_page(self, name: str, render: Callable[[Hub, str], str]) -> str:
        """A page about an experiment, drawn by one thread at a time, and reused as described in :meth:`_kept`."""
        with self._drawing:
            return self._kept(name, "page", lambda _: render(self, name))

    async def change(self, name: str, how: Callable[[Experiment], AppliedChange | None]) -> dict[str, float]:
        """Change an experiment; returns the version of the change, and the seconds after which all decisions follow it."""

        def changed(experiment: Experiment) -> dict[str, float]:
            applied = how(experiment) or AppliedChange(experiment.refresh(), 0.0)
            self._told.clear()
            return applied._asdict()

        return await self.read(name, changed)

    async def set_arm(self, name: str, arm: str, wanted: str, actor: str) -> dict[str, float]:
        """Add, pause or resume an arm, unless it is in that state already."""

        def settle(experiment: Experiment) -> AppliedChange | None:
            experiment.refresh()
            state = experiment.state
            is_new = arm not in state.arms
            added = experiment.add_arm(arm, actor=actor) if is_new else None
            is_active = is_new or state.status[state.arms.index(arm)] == "active"
            if wanted == "paused" and is_active:
                return experiment.pause(arm, actor=actor)
            return experiment.resume(arm, actor=actor) if wanted == "active" and not is_active else added

        return await self.change(name, settle)

    async def create(self, settings: dict[str, Any], actor: str) -> dict[str, Any]:
        """Create an experiment; a policy in a file is run only if the service allows it."""

        def made() -> dict[str, Any]:
            name, policy = settings.pop("name"), settings.pop("policy")
            if parse_file_call(policy) is not None:
                raise Problem(
                    HTTPStatus.FORBIDDEN, "A policy in a file is created on the server: bandstrap live create."
                )
            options = {"durability": self.options.durability, "timeout": self.options.timeout, "actor": actor}
            with live.create(self.options.target, name, policy=policy, **settings, **options) as experiment:
                return {"name": name, "policy": experiment.definition.policy, "arms": list(experiment.definition.arms)}

        return await asyncio.to_thread(made)

    async def names(self) -> list[str]:
        """The names of all experiments."""
        return await asyncio.to_thread(self.store.experiments)

    def count_decision(self, name: str, decision: Decision) -> None:
        """Count an answered decision."""
        self.metrics.labelled(self.metrics.decisions, name, str(decision.arm), decision.source).inc()

    def count_outcomes(self, counter: Any, name: str, outcomes: Sequence[Any]) -> None:
        """Count outcomes by name; all refusals have one name."""
        for word, count in Counter("refused" if isinstance(one, Exception) else one for one in outcomes).items():
            counter.labels(name, word).inc(count)

    async def summaries(self) -> list[dict[str, Any]]:
        """All experiments: names, policies, arms and modes."""

        def found() -> list[dict[str, Any]]:
            rows = [self.store.experiment(name) for name in self.store.experiments()]
            return [
                {"name": row.name, "created_at": row.created_at, "created_by": row.created_by}
                | public(row.definition, self.store.changes(row.id))
                for row in rows
                if row is not None
            ]

        return await asyncio.to_thread(found)

    async def log(self, name: str, after: int) -> dict[str, Any]:
        """Entries of the log after a version."""

        def entries(experiment: Experiment) -> dict[str, Any]:
            newest = experiment.refresh()
            rows = experiment.store.entries(experiment.row.id, after, limits.LOG)
            shown = [
                {name: getattr(row, name) for name in ("seq", "kind", "decision", "arm", "reward")} for row in rows
            ]
            return {"version": newest, "entries": shown}

        return await self.read(name, entries)

    # --- rewards by unit -------------------------------------------------------------------------------------------------

    async def last_decisions(self, desk: Desk, units: Sequence[str]) -> Mapping[str, str | Problem]:
        """The id of each unit's last decision within the window; a problem if there is none, or two at one time."""

        def found() -> dict[str, str | Problem]:
            experiment = desk.experiment
            window = experiment.definition.settle.window
            return dict(zip(units, last_of_units(self.store, experiment.row.id, units, window), strict=True))

        return await asyncio.to_thread(found)

    # --- readiness --------------------------------------------------------------------------------------------------------

    async def check_ready(self) -> None:
        """Refuse if the store cannot be written, or processing is far behind."""
        try:
            await asyncio.to_thread(write_something, self.store)
        except StoreError as error:
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error), retry_after=1) from None
        behind = [desk.lag() for desk in list(self._desks.values()) if desk.lag() > limits.LAG]
        if behind:
            sentence = f"Processing of {len(behind)} experiments is up to {max(behind):.0f} refreshes behind."
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, sentence, retry_after=1)

    async def rendered_metrics(self) -> tuple[bytes, str]:
        """Metrics, with lag and entropy as they are now."""

        def rendered() -> tuple[bytes, str]:
            for name, desk in list(self._desks.items()):
                self.metrics.lag.labels(name).set(desk.lag())
                entropy = self._kept(name, "entropy", entropy_of)
                if entropy is not None:
                    self.metrics.entropy.labels(name).set(entropy)
            return self.metrics.render()

        return await self.report(rendered)


def entropy_of(experiment: Experiment) -> float | None:
    """Entropy of the weights divided by that of equal weights; none for actions, one arm, or a finished policy."""
    if experiment.settings.has_context or experiment.state.mode in ("finished", "archived"):
        return None
    weights = [weight for weight in published_weights(experiment)["weights"] if weight > 0]
    n_arms = len(experiment.state.active())
    return -sum(weight * math.log(weight) for weight in weights) / math.log(n_arms) if n_arms > 1 else None


def public(definition: str, changes: Sequence[Change]) -> dict[str, Any]:
    """The current settings of an experiment without its seed, which would reveal the arm of every key."""
    settings = json.loads(definition)
    found = {name: settings[name] for name in ("policy", "arms", "direction", "mode")}
    for change in changes:
        body = body_of(change)
        if change.kind == "add_arm":
            found["arms"].append(body["arm"])
        found["mode"] = {"finish": "finished", "archive": "archived"}.get(change.kind, body.get("mode", found["mode"]))
    return found


@writing
def prepare(database: Database) -> None:
    """Create the service's own tables."""
    for statement in (TABLE, WRITTEN, alerts.TABLE, forced.TABLE, forced.INDEX):
        database._ask(statement)
    database._ask(
        "CREATE INDEX IF NOT EXISTS serve_unit ON live_decision (experiment, unit, decided_at) WHERE unit IS NOT NULL"
    )


@writing
def write_something(database: Database) -> None:
    """Write, as decisions do: only opening a transaction would succeed on a full disk."""
    database._ask(
        f"INSERT INTO serve_written (id, at) VALUES (1, {database.now}) ON CONFLICT (id) DO UPDATE SET at = excluded.at"
    )


@reading
def last_of_units(
    database: Database, experiment: int, units: Sequence[str], window: float | None
) -> list[str | Problem]:
    """The id of each unit's last decision shown within ``window`` seconds; two at the same time are refused.

    A deferred decision was shown when it was activated; one not activated counts as the last only if none was shown.
    """
    return [last_of_unit(database, experiment, unit, math.inf if window is None else window) for unit in units]


def last_of_unit(database: Database, experiment: int, unit: str, window: float) -> str | Problem:
    """The id of a unit's last decision, or why there is none."""
    rows = database._ask(
        f"SELECT {START}, d.decided_at, d.id, {database.now} FROM live_decision d"
        " LEFT JOIN live_activation a ON a.decision = d.number"
        " WHERE d.experiment = ? AND d.unit = ? ORDER BY d.decided_at DESC LIMIT ?",
        experiment,
        unit,
        RECENT,
    )
    found = [
        (shown is not None, made if shown is None else shown, id_)
        for shown, made, id_, now in rows
        if now - (made if shown is None else shown) <= window
    ]
    ((forced,),) = database._ask("SELECT max(at) FROM serve_forced WHERE experiment = ? AND unit = ?", experiment, unit)
    newest = sorted(found, reverse=True)[:2]
    if forced is not None and forced > max((time for _, time, _ in newest), default=-math.inf):
        sentence = f"The last decision of the unit {brief(unit)} was forced; nothing is learned from it."
        return Problem(HTTPStatus.CONFLICT, sentence)
    if not newest:
        return Problem(HTTPStatus.NOT_FOUND, f"There is no decision of the unit {brief(unit)} within the window.")
    if len(newest) == 2 and newest[0][:2] == newest[1][:2]:
        sentence = f"The unit {brief(unit)} has two decisions of the same time: name the decision."
        return Problem(HTTPStatus.CONFLICT, sentence)
    return newest[0][2]

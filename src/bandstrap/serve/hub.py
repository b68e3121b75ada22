"""All experiments of one database, each opened when it is first asked for."""
# ruff: noqa: S608 - statements are put together from parts of this package; whatever comes from outside is a parameter

from __future__ import annotations

import asyncio
import dataclasses
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, TypeVar

from bandstrap import live
from bandstrap.engine.simulator.own_file import parse_file_call
from bandstrap.errors import brief
from bandstrap.live import Decision, Experiment, StoreError
from bandstrap.live.database import Database, reading, writing
from bandstrap.live.store import Store
from bandstrap.serve import limits
from bandstrap.serve.access import Access
from bandstrap.serve.desk import Desk
from bandstrap.serve.metrics import Metrics
from bandstrap.serve.problems import Problem
from bandstrap.serve.tokens import TABLE

R = TypeVar("R")


@dataclasses.dataclass(frozen=True)
class ServiceOptions:
    """What a service is told.

    Attributes
    ----------
    target
        The database: a file of SQLite, or ``postgresql://...``.
    durability, timeout
        As for :func:`bandstrap.live.open`.
    allow_code
        Run policies in files that the database names.
    allowed_hosts, cors_origins
        Host names under which the service answers, and origins whose pages may ask it; empty: any, and none.
    """

    target: str
    durability: Any = "full"
    timeout: float = 10.0
    allow_code: bool = False
    allowed_hosts: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()


class Hub:
    """Experiments, tokens and metrics of one service."""

    def __init__(self, options: ServiceOptions) -> None:
        self.options = options
        self.metrics = Metrics()
        self._desks: dict[str, Desk] = {}
        self._readers: dict[str, Experiment] = {}
        self._lock = threading.Lock()

    def open(self, *, create: bool = True) -> None:
        """Connect; with ``create`` the database is made if there is none, and tables for tokens, otherwise only read."""
        self.store = Store.open(
            self.options.target, create=create, durability=self.options.durability, timeout=self.options.timeout
        )
        if create:
            prepare(self.store)
        self.access = Access(self.store)

    def close(self) -> None:
        """Commit what was accepted, and disconnect."""
        with self._lock:
            for desk in self._desks.values():
                desk.close()
            for reader in self._readers.values():
                reader.close()
            self._desks, self._readers = {}, {}
        self.store.close()

    # --- experiments ------------------------------------------------------------------------------------------------------

    async def desk(self, name: str) -> Desk:
        """The desk of an experiment."""
        desk = self._desks.get(name)
        return desk if desk is not None else await asyncio.to_thread(self._open_desk, name)

    def _open_desk(self, name: str) -> Desk:
        with self._lock:
            if name not in self._desks:
                self._desks[name] = Desk(self._open(name), self.metrics.note_commit)
            return self._desks[name]

    def _open(self, name: str) -> Experiment:
        """Open an experiment by a connection of its own; one that is not there is not found."""
        options = self.options
        if self.store.experiment(name) is None:
            raise Problem(HTTPStatus.NOT_FOUND, f"There is no experiment {brief(name)}.")
        return live.open(
            options.target, name, code=options.allow_code, durability=options.durability, timeout=options.timeout
        )

    async def read(self, name: str, what: Callable[[Experiment], R]) -> R:
        """Ask an experiment by another connection than that of decisions, which do not wait for it."""
        return await asyncio.to_thread(self._read, name, what)

    def _read(self, name: str, what: Callable[[Experiment], R]) -> R:
        with self._lock:
            if name not in self._readers:
                self._readers[name] = self._open(name)
            reader = self._readers[name]
        return what(reader)

    async def change(self, name: str, how: Callable[[Experiment, str], object]) -> dict[str, int]:
        """Change an experiment, and say which version has the change."""

        def changed(experiment: Experiment) -> dict[str, int]:
            how(experiment, "service")
            return {"version": experiment.refresh()}

        return await self.read(name, changed)

    async def set_arm(self, name: str, arm: str, wanted: str) -> dict[str, int]:
        """Add an arm, or pause or resume it, unless it is so already."""

        def settle(experiment: Experiment, actor: str) -> None:
            experiment.refresh()
            state = experiment.state
            if arm not in state.arms:
                experiment.add_arm(arm, actor=actor)
            is_active = arm not in state.arms or state.status[state.arms.index(arm)] == "active"
            if wanted == "paused" and is_active:
                experiment.pause(arm, actor=actor)
            elif wanted == "active" and not is_active:
                experiment.resume(arm, actor=actor)

        return await self.change(name, settle)

    async def create(self, settings: dict[str, Any]) -> dict[str, Any]:
        """Create an experiment; a policy in a file is run only if the service was told to."""

        def made() -> dict[str, Any]:
            name, policy = settings.pop("name"), settings.pop("policy")
            if parse_file_call(policy) is not None:
                raise Problem(
                    HTTPStatus.FORBIDDEN, "A policy in a file is created on the server: bandstrap live create."
                )
            options = {"durability": self.options.durability, "timeout": self.options.timeout, "actor": "service"}
            with live.create(self.options.target, name, policy=policy, **settings, **options) as experiment:
                return {"name": name, "policy": experiment.definition.policy, "arms": list(experiment.definition.arms)}

        return await asyncio.to_thread(made)

    async def names(self) -> list[str]:
        """The names of all experiments."""
        return await asyncio.to_thread(self.store.experiments)

    def count_decision(self, name: str, decision: Decision) -> None:
        """Count a decision that was answered."""
        self.metrics.decisions.labels(name, str(decision.arm), decision.source).inc()

    async def summaries(self) -> list[dict[str, Any]]:
        """All experiments: names, policies and arms."""

        def found() -> list[dict[str, Any]]:
            rows = [self.store.experiment(name) for name in self.store.experiments()]
            return [
                {"name": row.name, "created_at": row.created_at, "created_by": row.created_by} | public(row.definition)
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

    async def last_decisions(self, name: str, units: Sequence[str]) -> Mapping[str, str | Problem]:
        """The last decision of each unit within the window, by its id; a problem where there is none, or two at once."""

        def found(experiment: Experiment) -> dict[str, str | Problem]:
            window = experiment.definition.settle.window
            return dict(zip(units, last_of_units(experiment.store, experiment.row.id, units, window), strict=True))

        return await self.read(name, found)

    # --- readiness --------------------------------------------------------------------------------------------------------

    async def check_ready(self) -> None:
        """Refuse where the store cannot be written, or processing is far behind."""
        try:
            await asyncio.to_thread(prepare, self.store)
        except StoreError as error:
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error), retry_after=1) from None
        for name, desk in list(self._desks.items()):
            self.metrics.lag.labels(name).set(desk.lag())
            if desk.lag() > limits.LAG:
                sentence = f"Processing of {brief(name)} is {desk.lag():.0f} refreshes behind."
                raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, sentence, retry_after=1)


def public(definition: str) -> dict[str, Any]:
    """The settings of an experiment that whoever may read may know: with the seed he could choose his arm."""
    settings = json.loads(definition)
    return {name: settings[name] for name in ("policy", "arms", "direction", "mode")}


@writing
def prepare(database: Database) -> None:
    """Make what the service needs beside the tables of live experiments; it writes in any case, as decisions do."""
    database._ask(TABLE)
    database._ask(
        "CREATE INDEX IF NOT EXISTS serve_unit ON live_decision (experiment, unit, decided_at) WHERE unit IS NOT NULL"
    )


@reading
def last_of_units(
    database: Database, experiment: int, units: Sequence[str], since: float | None
) -> list[str | Problem]:
    """The id of each unit's last decision, ``since`` seconds ago at most; two of the same time are refused."""
    found: dict[str, list[tuple[float, str]]] = {}
    rows = database._ask_rows(
        "SELECT d.unit, d.decided_at, d.id FROM r CROSS JOIN live_decision d WHERE d.unit = r.unit AND d.experiment = ?"
        f" AND (CAST(? AS DOUBLE PRECISION) IS NULL OR d.decided_at >= {database.now} - ?)",
        {"unit": "text"},
        [(unit,) for unit in units],
        experiment,
        since,
        since,
    )
    for unit, at, id_ in rows:
        found.setdefault(unit, []).append((at, id_))
    answers: list[str | Problem] = []
    for unit in units:
        newest = sorted(found.get(unit, []), reverse=True)[:2]
        if not newest:
            answers.append(Problem(HTTPStatus.NOT_FOUND, f"There is no decision of the unit {brief(unit)} in time."))
        elif len(newest) == 2 and newest[0][0] == newest[1][0]:
            sentence = f"The unit {brief(unit)} has two decisions of the same time: name the decision."
            answers.append(Problem(HTTPStatus.CONFLICT, sentence))
        else:
            answers.append(newest[0][1])
    return answers

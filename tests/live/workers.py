"""Processes that decide and reward, may be killed at any time, and go on where they were killed; and what must hold then.

A worker writes into its diary what it is about to call, and, before it does anything else, what it was told: that is
what was acknowledged. Whoever takes over its diary repeats the last call if it has no answer.
"""

import json
import math
import os
import random
import sqlite3
import time
import traceback
import zlib
from collections import defaultdict
from contextlib import closing
from multiprocessing import forkserver, get_context
from pathlib import Path
from types import SimpleNamespace

import pytest

from bandstrap import live
from bandstrap.errors import InvalidInput
from live import history

# An experiment whose weights are drawn, and where an arm is new for a short time only.
SHOP = {
    "policy": "bootstrapped_ucb_plus",
    "arms": ["a", "b", "c"],
    "seed": 7,
    "draws": 50,
    "burn_in": 3,
    "floor": 0.1,
    "refresh": 0.02,
}
HELD_OUT = {"holdout": 0.1, "control": "a"}

PROCESSES = get_context("forkserver")
PROCESSES.set_forkserver_preload(["live.loaded"])

# Seconds after which a process hangs; far more than any needs, on a machine that does much else.
PATIENCE = 300


def start(function, *arguments, **options):
    """Run a function in a process of its own.

    It is a child of a process that has loaded everything and opened nothing, so that hundreds are started in no time.
    """
    tests = str(Path(__file__).parent.parent)
    with pytest.MonkeyPatch.context() as patch:  # the server does not take the path from its parent in all versions
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (tests, os.environ.get("PYTHONPATH")))))
        forkserver.ensure_running()
    process = PROCESSES.Process(target=function, args=arguments, kwargs=options, daemon=True)
    process.start()
    return process


def finish(*processes):
    """Wait for processes, which must end well."""
    for process in processes:
        process.join(PATIENCE)
        assert process.exitcode == 0


def run(function, *arguments):
    """Run a function in a process of its own, to its end."""
    finish(start(function, *arguments))


# --- diaries ------------------------------------------------------------------------------------------------------------


class Diary:
    """Lines of JSON; a line that was cut short by a kill is not there."""

    def __init__(self, path):
        path = Path(path)
        self.lines = history.read_lines(path) if path.exists() else []
        whole = path.read_bytes().rfind(b"\n") + 1 if path.exists() else 0
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.truncate(self._file, whole)

    def __del__(self):
        os.close(self._file)

    def write(self, **line):
        """Append a line, with the time; the disk has it when this returns, whatever becomes of process and machine."""
        data = json.dumps(line | {"at": time.monotonic()}).encode() + b"\n"
        assert os.write(self._file, data) == len(data)
        os.fdatasync(self._file)
        self.lines.append(line)


def calls(lines):
    """Pairs of a call and its result, None if it has none; a call that was repeated is there twice."""
    pairs = []
    for line in lines:
        if "call" in line:
            pairs.append([line, None])
        elif "result" in line:
            pairs[-1][1] = line["result"]
    return pairs


def wait_for_lines(diaries, n):
    """Wait until so many lines more are in each diary."""
    deadline = time.monotonic() + PATIENCE

    def lengths():
        return [path.read_bytes().count(b"\n") if path.exists() else 0 for path in diaries]

    before = lengths()
    while any(now < then + n for now, then in zip(lengths(), before, strict=True)):
        assert time.monotonic() < deadline
        time.sleep(0.01)


# --- workers ------------------------------------------------------------------------------------------------------------


class Worker:
    """Somebody who decides and rewards through an experiment, with a diary."""

    def __init__(self, experiment, path):
        self.experiment = experiment
        self.name = Path(path).stem
        self.diary = Diary(path)
        self.decisions = {}
        self.owed = []  # decisions not yet rewarded
        self.unshown = []  # deferred decisions not yet activated
        before = calls(self.diary.lines)
        self.n_calls = len(before)
        for call, result in before:
            if result is not None:
                self._note(call, result)
        self.repeat()
        self.ask_again(list(self.decisions)[-3:])

    def repeat(self):
        """Repeat the last call if it has no answer."""
        if self.diary.lines and "call" in self.diary.lines[-1]:
            last = self.diary.lines[-1]
            self.call(last["call"], **last["with"])

    def call(self, method, **arguments):
        """Call a method of the experiment, and take down the call before and the result after."""
        call = {"call": method, "with": arguments}
        self.diary.write(**call)
        self.n_calls += 1
        try:
            result = plain(getattr(self.experiment, method)(**arguments))
        except InvalidInput as refusal:  # a change that was made before
            result = {"refused": str(refusal)}
        self.diary.write(result=result)
        self._note(call, result)
        return result

    def _note(self, call, result):
        if call["call"].startswith("decide"):
            for row in result:
                if row["key"] not in self.decisions:
                    self.owed.append(row["id"])
                    if call["with"].get("defer"):
                        self.unshown.append(row["id"])
                self.decisions[row["key"]] = row
        elif call["call"] == "reward_many":
            paid = {reward[0] for reward in call["with"]["rewards"]}
            self.owed = [id_ for id_ in self.owed if id_ not in paid]
        elif call["call"] == "activate":
            self.unshown.remove(call["with"]["decision"])

    def decide(self, n=1, **options):
        """Decide ``n`` times, with keys of its own."""
        keys = [f"{self.name}-{self.n_calls}-{i}" for i in range(n)]
        if n == 1:
            return self.call("decide", key=keys[0], unit=keys[0], **options)
        return self.call("decide_many", keys=keys, units=keys, **options)

    def reward(self, ids, key=None, more=0.0):
        """Reward decisions, each by what :func:`value_of` says."""
        return self.call("reward_many", rewards=[[id_, value_of(id_, key) + more, key] for id_ in ids])

    def change(self, kind, arm):
        """Change an arm, as an actor whom no other change has."""
        return self.call(kind, arm=arm, actor=f"{self.name} {self.n_calls}")

    def ask_again(self, keys):
        """The same key gives the same decision."""
        for key in keys:
            assert plain(self.experiment.decide(key=key, unit=key)) == [self.decisions[key]]


def plain(result):
    """What a call returned, as it is kept in a diary."""
    if isinstance(result, live.Decision):
        result = [result]
    if isinstance(result, list) and result and isinstance(result[0], live.Decision):
        fields = ("id", "key", "arm", "propensity", "version", "source")
        return [{field: getattr(decision, field) for field in fields} for decision in result]
    return "done" if result is None else result


def value_of(id_, key=None):
    """The reward of a decision under a key: one of 1000 values in [0, 1)."""
    return zlib.crc32(f"{id_} {key}".encode()) % 1000 / 1000


def at_work(target, name, path, stop, *, changes=False, patient=False, may_forget=False, timeout=10):
    """Decide, reward, refresh and change, at random, until there is a file ``stop``.

    Who is patient repeats what fails, until it does not. A server that may forget stores an old reward anew, or does not
    know its decision. Between calls they pause a little: SQLite lets one write at a time, and who has to wait for others
    is not served in turn.
    """
    with noted(path), live.open(target, name, timeout=timeout) as experiment:
        worker = Worker(experiment, path)
        rng = random.Random(f"{worker.name} {worker.n_calls}")  # noqa: S311 - no secret
        while not stop.exists() or (patient and "call" in worker.diary.lines[-1]):
            try:
                worker.repeat()
                step(worker, rng, may_forget)
                if changes and rng.random() < 0.05:
                    worker.change(rng.choice(["pause", "resume"]), "c")
                time.sleep(rng.uniform(0, 0.01))
            except live.StoreError:
                if not patient:
                    raise
                time.sleep(0.02)


def step(worker, rng, may_forget=False):
    """A few calls of a worker, as chance has it."""
    worker.decide(rng.choice([1, 1, 1, 5]), defer=rng.random() < 0.2)
    if worker.unshown and rng.random() < 0.5:
        worker.call("activate", decision=rng.choice(worker.unshown))
    if rng.random() < 0.8:
        worker.reward(rng.sample(worker.owed, min(len(worker.owed), rng.choice([1, 3]))))
    if rng.random() < 0.1:  # an old one again, and with another value: counted already
        old = rng.choice(list(worker.decisions.values()))["id"]
        if old not in worker.owed:
            assert worker.reward([old], more=1.0) == ["duplicate"] or may_forget
    if rng.random() < 0.2:
        worker.call("refresh")


class noted:  # noqa: N801 - reads as a word: with noted(path)
    """Take down in the diary's folder why a worker failed; ``check`` asks for it."""

    def __init__(self, path):
        self.path = Path(path)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if error is not None:
            text = "".join(traceback.format_exception(error))
            self.path.with_suffix(".failure").write_text(text)


def failure_of(path):
    """Why the worker with this diary failed, if it did."""
    file = Path(path).with_suffix(".failure")
    return file.read_text() if file.exists() else None


def kind_of(target):
    """Which database it is, in the words of a table."""
    return "PostgreSQL" if str(target).startswith("postgresql") else "SQLite"


# --- what must hold afterwards ------------------------------------------------------------------------------------------


# Parts of rows that name a decision by its number, or a text by its hash.
NUMBERED = ("live_activation", "live_reward", "live_learned", "live_pending", "live_void")
SHARED = ("weights", "available", "build")


def rows_of(target, table):
    """A table, without the store's own code: decisions by their ids, and texts in full."""
    rows = plain_rows_of(target, table)
    if rows and table in NUMBERED and is_numbered(target):
        ids = {row["number"]: row["id"] for row in plain_rows_of(target, "live_decision")}
        return [row | {"decision": ids.get(row["decision"])} for row in rows]
    if rows and table == "live_decision" and "number" in rows[0]:
        texts = {row["hash"]: row["body"] for row in plain_rows_of(target, "live_text")}
        rows = [row | {name: texts.get(row[name]) for name in SHARED} for row in rows]
        return [row | {"weights": row["own_weights"] or row["weights"]} for row in rows]
    return rows


def is_numbered(target):
    """Whether the schema is that of version 2 or later."""
    return plain_rows_of(target, "live_schema")[0]["version"] > 1


def plain_rows_of(target, table):
    """A table as it is."""
    query = f"SELECT * FROM {table}"  # noqa: S608 - names of ours
    if str(target).startswith("postgresql"):
        import psycopg
        from psycopg.rows import dict_row

        with psycopg.connect(target, row_factory=dict_row) as connection:
            return connection.execute(query).fetchall()
    with closing(sqlite3.connect(target)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(query)]


def stored_of(experiment, target):
    """All that is stored of an experiment."""

    def table(name):
        return [row for row in rows_of(target, name) if row["experiment"] == experiment.row.id]

    activated = [row["decision"] for row in rows_of(target, "live_activation")]
    parts = (table(f"live_{name}") for name in ("reward", "learned", "change"))
    return history.Stored(table("live_decision"), activated, *parts, arms=experiment.state.arms)


def check(target, name, diaries, settle=None, window=0.0, failures=(), note=None):
    """Everything acknowledged is there, once, as it was acknowledged; the log follows from it, and all from the log.

    Gives what was found and numbers of rows. ``settle`` says how rewards of a window become one, and there is a wait for
    the last to close; None where rewards are learned on arrival. ``failures`` are times at which a server was lost.
    ``note`` is told the findings, and whether all is replayed identically, before anything is asserted.
    """
    time.sleep(window)
    for path in diaries:
        assert failure_of(path) is None, failure_of(path)
    asked = history.read(*diaries)
    with live.open(target, name) as experiment:
        experiment.refresh()
        stored = stored_of(experiment, target)
        findings = history.judge(asked, stored, failures)
        if note is not None:
            note(findings, experiment.replay().is_identical)
        assert findings.is_sound, str(findings)
        changed = sorted(row["seq"] for row in stored.learned if row["kind"] == "change")
        assert changed == sorted(row["seq"] for row in stored.changes)
        check_log(stored, settle)
        number = experiment.row.id
        assert not [row for row in rows_of(target, "live_pending") if row["experiment"] == number]

        keys = [row["key"] for row in stored.decisions]
        again = {row["key"]: row for row in plain(experiment.decide_many(units=keys, keys=keys))} if keys else {}
        for call in asked:
            if call.method.startswith("decide") and call.is_acknowledged:
                assert all(again.get(row["key"], row) == row for row in call.result)
        assert len(stored_of(experiment, target).decisions) == len(keys)
        replay = experiment.replay()
        assert replay.is_identical, str(replay)
        assert (replay.decisions, replay.entries) == (len(keys), len(stored.learned))
        snapshots = [row for row in rows_of(target, "live_snapshot") if row["experiment"] == number]
    if not str(target).startswith("postgresql"):
        with closing(sqlite3.connect(target)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    activated = set(stored.activations)
    return SimpleNamespace(
        decisions=len(keys),
        rewards=len(stored.rewards),
        late=sum(bool(row["late"]) for row in stored.rewards),
        unshown=sum(bool(row["deferred"]) and row["id"] not in activated for row in stored.decisions),
        learned=len(stored.learned) - len(stored.changes),
        changes=len(stored.changes),
        snapshots=len(snapshots),
        versions=replay.versions,
        calls=len(asked),
        unanswered=sum(call.result is None for call in asked),
        findings=findings,
    )


def check_log(stored, settle):
    """The log has every decision that can be settled, with its own rewards."""
    entries = {row["decision"]: row for row in stored.learned if row["kind"] != "change"}
    arrived = defaultdict(list)
    for row in stored.rewards:
        if not row["late"]:
            arrived[row["decision"]].append((row["received_at"], row["id"], row["value"]))
    activated = set(stored.activations)
    counting = [row for row in stored.decisions if not row["deferred"] or row["id"] in activated]
    served = {row["id"]: row for row in counting if row["source"] != "holdout"}
    expected = {}
    for id_ in served:
        values = [value for *_, value in sorted(arrived[id_])]
        if settle is not None:
            expected[id_] = settle(values)
        elif values:
            expected[id_] = values[0]
    assert {id_: entry["reward"] for id_, entry in entries.items()} == expected
    assert all(entry["arm"] == served[id_]["arm"] for id_, entry in entries.items())


def total(values):
    """The sum of a window, 0 if nothing came."""
    return math.fsum(values)

"""Processes that are stopped (SIGSTOP) at any statement, and servers that do: others go on, or are told in time.

``BANDSTRAP_PAUSES=50`` makes a campaign of it.
"""

import os
import random
import signal
import time
from contextlib import suppress

import psycopg
import pytest

from bandstrap import live
from bandstrap.errors import InvalidInput
from bandstrap.live import fold
from live.checkout import make
from live.workers import (
    HELD_OUT,
    PATIENCE,
    SHOP,
    Worker,
    at_work,
    check,
    finish,
    kind_of,
    noted,
    start,
    wait_for_lines,
)
from sampling import exhaustive

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="processes cannot be stopped here")

N_PAUSES = int(os.environ.get("BANDSTRAP_PAUSES", "6"))
# Statements of a decision that finds rewards due, and a snapshot to be written, on PostgreSQL: all of them and some more.
STATEMENTS = range(1, 26)


def stopping_at(store, number, mark):
    """Let this process stop just before the statement of this number; 0 counts them."""
    ask, done = store._ask, []

    def counted(statement, *parameters):
        done.append(statement)
        if len(done) == number:
            mark.write_text(statement)
            os.kill(os.getpid(), signal.SIGSTOP)
        return ask(statement, *parameters)

    store._ask = counted
    return done


def decide_and_stop(target, path, number, mark, timeout):
    """Decide once, with rewards due, and stop at a statement on the way."""
    with noted(path), pytest.MonkeyPatch.context() as patch, live.open(target, "shop", timeout=PATIENCE) as experiment:
        patch.setattr(fold, "FEWEST_ENTRIES", 1)  # a snapshot with every refresh
        worker = Worker(experiment, path)
        worker.decide(3)
        worker.reward(worker.owed)
        experiment.store.timeout = timeout
        stopping_at(experiment.store, number, mark)
        worker.decide(1)
        mark.with_suffix(".done").touch()


def wait_for(*files):
    """Wait until one of some files is there."""
    until = time.monotonic() + PATIENCE
    while not any(file.exists() and file.stat().st_size + ("done" in file.name) for file in files):
        assert time.monotonic() < until
        time.sleep(0.005)


def resume(process):
    """Let a process go on that was stopped, unless it has ended."""
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGCONT)


@exhaustive
def test_a_worker_that_is_stopped_at_any_statement_stops_nobody(postgres, tmp_path, monkeypatch):
    """Others decide and reward meanwhile; a lock that were waited for would be held for minutes."""
    monkeypatch.setattr(fold, "FEWEST_ENTRIES", 1)
    target = postgres.new_schema()
    live.create(target, "shop", **SHOP | {"refresh": 0}).close()
    diaries, stopped, times = [tmp_path / "other.diary"], [], []
    with live.open(target, "shop", timeout=PATIENCE) as experiment:
        other = Worker(experiment, diaries[0])
        for number in STATEMENTS:
            mark = tmp_path / f"stopped{number}"
            diaries.append(tmp_path / f"worker{number}.diary")
            process = start(decide_and_stop, target, diaries[-1], number, mark, PATIENCE)
            try:
                wait_for(mark, mark.with_suffix(".done"))
                if mark.exists():
                    stopped.append(mark.read_text())
                for _ in range(2):
                    began = time.monotonic()
                    other.decide(1)
                    times.append(time.monotonic() - began)
                    other.reward(other.owed)
                assert not mark.exists() or process.is_alive()
            finally:
                resume(process)
            finish(process)
            if not mark.exists():
                break
        assert not mark.exists()  # all statements were tried
    assert any("INSERT INTO live_learned" in statement for statement in stopped)
    assert any("live_snapshot" in statement for statement in stopped)
    assert stopped.count("COMMIT") >= 2
    assert sorted(times)[len(times) // 2] < 1
    assert max(times) < PATIENCE / 4  # half of it, and the server would have cut the stopped worker off
    found = check(target, "shop", diaries)
    assert found.unanswered == 0


def call_and_stop(target, path, number, mark):
    """Make calls of every kind, and stop at a statement on the way."""
    with noted(path), pytest.MonkeyPatch.context() as patch, live.open(target, "shop", timeout=PATIENCE) as experiment:
        patch.setattr(fold, "FEWEST_ENTRIES", 1)  # a snapshot with every refresh
        worker = Worker(experiment, path)
        stopping_at(experiment.store, number, mark)
        worker.decide(2)
        worker.decide(defer=True)
        worker.reward(worker.owed[-3:])
        worker.call("activate", decision=worker.unshown[-1])
        worker.call("refresh")
        worker.change("pause", "c")
        worker.change("resume", "c")
        mark.with_suffix(".done").touch()


def stop_everywhere(target, folder, numbers, note):
    """Let a worker stop at one statement after another, while another one calls; gives how often that one was refused."""
    is_server = target.startswith("postgresql")
    live.create(target, "shop", **SHOP | HELD_OUT | {"refresh": 0}).close()
    diaries, refused, n_stopped = [folder / "other.diary"], 0, 0
    with live.open(target, "shop", timeout=PATIENCE if is_server else 0.2) as experiment:
        other = Worker(experiment, diaries[0])
        for number in numbers:
            mark = folder / f"stopped{number}"
            diaries.append(folder / f"worker{number}.diary")
            process = start(call_and_stop, target, diaries[-1], number, mark)
            try:
                wait_for(mark, mark.with_suffix(".done"))
                n_stopped += mark.exists()
                began = time.monotonic()
                try:
                    other.decide(1)
                    other.reward(other.owed)
                except live.StoreError as error:
                    refused += "another process keeps it locked (timeout 0.2 s)" in str(error)
                    assert not is_server, error  # noqa: PT017
                assert time.monotonic() - began < PATIENCE / 4  # see above
                assert experiment.replay().is_identical
                assert not mark.exists() or process.is_alive()
            finally:
                resume(process)
            finish(process)
            other.repeat()
            if not mark.exists():
                break
    found = check(target, "shop", diaries, note=note(n_stopped))
    assert found.unanswered == refused
    return refused, n_stopped


def test_whoever_is_stopped_at_some_statement_costs_nothing(tmp_path, noting):
    """A file of SQLite: others go on, or are told in time; reading works; afterwards all is there once."""
    target = str(tmp_path / "live.db")
    note = lambda number: noting(f"pauses at statements ({kind_of(target)})", number)  # noqa: E731
    refused, n_stopped = stop_everywhere(target, tmp_path, range(1, 40, 9), note)
    assert 0 < refused < n_stopped


@exhaustive
def test_whoever_is_stopped_at_any_statement_of_any_call_costs_nothing(target, tmp_path, noting):
    """On a server nobody else waits."""
    note = lambda number: noting(f"pauses at statements ({kind_of(target)})", number)  # noqa: E731
    refused, n_stopped = stop_everywhere(target, tmp_path, range(1, 200, 1 if N_PAUSES > 20 else 3), note)
    assert n_stopped > 8
    assert (refused > 0) == (not target.startswith("postgresql"))


@exhaustive
def test_workers_that_are_stopped_at_any_time_stop_no_others(target, tmp_path, noting):
    """Each of the others makes calls while one is stopped; on SQLite they may fail, and are made again."""
    rng = random.Random(f"pauses {N_PAUSES}")  # noqa: S311 - no secret
    end = tmp_path / "stop"
    diaries = [tmp_path / f"worker{i}.diary" for i in range(3)]
    live.create(target, "shop", **SHOP | HELD_OUT).close()
    timeout = 4 if target.startswith("postgresql") else 0.5
    workers = [
        start(at_work, target, "shop", path, end, changes=i == 0, patient=True, timeout=timeout)
        for i, path in enumerate(diaries)
    ]
    try:
        wait_for_lines(diaries, 4)
        for _ in range((N_PAUSES + 1) // 2):
            i = rng.randrange(len(workers))
            time.sleep(rng.uniform(0, 0.02))
            os.kill(workers[i].pid, signal.SIGSTOP)
            try:
                wait_for_lines([path for path in diaries if path != diaries[i]], 6)
            finally:
                resume(workers[i])
            wait_for_lines([diaries[i]], 2)
    finally:
        end.touch()
    finish(*workers)
    check(target, "shop", diaries, note=noting(f"pauses ({kind_of(target)})", (N_PAUSES + 1) // 2))


def test_a_worker_that_is_stopped_for_long_is_cut_off_and_goes_on_later(postgres, tmp_path):
    """The server ends its transaction, so that others append to the log; its call is made again when it wakes up."""
    target, path, mark = postgres.new_schema(), tmp_path / "worker.diary", tmp_path / "stopped"
    live.create(target, "shop", **SHOP | {"refresh": 0}).close()
    with live.open(target, "shop", timeout=PATIENCE) as experiment:
        other = Worker(experiment, tmp_path / "other.diary")
        other.decide(2)
        done = stopping_at(experiment.store, 0, mark)
        other.reward(other.owed)
        other.decide(1)
        # After the reward's own statements: the read, the beginning, and then the one that has the lock.
        inside = [i for i, statement in enumerate(done) if "SELECT seq, link FROM live_learned" in statement]
        n_reward = done.index("COMMIT") + 1
        number = inside[0] - n_reward + 1
        process = start(decide_and_stop, target, path, number, mark, 4)
        try:
            wait_for(mark)
            assert "SELECT seq, link FROM live_learned" in mark.read_text()
            version = experiment.state.version
            assert other.call("refresh") > version  # which waits until the server has cut off the other
            assert process.is_alive()
            assert not mark.with_suffix(".done").exists()
        finally:
            resume(process)
        finish(process)
    found = check(target, "shop", [path, tmp_path / "other.diary"])
    assert found.unanswered == 0


def test_a_server_that_is_frozen_is_told_in_time(postgres):
    """Whether it stops answering, or connecting, nothing is waited for without end; then all goes on."""
    with make(postgres.new_schema()) as experiment:
        first = experiment.decide(key="a")
        store = experiment.store
        ((backend,),) = store.ask("SELECT pg_backend_pid()")
        calls = (
            lambda: experiment.decide(key="b"),
            lambda: experiment.reward(first.id, 1.0),
            experiment.refresh,
            lambda: experiment.pause("red"),
        )
        for call in calls:
            os.kill(backend, signal.SIGSTOP)
            store.timeout = 0.2
            try:
                began = time.monotonic()
                with pytest.raises(live.StoreError, match=r"the server does not answer \(timeout 0.2 s\)\.$"):
                    call()
                assert 0.2 <= time.monotonic() - began < PATIENCE
            finally:
                os.kill(backend, signal.SIGCONT)
            store.timeout = PATIENCE
            ((backend,),) = store.ask("SELECT pg_backend_pid()")
        postgres.process.send_signal(signal.SIGSTOP)
        store.timeout = 0.2
        try:
            store.close()
            with pytest.raises(live.StoreError, match="timeout"):
                experiment.decide(key="b")
        finally:
            postgres.process.send_signal(signal.SIGCONT)
        store.timeout = PATIENCE
        assert experiment.decide(key="a") == first
        assert experiment.decide(key="b").key == "b"
        assert experiment.replay().is_identical


def test_reports_may_take_longer_than_calls(postgres):
    with make(postgres.new_schema()) as experiment:
        decision, store, slow = experiment.decide(), experiment.store, "SELECT 1 FROM pg_sleep(30)"
        store.timeout = 0.2
        assert store.ask("SELECT 1 FROM pg_sleep(0.4)") == [(1,)]
        for writes, words in ((False, "does not answer"), (True, "took too long")):
            with pytest.raises(live.StoreError, match=f"{words} \\(timeout 0.2 s\\)"):
                store._run(lambda: store._ask(slow), writes=writes)
        with psycopg.connect(store._url) as holder:
            holder.execute("LOCK TABLE live_reward IN EXCLUSIVE MODE")
            with pytest.raises(live.StoreError, match=r"another transaction keeps it locked \(timeout 0.2 s\)"):
                experiment.reward(decision.id, 1.0)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), "soon", None, True])
def test_a_timeout_is_a_length_of_time(tmp_path, timeout):
    for call in (lambda: make(tmp_path / "a.db", timeout=timeout), lambda: live.open(tmp_path, "x", timeout=timeout)):
        with pytest.raises(InvalidInput, match=r"The 'timeout' parameter of live\.(create|open) must be a"):
            call()
    assert not list(tmp_path.iterdir())


def test_reads_of_a_sqlite_file_go_on_while_its_writer_is_stopped(tmp_path):
    """Whoever writes is told: a file has one writer at a time, whom nobody can cut off."""
    target, path, mark = tmp_path / "live.db", tmp_path / "worker.diary", tmp_path / "stopped"
    live.create(target, "shop", **SHOP | {"refresh": 0}).close()
    with live.open(target, "shop", timeout=0.2) as experiment:
        done = stopping_at(experiment.store, 0, mark)
        experiment.decide()
        process = start(decide_and_stop, target, path, done.index("COMMIT"), mark, PATIENCE)
        try:
            wait_for(mark)
            with pytest.raises(live.StoreError, match=r"another process keeps it locked \(timeout 0.2 s\)"):
                experiment.decide()
            assert experiment.replay().is_identical
        finally:
            resume(process)
        finish(process)
        experiment.decide()
        assert experiment.replay().is_identical

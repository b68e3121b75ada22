"""A database that is restored from a backup in place, or made anew, under workers that go on."""

import sqlite3
import warnings
from contextlib import closing

import psycopg
import pytest

from bandstrap import live
from bandstrap.live import fold
from bandstrap.live.database import HistoryWarning
from live.checkout import make
from live.workers import plain_rows_of, rows_of

TABLES = (
    "experiment",
    "build",
    "text",
    "decision",
    "activation",
    "reward",
    "learned",
    "change",
    "void",
    "snapshot",
    "pending",
)


# --- restored in place --------------------------------------------------------------------------------------------------


def backup(target):
    """All that is in a database, to be restored later."""
    if target.startswith("postgresql"):
        return {f"live_{name}": plain_rows_of(target, f"live_{name}") for name in TABLES}
    copy = sqlite3.connect(":memory:")
    with closing(sqlite3.connect(target)) as source:
        source.backup(copy)
    return copy


def restore(target, saved):
    """Put back, in place, what was there."""
    if not target.startswith("postgresql"):
        with closing(sqlite3.connect(target)) as place:
            saved.backup(place)
        return
    with psycopg.connect(target) as connection:
        for table in reversed(saved):
            connection.execute(f"DELETE FROM {table}")  # noqa: S608
        for table, rows in saved.items():
            for row in rows:
                places = ", ".join(["%s"] * len(row))
                statement = f"INSERT INTO {table} ({', '.join(row)}) OVERRIDING SYSTEM VALUE VALUES ({places})"  # noqa: S608
                connection.execute(statement, list(row.values()))


def learn(experiment, best, n=20):
    """Learn that one arm is the best."""
    decisions = experiment.decide_many([None] * n)
    experiment.reward_many([(decision.id, float(decision.arm == best)) for decision in decisions])
    return experiment.refresh()


@pytest.mark.parametrize("refresh", [0, 1000])
def test_a_worker_of_a_restored_database_starts_again_from_its_log(either, monkeypatch, refresh):
    """Its log was replaced, and is longer than what the worker has read by the time it looks again."""
    monkeypatch.setattr(fold, "FEWEST_ENTRIES", 10)
    with make(either, policy="gaussian_ts", refresh=refresh) as worker:
        learn(worker, "red")
        saved = backup(either)
        assert learn(worker, "green", 40) == 60
        restore(either, saved)
        with live.open(either, "checkout") as other:
            assert learn(other, "blue", 50) == 70
            with pytest.warns(HistoryWarning, match="'checkout' was restored, lost its end or was made anew") as told:
                decision = worker.decide()
            assert told[0].filename == __file__
            assert decision.version == 70
            assert decision.weights == other.decide().weights
            learn(worker, "blue", 15)
        with live.open(either, "checkout") as fresh:  # from a snapshot, if there is one
            assert fresh.decide().weights == worker.decide().weights
            replay = fresh.replay()
            assert replay.is_identical, replay.first


@pytest.mark.parametrize("refresh", [0, 1000])
def test_no_decision_is_stored_on_a_version_that_is_gone(either, refresh):
    """Right after the restore, when the worker is ahead of the log."""
    with make(either, policy="gaussian_ts", refresh=refresh) as worker:
        learn(worker, "red")
        saved = backup(either)
        learn(worker, "green", 40)
        restore(either, saved)
        with pytest.warns(HistoryWarning):
            assert worker.decide(key="a").version == 20
        assert worker.decide(key="a").version == 20
        replay = worker.replay()
        assert replay.is_identical, replay.first


def test_a_snapshot_of_another_history_is_neither_written_nor_read(either, monkeypatch):
    monkeypatch.setattr(fold, "FEWEST_ENTRIES", 10)
    with make(either, policy="gaussian_ts") as worker:
        learn(worker, "red")
        saved = backup(either)
        learn(worker, "green", 40)
        state = worker.state
        restore(either, saved)
        with live.open(either, "checkout") as other:
            learn(other, "blue", 40)
        body = fold.write_snapshot(state)
        row, build = worker.row, worker.build.id
        worker.store.save_snapshot(row.id, state.version, build, state.link, body, fold.checksum(body))
        if either.startswith("postgresql"):
            write = psycopg.connect(either, autocommit=True)
        else:
            write = sqlite3.connect(either, isolation_level=None)
        with closing(write):
            assert write.execute(f"SELECT count(*) FROM live_snapshot WHERE link = {state.link}").fetchall() == [(0,)]  # noqa: S608
            # As one that was written before the restore, and is of a version that there is again.
            write.execute("DELETE FROM live_snapshot")
            values = f"({row.id}, {state.version}, '{build}', {state.link}, '{body}', '{fold.checksum(body)}', 0)"
            columns = "(experiment, version, build, link, body, checksum, at)"
            write.execute(f"INSERT INTO live_snapshot {columns} VALUES {values}")  # noqa: S608
        with live.open(either, "checkout") as fresh, live.open(either, "checkout") as twin:
            assert fresh.decide().weights == twin.decide().weights
            assert fresh.state.link != state.link
            replay = fresh.replay()
            assert replay.is_identical, replay.first


def make_anew(target, *names):
    """Empty tables, and experiments made in another order."""
    if target.startswith("postgresql"):
        with psycopg.connect(target) as connection:
            connection.execute(f"TRUNCATE {', '.join(f'live_{name}' for name in TABLES)} RESTART IDENTITY")
    else:
        with closing(sqlite3.connect(target)) as connection:
            for name in reversed(TABLES):
                connection.execute(f"DELETE FROM live_{name}")  # noqa: S608
            connection.commit()
    for name, arms in names:
        live.create(target, name, policy="ucb1", arms=arms, seed=7, refresh=1000, burn_in=2).close()


@pytest.mark.parametrize("first", ["decide", "reward", "activate", "refresh", "pause"])
def test_tables_made_anew_in_another_order_mix_no_experiments(either, first):
    checkout, search = ("checkout", ["red", "green"]), ("search", ["short", "long"])
    live.create(either, "x", policy="ucb1", arms=["a", "b"]).close()
    make_anew(either, checkout, search)
    with live.open(either, "checkout") as worker, live.open(either, "search") as other:
        old = worker.decide(key="old", defer=True)
        learn(worker, "green")
        make_anew(either, search, checkout)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HistoryWarning)
            if first == "decide":
                assert worker.decide(key="k").version == 0
            elif first == "pause":
                worker.pause("red")
            elif first == "refresh":
                assert worker.refresh() == 0
            else:
                with pytest.raises(ValueError, match="must be the id of a decision of this experiment"):
                    getattr(worker, first)(old.id, *([1.0] if first == "reward" else []))
            new = worker.decide(key="new")
            assert new.arm in ("red", "green")
            assert worker.reward(new.id, 1.0) == "stored"
            worker.refresh()
            for experiment in (worker, other):
                replay = experiment.replay()
                assert replay.is_identical, replay.first
            assert other.status().decisions == {}


def test_another_definition_under_the_same_name_is_refused(either):
    live.create(either, "x", policy="ucb1", arms=["a", "b"]).close()
    make_anew(either, ("checkout", ["red", "green"]))
    with live.open(either, "checkout") as worker:
        worker.decide()
        make_anew(either, ("checkout", ["red", "blue"]))
        for call in (worker.decide, worker.refresh, lambda: worker.pause("red"), worker.status, worker.replay):
            with pytest.raises(live.StoreError, match="without this experiment 'checkout'"):
                call()
        assert rows_of(either, "live_decision") == []

"""A server is lost, and its standby takes its place under workers that go on.

``BANDSTRAP_FAILOVERS=20`` makes a campaign of it.
"""

import os
import signal
import time
import warnings

import psycopg
import pytest

from bandstrap import live
from bandstrap.live import fold
from bandstrap.live.database import HistoryWarning
from bandstrap.live.store import Store
from live.workers import PATIENCE, SHOP, Worker, at_work, check, finish, start, wait_for_lines
from sampling import exhaustive, telling

N_FAILOVERS = int(os.environ.get("BANDSTRAP_FAILOVERS", "4"))
N_WORKERS = 3

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="processes cannot be stopped here")


class Pair:
    """A primary and its standby, of which each takes the other's place in turn."""

    def __init__(self, programs):
        from postgres_server import PostgresServer, Standby

        class Primary(PostgresServer):
            def find_programs(self):
                return programs

        self.Standby = Standby
        self.primary = Primary()
        self.standby = None
        self.n_databases = 0

    def follow(self):
        """Start a standby of the primary, and give the address of a new database on both: whoever may be written to."""
        if self.primary.process is None:
            self.primary.start()
        self.standby = self.Standby(self.primary)
        self.standby.start()
        self.sender = self.standby.sender()
        self.n_databases += 1
        name = f"shop{self.n_databases}"
        with psycopg.connect(self.primary.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        hosts = f"{self.primary.folder},{self.standby.folder}"
        return f"postgresql://postgres@/{name}?host={hosts}&target_session_attrs=read-write"

    def set_synchronous(self, yes):
        """Let the primary acknowledge nothing that its standby does not have."""
        with psycopg.connect(self.primary.url("postgres"), autocommit=True) as connection:
            connection.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{'*' if yes else ''}'")
            connection.execute("SELECT pg_reload_conf()")
            wanted = "sync" if yes else "async"
            query = "SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'"
            deadline = time.monotonic() + PATIENCE
            while connection.execute(query).fetchone() != (wanted,):
                assert time.monotonic() < deadline
                time.sleep(0.01)

    def fall_behind(self):
        """Let the standby hear of nothing from now on."""
        os.kill(self.sender, signal.SIGSTOP)

    def fail_over(self):
        """Lose the primary, and let the standby take its place; gives the time at which it was lost."""
        self.primary.kill()
        lost = time.monotonic()
        self.standby.promote()
        self.primary.remove()
        with psycopg.connect(self.standby.url("postgres"), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM RESET synchronous_standby_names")
            connection.execute("SELECT pg_reload_conf()")
        self.primary, self.standby = self.standby, None
        return lost

    def remove(self):
        for server in (self.standby, self.primary):
            if server is not None:
                server.remove()


@pytest.fixture(scope="module")
def pair(postgres):
    """Servers of which no other test has databases."""
    pair = Pair(postgres.programs)
    try:
        yield pair
    finally:
        pair.remove()


def learn(experiment, best, n):
    """Learn that one arm is the best."""
    decisions = experiment.decide_many([None] * n)
    experiment.reward_many([(decision.id, float(decision.arm == best)) for decision in decisions])
    return experiment.refresh()


def test_a_worker_that_was_ahead_of_the_standby_starts_again_from_its_log(pair, monkeypatch):
    """It looks again only when the log of the standby is longer than what it has read, and has other entries."""
    monkeypatch.setattr(fold, "FEWEST_ENTRIES", 10)
    target = pair.follow()
    told = {"policy": "gaussian_ts", "arms": ["a", "b", "c"], "seed": 7, "burn_in": 2, "refresh": 0}
    with live.create(target, "shop", **told) as worker:
        learn(worker, "a", 20)
        wait_until_replayed(pair)
        pair.fall_behind()
        lost = worker.decide(key="lost")
        assert learn(worker, "b", 30) == 50
        pair.fail_over()
        with live.open(target, "shop") as other:
            assert learn(other, "c", 40) == 60
            with pytest.warns(HistoryWarning, match="'shop' was restored, lost its end or was made anew"):
                decision = worker.decide()
            assert decision.version == 60
            assert decision.weights == other.decide().weights
            with pytest.raises(ValueError, match="must be the id of a decision of this experiment"):
                worker.reward(lost.id, 1.0)
            assert worker.decide(key="lost").id == lost.id
            assert worker.reward(lost.id, 1.0) == "stored"
            learn(worker, "c", 15)
        with live.open(target, "shop") as fresh:  # from a snapshot, if there is one
            assert fresh.decide().weights == worker.decide().weights
            replay = fresh.replay()
            assert replay.is_identical, replay.first


def wait_until_replayed(pair):
    """Wait until the standby has all that the primary has written."""
    deadline = time.monotonic() + PATIENCE
    with psycopg.connect(pair.primary.url("postgres"), autocommit=True) as connection:
        query = "SELECT replay_lsn >= pg_current_wal_flush_lsn() FROM pg_stat_replication"
        while connection.execute(query).fetchone() != (True,):
            assert time.monotonic() < deadline
            time.sleep(0.01)


@telling("is_synchronous", [False, True], [False])
def test_of_a_fail_over_under_workers_only_the_end_of_the_history_may_be_lost(pair, tmp_path, noting, is_synchronous):
    """And nothing at all where the primary waits for its standby; every worker goes on, and replay is identical."""
    kind = f"fail-overs, {'synchronous' if is_synchronous else 'asynchronous'} (PostgreSQL)"
    given_up = 0
    for number in range(N_FAILOVERS // 4 if N_FAILOVERS < 20 else N_FAILOVERS // 2):
        target, stop = pair.follow(), tmp_path / f"stop{number}"
        pair.set_synchronous(is_synchronous)
        live.create(target, "shop", **SHOP | {"refresh": 0}).close()
        diaries = [tmp_path / f"worker{i} {number}.diary" for i in range(N_WORKERS)]
        workers = [
            start(at_work, target, "shop", path, stop, changes=i == 0, patient=True, may_forget=not is_synchronous)
            for i, path in enumerate(diaries)
        ]
        try:
            wait_for_lines(diaries, 8)
            if not is_synchronous:
                pair.fall_behind()
                wait_for_lines(diaries, 8)
            lost = pair.fail_over()
            wait_for_lines(diaries, 8)
        finally:
            stop.touch()
        finish(*workers)
        failures = () if is_synchronous else [lost]
        given_up += check(target, "shop", diaries, failures=failures, note=noting(kind)).findings.given_up
    assert (given_up > 0) == (not is_synchronous)


@exhaustive
def test_what_a_synchronous_standby_does_not_have_is_not_acknowledged(pair, tmp_path):
    """No limit on the server may end its wait for the standby, which it would report as success."""
    target = pair.follow()
    pair.set_synchronous(True)
    with live.create(target, "shop", **SHOP | {"refresh": 0}) as experiment:
        worker = Worker(experiment, tmp_path / "worker.diary")
        worker.decide(2)
        pair.fall_behind()
        experiment.store.timeout = 1
        with pytest.raises(live.StoreError, match=r"does not answer \(timeout 1 s\)\.$"):
            worker.decide(2)
        experiment.store.timeout = PATIENCE
        pair.fail_over()
        worker.repeat()
        worker.decide(2)
    assert check(target, "shop", [tmp_path / "worker.diary"]).findings.given_up == 0


@exhaustive
def test_without_the_chain_a_fail_over_is_found_to_spoil_the_replay(pair, monkeypatch):
    """The negative control: a worker that does not compare links applies new entries to a state that is gone."""
    monkeypatch.setattr(fold, "FEWEST_ENTRIES", 10)
    target = pair.follow()
    told = {"policy": "gaussian_ts", "arms": ["a", "b", "c"], "seed": 7, "burn_in": 2, "refresh": 0}
    with live.create(target, "shop", **told) as worker:
        learn(worker, "a", 20)
        wait_until_replayed(pair)
        pair.fall_behind()
        learn(worker, "b", 30)
        pair.fail_over()
        with live.open(target, "shop") as other:
            learn(other, "c", 40)
        due, link = Store._due, worker._state.link
        monkeypatch.setattr(Store, "_due", lambda *arguments: (*due(*arguments)[:2], link))
        monkeypatch.setattr(fold, "next_link", lambda link, entry: entry.link)
        with warnings.catch_warnings():
            warnings.simplefilter("error", HistoryWarning)
            worker.decide()
        assert not worker.replay().is_identical

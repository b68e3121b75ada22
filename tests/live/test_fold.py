"""States, and the snapshots that spare the way to them."""

import json
import shutil
import sqlite3

import numpy as np
import pytest

from bandstrap import MOSS, UCB1, live
from bandstrap.live import fold
from bandstrap.live.database import HistoryWarning
from bandstrap.live.rows import LogEntry
from live.checkout import ARMS, make


@pytest.fixture
def target(tmp_path, monkeypatch):
    monkeypatch.setattr(fold, "FEWEST_ENTRIES", 10)
    return tmp_path / "a.db"


def play(experiment, n, seed=1):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        experiment.reward(experiment.decide().id, float(rng.integers(2)))
    experiment.refresh()


def snapshots(target):
    with sqlite3.connect(target) as connection:
        found = connection.execute(
            "SELECT version, build, link, body, checksum FROM live_snapshot WHERE build NOT LIKE '% %' ORDER BY version"
        ).fetchall()
    connection.close()
    return found


def tamper(target, statement, *values):
    with sqlite3.connect(target) as connection:
        assert connection.execute(statement, values).rowcount >= 1
    connection.close()


def read_entries(experiment, monkeypatch):
    """The position after which an experiment reads the log first, from now on."""
    read = []
    entries = experiment.store.entries

    def noting(row, after, limit, **options):
        read.append(after)
        return entries(row, after, limit, **options)

    monkeypatch.setattr(experiment.store, "entries", noting)
    return read


def test_a_snapshot_is_due_after_a_thousand_entries_or_a_twentieth_of_all():
    assert not fold.is_due(999, 0)
    assert fold.is_due(1000, 0)
    assert not fold.is_due(100_000, 95_001)
    assert fold.is_due(100_000, 95_000)


def test_a_worker_that_starts_goes_on_from_the_last_snapshot(target, monkeypatch):
    experiment = make(target, policy="bernoulli_ts")
    play(experiment, 35)
    assert [version for version, *_ in snapshots(target)] == [10, 20, 30]
    fresh = live.open(target, "checkout")
    read = read_entries(fresh, monkeypatch)
    assert fresh.refresh() == 35
    assert read[0] == 30
    assert fold.write_snapshot(fresh.state) == fold.write_snapshot(experiment.state)


DAMAGE = {
    "one letter": "UPDATE live_snapshot SET body = replace(body, 'a', 'b') WHERE version = 30",
    "cut short": "UPDATE live_snapshot SET body = substr(body, 1, 100) WHERE version = 30",
    "empty": "UPDATE live_snapshot SET body = '' WHERE version = 30",
    "checksum": "UPDATE live_snapshot SET checksum = 'x' WHERE version = 30",
    "moved": "UPDATE live_snapshot SET version = 31 WHERE version = 30",
    "another build's": "UPDATE live_snapshot SET build = 'other' WHERE version = 30 AND build NOT LIKE '% %'",
    "missing": "DELETE FROM live_snapshot WHERE version = 30",
}


@pytest.mark.parametrize("statement", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_snapshot_that_is_not_good_is_passed_over(target, monkeypatch, statement):
    experiment = make(target, policy="bernoulli_ts")
    play(experiment, 35)
    tamper(target, statement)
    fresh = live.open(target, "checkout")
    read = read_entries(fresh, monkeypatch)
    assert fresh.refresh() == 35
    assert read[0] == 20
    assert fold.write_snapshot(fresh.state) == fold.write_snapshot(experiment.state)


@pytest.mark.parametrize(
    "change",
    [
        lambda saved: {},
        lambda saved: [],
        lambda saved: saved | {"format": 99},
        lambda saved: saved | {"policy": None},
        lambda saved: saved | {"policy": saved["policy"] | {"version": 99}},
        lambda saved: saved | {"settings": {"colour": "red"}},
        lambda saved: {key: value for key, value in saved.items() if key != "arms"},
    ],
)
def test_what_others_sealed_is_passed_over(target, change):
    """Under a right checksum."""
    experiment = make(target, policy="bernoulli_ts")
    play(experiment, 12)
    _, build, link, body, _ = snapshots(target)[0]
    body = json.dumps(change(json.loads(body)))
    experiment.store.save_snapshot(experiment.row.id, 10, build, link, body, fold.checksum(body))
    fresh = live.open(target, "checkout")
    assert fold.write_snapshot(fresh.state) == fold.write_snapshot(experiment.state)
    assert "snapshot of version 10 is damaged" in fresh.replay().first


@pytest.mark.parametrize("what", ["save_snapshot", "latest_snapshot"])
def test_a_snapshot_that_cannot_be_written_is_no_failure_of_the_decision(target, monkeypatch, what):
    experiment = make(target, policy="bernoulli_ts")
    experiment.decide()

    def fails(*_):
        raise live.StoreError("The disk is full.")

    monkeypatch.setattr(experiment.store, what, fails)
    play(experiment, 15)
    assert snapshots(target) == []
    assert experiment.decide().version == 15


def test_workers_do_not_write_the_same_snapshots(target):
    first, second = make(target, policy="bernoulli_ts"), live.open(target, "checkout")
    for i in range(6):
        play(first, 5, seed=i)
        second.refresh()
    assert [version for version, *_ in snapshots(target)] == [10, 20, 30]
    with sqlite3.connect(target) as connection:
        assert connection.execute("SELECT count(*) FROM live_snapshot").fetchone() == (6,)  # and of counters
    connection.close()


def test_changes_of_arms_and_settings_are_in_the_snapshot(target):
    experiment = make(target, policy="bernoulli_ts")
    play(experiment, 5)
    experiment.add_arm("teal")
    experiment.pause("red")
    experiment.change(floor=0.05, refresh=0)
    play(experiment, 12)
    state = live.open(target, "checkout").state
    assert state.arms == [*ARMS, "teal"]
    assert state.status == ["paused", "active", "active", "active"]
    assert state.settings.floor == 0.05
    assert state.settings.arms == experiment.definition.arms == tuple(ARMS)
    assert fold.write_snapshot(state) == fold.write_snapshot(experiment.state)
    assert experiment.replay().is_identical


def test_an_older_copy_of_the_database_takes_effect(target, tmp_path):
    """Put in the place of the newer one while a worker runs: its state, and snapshots of later versions, are of no use."""
    experiment = make(target, policy="bernoulli_ts")
    play(experiment, 8)
    experiment.close()
    shutil.copy(target, tmp_path / "old.db")
    play(experiment, 30)
    experiment.close()
    *_, newest = snapshots(target)
    shutil.copy(tmp_path / "old.db", target)
    experiment.store.save_snapshot(experiment.row.id, *newest)
    with pytest.warns(HistoryWarning):
        assert experiment.decide().version == 8
    assert live.open(target, "checkout").decide().version == 8
    assert snapshots(target) == []
    assert experiment.replay().is_identical


def test_a_log_with_a_gap_is_not_folded(target):
    state = fold.LiveState(make(target, policy="ucb1").definition)
    entries = [LogEntry(seq, "reward", None, 0, 1.0, None, None, None) for seq in (1, 2, 4)]
    with pytest.raises(live.StoreError, match=r"entry 3 is missing"):
        state.fold(entries)


def test_a_sum_beyond_what_a_policy_takes_is_the_largest_it_takes(target):
    state = fold.LiveState(make(target, policy="ucb1").definition)
    state.fold(
        [
            LogEntry(1, "reward", None, 0, 3e150, None, None, None),
            LogEntry(2, "reward", None, 0, -3e200, None, None, None),
        ]
    )
    assert state.rewards == [2, 0, 0]


def test_builds_tell_policies_apart():
    ucb1 = fold.this_build(UCB1())
    assert ucb1 == fold.this_build(UCB1())
    assert ucb1.id != fold.this_build(MOSS()).id
    assert "numpy" in ucb1.libraries
    assert ucb1.platform.strip()

"""A replay makes every decision again, and sees whatever was changed behind the experiment's back."""
# ruff: noqa: S608 - statements are made of this file's own parts

import json
import re
import sqlite3
import threading
import time

import numpy as np
import pytest

from bandstrap import live
from bandstrap.live import fold
from bandstrap.live.chain import hash_of
from live.checkout import at, make

PATIENCE = 300  # seconds after which something hangs


def played(target, n=60):
    """An experiment with decisions and rewards, some of them late, never, or of the holdout."""
    experiment = make(target, floor=0.1, holdout=0.1, control="red")
    rng = np.random.default_rng(3)
    waiting = []
    for i in range(n):
        waiting.append(experiment.decide(unit=f"u{i}", key=f"k{i}", available=None if i % 5 else ["red", "blue"]).id)
        if i % 3 == 0:
            rng.shuffle(waiting)
            experiment.reward(waiting.pop(), float(rng.normal()))
    experiment.refresh()
    experiment.close()
    return experiment


def tamper(target, statement, *values):
    """Change the database behind the experiment's back; ``text`` stores a text that decisions share."""
    with sqlite3.connect(target) as connection:
        for text in re.findall(r"text\('(.*?)'\)", statement):
            connection.execute("INSERT OR IGNORE INTO live_text VALUES (?, ?)", (hash_of(text), text))
        connection.create_function("text", 1, hash_of)
        changed = connection.execute(statement, values).rowcount
    connection.close()
    assert changed >= 1


def test_an_untouched_experiment_is_identical(tmp_path):
    report = played(tmp_path / "a.db").replay()
    assert report.is_identical
    assert report.first is None
    assert report.decisions == 60
    assert 10 < report.versions <= report.entries + 1
    assert report.builds == {report.build: 60}
    assert str(report).startswith("identical: 60 decisions on")


ONE = "WHERE id = (SELECT id FROM live_decision WHERE source = 'policy' ORDER BY decided_at, id LIMIT 1 OFFSET 30)"
LEARNED = "WHERE seq = 9"
TAMPERED = {
    "arm": (f"UPDATE live_decision SET arm = (arm + 1) % 3 {ONE}", "its arm differs|has arm"),
    "propensity, by one bit": (
        f"UPDATE live_decision SET propensity = propensity * (1 + 2.3e-16) {ONE}",
        "has propensity",
    ),
    "weights": (f"UPDATE live_decision SET weights = text('[0.2, 0.3, 0.5]') {ONE}", "has weights"),
    "source": (f"UPDATE live_decision SET source = 'shadow' {ONE}", "has source 'shadow'"),
    "proposed": (f"UPDATE live_decision SET proposed = 1 {ONE}", "has proposed 1"),
    "key": (f"UPDATE live_decision SET key = 'another' {ONE}", "has id"),
    "available": (f"UPDATE live_decision SET available = text('[0, 1]') {ONE}", "has (arm|propensity|weights)"),
    "available that is no JSON": (f"UPDATE live_decision SET available = text('x') {ONE}", "cannot be made again"),
    "an unknown arm": (f"UPDATE live_decision SET available = text('[17]') {ONE}", "cannot be made again"),
    "version": (f"UPDATE live_decision SET version = 0 {ONE}", "has (arm|propensity|weights)"),
    "version that is not there": (
        f"UPDATE live_decision SET version = 999 {ONE}",
        "Version 999, on which 1 decision is based, is beyond the log of",
    ),
    "held out, served otherwise": (
        "UPDATE live_decision SET arm = 2 WHERE id = (SELECT id FROM live_decision WHERE source = 'holdout' LIMIT 1)",
        "has arm 2; from the log follows 0",
    ),
    "learned reward": (f"UPDATE live_learned SET reward = reward + 1 {LEARNED}", "Entry 9 of the log has reward"),
    "learned arm": (
        f"UPDATE live_learned SET arm = (arm + 1) % 3 {LEARNED}",
        "Entry 9 of the log has no decision, or its arm differs",
    ),
    "learned kind": (f"UPDATE live_learned SET kind = 'nothing' {LEARNED}", "Entry 9 of the log has nothing"),
    "entry in the middle deleted": (f"DELETE FROM live_learned {LEARNED}", "neither learned nor in the queue"),
    "last entry deleted": (
        "DELETE FROM live_learned WHERE seq = (SELECT max(seq) FROM live_learned)",
        "^1 decision is neither learned nor in the queue",
    ),
    "stored reward": (
        "UPDATE live_reward SET value = value + 1 WHERE decision = (SELECT decision FROM live_learned WHERE seq = 9)",
        "Entry 9 of the log has reward",
    ),
    "reward deleted": (
        "DELETE FROM live_reward WHERE decision = (SELECT decision FROM live_learned WHERE seq = 9)",
        "Entry 9 of the log has reward",
    ),
    "definition": (
        "UPDATE live_experiment SET definition = replace(definition, '\"seed\": 7', '\"seed\": 8')",
        "definition or creator has changed since its creation",
    ),
    "creator": ("UPDATE live_experiment SET created_by = 'eve'", "definition or creator has changed since"),
    "identity": ("UPDATE live_experiment SET identity = identity || 'a'", "definition or creator has changed since"),
    "build of a decision": (
        f"UPDATE live_decision SET build = text('b') {ONE}",
        "1 decision names the build 'b', which is not",
    ),
    "shared text": (
        "UPDATE live_text SET body = replace(body, '0', '1') WHERE body LIKE '[0.%'",
        "has weights 'the text",
    ),
    "lost text": (
        "DELETE FROM live_text WHERE body NOT LIKE '[%'",
        "names? the build 'the text [-0-9]+, which is lost'",
    ),
    "build": ("UPDATE live_build SET libraries = 'numpy'", "is not what its id says"),
    "first entry": ("UPDATE live_learned SET link = link + 1 WHERE seq = 1", "does not begin with the identity"),
}


@pytest.mark.parametrize(("statement", "sentence"), TAMPERED.values(), ids=TAMPERED.keys())
def test_what_was_changed_is_seen(tmp_path, statement, sentence):
    target = tmp_path / "a.db"
    played(target)
    tamper(target, statement)
    report = live.open(target, "checkout").replay()
    assert not report.is_identical
    assert report.differences >= 1
    assert re.search(sentence, report.first), report.first
    assert str(report).startswith("different in ")


def test_a_missing_entry_stops_the_folding_and_is_reported(tmp_path):
    target = tmp_path / "a.db"
    played(target)
    tamper(target, "DELETE FROM live_learned WHERE seq = 9")
    experiment = live.open(target, "checkout")
    with pytest.raises(live.StoreError, match=r"log of the experiment is damaged: entry 9 is missing"):
        experiment.decide()
    assert experiment.replay().differences > 1


def test_a_change_of_arms_edited_afterwards_is_seen(tmp_path):
    target = tmp_path / "a.db"
    experiment = played(target)
    experiment.pause("blue")
    experiment.decide_many([f"v{i}" for i in range(20)])
    assert experiment.replay().is_identical
    tamper(target, "UPDATE live_change SET body = ? WHERE kind = 'pause'", json.dumps({"arm": "green"}))
    report = live.open(target, "checkout").replay()
    assert "is not the one that was written after entry" in report.first


def test_a_change_of_a_kind_that_comes_later_is_told(tmp_path):
    target = tmp_path / "a.db"
    experiment = played(target)
    experiment.store.append_change(experiment.row.id, "paint", "{}", "me", experiment.refresh())
    assert "'paint', which this version does not know" in live.open(target, "checkout").replay().first


def test_decisions_of_another_build_are_counted(tmp_path):
    target = tmp_path / "a.db"
    played(target)
    tamper(target, "UPDATE live_decision SET build = text('older') WHERE version < 5")
    tamper(target, "UPDATE live_decision SET arm = (arm + 1) % 3 WHERE version = 3 AND source = 'policy'")
    report = live.open(target, "checkout").replay()
    assert set(report.builds) == {"older", report.build}
    assert "decisions were made by another build" in str(report)


def test_window_and_default_are_checked_too(tmp_path):
    target = tmp_path / "a.db"
    experiment = make(target, window="1m", default_reward=0.0, aggregate="sum")
    at(experiment, 1000)
    decisions = experiment.decide_many(keys=["a", "b", "c"])
    experiment.reward_many([(decisions[0].id, 1.0, "x"), (decisions[0].id, 2.0, "y")])
    at(experiment, 2000)
    assert experiment.refresh() == 3
    assert experiment.replay().is_identical
    experiment.close()
    tamper(
        target, "UPDATE live_learned SET reward = 0.5 WHERE kind = 'default' AND seq = 3 OR seq = 3 AND reward = 3.0"
    )
    assert "which is not what is to be learned" in live.open(target, "checkout").replay().first


def test_a_damaged_snapshot_is_reported_and_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr(fold, "FEWEST_ENTRIES", 5)
    target = tmp_path / "a.db"
    before = played(target).state
    chances = before.chances(before.active())
    assert live.open(target, "checkout").replay().is_identical
    newest = "WHERE version = (SELECT max(version) FROM live_snapshot)"
    tamper(target, f"UPDATE live_snapshot SET body = replace(body, '1', '2') {newest}")
    report = live.open(target, "checkout").replay()
    assert "snapshot of version" in report.first
    assert "is damaged" in report.first
    after = live.open(target, "checkout").state
    assert after.chances(after.active()) == chances


def test_a_snapshot_of_another_state_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(fold, "FEWEST_ENTRIES", 5)
    target = tmp_path / "a.db"
    played(target)
    with sqlite3.connect(target) as connection:
        version, body = connection.execute(
            "SELECT version, body FROM live_snapshot ORDER BY version LIMIT 1"
        ).fetchone()
        saved = json.loads(body)
        saved["rewards"][0] += 1
        body = json.dumps(saved)
        connection.execute(
            "UPDATE live_snapshot SET body = ?, checksum = ? WHERE version = ?", (body, fold.checksum(body), version)
        )
    connection.close()
    report = live.open(target, "checkout").replay()
    assert report.first == f"The snapshot of version {version} is not the state that follows from the log."


def test_others_may_go_on_during_a_replay(tmp_path):
    target = tmp_path / "a.db"
    played(target, 20)
    done = threading.Event()

    def work():
        experiment = live.open(target, "checkout", durability="normal")
        while not done.is_set():
            decisions = experiment.decide_many([f"v{i}" for i in range(5)])
            experiment.reward_many([(decision.id, 1.0) for decision in decisions])

    thread = threading.Thread(target=work)
    thread.start()
    try:
        reports = [live.open(target, "checkout").replay() for _ in range(5)]
        until = time.monotonic() + PATIENCE
        while reports[-1].entries == reports[0].entries and time.monotonic() < until:  # the other may be slow
            reports.append(live.open(target, "checkout").replay())
    finally:
        done.set()
        thread.join()
    assert {report.first for report in reports} == {None}
    assert reports[-1].entries > reports[0].entries

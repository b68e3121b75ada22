"""Rewards that cannot be: ranges refuse or clip them, a warning tells of them, and voids take them back."""

import json
import sqlite3
import warnings

import numpy as np
import polars
import pytest

from bandstrap import live
from bandstrap.errors import InvalidInput
from bandstrap.live import experiment as module
from bandstrap.live import fold
from bandstrap.live.elsewhere import void_all
from bandstrap.live.settings import Settings
from live.checkout import ARMS, at, make
from naive.live_verifier import verify
from sampling import telling

# --- ranges -------------------------------------------------------------------------------------------------------------


def test_a_reward_outside_the_range_is_refused_by_every_worker(either):
    with make(either, reward_range=(-1, 100.0)) as experiment, live.open(either, "checkout") as other:
        decision = experiment.decide()
        for worker in (experiment, other):
            for value in (-1.5, 1e150, np.float64(100.5), 101):
                with pytest.raises(InvalidInput, match=r"'value' .* inside the experiment's reward_range \[-1, 100\]"):
                    worker.reward(decision.id, value)
            for value in (float("nan"), float("inf"), "1", None):
                with pytest.raises(InvalidInput, match="'value' parameter of reward must be"):
                    worker.reward(decision.id, value)
        with pytest.raises(InvalidInput):  # all or none
            experiment.reward_many([(decision.id, 1.0), (decision.id, 1e3, "b")])
        assert experiment.reward(decision.id, 100) == "stored"
        assert experiment.status().rewards == 1


def test_a_reward_outside_the_range_is_clipped_where_that_was_chosen(either):
    with make(either, reward_range=(0, 10), out_of_range="clip", direction="min") as experiment:
        for value, stored in ((-3, 0.0), (7.5, 7.5), (1e150, 10.0)):
            experiment.reward(experiment.decide().id, value)
            experiment.refresh()
            assert experiment.store.entries(experiment.row.id, 0, 10)[-1].reward == stored
        with pytest.raises(InvalidInput):
            experiment.reward(experiment.decide().id, float("inf"))
        assert experiment.replay().is_identical


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"reward_range": (1, 1)}, "first below the second"),
        ({"reward_range": (2, 1)}, "first below the second"),
        ({"reward_range": 5}, "two numbers"),
        ({"reward_range": (0, 1, 2)}, "two numbers"),
        ({"reward_range": (0, float("inf"))}, "reward_range"),
        ({"reward_range": (0, float("nan"))}, "reward_range"),
        ({"reward_range": (0, "1")}, "reward_range"),
        ({"reward_range": (0, 1), "out_of_range": "drop"}, "out_of_range"),
        ({"out_of_range": "clip"}, "'reward_range' .* given with out_of_range='clip'"),
        ({"reward_range": (1, 2), "default_reward": 0.0, "window": "1h"}, "'default_reward' .* reward_range"),
        ({"reward_range": (0, 2), "policy": "bernoulli_ts"}, "'reward_range' .* inside"),
    ],
)
def test_ranges_that_cannot_be_are_refused(tmp_path, options, words):
    with pytest.raises(InvalidInput, match=words):
        make(tmp_path / "a.db", **options)
    assert not (tmp_path / "a.db").exists()


def test_a_range_is_part_of_the_definition_and_earlier_definitions_have_none(tmp_path):
    with make(tmp_path / "a.db", reward_range=[0, 10]) as experiment:
        definition = experiment.definition
    make(tmp_path / "a.db", reward_range=(0, 10)).close()
    for other in ({}, {"reward_range": (0, 11)}, {"reward_range": (0, 10), "out_of_range": "clip"}):
        with pytest.raises(InvalidInput, match="as stored for the experiment 'checkout'"):
            make(tmp_path / "a.db", **other)
    stored = json.loads(definition.to_json())
    assert Settings.from_json(json.dumps(stored)) == definition
    del stored["reward_range"], stored["out_of_range"]
    assert Settings.from_json(json.dumps(stored)).reward_range is None


# --- warnings -----------------------------------------------------------------------------------------------------------


def test_a_reward_far_beyond_all_before_is_stored_and_told(either):
    experiment = make(either)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(12):
            experiment.reward(experiment.decide().id, [0.0, 1.0, -2.0][i % 3])
        experiment.reward(experiment.decide().id, 200.0)  # 100 times, not more
    large = experiment.decide()
    with live.open(either, "checkout") as other:  # which has stored none itself
        with pytest.warns(
            live.LargeRewardWarning, match=f"20001 of decision {large.id} is more than 100 times"
        ) as told:
            assert other.reward(large.id, -20001.0) == "stored"
        assert told[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert other.reward(large.id, -20001.0) == "duplicate"
            other.reward(other.decide().id, 1e6)
            experiment.void(large.id)
            experiment.reward(experiment.decide().id, 1e7)
    experiment.close()


def test_the_first_rewards_and_those_after_zeros_alone_are_not_told(tmp_path):
    experiment = make(tmp_path / "a.db")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        experiment.reward(experiment.decide().id, 0.001)
        experiment.reward(experiment.decide().id, 1.0)
        other = live.create(tmp_path / "a.db", "zeros", policy="ucb1", arms=ARMS)
        other.reward_many([(decision.id, 0.0) for decision in other.decide_many([None] * 20)])
        other.reward(other.decide().id, 7.0)


def test_the_database_is_asked_for_the_largest_reward_only_while_it_may_be_smaller(tmp_path, monkeypatch):
    experiment = make(tmp_path / "a.db")
    asked = []
    largest = experiment.store.largest_reward
    monkeypatch.setattr(experiment.store, "largest_reward", lambda *told: asked.append(told) or largest(*told))
    for i in range(20):
        experiment.reward(experiment.decide().id, 1.0 + i % 3)
    assert len(asked) <= 4


# --- voids --------------------------------------------------------------------------------------------------------------


def play(experiment, n, start=0, spoiled=()):
    """Decisions with keys and their rewards; those spoiled are too large by far. Ids by number."""
    rng = np.random.default_rng(5)
    values = rng.normal(size=start + n)
    linear = experiment.definition.is_linear
    ids = {}
    for i in range(start, start + n):
        told = {"actions": rng.normal(size=(3, 2)).round(1)} if linear else {}
        ids[i] = experiment.decide(key=f"k{i}", **told).id
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", live.LargeRewardWarning)
            experiment.reward(ids[i], 1e12 if i in spoiled else float(values[i]))
    experiment.refresh()
    return ids


POLICIES = "ucb1", "edgeworth_ucb:randomized=true", "bootstrapped_ucb_plus", "linear_ts:dimension=2"


@telling("policy", POLICIES, ["ucb1", "linear_ts:dimension=2"])
def test_after_a_void_the_state_is_that_of_the_log_without_the_decision(target, tmp_path, monkeypatch, policy):
    monkeypatch.setattr(fold, "FEWEST_ENTRIES", 7)  # snapshots before and after the void
    arms = None if policy.startswith("lin") else ARMS
    options = {"policy": policy, "arms": arms} | ({"burn_in": None} if arms is None else {})
    experiment, behind = make(target, **options), make(target, **options)
    ids = play(experiment, 25, spoiled=(11,))
    behind.refresh()
    spoiled = fold.write_snapshot(behind.state)
    applied = experiment.void(ids[11], actor="ann")
    assert applied.version == experiment.refresh() == 26
    # What the definition says, entry by entry: the entry is there, and nothing is learned of it.
    expected = fold.LiveState(experiment.definition)
    expected.voided = {ids[11]}
    entries = experiment.store.entries(experiment.row.id, 0, 100, context=True)
    for entry in entries:
        expected._fold([entry])
    assert [entry.decision for entry in entries].count(ids[11]) == 1
    behind.refresh()
    fresh = live.open(target, "checkout")
    for worker in (experiment, behind, fresh):
        assert fold.write_snapshot(worker.state) == fold.write_snapshot(expected) != spoiled
    more = play(experiment, 25, start=25)
    assert experiment.replay().is_identical
    assert experiment.void(ids[11]).version == 26  # nothing new
    experiment.void(more[30])
    assert experiment.refresh() == 52
    fresh = live.open(target, "checkout")  # from a snapshot that knows of the first
    assert fresh.replay().is_identical
    assert fold.write_snapshot(fresh.state) == fold.write_snapshot(experiment.state)
    if str(target).endswith(".db"):
        assert verify(target, "checkout") == []


def test_a_void_is_in_status_export_and_audit_trail(either, tmp_path):
    experiment = make(either, holdout=0.3, control="red")
    ids = play(experiment, 30, spoiled=(3, 4))
    held = next(i for i in ids if i > 4 and experiment.decide(key=f"k{i}").source == "holdout")
    before = experiment.status()
    assert max(arm.mean or 0 for arm in before.arms) > 1e10
    for i in (3, 4, held):
        experiment.void(ids[i], actor="ann")
    status = experiment.status()
    assert status.voided == len({3, 4, held})
    assert max(arm.mean or 0 for arm in status.arms) < 10
    assert status.lift is None or abs(status.lift.difference) < 10
    assert status.changes[0].what == f"decision {ids[held]} voided"
    assert "voided" in str(status)
    assert "voided" not in str(before)
    experiment.export(tmp_path / "log.parquet")
    rows = polars.read_parquet(tmp_path / "log.parquet").filter(polars.col("settled") == "void")
    assert set(rows["decision"]) == {ids[i] for i in (3, 4, held)}
    assert rows["reward"].is_null().all()


def test_a_decision_is_voided_before_its_window_closes_and_gets_no_more_rewards(either):
    experiment = make(either, window="1h", default_reward=0.5)
    at(experiment, 1000)
    first, second = (experiment.decide(key=key) for key in "ab")
    assert experiment.reward(first.id, 1e12) == "stored"
    experiment.void(first.id)
    assert experiment.reward(first.id, 1.0, "again") == "late"
    at(experiment, 10_000)
    assert experiment.refresh() == 3  # the void, and both decisions
    assert sum(experiment.state.rewards) == 1
    assert experiment.status().open == 0
    assert experiment.decide(key="b").id == second.id
    assert experiment.replay().is_identical


def test_what_is_no_decision_cannot_be_voided(either):
    experiment = make(either)
    other = live.create(either, "other", policy="ucb1", arms=ARMS)
    foreign = other.decide()
    for decision in ("nobody", foreign.id, "", None, 3):
        with pytest.raises(InvalidInput, match="'decision' parameter of void must be"):
            experiment.void(decision)
    assert experiment.refresh() == 0


def test_the_log_is_read_again_only_where_a_voided_decision_was_learned_and_once_for_several(either, monkeypatch):
    experiment, other = make(either), live.open(either, "checkout")
    learned = [*play(experiment, 6).values()]
    open_ids = [experiment.decide().id for _ in range(3)]
    other.refresh()
    begun, begin = [], fold.LiveState._begin
    monkeypatch.setattr(fold.LiveState, "_begin", lambda state: (begun.append(state), begin(state)))
    void_all(experiment, open_ids, "ann")
    other.refresh()
    assert begun == []
    void_all(experiment, [*open_ids, *learned[1:4]], "ann")
    other.refresh()
    assert begun == [experiment.state, other.state]
    assert experiment.state.voided == other.state.voided == {*open_ids, *learned[1:4]}
    assert sum(experiment.state.rewards) == sum(other.state.rewards) == 3
    assert experiment.refresh() == 12
    assert experiment.replay().is_identical
    assert fold.write_snapshot(live.open(either, "checkout").state) == fold.write_snapshot(other.state)


def test_several_are_voided_though_others_change_the_experiment_meanwhile(either, monkeypatch):
    experiment, other = make(either), live.open(either, "checkout")
    ids = [*play(experiment, 4).values()]
    append, before = experiment.store.append_change, iter([lambda: other.void(ids[0]), lambda: other.pause("blue")])

    def forestalled(*args, **options):
        next(before, lambda: None)()
        return append(*args, **options)

    monkeypatch.setattr(experiment.store, "append_change", forestalled)
    void_all(experiment, ids[:3], "ann")
    assert [change.kind for change in experiment.store.changes(experiment.row.id)].count("void") == 3
    assert experiment.state.voided == set(ids[:3])
    assert experiment.replay().is_identical


def test_two_workers_that_void_the_same_decision_write_one_entry(either, monkeypatch):
    experiment, other = make(either), live.open(either, "checkout")
    decision = play(experiment, 3)[1]
    append = experiment.store.append_change

    def forestalled(*args, **options):
        monkeypatch.setattr(experiment.store, "append_change", append)
        other.void(decision)
        return append(*args, **options)

    monkeypatch.setattr(experiment.store, "append_change", forestalled)
    assert experiment.void(decision).version == other.void(decision).version == experiment.refresh() == 4


# --- when changes take effect --------------------------------------------------------------------------------------------


def test_a_change_tells_its_entry_and_when_others_follow(either, monkeypatch):
    slept = []
    monkeypatch.setattr(module.time, "sleep", slept.append)
    experiment = make(either, refresh="2s")
    play(experiment, 3)
    applied = experiment.pause("blue")
    assert applied == (4, 2.0)
    assert str(applied) == "version 4; other workers follow within 2 s (their refresh)"
    assert slept == []
    assert experiment.resume("blue", wait=True) == (5, 0.0)
    assert slept == [2.0]
    assert experiment.change(refresh="5s", wait=True) == (6, 0.0)
    assert experiment.change(refresh="1s") == (7, 5.0)  # as others have it
    assert experiment.retire("blue") == (8, 1.0)
    assert slept == [2.0, 5.0]
    with pytest.raises(InvalidInput, match="'wait' parameter of retire"):
        experiment.retire("green", wait=1)


def test_the_entry_that_is_told_is_the_one_of_the_change_whoever_goes_on_meanwhile(either, monkeypatch):
    """A refresh after the change may find rewards of others: its version is a later one."""
    experiment, other = make(either), live.open(either, "checkout")
    append = experiment.store.append_change

    def overtaken(*args, **options):
        version = append(*args, **options)
        play(other, 3)
        return version

    monkeypatch.setattr(experiment.store, "append_change", overtaken)
    applied = experiment.retire("blue")
    assert experiment.refresh() == applied.version + 3
    assert [change.seq for change in experiment.store.changes(experiment.row.id)] == [applied.version]


# --- the seed -----------------------------------------------------------------------------------------------------------


def test_the_seed_is_in_no_report(tmp_path):
    from bandstrap.live.page import write_status_page

    seed = 917_346_501_937
    with make(tmp_path / "a.db", seed=seed) as experiment:
        play(experiment, 10)
        status = experiment.status()
        write_status_page(status, tmp_path / "page.html")
        experiment.export(tmp_path / "log.parquet")
        about = polars.read_parquet_metadata(tmp_path / "log.parquet")["bandstrap"]
        shown = [repr(status), json.dumps(status.to_dict()), (tmp_path / "page.html").read_text(), about]
        shown += [repr(experiment), repr(experiment.decide()), str(experiment.replay())]
    with pytest.raises(InvalidInput) as refusal:
        make(tmp_path / "a.db", seed=8)
    assert json.loads(about)["definition"]["policy"] == "ucb1"
    for text in [*shown, str(refusal.value)]:
        assert str(seed) not in text
        assert "seed" not in text or text == str(refusal.value)
    with sqlite3.connect(tmp_path / "a.db") as connection:  # it is the seed that is looked for
        assert str(seed) in connection.execute("SELECT definition FROM live_experiment").fetchone()[0]

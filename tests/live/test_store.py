"""The store of live experiments, in SQLite and in PostgreSQL."""

import sys
import time
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bandstrap.errors import InvalidInput
from bandstrap.live import store as module
from bandstrap.live.rows import Build, Change, NewReward
from bandstrap.live.settle import Settle, total
from bandstrap.live.store import Store
from live_rows import ARRIVAL, SUM, decision, log, new_experiment, numbers, set_clock
from naive.live_store import NaiveStore

# --- what is stored -----------------------------------------------------------------------------------------------------


def test_experiments_are_created_once(store):
    before = time.time()
    first = store.create_experiment("checkout", '{"seed": 7}', "ann")
    assert before - 1 < first.created_at < time.time() + 1
    assert store.create_experiment("checkout", '{"seed": 8}', "bob") == first
    assert first.definition == '{"seed": 7}'
    assert first.created_by == "ann"
    assert store.experiment("checkout") == first
    assert store.experiment("another") is None
    store.create_experiment("Älteste", "{}", "ann")
    assert store.experiments() == ["checkout", "Älteste"]


def test_a_decision_is_given_back_to_the_last_bit_and_the_same_key_gives_the_first_one(store):
    experiment = new_experiment(store)
    rows = [
        decision(
            1, unit="u", propensity=0.1 + 0.2, proposed=2, context='{"x": [1.0]}', available="[0, 1]", deferred=True
        ),
        decision(2, key="'; DROP TABLE live_decision; -- % ? {} \\ \n \u2028 😀", propensity=5e-324),
    ]
    stored = store.add_decisions(experiment, rows, ARRIVAL)
    assert [tuple(row[:-1]) for row in stored] == [tuple(row[:-1]) for row in rows]
    assert stored[0].deferred is True
    assert stored[1].deferred is False
    again = store.add_decisions(experiment, [decision(3), rows[1]._replace(arm=0), decision(3, arm=2)], ARRIVAL)
    assert again[1] == stored[1]
    assert again[0] == again[2]
    assert again[0].arm == 0  # of two in one call the first
    assert store.decisions(experiment, [rows[1].id, "unknown", rows[0].id]) == [stored[1], None, stored[0]]
    assert store.decisions(new_experiment(store), [rows[0].id]) == [None]
    assert store.add_decisions(experiment, [], ARRIVAL) == [] == store.decisions(experiment, [])


def test_many_rows_at_once(store):
    experiment = new_experiment(store)
    rows = [decision(number) for number in range(2500)]
    assert [row.id for row in store.add_decisions(experiment, rows[::-1], ARRIVAL)] == [row.id for row in rows[::-1]]
    assert store.add_rewards(experiment, [NewReward(row.id, "", 1.0) for row in rows], ARRIVAL) == ["stored"] * 2500
    assert store.refresh(experiment, ARRIVAL) == 2500
    assert [outcome.seq for _, outcome in store.records(experiment, ARRIVAL)] == list(range(1, 2501))


def test_rewards_once_several_unknown_and_late(store):
    experiment = new_experiment(store)
    set_clock(store, 1000.0)
    one, two = (row.id for row in store.add_decisions(experiment, [decision(1), decision(2)], SUM))
    sent = [NewReward(one, "", 1.0), NewReward(one, "b", 2.0), NewReward(one, "", 9.0), NewReward(two, "", 3.0)]
    assert store.add_rewards(experiment, sent, SUM) == ["stored", "stored", "duplicate", "stored"]
    with pytest.raises(InvalidInput, match=r"id of a decision of this experiment\. Got 'unknown' instead"):
        store.add_rewards(experiment, [NewReward(one, "c", 1.0), NewReward("unknown", "", 1.0)], SUM)
    with pytest.raises(InvalidInput, match="id of a decision"):
        store.add_rewards(new_experiment(store), [NewReward(one, "c", 1.0)], SUM)
    with pytest.raises(InvalidInput, match="finite"):
        store.add_rewards(experiment, [NewReward(one, "c", float("nan"))], SUM)
    set_clock(store, 1059.999)
    assert store.add_rewards(experiment, [NewReward(one, "c", 0.5)], SUM) == ["stored"]  # the refused ones left nothing
    assert store.refresh(experiment, SUM) == 0
    set_clock(store, 1060.0)  # closed, though nobody has settled it yet
    assert store.add_rewards(experiment, [NewReward(one, "d", 100.0), NewReward(one, "c", 0.5)], SUM) == [
        "late",
        "duplicate",
    ]
    assert store.refresh(experiment, SUM) == 2
    assert log(store, experiment) == [(1, "reward", one, 1, 3.5), (2, "reward", two, 2, 3.0)]
    counts = store.counts(experiment)
    assert (counts.decisions, counts.rewards, counts.late, counts.learned, counts.pending) == (2, 5, 1, 2, 0)


def test_changes_stand_in_the_log_and_none_is_made_over_an_unseen_one(store):
    experiment = new_experiment(store)
    set_clock(store, 5.0)
    ids = [row.id for row in store.add_decisions(experiment, [decision(1), decision(2)], ARRIVAL)]
    store.add_rewards(experiment, [NewReward(ids[0], "", 1.0)], ARRIVAL)
    assert store.refresh(experiment, ARRIVAL) == 1
    assert store.append_change(experiment, "add_arm", '{"label": "teal"}', "ann", 0) == 2  # entry 1 is no change
    assert store.append_change(experiment, "pause", '{"label": "red"}', "bob", 1) is None
    assert store.append_change(experiment, "pause", '{"label": "red"}', "bob", 2) == 3
    assert store.changes(experiment) == [
        Change(2, 5.0, "ann", "add_arm", '{"label": "teal"}'),
        Change(3, 5.0, "bob", "pause", '{"label": "red"}'),
    ]
    entries = store.entries(experiment, 1, 1)
    assert [(e.seq, e.kind, e.action, e.change) for e in entries] == [(2, "change", "add_arm", '{"label": "teal"}')]


def test_entries_bring_the_context_where_it_is_asked_for(store):
    experiment = new_experiment(store)
    (row,) = store.add_decisions(experiment, [decision(1, context="[[1, 2]]")], ARRIVAL)
    store.add_rewards(experiment, [NewReward(row.id, "", 1.0)], ARRIVAL)
    store.refresh(experiment, ARRIVAL)
    assert [e.context for e in store.entries(experiment, 0, 9)] == [None]
    assert [e.context for e in store.entries(experiment, 0, 9, context=True)] == ["[[1, 2]]"]


def new_log(store, experiment, n):
    """Links of a log with at least ``n`` entries."""
    for _ in range(n):
        store.append_change(experiment, "pause", "{}", "me", 10**6)
    return {entry.seq: entry.link for entry in store.entries(experiment, 0, n)}


def test_snapshots(store):
    experiment = new_experiment(store)
    store.add_build(Build("b", "code", "numpy 2", "x86"))
    store.add_build(Build("b", "code", "numpy 2", "x86"))
    assert store.latest_snapshot(experiment, "b") is None
    links = new_log(store, experiment, 30)
    for version, body in ((10, "ten"), (20, "twenty"), (20, "twenty, mended")):
        store.save_snapshot(experiment, version, "b", links[version], body, "sum of " + body)
    store.save_snapshot(experiment, 30, "another", links[30], "thirty", "")
    store.save_snapshot(experiment, 25, "b", links[24], "of another log", "")
    newest = store.latest_snapshot(experiment, "b")
    assert newest[:5] == (20, "b", links[20], "twenty, mended", "sum of twenty, mended")
    assert store.latest_snapshot(experiment, "b", at_most=19).body == "ten"
    assert store.latest_snapshot(new_experiment(store), "b") is None


def test_the_newest_three_snapshots_of_a_build_are_kept(store):
    experiment, other = new_experiment(store), new_experiment(store)
    for build in "ab":
        store.add_build(Build(build, "code", "numpy 2", "x86"))
    for place, build in ((experiment, "b"), (other, "a"), (experiment, "a")):
        links = new_log(store, place, 40)
        store.save_snapshot(place, 1, build, links[1], "first", "")
    for version in (30, 20, 40, 10):  # a worker that is behind writes one that is not kept
        store.save_snapshot(experiment, version, "a", links[version], str(version), "")
    kept = {store.latest_snapshot(experiment, "a", at_most=version) for version in range(50)} - {None}
    kept = sorted(snapshot.version for snapshot in kept)
    assert kept == [20, 30, 40]
    assert store.latest_snapshot(experiment, "b").version == store.latest_snapshot(other, "a").version == 1


def test_a_holdout_is_settled_for_reports_and_never_learned(store):
    experiment = new_experiment(store)
    set_clock(store, 0.0)
    rows = [decision(1, source="holdout"), decision(2), decision(3, source="holdout", deferred=True)]
    ids = [row.id for row in store.add_decisions(experiment, rows, SUM)]
    store.add_rewards(experiment, [NewReward(ids[0], "", 1.0), NewReward(ids[0], "b", 1.0)], SUM)
    assert [outcome.kind for _, outcome in store.records(experiment, SUM)] == [None, None, None]
    set_clock(store, 60.0)
    store.refresh(experiment, SUM)
    assert store.activate(experiment, [ids[2]], SUM) == [True]
    settled = [(outcome.seq, outcome.kind, outcome.reward) for _, outcome in store.records(experiment, SUM)]
    assert settled == [(None, "reward", 2.0), (1, "nothing", None), (None, None, None)]
    set_clock(store, 120.0)
    assert store.refresh(experiment, SUM) == 1
    assert [outcome.kind for _, outcome in store.records(experiment, SUM)] == ["reward", "nothing", "nothing"]
    counts = store.counts(experiment)
    assert (counts.holdout, counts.waiting, counts.pending, counts.version, counts.learned) == (2, 0, 0, 1, 0)


def test_the_clock_is_the_databases(store):
    experiment, before = new_experiment(store), time.time()
    assert before - 1 < store.counts(experiment).now < time.time() + 1


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([1e308, -1e308]), min_size=1))
@example([1e308, 1e308, -1e308])
def test_a_sum_is_rounded_once_and_stays_finite(rewards):
    exact = sum(map(Fraction, rewards))
    largest = Fraction(sys.float_info.max)
    assert total(rewards) == float(min(max(exact, -largest), largest))
    assert total(rewards) == total(sorted(rewards))


def test_a_reward_from_before_the_activation_is_learned_at_its_time(store):
    experiment = new_experiment(store)
    set_clock(store, 1.0)
    early, plain = (r.id for r in store.add_decisions(experiment, [decision(1, deferred=True), decision(2)], ARRIVAL))
    store.add_rewards(experiment, [NewReward(early, "", 1.0)], ARRIVAL)
    set_clock(store, 2.0)
    store.add_rewards(experiment, [NewReward(plain, "", 2.0)], ARRIVAL)
    set_clock(store, 3.0)
    assert store.activate(experiment, [early, plain, early], ARRIVAL) == [True, False, False]
    assert store.refresh(experiment, ARRIVAL) == 2
    assert log(store, experiment) == [(1, "reward", plain, 2, 2.0), (2, "reward", early, 1, 1.0)]


# --- the same log as the slow twin's ------------------------------------------------------------------------------------

NAMES = 4
names = st.integers(0, NAMES - 1)
decides = st.tuples(st.just("decide"), names, st.sampled_from(["policy", "policy", "shadow", "holdout"]), st.booleans())
rewards = st.tuples(st.just("reward"), names, st.sampled_from(["", "b", "c"]), st.sampled_from([0.1, 0.2, 0.7, 1e16]))
activates = st.tuples(st.just("activate"), names)
ticks = st.tuples(st.just("tick"), st.sampled_from([0.5, 1.0, 2.5]))
refreshes = st.just(("refresh",))
# Mostly what happens most: a little traffic, then whatever may happen to it.
traffic = st.lists(decides | decides | ticks, min_size=6, max_size=12)
events = st.lists(
    st.sampled_from(
        [rewards, rewards, rewards, activates, activates, ticks, decides, refreshes, st.just(("change",))]
    ).flatmap(lambda kind: kind),
    min_size=15,
    max_size=40,
)
settles = st.one_of(
    st.builds(Settle, st.sampled_from([None, 1.0, 2.5]), st.just("first"), st.none()),
    st.builds(Settle, st.sampled_from([0.0, 1.0, 2.5]), st.sampled_from(["last", "sum"]), st.sampled_from([None, 0.5])),
    st.builds(Settle, st.just(1.0), st.just("first"), st.just(0.5)),
)


histories = given(
    settle=settles,
    steps=st.tuples(traffic, events).map(lambda parts: parts[0] + parts[1]),
    batch=st.sampled_from([2, 10_000]),
)


@pytest.fixture(scope="module")
def in_sqlite(tmp_path_factory):
    """One store for many examples, each an experiment of its own."""
    with Store.open(tmp_path_factory.mktemp("live") / "live.db", create=True, durability="normal") as store:
        yield store


@pytest.fixture(scope="module")
def in_postgres(postgres):
    with Store.open(postgres.new_schema(), create=True) as store:
        yield store


@histories
@settings(max_examples=100)
def test_the_log_in_sqlite_is_that_of_the_rules(in_sqlite, settle, steps, batch):
    check_log(in_sqlite, settle, steps, batch)


@histories
@settings(max_examples=25)
def test_the_log_in_postgres_is_that_of_the_rules(in_postgres, settle, steps, batch):
    check_log(in_postgres, settle, steps, batch)


def check_log(store, settle, steps, batch):
    twin, clock = NaiveStore(settle), 1000.0
    experiment = new_experiment(store)
    ids = [f"{next(numbers):032x}" for _ in range(NAMES)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BATCH", batch)
        for step, *arguments in [*steps, ("tick", 100.0), ("refresh",)]:
            twin.now = clock
            set_clock(store, clock)
            number = arguments[0] if arguments else None
            if step == "tick":
                clock += number
            elif step == "refresh":
                assert store.refresh(experiment, settle) == twin.refresh()
            elif step == "change":
                assert store.append_change(experiment, "pause", "{}", "me", 10**6) == twin.change()
            elif step == "decide":
                _, source, deferred = arguments
                new = decision(0, id=ids[number], arm=number, source=source, deferred=deferred)
                (row,) = store.add_decisions(experiment, [new], settle)
                stored = twin.decide(ids[number], number, source, deferred)
                assert (row.decided_at, row.arm, row.source, row.deferred) == stored
            elif ids[number] not in twin.decisions:
                with pytest.raises(InvalidInput):
                    store.activate(experiment, [ids[number]], settle)
            elif step == "activate":
                assert store.activate(experiment, [ids[number]], settle) == [twin.activate(ids[number])]
            else:
                reward = NewReward(ids[number], *arguments[1:])
                assert store.add_rewards(experiment, [reward], settle) == [twin.reward(*reward)]
    assert log(store, experiment) == [(position, *entry) for position, entry in enumerate(twin.log, 1)]
    assert store.counts(experiment).pending == 0
    for row, outcome in store.records(experiment, settle):
        start = twin.start(row.id)
        if start is not None and not twin.on_arrival():
            assert (outcome.kind, outcome.reward) == twin.settled(row.id)

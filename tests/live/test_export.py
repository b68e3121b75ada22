"""Logs of live experiments as Parquet, and in the layouts of Open Bandit Pipeline and Vowpal Wabbit."""

import json
import os
import struct
import time
import weakref
from datetime import UTC, datetime

import hypothesis.strategies as st
import numpy as np
import polars
import pytest
from hypothesis import HealthCheck, given, settings

from bandstrap import live
from bandstrap.errors import InvalidInput
from bandstrap.live import export
from bandstrap.live.export import ExportRow, open_bandit_feedback, write_dsjson, write_log

NOON = 1_763_300_000.0
ABOUT = {
    "experiment": "checkout",
    "definition": {"policy": "ucb1"},
    "arms": ["red", "green", "blue"],
    "direction": "max",
    "version": 40,
}
LINEAR = {**ABOUT, "arms": []}


def row(number, action, reward, weights, /, **other):
    """A decision of the policy, settled by its reward."""
    labels = ABOUT["arms"]
    plain = ExportRow(
        time=NOON + number,
        decision=f"id{number}",
        key=f"key{number}",
        unit=f"u{number}",
        arm=labels[action],
        action=action,
        reward=reward,
        propensity=weights[action],
        weights=weights,
        version=number,
        source="policy",
        proposed=None,
        settled="reward",
        learned=number + 1,
        rewards=1,
        late=0,
        deferred=False,
        activated=None,
        context=None,
    )
    return plain._replace(**other)


def some_rows():
    """Two arms at first, then a third; rows that are not to be used among them."""
    return [
        row(0, 0, 12.5, [0.75, 0.25]),
        row(1, 1, 0.0, [0.75, 0.25], settled="default", rewards=0),
        row(2, 0, 3.0, [0.75, 0.25], source="holdout", weights=None, propensity=1.0, learned=None),
        row(3, 0, 3.0, [0.75, 0.25], source="shadow", propensity=1.0, proposed=1),
        row(4, 1, None, [0.75, 0.25], settled="open", learned=None, rewards=0),
        row(5, 1, None, [0.75, 0.25], settled="nothing", rewards=1, late=1),
        row(6, 2, -2.0, [0.5, 0.0, 0.5]),
        row(7, 1, 0.1, [0.5, 0.375, 0.125], deferred=True, activated=NOON + 100.5),
    ]


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.parquet"
    write_log(path, some_rows(), ABOUT)
    return path


@pytest.fixture
def shop(tmp_path):
    with live.create(
        tmp_path / "shop.db", "checkout", policy="ucb1", arms=["red", "green"], seed=7, holdout=0.3, control="red"
    ) as experiment:
        yield experiment


# --- Parquet ------------------------------------------------------------------------------------------------------------

numbers = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
counts = st.integers(0, 2**62)
rows_of_any_kind = st.builds(
    ExportRow,
    time=st.floats(0, 4e9),
    decision=texts,
    key=texts,
    unit=st.none() | texts,
    arm=st.none() | texts,
    action=counts,
    reward=st.none() | numbers,
    propensity=numbers,
    weights=st.none() | st.lists(numbers, max_size=3),
    version=counts,
    source=st.sampled_from(["policy", "holdout", "shadow"]),
    proposed=st.none() | counts,
    settled=st.sampled_from(["reward", "default", "nothing", "open"]),
    learned=st.none() | counts,
    rewards=counts,
    late=counts,
    deferred=st.booleans(),
    activated=st.none() | st.floats(0, 4e9),
    context=st.none() | st.lists(st.lists(numbers, max_size=2), max_size=2),
)


def bits(value):
    """A value as bytes, so that 0 and -0 differ, with times to the microsecond."""
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    if isinstance(value, list):
        return [bits(item) for item in value]
    return struct.pack("<d", value) if isinstance(value, float) else value


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rows=st.lists(rows_of_any_kind, max_size=7))
def test_every_bit_is_read_back(tmp_path, monkeypatch, rows):
    monkeypatch.setattr(export, "BATCH", 3)
    path = tmp_path / "any.parquet"
    write_log(path, iter(rows), ABOUT)
    found = polars.read_parquet(path)
    assert found.columns == list(ExportRow._fields)
    assert found["time"].dtype == polars.Datetime("us", "UTC")
    for wanted, got in zip(rows, found.iter_rows(named=True), strict=True):
        for name, value in wanted._asdict().items():
            if name in ("time", "activated") and value is not None:
                assert abs(got[name].timestamp() - value) < 1.1e-6
            else:
                assert bits(got[name]) == bits(value), name
    assert json.loads(polars.read_parquet_metadata(path)["bandstrap"]) == ABOUT


def test_times_are_in_utc(log):
    assert polars.read_parquet(log)["time"][0] == datetime.fromtimestamp(NOON, UTC)
    assert polars.read_parquet(log)["activated"][7] == datetime.fromtimestamp(NOON + 100.5, UTC)


def test_few_rows_are_in_memory_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(export, "BATCH", 10)

    class Watched(list):
        """A list whose end is noticed."""

    kept, most = [], 0

    def many():
        nonlocal most
        for number in range(2000):
            weights = Watched([0.5, 0.5])
            kept[:] = [reference for reference in kept if reference() is not None] + [weakref.ref(weights)]
            most = max(most, len(kept))
            yield row(number, 0, 1.0, weights)

    write_log(tmp_path / "many.parquet", many(), ABOUT)
    assert polars.read_parquet(tmp_path / "many.parquet")["version"].to_list() == list(range(2000))
    assert most <= 30  # two batches, and the rows in the making; a list of all would be 2000


def test_a_log_that_cannot_be_read_to_its_end_leaves_the_old_file(log):
    def broken():
        yield from some_rows()
        raise ConnectionError("gone")

    before = log.read_bytes()
    with pytest.raises(ConnectionError, match=r"^gone$"):  # not said of the file
        write_log(log, broken(), ABOUT)
    assert log.read_bytes() == before
    assert [path.name for path in log.parent.iterdir()] == [log.name]


@pytest.mark.skipif(os.name != "posix", reason="limits the size of files")
def test_a_full_disk_is_an_error_of_the_file_and_leaves_nothing(tmp_path):
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    rows = (row(number, 0, number**0.5, [1 / (number + 1), 0.5]) for number in range(30_000))
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))  # more than is tried out before
    try:
        with pytest.raises(OSError, match=r"File too large.*log\.parquet"):
            write_log(tmp_path / "log.parquet", rows, ABOUT)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["log.csv", "log", "log.parquet.gz"])
def test_a_name_of_another_kind_of_file_is_refused(shop, tmp_path, name):
    with pytest.raises(InvalidInput, match=r"ends in \.parquet"):
        shop.export(tmp_path / name)
    assert not list(tmp_path.glob("log*"))


def test_a_folder_is_no_file(tmp_path):
    (tmp_path / "log.parquet").mkdir()
    with pytest.raises(InvalidInput, match=r"The 'path' parameter of export must be a file"):
        write_log(tmp_path / "log.parquet", some_rows(), ABOUT)


# --- Open Bandit Pipeline -----------------------------------------------------------------------------------------------


def test_feedback_has_the_layout_of_open_bandit_pipeline(log):
    found = open_bandit_feedback(log)
    n_rounds, n_actions = 4, 3
    assert (found["n_rounds"], found["n_actions"]) == (n_rounds, n_actions)
    shapes = {
        "context": (n_rounds, 1),
        "action_context": (n_actions, n_actions),
        "action": (n_rounds,),
        "position": (n_rounds,),
        "reward": (n_rounds,),
        "pi_b": (n_rounds, n_actions, 1),
        "pscore": (n_rounds,),
    }
    for name, shape in shapes.items():
        kind = np.integer if name in ("action", "position", "action_context") else np.float64
        assert found[name].shape == shape, name
        assert np.issubdtype(found[name].dtype, kind), name
    assert found["expected_reward"] is None
    assert found.keys() == {"n_rounds", "n_actions", "expected_reward", *shapes}


def test_feedback_holds_the_decisions_of_the_policy_that_have_a_reward(log):
    found = open_bandit_feedback(str(log))
    assert found["action"].tolist() == [0, 1, 2, 1]
    assert found["reward"].tolist() == [12.5, 0.0, -2.0, 0.1]
    assert found["pscore"].tolist() == [0.75, 0.25, 0.5, 0.375]
    assert found["pi_b"][:, :, 0].tolist() == [[0.75, 0.25, 0], [0.75, 0.25, 0], [0.5, 0, 0.5], [0.5, 0.375, 0.125]]
    assert found["pi_b"][np.arange(4), found["action"], 0].tolist() == found["pscore"].tolist()


def actions_row(number, action, weights, context):
    return row(number, action, 1.0, weights, arm=None, context=context)


def test_actions_of_linear_policies_are_the_context(tmp_path):
    rows = [
        actions_row(0, 1, [0.25, 0.75], [[1.0, 2.0], [3.0, 4.0]]),
        actions_row(1, 0, [0.5, 0.5], [[5.0, 6.0], [7.0, 8.0]]),
    ]
    write_log(tmp_path / "log.parquet", rows, LINEAR)
    found = open_bandit_feedback(tmp_path / "log.parquet")
    assert found["context"].tolist() == [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert found["n_actions"] == 2
    assert found["pi_b"][:, :, 0].tolist() == [[0.25, 0.75], [0.5, 0.5]]


def test_different_numbers_of_actions_are_refused(tmp_path):
    rows = [actions_row(0, 1, [0.25, 0.75], [[1.0], [3.0]]), actions_row(1, 0, [1.0], [[5.0]])]
    write_log(tmp_path / "log.parquet", rows, LINEAR)
    with pytest.raises(InvalidInput, match=r"the same number of actions in every round, and those of .* have 1 to 2"):
        open_bandit_feedback(tmp_path / "log.parquet")


def test_a_log_without_a_reward_is_refused(tmp_path):
    write_log(tmp_path / "log.parquet", some_rows()[2:6], ABOUT)
    with pytest.raises(InvalidInput, match="no decision of the policy with a reward"):
        open_bandit_feedback(tmp_path / "log.parquet")
    write_dsjson(tmp_path / "log.parquet", tmp_path / "log.dsjson")
    assert (tmp_path / "log.dsjson").read_text() == ""


@pytest.mark.parametrize("content", [b"not Parquet", None])
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "other.parquet"
    polars.DataFrame({"x": [1]}).write_parquet(path)
    if content:
        path.write_bytes(content)
    for call in (open_bandit_feedback, lambda path: write_dsjson(path, tmp_path / "x")):
        with pytest.raises(InvalidInput, match="is not a log of decisions"):
            call(path)
    assert not (tmp_path / "x").exists()


# --- Vowpal Wabbit ------------------------------------------------------------------------------------------------------


def dsjson_lines(log, path):
    write_dsjson(log, path)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_lines_of_dsjson_say_what_was_decided(log, tmp_path, monkeypatch):
    monkeypatch.setattr(export, "BATCH", 3)
    lines = dsjson_lines(log, tmp_path / "log.dsjson")
    kept = [r for r in some_rows() if r.source == "policy" and r.reward is not None]
    for wanted, line in zip(kept, lines, strict=True):
        assert line["Version"] == "1"
        assert line["EventId"] == wanted.decision
        assert datetime.fromisoformat(line["Timestamp"]) == datetime.fromtimestamp(wanted.time, UTC)
        assert line["_label_cost"] == -wanted.reward
        assert line["_label_probability"] == wanted.propensity
        # The action of the label comes first, and numbers begin with 1.
        assert line["_label_Action"] == line["a"][0] == line["_labelIndex"] + 1
        assert line["p"][0] == line["_label_probability"]
        multi = line["c"]["_multi"]
        assert multi[line["_labelIndex"]]["action"] == {"arm": wanted.arm}
        assert sorted(line["a"]) == list(range(1, len(multi) + 1))
        chances = {multi[number - 1]["_tag"]: chance for number, chance in zip(line["a"], line["p"], strict=True)}
        assert chances == {label: w for label, w in zip(ABOUT["arms"], wanted.weights, strict=False) if w > 0}


def test_costs_are_rewards_where_less_is_better(tmp_path):
    rows = [row(0, 0, 2.5, [0.5, 0.5]), row(1, 1, 0.0, [0.5, 0.5])]
    for direction, costs in (("min", ["2.5", "0.0"]), ("max", ["-2.5", "0.0"])):
        write_log(tmp_path / "log.parquet", rows, {**ABOUT, "direction": direction})
        lines = dsjson_lines(tmp_path / "log.parquet", tmp_path / "log.dsjson")
        assert [str(line["_label_cost"]) for line in lines] == costs


def test_actions_have_their_features_in_dsjson(tmp_path):
    rows = [actions_row(0, 2, [0.25, 0.0, 0.75], [[1.0, 2.0], [0.0, 0.0], [3.0, 4.0]])]
    write_log(tmp_path / "log.parquet", rows, LINEAR)
    (line,) = dsjson_lines(tmp_path / "log.parquet", tmp_path / "log.dsjson")
    assert line["c"] == {"_multi": [{"action": [1.0, 2.0]}, {"action": [3.0, 4.0]}]}
    assert (line["a"], line["p"], line["_label_Action"]) == ([2, 1], [0.75, 0.25], 2)


# --- experiments --------------------------------------------------------------------------------------------------------


def exported(experiment, folder):
    """Rows of the exported log, by decision."""
    experiment.export(folder / "log.parquet")
    return {found["decision"]: found for found in polars.read_parquet(folder / "log.parquet").iter_rows(named=True)}


def test_what_was_decided_is_exported_bit_for_bit(shop, tmp_path):
    made = shop.decide_many([f"u{number}" for number in range(40)])
    shop.reward_many([(decision.id, number / 7) for number, decision in enumerate(made) if number % 3])
    shop.refresh()
    shop.add_arm("blue")
    made += [shop.decide("later"), shop.decide("some", available=["red", "blue"]), shop.decide("shown?", defer=True)]
    shop.reward(made[-1].id, 0.25)
    rows = exported(shop, tmp_path)
    # In order of time; those of one call, which have the same time, in that of their ids.
    assert list(rows) == [*sorted(decision.id for decision in made[:40]), *(decision.id for decision in made[40:])]
    for number, decision in enumerate(made):
        found = rows[decision.id]
        assert found["time"] == datetime.fromtimestamp(round(decision.decided_at, 6), UTC)
        weights = None if decision.weights is None else list(decision.weights.values())
        assert bits(found["weights"]) == bits(weights)
        assert bits(found["propensity"]) == bits(decision.propensity)
        for name in ("key", "unit", "arm", "version", "source", "deferred"):
            assert found[name] == getattr(decision, name), name
        assert found["action"] == ["red", "green", "blue"].index(decision.arm)
        is_rewarded = number < 40 and number % 3 > 0
        assert bits(found["reward"]) == bits(number / 7 if is_rewarded else None)
        assert found["settled"] == ("reward" if is_rewarded else "open")
        assert (found["learned"] is not None) == (is_rewarded and decision.source == "policy")
    assert {decision.source for decision in made} == {"policy", "holdout"}
    assert rows[made[-2].id]["weights"][1] == 0
    assert (rows[made[-1].id]["rewards"], rows[made[-1].id]["activated"]) == (1, None)
    about = json.loads(polars.read_parquet_metadata(tmp_path / "log.parquet")["bandstrap"])
    assert about["arms"] == ["red", "green", "blue"]
    assert about["experiment"] == "checkout"
    assert about["definition"]["policy"] == "ucb1"
    assert about["version"] == shop.refresh()


def test_an_activated_decision_has_its_reward(shop, tmp_path):
    decision = shop.decide(key="k", defer=True)
    shop.reward(decision.id, 2.0)
    assert exported(shop, tmp_path)[decision.id]["settled"] == "open"
    shop.activate(decision.id)
    found = exported(shop, tmp_path)[decision.id]
    assert (found["settled"], found["reward"], found["deferred"]) == ("reward", 2.0, True)
    assert found["activated"] >= found["time"]


def test_arms_that_another_worker_adds_meanwhile_are_for_the_next_export(shop, tmp_path, monkeypatch):
    before = shop.decide_many([f"u{number}" for number in range(5)])
    refresh = shop.refresh

    def refresh_and_be_overtaken():
        version = refresh()
        with live.open(tmp_path / "shop.db", "checkout") as other:
            other.add_arm("blue")
            other.decide_many(keys=[f"v{number}" for number in range(20)])
        return version

    with monkeypatch.context() as patch:
        patch.setattr(shop, "refresh", refresh_and_be_overtaken)
        assert exported(shop, tmp_path).keys() == {decision.id for decision in before}
    shop.refresh()
    rows = exported(shop, tmp_path)
    assert len(rows) == 25
    assert {one["arm"] for one in rows.values()} == {"red", "green", "blue"}


def test_the_log_of_an_experiment_that_has_not_begun_is_empty(shop, tmp_path):
    assert exported(shop, tmp_path) == {}


def test_defaults_late_and_missing_rewards_are_told_apart(tmp_path):
    settings = {"policy": "ucb1", "arms": ["red", "green"], "seed": 7, "window": 0.05}
    for aggregate, default in (("last", None), ("first", 0.0)):
        with live.create(
            tmp_path / "shop.db", aggregate, aggregate=aggregate, default_reward=default, **settings
        ) as experiment:
            rewarded, silent, late = experiment.decide_many(["a", "b", "c"])
            outcome = experiment.reward(rewarded.id, 1.5)
            time.sleep(0.06)
            assert experiment.reward(late.id, 1.5) == "late"
            rows = exported(experiment, tmp_path)
        missing = ("nothing", None) if default is None else ("default", 0.0)
        found = {id_: (one["settled"], one["reward"]) for id_, one in rows.items()}
        # On a machine that is busy for so long, the first one is late, too.
        assert found[rewarded.id] == (("reward", 1.5) if outcome == "stored" else missing)
        assert found[silent.id] == found[late.id] == missing
        assert (rows[late.id]["rewards"], rows[late.id]["late"]) == (1, 1)
        assert all(one["learned"] is not None for one in rows.values())


def test_shadow_and_actions_are_exported(tmp_path):
    with live.create(
        tmp_path / "shop.db", "shadow", policy="ucb1", arms=["red", "green"], seed=7, mode="shadow", control="green"
    ) as experiment:
        made = experiment.decide_many([f"u{number}" for number in range(8)])
        rows = exported(experiment, tmp_path)
    assert {one["arm"] for one in rows.values()} == {"green"}
    assert [rows[one.id]["proposed"] for one in made] == [["red", "green"].index(one.proposed) for one in made]
    assert {one["proposed"] for one in rows.values()} == {0, 1}
    with live.create(tmp_path / "shop.db", "linear", policy="lin_ucb:dimension=2", seed=7) as experiment:
        actions = [[0.1, 0.2], [1 / 3, -0.0], [5e-324, 1.0]]
        decision = experiment.decide(actions=actions)
        experiment.reward(decision.id, 1.0)
        found = exported(experiment, tmp_path)[decision.id]
    assert bits(found["context"]) == bits(actions)
    assert (found["arm"], found["action"]) == (None, decision.arm)
    assert bits(found["weights"]) == bits(decision.weights)
    feedback = open_bandit_feedback(tmp_path / "log.parquet")
    assert feedback["context"].tolist() == np.reshape(actions, (1, 6)).tolist()

"""Decisions, rewards and changes of live experiments."""

import json
import os
import threading

import numpy as np
import pytest

from bandstrap import live
from bandstrap.errors import InvalidInput
from bandstrap.live import fold
from bandstrap.live.weights import decision_id, is_held_out, keyed_generator
from live.checkout import ARMS, at, make
from naive.live import naive_decision


@pytest.fixture
def target(tmp_path):
    return tmp_path / "shop.db"


def learned(experiment):
    """The kind, arm and reward of every entry of the log."""
    entries = experiment.store.entries(experiment.row.id, 0, 1000)
    return [(entry.kind, entry.arm, entry.reward) for entry in entries]


# --- opening ------------------------------------------------------------------------------------------------------------


def test_the_same_definition_opens_the_experiment(target):
    first = make(target)
    decision = first.decide()
    again = make(target, policy="ucb1:sigma=1")
    assert again.row == first.row
    assert again.reward(decision.id, 1.0) == "stored"


def test_without_a_seed_a_fresh_one_is_taken_and_kept(target):
    first, again = make(target, seed=None), make(target, seed=None)
    assert first.definition == again.definition
    assert make(target.with_name("other.db"), seed=None).definition.seed != first.definition.seed


def test_another_definition_is_refused_by_its_first_difference(target):
    before = make(target, holdout=0.1, control="red").row
    with pytest.raises(InvalidInput, match=r"'holdout' parameter of live.create must be 0.1, as stored .*checkout"):
        make(target, holdout=0.2, control="green")
    assert live.open(target, "checkout").row == before


def test_what_is_refused_makes_no_file(target):
    with pytest.raises(InvalidInput):
        make(target, floor=2.0)
    with pytest.raises(InvalidInput, match=r"'name'"):
        live.create(target, "", policy="ucb1", arms=ARMS)
    assert not target.exists()


def test_an_experiment_must_have_been_created(target):
    with pytest.raises(live.StoreError, match=r"shop.db does not exist"):
        live.open(target, "checkout")
    make(target)
    with pytest.raises(InvalidInput, match=r"'name' parameter of live.open must be one of \['checkout'\]"):
        live.open(target, "nothing")


def test_two_experiments_in_one_database_know_nothing_of_each_other(target):
    one, other = make(target), live.create(target, "other", policy="ucb1", arms=["a", "b"], seed=7, refresh=0)
    decision = one.decide(key="k")
    assert other.decide(key="k").id != decision.id
    with pytest.raises(InvalidInput, match=r"'decision' parameter of reward must be the id of a decision of this exp"):
        other.reward(decision.id, 1.0)
    one.reward(decision.id, 1.0)
    assert (one.refresh(), other.refresh()) == (1, 0)


# --- decisions ----------------------------------------------------------------------------------------------------------


def test_a_decision_is_what_is_stored(target):
    experiment = make(target)
    decision = experiment.decide(unit="u17", key="k")
    (row,) = experiment.store.decisions(experiment.row.id, [decision.id])
    assert decision.id == decision_id("checkout", "k") == row.id
    assert (
        (decision.arm, decision.unit, decision.key) == (ARMS[row.arm], "u17", "k") == (ARMS[row.arm], row.unit, row.key)
    )
    assert decision.propensity == row.propensity == decision.weights[decision.arm] == json.loads(row.weights)[row.arm]
    assert (decision.version, decision.source, decision.proposed, decision.deferred) == (0, "policy", None, False)
    assert row.build == experiment.build.id


def test_the_same_key_gives_the_first_decision_from_any_worker(target):
    experiment, other = make(target), live.open(target, "checkout")
    first = experiment.decide(unit="u1", key="k")
    for i in range(12):
        experiment.reward(experiment.decide(key=f"more {i}").id, float(i))
    experiment.add_arm("teal")
    again = other.decide(unit="someone else", key="k", available=["blue"])
    assert again == first
    assert again.version == 0 < other.refresh()


def test_a_decision_by_a_worker_who_knows_more_arms_can_be_shown(target):
    experiment, other = make(target, refresh="1h"), live.open(target, "checkout")
    experiment.decide()
    other.add_arm("teal")
    decision = other.decide(key="k", available=["teal"])
    assert experiment.decide(key="k") == decision
    assert decision.arm == "teal"


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_text_that_no_database_keeps_is_refused_wherever_it_comes_from(target, text):
    experiment = make(target)
    decision = experiment.decide()
    for call in (
        lambda: live.create(target, text, policy="ucb1", arms=ARMS),
        lambda: live.open(target, text),
        lambda: experiment.decide(key=text),
        lambda: experiment.decide(unit=text),
        lambda: experiment.activate(text),
        lambda: experiment.reward(text, 1.0),
        lambda: experiment.reward(decision.id, 1.0, key=text),
        lambda: experiment.add_arm(text),
        lambda: experiment.pause("red", actor=text),
    ):
        with pytest.raises(InvalidInput, match="without null characters"):
            call()
    counts = experiment.store.counts(experiment.row.id)
    assert (counts.decisions, counts.rewards, counts.version) == (1, 0, 0)


def test_without_a_key_every_call_is_a_decision(target):
    experiment = make(target)
    assert len({experiment.decide(unit="u1").id for _ in range(10)}) == 10


def test_many_decisions_are_those_that_would_be_made_one_by_one(target):
    one, many = make(target), make(target.with_name("other.db"))
    keys = [f"k{i}" for i in range(50)]
    together = many.decide_many([f"u{key}" for key in keys], keys=keys)
    alone = [one.decide(f"u{key}", key=key) for key in keys]
    assert [d._replace(decided_at=0) for d in together] == [d._replace(decided_at=0) for d in alone]
    twice = many.decide_many(keys=["k0", "new", "k0", "new"])
    assert twice[0] == twice[2] == together[0]
    assert twice[1] == twice[3]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "'units' parameter of decide_many must be as long as 'keys'"),
        ({"units": ["a"], "keys": ["a", "b"]}, "'units' parameter of decide_many must be as long as 'keys'"),
        ({"units": "abc"}, "'units' parameter of decide_many must be a sequence"),
        ({"units": 3}, "'units' parameter of decide_many must be a sequence"),
        ({"units": np.array("a")}, "'units' parameter of decide_many must be a sequence"),
        ({"units": {"a", "b"}}, "'units' parameter of decide_many must be a sequence"),
        ({"keys": {"a": 1}}, "'keys' parameter of decide_many must be a sequence"),
        ({"keys": iter("ab")}, "'keys' parameter of decide_many must be a sequence"),
        ({"units": ["a", 3]}, "'unit' parameter of decide_many must be a text"),
        ({"keys": ["a", ""]}, "'key' parameter of decide_many must be a text"),
    ],
)
def test_many_decisions_that_do_not_fit_are_refused_together(target, options, sentence):
    experiment = make(target)
    with pytest.raises(InvalidInput, match=sentence):
        experiment.decide_many(**options)
    assert experiment.store.counts(experiment.row.id).decisions == 0


def test_no_decisions_at_all(target):
    assert make(target).decide_many([]) == []
    assert make(target).reward_many([]) == []
    with pytest.raises(InvalidInput, match="'context' parameter of decide_many must be left out"):
        make(target).decide_many(contexts=[])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"available": []}, "'available' parameter of decide must be such that one of the active arms"),
        ({"available": ["pink"]}, "'available' parameter of decide must be made of the arms"),
        ({"available": [0]}, "'available' parameter of decide must be made of the arms"),
        ({"available": "red"}, "'available' parameter of decide must be a sequence of labels"),
        ({"actions": [[1.0]]}, "'actions' parameter of decide must be left out"),
        ({"unit": 17}, "'unit' parameter of decide must be a text"),
        ({"key": "a\0"}, "'key' parameter of decide must be a text"),
        ({"defer": "yes"}, "'defer' parameter of decide must be True or False"),
    ],
)
def test_decisions_that_cannot_be_are_refused_and_nothing_is_written(target, options, sentence):
    experiment = make(target)
    with pytest.raises(InvalidInput, match=sentence):
        experiment.decide(**options)
    assert experiment.store.counts(experiment.row.id).decisions == 0


def test_only_available_arms_are_served(target):
    experiment = make(target)
    decisions = [experiment.decide(key=f"{i}", available=["blue", "red", "red"]) for i in range(40)]
    assert {decision.arm for decision in decisions} == {"red", "blue"}
    assert all(decision.weights == {"red": 0.5, "green": 0.0, "blue": 0.5} for decision in decisions)


def test_arms_that_are_paused_or_retired_are_masked(target):
    experiment = make(target)
    experiment.pause("green")
    experiment.retire("blue")
    assert {experiment.decide(available=ARMS).arm for _ in range(10)} == {"red"}
    assert experiment.decide().propensity == 1.0
    with pytest.raises(InvalidInput, match=r"'available'.*one of the active arms \['red'\]"):
        experiment.decide(available=["green", "blue"])
    experiment.resume("green")
    assert {experiment.decide().arm for _ in range(30)} == {"red", "green"}


def test_an_arm_that_another_worker_added_is_known_when_it_is_asked_for(target):
    experiment, other = make(target, refresh="1h"), live.open(target, "checkout")
    experiment.decide()
    other.add_arm("teal")
    assert experiment.decide(available=["teal"]).arm == "teal"


@pytest.mark.parametrize("policy", ["ucb1:sigma=0.3", "edgeworth_ucb", "maillard_sampling:sigma=0.5", "epsilon_greedy"])
def test_decisions_are_those_of_a_slow_twin(target, policy):
    """From the definition: the log is gone through reward by reward, shares are fractions, the line is walked along."""
    experiment = make(target, policy=policy, burn_in=5, floor=0.05, new_arm_share=0.2)
    rng = np.random.default_rng(8)
    decisions = []
    for i in range(100):
        available = ARMS if i % 3 else ["red", "blue"]
        decisions.append((experiment.decide(key=f"k{i}", available=available), available))
        if i % 2:
            chosen = decisions[int(rng.integers(len(decisions)))][0]
            experiment.reward(chosen.id, float(rng.normal(ARMS.index(chosen.arm) * 0.3, 0.3)))
    log = [(arm, reward) for _, arm, reward in learned(experiment)]
    settings = experiment.settings

    def start():
        return settings.make_policy(keyed_generator(settings.seed, "start"))

    for decision, available in decisions:
        told = (settings, "checkout", decision.key, log[: decision.version], available, start)
        weights, arm = naive_decision(*told)
        assert list(decision.weights.values()) == pytest.approx([float(weight) for weight in weights], abs=1e-12)
        assert decision.arm == ARMS[arm]
    assert max(decision.version for decision, _ in decisions) > 20
    assert len({json.dumps(decision.weights) for decision, _ in decisions}) > 3


# --- holdout and shadow -------------------------------------------------------------------------------------------------


def test_the_holdout_is_given_the_control_and_is_not_learned_from(target):
    experiment = make(target, holdout=0.3, control="green")
    decisions = experiment.decide_many([f"u{i}" for i in range(200)])
    held = [decision for decision in decisions if decision.source == "holdout"]
    assert {d.unit for d in held} == {d.unit for d in decisions if is_held_out(7, "checkout", d.unit, 0.3)}
    assert 30 < len(held) < 90
    assert all((d.arm, d.propensity, d.weights, d.proposed) == ("green", 1.0, None, None) for d in held)
    experiment.reward_many([(d.id, 1.0) for d in decisions])
    assert experiment.refresh() == len(decisions) - len(held)


def test_the_control_must_be_available_to_all_where_some_are_held_out(target):
    experiment = make(target, holdout=0.01, control="green")
    with pytest.raises(
        InvalidInput, match=r"'available'.*the control 'green' is there, which is served to the holdout"
    ):
        experiment.decide(unit="u1", available=["red"])


def test_in_shadow_mode_the_control_is_served_and_learned_and_the_proposal_logged(target):
    experiment, alive = make(target, mode="shadow", control="red"), make(target.with_name("b.db"), control="red")
    keys = [f"k{i}" for i in range(60)]
    decisions = experiment.decide_many(keys=keys)
    assert all((d.arm, d.propensity, d.source) == ("red", 1.0, "shadow") for d in decisions)
    assert [d.proposed for d in decisions] == [d.arm for d in alive.decide_many(keys=keys)]
    assert {d.proposed for d in decisions} == set(ARMS)
    experiment.reward_many([(d.id, 2.0) for d in decisions])
    experiment.refresh()
    assert set(learned(experiment)) == {("reward", 0, 2.0)}
    experiment.change(mode="live")
    assert experiment.decide().source == "policy"


# --- rewards ------------------------------------------------------------------------------------------------------------


def test_a_reward_sent_twice_counts_once(target):
    experiment = make(target)
    decision = experiment.decide()
    assert experiment.reward(decision.id, 1.0) == "stored"
    assert experiment.reward(decision.id, 1.0) == "duplicate"
    assert experiment.refresh() == 1
    assert experiment.reward(decision.id, 3.0, key="other") == "late"
    assert experiment.refresh() == 1
    assert learned(experiment) == [("reward", ARMS.index(decision.arm), 1.0)]


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (float("nan"), "'value' parameter of reward must be a finite number"),
        (float("inf"), "'value' parameter of reward must be a finite number"),
        (1.5, r"'value' parameter of reward must be inside \[0, 1\]"),
        ("1", "'value' parameter of reward must be a finite number"),
        (None, "'value' parameter of reward must be a finite number"),
    ],
)
def test_wrong_rewards_are_refused_and_nothing_is_written(target, value, sentence):
    experiment = make(target, policy="kl_ucb")
    good, other = experiment.decide(), experiment.decide()
    with pytest.raises(InvalidInput, match=sentence):
        experiment.reward_many([(good.id, 0.5), (other.id, value)])
    with pytest.raises(InvalidInput, match=sentence):
        experiment.reward(good.id, value)
    assert experiment.store.counts(experiment.row.id).rewards == 0


def test_an_unknown_decision_has_no_reward(target):
    experiment = make(target)
    good = experiment.decide()
    with pytest.raises(InvalidInput, match=r"'decision' parameter of reward must be the id of a decision"):
        experiment.reward_many([(good.id, 0.5), ("nothing", 0.5)])
    for wrong in (None, 3, good.id, [(good.id,)], [good.id], [None], [(3, 0.5)], [(good.id, 0.5, 3)]):
        with pytest.raises(InvalidInput, match=r"parameter of reward"):
            experiment.reward_many(wrong)
    assert experiment.store.counts(experiment.row.id).rewards == 0
    with pytest.raises(InvalidInput, match=r"'decision' parameter of activate"):
        experiment.activate("nothing")


@pytest.mark.parametrize(("aggregate", "value"), [("first", 1.0), ("last", 4.0), ("sum", 7.0)])
def test_rewards_are_aggregated_when_the_window_closes(target, aggregate, value):
    experiment = make(target, window="1m", aggregate=aggregate, default_reward=0.0)
    at(experiment, 1000)
    decision = experiment.decide()
    for i, reward in enumerate((1.0, 2.0, 4.0)):
        at(experiment, 1010 + i)
        assert experiment.reward(decision.id, reward, key=f"{i}") == "stored"
    at(experiment, 1059.5)
    assert experiment.refresh() == 0
    at(experiment, 1060)
    assert experiment.reward(decision.id, 100.0, key="late") == "late"
    assert experiment.refresh() == 1
    assert learned(experiment) == [("reward", ARMS.index(decision.arm), value)]


def test_decisions_without_a_reward_are_settled_by_the_default_or_by_nothing(target):
    for name, default, entry in (("a.db", 0.25, ("default", 0.25)), ("b.db", None, ("nothing", None))):
        experiment = make(target.with_name(name), window="1m", aggregate="last", default_reward=default)
        at(experiment, 1000)
        decision = experiment.decide()
        at(experiment, 1061)
        assert experiment.refresh() == 1
        assert [(kind, reward) for kind, _, reward in learned(experiment)] == [entry]
        state = experiment.state
        assert sum(state.rewards) == state.policy.n_rewards == (default is not None)
        assert experiment.reward(decision.id, 1.0) == "late"
        assert experiment.replay().is_identical


def test_windows_close_in_the_order_of_decisions_whatever_the_order_of_rewards(target):
    experiment = make(target, window="1m", default_reward=0.0)
    decisions = []
    for i in range(4):
        at(experiment, 1000 + i)
        decisions.append(experiment.decide())
    at(experiment, 1010)
    for decision, value in ((decisions[3], 3.0), (decisions[1], 1.0)):
        experiment.reward(decision.id, value)
    at(experiment, 1062)
    assert experiment.refresh() == 3
    at(experiment, 1100)
    assert experiment.refresh() == 4
    assert [reward for *_, reward in learned(experiment)] == [0.0, 1.0, 0.0, 3.0]


def test_on_arrival_rewards_are_learned_as_they_come_until_the_window_closes(target):
    experiment = make(target, window="1m")
    at(experiment, 1000)
    first, second = experiment.decide(), experiment.decide()
    at(experiment, 1010)
    experiment.reward(second.id, 2.0)
    assert experiment.refresh() == 1
    at(experiment, 1060)
    assert experiment.reward(first.id, 1.0) == "late"
    assert experiment.refresh() == 1
    assert experiment.store.counts(experiment.row.id).late == 1


def test_a_deferred_decision_counts_once_it_is_activated(target):
    experiment = make(target)
    decision = experiment.decide(defer=True)
    assert decision.deferred
    experiment.reward(decision.id, 1.0)
    assert experiment.refresh() == 0
    assert experiment.activate(decision.id) is True
    assert experiment.activate(decision.id) is False
    assert experiment.refresh() == 1
    assert experiment.replay().is_identical


def test_activation_begins_the_window(target):
    experiment = make(target, window="1m", default_reward=0.0)
    at(experiment, 1000)
    shown, never = experiment.decide(defer=True), experiment.decide(defer=True)
    at(experiment, 1100)
    experiment.activate(shown.id)
    assert experiment.reward(shown.id, 5.0) == "stored"
    at(experiment, 1159)
    assert experiment.refresh() == 0
    at(experiment, 9999)
    assert experiment.refresh() == 1
    assert learned(experiment) == [("reward", ARMS.index(shown.arm), 5.0)]
    assert never.id != shown.id


# --- changes ------------------------------------------------------------------------------------------------------------


def test_changes_take_effect_at_once_and_are_in_the_audit_trail(target):
    experiment, other = make(target), live.open(target, "checkout")
    experiment.add_arm("teal", actor="ann")
    experiment.pause("red", actor="bob")
    experiment.change(floor=0.1, refresh="2s", actor="cy")
    assert other.state.arms == [*ARMS, "teal"]
    assert other.state.status == ["paused", "active", "active", "active"]
    assert (other.settings.floor, other.settings.refresh) == (0.1, 2.0)
    trail = other.store.changes(other.row.id)
    assert [(change.seq, change.actor, change.kind) for change in trail] == [
        (1, "ann", "add_arm"),
        (2, "bob", "pause"),
        (3, "cy", "settings"),
    ]
    assert json.loads(trail[2].body) == {"floor": 0.1, "refresh": 2.0}
    assert other.definition.floor == 0.02
    assert make(target).row == experiment.row


def test_who_runs_the_process_is_the_actor_whatever_the_environment_calls_them(target, monkeypatch):
    monkeypatch.setenv("LOGNAME", os.fsdecode(b"j\xf6rg"))  # in another encoding
    experiment = make(target)
    experiment.pause("red")
    assert experiment.row.created_by == "j\\udcf6rg" == experiment.store.changes(experiment.row.id)[0].actor


CHANGES = {
    "arm there already": (lambda e: e.add_arm("red"), "'arm' parameter of add_arm must be a label that no arm"),
    "label of a retired arm": (lambda e: e.add_arm("blue"), "'arm' parameter of add_arm must be a label that no arm"),
    "label of a number": (lambda e: e.add_arm(3), "'arm' parameter of add_arm must be a text"),
    "pause unknown": (lambda e: e.pause("pink"), "'arm' parameter of pause must be one of the arms"),
    "pause retired": (lambda e: e.pause("blue"), "'arm' parameter of pause must be one of the arms"),
    "retire retired": (lambda e: e.retire("blue"), "'arm' parameter of retire must be one of the arms"),
    "resume active": (lambda e: e.resume("red"), "'arm' parameter of resume must be paused"),
    "resume retired": (lambda e: e.resume("blue"), "'arm' parameter of resume must be one of the arms"),
    "pause paused": (lambda e: e.pause("green"), "'arm' parameter of pause must be active"),
    "last active arm": (lambda e: e.pause("red"), "'arm' parameter of pause must be other than the last active arm"),
    "last active arm retired": (lambda e: e.retire("red"), "'arm' parameter of retire must be other than the last"),
    "nothing": (lambda e: e.change(), "'settings' parameter of change must be given"),
    "unknown setting": (lambda e: e.change(seed=3), "change cannot change 'seed'"),
    "wrong floor": (lambda e: e.change(floor=0.5), "'floor' parameter of change must be at most new_arm_share"),
    "holdout without control": (lambda e: e.change(holdout=0.1), "'control' parameter of change must be given"),
    "control that is paused": (lambda e: e.change(control="green"), "'control' parameter of change must be one of"),
    "actor": (lambda e: e.change(floor=0.0, actor=""), "'actor' parameter of change must be a text"),
}


@pytest.mark.parametrize(("change", "sentence"), CHANGES.values(), ids=CHANGES.keys())
def test_changes_that_cannot_be_are_refused_and_nothing_is_written(target, change, sentence):
    experiment = make(target)
    experiment.retire("blue")
    experiment.pause("green")
    with pytest.raises(InvalidInput, match=sentence):
        change(experiment)
    assert experiment.refresh() == 2
    assert len(experiment.store.changes(experiment.row.id)) == 2


def test_the_control_stays_while_it_is_the_control(target):
    experiment = make(target, control="red")
    for change in (experiment.pause, experiment.retire):
        with pytest.raises(InvalidInput, match=r"must be other than the control"):
            change("red")
    experiment.change(control="green")
    experiment.retire("red")
    experiment.change(control=None)
    experiment.pause("green")
    assert experiment.settings.control is None
    assert experiment.decide().arm == "blue"


def test_a_change_that_another_forestalled_is_checked_again(target):
    experiment, other = make(target, arms=["a", "b", "c"]), live.open(target, "checkout")
    append = experiment.store.append_change

    def forestalled(*args, **options):
        if other.state.version == 0:
            other.pause("b")
        return append(*args, **options)

    experiment.store.append_change = forestalled
    with pytest.raises(InvalidInput, match=r"'arm' parameter of pause must be active. Got 'b', which is paused"):
        experiment.pause("b")
    assert [change.kind for change in experiment.store.changes(experiment.row.id)] == ["pause"]


def test_rewards_of_a_retired_arm_are_still_learned(target):
    experiment = make(target)
    decision = experiment.decide(available=["blue"])
    experiment.retire("blue")
    experiment.reward(decision.id, 1.0)
    experiment.refresh()
    assert experiment.state.rewards == [0, 0, 1]
    assert experiment.replay().is_identical


# --- linear policies ----------------------------------------------------------------------------------------------------

ACTIONS = [[1.0, 0.1 + 0.2], [0.5, -1e-17], [1 / 3, 2.0]]


def test_linear_policies_are_given_actions(target):
    experiment = live.create(target, "page", policy="lin_ucb:dimension=2", seed=7, refresh=0, holdout=0.2, control=1)
    for i in range(40):
        decision = experiment.decide(unit=f"u{i}", actions=ACTIONS)
        assert isinstance(decision.arm, int)
        assert decision.source == "holdout" or decision.weights[decision.arm] == decision.propensity > 0
        experiment.reward(decision.id, float(i % 3))
    (row,) = experiment.store.decisions(experiment.row.id, [decision.id])
    assert json.loads(row.context) == ACTIONS
    several = experiment.decide_many(keys=["a", "b"], actions=[ACTIONS, ACTIONS[:2]])
    assert [len(d.weights) for d in several if d.weights] == [
        n for n, d in zip((3, 2), several, strict=True) if d.weights
    ]
    report = live.open(target, "page").replay()
    assert report.is_identical, report.first
    assert report.entries > 20


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "'actions' parameter of decide must be given"),
        ({"actions": [[1.0]]}, "'actions' parameter of .*decide must be made of 2 features"),
        ({"actions": [1.0, 2.0]}, "'actions' parameter of .*decide must be a non-empty matrix"),
        ({"actions": [[1.0, float("nan")]]}, "'actions' parameter of .*decide must be made of finite numbers"),
        ({"actions": ACTIONS, "available": ["a"]}, "'available' parameter of decide must be left out"),
        ({"actions": ACTIONS[:1]}, "'actions' parameter of decide must be such that the control 1 is there"),
    ],
)
def test_actions_that_cannot_be_are_refused(target, options, sentence):
    experiment = live.create(target, "page", policy="lin_ucb:dimension=2", seed=7, holdout=0.2, control=1)
    with pytest.raises(InvalidInput, match=sentence):
        experiment.decide(**options)
    with pytest.raises(InvalidInput, match=r"add_arm is for policies of arms"):
        experiment.add_arm("a")
    assert experiment.store.counts(experiment.row.id).decisions == 0


# --- threads, forks, restarts -------------------------------------------------------------------------------------------


def test_threads_may_share_an_experiment(target):
    experiment = make(target)
    failures = []

    def work(number):
        try:
            for i in range(25):
                decision = experiment.decide(key=f"{number} {i}")
                experiment.reward(decision.id, float(i))
        except Exception as error:  # noqa: BLE001 - whatever it is, the test is to see it
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert experiment.refresh() == 100
    assert experiment.replay().is_identical


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of a fork beside threads
def test_an_experiment_survives_a_fork_even_with_a_thread_in_the_middle(target):
    experiment = make(target)
    experiment.reward(experiment.decide(key="before").id, 1.0)
    inside, done = threading.Event(), threading.Event()

    def hold():
        with experiment._lock:
            inside.set()
            done.wait(300)

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait(300)
    child = os.fork()
    if child == 0:
        try:
            decision = experiment.decide(key="child")
            experiment.reward(decision.id, 2.0)
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0
    experiment.decide(key="parent")
    assert experiment.refresh() == 2
    assert experiment.replay().is_identical


def test_a_closed_experiment_goes_on_when_it_is_called(target):
    with make(target) as experiment:
        decision = experiment.decide()
    assert experiment.reward(decision.id, 1.0) == "stored"


def test_a_state_whose_folding_was_cut_short_is_not_used(target, monkeypatch):
    experiment, twin = make(target), live.open(target, "checkout")
    for i in range(10):
        experiment.reward(experiment.decide(key=f"{i}").id, float(i))
    policy = type(twin.state.policy)
    experiment.reward(experiment.decide().id, 5.0)
    with monkeypatch.context() as patch:
        patch.setattr(policy, "update", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            twin.refresh()
    assert twin.refresh() == experiment.refresh() == 11
    assert fold.write_snapshot(twin.state) == fold.write_snapshot(experiment.state)


# --- policies of one's own ----------------------------------------------------------------------------------------------

OWN = """
from bandstrap import UCB1

class Mine(UCB1):
    name = "mine_of_live"

    def __init__(self, *, sigma=0.1, **online):
        super().__init__(sigma=sigma, **online)
"""


def test_a_policy_of_ones_own_is_edited_since(target, tmp_path, monkeypatch):
    """Decisions that were made before are of another build, and replay says where the new code differs."""
    monkeypatch.setattr(fold, "FEWEST_ENTRIES", 10)
    file = tmp_path / "own.py"
    file.write_text(OWN)
    rng = np.random.default_rng(1)
    experiment = make(target, policy=f"{file}:Mine", floor=0.1)
    for i in range(60):
        experiment.reward(experiment.decide(key=f"{i}").id, float(rng.random()))
    assert live.open(target, "checkout", code=True).replay().is_identical
    file.write_text(OWN.replace("sigma=0.1", "sigma=30.0"))
    fresh = live.open(target, "checkout", code=True)
    assert fresh.build != experiment.build
    assert fresh.store.latest_snapshot(fresh.row.id, fresh.build.id) is None
    assert fresh.decide().version == 60
    report = fresh.replay()
    assert not report.is_identical
    assert report.builds == {experiment.build.id: 60, fresh.build.id: 1}
    assert "60 decisions were made by another build" in str(report)
    file.unlink()
    with pytest.raises(InvalidInput, match=r"own.py is not a file"):
        live.open(target, "checkout", code=True).decide()


def test_weights_are_asked_for_once_in_a_version(target, monkeypatch):
    experiment = make(target, policy="gaussian_ts")  # refreshed at every decision
    for i in range(30):
        experiment.reward(experiment.decide(key=f"{i}").id, 0.5)
    asked = []
    policy = type(experiment.state.policy)
    weights = policy.weights
    monkeypatch.setattr(
        policy, "weights", lambda self, *args, **options: asked.append(1) or weights(self, *args, **options)
    )
    first = experiment.decide(key="first")
    n_asked = len(asked)
    assert n_asked > 0
    assert experiment.decide(key="second").version == first.version == 30
    assert len(asked) == n_asked
    experiment.reward(first.id, 0.5)
    assert experiment.decide(key="third").version == 31
    assert len(asked) > n_asked


def test_a_change_that_others_forestall_every_time_is_told(tmp_path, monkeypatch):
    with make(tmp_path / "a.db") as experiment:
        monkeypatch.setattr(experiment.store, "append_change", lambda *_, **__: None)
        sentence = "pause was not applied: other processes changed the experiment 'checkout' 20 times meanwhile"
        with pytest.raises(live.StoreError, match=sentence):
            experiment.pause("red")
        monkeypatch.undo()
        assert experiment.pause("red").version == 1

"""What an experiment may be told."""

import inspect
import json
from datetime import timedelta

import numpy as np
import pytest

import bandstrap
from bandstrap import live
from bandstrap.errors import InvalidInput
from bandstrap.live.settings import Settings, check_duration, check_text, first_difference, make_settings
from bandstrap.policies import LINEAR_POLICIES, POLICIES
from sampling import each

ARMS = ["red", "green"]


def told(**options):
    """As ``live.create`` is told it, with its defaults."""
    defaults = {name: each.default for name, each in inspect.signature(live.create).parameters.items()}
    known = {name: defaults[name] for name in inspect.signature(make_settings).parameters}
    return make_settings(**known | {"policy": "ucb1", "arms": ARMS, "seed": 0} | options)


@each(
    ("text", "seconds"),
    [("24h", 86400), ("30m", 1800), ("1s", 1), ("7d", 604800), ("1.5h", 5400), ("250ms", 0.25), (" 2 w ", 1209600)],
)
def test_durations(text, seconds):
    assert check_duration(text, "window", "live.create") == seconds


def test_durations_as_numbers():
    assert check_duration(90, "window", "live.create") == 90.0
    assert check_duration(timedelta(minutes=2), "window", "live.create") == 120.0


@each("wrong", ["", "h", "24", "24 hours", "-1s", "1e3s", "nan", float("nan"), float("inf"), -1, True, []])
def test_wrong_durations_are_refused(wrong):
    with pytest.raises(InvalidInput, match=r"'window' parameter of live.create"):
        check_duration(wrong, "window", "live.create")


def test_a_window_of_no_length_is_refused():
    with pytest.raises(InvalidInput, match=r"'window'.*greater than 0"):
        told(window="0s")


REFUSED = {
    "unknown policy": ({"policy": "ucb17"}, "unknown policy 'ucb17'"),
    "option unknown": ({"policy": "ucb1:speed=3"}, "speed"),
    "policy with arms": ({"policy": bandstrap.UCB1(arms=2)}, "'policy'.*without arms"),
    "linear policy that has learned": (
        {"policy": bandstrap.LinUCB(dimension=1), "arms": None, "_update": True},
        "'policy'.*without arms and rewards",
    ),
    "plain object": ({"policy": object()}, "'policy'.*or a policy without arms"),
    "callable alpha": ({"policy": bandstrap.UCB1(alpha=lambda t: 0.1)}, "'policy'.*function cannot be stored"),
    "forced exploration": ({"policy": "subsample_duels:forced_exploration=true"}, "'policy'.*forced_exploration"),
    "resampled linear": (
        {"policy": "linear_bootstrapped_ucb:dimension=2", "arms": None},
        "'policy'.*quantile=streaming",
    ),
    "no dimension": ({"policy": "lin_ucb", "arms": None}, "'dimension' parameter of LinUCB"),
    "arms of a linear policy": ({"policy": "lin_ucb:dimension=2"}, "'arms'.*left out with LinUCB"),
    "burn-in of a linear policy": (
        {"policy": "lin_ucb:dimension=2", "arms": None, "burn_in": 3},
        "'burn_in'.*left out",
    ),
    "horizon missing": ({"policy": "ucb1:alpha=1/T^2"}, "'horizon' parameter of UCB1"),
    "no arms": ({"arms": None}, "'arms'.*Got none"),
    "one arm": ({"arms": ["red"]}, "'arms'.*two or more"),
    "number of arms": ({"arms": 3}, "'arms'.*two or more"),
    "text as arms": ({"arms": "red"}, "'arms'.*two or more"),
    "duplicate labels": ({"arms": ["red", "red"]}, "'arms'.*different"),
    "labels that are numbers": ({"arms": ["red", 2]}, "'arms'.*a text"),
    "empty label": ({"arms": ["red", ""]}, "'arms'.*a text of 1"),
    "null character": ({"arms": ["red", "a\0b"]}, "'arms'.*null"),
    "half a surrogate pair": ({"arms": ["red", "\ud800"]}, "'arms'.*UTF-8"),
    "long label": ({"arms": ["red", "g" * 201]}, "'arms'.*200 bytes"),
    "floor of 1": ({"floor": 1.0, "new_arm_share": 1.0}, r"'floor'.*\[0, 1\)"),
    "negative floor": ({"floor": -0.1}, r"'floor'.*\[0, 1\)"),
    "floor of nan": ({"floor": float("nan")}, "'floor'.*finite"),
    "floor above the share": ({"floor": 0.2}, "'floor'.*at most new_arm_share"),
    "share of 0": ({"new_arm_share": 0}, "'new_arm_share'.*greater than 0"),
    "share above 1": ({"new_arm_share": 1.5}, "'new_arm_share'.*at most 1"),
    "holdout without control": ({"holdout": 0.1}, "'control'.*given with holdout"),
    "shadow without control": ({"mode": "shadow"}, "'control'.*given with mode='shadow'"),
    "control unknown": ({"control": "blue"}, "'control'.*one of the active arms"),
    "control not a text": ({"control": 0}, "'control'.*one of the active arms"),
    "holdout of 1": ({"holdout": 1, "control": "red"}, r"'holdout'.*\[0, 1\)"),
    "last without window": ({"aggregate": "last"}, "'window'.*given with aggregate='last'"),
    "sum without window": ({"aggregate": "sum"}, "'window'.*given with aggregate='sum'"),
    "default without window": ({"default_reward": 0.0}, "'window'.*given with default_reward=0.0"),
    "negative window": ({"window": -5}, "'window'"),
    "unknown aggregate": ({"aggregate": "mean"}, "'aggregate'.*one of 'first'"),
    "unknown mode": ({"mode": "dry"}, "'mode'.*one of 'live'"),
    "default out of range": (
        {"policy": "kl_ucb", "window": "1h", "default_reward": 2.0},
        r"'default_reward'.*inside \[0, 1\]",
    ),
    "default of nan": ({"window": "1h", "default_reward": float("nan")}, "'default_reward'.*finite"),
    "sum out of range": ({"policy": "kl_ucb", "window": "1h", "aggregate": "sum"}, "'aggregate'.*unlike their sum"),
    "negative burn-in": ({"burn_in": -1}, "'burn_in'.*at least 0"),
    "burn-in in parts": ({"burn_in": 1.5}, "'burn_in'.*integer"),
    "no draws": ({"draws": 0}, "'draws'.*at least 1"),
    "many draws": ({"draws": 10**9}, "'draws'.*between"),
    "negative seed": ({"seed": -1}, "'seed'.*at least 0"),
    "negative refresh": ({"refresh": "-1s"}, "'refresh'"),
    "unknown direction": ({"direction": "up"}, "'direction'.*one of 'max'"),
    "two directions": (
        {"policy": bandstrap.UCB1(direction="min"), "direction": "max"},
        "'direction'.*that of the policy",
    ),
}


@each(("options", "sentence"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_is_refused_in_a_sentence(options, sentence):
    options = dict(options)
    if options.pop("_update", False):
        options["policy"].update([1.0], 0.5)
    with pytest.raises(InvalidInput, match=sentence) as refusal:
        told(**options)
    assert "\n" not in str(refusal.value)


def test_a_class_of_ones_own_without_a_file_is_refused():
    class Mine(bandstrap.UCB1):
        pass

    with pytest.raises(InvalidInput, match=r"'policy'.*file.py:Class"):
        told(policy=Mine())


OWN = """
from bandstrap import UCB1

class Mine(UCB1):
    name = "mine_of_settings"
"""


def test_a_policy_in_a_file_is_found_from_another_folder(tmp_path, monkeypatch):
    (tmp_path / "own.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    settings = told(policy="own.py:Mine")
    monkeypatch.chdir("/")
    policy = Settings.from_json(settings.to_json()).make_policy(np.random.default_rng(0))
    assert type(policy).__name__ == "Mine"
    assert policy.arms == ("red", "green")


def test_a_file_with_a_plain_policy_is_refused(tmp_path):
    text = "class Mine:\n def __init__(self, n_arms, rng): ...\n def select(self): ...\n def update(self, a, r): ...\n"
    (tmp_path / "plain.py").write_text(text)
    with pytest.raises(InvalidInput, match=r"'policy'.*cannot be stored"):
        told(policy=f"{tmp_path}/plain.py:Mine")


@each("name", [*POLICIES, *LINEAR_POLICIES])
@each("direction", ["max", "min"])
def test_definitions_make_a_round_trip(name, direction):
    options = {"dimension": 3} if name in LINEAR_POLICIES else {}
    if name == "linear_bootstrapped_ucb":
        options["quantile"] = "streaming"
    policy = (POLICIES | LINEAR_POLICIES)[name](direction=direction, **options)
    settings = told(policy=policy, arms=None if name in LINEAR_POLICIES else ARMS, seed=2**62, refresh=0.1)
    again = Settings.from_json(settings.to_json())
    assert again == settings
    assert first_difference(again, settings) is None
    made = again.make_policy(np.random.default_rng(0))
    assert made.settings() == policy.settings()
    assert type(made) is type(policy)


def test_one_policy_written_in_two_ways_is_one_definition():
    assert told(policy="ucb1:sigma=1.0") == told(policy="ucb1") == told(policy=bandstrap.UCB1())
    assert told(policy="ucb1:sigma=2") == told(policy=bandstrap.UCB1(sigma=2))
    assert told(window="60m", default_reward=0) == told(window=3600, default_reward=0.0)


def test_draws_are_fewer_where_every_decision_has_its_own():
    assert told().draws == 1000
    assert told(policy="linear_ts:dimension=2", arms=None).draws == 100
    assert told(policy="linear_ts:dimension=2", arms=None, draws=7).draws == 7


def test_the_first_difference_is_named():
    assert first_difference(told(), told(floor=0.01)) == "floor"
    assert first_difference(told(), told(floor=0.01, seed=5)) == "seed"
    assert first_difference(told(), told(arms=["green", "red"])) == "arms"
    assert first_difference(told(), told(policy="ucb1:sigma=2")) == "policy"


def test_definitions_of_others_are_refused():
    with pytest.raises(InvalidInput, match=r"cannot be read"):
        Settings.from_json("{}")
    with pytest.raises(InvalidInput, match=r"cannot be read"):
        Settings.from_json("nothing")
    later = json.loads(told().to_json()) | {"format": 2}
    with pytest.raises(InvalidInput, match=r"has format 2; this version reads 1"):
        Settings.from_json(json.dumps(later))


def test_changes_are_checked_like_what_was_told_first():
    settings = told(floor=0.05)
    assert settings.changed(ARMS, {"floor": 0.1, "refresh": "2m"}, "change").refresh == 120
    with pytest.raises(InvalidInput, match=r"'floor' parameter of change.*at most new_arm_share"):
        settings.changed(ARMS, {"new_arm_share": 0.01}, "change")
    with pytest.raises(InvalidInput, match=r"'control' parameter of change.*given with holdout"):
        settings.changed(ARMS, {"holdout": 0.1}, "change")
    with pytest.raises(InvalidInput, match=r"'control'.*one of the active arms"):
        settings.changed(["red"], {"control": "green"}, "change")
    with pytest.raises(InvalidInput, match=r"cannot change 'seed'"):
        settings.changed(ARMS, {"seed": 3}, "change")
    linear = told(policy="lin_ucb:dimension=2", arms=None, control=1)
    assert linear.changed([], {"floor": 0.5}, "change").floor == 0.5
    with pytest.raises(InvalidInput, match=r"'burn_in' parameter of change.*left out"):
        linear.changed([], {"burn_in": 3}, "change")


@each("wrong", [None, 3, b"u17", "", "a\0", "\ud800", "x" * 1001, "ü" * 501])
def test_keys_and_units_that_no_database_takes_are_refused(wrong):
    with pytest.raises(InvalidInput, match=r"'key' parameter of decide"):
        check_text(wrong, "key", "decide")


def test_any_other_text_is_taken():
    for text in ("u17", " ", "日本語", "'; drop table", "x" * 1000, "a\nb"):
        assert check_text(text, "key", "decide") == text

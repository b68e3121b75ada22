"""Policies as JSON and as files: what comes back, and what is refused."""

import json
import math
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bandstrap
from bandstrap import UCB1, BootstrappedUCB, LinearTS, Policy
from bandstrap.basics.storage import NO_SEAL, seal
from bandstrap.errors import InvalidInput
from bandstrap.names import make
from bandstrap.policies.linear import LinearPolicy
from bandstrap.policies.saving.json_values import (
    read_array,
    read_generator,
    read_value,
    write_array,
    write_generator,
    write_value,
)
from bandstrap.policies.saving.saved import VERSION
from policies.own_policies import Failing, First, Mapped, Pooled, Sorted
from sampling import each, telling

MINE = (Path(__file__).parents[2] / "docs" / "mine.py").read_text()


def through_json(value):
    return json.loads(json.dumps(value, allow_nan=False))


def bits(value):
    """A value in which equal floats with different bits, and equal values of different types, differ."""
    if isinstance(value, tuple):
        return tuple(map(bits, value))
    return type(value), struct.pack("<d", value) if isinstance(value, float) else value


def played(policy, rounds=30, seed=0):
    """The policy, after some rounds."""
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        policy.update(policy.select(), rng.random())
    return policy


# --- single values ------------------------------------------------------------------------------------------------------

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()


@given(st.recursive(scalars, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=8))
def test_a_value_comes_back_with_its_type_and_all_its_bits(value):
    assert bits(read_value(through_json(write_value(value)))) == bits(value)


@given(st.lists(st.integers(0, 2**64 - 1), max_size=6))
def test_floats_in_arrays_come_back_with_all_their_bits(words):
    array = np.array(words, dtype=np.uint64)
    for same in (array, array.view(np.float64), array.view(np.int64), array.reshape(1, -1).view(np.float64)):
        again = read_array(through_json(write_array(same)), same.shape, same.dtype)
        assert again.dtype == same.dtype
        assert again.tobytes() == same.tobytes()


@each("value", [b"a", 1j, [1], {1: 2}, object(), np.datetime64("2020-01-01"), np.timedelta64(5, "ns")])
def test_a_label_that_json_cannot_hold_is_refused_in_a_sentence(value):
    label = (value,) if value.__hash__ is not None else frozenset()
    with pytest.raises(InvalidInput, match=r"This UCB1 cannot be saved: it holds .* Labels and settings must be"):
        UCB1(arms=[label, "b"], rng=0).to_dict()


def test_arms_keep_the_type_of_their_labels():
    arms = ["1", 1, 2.0, None, (1, "1"), ("1", 1), (), ((None,), True), "\ud800 \N{SNOWMAN} \0", -math.inf, 10**30]
    again = Policy.from_dict(through_json(UCB1(arms=arms, rng=0).to_dict()))
    assert list(map(bits, again.arms)) == list(map(bits, arms))
    assert [again._index[label] for label in arms] == list(range(len(arms)))


def test_labels_out_of_numpy_come_back_as_what_they_equal():
    for arms in (np.array([3, 5]), np.array(["a", "b"]), np.array([0.5, 2.0], dtype=np.float32)):
        again = Policy.from_dict(through_json(UCB1(arms=arms, rng=0).to_dict()))
        assert again.arms == tuple(arms)
        again.update(arms, [0.5, 0.25])


# --- generators ---------------------------------------------------------------------------------------------------------


@each("name", ["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"])
@each("drawn", range(7))
def test_any_generator_of_numpy_goes_on(name, drawn):
    rng = np.random.Generator(getattr(np.random, name)(5))
    rng.random(drawn)
    rng.integers(0, 7, drawn, dtype=np.uint32)  # which keeps half a word for the next time
    again = read_generator(through_json(write_generator(rng)))
    assert type(again.bit_generator) is type(rng.bit_generator)
    for draw in ("random", "standard_normal"):
        assert getattr(again, draw)(700).tobytes() == getattr(rng, draw)(700).tobytes()
    assert again.integers(0, 9, 11, dtype=np.uint32).tolist() == rng.integers(0, 9, 11, dtype=np.uint32).tolist()
    policy = played(UCB1(arms=3, rng=np.random.Generator(getattr(np.random, name)(5))))
    assert type(Policy.from_dict(policy.to_dict()).rng.bit_generator) is type(rng.bit_generator)


class OtherBits(np.random.PCG64):
    """A source of bits that NumPy does not have."""


def test_a_generator_that_is_not_numpys_cannot_be_saved():
    with pytest.raises(InvalidInput, match=r"whose bits come from .*OtherBits, which is not NumPy's"):
        UCB1(arms=2, rng=OtherBits(3)).to_dict()


@each(
    ("name", "path", "value"),
    [
        ("MT19937", ("state", "pos"), 10**6),  # NumPy would read that far
        ("MT19937", ("state", "key", 3), 2**32),
        ("Philox", ("buffer_pos",), 2**30),
        ("PCG64", ("state", "inc"), 2),
        ("PCG64", ("state", "state"), 2**128),
        ("PCG64", ("has_uint32",), 2**40),
        ("SFC64", ("state", "state", 0), -1),
        ("SFC64", ("state", "state", 0), True),
    ],
)
def test_a_generator_in_an_impossible_state_is_refused(name, path, value):
    saved = through_json(UCB1(arms=2, rng=np.random.Generator(getattr(np.random, name)(5))).to_dict())
    *way, last = path
    place = saved["rng"]["state"]
    for step in way:
        place = place[step]
    place[last] = value
    with pytest.raises(InvalidInput, match=r"The 'saved' parameter of Policy\.from_dict must be"):
        Policy.from_dict(saved)


# --- which policies -----------------------------------------------------------------------------------------------------


def test_all_settings_are_saved_and_come_back():
    policy = BootstrappedUCB(arms=2, rng=0, direction="min", sigma=0.25, alpha=0.05, n_resamples=50)
    saved = through_json(policy.to_dict())
    assert saved["settings"].keys() == BootstrappedUCB.parameters().keys()
    again = Policy.from_dict(saved)
    assert repr(again) == repr(policy)
    assert again.settings() == policy.settings()
    assert again.support == policy.support


def test_a_policy_whose_level_is_a_function_cannot_be_saved():
    policy = UCB1(arms=2, rng=0, alpha=lambda t: 1 / (t + 1))
    with pytest.raises(InvalidInput, match="The 'alpha' parameter of UCB1 must be no function"):
        policy.to_dict()


def test_a_description_cannot_be_saved(tmp_path):
    with pytest.raises(InvalidInput, match="The 'arms' parameter of UCB1 must be given"):
        UCB1().save(tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []


def test_a_class_does_not_make_a_policy_of_another():
    saved = UCB1(arms=2, rng=0).to_dict()
    assert isinstance(UCB1.from_dict(saved), UCB1)
    for cls in (BootstrappedUCB, LinearPolicy):
        with pytest.raises(
            InvalidInput, match=f"'saved' parameter of {cls.__name__}.from_dict must be a {cls.__name__}"
        ):
            cls.from_dict(saved)


@pytest.mark.parametrize("cls", [Sorted, First, Pooled])
@telling("compiled", [False, True], [False])
def test_a_class_of_ones_own_is_found_while_it_is_imported(cls, compiled, tmp_path):
    policy = played(cls(arms=["a", "b"], rng=0, compiled=compiled), 50)
    policy.save(tmp_path / "own.json")
    code = "import sys, bandstrap; bandstrap.load(sys.argv[1])"
    again = bandstrap.load(tmp_path / "own.json")
    assert type(again) is cls
    assert [played(twin, 40, 1).to_dict() for twin in (again,)] == [played(policy, 40, 1).to_dict()]
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "own.json"], capture_output=True, text=True, check=False
    )
    assert "InvalidInput" in done.stderr
    assert (
        "own.json cannot be loaded: it must be a policy of bandstrap, of a class that has been imported" in done.stderr
    )


def test_a_state_of_other_things_than_arrays_cannot_be_saved():
    with pytest.raises(InvalidInput, match="cannot be saved: it holds dict in its state, as 'squares'"):
        Mapped(arms=2, rng=0).to_dict()


def test_a_policy_of_a_file_is_found_in_that_file(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    described = make(f"{file}:Mine", {}, "policy")
    policy = type(described)(arms=["a", "b"], rng=0)
    policy.origin = described.origin
    played(policy, 20).save(tmp_path / "mine.json")
    again = bandstrap.load(tmp_path / "mine.json")
    assert (type(again), again.origin, again.label) == (type(policy), policy.origin, policy.label)
    assert played(again, 20, 1).to_dict() == played(policy, 20, 1).to_dict()
    file.write_text(MINE + "\n# edited since\n")
    assert bandstrap.load(tmp_path / "mine.json").n_rewards == 20
    file.unlink()
    with pytest.raises(InvalidInput, match=r"mine.json cannot be loaded: .*mine.py is not a file"):
        bandstrap.load(tmp_path / "mine.json")


def test_saving_changes_nothing_and_shares_nothing():
    policy = played(BootstrappedUCB(arms=3, rng=0, quantile="streaming", n_resamples=20))
    saved, twin = policy.to_dict(), policy.copy()
    kept = json.dumps(saved)
    again = Policy.from_dict(saved)
    played(again, 10)
    played(policy, 10)
    assert json.dumps(saved) == kept
    assert played(twin, 10).to_dict() == policy.to_dict() == again.to_dict()


def test_arms_that_wait_for_their_first_rewards_are_saved():
    policy = UCB1(arms=["a", "b", "c"], rng=0)
    policy.select(), policy.select()
    policy.update("b", 0.5)
    again = Policy.from_dict(policy.to_dict())
    assert [again.select() for _ in range(5)] == [policy.select() for _ in range(5)]


def test_an_interrupted_update_is_taken_back_before_it_is_saved():
    policy = Failing(arms=2, rng=0)
    policy.update([0, 1], [0.5, 0.25])
    before = policy.to_dict()
    take_back = policy._take_back

    def interrupted():
        policy._take_back = take_back
        raise KeyboardInterrupt

    policy._take_back = interrupted
    with pytest.raises(KeyboardInterrupt):
        policy.update([0, 1], [0.5, 0.75])  # which fails, and so does its taking back
    assert policy._undo is not None
    del policy._take_back
    assert policy.to_dict() == before
    assert policy._undo is None


# --- files --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "policy.json"
    played(UCB1(arms=2, rng=0), 9).save(path)
    return path


def test_a_file_is_strict_json_that_says_what_wrote_it(file):
    def refuse(word):
        raise AssertionError(word)

    saved = json.loads(file.read_text(encoding="ascii"), parse_constant=refuse)
    assert (saved["format"], saved["version"]) == ("bandstrap policy", VERSION)
    assert saved["bandstrap"] == bandstrap.__version__
    assert saved["policy"] == "ucb1"


def test_a_flipped_bit_anywhere_is_found_and_so_is_an_end_that_is_missing(file, monkeypatch):
    content = bytearray(file.read_bytes())
    damaged = [content[:length] for length in range(len(content))]
    monkeypatch.setattr(Path, "read_bytes", lambda path: bytes(damaged[-1]))
    while damaged:
        with pytest.raises(InvalidInput, match="is not a saved policy: it is "):
            bandstrap.load(file)
        damaged.pop()
    damaged.append(content)
    for place in range(len(content)):
        for bit in range(8):
            content[place] ^= 1 << bit
            with pytest.raises(InvalidInput, match="is not a saved policy: it is "):
                bandstrap.load(file)
            content[place] ^= 1 << bit
    assert bandstrap.load(file).n_rewards == 9


def sealed(path, value):
    """Write a file under a seal that holds, as if another program had."""
    text = json.dumps({**value, "seal": NO_SEAL} if isinstance(value, dict) else [value, {"seal": NO_SEAL}])
    path.write_bytes(seal(text.encode()))
    return path


COUNTS = {"rewards": 9, "told": [4, 5], "means": [0.5, 0.5]}
COUNTS |= {"waiting": [0, 0], "since": [-1, -1], "attempts": [0, 0], "decisions": 2, "end": -1}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, r"in format 1, the one that this bandstrap .* knows; got format 2 of bandstrap"),
        ({"version": True}, "got format True"),
        ({"version": None}, "got format None"),
        ({"format": "something"}, r"the result of to_dict\(\) of a policy"),
        ({"policy": "no_such_policy"}, "a policy of bandstrap, .*; got 'no_such_policy'"),
        ({"policy": "policy"}, "a policy of bandstrap, .*; got 'policy'"),
        ({"policy": 3}, "a policy of bandstrap, .*; got 3"),
        ({"policy": "no/such/file.py:Mine"}, "file.py is not a file"),
        ({"settings": {"sigmo": 1.0}}, "settings of UCB1; got 'sigmo', which it does not have"),
        ({"settings": {"arms": 2}}, "settings of UCB1; got 'arms', which it does not have"),
        ({"settings": {"sigma": "wide"}}, "'sigma' parameter of UCB1 must be a finite number"),
        ({"settings": []}, "whose 'settings' are an object"),
        ({"direction": "up"}, "'direction' parameter of UCB1 must be one of"),
        ({"compiled": 1}, "whose 'compiled' is true or false; got 1"),
        ({"plays": {"dimension": 3}}, "whose 'plays' are an object with arms"),
        ({"plays": {"arms": [1, 1], "retired": []}}, "'arms' parameter of UCB1 must be"),
        ({"plays": {"arms": [], "retired": []}}, "a list of arms"),
        ({"plays": {"arms": [0, 1], "retired": 1}}, "a list of retired arms; got 1"),
        ({"plays": {"arms": [0, 1], "retired": [2]}}, "retired arms are some of its arms"),
        ({"plays": {"arms": [0, 1], "retired": [0, 1]}}, "retired arms are some of its arms"),
        ({"plays": {"arms": [1, 2, 3], "retired": []}}, r"'pulls' is of shape \(3,\); got 2 of them"),
        ({"counts": COUNTS | {"rewards": 8}}, "pulls are as many as its 8 rewards; got 9"),
        ({"counts": COUNTS | {"waiting": [0, -1]}}, "'waiting' are counts; got -1"),
        ({"counts": COUNTS | {"waiting": [0]}}, r"of shape \(2,\)"),
        ({"counts": COUNTS | {"since": [0, -2]}}, "'since' are counts; got -2"),
        ({"counts": COUNTS | {"decisions": 1.5}}, "'decisions' is a number of decisions; got 1.5"),
        ({"counts": COUNTS | {"end": -2}}, "'end' is a number of decisions; got -2"),
        ({"counts": COUNTS | {"means": [0.5, None]}}, "numbers"),
        ({"counts": COUNTS | {"rewards": -9}}, "whole number of at least 0; got -9"),
        ({"state": None}, "a state with the fields order, pulls, sums"),
        ({"state": {"order": [0, 1]}}, "a state with the fields order, pulls, sums"),
        ({"state": {"order": [1, 1], "pulls": [4, 5], "sums": [1.0, 2.0]}}, "'order' has each of 2 arms once"),
        ({"state": {"order": [0, 1], "pulls": [4, 5], "sums": [1.0, "no"]}}, "'sums' is .*'inf', '-inf' or 'nan'"),
        ({"state": {"order": [0, 1], "pulls": [4, 5.0], "sums": [1.0, 2.0]}}, "'pulls' is made of numbers; got 5.0"),
        ({"state": {"order": [0, 1], "pulls": [4, True], "sums": [1.0, 2.0]}}, "'pulls' is made of numbers; got True"),
        ({"state": {"order": [0, 1], "pulls": [4, 2**70], "sums": [1.0, 2.0]}}, "fit into 8 bytes"),
        ({"state": {"order": [0, 1], "pulls": [4, 5], "sums": [1.0, 10**400]}}, "numbers that are floats"),
        ({"rng": None}, "with the keys bits and state"),
        ({"rng": {"bits": "os.system", "state": {}}}, "bits come from one of MT19937"),
        ({"rng": {"bits": "PCG64", "state": {}}}, "with the keys has_uint32, state, uinteger"),
        ({"more": 1}, "got one with 'more'"),
    ],
)
def test_what_is_wrong_under_a_seal_is_refused_in_a_sentence(file, change, message):
    saved = json.loads(file.read_text())
    del saved["seal"]
    with pytest.raises(InvalidInput, match=message) as refusal:
        bandstrap.load(sealed(file, saved | change))
    assert str(refusal.value).startswith(f"{file} cannot be loaded: ")
    with pytest.raises(InvalidInput, match=message):
        Policy.from_dict(saved | change)


@pytest.mark.parametrize("value", [[], 3, "text", {}, {"format": "other"}])
def test_a_sealed_file_of_another_kind_is_refused(tmp_path, value):
    with pytest.raises(InvalidInput, match=r"a.json cannot be loaded: .*must be the result of to_dict\(\) of a policy"):
        bandstrap.load(sealed(tmp_path / "a.json", value))


@pytest.mark.parametrize("text", [b'{"a": ' * 10**5, b"9" * 5000, b"\xff"])
def test_a_sealed_file_that_is_no_json_is_refused(tmp_path, text):
    (tmp_path / "a.json").write_bytes(seal(text + b'"seal": "' + NO_SEAL.encode() + b'"'))
    with pytest.raises(InvalidInput, match="it is another file"):
        bandstrap.load(tmp_path / "a.json")


def test_a_linear_policy_needs_a_state_with_its_rewards():
    policy = LinearTS(rng=0)
    policy.update([1.0, 2.0], 0.5)
    saved = policy.to_dict()
    for change in (
        {"state": None},
        {"plays": {"dimension": None}},
        {"plays": {"dimension": 3}},
        {"plays": {"dimension": 2.0}},
    ):
        with pytest.raises(
            InvalidInput, match=r"The 'saved' parameter of LinearPolicy\.from_dict must be a (policy|state)"
        ):
            LinearPolicy.from_dict(saved | change)


def test_a_file_that_is_not_there_or_no_file_is_told_by_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        bandstrap.load(tmp_path / "none.json")
    with pytest.raises(IsADirectoryError):
        bandstrap.load(tmp_path)
    for odd in (3, None, "", "a\0b", b"a"):
        with pytest.raises(InvalidInput, match="The 'path' parameter of load must be"):
            bandstrap.load(odd)
        with pytest.raises(InvalidInput, match=r"The 'path' parameter of UCB1\.save must be"):
            UCB1(arms=2, rng=0).save(odd)


def test_what_cannot_be_saved_leaves_the_file_that_was_there(file, monkeypatch):
    kept = file.read_bytes()
    with pytest.raises(InvalidInput):
        UCB1(arms=[b"a", b"b"], rng=0).save(file)
    assert file.read_bytes() == kept

    def no_space(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="No space left"):
        UCB1(arms=2, rng=0).save(file)
    assert file.read_bytes() == kept
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_file_is_on_the_disk_when_it_has_its_name(file, monkeypatch):
    seen = []
    fsync, replace = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda descriptor: (seen.append("fsync"), fsync(descriptor))[1])
    monkeypatch.setattr(Path, "replace", lambda self, other: (seen.append("rename"), replace(self, other))[1])
    UCB1(arms=2, rng=0).save(file)
    assert seen == ["fsync", "rename", "fsync"]

"""Saved policies that were damaged: one comes back, or a sentence."""

import copy
import functools
import json
import math

import numpy as np

import bandstrap
from bandstrap.basics.storage import NO_SEAL, seal
from bandstrap.policies import LINEAR_POLICIES, POLICIES
from bandstrap.policies.online.live_policy import LivePolicy
from fuzz.mutations import ODD_VALUES, damaged, outcome, pick, rounds, stream
from sampling import POLICY_KINDS, telling

ODD = [
    *(value for value in ODD_VALUES if value is None or type(value) in (bool, int, float, str, list, dict)),
    *({"float": "nan"}, {"float": "nan ffffffffffffffff"}, {"float": "nan 0000000000000000"}, {"float": []}),
    *([[]], [[[0.5]]], ["inf"], [True, False], "nan 7ff0000000000001", 2**63, 2**64, 2**128, -(2**63) - 1, [0] * 700),
    *([1, 0], [0, 1, 2], [3, 4, 5], {"pulls": [1]}, "PCG64", "linear_ts", "ucb1", "mine.py:Mine", math.nan),
]


@functools.cache
def saved(name):
    rng = np.random.default_rng(0)
    if name in LINEAR_POLICIES:
        policy = LINEAR_POLICIES[name](rng=0)
        actions = rng.random((5, 3))
        for _ in range(4):
            policy.update(actions[policy.select(actions)], rng.random())
    else:
        policy = POLICIES[name](arms=["a", 2, None], rng=0)
        for _ in range(9):
            policy.update(policy.select(), rng.random())
    return json.loads(json.dumps(policy.to_dict(), allow_nan=False))


def places(value, found=()):
    """All places in nested lists and dictionaries, as ways to them."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield (*found, key)
        yield from places(value[key], (*found, key))


def mutated(rng, value):
    """A copy in which a few places hold something else, were doubled, swapped or are gone."""
    value = copy.deepcopy(value)
    for _ in range(rng.integers(1, 4)):
        ways = list(places(value))
        if not ways:
            return value
        # Long lists of numbers would otherwise be all that is ever touched.
        depth = int(rng.integers(1, 7))
        way = pick(rng, [way for way in ways if len(way) <= depth])
        inside = value
        for key in way[:-1]:
            inside = inside[key]
        kind = rng.integers(5)
        if kind == 0:
            del inside[way[-1]]
        elif kind == 1 and isinstance(inside, list):
            inside.append(inside[way[-1]])
        elif kind == 2 and isinstance(inside, dict):
            inside[pick(rng, ["arms", "more", "rng", "compiled", "", "\0", *inside])] = pick(rng, ODD)
        elif kind == 3:
            inside[way[-1]] = pick(rng, [inside[key] for key in inside] if isinstance(inside, dict) else inside)
        else:
            inside[way[-1]] = copy.deepcopy(pick(rng, ODD))
    return value


@telling("name", [*sorted(POLICIES), *sorted(LINEAR_POLICIES)], POLICY_KINDS)
def test_a_damaged_dictionary_is_a_policy_or_a_sentence(name):
    rng = stream("saved", name)
    whole = saved(name)
    n_refused = 0
    for _ in rounds(40):
        policy = outcome(LivePolicy.from_dict, mutated(rng, whole), compiled=False)
        n_refused += policy is None
        if policy is not None:  # all of it, so that it can be saved again
            outcome(LivePolicy.from_dict, policy.to_dict())
    assert n_refused >= 20
    assert LivePolicy.from_dict(whole).to_dict() == whole


def test_no_policy_is_made_of_something_else():
    whole = saved("ucb1")
    for odd in ODD_VALUES:
        for value in (odd, {"format": odd}, whole | {"more": odd}, whole | {"policy": odd}):
            assert outcome(LivePolicy.from_dict, value) is None
        for key in whole:
            outcome(LivePolicy.from_dict, whole | {key: odd}, compiled=False)


def test_a_damaged_file_under_a_seal_that_holds_is_a_policy_or_a_sentence(tmp_path):
    rng = stream("sealed")
    path = tmp_path / "policy.json"
    for _ in rounds(300):
        name = pick(rng, ["ucb1", "bootstrapped_ucb_plus", "linear_ts"])
        text = damaged(rng, json.dumps(saved(name))[:-1] + ", ", 2).replace('"compiled": true', '"compiled": false')
        path.write_bytes(seal((text + f'"seal": "{NO_SEAL}"}}').encode("utf-8", "surrogatepass")))
        outcome(bandstrap.load, path)

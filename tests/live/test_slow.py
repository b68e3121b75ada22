"""Policies that keep their rewards: told when an experiment is created, and never computed under the lock of the log."""

import json
import re
import warnings
from contextlib import nullcontext

import numpy as np
import pytest

from bandstrap import live
from bandstrap.errors import SlowWarning
from bandstrap.live.fold import LiveState, write_snapshot
from bandstrap.live.rows import LogEntry
from bandstrap.policies import LINEAR_POLICIES, POLICIES
from live.checkout import ARMS, make

STREAMING = ",quantile=streaming"
CASES = [
    *POLICIES,
    "bootstrapped_ucb:quantile=resampled-literal",
    "bootstrapped_ucb:quantile=exact",
    "imed:divergence=bounded,upper=-1",
    "mbe:weights=exponential",
    "subsample_duels:sampler=without-replacement",
    *(f"{name}:dimension=2{STREAMING * (name == 'linear_bootstrapped_ucb')}" for name in LINEAR_POLICIES),
]


def n_numbers(value):
    """How many numbers something read from JSON has."""
    if isinstance(value, dict | list):
        return sum(map(n_numbers, value.values() if isinstance(value, dict) else value))
    return int(isinstance(value, int | float))


def sizes(definition, numbers):
    """Numbers in the snapshots after so many entries of the log, whose rewards and features are all different."""
    state, rng, found = LiveState(definition), np.random.default_rng(1), []
    low, high = np.clip([-3.0, 3.0], *state.policy.support)

    def entry(seq):
        actions = json.dumps(rng.random((2, 2)).tolist()) if definition.is_linear else None
        return LogEntry(seq, "reward", str(seq), seq % 2, rng.uniform(low, high), None, None, actions)

    for n in numbers:
        state.fold(map(entry, range(state.version + 1, n + 1)))
        found.append(n_numbers(json.loads(write_snapshot(state))["policy"]))
    return found


def test_whoever_creates_a_policy_that_keeps_its_rewards_is_told(tmp_path):
    """The oracle is the snapshot: if it grows by a number for each further reward, rewards are kept."""
    told = set()
    for policy in CASES:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            arms = None if "dimension" in policy else ["red", "green"]
            with live.create(tmp_path / "a.db", policy, policy=policy, arms=arms, seed=7, durability="normal") as made:
                before, after = sizes(made.definition, (100, 150))
        words = [str(each.message) for each in said if issubclass(each.category, SlowWarning)]
        assert len(words) == (after >= before + 50), (policy, before, after)
        assert all(word.startswith(f"The policy {made.definition.policy} keeps ") for word in words)
        assert all(
            re.search("lin_ucb" if arms is None else "bootstrapped_ucb_plus and edgeworth_ucb", w) for w in words
        )
        assert {each.filename for each in said} <= {__file__}  # the line that creates it
        told |= {policy} if words else set()
    assert {"npts", "giro", "rmm_ucb", "linear_phe:dimension=2", "mbe:weights=exponential"} <= told
    assert not told & {"ucb1", "edgeworth_ucb", "bootstrapped_ucb_plus", "bootstrapped_ts", "mbe", "imed"}


@pytest.mark.parametrize("policy", ["ucb1", "npts"])
def test_weights_are_computed_and_rewards_learned_while_nobody_waits_for_the_database(either, policy, monkeypatch):
    with pytest.warns(SlowWarning) if policy == "npts" else nullcontext():
        experiment = make(either, policy=policy, draws=10)
    calls = []

    def watched(name):
        method = getattr(LiveState, name)

        def call(state, *args):
            connection = experiment.store._connection
            if experiment.store.name == "sqlite":
                assert not (connection and connection.in_transaction)
            else:
                assert not (connection and connection.info.transaction_status)
            calls.append(name)
            return method(state, *args)

        monkeypatch.setattr(LiveState, name, call)

    watched("_ask")
    watched("_learn")
    for number in range(8):
        decisions = experiment.decide_many([None] * 5, available=ARMS[:2] if number % 2 else None)
        experiment.reward_many([(decision.id, number / 8) for decision in decisions])
    experiment.pause("red")
    experiment.decide()
    experiment.status()
    assert {*calls} == {"_ask", "_learn"}
    store, state = experiment.store, experiment.state
    with pytest.raises(AssertionError):  # a transaction would be seen
        store._run(lambda: (store._ask("SELECT 1"), state._learn([])), writes=True)

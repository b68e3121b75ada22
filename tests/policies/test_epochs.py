"""Epochs: what is swept out is what least squares with dummies says, live, compiled and saved alike."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bandstrap
from bandstrap import (
    CHKUCB,
    UCBV,
    EdgeworthUCB,
    GaussianTSUnknownVariance,
    IMEDUnknownVariance,
    MEDUnknownVariance,
    ReBoot,
    UCBTuned,
    simulate,
)
from bandstrap.engine.compiler import steps
from bandstrap.environments import Drifting, Gaussian
from bandstrap.errors import InvalidInput
from bandstrap.names import NAMED_POLICIES, make
from bandstrap.policies.edgeworth_ucb import INVERSE_PULLS, LOG_PULLS
from bandstrap.policies.states.epochs import STRENGTH
from naive.epochs import SWEPT, drifts, left_over, swept
from sampling import each, telling

POLICIES = (
    EdgeworthUCB,
    CHKUCB,
    UCBV,
    GaussianTSUnknownVariance,
    IMEDUnknownVariance,
    MEDUnknownVariance,
    ReBoot,
    UCBTuned,
)


def shown(policy):
    """Means and effective pulls, as the index sees them."""
    state = policy._state
    if isinstance(policy, EdgeworthUCB):
        means = np.array(state.firsts) + np.array(state.shown_steps)
        return means, 1 / np.array(state.facts[INVERSE_PULLS])
    return np.array(state.shown_means), np.array(state.shown_weights)


def log(seed, n_arms, n, length, level=1.0):
    """Arms, rewards whose level drifts with the arms' shares, and epochs."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(n_arms), size=-(-n // length))
    epochs = [i // length for i in range(n)]
    arms = [i if i < n_arms else int(rng.choice(n_arms, p=shares[epoch])) for i, epoch in enumerate(epochs)]
    effects = level * rng.normal(size=n // length + 1)
    rewards = [float(rng.normal(arm) + effects[epoch]) for arm, epoch in zip(arms, epochs, strict=True)]
    return arms, rewards, epochs


def changing(seed):
    """The same with 2 to 4 arms in ten epochs, of which each has an effect of its own, or rewards a trend."""
    arms, rewards, epochs = log(seed, 2 + seed % 3, 200, 20, level=0.15 * (seed % 4))
    return arms, [reward + 0.002 * (seed // 4) * i for i, reward in enumerate(rewards)], epochs


@settings(max_examples=25)
@given(
    st.integers(0, 2**32),
    st.integers(1, 4),
    st.integers(5, 60),
    st.integers(2, 15),
    st.sampled_from([1.0, 0.9]),
    st.sampled_from([EdgeworthUCB, UCBV]),
)
def test_means_and_pulls_are_those_of_least_squares_with_dummies(seed, n_arms, n, length, discount, cls):
    arms, rewards, epochs = log(seed, n_arms, n, length)
    if cls is UCBV:
        rewards = [1 / (1 + math.exp(-reward)) for reward in rewards]
    policy = cls(arms=n_arms, rng=0, epochs=True, epoch_length=length, discount=discount)
    policy.update(arms, rewards)
    strength = SWEPT if n >= length else 0.0
    # An epoch that has just ended is discounted at once.
    means, pulls = swept(arms, rewards, epochs, n_arms, strength, discount)
    pulls *= discount if n % length == 0 else 1.0
    ours, ours_pulls = shown(policy)
    np.testing.assert_allclose(ours, means, rtol=1e-7, atol=1e-7)
    if cls is EdgeworthUCB:
        np.testing.assert_allclose(ours_pulls, pulls, rtol=1e-7)
        np.testing.assert_allclose(policy._state.facts[LOG_PULLS], np.log(pulls), rtol=1e-7, atol=1e-7)


@each("seed", range(16))
def test_changes_are_found_by_the_f_test_and_the_t_test(seed):
    """The decision is that of explicit least squares, unless a statistic is within 2 % of its limit."""
    length, n_arms = 20, 2 + seed % 3
    arms, rewards, epochs = changing(seed)
    policy = EdgeworthUCB(arms=n_arms, rng=0, epochs="auto", epoch_length=length)
    for end in range(length, 201, length):
        policy.update(arms[end - length : end], rewards[end - length : end])
        found, *shares = drifts(arms[:end], rewards[:end], epochs[:end], n_arms)
        if all(abs(share - 1) > 0.02 for share in shares):
            assert (policy._state.epochs.totals[STRENGTH] > 0) == found


def test_each_of_the_two_finds_what_the_other_does_not():
    found = [tuple(share > 1 for share in drifts(*changing(seed), 2 + seed % 3)[1:]) for seed in range(16)]
    assert {*found} == {(False, False), (True, False), (False, True), (True, True)}
    assert left_over([0, 1, 0, 1], [1.0, 3.0, 1.0, 3.0], 2) == pytest.approx(0, abs=1e-20)


# --- edges --------------------------------------------------------------------------------------------------------------


@each("cls", POLICIES)
def test_without_a_change_found_it_is_the_plain_policy_bit_for_bit(cls):
    """In three epochs nothing is tested yet; in a game of one epoch nothing is swept either."""
    rewards = np.random.default_rng(1).random((300, 3)) < (0.3, 0.5, 0.4)
    ways = {}, {"epochs": "auto"}, {"epochs": True, "epoch_length": 300}
    found = []
    for options in ways:
        policy = cls(arms=3, rng=2, **options)
        chosen = []
        for row in rewards.tolist():
            chosen.append(policy.select())
            policy.update(chosen[-1], row[chosen[-1]])
        found.append(chosen)
    assert found[0] == found[1] == found[2]


@each("cls", POLICIES)
def test_constant_rewards_and_a_single_arm_are_played(cls):
    for n_arms, rewards in ((2, [0.5] * 60), (1, [0.1, 0.9] * 30), (3, [0.0, 1.0, 1.0] * 20)):
        for epochs in (True, "auto"):
            policy = cls(arms=n_arms, rng=0, epochs=epochs, epoch_length=5)
            for reward in rewards:
                policy.update(policy.select(), reward)
            means, pulls = shown(policy)
            assert np.isfinite(means).all()
            assert (pulls <= np.array(policy._state.weights) + 1e-9).all()
            if len({*rewards}) == 1:
                np.testing.assert_array_equal(means, 0.5)


def test_arms_that_share_no_epoch_are_compared_a_little():
    policy = EdgeworthUCB(arms=2, rng=0, epochs=True, epoch_length=10)
    policy.update([0] * 10 + [1] * 10 + [0] * 10, [0.0, 1.0] * 5 + [2.0, 3.0] * 5 + [0.0, 1.0] * 5)
    means, pulls = shown(policy)
    np.testing.assert_allclose(means, [0.5, 2.5], rtol=1e-12)
    assert (pulls < 1).all()  # of 20 and 10 rewards, whose difference has a ten-thousandth of its information


@telling(
    ("cls", "compiled"),
    [(EdgeworthUCB, False), (EdgeworthUCB, True), (UCBTuned, False), (UCBTuned, True)],
    [(EdgeworthUCB, False), (UCBTuned, False), (UCBTuned, True)],
)
def test_arms_may_be_added_and_retired(cls, compiled):
    policy = cls(arms=["a", "b"], rng=0, epochs=True, epoch_length=4, compiled=compiled)
    twin = cls(arms=["a", "b", "c"], rng=0, epochs=True, epoch_length=4)
    both = [("a", 0.1), ("b", 0.4), ("a", 0.3), ("b", 0.9), ("b", 0.8), ("a", 0.2)]
    more = [("c", 0.5), ("a", 0.25), ("c", 0.75), ("b", 0.9), ("c", 0.25), ("a", 0.1)]
    policy.update(*map(list, zip(*both, strict=True)))
    policy.add_arm("c")
    policy.update(*map(list, zip(*more, strict=True)))
    assert policy.compiled is compiled
    twin.update(*map(list, zip(*both, strict=True)))
    twin.update(*map(list, zip(*more, strict=True)))
    np.testing.assert_array_equal(shown(policy), shown(twin))
    np.testing.assert_array_equal(np.array(policy._state.epochs.overlap), np.array(twin._state.epochs.overlap))
    policy.retire("a")
    policy.update("a", 0.5)
    assert policy.select() in ("b", "c")


@each("cls", [EdgeworthUCB, UCBTuned, CHKUCB])
@pytest.mark.parametrize("options", [{"epochs": True}, {"epochs": "auto", "discount": 0.8}])
def test_scale_and_shift_change_nothing_but_units(cls, options):
    arms, rewards, _ = log(5, 3, 90, 10)
    rewards = [1 / (1 + math.exp(-reward)) for reward in rewards]
    found = {}
    for scale, shift in ((1.0, 0.0), (2.0**40, 0.0), (1.0, 2.0**20), (2.0**-60, 0.0)):
        if cls is UCBTuned and shift:
            continue
        given_ = {"upper": scale} if cls is UCBTuned else {}
        policy = cls(arms=3, rng=0, epoch_length=10, **options, **given_)
        policy.update(arms, [scale * reward + shift for reward in rewards])
        means, pulls = shown(policy)
        found[scale, shift] = (means - shift) / scale, pulls
    for (_, shift), (means, pulls) in found.items():
        tolerance = 1e-7 if shift else 0
        np.testing.assert_allclose(means, found[1.0, 0.0][0], rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(pulls, found[1.0, 0.0][1], rtol=tolerance)


def test_an_update_that_is_interrupted_changes_no_arm(monkeypatch):
    policy = EdgeworthUCB(arms=2, rng=0, epochs=True, epoch_length=4, discount=0.9)
    policy.update([0, 1] * 4, [0.1, 0.5, 0.2, 0.6] * 2)
    before = json.dumps(policy.to_dict())
    learn, calls = steps.learn, []

    def interrupted(*arguments):
        learn(*arguments)
        calls.append(arguments)
        if len(calls) == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr(steps, "learn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        policy.update([0, 1] * 4, [1.0, 0.2] * 4)
    assert len(calls) == 5
    assert json.dumps(policy.to_dict()) == before


# --- live, compiled, saved ----------------------------------------------------------------------------------------------

WAYS = [{"epochs": True}, {"epochs": "auto"}, {"discount": 0.9}, {"epochs": "auto", "discount": 0.9}]


@telling("cls", POLICIES, [UCBTuned])
def test_live_compiled_and_loaded_policies_choose_alike(cls, tmp_path):
    for way in WAYS:
        options = {**way, "epoch_length": 7, "rng": 4}
        extra = {"randomized": True} if cls is EdgeworthUCB else {}
        live, compiled = cls(arms=3, **options, **extra), cls(arms=3, **options, **extra, compiled=True)
        rng = np.random.default_rng(2)
        for i in range(80):
            arm, same = live.select(), compiled.select()
            assert arm == same
            reward = float(rng.random() < 0.2 + 0.2 * arm + 0.005 * i)
            live.update(arm, reward)
            compiled.update(arm, reward)
            if i == 40:
                live.save(tmp_path / "saved.json")
                live = bandstrap.load(tmp_path / "saved.json")
        np.testing.assert_array_equal(shown(live), shown(compiled))
        assert live.weights(50) == compiled.weights(50)
        assert live.select(available=[0, 2]) == compiled.select(available=[0, 2])


@each("bad", [{"epochs": "yes"}, {"epochs": 2}, {"epoch_length": 1}, {"discount": 0}, {"discount": 1.5}])
def test_other_settings_are_refused(bad):
    (name,) = bad
    with pytest.raises(InvalidInput, match=f"'{name}' parameter of EdgeworthUCB must be"):
        EdgeworthUCB(**bad)


def test_the_label_says_what_is_set():
    assert EdgeworthUCB(epochs="auto", discount=0.95).label == "edgeworth_ucb:epochs=auto,discount=0.95"
    assert make("edgeworth_ucb:epochs=auto,epoch_length=50", NAMED_POLICIES, "policy").epochs == "auto"
    assert make(EdgeworthUCB(epochs=True).label, NAMED_POLICIES, "policy").epochs is True


# --- what it is for -----------------------------------------------------------------------------------------------------


def test_a_level_that_jumps_misleads_the_plain_policy_and_not_the_swept_one():
    """Of 60 games the plain policy ends some on the worse arm, those with epochs at most one."""
    environment = Drifting(Gaussian([1.0, 1.1]), drift="jump", factor=4, at=0.3)
    sizes = {"horizon": 3000, "replications": 60, "seed": 5, "progress": False, "choices": True, "batch": 50}
    policies = [EdgeworthUCB(randomized=True, epochs=epochs, epoch_length=50) for epochs in (False, True, "auto")]
    result = simulate(policies, environment, **sizes)
    plain, always, tested = ((result.choices[:, :, -200:] == 0).mean(axis=2) > 0.5).sum(axis=1)
    assert plain >= 10
    assert max(always, tested) <= 1

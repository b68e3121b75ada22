"""Values of policies: exact expectation over all paths, slow twins, refusals, and misses at any time."""

import copy
import itertools
import json
import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap import UCB1
from bandstrap.errors import InvalidInput
from bandstrap.evidence import PolicyValues, rejection_replay, value
from bandstrap.evidence.betting import BETS, LOG_PRIOR, VALUE_LOG_PRIOR, log_threshold, log_wealth
from bandstrap.evidence.value import ARRAYS
from naive import evidence as naive
from sampling import each

ROUNDS = 5


def log_of(n_arms, n, seed=0, kinds=(0.0, 0.25, 1.0)):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(n_arms, 0.7), n)
    weights = np.maximum(weights, 1e-6)
    weights /= weights.sum(axis=1, keepdims=True)
    arms = np.minimum((weights.cumsum(axis=1) <= rng.random((n, 1))).sum(axis=1), n_arms - 1)
    return arms, rng.choice(kinds, n), weights


def weights_after(past):
    gains = sum((r - 0.4) * (1 if arm else -1) for arm, r in past)
    share = 1 / (1 + math.exp(-2.5 * gains))
    return np.array([0.97 - 0.94 * share, 0.03 + 0.94 * share])


def means_after(past, weights):
    """Mean rewards that drift apart, and react to traffic and rewards."""
    level = 0.15 + 0.4 * weights[1] * (0.5 + 0.3 * (sum(r for _, r in past) % 2))
    return [level, level + (0.2, -0.1, 0.25, 0.0, -0.12)[len(past)]]


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(("target", "less_served"), [([0.0, 1.0], False), ([0.3, 0.7], True)])
def test_the_mean_over_all_paths_of_five_adaptive_rounds(target, less_served, side):
    """Each path with its probability: M at the true sum has mean at most 1; divided step by step by its mean, just 1.

    The second side is that of rewards ``1 - R``, which has the upper ends.
    """
    wealth, exact, total = [], [], []
    prior = LOG_PRIOR if less_served else VALUE_LOG_PRIOR

    def follow(past, probability, truth, log_means, state):
        if len(past) == ROUNDS:
            total.append(probability)
            products = state.log_products[0, side]
            wealth.append(probability * math.exp(float(log_wealth(products, truth, prior))))
            exact.append(probability * math.exp(float(log_wealth(products - log_means, 0.0, prior))))
            return
        weights = weights_after(past)
        means = means_after(past, weights)
        here = float(np.dot(target, means) - (np.dot(weights, means) if less_served else 0))
        level = state.level
        if side == 1:
            here, level = (0.0 if less_served else 1.0) - here, 1.0 - level
        steps = [next(naive.value_steps([0], [0], [weights], target, [level], bet, less_served)) for bet in naive.BETS]
        centres = np.array([float(c) for _, c in steps])
        log_means = log_means + np.log1p(BETS * (here - centres)) + BETS * centres
        for arm, reward in itertools.product((0, 1), (0, 1)):
            after = copy.deepcopy(state)
            after.update(arm, reward, weights)
            chance = weights[arm] * (means[arm] if reward else 1 - means[arm])
            follow((*past, (arm, reward)), probability * chance, truth + here, log_means, after)

    follow((), 1.0, 0.0, np.zeros(len(BETS)), PolicyValues(2, [target], less_served=less_served))
    assert math.fsum(total) == pytest.approx(1, abs=1e-12)
    assert math.fsum(exact) == pytest.approx(1, abs=1e-12)
    assert 0.9 < math.fsum(wealth) < 1


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 30),
    n_arms=st.integers(2, 4),
    less_served=st.booleans(),
    alpha=st.sampled_from([0.5, 0.05]),
)
def test_ends_and_estimates_are_those_of_the_slow_twin_and_rounded_outwards(seed, n, n_arms, less_served, alpha):
    arms, rewards, weights = log_of(n_arms, n, seed)
    target = np.random.default_rng(seed).dirichlet(np.ones(n_arms))
    target[0] = 0
    target /= target.sum()
    state = PolicyValues(n_arms, [target], less_served=less_served)
    state.update(arms, rewards, weights)
    (found,) = state.estimates(alpha)
    given_ = (arms.tolist(), rewards.tolist(), weights.tolist(), state.targets[0].tolist(), Decimal(2) / Decimal(alpha))
    lower = max(naive.value_lower_end(*given_, less_served), Decimal(-1 if less_served else 0))
    flipped = max(naive.value_lower_end(*given_, less_served, flip=True), Decimal(-1 if less_served else 0))
    assert Decimal(found.lower) <= lower
    assert found.lower == pytest.approx(float(lower), abs=1e-9)
    upper = (0 if less_served else 1) - flipped
    assert Decimal(found.upper) >= upper
    assert found.upper == pytest.approx(float(upper), abs=1e-9)
    assert found.lower <= found.estimate <= found.upper
    ips, snips, robust, size = naive.inverse_propensity(*given_[:4])
    assert found.ips == ips
    assert found.snips == snips or (snips is None and np.isnan(found.snips))
    assert found.effective_size == pytest.approx(size)
    if not less_served:
        assert found.estimate == pytest.approx(np.clip(robust, found.lower, found.upper), abs=1e-9)


@each("target", [[1, 0], [0.3, 0.7], [0.5, 0.5]])
def test_ends_that_cross_are_put_in_order(target):
    """An arm that is drawn once against all odds: its sequence misses, which it may, and is no empty interval."""
    arms, rewards = [1] * 20 + [0] + [1] * 20, [0.0, 1.0] * 20 + [0.0]
    for final in (rewards, [1 - reward for reward in rewards]):
        found = value(arms, final, [1e-7, 1 - 1e-7], target)
        assert 0 <= found.lower <= found.estimate <= found.upper <= 1


def test_ips_and_snips_are_those_of_vw_estimators():
    """Bit for bit, where version 0.2.2 of that package is installed; ``naive.inverse_propensity`` adds as it does."""
    pytest.importorskip("estimators.bandits.ips")
    from estimators.bandits import ips, snips

    arms, rewards, weights = log_of(3, 3000, 4, kinds=(0.0, 0.3, 1.0))
    for target in ([1, 0, 0], [0, 0, 1], [0.2, 0.5, 0.3]):
        theirs = ips.Estimator(), snips.Estimator()
        for arm, reward, row in zip(arms.tolist(), rewards.tolist(), weights.tolist(), strict=True):
            for estimator in theirs:
                estimator.add_example(row[arm], reward, float(target[arm]))
        found = value(arms, rewards, weights, target)
        assert (found.ips, found.snips) == (theirs[0].get(), theirs[1].get())


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), cuts=st.lists(st.integers(0, 200), max_size=5))
def test_the_state_does_not_depend_on_how_decisions_are_grouped_and_is_read_back(seed, cuts):
    arms, rewards, weights = log_of(3, 200, seed)
    whole, parts = PolicyValues(3), PolicyValues(3)
    whole.update(arms, rewards, weights)
    for start, stop in itertools.pairwise([0, *sorted(cuts), 200]):
        parts.update(arms[start:stop], rewards[start:stop], weights[start:stop])
        parts = PolicyValues.from_dict(json.loads(json.dumps(parts.to_dict())))
    assert parts.to_dict() == whole.to_dict()


def test_arms_that_join_late_have_no_value_and_change_no_other():
    arms, rewards, weights = log_of(2, 300)
    state, alone = PolicyValues(2), PolicyValues(2)
    for each_ in (state, alone):
        each_.update(arms, rewards, weights)
    state.add_arm("late")
    late = state.estimates()[2]
    assert np.isnan([late.estimate, late.ips, late.snips]).all()
    assert (late.lower, late.upper, late.uncovered) == (0, 1, 300)
    assert state.estimates()[:2] == alone.estimates()


def test_ranges_scale_values():
    arms, rewards, weights = log_of(2, 300)
    plain = value(arms, rewards, weights, [0, 1])
    scaled = value(arms, rewards * 8 - 2, weights, [0, 1], low=-2, high=6)
    assert scaled.lower == pytest.approx(plain.lower * 8 - 2)
    assert scaled.estimate == pytest.approx(plain.estimate * 8 - 2)
    assert scaled.upper == pytest.approx(plain.upper * 8 - 2)


def test_policies_without_overlap_are_refused():
    weights = [[0.5, 0.5], [1.0, 0.0], [0.5, 0.5]]
    with pytest.raises(InvalidInput, match="in 1 of 3 decisions it might have chosen an arm whose probability was 0"):
        value([0, 0, 1], [0, 1, 1], weights, [0, 1])
    assert value([0, 0, 1], [0, 1, 1], weights, [1, 0]).uncovered == 0
    with pytest.raises(InvalidInput, match="in 1 of 3"):
        value([0, 0, 1], [0, 1, 1], weights, [0.99, 0.01])


@each(
    "bad",
    [
        ({"target": [0.5, 0.6]}, "targets"),
        ({"target": [1.0]}, "targets"),
        ({"target": [math.nan, 1]}, "targets"),
        ({"target": [-0.1, 1.1]}, "targets"),
        ({"rewards": [0, 2]}, "rewards"),
        ({"arms": [0, 5]}, "arms"),
        ({"alpha": 0}, "alpha"),
        ({"labels": ["a"]}, "labels"),
        ({"low": 2}, "high"),
    ],
)
def test_bad_input_is_refused_by_a_sentence(bad):
    options, parameter = bad
    given_ = {"arms": [0, 1], "rewards": [0, 1], "weights": [0.5, 0.5], "target": [0, 1]} | options
    with pytest.raises(InvalidInput, match=f"'{parameter}' parameter"):
        value(**given_)


def test_nothing_yet_and_damaged_states():
    found = PolicyValues(2).estimates()[0]
    assert (found.lower, found.upper, found.n_decisions, found.effective_size) == (0, 1, 0, 0)
    assert np.isnan(found.estimate)
    state = PolicyValues(2)
    state.update(*log_of(2, 20))
    good = state.to_dict()
    for name in good:
        with pytest.raises(InvalidInput, match="must be"):
            PolicyValues.from_dict({key: each_ for key, each_ in good.items() if key != name})
    for name in ARRAYS:
        for damaged in ("none", [[0.0]], (np.array(good[name]) * math.nan).tolist()):
            with pytest.raises(InvalidInput, match="must be"):
                PolicyValues.from_dict(good | {name: damaged})


def test_misses_of_values_at_any_time_while_the_level_rises():
    """1,000 logs of 2,000 decisions by a rule that chases the leader, looked at after every 20.

    The bound is .05 for each value. A true rate of .1 would pass the limit of .07 with probability below .001.
    """
    rng = np.random.default_rng(3)
    runs, looks, batch = 1000, 100, 20
    pulls, wins = np.ones((runs, 2)), np.full((runs, 2), 0.5)
    products, missed = np.zeros((runs, 2, 2, 12)), np.zeros((runs, 2), dtype=bool)
    truth, level = np.zeros((runs, 2)), np.full(runs, 0.5)
    for look in range(looks):
        share = np.clip(0.5 + 6 * (wins[:, 1] / pulls[:, 1] - wins[:, 0] / pulls[:, 0]), 0.1, 0.9)
        weights = np.stack([1 - share, share], axis=1)
        seconds = rng.binomial(batch, share)
        shown = np.stack([batch - seconds, seconds], axis=1)
        mean = 0.05 + 0.15 * look / (looks - 1)
        won = rng.binomial(shown, mean)
        for side, r in enumerate((level, 1 - level)):
            lowered = np.minimum(r[:, None, None], weights[:, :, None] * (0.9 / BETS))
            for gain, counts in ((1.0, won), (0.0, shown - won)):
                reward = gain if side == 0 else 1 - gain
                step = np.log1p(BETS * (reward - lowered) / weights[:, :, None])
                products[:, :, side] += counts[:, :, None] * step
            products[:, :, side] += batch * BETS * lowered
        level += 0.1 * (won.sum(axis=1) / batch - level)
        pulls, wins, truth = pulls + shown, wins + won, truth + batch * mean
        n = batch * (look + 1)
        sums = np.stack([truth, n - truth], axis=2)
        missed |= (log_wealth(products, sums, VALUE_LOG_PRIOR) >= log_threshold(0.05)).any(axis=2)
    assert missed.mean(axis=0).max() <= 0.07


class Always:
    """A policy that always chooses one arm and counts what it learns."""

    def __init__(self, arm):
        self.arm, self.learned = arm, []

    def select(self):
        return self.arm

    def update(self, arm, reward):
        self.learned.append((arm, reward))


def test_replay_keeps_the_decisions_in_which_policy_and_log_agree():
    rng = np.random.default_rng(0)
    arms, rewards = rng.integers(3, size=600), rng.random(600)
    policy = Always("b")
    found = rejection_replay(policy, arms, rewards, [1 / 3] * 3, labels=["a", "b", "c"])
    assert policy.learned == [("b", reward) for reward in rewards[arms == 1].tolist()]
    assert found.n_kept == (arms == 1).sum()
    assert found.estimate == pytest.approx(rewards[arms == 1].mean(), abs=0.01)
    assert found.lower < rewards[arms == 1].mean() < found.upper
    assert found.shares == {"a": 0.0, "b": 1.0, "c": 0.0}
    nothing = rejection_replay(Always(7), [0, 1], [0, 1], [0.5, 0.5])
    assert nothing.n_kept == 0
    assert np.isnan(nothing.estimate)


def test_replay_of_a_policy_that_learns_has_its_value_in_the_simulator():
    """UCB1 on 40 uniform logs of 600 decisions: its mean reward over about 300 rounds, within 4 standard errors.

    Playing it on all decisions of a log (without rejection) would give .4, the mean of both arms, 13 errors away.
    """
    means, kept = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        arms = rng.integers(2, size=600)
        found = rejection_replay(
            UCB1(arms=[0, 1], sigma=0.5, rng=seed), arms, rng.random(600) < np.array([0.2, 0.6])[arms], [0.5, 0.5]
        )
        means.append(found.estimate)
        kept.append(found.n_kept)
    played = []
    for seed in range(40):
        rng, policy = np.random.default_rng([1, seed]), UCB1(arms=[0, 1], sigma=0.5, rng=seed)
        earned = 0.0
        for _ in range(300):
            arm = policy.select()
            reward = float(rng.random() < (0.2, 0.6)[arm])
            policy.update(arm, reward)
            earned += reward
        played.append(earned / 300)
    error = math.hypot(np.std(means), np.std(played)) / math.sqrt(40)
    assert abs(np.mean(means) - np.mean(played)) < 4 * error
    assert abs(np.mean(kept) - 300) < 15


def test_replay_takes_the_ends_of_any_range():
    for low, high in ((-0.3, 0.1), (-1.6, 0.1), (0.1, 0.7), (1e9, 1e9 + 0.1)):
        found = rejection_replay(UCB1(arms=[0, 1], rng=0), [0, 1] * 9, [low, high] * 9, [0.5, 0.5], low=low, high=high)
        assert low <= found.lower <= found.estimate <= found.upper <= high * (1 + 1e-15)


def test_replay_is_refused_on_logs_that_are_not_uniform():
    with pytest.raises(InvalidInput, match="same probability; those of decision 1 are"):
        rejection_replay(Always(0), [0, 1], [0, 1], [[0.5, 0.5], [0.6, 0.4]])

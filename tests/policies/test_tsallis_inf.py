"""Tsallis-INF against the minimisation that defines it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bandstrap import TsallisINF
from naive import indices as naive

LOSSES = st.lists(st.floats(0, 1e6) | st.floats(0, 3), min_size=1, max_size=8)


def state_of(losses):
    state = TsallisINF().make_state(len(losses), 1, np.arange(len(losses)))
    state.sums[:] = losses
    return state


@given(LOSSES, st.integers(1, 10**6))
def test_probabilities_are_those_of_the_regularised_leader(losses, t):
    found = TsallisINF().exact_weights(0, state_of(losses), t)
    assert found == pytest.approx(naive.tsallis_weights(losses, t).tolist(), rel=1e-6, abs=1e-12)


def test_a_loss_is_divided_by_the_probability_of_its_arm():
    policy = TsallisINF(arms=3, rng=0)
    losses = np.zeros(3)
    rng = np.random.default_rng(0)
    for t in range(1, 60):
        arm, reward = int(rng.integers(3)), float(rng.random())
        losses[arm] += (1 - reward) / max(naive.tsallis_weights(losses, t)[arm], 1e-12)
        policy.update(arm, reward)
        assert list(policy._state.sums) == pytest.approx(losses.tolist(), rel=1e-9)


def test_arms_are_drawn_by_their_probabilities():
    # A chi-square test that rejects right frequencies with probability 1e-6, and finds two probabilities off by a tenth of
    # 1/3 each with more than 0.99: a noncentrality of 67 at two degrees of freedom.
    state = state_of([3.0, 4.0, 6.0])
    expected = naive.tsallis_weights([3.0, 4.0, 6.0], 9)
    rng = np.random.default_rng(1)
    counts = np.bincount([TsallisINF.kernel.choose(0, state, 9, rng) for _ in range(10_000)], minlength=3)
    assert stats.chisquare(counts, 10_000 * expected / expected.sum()).pvalue > 1e-6


@pytest.mark.parametrize("compiled", [False, True])
def test_a_leader_that_leaves_does_not_inflate_the_losses_of_others(compiled):
    # Divided by its probability beside the leader, a loss of the others grows without bound, and both are pulled alike.
    policy, rng = TsallisINF(arms=["best", "good", "bad"], rng=1, compiled=compiled), np.random.default_rng(0)
    means, pulls = {"best": 0.9, "good": 0.6, "bad": 0.3}, dict.fromkeys(("best", "good", "bad"), 0)
    for t in range(3000):
        if t == 1000:
            policy.retire("best")
        arm = policy.select()
        pulls[arm] += t >= 1000
        policy.update(arm, float(rng.random() < means[arm]))
    assert pulls["best"] == 0
    assert pulls["bad"] < 300
    assert max(policy._state.sums) < 10_000


def test_a_late_loss_is_divided_by_the_probability_of_its_draw():
    policy = TsallisINF(arms=2, rng=3)
    policy.update([0, 1], [0.5, 0.5])
    chance, before, arm = policy.weights(), list(policy._state.sums), policy.select()
    policy.update(1 - arm, 0.0)  # was never drawn: the moment counts
    policy.update(arm, 0.25)
    assert policy._state.sums[arm] - before[arm] == pytest.approx(0.75 / chance[arm], rel=1e-12)

"""Policies that forget, D-UCB and SW-UCB, against the sums over rounds that define them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstrap import DiscountedUCB, SlidingWindowUCB
from bandstrap.errors import InvalidInput
from naive import indices as naive

N_ARMS = 3
GAMES = st.lists(st.tuples(st.integers(0, N_ARMS - 1), st.integers(-80, 80).map(lambda y: y / 16)), max_size=60)


def played(policy, game):
    """Indices after each arm's first reward and those of a game, and rounds and rewards of each arm."""
    state = policy.make_state(N_ARMS, 100, np.arange(N_ARMS))
    params = policy.make_params(None)
    rounds, samples = [[] for _ in range(N_ARMS)], [[] for _ in range(N_ARMS)]
    game = [(arm, 0.5) for arm in range(N_ARMS)] + game
    for t, (arm, reward) in enumerate(game, 1):
        policy.kernel.learn(params, state, arm, reward, t, None)
        rounds[arm].append(t)
        samples[arm].append(reward)
    t = len(game) + 1
    shared = policy.kernel.prepare(params, state, t)
    found = [policy.kernel.score(params, state, arm, shared, None) for arm in range(N_ARMS)]
    return found, rounds, samples, t


@given(GAMES, st.sampled_from([0.5, 0.9, 0.995]))
def test_discounted_indices_are_the_sums_over_all_rounds(game, discount):
    found, *seen = played(DiscountedUCB(sigma=0.7, discount=discount, xi=0.9), game)
    assert found == pytest.approx(naive.discounted_ucb_index(*seen, 0.7, discount, 0.9), rel=1e-9, abs=1e-9)


@given(GAMES, st.sampled_from([2, 3, 7, 40]))
def test_windowed_indices_are_the_sums_over_the_window(game, window):
    found, *seen = played(SlidingWindowUCB(sigma=0.7, window=window, xi=0.9), game)
    assert found == pytest.approx(naive.sliding_window_index(*seen, 0.7, window, 0.9), rel=1e-9, abs=1e-9)


def test_a_reward_that_left_the_window_leaves_no_rounding_behind():
    policy = SlidingWindowUCB(window=8)
    game = [(0, 1e16), (1, 1e16)] + [(k % N_ARMS, 0.1) for k in range(40)]
    found, *seen = played(policy, game)
    assert found == pytest.approx(naive.sliding_window_index(*seen, 1.0, 8, 0.6), rel=1e-12)


def test_forgetting_finds_a_better_arm_after_a_change():
    # Deterministic: an arm that led for 300 rounds is left within 50 of its fall, by either policy.
    for policy in (
        DiscountedUCB(arms=2, sigma=0.05, discount=0.9, rng=0),
        SlidingWindowUCB(arms=2, sigma=0.05, window=20, rng=0),
    ):
        chosen = []
        for t in range(400):
            arm = policy.select()
            chosen.append(arm)
            policy.update(arm, (0.9, 0.5)[arm] if t < 300 else (0.1, 0.5)[arm])
        assert np.mean(chosen[100:300]) < 0.2
        assert np.mean(chosen[350:]) > 0.8


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DiscountedUCB(discount=1.0), "'discount' parameter of DiscountedUCB must be"),
        (lambda: DiscountedUCB(xi=0), "'xi' parameter of DiscountedUCB must be"),
        (lambda: SlidingWindowUCB(window=1), "'window' parameter of SlidingWindowUCB must be"),
        (lambda: SlidingWindowUCB(sigma=-1), "'sigma' parameter of SlidingWindowUCB must be"),
    ],
)
def test_wrong_settings_are_refused(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()

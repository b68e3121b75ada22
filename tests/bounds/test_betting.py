import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap.bounds import betting
from bandstrap.bounds.betting import betting_batch, largest_log_capital, predictable_bets
from bandstrap.errors import AssumptionWarning, InvalidInput
from naive.bounds import BOUNDED, betting_bound, betting_capital

# Rewards that rise or fall by chance leave no mean, or not their own; what is said of that is tested by itself.
pytestmark = pytest.mark.filterwarnings("ignore:betting:bandstrap.errors.AssumptionWarning")
rewards = st.lists(st.floats(0, 1) | st.sampled_from([0.0, 1.0]), min_size=1, max_size=30)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(rewards, st.floats(1e-4, 0.49), st.sampled_from([0.5, 0.75, 0.1]))
def test_bound_equals_the_last_mean_a_literal_gambler_leaves(sample, alpha, share):
    got = betting(sample, alpha, support=(0, 1), share=share).upper
    assert got == pytest.approx(betting_bound(sample, alpha, share), abs=1e-9)


@settings(derandomize=True, deadline=None, max_examples=30)
@given(rewards, st.floats(1e-3, 0.49))
def test_lower_bound_is_the_gambler_on_the_mirrored_rewards(sample, alpha):
    got = betting(sample, alpha, support=(0, 1), side="lower").lower
    assert got == pytest.approx(1 - betting_bound([1 - y for y in sample], alpha), abs=1e-9)


@settings(derandomize=True, deadline=None, max_examples=30)
@given(rewards, st.floats(1e-3, 0.9))
def test_capital_against_a_mean_rises_with_it(sample, alpha):
    # So that the means not rejected are a half line, which bisection takes for granted.
    y = np.array(sample)
    bets = np.empty(y.size)
    predictable_bets(y, alpha, bets)
    capital = [largest_log_capital(y, bets, mean, 0.5) for mean in np.linspace(0, 1, 50)]
    assert (np.diff(capital) >= 0).all()
    literal = np.log(np.maximum(betting_capital(sample, alpha, np.linspace(0, 1, 50), 0.5).max(axis=0), 1))
    np.testing.assert_allclose(capital, literal, rtol=1e-9, atol=1e-9)


def test_bets_depend_on_earlier_rewards_only():
    rng = np.random.default_rng(1)
    first, second = rng.random(20), rng.random(20)
    second[:12] = first[:12]
    bets = np.empty((2, 20))
    predictable_bets(first, 0.05, bets[0])
    predictable_bets(second, 0.05, bets[1])
    assert (bets[0, :13] == bets[1, :13]).all()
    assert (bets[0, 13:] != bets[1, 13:]).all()


def test_first_bets_by_hand():
    # v_0 = 1/4, i = 1; then x_1 = 1 leaves m_1 = 3/4 and v_1 = (1/4 + 1/16)/2.
    bets = np.empty(2)
    predictable_bets(np.array([1.0, 0.0]), math.exp(-2), bets)
    expected = [math.sqrt(4 / (0.25 * math.log(2))), math.sqrt(4 / (0.15625 * 2 * math.log(3)))]
    np.testing.assert_allclose(bets, expected, rtol=1e-14)


def test_two_zeros_by_hand():
    # Both bets exceed the largest share, so capital (1 + m/(2 (1 - m)))^2 >= 4 from m = 2/3 on.
    assert betting([0.0, 0.0], 0.25, support=(0, 1)).upper == pytest.approx(2 / 3, rel=1e-12)


@pytest.mark.parametrize("law", BOUNDED)
def test_bound_of_the_whole_sample_is_the_smallest_of_all_prefixes(law):
    draw, _ = BOUNDED[law]
    paths = draw(np.random.default_rng(5), (30, 200))
    running = np.array([betting(paths[:, :n], 0.05, support=(0, 1)).upper for n in range(1, 201)])
    assert (np.diff(running, axis=0) <= 1e-9).all()
    np.testing.assert_allclose(running[-1], running.min(axis=0), rtol=0, atol=1e-9)


def test_running_bound_may_end_below_a_mean_that_has_moved():
    # Two hundred zeros reject every mean above 0.05; later ones cannot take that back.
    sample = np.r_[np.zeros(200), np.ones(300)]
    with pytest.warns(AssumptionWarning, match="the sample mean lies beyond the bound, which other rewards have set"):
        bound = betting(sample, 0.05, support=(0, 1))
    assert bound.upper == pytest.approx(betting(np.zeros(200), 0.05, support=(0, 1)).upper, abs=1e-9)
    assert bound.width < -0.5


def test_bound_stays_inside_the_support():
    assert betting([1.0], 0.05, support=(0, 1), side="two-sided").value == (0.0, 1.0)
    bound = betting(np.ones(100), 0.05, support=(0, 1), side="two-sided")
    assert bound.upper == 1.0
    assert 0.9 < bound.lower < 1


@pytest.mark.parametrize("alpha", [0.7, 0.05, 1e-6])
def test_compiled_and_plain_entry_give_the_same_bits(alpha):
    rng = np.random.default_rng(2)
    rows = np.array([rng.random(25), np.round(rng.random(25)), np.ones(25), np.zeros(25), rng.beta(0.1, 0.1, 25)])
    plain, compiled = np.empty(5), np.empty(5)
    betting_batch.plain(rows, alpha, 0.5, plain)
    betting_batch.compiled(rows, alpha, 0.5, compiled)
    assert plain.tolist() == compiled.tolist()


@pytest.mark.parametrize("share", [0, 1, -0.5, 2, math.nan, "a", True])
def test_share_must_be_between_zero_and_one(share):
    with pytest.raises(InvalidInput, match=r"'share' parameter of betting must be a number in the open interval \(0"):
        betting([0.5], 0.05, support=(0, 1), share=share)

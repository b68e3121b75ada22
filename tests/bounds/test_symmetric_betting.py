import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap.basics.seeds import drawn_seed, seed_of
from bandstrap.bounds import symmetric_betting
from bandstrap.bounds.order import random_orders
from bandstrap.bounds.symmetric_betting import log_capitals, scale_free_bets, symmetric_betting_batch
from naive.bounds import (
    CAUCHY,
    SYMMETRIC,
    average_symmetric_bound,
    symmetric_bets,
    symmetric_betting_bound,
    symmetric_capital,
)
from sampling import telling

# Tenths: apart enough that the variance of two of them is not rounding.
rewards = st.lists(st.integers(-50, 50).map(lambda k: k / 10), min_size=1, max_size=30)
# Where 2^bets = 1/alpha exactly the bound is infinite by one rounding; that has a test of its own below.
levels = st.floats(1e-4, 0.49).filter(lambda alpha: math.frexp(alpha)[0] != 0.5)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(rewards, levels)
def test_bound_equals_the_last_centre_a_literal_gambler_leaves(sample, alpha):
    expected = symmetric_betting_bound(sample, alpha)
    assert symmetric_betting(sample, alpha, in_order=True).upper == pytest.approx(expected, rel=1e-7, abs=1e-7)


@settings(derandomize=True, deadline=None, max_examples=30)
@given(rewards, levels)
def test_lower_bound_is_the_gambler_on_the_negated_rewards(sample, alpha):
    expected = -symmetric_betting_bound([-y for y in sample], alpha)
    assert symmetric_betting(sample, alpha, side="lower", in_order=True).lower == pytest.approx(
        expected, rel=1e-7, abs=1e-7
    )


@settings(derandomize=True, deadline=None, max_examples=30)
@given(rewards, levels)
def test_bets_and_capital_are_the_literal_ones(sample, alpha):
    y = np.array(sample)
    bets = np.empty(y.size)
    scale_free_bets(y, alpha, False, bets)
    np.testing.assert_allclose(bets, symmetric_bets(sample, alpha), rtol=1e-9)
    centres = np.linspace(-8, 8, 33)
    capital = [log_capitals(y, bets, centre)[0] for centre in centres]
    literal = np.log(np.maximum(symmetric_capital(sample, alpha, centres).max(axis=0), 1))
    np.testing.assert_allclose(capital, literal, rtol=1e-9, atol=1e-9)
    assert (np.diff(capital) >= 0).all()


def test_bets_depend_on_earlier_rewards_only():
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(2, 20))
    second[:12] = first[:12]
    bets = np.empty((2, 20))
    scale_free_bets(first, 0.05, False, bets[0])
    scale_free_bets(second, 0.05, False, bets[1])
    assert (bets[0, :13] == bets[1, :13]).all()
    assert (bets[0, 13:] != bets[1, 13:]).all()
    assert bets[0, :2].tolist() == [0.0, 0.0]


@telling("law", ["normal", "cauchy"], ["cauchy"])
def test_bound_of_the_whole_sample_is_the_smallest_of_all_prefixes(law):
    draw = CAUCHY if law == "cauchy" else SYMMETRIC[law]
    paths = draw(np.random.default_rng(6), (30, 200))
    running = np.array([symmetric_betting(paths[:, :n], 0.05, in_order=True).upper for n in range(1, 201)])
    steps = np.diff(running[np.isfinite(running).all(axis=1)], axis=0)
    assert len(steps) > 150
    assert (steps <= 1e-9).all()
    assert (running[:6] == math.inf).all()


def test_first_rewards_exclude_nothing():
    # Two rewards set the scale, and five doublings are needed for 1/alpha = 20.
    sample = np.random.default_rng(0).normal(size=7)
    for n in range(1, 7):
        assert symmetric_betting(sample[:n], 0.05, side="two-sided", in_order=True).value == (-math.inf, math.inf)
    assert math.isfinite(symmetric_betting(sample, 0.05, in_order=True).upper)


@pytest.mark.parametrize("doublings", [2, 3, 5, 10])
def test_exactly_as_many_bets_as_doublings_needed_exclude_nothing(doublings):
    # Each bet multiplies the capital by less than 2, so it stays below 2^doublings = 1/alpha against every centre.
    sample = np.random.default_rng(doublings).normal(size=doublings + 2)
    assert symmetric_betting(sample, 2.0**-doublings, in_order=True).upper == math.inf


@pytest.mark.parametrize("doublings", [25, 30, 40])
def test_as_many_bets_as_doublings_needed_come_to_an_end(doublings):
    # Plainly, where an overflow is an error here; compiled, an endless search would hang the suite.
    rows = np.random.default_rng(doublings).normal(size=(1, doublings + 2))
    out = np.empty(1)
    symmetric_betting_batch.plain(rows[:, None], 2.0**-doublings, True, out)
    assert out[0] == math.inf


def test_equal_rewards_exclude_nothing():
    assert symmetric_betting([2.0] * 50, 0.05, side="two-sided", in_order=True).value == (-math.inf, math.inf)


def test_leading_equal_rewards_are_not_bet_on():
    bets = np.empty(6)
    scale_free_bets(np.array([1.0, 1.0, 1.0, 2.0, 0.0, 1.0]), 0.05, False, bets)
    assert (bets[:4] == 0).all()
    assert (bets[4:] > 0).all()


def test_an_outlier_hurts_no_more_than_one_lost_bet():
    rng = np.random.default_rng(4)
    sample = rng.normal(size=100)
    plain = symmetric_betting(sample, 0.05, in_order=True).upper
    for size in (1e3, 1e9):
        sample[-1] = size
        assert symmetric_betting(sample, 0.05, in_order=True).upper == pytest.approx(plain, abs=0.05)


@pytest.mark.parametrize("alpha", [0.7, 0.05, 1e-3])
def test_compiled_and_plain_entry_give_the_same_bits(alpha):
    rng = np.random.default_rng(2)
    rows = np.array([rng.normal(size=25), rng.standard_cauchy(25), np.round(rng.random(25)), np.ones(25)])
    plain, compiled = np.empty(4), np.empty(4)
    for orders, in_order in ((rows[:, None], True), (np.array([random_orders(row, 3, 0) for row in rows]), False)):
        symmetric_betting_batch.plain(orders, alpha, in_order, plain)
        symmetric_betting_batch.compiled(orders, alpha, in_order, compiled)
        assert plain.tolist() == compiled.tolist()


@settings(derandomize=True, deadline=None, max_examples=60)
@given(rewards, levels, st.integers(1, 4), st.none() | st.integers(0, 9))
def test_bound_equals_the_last_centre_that_literal_gamblers_leave_on_average(sample, alpha, n_orders, seed):
    y = np.array(sample)
    orders = random_orders(y, n_orders, seed_of(drawn_seed(seed, ""), y)).tolist()
    got = symmetric_betting(sample, alpha, n_orders=n_orders, seed=seed).upper
    assert got == pytest.approx(average_symmetric_bound(orders, alpha), rel=1e-7, abs=1e-7)
    below = symmetric_betting(-y, alpha, n_orders=n_orders, seed=seed, side="lower").lower
    assert below == -got


def test_all_tosses_of_a_fair_coin_are_missed_with_at_most_alpha():
    # No chance: every sample in every order, each as likely as any other. See test_betting.
    for n in (7, 9, 11):
        tosses = np.array(list(itertools.product((-1.0, 1.0), repeat=n)))
        for alpha in (0.4, 0.2, 0.05):
            for n_orders in (1, 3):
                assert symmetric_betting(tosses, alpha, n_orders=n_orders).misses(0.0).mean() <= alpha

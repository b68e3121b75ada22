import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap.basics.seeds import drawn_seed, seed_of
from bandstrap.bounds import betting
from bandstrap.bounds.betting import (
    average_batch,
    average_log_capital,
    betting_batch,
    fixed_size_bets,
    largest_log_capital,
    predictable_bets,
)
from bandstrap.bounds.order import check_orders, random_orders
from bandstrap.errors import AssumptionWarning, InvalidInput
from naive.bounds import BOUNDED, average_betting_bound, betting_bound, betting_capital
from sampling import each, telling

# Rewards that rise or fall by chance leave no mean, or not their own; what is said of that is tested by itself.
pytestmark = pytest.mark.filterwarnings("ignore:betting:bandstrap.errors.AssumptionWarning")
rewards = st.lists(st.floats(0, 1) | st.sampled_from([0.0, 1.0]), min_size=1, max_size=30)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(rewards, st.floats(1e-4, 0.49), st.sampled_from([0.5, 0.75, 0.1]))
def test_bound_equals_the_last_mean_a_literal_gambler_leaves(sample, alpha, share):
    got = betting(sample, alpha, support=(0, 1), in_order=True, share=share).upper
    assert got == pytest.approx(betting_bound(sample, alpha, share), abs=1e-9)


@settings(derandomize=True, deadline=None, max_examples=30)
@given(rewards, st.floats(1e-3, 0.49))
def test_lower_bound_is_the_gambler_on_the_mirrored_rewards(sample, alpha):
    got = betting(sample, alpha, support=(0, 1), in_order=True, side="lower").lower
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
    assert betting([0.0, 0.0], 0.25, support=(0, 1), in_order=True).upper == pytest.approx(2 / 3, rel=1e-12)


@telling("law", BOUNDED, ["bernoulli"])
def test_bound_of_the_whole_sample_is_the_smallest_of_all_prefixes(law):
    draw, _ = BOUNDED[law]
    paths = draw(np.random.default_rng(5), (30, 200))
    running = np.array([betting(paths[:, :n], 0.05, support=(0, 1), in_order=True).upper for n in range(1, 201)])
    assert (np.diff(running, axis=0) <= 1e-9).all()
    np.testing.assert_allclose(running[-1], running.min(axis=0), rtol=0, atol=1e-9)


def test_running_bound_may_end_below_a_mean_that_has_moved():
    # Two hundred zeros reject every mean above 0.05; later ones cannot take that back.
    sample = np.r_[np.zeros(200), np.ones(300)]
    with pytest.warns(AssumptionWarning, match="the interval excludes the sample mean"):
        bound = betting(sample, 0.05, support=(0, 1), in_order=True)
    assert bound.upper == pytest.approx(betting(np.zeros(200), 0.05, support=(0, 1), in_order=True).upper, abs=1e-9)
    assert bound.width < -0.5


def test_bound_stays_inside_the_support():
    assert betting([1.0], 0.05, support=(0, 1), in_order=True, side="two-sided").value == (0.0, 1.0)
    bound = betting(np.ones(100), 0.05, support=(0, 1), in_order=True, side="two-sided")
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


@each("share", [0, 1, -0.5, 2, math.nan, "a", True])
def test_share_must_be_between_zero_and_one(share):
    with pytest.raises(InvalidInput, match=r"'share' parameter of betting must be a number in the open interval \(0"):
        betting([0.5], 0.05, support=(0, 1), share=share)


# --- several orders ---------------------------------------------------------------------------------------------------


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    rewards, st.floats(1e-4, 0.49), st.sampled_from([0.5, 0.75, 0.1]), st.integers(1, 4), st.none() | st.integers(0, 9)
)
def test_bound_equals_the_last_mean_that_literal_gamblers_leave_on_average(sample, alpha, share, n_orders, seed):
    got = betting(sample, alpha, support=(0, 1), share=share, n_orders=n_orders, seed=seed).upper
    y = np.array(sample)
    orders = random_orders(y, n_orders, seed_of(drawn_seed(seed, "betting"), y)).tolist()
    assert got == pytest.approx(max(average_betting_bound(orders, alpha, share), y.mean()), abs=1e-9)
    below = betting(1 - y, alpha, support=(0, 1), share=share, n_orders=n_orders, seed=seed, side="lower").lower
    if seed is not None:
        assert below == pytest.approx(1 - got, abs=1e-9)


@settings(derandomize=True, deadline=None, max_examples=30)
@given(rewards, st.floats(1e-3, 0.9))
def test_average_capital_against_a_mean_rises_with_it(sample, alpha):
    orders = random_orders(np.array(sample), 3, 0)
    bets = np.empty(orders.shape)
    for order, bet in zip(orders, bets, strict=True):
        fixed_size_bets(order, alpha, bet)
    means = np.linspace(0, 1, 50)
    capital = [average_log_capital(orders, bets, mean, 0.5, np.empty(3)) for mean in means]
    assert (np.diff(capital) >= -1e-12).all()
    ends = [betting_capital(order, alpha, means, 0.5, fixed_size=True)[-1] for order in orders.tolist()]
    np.testing.assert_allclose(capital, np.log(np.mean(ends, axis=0)), rtol=1e-9, atol=1e-9)


# Values and probabilities; skewed both ways, and a lattice of three.
FEW_VALUES = [
    ((0.0, 1.0), (0.9, 0.1)),
    ((0.0, 1.0), (0.3, 0.7)),
    ((0.0, 0.1, 1.0), (0.5, 0.4, 0.1)),
    ((0, 0.5, 1), (0.2, 0.3, 0.5)),
]


@pytest.mark.parametrize(("values", "probabilities"), FEW_VALUES)
@telling("seed", [None, 0, 5], [0])
def test_all_samples_of_few_values_are_missed_with_at_most_alpha(values, probabilities, seed):
    # No chance: every sample in every order, with its probability. The derived seed is one fixed function of the sorted
    # rewards, with few values, and the bound keeps its level all the same, since it rearranges the order given.
    mean = float(np.dot(values, probabilities))
    for n in (1, 3, 6):
        which = np.array(list(itertools.product(range(len(values)), repeat=n)))
        samples, weights = np.array(values)[which], np.prod(np.array(probabilities)[which], axis=1)
        for alpha, n_orders in itertools.product((0.4, 0.2, 0.05), (1, 2, 16)):
            for side in ("upper", "lower", "two-sided"):
                bound = betting(samples, alpha, support=(0, 1), side=side, seed=seed, n_orders=n_orders)
                assert weights[bound.misses(mean)].sum() <= alpha + 1e-12


@pytest.mark.parametrize(("values", "probabilities"), FEW_VALUES)
def test_final_capitals_have_mean_one_and_the_largest_on_the_way_do_not(values, probabilities):
    # Why final capitals may be averaged, over orders of a derived seed too, and the largest ones may not.
    mean, n = np.array([np.dot(values, probabilities)]), 5
    final = largest = 0.0
    for which in itertools.product(range(len(values)), repeat=n):
        sample = np.array(values)[list(which)]
        paths = [
            betting_capital(order, 0.1, mean, 0.5, fixed_size=True)
            for order in random_orders(sample, 4, seed_of(None, sample)).tolist()
        ]
        weight = np.prod(np.array(probabilities)[list(which)])
        final += weight * np.mean([path[-1] for path in paths])
        largest += weight * np.mean([path.max() for path in paths])
    assert final == pytest.approx(1, rel=1e-12)
    assert largest > 1.1


@pytest.mark.parametrize("seed", [None, 3])
def test_the_interval_has_its_mean_whatever_the_rewards(seed):
    rng = np.random.default_rng(7)
    for n in (2, 5, 30, 300):
        skewed = np.minimum(np.floor(rng.lognormal(1, 1.3, (60, n))), 77)
        for batch in (skewed, np.sort(skewed), np.sort(skewed)[:, ::-1], 77 * (rng.random((60, n)) < 0.02)):
            bound = betting(batch, 0.05, side="two-sided", support=(0, 77), seed=seed)
            assert (bound.lower <= bound.mean).all()
            assert (bound.mean <= bound.upper).all()
            assert bound.notes == ()


def test_a_bound_that_came_out_beyond_the_mean_is_moved_to_it(monkeypatch):
    # No random order was found that does it; a sorted one does.
    monkeypatch.setattr("bandstrap.bounds.order.random_orders", lambda row, n_orders, seed: np.tile(row, (n_orders, 1)))
    sample = np.r_[np.zeros(1000), np.ones(300)]
    free = np.empty(1)
    average_batch.compiled(sample[None, None], 0.05, 0.5, free)
    assert free[0] < sample.mean() - 0.05
    assert betting(sample, 0.05, support=(0, 1)).upper == sample.mean()
    assert betting(-sample, 0.05, support=(-1, 0), side="lower").lower == -sample.mean()


@pytest.mark.parametrize("alpha", [0.7, 0.05, 1e-6])
def test_compiled_and_plain_averages_give_the_same_bits(alpha):
    rng = np.random.default_rng(2)
    rows = np.array([rng.random(25), np.round(rng.random(25)), np.ones(25), np.zeros(25), rng.beta(0.1, 0.1, 25)])
    orders = np.array([random_orders(row, 3, 0) for row in rows])
    plain, compiled = np.empty(5), np.empty(5)
    average_batch.plain(orders, alpha, 0.5, plain)
    average_batch.compiled(orders, alpha, 0.5, compiled)
    assert plain.tolist() == compiled.tolist()


def test_orders_are_fewer_for_large_samples_and_as_many_as_asked_for():
    assert [check_orders(None, n, "betting") for n in (1, 131_072, 400_000, 10**9)] == [16, 16, 5, 2]
    assert check_orders(3, 10**9, "betting") == 3
    for n_orders in (0, 1.5, "a", 10_001):
        with pytest.raises(InvalidInput, match="'n_orders' parameter of betting must be an integer"):
            betting([0.5], 0.05, support=(0, 1), n_orders=n_orders)


def test_nothing_is_shuffled_with_a_seed_where_rewards_are_read_in_order():
    with pytest.raises(InvalidInput, match="'seed' and 'in_order' parameters of betting cannot both be given"):
        betting([0.5], 0.05, support=(0, 1), seed=3, in_order=True)

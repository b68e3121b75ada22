"""Random numbers of the policies; ``laws.py`` states the error rates and power of tests of laws.

z-tests of 20,000 draws see a bit or a correlation that is off by 0.03 and 0.06 with probability 0.99, of 3000 draws
0.08 and 0.16; chi-square tests of 20,000 (1e-6) see frequencies off by a fourteenth in root mean square.
"""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bandstrap.multipliers.weights import LAWS, MAMMEN_HIGH, MAMMEN_LOW
from bandstrap.policies.kernels.draws import (
    BITS,
    LEAST_AT_ONCE,
    MOST_TOSSED,
    add_weights,
    count_ones,
    doubled_mean,
    draw_heads,
    draw_successes,
    draw_weight,
    exponential_sums,
    random_bits,
    resampled_sums,
    shuffle_first,
    sum_of_draws,
)
from laws import assert_follows, assert_same_law
from naive import policies as naive
from sampling import each, telling

SIGNIFICANCE = 1e-6


def test_random_bits_are_fair_and_independent():
    rng = np.random.default_rng(0)
    words = np.array([random_bits(rng) for _ in range(20_000)])
    assert words.min() >= 0
    assert words.max() < 2**BITS
    bits = (words[:, None] >> np.arange(BITS)) & 1
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 5.7 * 0.5 / np.sqrt(20_000)  # 52 z-tests, 6e-7 together
    correlation = np.corrcoef(bits.T) - np.eye(BITS)
    assert np.abs(correlation).max() < 6.5 / np.sqrt(20_000)  # 1326 pairs, 1e-7 together


MOMENTS = {"rademacher": (0, 1), "gaussian": (0, 1), "efron": (1, 1), "exponential": (0, 1), "mammen": (0, 1)}


@pytest.mark.parametrize("law", LAWS)
def test_weights_have_their_mean_and_variance(law):
    rng = np.random.default_rng(5)
    weights = np.array([draw_weight(LAWS[law], rng) for _ in range(20_000)])
    mean, variance = MOMENTS[law]
    assert abs(weights.mean() - mean) < 5 * weights.std() / np.sqrt(weights.size)
    spread = ((weights - mean) ** 2).std() / np.sqrt(weights.size)
    assert abs(((weights - mean) ** 2).mean() - variance) <= 5 * spread + 1e-12
    if law == "rademacher":
        assert set(weights) == {-1.0, 1.0}
    if law == "mammen":
        assert set(weights) == {MAMMEN_LOW, MAMMEN_HIGH}
    if law == "efron":
        assert (
            stats.chisquare(
                np.bincount(weights.astype(int), minlength=6)[:5],
                weights.size * stats.poisson(1).pmf(np.arange(5)),
                sum_check=False,
            ).pvalue
            > SIGNIFICANCE
        )


@each("law", LAWS)
@each("size", [1, 51, 52, 53, 200])
def test_streamed_weights_enter_sums_and_totals_alike(law, size):
    rng = np.random.default_rng(1)
    sums, totals = np.zeros(size), np.zeros(size)
    weights = []
    for reward in (0.5, -2.0, 0.25):
        before = totals.copy()
        add_weights(LAWS[law], reward, sums, totals, rng)
        weights.append(totals - before)
    np.testing.assert_allclose(sums, np.array([0.5, -2.0, 0.25]) @ np.array(weights), rtol=0, atol=1e-12)
    if law == "rademacher":
        assert set(np.concatenate(weights)) <= {-1.0, 1.0}
        assert size < 50 or abs(np.mean(weights)) < 5 / np.sqrt(3 * size)


def fresh(law, a, size, rng):
    n = len(a)
    if law == "gaussian":
        return rng.standard_normal((size, n)) @ a
    if law == "efron":
        return rng.choice(a, (size, n)).sum(axis=1)
    if law == "exponential":
        return rng.exponential(size=(size, n)) @ a - a.sum()
    low = (np.sqrt(5) + 1) / (2 * np.sqrt(5))
    return np.where(rng.random((size, n)) < low, (1 - np.sqrt(5)) / 2, (1 + np.sqrt(5)) / 2) @ a


@pytest.mark.parametrize("law", LAWS)
@telling("n", [2, 7, 8, 9, 60], [9])
def test_resampled_sums_follow_the_law_of_fresh_weights(law, n):
    y = np.random.default_rng(n).exponential(size=n)
    a = (y - y.mean()) / n
    out = np.empty(4000)
    resampled_sums(LAWS[law], a, out, np.random.default_rng(2))
    rng = np.random.default_rng(3)
    slow = naive.signed_draws(y, 4000, rng) if law == "rademacher" else fresh(law, a, 4000, rng)
    assert_same_law(out.round(12), slow.round(12))


@each("n", [1, 8, 13, 52, 53, 64, 110])
def test_resampled_signs_are_used_once_each(n):
    # With weights of the powers of two a signed sum tells every sign: all must be fair, none may repeat another.
    out = np.empty(3000)
    signs = np.empty((n, out.size))
    for first in range(0, n, 50):
        a = np.zeros(n)
        some = slice(first, min(first + 50, n))
        a[some] = 2.0 ** np.arange(some.stop - first)
        resampled_sums(LAWS["rademacher"], a, out, np.random.default_rng(4))
        number = (out + a.sum()) / 2
        for i in range(first, some.stop):
            signs[i] = (number // 2.0 ** (i - first)) % 2
    assert np.abs(signs.mean(axis=1) - 0.5).max() < 6 * 0.5 / np.sqrt(3000)  # at most 110 z-tests, 2e-7 together
    if n > 1:
        assert np.abs(np.corrcoef(signs) - np.eye(n)).max() < 6.5 / np.sqrt(3000)  # 6000 pairs, 5e-7 together


@given(st.integers(0, 2**63 - 1))
def test_ones_are_counted(bits):
    assert count_ones(bits) == bits.bit_count()


def assert_binomial(found, n, p):
    """Pearson's test in about 40 cells of equal probability."""
    assert found.min() >= 0
    assert found.max() <= n
    if n == 0:
        return
    law = stats.binom(n, p)
    edges = np.unique(law.ppf(np.linspace(0, 1, 40)[1:-1]))
    expected = found.size * np.diff(np.r_[0, law.cdf(edges), 1])
    counts = np.bincount(np.searchsorted(edges, found), minlength=edges.size + 1)
    kept = expected > 0
    assert counts[~kept].sum() == 0
    assert stats.chisquare(counts[kept], expected[kept]).pvalue > SIGNIFICANCE


@each("coins", [0, 1, 7, 51, 52, 53, MOST_TOSSED, MOST_TOSSED + 1, 300, 12_345])
def test_heads_of_fair_coins_are_binomial(coins):
    rng = np.random.default_rng(coins)
    assert_binomial(np.array([draw_heads(coins, rng) for _ in range(20_000)]), coins, 0.5)


@each(
    ("trials", "p"), [(0, 0.3), (1, 0.3), (89, 1 / 3), (90, 1 / 3), (301, 0.1), (301, 0.9), (6000, 1 / 3), (9999, 0.01)]
)
def test_successes_are_binomial(trials, p):
    rng = np.random.default_rng(trials)
    size = 20_000 if trials * min(p, 1 - p) >= LEAST_AT_ONCE else 5000
    assert_binomial(np.array([draw_successes(trials, p, rng) for _ in range(size)]), trials, p)


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_the_two_places_of_a_uniform_number_are_uniform_and_independent(n):
    rng = np.random.default_rng(n)
    rewards = [float(10**i) for i in range(n)] + [math.nan]
    found = Counter(sum_of_draws(rewards, n, 2, rng) for _ in range(20_000))
    law = Counter()
    for one, other in np.ndindex(n, n):
        law[rewards[one] + rewards[other]] += 20_000 / n**2
    assert set(found) == set(law)
    if n > 1:
        assert stats.chisquare([found[v] for v in law], list(law.values())).pvalue > SIGNIFICANCE


def test_as_many_rewards_are_added_as_are_drawn():
    for n_draws in range(6):
        assert sum_of_draws([1.0, 1.0, 1.0], 3, n_draws, np.random.default_rng(0)) == n_draws


def test_heads_of_many_coins_reach_the_tails_as_often_as_they_should():
    size, coins = 100_000, 400
    rng = np.random.default_rng(1)
    found = np.array([draw_heads(coins, rng) for _ in range(size)])
    law = stats.binom(coins, 0.5)
    for z in (2, 3, 3.5):
        for count, expected in (
            ((found > 200 + 10 * z).sum(), law.sf(200 + 10 * z)),
            ((found < 200 - 10 * z).sum(), law.cdf(199 - 10 * z)),
        ):
            assert stats.binomtest(int(count), size, expected).pvalue > SIGNIFICANCE


def test_shuffling_gives_every_order_of_the_first_values_the_same_chance():
    rng = np.random.default_rng(0)
    orders = Counter()
    for _ in range(6000):
        values = [0, 1, 2, 3, 4]
        shuffle_first(values, 3, rng)
        assert values[3:] == [3, 4]
        orders[tuple(values[:3])] += 1
    assert len(orders) == 6
    assert all(abs(count - 1000) < 5 * np.sqrt(1000 * 5 / 6) for count in orders.values())  # five standard errors


def test_exponential_weights_over_their_total_are_dirichlet():
    rng = np.random.default_rng(0)
    rewards = np.array([0.0, 1.0, 7.0, 7.0])
    pairs = np.array([exponential_sums(rewards, 2, rng) for _ in range(3000)])
    assert stats.kstest(pairs[:, 0] / pairs[:, 1], "uniform").pvalue > 1e-6
    assert_follows(pairs[:, 1], stats.gamma(2))
    assert exponential_sums(rewards, 0, rng) == (0.0, 0.0)


def test_double_or_nothing_is_one_plus_a_sign():
    rewards, signs = np.array([3.0, 5.0, 8.0]), np.array([1, -1, 1])
    assert doubled_mean(3, rewards.sum(), signs @ rewards, signs.sum()) == (3 + 8) / 2

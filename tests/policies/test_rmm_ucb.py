"""Resampled medians of means against their definition, a rank test in exact arithmetic."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstrap import RMMUCB
from bandstrap.errors import InvalidInput
from bandstrap.policies.rmm_ucb import GROUP, GROUPS, prepare, rmm_bound, rmm_bound_in_loops, score
from naive import resampling_policies as naive
from policies.learning import learned
from sampling import each


def drawn(n, k, resamples, seed):
    """The signs and ranks that :func:`rmm_bound` draws: six groups of up to eight rewards of a block to a number."""
    sizes = [(b + 1) * n // k - b * n // k for b in range(k)]
    groups = [min(GROUP, size - first) for size in sizes for first in range(0, size, GROUP)]
    rng = np.random.default_rng(seed)
    ranks, signs = [rng.random()], []
    for _ in range(resamples):
        words = [int(rng.random() * 2**48) for _ in range(math.ceil(len(groups) / GROUPS))]
        bits = [
            words[g // GROUPS] >> (GROUP * (g % GROUPS)) + i & 1 for g, size in enumerate(groups) for i in range(size)
        ]
        signs.append([1 - 2 * bit for bit in bits])
        ranks.append(rng.random())
    return np.array(signs), np.array(ranks)


@given(
    st.lists(st.integers(-40, 40).map(lambda y: y / 8), min_size=1, max_size=20),
    st.integers(1, 6),
    st.integers(1, 7),
    st.integers(0, 2**32),
)
def test_the_bound_is_the_supremum_of_what_the_rank_test_accepts(sample, k, resamples, seed):
    k = min(k, len(sample))
    signs, ranks = drawn(len(sample), k, resamples, seed)
    expected = naive.rmm_supremum(sample, k, signs, ranks)
    found = rmm_bound(np.array(sample), len(sample), k, resamples, np.random.default_rng(seed))
    assert found == pytest.approx(expected, abs=1e-9)


@each("n", [1, 5, 60])
def test_one_block_gives_the_largest_mean_of_random_subsets_as_mars_does(n):
    sample = np.random.default_rng(n).laplace(size=n)
    signs, _ = drawn(n, 1, 40, 3)
    means = [sample[row < 0].mean() if (row < 0).any() else math.inf for row in signs]
    found = rmm_bound(sample, n, 1, 40, np.random.default_rng(3))
    assert found == pytest.approx(max(means)) or (max(means) == math.inf and found in (math.inf, *means))


@each(("n", "k"), [(1, 1), (4, 2), (9, 3), (16, 4), (20, 6)])
def test_the_bound_of_symmetric_rewards_falls_short_with_the_probability_asked_for(n, k):
    """One in ten, whatever the tails; five standard errors (6e-7): a rate of 0.13 is seen with probability 0.99."""
    rng = np.random.default_rng(100 * n + k)
    misses = np.mean([rmm_bound(rng.standard_cauchy(n) + 3, n, k, 9, rng) < 3 for _ in range(6000)])
    assert abs(misses - 0.1) < 5 * math.sqrt(0.09 / 6000)


@given(st.integers(1, 90), st.integers(1, 9), st.integers(1, 60), st.integers(0, 2**32))
def test_loops_give_the_same_bits(n, k, resamples, seed):
    sample = np.random.default_rng(seed).standard_t(2, n).round(seed % 3)  # some with ties
    found = [by(sample, n, min(k, n), resamples, np.random.default_rng(seed)) for by in (rmm_bound, rmm_bound_in_loops)]
    assert found[0] == found[1]


@each(("t", "n", "k"), [(100, 1, 1), (100, 30, 5), (100, 10_000, 78)])
def test_level_and_blocks_are_the_papers(t, n, k):
    """``ceil(1 + t log^2 t)`` with the sample itself, and ``floor(min(17 log t, sqrt(n)))`` blocks."""
    sample = np.random.default_rng(n).normal(size=n)
    params, state = learned(RMMUCB(alpha="1/(t log^tau t)"), sample)
    expected = rmm_bound(sample, n, k, math.ceil(1 + t * math.log(t) ** 2) - 1, np.random.default_rng(5))
    assert score(params, state, 0, prepare(params, state, t), np.random.default_rng(5)) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"alpha": 1e-8},
            r"'alpha' parameter of RMMUCB must be at least 1e-07, as 1/alpha resamples are drawn. Got 1e-08",
        ),
        ({"alpha": "1/T^2", "horizon": 10**4, "arms": 2}, r"'alpha' parameter of RMMUCB must be at least 1e-07"),
        ({"blocks": 0}, r"'blocks' parameter of RMMUCB must be an integer of at least 1. Got 0"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        RMMUCB(**options)

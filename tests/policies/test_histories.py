"""Policies that keep every reward: room for each arm, and sums over whole rows that have the bits of a loop."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap.bounds.empirical_kl import ascent, ascent_in_loops, dual, dual_in_loops, log_growth, log_growth_in_loops
from bandstrap.engine.compiler import kernel
from bandstrap.policies import POLICIES, rds, robust_ucb, subsample_duels
from bandstrap.policies.kernels import draws

KEEPERS = [
    ("giro", {}),
    ("npts", {}),
    ("rds", {}),
    ("subsample_duels", {}),
    ("subsample_duels", {"sampler": "without-replacement"}),
    ("weighted_bootstrap", {}),
    ("mbe", {"weights": "exponential"}),
    ("empirical_kl_ucb", {}),
    ("imed", {"divergence": "bounded", "upper": 1.0}),
    ("robust_ucb", {}),
    ("robust_ucb", {"estimator": "median-of-means"}),
    ("bootstrapped_ucb", {"quantile": "resampled-literal"}),
]
rows = st.lists(st.floats(-1e3, 1.0) | st.sampled_from([0.0, 1.0, -0.0, 0.5]), min_size=1, max_size=60).map(np.array)


@pytest.mark.parametrize(("name", "options"), KEEPERS, ids=str)
def test_one_long_row_does_not_make_all_rows_long(name, options):
    tracemalloc.start()
    policy = POLICIES[name](arms=500, rng=0, **options)
    policy.update(range(500), [0.5] * 500)
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(4):
        policy.update([3] * 2000, np.linspace(0.1, 0.9, 2000))
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert 8 * 8000 <= grown < 40 * 8000  # bytes: two rows at most, at most half empty; 500 rows would be 32 million


def same(one, other):
    return np.array(one).tobytes() == np.array(other).tobytes()


@given(y=rows, seed=st.integers(0, 9), spare=st.integers(0, 3))
@settings(max_examples=60)
def test_sums_of_draws_have_the_bits_of_a_loop(y, seed, spare):
    room = np.concatenate([y, np.full(spare, 1e9)])  # what lies behind the last reward is not looked at
    n = y.size

    def both(plain, loops, *arguments):
        first, second = (np.random.default_rng(seed) for _ in range(2))
        assert same(plain(room.copy(), *arguments, first), loops(room.copy(), *arguments, second))
        assert first.bit_generator.state == second.bit_generator.state

    both(draws.exponential_sums, draws.exponential_sums_in_loops, n)
    for n_draws in (0, 1, n, n + 7):
        both(draws.sum_of_draws, draws.sum_of_draws_in_loops, n, n_draws)
    one, other = room.copy(), room.copy()
    generators = [np.random.default_rng(seed) for _ in range(2)]
    size = (n + 1) // 2
    assert same(
        subsample_duels.shuffled_sum(one, n, size, generators[0]),
        subsample_duels.shuffled_sum_in_loops(other, n, size, generators[1]),
    )
    assert one.tobytes() == other.tobytes()
    assert generators[0].bit_generator.state == generators[1].bit_generator.state


@given(y=rows, level=st.floats(-2.0, 2.0), scale=st.floats(1e-3, 10.0))
@settings(max_examples=60)
def test_sums_over_rows_have_the_bits_of_a_loop(y, level, scale):
    n = y.size
    assert same(rds.shortfalls(y, n, level), rds.shortfalls_in_loops(y, n, level))
    limits = np.abs(y) + 0.25
    assert same(robust_ucb.kept_sum(y, limits, n, scale), robust_ucb.kept_sum_in_loops(y, limits, n, scale))
    assert same(robust_ucb.influence(y, n, scale, level), robust_ucb.influence_in_loops(y, n, scale, level))
    assert same(dual(y, 1.0, scale), dual_in_loops(y, 1.0, scale))
    mean = min(level, 0.9)
    x = 0.5 / (1.0 - mean)
    assert same(ascent(y, mean, x), ascent_in_loops(y, mean, x))
    assert same(log_growth(y, mean, x), log_growth_in_loops(y, mean, x))


# Compared above, but for the last three, which only sort, only read, and only give back what compiled code is always given:
# the contract battery plays them both ways.
COMPARED = {
    *("ascent", "dual", "exponential_sums", "influence", "kept_sum", "log_growth", "shortfalls", "shuffled_sum"),
    *("sum_of_draws", "ascending", "score", "opened"),
}


def test_every_compiled_body_but_those_of_linear_policies_is_compared_here():
    own = {f for f in kernel._compiled_bodies if f.__module__.startswith("bandstrap.")}
    assert {f.__name__ for f in own if not f.__module__.startswith("bandstrap.policies.linear.")} == COMPARED

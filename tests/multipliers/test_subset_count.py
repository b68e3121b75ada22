"""Counts of subsets: whole numbers, so that every comparison is exact."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap.multipliers.subset_count import (
    LATTICE_NOISE,
    attained_fraction,
    common_unit,
    count_subsets_above,
    counted_step,
    fill_binomials,
    fine_step,
    group,
    grouped_step,
    lattice_unit,
    rounded_up,
    sorted_subset_sums,
    to_lattice,
)
from naive.bounds import count_subset_means_above

whole_rewards = st.lists(st.integers(0, 6).map(float), min_size=2, max_size=9).map(sorted)


def buffers_for(n):
    return np.empty((4, 1 << (n - n // 2)))


def grouped(m):
    values, counts = np.empty(len(m)), np.empty(len(m))
    size = group(np.asarray(m), values, counts)
    return values[:size], counts[:size]


def test_subset_sums_are_all_there_and_ascend():
    v = np.array([0.5, -1.0, 0.25, 3.0, -0.75])
    buffers = np.empty((2, 32))
    expected = sorted(sum(s) for size in range(6) for s in itertools.combinations(v, size))
    assert sorted_subset_sums(v, buffers[0], buffers[1]).tolist() == expected


def test_subset_sums_of_nothing_are_the_empty_sum():
    assert sorted_subset_sums(np.empty(0), np.empty(1), np.empty(1)).tolist() == [0.0]


@settings(derandomize=True, deadline=None, max_examples=50)
@given(whole_rewards, st.integers(-1, 14).map(lambda k: k / 2))
def test_counted_subsets_are_those_of_the_list(m, x):
    assert count_subsets_above(np.array(m), x, buffers_for(len(m))) == count_subset_means_above(m, x)


@settings(derandomize=True, deadline=None, max_examples=80)
@given(whole_rewards, st.data())
def test_both_ways_of_counting_find_the_smallest_step_and_where_it_holds(m, data):
    n = len(m)
    allowed = float(data.draw(st.integers(0, 2**n - 2)))
    q = fine_step(n)
    t, above, above_before = counted_step(np.array(m) * q, 0.0, allowed, buffers_for(n))
    assert (t, above, above_before) == grouped_step(*grouped(m), n, 0.0, allowed, q)
    assert above == count_subset_means_above(m, Fraction(t) / Fraction(q)) <= allowed
    if t > 0:
        assert above_before == count_subset_means_above(m, Fraction(t - 1) / Fraction(q)) > allowed
    over, under = attained_fraction(t, n)
    means = {sum(s) / len(s) for k in range(1, n + 1) for s in itertools.combinations(map(Fraction, m), k)}
    assert t == 0 or Fraction(over) / Fraction(under) in means


@pytest.mark.parametrize("count", [1, 2, 7, 50])
def test_binomial_coefficients_of_up_to_fifty_are_exact(count):
    masses = np.empty((1, count + 1))
    fill_binomials(np.array([float(count)]), True, masses)
    assert masses[0].tolist() == [math.comb(count, j) for j in range(count + 1)]


@pytest.mark.parametrize("count", [1, 2, 51, 400, 3000])
def test_binomial_probabilities_are_within_a_few_roundings_per_step(count):
    masses = np.empty((1, count + 1))
    fill_binomials(np.array([float(count)]), False, masses)
    for j in range(0, count + 1, max(count // 50, 1)):
        exact = Fraction(math.comb(count, j), 2**count)
        assert abs(Fraction(float(masses[0, j])) - exact) <= exact * 4 * count * Fraction(2) ** -53 + Fraction(5e-324)


@pytest.mark.parametrize(
    ("values", "unit"),
    [([0, 1], 1), ([-1, 1], 2), ([0, 6, 10, 15], 1), ([-3, 0, 3], 3), ([0.1, 0.3, 0.7], 0.2), ([1.25, 1.5, 3], 0.25)],
)
def test_unit_of_a_lattice(values, unit):
    assert lattice_unit(np.array(values, dtype=float)) == pytest.approx(unit, rel=1e-12)


def test_continuous_rewards_have_no_unit():
    rng = np.random.default_rng(0)
    assert all(lattice_unit(np.sort(rng.normal(size=5))) == 0.0 for _ in range(200))
    assert common_unit(0.0, 0.7) == 0.7


def test_distance_from_the_lattice_is_told_and_is_zero_for_whole_numbers_only():
    m = np.empty(3)
    assert to_lattice(np.array([-2.0, 1.0, 4.0]), -2.0, 3.0, m) == 0.0
    assert m.tolist() == [0, 1, 2]
    assert 0 < to_lattice(np.array([0.1, 0.2, 0.3]), 0.1, 0.1, m) < LATTICE_NOISE
    assert to_lattice(np.array([0.0, 1.01, 2.0]), 0.0, 1.0, m) == pytest.approx(0.01)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.integers(-(2**30), 2**30), st.integers(1, 2**20), st.integers(0, 2**20), st.integers(1, 1000))
def test_quotients_are_rounded_up_to_the_next_double(origin, unit, over, under):
    exact = origin + unit * Fraction(over, under)
    found = rounded_up(float(origin), float(unit), float(over), float(under), 0.0)
    assert math.nextafter(found, -math.inf) < exact <= found
    assert Fraction(rounded_up(float(origin), float(unit), float(over), float(under), 1e-9)) >= exact

"""Counts of subsets: whole numbers, so that every comparison is exact."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap.multipliers.lattice import attained_fraction, fine_step
from bandstrap.multipliers.subset_count import (
    ROWS,
    count_above,
    fill_binomials,
    group,
    grouped_step,
    listed_step,
)
from naive.bounds import count_subset_means_above

few_values = st.lists(st.integers(0, 6).map(float), min_size=2, max_size=9).map(sorted)
many_values = st.lists(st.integers(0, 2**14).map(float), min_size=2, max_size=9).map(sorted)
wholes = few_values | many_values


def grouped(m):
    values, counts = np.empty(len(m)), np.empty(len(m))
    size = group(np.asarray(m), values, counts)
    return values[:size], counts[:size]


def rooms():
    """Room as compiled code has it, and as the online object has it."""
    return np.zeros((ROWS, 256)), np.zeros((ROWS, 256)).tolist()


@settings(derandomize=True, deadline=None, max_examples=80)
@given(wholes, st.data())
def test_subsets_above_are_counted_or_known_to_be_too_many(m, data):
    x = data.draw(st.integers(-2, 2 * int(m[-1]) + 2) | st.sampled_from([2 * value for value in m])) / 2
    most = float(data.draw(st.integers(0, 2 ** len(m))))
    n_listed = data.draw(st.integers(0, len(m) // 2))
    true = count_subset_means_above(m, Fraction(x))
    for scaled, room in zip((np.array(m), m), rooms(), strict=True):
        count = count_above(scaled, x, most, n_listed, room)
        assert count == true if true <= most else most < count <= true


@pytest.mark.parametrize("n", [2, 3, 15, 16])
@pytest.mark.parametrize("share", [0.001, 0.05, 0.5, 1.0])
def test_lists_of_sums_hold_all_subsets_of_the_most_rewards(n, share):
    m = np.sort(np.random.default_rng(n).integers(0, 2**14, size=n)).astype(float)
    sums = np.zeros(1)
    for value in m - 8000.0:
        sums = np.concatenate([sums, sums + value])
    true = int((sums > 0).sum())
    for n_listed in (0, n // 4, n // 2):
        count = count_above(m, 8000.0, float(math.floor(share * 2**n)), n_listed, rooms()[0])
        assert count == true if true <= share * 2**n else share * 2**n < count <= true


@settings(derandomize=True, deadline=None, max_examples=80)
@given(few_values, st.data())
def test_both_ways_of_counting_find_the_smallest_step_and_where_it_holds(m, data):
    n = len(m)
    allowed = float(data.draw(st.integers(0, 2**n - 2)))
    q = fine_step(n)
    low = float(data.draw(st.sampled_from([0, 1, int(m[-1] * q) // 3])))
    t, above, above_before = grouped_step(*grouped(m), n, low, allowed, q)
    many = data.draw(st.sampled_from([0.1, 1.0, 16.0]))
    for scaled, room in zip((np.array(m) * q, [q * value for value in m]), rooms(), strict=True):
        assert listed_step(scaled, low, allowed, many, room)[:2] == (t, above)
        assert allowed < listed_step(scaled, low, allowed, many, room)[2] <= above_before
    assert above == count_subset_means_above(m, Fraction(t) / Fraction(q)) <= allowed
    if t > low:
        assert above_before == count_subset_means_above(m, Fraction(t - 1) / Fraction(q)) > allowed
    over, under = attained_fraction(t, n)
    means = {sum(s) / len(s) for k in range(1, n + 1) for s in itertools.combinations(map(Fraction, m), k)}
    assert t == low or Fraction(over) / Fraction(under) in means


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

"""Lattices of rewards, and means of their points rounded up."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap.multipliers.lattice import LATTICE_NOISE, common_unit, lattice_unit, round_onto, rounded_up, to_lattice


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


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.lists(st.floats(-8, 8, width=32), min_size=2, max_size=9, unique=True).map(sorted), st.integers(3, 45))
def test_rewards_are_rounded_up_by_a_unit_at_most_but_for_a_rounding(y, bits):
    m = np.empty(len(y))
    unit = round_onto(np.array(y), y[0], y[-1] - y[0], bits, m)
    slack = Fraction(2) ** -52 * Fraction(y[-1] - y[0])
    for value, whole in zip(y, m.tolist(), strict=True):
        assert whole == math.floor(whole) <= 2**bits
        raised = Fraction(y[0]) + Fraction(unit) * Fraction(whole) - Fraction(value)
        assert -slack <= raised <= Fraction(unit) + slack

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap.policies.states.central_sums import LEAST_UNIT, MOST_UNITS, add_reward, mean_reward, no_sums, unit_for
from sampling import each


def remembered(y):
    """Mean, unit and sums of an arm with rewards ``y``."""
    pulls, central = [0], no_sums(1)
    central = type(central)(*(part.tolist() for part in central))
    for reward in y:
        add_reward(pulls, central, 0, float(reward))
    assert pulls == [len(y)]
    return mean_reward(central, 0), central.units[0], [row[0] for row in central.sums]


def errors(y):
    """How far the sums of powers 2 to 6 are off, as parts of the sums of absolute powers, by exact arithmetic."""
    _, unit, sums = remembered(y)
    exact = [Fraction(float(reward)) / Fraction(unit) for reward in y]
    centre = sum(exact) / len(exact)
    found = []
    for power, value in enumerate(sums, 2):
        true = sum((reward - centre) ** power for reward in exact)
        size = sum(abs(reward - centre) ** power for reward in exact)
        found.append(abs(float((Fraction(value) - true) / size)) if size else float(value != 0.0))
    return found


LAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "cauchy": lambda rng, n: rng.standard_cauchy(size=n),
    "rare": lambda rng, n: rng.binomial(1, 0.01, size=n),
    "outlier first": lambda rng, n: np.append(1e6, rng.normal(size=n - 1)),
    "outlier last": lambda rng, n: np.append(rng.normal(size=n - 1), 1e6),
    "sorted": lambda rng, n: np.sort(rng.normal(size=n)),
}


@each("law", LAWS)
@each("offset", [0.0, 1e6, -1e9])
def test_sums_are_those_of_exact_arithmetic(law, offset):
    # 5e-15 is the largest error seen.
    assert max(errors(offset + LAWS[law](np.random.default_rng(1), 400))) < 5e-14


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1e150, 1e150) | st.floats(-1.0, 1.0), min_size=1, max_size=20))
def test_no_rewards_are_too_large_or_too_different(y):
    mean, _, sums = remembered(y)
    assert all(map(math.isfinite, sums))
    largest = max(map(abs, y))
    assert abs(Fraction(mean) - sum(map(Fraction, y)) / len(y)) <= Fraction(largest) * Fraction(1e-14)
    spread = max(y) - min(y)
    if spread > 1e-280:  # below, the smallest doubles have fewer bits
        assert max(errors(y)) < 1e-13


@pytest.mark.parametrize("value", [0.1, -1e9, 1e300, 5e-324])
def test_equal_rewards_have_no_spread_at_all(value):
    mean, unit, sums = remembered([value] * 7)
    assert mean == value
    assert unit == LEAST_UNIT
    assert sums == [0.0] * 5


@each("exponent", [-1000, -997, -500, -65, -64, -40, 63, 64, 500, 900, 990])
def test_rewards_in_other_units_have_the_same_sums(exponent):
    # Powers of two are exact: the bits must be the same.
    y = np.random.default_rng(0).normal(size=50)
    scale = 2.0**exponent
    (mean, unit, sums), (scaled_mean, scaled_unit, scaled_sums) = remembered(y), remembered(scale * y)
    assert scaled_mean == scale * mean
    share = scaled_unit / unit / scale
    assert [value * share**power for power, value in enumerate(scaled_sums, 2)] == sums


def test_a_unit_grows_with_a_deviation_that_has_too_many():
    small = [1.0, 1.5, 0.25]
    _, unit, _ = remembered(small)
    assert unit == 1.0
    for large in (2.0**70, -(2.0**200), 2.0**1000):
        _, unit, sums = remembered([*small, large, 1.0])
        assert unit == unit_for(large)
        assert 1.0 / MOST_UNITS <= abs(large) / unit <= MOST_UNITS**2
        assert max(errors([*small, large, 1.0])) < 1e-14
        assert all(map(math.isfinite, sums))

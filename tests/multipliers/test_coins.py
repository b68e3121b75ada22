"""A difference of two counts of coins against fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap.multipliers.coins import (
    MOST_COINS,
    TABLE,
    coins_around,
    coins_quantile,
    fit_coins,
    half_length,
)
from naive import sums_of_signs as naive

counts = st.tuples(st.integers(1, 16), st.integers(0, 20)).map(lambda pair: (pair[0], pair[0] + pair[1]))


def table(few, many):
    row = np.zeros(TABLE)
    fit_coins(few, many, row)
    return row


@settings(max_examples=60, deadline=None)
@given(counts, st.integers(-300, 300))
def test_tails_and_neighbours_are_those_of_fractions(pair, x):
    law = naive.coins_law(*pair)
    tail, below, above = coins_around(*pair, table(*pair), x)
    assert tail == pytest.approx(float(sum(p for value, p in law.items() if value > x)), abs=1e-7)
    if sum(pair) <= 24:  # nothing is left out of the tables of so few
        assert below == max((value for value in law if value <= x), default=below)
        assert above == min((value for value in law if value > x), default=above)


@settings(max_examples=60, deadline=None)
@given(counts, st.integers(1, 480), st.floats(-50, 50), st.sampled_from([1e-3, 0.01, 1.0]))
def test_quantiles_are_those_of_fractions_from_any_start(pair, thousandth, off, rate):
    level = Fraction(thousandth, 1001)  # no tail of coins
    row = table(*pair)
    right = naive.coins_quantile(*pair, level)
    value, low, high = coins_quantile(*pair, row, right + off, rate, float(level))
    assert value == right
    assert low <= level < high
    # The same quantile in all of the range, and another beyond it.
    assert coins_quantile(*pair, row, 0.0, rate, min(0.5 * (low + high), 0.499))[0] == right
    if high < 0.5:
        assert coins_quantile(*pair, row, right, rate, high * (1 + 1e-9))[0] < right


def test_tables_fit_into_a_row():
    assert max(half_length(few) + half_length(MOST_COINS - few) for few in range(1, MOST_COINS // 2 + 1)) <= TABLE

import math

import pytest

from bandstrap.multipliers.bracket import narrowed, next_point


def evaluations(function, low, high, root):
    """How many evaluations it takes to come within 1e-9 of the root, from an upper end that is not evaluated yet."""
    bracket = (low, function(low), high, -math.inf, 0)
    for count in range(1, 200):
        x = next_point(bracket)
        assert bracket[0] < x < bracket[2]
        if abs(x - root) < 1e-9:
            return count
        bracket = narrowed(bracket, x, function(x))
        assert bracket[0] < root <= bracket[2]
        assert bracket[1] > 0 >= bracket[3]
    return math.inf


def test_the_middle_is_taken_until_both_ends_have_a_finite_gap():
    assert next_point((0.0, 1.0, 8.0, -math.inf, 0)) == 4.0
    assert next_point((0.0, 1.0, 8.0, -3.0, 0)) == 2.0


def test_an_end_that_stays_twice_counts_half():
    once = narrowed((0.0, 4.0, 8.0, -4.0, 0), 1.0, 2.0)
    assert once == (1.0, 2.0, 8.0, -4.0, 1)
    assert narrowed(once, 2.0, 1.0) == (2.0, 1.0, 8.0, -2.0, 1)
    once = narrowed((0.0, 4.0, 8.0, -4.0, 0), 7.0, -2.0)
    assert once == (0.0, 4.0, 7.0, -2.0, -1)
    assert narrowed(once, 6.0, 0.0) == (0.0, 2.0, 6.0, 0.0, -1)


@pytest.mark.parametrize(
    ("function", "low", "high", "root"),
    [
        (lambda x: 1 - x**9, 0.0, 10.0, 1.0),  # plain false position creeps here
        (lambda x: math.exp(-x) - 0.01, -5.0, 50.0, math.log(100)),
        (lambda x: -math.inf if x > 3 else 2 - x, -1e6, 1e6, 2.0),
    ],
)
def test_it_closes_in_on_the_root_of_a_falling_function(function, low, high, root):
    assert evaluations(function, low, high, root) <= 45

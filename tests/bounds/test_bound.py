import math

import numpy as np
import pytest

from bandstrap.bounds import BOUNDS, Bound, hoeffding
from bandstrap.bounds.assumptions import ASSUMPTIONS
from bandstrap.bounds.bound import as_number, check_inside, check_support, mirror
from bandstrap.errors import InvalidInput
from sampling import each

NAMES = [
    "hoeffding",
    "empirical_bernstein",
    "sub_weibull",
    "student_t",
    "bootstrap",
    "sign_flip",
    "empirical_kl",
    "betting",
    "symmetric_betting",
    "clopper_pearson",
    "mid_p",
    "bootstrap_t",
    "bca",
    "hall",
]


def record(side: str, lower: float, upper: float) -> Bound:
    return Bound("some", side, 0.05, 1.0, lower, upper, {}, "closed-form", 0.05, "rewards")


def test_all_fourteen_bounds_are_registered():
    assert set(BOUNDS) >= set(NAMES)


@each("name", NAMES)
def test_registry_tells_name_summary_and_assumption(name):
    entry = BOUNDS[name]
    assert entry.function.__name__ == entry.name == name
    assert entry.summary == entry.function.__doc__.strip().splitlines()[0]
    assert entry.summary.endswith(".")
    assert set(entry.assumes) <= set(ASSUMPTIONS)


def test_value_and_width_of_an_upper_bound():
    bound = record("upper", -math.inf, 3.5)
    assert bound.value == 3.5
    assert bound.width == 2.5


def test_value_and_width_of_a_lower_bound():
    bound = record("lower", -2.0, math.inf)
    assert bound.value == -2.0
    assert bound.width == 3.0


def test_value_and_width_of_a_two_sided_bound():
    bound = record("two-sided", -2.0, 3.5)
    assert bound.value == (-2.0, 3.5)
    assert bound.width == 5.5


def test_a_mean_is_missed_strictly_beyond_an_end():
    bound = record("two-sided", -2.0, 3.5)
    misses = [bound.misses(mean) for mean in (-2.1, -2.0, 0.0, 3.5, 3.6)]
    assert misses == [True, False, False, False, True]


def test_misses_of_a_batch_come_row_by_row():
    bound = hoeffding([[0.0, 0.0], [5.0, 5.0]], 0.25, sigma=1.0, side="two-sided")
    assert bound.misses(0.0).tolist() == [False, True]
    assert bound.misses(5.0).tolist() == [True, False]


def test_a_bound_cannot_be_changed():
    with pytest.raises(AttributeError):
        record("upper", 0.0, 1.0).alpha = 0.1


def test_as_number_gives_a_float_or_a_writable_array():
    assert as_number(np.asarray(2), ()) == 2.0
    assert isinstance(as_number(np.asarray(2), ()), float)
    array = as_number(np.asarray(2.0), (2, 3))
    array[0, 0] = 7.0
    assert array.sum() == 17.0


def test_mirrored_support():
    assert mirror((-1.0, 3.0), mirrored=True) == (-3.0, 1.0)
    assert mirror((-1.0, 3.0), mirrored=False) == (-1.0, 3.0)


@each("support", [None, 3, "ab", (1,), (1, 2, 3), (1, 1), (2, 1), (0, math.nan), (0, math.inf)])
def test_support_must_be_an_ascending_finite_pair(support):
    with pytest.raises(InvalidInput, match=r"'support' parameter of some must be a pair \(low, high\) of finite"):
        check_support(support, "some")


def test_support_may_be_any_pair_of_numbers():
    assert check_support(np.array([0, 2]), "some") == (0.0, 2.0)


def test_rewards_outside_the_support_are_told_with_their_position():
    with pytest.raises(InvalidInput, match=r"inside the support \[0, 1\]. Got 1.5 at position 2 instead"):
        check_inside(np.array([0.0, 1.0, 1.5]), (0.0, 1.0), "some")
    with pytest.raises(InvalidInput, match=r"Got -0.5 at position \(1, 0\) instead"):
        check_inside(np.array([[0.0, 1.0], [-0.5, 0.2]]), (0.0, 1.0), "some")

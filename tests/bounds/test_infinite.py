"""A bound that is infinite says why, and what it says makes it finite."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap.bounds import BOUNDS, compare, difference
from bandstrap.bounds.bound import BEYOND_FLOATS
from sampling import each

pytestmark = pytest.mark.filterwarnings("ignore::bandstrap.errors.AssumptionWarning")
TOLD = {"support": (0.0, 9.0), "sigma": 2.0, "beta": 2.0, "phi": "student_t"}


def bound_of(name, sample, alpha, side="upper", **options):
    needs = {need.split("|")[0]: TOLD[need.split("|")[0]] for need in BOUNDS[name].needs}
    return BOUNDS[name].function(sample, alpha, side=side, **needs, **options)


@pytest.mark.parametrize("name", sorted(set(BOUNDS) - {"clopper_pearson", "mid_p"}))
@settings(derandomize=True, deadline=None, max_examples=30)
@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=9) | st.lists(st.sampled_from([0, 9]), min_size=1, max_size=30),
    st.sampled_from([1e-9, 1e-4, 0.02, 0.1, 0.4]),
    st.sampled_from(["upper", "lower", "two-sided"]),
)
def test_every_infinite_end_that_was_asked_for_has_a_reason_and_no_finite_one_has(name, sample, alpha, side):
    bound = bound_of(name, sample, alpha, side)
    asked = {"upper": [bound.upper], "lower": [bound.lower], "two-sided": [bound.lower, bound.upper]}[side]
    assert (bound.why_infinite is not None) == any(map(math.isinf, asked))
    if bound.why_infinite is not None:
        assert bound.why_infinite.startswith("the bound is infinite")
        assert BEYOND_FLOATS not in bound.why_infinite


@pytest.mark.parametrize(
    "method", ["welch", "permutation", "bootstrap", "bootstrap_t:n_resamples=59", "union:bound=sign_flip"]
)
@settings(derandomize=True, deadline=None, max_examples=25)
@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=7),
    st.lists(st.integers(0, 3), min_size=1, max_size=7),
    st.sampled_from([1e-4, 0.02, 0.1, 0.4]),
)
def test_differences_say_it_too(method, first, second, alpha):
    bound = difference(first, second, alpha, method=method, names=("blue", "red"))
    assert (bound.why_infinite is not None) == (math.isinf(bound.lower) or math.isinf(bound.upper))
    if bound.why_infinite is not None:
        assert "the bound is infinite" in bound.why_infinite
        assert BEYOND_FLOATS not in bound.why_infinite
        assert "group:" not in bound.why_infinite


def needed_by(bound):
    return int(re.search(r"(?:takes|needs) at least (\d+)", bound.why_infinite)[1])


@each("name", ["sign_flip", "symmetric_betting", "student_t"])
@each("alpha", [0.4, 0.25, 0.05, 0.03125, 1e-6])
def test_as_many_rewards_as_it_says_make_the_bound_finite_and_one_fewer_do_not(name, alpha):
    rewards = np.random.default_rng(0).normal(size=60)
    needed = needed_by(bound_of(name, rewards[:1], alpha))
    assert bound_of(name, rewards[:needed], alpha).upper < math.inf
    fewer = bound_of(name, rewards[: needed - 1], alpha)
    assert fewer.upper == math.inf
    assert needed_by(fewer) == needed


@pytest.mark.parametrize("name", ["bootstrap_t", "hall"])
def test_as_many_resamples_as_it_says_make_the_bound_finite(name):
    rewards = np.random.default_rng(0).normal(size=30)
    few = bound_of(name, rewards, 0.007, n_resamples=50)
    assert "resamples, there are 50" in few.why_infinite
    needed = needed_by(few)
    assert bound_of(name, rewards, 0.007, n_resamples=needed).upper < math.inf
    assert bound_of(name, rewards, 0.007, n_resamples=needed - 1).upper == math.inf


def test_as_many_divisions_as_it_says_make_the_permutation_bound_finite():
    bound = difference([1.0, 2.0], [3.0, 5.0], 0.1, method="permutation", side="upper")
    assert bound.why_infinite == (
        "the bound is infinite: groups of 2 and 2 rewards can be divided in 6 ways, and alpha = 0.1 needs at least 10; "
        "use more rewards"
    )
    assert difference([1.0, 2.0], [3.0, 5.0, 4.0], 0.1, method="permutation", side="upper").upper < math.inf
    rng = np.random.default_rng(0)
    few = difference(
        rng.normal(size=30), rng.normal(size=30), 0.01, method="permutation:n_permutations=98", side="upper"
    )
    assert "an error probability of 0.01 needs at least 99 permutations, there are 98" in few.why_infinite
    assert few.upper == math.inf


def test_largest_sums_and_unions_and_bounds_with_a_phi_say_it():
    groups = {"red": [1.0, 2.0, 4.0] * 5, "blue": [2.0, 3.0, 7.0] * 5, "one": [1.0]}
    found = compare(groups, "red", 0.01, method="bootstrap:n_resamples=50", simultaneous="max").bounds
    assert "resamples, there are 50" in found["blue"].why_infinite
    assert "each group needs two rewards or more" in found["one"].why_infinite
    union = difference([1.0, 2.0], [1.0, 2.0] * 9, 0.1, method="union:bound=sign_flip", names=("blue", "red"))
    assert union.why_infinite.startswith("blue: the bound is infinite: an error probability of ")
    assert "red" not in union.why_infinite
    assert bound_of("bootstrap", [1.0], 0.05).why_infinite is None
    of_phi = BOUNDS["bootstrap"].function([1.0], 0.05, phi="student_t")
    assert of_phi.why_infinite == "the bound is infinite, because its phi is infinite"


@pytest.mark.parametrize("name", ["student_t", "sign_flip", "bootstrap_t"])
def test_what_lies_beyond_the_largest_number_is_told_apart(name):
    rewards = [(-1) ** i * 1.7e308 for i in range(30)]
    bound = bound_of(name, [each / 2 for each in rewards], 0.4)
    assert bound.why_infinite is None
    if name == "student_t":
        assert bound_of(name, rewards[:2], 0.01).why_infinite == BEYOND_FLOATS


@pytest.mark.parametrize(
    ("sample", "why"),
    [([2.0], "one reward cannot show how much"), ([2.0] * 9, "equal rewards cannot show how much they")],
)
def test_a_bound_that_draws_nothing_does_not_speak_of_resamples(sample, why):
    bound = BOUNDS["hall"].function(sample, 0.05, quantile="normal", n_resamples=5)
    assert bound.why_infinite.startswith(f"the bound is infinite, since {why}")
    assert "resample" not in bound.why_infinite


def test_one_reward_is_too_few_for_a_variance():
    bound = BOUNDS["empirical_bernstein"].function([0.4], 0.05, support=(0, 1), form="maurer-pontil")
    assert bound.why_infinite == "the bound is infinite, since one reward cannot show how much rewards vary"


def test_a_batch_has_a_reason_where_one_of_its_samples_has():
    batch = np.array([[1.0, 1.0, 1.0], [1.0, 2.0, 5.0]])
    bound = BOUNDS["bootstrap_t"].function(batch, 0.3)
    assert list(np.isinf(bound.upper)) == [True, False]
    assert bound.why_infinite.startswith("the bound is infinite")
    assert all(BOUNDS[name].function(batch, 0.3).why_infinite is None for name in ("sign_flip", "student_t"))

"""Whether a bound misses, found without computing it where that is plain: the answer is the bound's own, always."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bandstrap.basics.calls import parse_call
from bandstrap.bounds import BOUNDS
from bandstrap.bounds.bound import misses
from bandstrap.bounds.coverage import tell_truth
from bandstrap.multipliers.subset_inversion import certain_tail
from bandstrap.multipliers.subset_mean import are_certainly_above
from sampling import each, telling

CALLS = [
    "sign_flip",
    "sign_flip:sigma=1",
    "symmetric_betting",
    "symmetric_betting:seed=4",
    "betting",
    "betting:seed=4",
    "betting:share=0.9",
    "bootstrap:correction=none",
    "bootstrap:correction=practical",
    "bootstrap:correction=theorem",
    "bootstrap:correction=sharp",
    "bootstrap:correction=none,weights=exponential",
    "bootstrap:correction=sharp,phi=student_t",
]
LAWS = {
    "normal": stats.norm(0.3),
    "coin": stats.bernoulli(0.5),
    "rare": stats.bernoulli(0.05),
    "ratings": stats.randint(1, 6),
    "beta": stats.beta(2, 5),
    "t": stats.t(3),
    "lognormal": stats.lognorm(1),
    "far away": stats.uniform(1e9, 1),
}


def test_every_bound_with_a_quick_test_is_here():
    assert {name for name, entry in BOUNDS.items() if entry.covers} == {parse_call(text).name for text in CALLS}


@telling("law", LAWS, ["normal", "rare"])
@pytest.mark.parametrize("text", CALLS)
def test_misses_are_those_of_the_bound(text, law):
    call, mean = parse_call(text), float(LAWS[law].mean())
    told = tell_truth(call, LAWS[law])
    if isinstance(told, str):
        pytest.skip(told)
    for n, replications in ((2, 60), (9, 100), (40, 25 if call.name == "sign_flip" else 60)):
        rewards = LAWS[law].rvs(size=(replications, n), random_state=np.random.default_rng(n)).astype(float)
        for alpha, side in ((0.2, "upper"), (0.02, "lower"), (0.1, "two-sided")):
            expected = BOUNDS[call.name].function(rewards, alpha, side=side, **told).misses(mean)
            assert np.array_equal(misses(call.name, rewards, alpha, mean, side, told), expected), (n, alpha, side)


@telling("n", [25, 30], [25])
def test_thousands_of_decisions_on_a_lattice_are_those_of_the_bound(n):
    # Ratings tie with their mean all the time; a decision that took ">" for ">=" would differ for one sample in twenty.
    rewards = np.random.default_rng(n).integers(1, 6, size=(2000, n)).astype(float)
    for alpha in (0.05, 0.005):
        expected = BOUNDS["sign_flip"].function(rewards, alpha).misses(3.0)
        assert np.array_equal(misses("sign_flip", rewards, alpha, 3.0, "upper", {}), expected)
        # And few are left to the bound itself.
        assert (~are_certainly_above(rewards, alpha, 3.0)).mean() < 2.5 * alpha


def exact_tail(v):
    """The share of subsets whose sum is not negative, the empty one among them."""
    sums = np.array([sum(each) for each in itertools.product(*((0, x) for x in v))])
    return (sums >= 0).mean()


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=11), st.sampled_from([0.3, 0.05, 0.001]))
def test_the_certain_tail_is_never_above_the_exact_one_on_lattices(v, level):
    scaled = np.array(v, dtype=float) / 16
    assert certain_tail(scaled, level) <= exact_tail(v) + 1e-12


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-1, 1, width=16), min_size=2, max_size=11), st.sampled_from([0.3, 0.05, 0.001]))
def test_the_certain_tail_is_never_above_the_exact_one(v, level):
    # Half-precision numbers have exact sums.
    assert certain_tail(np.array(v), level) <= exact_tail(v) + 1e-12


def test_the_certain_tail_is_close_where_there_are_many_rewards():
    # Of 16 normal rewards moved by a third of a standard deviation: tails of a few per cent are found to a third.
    rng = np.random.default_rng(1)
    for _ in range(5):
        v = rng.normal(-0.35, 0.5, 16)
        exact = exact_tail(v)
        assert 0.6 * exact - 0.003 <= certain_tail(v, 0.05) <= exact


@each("v", [[0.0] * 30, [-1.0] * 30, [1.0] * 30, [np.inf] * 30, [-1.0] * 29 + [1e-300], [1e-320] * 30])
def test_odd_distances_are_certain_of_nothing_false(v):
    found = certain_tail(np.array(v), 0.05)
    exact = 1.0 if min(v) >= 0 else 0.5 ** len([x for x in v if x < 0])
    assert found <= exact * (1 + 1e-12)

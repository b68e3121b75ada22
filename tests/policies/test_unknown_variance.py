"""IMED and MED for normal rewards of unknown variance."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from bandstrap import IMEDUnknownVariance, MEDUnknownVariance
from bandstrap.engine.simulator.play import play
from naive import indices as naive
from policies.learning import choices_on, scores

REWARDS = st.lists(st.integers(-50, 50).map(lambda y: y / 8), min_size=3, max_size=30)
ARMS = st.lists(REWARDS, min_size=1, max_size=4)


@given(ARMS)
def test_indices_are_the_divergence_and_the_logarithm_of_pulls(samples):
    evidence = naive.evidence_of_unknown_variance([np.array(y) for y in samples])
    expected = [-(x + math.log(len(y))) for x, y in zip(evidence, samples, strict=True)]
    assert scores(IMEDUnknownVariance(), samples, 100) == pytest.approx(expected, rel=1e-7, abs=1e-9)


@given(ARMS)
def test_probabilities_fall_with_the_evidence(samples):
    weights = np.exp(-naive.evidence_of_unknown_variance([np.array(y) for y in samples]))
    policy = MEDUnknownVariance(arms=len(samples), rng=0)
    for arm, sample in enumerate(samples):
        policy.update([arm] * len(sample), sample)
    assert list(policy.weights().values()) == pytest.approx((weights / weights.sum()).tolist(), rel=1e-6, abs=1e-9)


def test_choices_are_those_of_the_formula_over_a_run():
    tape = np.random.default_rng(3).normal([[0.0], [0.3], [0.5]], [[0.5], [1.0], [2.0]], (3, 150))
    pulls = [3, 3, 3]
    for chosen in choices_on(IMEDUnknownVariance(), tape, by=play).tolist()[9:]:
        evidence = naive.evidence_of_unknown_variance([tape[k, :n] for k, n in enumerate(pulls)])
        indices = evidence + np.log(pulls)
        assert indices[chosen] <= indices.min() + 1e-7
        pulls[chosen] += 1


def inverse_weight(n, factor):
    """Mean of ``exp(factor D)`` of a normal arm against its own mean, up to evidence ``D = 40`` and 80.

    ``D = log(1 + T^2/(n-1))/2`` if the mean is too low, ``T`` Student's with ``n - 1`` degrees of freedom.
    """

    def density(x):
        t = math.sqrt((n - 1) * math.expm1(2 * x))
        return math.exp(factor * x + stats.t.logpdf(t, n - 1)) * (n - 1) * math.exp(2 * x) / t

    return [integrate.quad(density, 1e-9, top, limit=500)[0] for top in (40, 80)]


@pytest.mark.parametrize("n", [3, 4, 10])
def test_a_best_arm_that_looks_bad_comes_back(n):
    """With a factor of ``n - 2`` it is passed over for a finite time in the mean; with ``n - 1`` the mean has no end."""
    finite, longer = inverse_weight(n, n - 2), inverse_weight(n, n - 1)
    assert finite[1] == pytest.approx(finite[0], rel=1e-9)
    assert longer[1] > 1.5 * longer[0]


def test_an_arm_of_equal_rewards_is_left_unless_it_leads():
    for policy in (IMEDUnknownVariance(arms=2, rng=0), MEDUnknownVariance(arms=2, rng=0)):
        policy.update([0, 1] * 3, [0.5, 0.75, 0.5, 1.0, 0.5, 0.875])
        assert policy.weights() == {0: 0.0, 1: 1.0}
        policy.update([1] * 3, [-2.0, -2.5, -2.25])
        assert policy.weights()[0] > 0


def test_an_arm_of_which_a_discount_leaves_little_is_not_the_likelier_the_worse_it_is():
    policy = MEDUnknownVariance(arms=["good", "bad"], discount=0.5, epoch_length=10, rng=0)
    policy.update(["bad"] * 4, [0.0, 0.1, 0.2, 0.1])
    policy.update(["good"] * 60, [5.0, 5.1] * 30)
    assert policy._state.shown_weights[1] < 1
    assert policy.weights() == {"good": 0.5, "bad": 0.5}

"""Maillard sampling; the chi-square tests reject right probabilities with probability 1e-6 each.

Of 6000 draws they see probabilities that are off by a tenth in root mean square with probability 0.99.
"""

import numpy as np
import pytest
from scipy import stats

from bandstrap.engine.compiler.steps import select
from bandstrap.errors import InvalidInput
from bandstrap.policies import MaillardSampling
from naive import indices as naive
from policies.learning import learned

FORMS = [{"divergence": "gaussian", "sigma": 0.7}, {"divergence": "bernoulli"}]
SAMPLES = [
    [[0.2], [0.7], [0.5, 0.6]],
    [[0.0, 1.0, 0.0], [0.25, 0.75], [0.4] * 6, [0.5, 0.3]],
]


@pytest.mark.parametrize("options", FORMS, ids=str)
@pytest.mark.parametrize("samples", SAMPLES, ids=len)
def test_arms_are_drawn_with_the_closed_form_probabilities(options, samples):
    expected = naive.maillard_probabilities([np.array(y) for y in samples], options["divergence"], 0.7)
    policy = MaillardSampling(**options)
    params, state = learned(policy, *samples)
    rng = np.random.default_rng(1)
    drawn = [select(policy.kernel, params, state, 50, rng, [0, 0]) for _ in range(6000)]
    counts = np.bincount(drawn, minlength=len(samples))
    assert stats.chisquare(counts, 6000 * expected).pvalue > 1e-6

    online = MaillardSampling(arms=list("abcd")[: len(samples)], rng=0, **options)
    for label, sample in zip(online.arms, samples, strict=True):
        online.update([label] * len(sample), sample)
    assert list(online.probabilities().values()) == pytest.approx(expected, rel=1e-12)


def test_probabilities_during_the_first_pulls_name_the_arm_that_comes():
    policy = MaillardSampling(arms=["a", "b"], rng=0)
    assert policy.probabilities() == {"a": 1.0, "b": 0.0}
    assert policy.select() == "a"
    assert policy.probabilities() == {"a": 0.0, "b": 1.0}
    policy.update(["a", "b"], [0.4, 0.4])
    assert policy.probabilities() == {"a": 0.5, "b": 0.5}


def test_an_arm_that_cannot_be_the_best_has_probability_zero():
    policy = MaillardSampling(arms=2, divergence="bernoulli", rng=0)
    policy.update([0, 1], [1.0, 0.5])
    assert policy.probabilities() == {0: 1.0, 1: 0.0}
    assert {policy.select() for _ in range(20)} == {0}


def test_probabilities_need_arms():
    with pytest.raises(InvalidInput, match=r"'arms' parameter of MaillardSampling must be given to call probabilities"):
        MaillardSampling().probabilities()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"divergence": "bounded"},
            r"'divergence' parameter of MaillardSampling must be one of 'bernoulli', 'gaussian'",
        ),
        ({"sigma": 0}, r"'sigma' parameter of MaillardSampling must be a finite number greater than 0. Got 0"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        MaillardSampling(**options)

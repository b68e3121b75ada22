"""The laws of the study are what their descriptions say."""

import math

import numpy as np
import pytest
from scipy import stats

from bandstrap.bounds.assumptions import judge
from bandstrap.bounds.distributions import is_symmetric, orlicz_mean
from sampling import each
from study.laws import BY_NAME, LAWS, OftenZero, psi_norm


@each("studied", LAWS, ids=lambda law: law.name)
def test_a_law_draws_what_it_says(studied):
    # Means of 200,000 within 5 standard errors: right laws fail with probability 6e-7 each. Pareto's have heavy tails, and
    # more than that; the seed is fixed.
    law = studied.make()
    draws = np.asarray(law.rvs(size=200_000, random_state=np.random.default_rng(3)), dtype=float)
    assert draws.mean() == pytest.approx(law.mean(), abs=5 * law.std() / math.sqrt(draws.size))
    low, high = law.support()
    assert low <= draws.min() <= draws.max() <= high
    assert is_symmetric(law) == (studied.kind == "symmetric")
    assert math.isfinite(high - low) or studied.kind != "bounded"


def test_a_law_with_zeros_has_the_quantiles_of_its_draws():
    law = OftenZero(0.25, stats.expon())
    draws = law.rvs(size=(100, 1000), random_state=np.random.default_rng(0))
    assert (draws == 0).mean() == pytest.approx(0.25, abs=0.01)
    for p in (0.1, 0.25, 0.5, 0.9):
        assert law.ppf(p) == pytest.approx(np.quantile(draws, p), abs=0.02)
        assert law.isf(p) == pytest.approx(law.ppf(1 - p), rel=1e-12, abs=1e-12)
    assert law.std() == pytest.approx(draws.std(), abs=0.02)
    assert law.median() == pytest.approx(math.log(0.75 / 0.5))


def test_the_first_samples_do_not_depend_on_how_many_follow():
    for studied in LAWS:
        law = studied.make()
        few, many = (law.rvs(size=(k, 7), random_state=np.random.default_rng(5)) for k in (10, 1000))
        assert np.array_equal(few, many[:10]), studied.name


@pytest.mark.parametrize("name", [law.name for law in LAWS if law.beta is not None])
def test_psi_norms_are_the_smallest(name):
    law, beta, sigma = BY_NAME[name].make(), BY_NAME[name].beta, psi_norm(name)
    assert orlicz_mean(law, sigma, beta) == pytest.approx(2, rel=1e-6)
    assert judge("sub_weibull", {"sigma": sigma, "beta": beta}, law).holds
    assert not judge("sub_weibull", {"sigma": 0.999 * sigma, "beta": beta}, law).holds


def test_nobody_is_told_a_psi_norm_that_is_infinite():
    with pytest.raises(ValueError, match="nobody is given"):
        psi_norm("lognormal")

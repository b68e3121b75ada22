import math

import numpy as np
import pytest

from bandstrap.bounds import empirical_bernstein
from bandstrap.bounds.empirical_bernstein import empirical_bernstein_terms
from bandstrap.errors import InvalidInput
from sampling import each


@each("n", [1, 2, 9, 200])
@each("alpha", [0.2, 0.05, 1e-5])
def test_audibert_form_equals_its_formula(n, alpha):
    sample = np.random.default_rng(n).uniform(-1, 2, size=n)
    bound = empirical_bernstein(sample, alpha, support=(-1, 2))
    main = math.sqrt(2 * np.mean((sample - sample.mean()) ** 2) * math.log(3 / alpha) / n)
    rest = 3 * 3 * math.log(3 / alpha) / n
    assert bound.parts["main"] == pytest.approx(main, rel=1e-12, abs=1e-15)
    assert bound.parts["correction"] == pytest.approx(rest, rel=1e-14)
    assert bound.upper == pytest.approx(sample.mean() + main + rest, rel=1e-13)


@each("n", [2, 9, 200])
@each("alpha", [0.2, 0.05, 1e-5])
def test_maurer_pontil_form_equals_its_formula(n, alpha):
    sample = np.random.default_rng(n).uniform(-1, 2, size=n)
    bound = empirical_bernstein(sample, alpha, support=(-1, 2), form="maurer-pontil")
    unbiased = sum((a - b) ** 2 for a in sample for b in sample) / (2 * n * (n - 1))
    main = math.sqrt(2 * unbiased * math.log(2 / alpha) / n)
    rest = 7 * 3 * math.log(2 / alpha) / (3 * (n - 1))
    assert bound.parts["main"] == pytest.approx(main, rel=1e-12)
    assert bound.parts["correction"] == pytest.approx(rest, rel=1e-14)
    assert bound.upper == pytest.approx(sample.mean() + main + rest, rel=1e-13)


def test_maurer_pontil_says_nothing_of_one_reward():
    bound = empirical_bernstein([0.4], 0.05, support=(0, 1), form="maurer-pontil")
    assert bound.upper == math.inf
    assert bound.parts["main"] == 0.0
    assert empirical_bernstein([0.4], 0.05, support=(0, 1)).upper < math.inf


def test_figure_one_of_the_paper_starts_at_twelve_point_two_eight():
    # The paper takes b = 1 for a support of length 2.
    main, rest = empirical_bernstein_terms(np.zeros(()), 1, 0.05, 1.0)
    assert main == 0.0
    assert rest == pytest.approx(12.28, abs=0.005)
    main, rest = empirical_bernstein_terms(np.asarray(0.29113), 1000, 0.05, 1.0)
    assert main + rest == pytest.approx(0.061, abs=0.0005)


def test_small_variance_pays_off_against_hoeffding():
    sample = np.tile([0.49, 0.51], 500)
    assert empirical_bernstein(sample, 0.05, support=(0, 1)).width < 0.5 * math.sqrt(2 * math.log(20) / 1000)


def test_form_must_be_known():
    with pytest.raises(
        InvalidInput, match="'form' parameter of empirical_bernstein must be one of 'audibert', 'maurer"
    ):
        empirical_bernstein([0.5], 0.05, support=(0, 1), form="bennett")


def test_support_is_needed():
    with pytest.raises(InvalidInput, match=r"'support' parameter of empirical_bernstein must be a pair .* Got None"):
        empirical_bernstein([0.5], 0.05)


def test_a_spread_of_ones_own_is_used_and_proves_nothing_when_too_small():
    sample = [0.2, -0.4, 0.9]
    paper = empirical_bernstein(sample, 0.05, support=(-1, 1), spread=1)
    right = empirical_bernstein(sample, 0.05, support=(-1, 1))
    wide = empirical_bernstein(sample, 0.05, support=(-1, 1), spread=3)
    assert [bound.parts["correction"] for bound in (paper, right, wide)] == pytest.approx(
        [3 * b * math.log(60) / 3 for b in (1, 2, 3)]
    )
    assert [bound.parts["main"] for bound in (paper, wide)] == [right.parts["main"]] * 2
    assert [bound.guarantee for bound in (paper, right, wide)] == [None, 0.05, 0.05]


@pytest.mark.parametrize("spread", [0, -1, math.nan, "1", True])
def test_a_spread_must_be_a_positive_number(spread):
    with pytest.raises(InvalidInput, match="'spread' parameter of empirical_bernstein must be a finite number greater"):
        empirical_bernstein([0.5], 0.05, support=(0, 1), spread=spread)

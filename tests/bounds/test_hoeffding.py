import math

import numpy as np
import pytest
from scipy import stats

from bandstrap.bounds import hoeffding
from bandstrap.errors import InvalidInput
from sampling import each


@each("n", [1, 2, 7, 100])
@each("alpha", [0.49, 0.2, 0.05, 1e-6])
@each("sigma", [0.3, 1.0, 20.0])
def test_width_is_sigma_root_two_log_over_n(n, alpha, sigma):
    sample = np.random.default_rng(n).normal(size=n)
    bound = hoeffding(sample, alpha, sigma=sigma, check=False)
    width = sigma * math.sqrt(2 * math.log(1 / alpha) / n)
    assert bound.parts == {"main": pytest.approx(width, rel=1e-14)}
    assert bound.upper == pytest.approx(sample.mean() + width, rel=1e-14)
    assert bound.lower == -math.inf


@pytest.mark.parametrize("sigma", [1e308, 5e-324])
def test_no_scale_is_too_large_or_too_small(sigma):
    width = hoeffding(np.zeros(100), 0.05, sigma=sigma).width
    assert width == pytest.approx(sigma * math.sqrt(2 * math.log(20) / 100), rel=1e-14)
    assert hoeffding(np.zeros(100), 0.05, support=(-1e308, 1e308)).width == pytest.approx(0.2447746830680816e308)


def test_figure_one_of_the_paper_is_two_point_four_five_over_root_n():
    for n in (1, 20, 1000):
        assert hoeffding(np.zeros(n), 0.05, sigma=1.0).width == pytest.approx(2.448 / math.sqrt(n), rel=3e-4)


def test_support_stands_for_half_its_length():
    sample = [0.2, 0.9, 0.4]
    expected = hoeffding(sample, 0.05, sigma=1.5).width
    assert hoeffding(sample, 0.05, support=(-1, 2)).width == pytest.approx(expected, rel=1e-14)


def test_guarantee_is_alpha_and_the_assumption_names_the_scale_or_the_range():
    assert hoeffding([0.0], 0.05, sigma=2).guarantee == 0.05
    assert hoeffding([0.0], 0.05, sigma=2).holds_for == "independent sub-Gaussian rewards of scale 2"
    assert hoeffding([0.0], 0.05, support=(0, 1)).holds_for == "independent rewards in [0, 1]"


@pytest.mark.parametrize(("options", "received"), [({}, "neither"), ({"sigma": 1.0, "support": (0, 1)}, "both")])
def test_exactly_one_of_sigma_and_support_is_asked_for(options, received):
    with pytest.raises(InvalidInput, match=f"'sigma' parameter of hoeffding must be given, .* Got {received} instead"):
        hoeffding([0.5], 0.05, **options)


@each("sigma", [0, -1, math.nan, math.inf, "1", True])
def test_sigma_must_be_a_positive_number(sigma):
    with pytest.raises(InvalidInput, match="'sigma' parameter of hoeffding must be a finite number greater than 0"):
        hoeffding([0.5], 0.05, sigma=sigma)


def test_normal_rewards_miss_exactly_as_often_as_the_normal_tail_says():
    # P(mu > ybar + w) = P(Z > sqrt(2 log 20)) = 0.0072 at any n. The count is within 4 standard errors, so a right
    # bound fails this one time in 16 000 (the seed is fixed: either always or never), and one with a rate of 0.0090, by
    # a sigma that is wrong by 3.5 per cent, passes one time in 100.
    probability = stats.norm.sf(math.sqrt(2 * math.log(20)))
    misses = hoeffding(np.random.default_rng(11).normal(size=(100_000, 3)), 0.05, sigma=1.0).misses(0.0).sum()
    assert misses == pytest.approx(100_000 * probability, abs=4 * math.sqrt(100_000 * probability))

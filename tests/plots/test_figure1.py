import numpy as np
import pytest
from scipy import stats

from bandstrap.plots.figure1 import exact_mean_quantile, figure1_panel


def test_exact_quantile_of_one_reward_is_that_of_the_distribution():
    assert exact_mean_quantile(1, 0.05) == pytest.approx(stats.truncnorm(-1, 1).ppf(0.95), abs=1e-5)


def test_exact_quantile_of_a_mean_agrees_with_simulation():
    means = stats.truncnorm(-1, 1).rvs(size=(200_000, 6), random_state=np.random.default_rng(0)).mean(axis=1)
    # the empirical 95 % quantile of 200,000 draws has a standard error of about 0.001
    assert exact_mean_quantile(6, 0.05) == pytest.approx(np.quantile(means, 0.95), abs=0.005)


def test_exact_quantile_of_a_large_mean_is_nearly_normal():
    deviation = stats.truncnorm(-1, 1).std() / np.sqrt(1000)
    assert exact_mean_quantile(1000, 0.05) == pytest.approx(1.6449 * deviation, rel=1e-3)


@pytest.fixture(scope="module")
def small():
    return figure1_panel((1, 2, 3, 5, 8, 10, 20), replications=300, seed=0)


@pytest.fixture(scope="module")
def large():
    return figure1_panel((20, 100, 1000), replications=60, seed=0)


def test_naive_bootstrap_is_below_the_truth_up_to_ten_rewards(small):
    assert (small.thresholds["none"][:6] < small.thresholds["exact"][:6]).all()


def test_corrected_bound_is_above_the_truth_and_converges_to_it(small, large):
    for panel in (small, large):
        for form in ("practical", "stated", "sharp"):
            assert (panel.thresholds[form] > panel.thresholds["exact"]).all()
    excess = large.thresholds["practical"] / large.thresholds["exact"] - 1
    assert (np.diff(excess) < 0).all()
    assert excess[-1] < 0.15


def test_bootstrap_is_sharper_than_concentration_at_large_samples(large):
    for form in ("practical", "stated", "sharp"):
        for rival in ("hoeffding", "bernstein_1", "bernstein_2"):
            assert large.thresholds[form][-1] < large.thresholds[rival][-1]


def test_published_points_of_the_figure(small, large):
    assert small.thresholds["exact"][0] == pytest.approx(0.868, abs=1e-3)
    assert small.thresholds["stated"][0] == pytest.approx(5.99, abs=0.01)
    assert small.thresholds["bernstein_1"][0] == pytest.approx(12.28, abs=0.01)
    assert small.thresholds["stated"][-1] == pytest.approx(0.50, abs=0.02)
    assert large.thresholds["practical"][0] == pytest.approx(0.32, abs=0.01)
    assert large.thresholds["bernstein_1"][-1] == pytest.approx(0.061, abs=0.001)

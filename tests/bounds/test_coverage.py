import math

import numpy as np
import pytest
from scipy import stats

from bandstrap.bounds import BOUNDS, bootstrap, coverage, sign_flip
from bandstrap.bounds.assumptions import doubts, symmetry_p_value
from bandstrap.bounds.coverage import binomial_interval, mean_quantile, measure_exact
from bandstrap.errors import InvalidInput


def test_counts_misses_and_widths_of_the_samples_it_says():
    (row,) = coverage("normal", 8, 0.1, bounds=["sign_flip"], replications=300, seed=5)
    rewards = stats.norm().rvs(size=(300, 8), random_state=np.random.default_rng([5, 8]))
    bound = sign_flip(rewards, 0.1)
    assert row.misses == (bound.value < 0).sum() > 0
    assert row.median_width == np.median(bound.width)
    assert row.mean_width == np.mean(bound.width)
    assert (row.miss_low, row.miss_high) == binomial_interval(row.misses, 300)


def test_interval_is_clopper_pearson():
    for count, total in ((0, 10), (3, 10), (10, 10), (57, 2000)):
        expected = stats.binomtest(count, total).proportion_ci(0.95, method="exact")
        assert binomial_interval(count, total) == pytest.approx((expected.low, expected.high))


def test_tells_the_truth_where_nothing_is_told():
    (row,) = coverage("uniform:loc=-2,scale=4", 9, bounds=["bootstrap:correction=practical"], replications=50)
    rewards = stats.uniform(-2, 4).rvs(size=(50, 9), random_state=np.random.default_rng([0, 9]))
    assert row.median_width == np.median(bootstrap(rewards, 0.05, sigma=math.sqrt(16 / 12)).width)


def test_every_bound_is_run_or_skipped_with_a_reason():
    rows = coverage("truncated_normal", [3, 6], replications=20)
    assert {row.bound.split(":")[0] for row in rows} == set(BOUNDS)
    assert [row.bound for row in rows if row.skipped] == ["sub_weibull"] * 2
    assert all(0 <= row.miss_low <= row.miss_rate <= row.miss_high <= 1 for row in rows if not row.skipped)


def test_without_a_mean_the_median_is_covered():
    rows = coverage("cauchy:loc=3", 12, bounds=["sign_flip", "hoeffding"], replications=400)
    # 12 rewards: exact level floor(0.05 * 4096)/4096; 400 samples stay below 0.1 but for one seed in 10^5
    assert rows[0].miss_rate < 0.1
    assert "needs sigma or support" in rows[1].skipped


def test_same_seed_same_rows_and_other_seed_other_rows():
    arguments = {"bounds": ["student_t"], "replications": 50}
    assert coverage("normal", 5, seed=1, **arguments) == coverage("normal", 5, seed=1, **arguments)
    assert coverage("normal", 5, seed=1, **arguments) != coverage("normal", 5, seed=2, **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"distribution": "nope"}, "the name of a scipy.stats distribution"),
        ({"distribution": "t"}, "the parameters of t"),
        ({"distribution": "t:df=-1"}, "inside the range of t"),
        ({"distribution": 3}, "a frozen scipy.stats distribution"),
        ({"sample_size": 0}, "'sample_size' parameter of coverage must be an integer of at least 1"),
        ({"sample_size": 2.5}, "'sample_size' parameter"),
        ({"alpha": 1.0}, "'alpha' parameter of coverage"),
        ({"replications": 0}, "'replications' parameter of coverage"),
        ({"seed": -1}, "'seed' parameter of coverage"),
        ({"side": "left"}, "'side' parameter of coverage"),
        ({"bounds": ["nope"]}, "'bounds' parameter of coverage must be one of"),
        ({"bounds": ["sign_flip:foo=1"]}, "is not a call of the bound sign_flip"),
    ],
)
def test_refuses(arguments, message):
    with pytest.raises(InvalidInput, match=message):
        coverage(**({"distribution": "normal", "sample_size": 5, "replications": 10} | arguments))


def test_symmetry_test_keeps_its_level_and_has_power():
    rng = np.random.default_rng(0)
    # 1000 samples at level 0.01: more than 30 rejections would come up less than once in 10^7 under symmetry
    for law in (stats.norm(), stats.uniform(-1, 2), stats.laplace()):
        rejected = sum(symmetry_p_value(law.rvs(size=50, random_state=rng)) < 0.01 for _ in range(1000))
        assert rejected <= 30
    assert sum(symmetry_p_value(rng.exponential(size=100)) < 0.01 for _ in range(100)) > 80
    assert symmetry_p_value([2, 2, 2]) == 1.0


def test_doubts_name_what_the_data_contradict():
    rng = np.random.default_rng(1)
    normal, skewed = rng.standard_normal(100), rng.exponential(size=100)
    assert doubts("sign_flip", normal, {}) == []
    assert "skewed to the right" in doubts("sign_flip", skewed, {})[0]
    assert "skewed to the left" in doubts("symmetric_betting", -skewed, {})[0]
    assert doubts("betting", skewed, {"support": (0, 50)}) == []
    assert "outside [0, 1]" in doubts("betting", skewed, {"support": (0, 1)})[0]
    assert "above sigma = 0.5" in doubts("hoeffding", normal, {"sigma": 0.5})[0]
    assert doubts("hoeffding", normal, {"sigma": 1.0}) == []


# --- the quantile of the mean itself ------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1e-6, 0.01, 0.05, 0.5, 0.95])
@pytest.mark.parametrize(
    "law",
    [stats.uniform(-1, 2), stats.truncnorm(-1, 1), stats.beta(2, 5), stats.beta(8, 1)],
    ids=lambda law: law.dist.name,
)
def test_the_mean_of_one_reward_has_the_quantile_of_the_law(law, p):
    low, high = law.support()
    assert mean_quantile(law, 1, p) == pytest.approx(law.ppf(p), abs=0.001 * (high - low))


@pytest.mark.parametrize("p", [0.001, 0.05, 0.3])
def test_the_mean_of_two_uniform_rewards_is_triangular(p):
    assert mean_quantile(stats.uniform(), 2, p) == pytest.approx(math.sqrt(p / 2), abs=1e-5)


def test_a_quantile_below_the_first_cell_is_not_its_edge():
    assert mean_quantile(stats.uniform(), 1, 1e-6) == pytest.approx(1e-6, rel=1e-9)


def test_the_mean_of_many_rewards_is_normal():
    law = stats.truncnorm(-1, 1)
    expected = stats.norm.ppf(0.05) * law.std() / math.sqrt(1000)
    assert mean_quantile(law, 1000, 0.05) == pytest.approx(expected, rel=1e-4)


def test_the_exact_row_is_what_samples_show():
    means = stats.beta(2, 5).rvs(size=(200_000, 3), random_state=np.random.default_rng(0)).mean(axis=1)
    row = measure_exact("beta:a=2,b=5", 3, 0.05)
    # A share with standard error 0.0005; a difference of 5 comes up less than once in 10^6.
    assert (means < 2 / 7 - row.mean_width).mean() == pytest.approx(0.05, abs=0.0025)
    assert row.median_width == row.mean_width
    assert (row.bound, row.sample_size, row.alpha, row.replications, row.miss_rate) == ("exact", 3, 0.05, 0, 0.05)


def test_the_exact_quantile_of_the_papers_figure():
    assert measure_exact("truncated_normal", 1, 0.05).mean_width == pytest.approx(0.868, abs=5e-4)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("normal", "must be one with bounded support. Got support"),
        ("bernoulli:p=0.5", "must be a continuous one. Got bernoulli, which is discrete"),
        ("binom:n=3,p=0.5", "must be a continuous one. Got binom, which is discrete"),
    ],
)
def test_the_exact_row_refuses_laws_it_cannot_convolve(name, message):
    with pytest.raises(InvalidInput, match=message):
        measure_exact(name, 2, 0.05)

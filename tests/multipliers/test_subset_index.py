"""Quantiles of subset means for an index, by saddlepoint and by moments."""

import math

import numpy as np
import pytest

from bandstrap.multipliers import bootstrap_quantile
from bandstrap.multipliers.normal import normal_quantile
from bandstrap.multipliers.subset_index import (
    LEAST_ROOT,
    TOLERANCE,
    matched_quantile,
    saddlepoint_index,
)
from naive.scale_free import subset_root
from sampling import each

LAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "cauchy": lambda rng, n: rng.standard_cauchy(n),
    "skewed to the right": lambda rng, n: rng.pareto(0.5, size=n),
    "skewed to the left": lambda rng, n: -rng.pareto(0.5, size=n),
    "outlier": lambda rng, n: np.r_[rng.normal(size=n - 1), 30.0],
    "rare ones": lambda rng, n: np.r_[1.0, rng.random(n - 1) < 0.1],
    "lumps": lambda rng, n: rng.choice([-1, 1], size=n) + 0.01 * rng.normal(size=n),
}


@each("law", LAWS)
def test_the_root_where_the_saddlepoint_ends_is_the_one_asked_for_or_a_little_more(law):
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(17, 49))
        y = LAWS[law](rng, n) / 8
        level = 2.0 ** -int(rng.integers(1, 14))
        z = normal_quantile(level - 2.0**-n)
        x = saddlepoint_index(y.tolist(), float(y.mean()), z)
        assert y.mean() < x < y.max()
        assert 0 <= subset_root(y, x) - max(z, LEAST_ROOT) <= TOLERANCE


def test_the_root_of_many_rewards_has_no_overflow():
    y = np.random.default_rng(0).normal(size=3000)
    assert 0 <= subset_root(y, saddlepoint_index(y, y.mean(), 2.0)) - 2.0 <= TOLERANCE


@each("draw", ["normal", "random"])
@each(("n", "error"), [(25, 0.08), (40, 0.03), (100, 0.01), (300, 0.003), (3000, 0.001)])
def test_signs_and_a_normal_that_match_six_cumulants_have_nearly_the_quantile_of_a_sum_of_signs(draw, n, error):
    for seed in range(5):
        sample = getattr(np.random.default_rng([n, seed]), draw)(size=n)
        a2, a4, a6 = (((sample - sample.mean()) ** k).mean() for k in (2, 4, 6))
        size, count = math.sqrt(a6 / a4), n * a4**3 / a6**2
        for level in (0.3, 0.1, 0.05, 0.01, 1e-3, 1e-4, 1e-5):
            found = matched_quantile(count, size, n * a2 - count * size**2, normal_quantile(level)) / n
            assert found == pytest.approx(bootstrap_quantile(sample, level), rel=error)

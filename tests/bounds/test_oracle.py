"""The smallest preliminary widths a law allows: right, never too small, and hard on theorem 1."""

import math
import sys

import numpy as np
import pytest
from scipy import stats

from bandstrap.bounds import coverage
from bandstrap.bounds.oracle import deviation_quantile, oracle_phi
from bandstrap.errors import InvalidInput
from sampling import each

ALPHAS = (0.3, 0.05, 1e-3, 1e-6)


@each("alpha", ALPHAS)
@each("n", [1, 7, 50])
def test_normal_means_have_their_quantile_never_too_small(n, alpha):
    law = stats.norm(3, 2)
    for two_sided in (True, False):
        exact = 2 / math.sqrt(n) * stats.norm.isf(alpha / 2 if two_sided else alpha)
        assert exact <= deviation_quantile(law, n, alpha, two_sided=two_sided) <= exact * (1 + 4e-3)


@pytest.mark.parametrize("law", [stats.dweibull(0.5), stats.laplace(1, 2), stats.uniform(-1, 2), stats.t(5)])
def test_one_reward_deviates_as_the_law_says(law):
    for alpha in ALPHAS:
        exact = law.isf(alpha / 2) - law.mean()
        assert exact <= deviation_quantile(law, 1, alpha) <= exact * (1 + 4e-3)


def test_means_of_heavy_tails_by_simulation():
    # Of 200,000 means of 10, as many deviate by as much as 5 % would, within 4 standard errors (one law in 16,000
    # would not); a quantile 1 % too large or too small would be seen, 6 standard errors away.
    law, n, total = stats.dweibull(0.5), 10, 200_000
    means = np.abs(law.rvs(size=(total, n), random_state=np.random.default_rng(5)).mean(axis=1))
    count = np.sum(means >= deviation_quantile(law, n, 0.05))
    assert abs(count - 0.05 * total) < 4 * math.sqrt(0.05 * 0.95 * total)


def test_two_values_are_counted_as_atoms():
    law = stats.bernoulli(0.5)
    # P(|mean of 5 - 1/2| >= x) is 1/16 for 0.3 < x <= 1/2 and 0 beyond.
    assert 0.5 < deviation_quantile(law, 5, 0.05) < 0.5001
    assert 0.3 < deviation_quantile(law, 5, 0.07) < 0.3001
    assert deviation_quantile(law, 1, 0.05) > 0.5


@pytest.mark.parametrize("kind", ["oracle", "oracle-adaptive"])
def test_every_oracle_meets_the_condition_of_theorem_one_and_nearly_uses_it(kind):
    law, n, alpha, total = stats.laplace(), 6, 0.05, 200_000
    sample = law.rvs(size=(total, n), random_state=np.random.default_rng(3))
    phi = oracle_phi(kind, law, n, alpha)
    width = phi(sample, alpha) if callable(phi) else phi
    count = np.sum(np.abs(sample.mean(axis=1)) >= width)
    assert abs(count - alpha * total) < 4 * math.sqrt(alpha * total)  # 4 standard errors


def test_the_lab_refuses_more_rewards_than_an_oracle_takes_before_it_measures_any(monkeypatch):
    monkeypatch.setattr(sys.modules[coverage.__module__], "measure", lambda *_, **__: pytest.fail("it measures"))
    sentence = r"'sample_size' parameter of coverage with an oracle must be an integer between 1 and 65536\. Got 65537"
    with pytest.raises(InvalidInput, match=sentence):
        coverage("normal", [5, 65537], bounds=["bootstrap:phi=oracle"], replications=2)


def test_the_lab_takes_the_oracle_from_the_law_and_reports_the_guarantee():
    rows = coverage(
        "normal",
        5,
        bounds=[f"bootstrap:correction={form},phi=oracle-adaptive" for form in ("sharp", "theorem", "stated")],
        replications=4000,
    )
    assert [row.guarantee for row in rows] == [0.1, 0.1, None]
    assert not any(row.note for row in rows)
    # About half of what the theorem allows is used: misses within 5 standard errors of 0.05, or a little below.
    assert all(0.03 < row.miss_rate < 0.067 for row in rows)
    (constant,) = coverage("normal", 5, bounds=["bootstrap:correction=stated,phi=oracle"], replications=400)
    assert constant.miss_rate < 0.01


def test_refusals():
    with pytest.raises(
        InvalidInput, match="'n' parameter of deviation_quantile must be an integer between 1 and 65536"
    ):
        deviation_quantile(stats.norm(), 2**18, 0.05)
    with pytest.raises(InvalidInput, match="'alpha' parameter of deviation_quantile must be at least 1e-06"):
        deviation_quantile(stats.norm(), 3, 1e-7)
    with pytest.raises(
        InvalidInput, match="'law' parameter of deviation_quantile must be one with a standard deviation"
    ):
        deviation_quantile(stats.cauchy(), 3, 0.05)
    with pytest.raises(InvalidInput, match="'phi' parameter of coverage must be known, not an oracle"):
        coverage("normal", 3, bounds=["bootstrap:correction=sharp,phi=oracle"], side="lower", replications=2)

"""Rewards of one's own as a distribution, against NumPy on the rewards themselves."""

import math

import numpy as np
import pytest

from bandstrap.bounds.coverage import coverage, resolve_distribution
from bandstrap.bounds.distributions import is_symmetric, is_two_valued, orlicz_mean
from bandstrap.bounds.empirical import EmpiricalDistribution, empirical_called, with_digest
from bandstrap.errors import InvalidInput
from sampling import each

SAMPLES = [
    [0.0, 1.0, 1.0, 0.0, 0.0],
    [1.5, -2.0, 7.25, 1.5],
    np.random.default_rng(0).gamma(2, size=101),
    [1e300, -1e300],
]


@pytest.mark.parametrize("sample", SAMPLES, ids=len)
def test_moments_quantiles_and_probabilities_are_those_of_the_sample(sample):
    law = EmpiricalDistribution(sample)
    assert law.mean() == pytest.approx(math.fsum(sample) / len(sample))
    assert law.median() == np.median(sample)
    assert law.support() == (min(sample), max(sample))
    levels = np.array([1e-300, 0.01, 0.3, 0.5, 0.77, 0.999, 1.0])
    np.testing.assert_array_equal(law.ppf(levels), np.quantile(sample, levels, method="inverted_cdf"))
    np.testing.assert_array_equal(law.isf(levels), -np.quantile(-np.array(sample), levels, method="inverted_cdf"))
    for value in (*sample, 0.123):
        assert law.pmf(value) == np.mean(np.array(sample) == value)
        assert law.cdf(value) == np.mean(np.array(sample) <= value)
    drawn = law.rvs(size=(500, 3), random_state=np.random.default_rng(1))
    assert drawn.shape == (500, 3)
    assert set(drawn.ravel()) <= set(sample)
    np.testing.assert_array_equal(drawn, law.rvs(size=(500, 3), random_state=np.random.default_rng(1)))


def test_assumptions_are_judged_by_the_sample():
    assert is_two_valued(EmpiricalDistribution(SAMPLES[0]), (0, 1))
    assert not is_two_valued(EmpiricalDistribution(SAMPLES[1]), (0, 1))
    assert is_symmetric(EmpiricalDistribution([1, 2, 2, 3]))
    assert not is_symmetric(EmpiricalDistribution([1, 2, 2, 4]))
    rewards = np.array(SAMPLES[1])
    expected = np.exp(np.abs((rewards - rewards.mean()) / 6) ** 1.5).mean()
    assert orlicz_mean(EmpiricalDistribution(rewards), 6.0, 1.5) == pytest.approx(expected)


def test_the_mean_of_the_rewards_is_what_is_covered():
    rewards = [0.0] * 9 + [100.0]
    found = {row.bound: row for row in coverage(rewards, 30, bounds=["student_t", "betting"], replications=400)}
    # No upper bound of Student's covers 10 where no sample has a 100, which has a probability of 0.9^30.
    assert found["student_t"].miss_low > 0.9**30 / 2
    assert found["student_t"].assumption == "fails"
    assert (found["betting"].assumption, found["betting"].guarantee) == ("holds", 0.05)
    assert found["betting"].miss_low <= 0.05


@each("rewards", [[], [1.0], [2.0, 2.0], [[1.0, 2.0]], [1.0, math.inf], [1.0, math.nan], ["a", "b"], None, 3.0, {}])
def test_what_is_no_distribution_is_refused(rewards):
    with pytest.raises(InvalidInput, match="'distribution' parameter of coverage must be a frozen"):
        resolve_distribution(rewards)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("empirical:own.csv", "empirical needs the parameter 'reward'"),
        ("empirical:reward=y", "empirical needs the parameter 'file'"),
        ("empirical", "empirical needs the parameter 'file'"),
        ("empirical:own.csv,reward=x", "has no column 'x'"),
        ("empirical:own.csv,reward=3", "must be the name of a column; in a call, put quotes"),
        ("empirical:own.csv,column=y", "empirical has no parameter 'column'"),
        ("empirical:own.csv,reward=y,digest=abc", "was edited after its digest 'abc' was taken"),
        ("empirical:-,reward=y", "must be the path of a CSV or Parquet file"),
    ],
)
def test_a_text_that_names_no_data_is_refused(text, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.csv").write_text("y\n1\n2\n")
    with pytest.raises(InvalidInput) as caught:
        resolve_distribution(text)
    assert words in str(caught.value)


def test_a_digest_is_that_of_the_rewards_whatever_their_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = []
    for rows in ("1\n2\n4\n", "4\n1\n2\n", "4\n1\n3\n"):
        (tmp_path / "a b.csv").write_text("y\n" + rows)
        texts.append(with_digest("empirical:a b.csv,reward=y"))
        assert empirical_called(texts[-1]).digest in texts[-1]
    assert texts[0] == texts[1] != texts[2]
    assert with_digest("t:df=3") == "t:df=3"

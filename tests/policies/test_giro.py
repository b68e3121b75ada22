"""Giro's draws; ``laws.py`` states the error rates and power of tests of laws.

z-tests allow five standard errors (6e-7 each) and see 7.4 with probability 0.99.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from bandstrap.engine.simulator.simulate import simulate
from bandstrap.environments import Bernoulli
from bandstrap.errors import InvalidInput
from bandstrap.policies.giro import Giro, prepare, score
from laws import assert_same_law
from naive import policies as naive
from policies.learning import draws, learned
from sampling import each, exhaustive, telling


@each("a", [1.0, 2.0, 0.5])
@each("n", [2, 8, 76])
def test_mean_variance_and_law_are_those_of_a_bootstrap_of_the_history(a, n):
    sample = np.random.default_rng(n).beta(2, 5, n)
    pseudo = int(a * n)
    history = naive.giro_history(sample, pseudo)
    found = draws(Giro(a=a), sample, 4000)
    variance = history.var() / history.size
    assert abs(found.mean() - history.mean()) < 5 * math.sqrt(variance / 4000)
    # the variance of a sample variance of nearly normal draws is 2 v^2/(N - 1); bounded draws have less
    assert abs(found.var(ddof=1) / variance - 1) < 5 * math.sqrt(2 / 3999)
    slow = naive.giro_draws(sample, pseudo, 4000, np.random.default_rng(1))
    assert_same_law(found.round(12), slow.round(12))


def misfit(found, law):
    """p-value of Pearson's test that draws follow a law, its rare values taken together."""
    values = sorted(law)
    counts = np.array([(np.abs(found - float(value)) < 1e-9).sum() for value in values])
    assert counts.sum() == found.size
    expected = np.array([law[value] for value in values]) * found.size
    rare = expected < 10
    cells = [*zip(counts[~rare], expected[~rare], strict=True), (counts[rare].sum(), expected[rare].sum())]
    counts, expected = (np.array(column, dtype=float) for column in zip(*[c for c in cells if c[1] > 0], strict=True))
    return stats.chisquare(counts, expected * counts.sum() / expected.sum()).pvalue


@pytest.mark.parametrize("a", [Fraction(1, 10), Fraction(1, 4), Fraction(1, 3), Fraction(17, 10)], ids=str)
@telling(("ones", "n"), [(0, 1), (1, 1), (0, 2), (2, 5), (0, 7)], [(1, 1), (2, 5)])
def test_a_fractional_number_of_pseudo_rewards_is_rounded_anew_for_every_index(a, ones, n):
    # A right law is rejected with probability 1e-6. The power is put to the test too: a number of pseudo-rewards that
    # was rounded once and kept, either way, is rejected.
    rng = np.random.default_rng(n)
    law = naive.giro_index_law(ones, n, a)
    sample = [1.0] * ones + [0.0] * (n - ones)
    found = draws(Giro(a=float(a)), sample, 4000, rng)
    assert misfit(found, law) > 1e-6
    if (a * n).denominator > 1:
        for pseudo in (math.floor(a * n), math.ceil(a * n)):
            kept = naive.giro_index_law(ones, n, Fraction(pseudo, n))
            values, masses = [float(value) for value in kept], list(kept.values())
            frozen = rng.choice(values, 4000, p=np.array(masses) / sum(masses))
            assert misfit(frozen, {**dict.fromkeys(kept, 0.0), **law}) < 1e-6


@each("a", [0.1, 1 / 3])
@each("n", [1, 4, 37])
def test_fractional_pseudo_rewards_among_rewards_of_any_size(a, n):
    sample = np.random.default_rng(n).beta(2, 5, n)
    found = draws(Giro(a=a), sample, 4000)
    slow = naive.giro_fractional_draws(sample, a, 4000, np.random.default_rng(1))
    assert_same_law(found.round(12), slow.round(12))


@telling("a", [0.1, 1.0], [0.1])
def test_whole_games_are_those_of_the_algorithm_written_down_once_more(a):
    # z-tests as above; of 1500 games they see mean pulls of the worse arm that are off by 0.27 of their deviation.
    # Rounding once per pull instead of at every index, a = 0.1, gives 53 pulls instead of 30, ten standard errors away.
    p = [0.3, 0.5]
    result = simulate(Giro(a=a), Bernoulli(p), horizon=200, replications=1500, seed=12, progress=False)
    found, slow = result.pulls[0, :, 0], naive.giro_pulls(p, a, 200, 1500, np.random.default_rng(2))[:, 0]
    assert abs(found.mean() - slow.mean()) < 5 * math.sqrt((found.var() + slow.var()) / 1500)
    assert_same_law(found, slow)


def test_whole_numbers_of_pseudo_rewards_take_no_draw_of_their_own():
    policy = Giro(a=0.5)
    params, state = learned(policy, [0.25, 0.75])
    rng, twin = np.random.default_rng(1), np.random.default_rng(1)
    score(params, state, 0, prepare(params, state, 5), rng)
    # Which of four draws are of the two rewards, not of the two pseudo-rewards; the others' ones, all at once, and two
    # rewards per number.
    of_rewards = (twin.random(4) < 0.5).sum()
    twin.random((of_rewards < 4) + (of_rewards + 1) // 2)
    assert rng.bit_generator.state == twin.bit_generator.state


@exhaustive
def test_few_pseudo_rewards_serve_bernoulli_rewards_well():
    # Rounded anew for every index the mean regret is 39.5 +- 0.5 (1500 replications); rounded once per pull it was 89 on
    # this seed, because an arm left without pseudo-rewards may never be pulled again. The limit lies eight standard
    # errors of 200 replications above the former.
    result = simulate(Giro(a=0.1), Bernoulli(), horizon=2000, replications=200, seed=11, progress=False)
    assert result.summary()[0]["mean"] < 52


def test_an_arm_of_zeros_is_still_drawn_above_zero():
    found = draws(Giro(), np.zeros(4), 1000)
    assert (found > 0).mean() > 0.95
    assert ((found >= 0) & (found <= 1)).all()


@pytest.mark.parametrize("most", [1, 2, 16])
def test_a_history_that_stops_growing_holds_the_first_rewards(most):
    sample = np.random.default_rng(4).normal(size=40)
    cut, first = Giro(check_range=False, most_kept=most), Giro(check_range=False)
    found = draws(cut, sample, 50, seed=6)
    expected = draws(first, sample[:most], 50, seed=6)
    assert found.tolist() == expected.tolist()
    live = Giro(arms=2, check_range=False, most_kept=most, rng=0)
    live.update([0, 1] * 20, sample)
    assert live.n_rewards == 40
    assert live.select() in (0, 1)


def test_a_history_of_nothing_is_refused():
    with pytest.raises(InvalidInput, match=r"'most_kept' parameter of Giro must be an integer of at least 1. Got 0"):
        Giro(most_kept=0)


def test_range_is_checked_unless_told_not_to():
    with pytest.raises(InvalidInput, match=r"'reward' parameter of Giro.update must be inside \[0, 1\]. Got 1.5"):
        Giro(arms=2, rng=0).update(0, 1.5)
    free = Giro(arms=2, rng=0, check_range=False)
    free.update([0, 1], [-3.0, 8.0])
    assert free.label == "giro:check_range=False"


@each("a", [0, -1, math.nan, "1", None, 1e19])
def test_bad_parameters_are_refused(a):
    with pytest.raises(
        InvalidInput, match=r"'a' parameter of Giro must be a number in the open interval \(0, 1e\+06\). Got"
    ):
        Giro(a=a)

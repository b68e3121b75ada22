"""Dirichlet duels against their definition.

z-tests allow five standard errors (6e-7 each) and see 7.4 with probability 0.99.
"""

import math

import numpy as np
import pytest

from bandstrap.engine.simulator.play import play
from bandstrap.errors import InvalidInput
from bandstrap.policies.rds import RDS, beats
from naive import resampling_policies as naive
from policies.learning import choices_on, learned
from sampling import each

N_DRAWS = 4000


@each("upper", [None, 1.0, 4.0])
@each("n", [1, 2, 9])
def test_a_challenger_wins_as_often_as_its_reweighted_mean_reaches_the_leaders(upper, n):
    rng = np.random.default_rng(n)
    challenger = rng.random(n) - 0.3
    leader = np.append(rng.random(12), 0.7)
    params, state = learned(RDS(upper=upper), challenger, leader)
    found = np.mean([beats(params, state, 0, 1, rng) for _ in range(N_DRAWS)])
    expected = naive.dirichlet_win_rate(challenger, leader.mean(), upper, N_DRAWS, np.random.default_rng(1))
    assert abs(found - expected) < 5 * math.sqrt(2 * 0.25 / N_DRAWS)
    assert 0 < found < 1


def test_a_challenger_whose_mean_reaches_the_leaders_wins_without_a_draw():
    rng = np.random.default_rng(0)
    params, state = learned(RDS(), [0.5, 1.0], [0.5, 1.0, 0.75])
    before = rng.bit_generator.state
    assert beats(params, state, 0, 1, rng)
    assert rng.bit_generator.state == before


def test_equal_rewards_below_the_leader_still_win_sometimes():
    rng = np.random.default_rng(0)
    params, state = learned(RDS(), [0.0, 0.0], [1.0, 1.0, 1.0])
    share = np.mean([beats(params, state, 0, 1, rng) for _ in range(N_DRAWS)])
    rho = math.sqrt(math.log(3))  # w_0 b >= m: Beta(1, 2) above 1/(1 + rho)
    assert abs(share - (1 - 1 / (1 + rho)) ** 2) < 5 * math.sqrt(0.25 / N_DRAWS)


def test_choices_do_not_change_when_rewards_are_scaled():
    tape = np.random.default_rng(2).normal(0, 1, (4, 300))
    assert choices_on(RDS(), tape, play).tolist() == choices_on(RDS(), 2.0**20 * tape, play).tolist()


def test_a_known_bound_is_a_range():
    with pytest.raises(InvalidInput, match=r"'reward' parameter of RDS.update must be inside \[-inf, 2\]. Got 2.5"):
        RDS(arms=2, rng=0, upper=2.0).update(0, 2.5)
    RDS(arms=2, rng=0, upper=2.0, direction="min").update(0, 2.5)
    RDS(arms=2, rng=0).update(0, 2.5)


@pytest.mark.parametrize("upper", ["1", math.inf, math.nan, True])
def test_bad_parameters_are_refused(upper):
    with pytest.raises(InvalidInput, match=r"'upper' parameter of RDS must be a finite number. Got"):
        RDS(upper=upper)

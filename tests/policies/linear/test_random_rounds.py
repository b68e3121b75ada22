"""Linear policies that draw their first actions at random."""

import numpy as np
import pytest
from scipy import stats

from bandstrap.errors import InvalidInput
from bandstrap.policies.linear import OFUL, LinearBootstrappedUCB, LinearTS
from naive import linear as naive
from policies.linear.games import game, played
from sampling import each, telling

POLICIES = [OFUL, LinearTS, LinearBootstrappedUCB]


@each("contextual", [False, True], ids=["fixed", "contextual"])
@each(
    ("policy", "slow"),
    [
        (OFUL(random_rounds=15), lambda rng: naive.oful()),
        (LinearTS(random_rounds=15), naive.linear_ts),
        (
            LinearBootstrappedUCB(random_rounds=15, n_resamples=20),
            lambda rng: naive.bootstrapped_ucb("resampled", 20, rng),
        ),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_the_first_choices_are_drawn_and_the_others_are_those_of_the_formula(policy, slow, contextual):
    sets, tape = game(contextual=contextual)
    rng = np.random.default_rng(5)
    expected, narrowest = naive.play(naive.random_first(slow(rng), 15, rng), sets, tape, 50)
    assert narrowest > 1e-9  # no tie for rounding to break
    assert played(policy, sets, tape, 50, 5) == expected


@telling("options", [{}, {"quantile": "streaming"}], lambda options: bool(options), ids=["resampled", "streaming"])
def test_random_rounds_are_as_many_as_asked_for_and_treat_actions_alike(options):
    sets, tape = game(n_actions=5, horizon=2500)
    policy = LinearBootstrappedUCB(random_rounds=2000, n_resamples=2, **options)
    choices = np.array(played(policy, sets, tape, 2500))
    # Rejects a fair draw once in 10,000 times, and chances of (.25, .2, .2, .2, .15) with probability 0.999.
    assert stats.chisquare(np.bincount(choices[:2000], minlength=5)).pvalue > 1e-4
    assert (choices[2000:] == np.bincount(choices[2000:]).argmax()).mean() > 0.9


@pytest.mark.parametrize("policy", POLICIES)
def test_there_are_none_by_default_and_no_fraction_of_one(policy):
    assert policy().random_rounds == 0
    for wrong in (-1, 0.5, True, None):
        with pytest.raises(
            InvalidInput, match=r"'random_rounds' parameter of .* must be an integer of at least 0. Got"
        ):
            policy(random_rounds=wrong)

"""Thompson sampling that draws seldom, or from a wider posterior."""

import numpy as np
import pytest
from scipy import stats

from bandstrap import EpsilonTS, GaussianTS, StableTS
from bandstrap.engine.compiler.steps import select
from bandstrap.engine.simulator.play import play
from bandstrap.errors import InvalidInput
from policies.learning import choices_on, learned


def test_an_inflated_posterior_is_that_of_a_larger_scale():
    tape = np.random.default_rng(0).normal([[0.0], [0.2]], 1.0, (2, 300))
    stable = choices_on(StableTS(sigma=0.5, inflation=4.0), tape, by=play)
    assert (stable == choices_on(GaussianTS(sigma=1.0), tape, by=play)).all()


@pytest.mark.parametrize("epsilon", [None, 0.3, 1.0])
def test_an_arm_behind_is_chosen_as_often_as_one_draw_or_both_put_it_ahead(epsilon):
    # Behind by 1/2 with 4 rewards against 9. A two-sided binomial test that rejects the right probability once in a million
    # times; with 40,000 choices it finds one that is off by a tenth, of 0.15 or so, with more than 0.99.
    samples = [np.zeros(4), np.full(9, 0.5)]
    policy = EpsilonTS(epsilon=epsilon)
    params, state = learned(policy, *samples)
    rng = np.random.default_rng(1)
    size = 40_000
    chosen = sum(select(policy.kernel, params, state, 14, rng, [0, 0]) == 0 for _ in range(size))
    e = epsilon or 0.5
    ahead = stats.norm.sf
    expected = e * (1 - e) * (ahead(0.5 / (1 / 2)) + ahead(0.5 / (1 / 3))) + e * e * ahead(0.5 / np.sqrt(1 / 4 + 1 / 9))
    assert stats.binomtest(chosen, size, expected).pvalue > 1e-6


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: EpsilonTS(epsilon=1.5), "'epsilon' parameter of EpsilonTS must be above 0 and at most 1. Got 1.5"),
        (lambda: EpsilonTS(epsilon=0), "'epsilon' parameter of EpsilonTS must be"),
        (lambda: StableTS(inflation=0), "'inflation' parameter of StableTS must be"),
    ],
)
def test_wrong_settings_are_refused(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()

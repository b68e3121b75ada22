import numpy as np
import pytest

from bandstrap.engine.play import play
from bandstrap.errors import InvalidInput
from bandstrap.policies.sums import learn
from bandstrap.policies.ucb1 import UCB1, prepare, score
from naive import policies as naive


def learned(policy, *samples):
    """A state that has seen the samples, an arm each."""
    rng = np.random.default_rng(0)
    state = policy.start(len(samples), max(map(len, samples)), rng)
    params = policy.make_params(1000)
    for arm, sample in enumerate(samples):
        for reward in sample:
            learn(params, state, arm, float(reward), 1, rng)
    return params, state


@pytest.mark.parametrize("sigma", [0.3, 1.0, 7.0])
@pytest.mark.parametrize("t", [3, 50, 2000])
def test_scores_are_the_formula(sigma, t):
    rng = np.random.default_rng(t)
    samples = [rng.normal(k, 1, size=n) for k, n in enumerate((1, 2, 17, 300))]
    params, state = learned(UCB1(sigma=sigma), *samples)
    shared = prepare(params, state, t)
    for arm, sample in enumerate(samples):
        expected = naive.ucb1_index(sample, naive.anytime(t), sigma)
        assert score(params, state, arm, shared, rng) == pytest.approx(expected, rel=1e-12)


def test_choices_are_those_of_the_formula_over_a_run():
    tape = np.random.default_rng(1).normal([[0.0], [0.3], [0.5]], 1, (3, 300))
    policy = UCB1(sigma=0.7)
    state = policy.start(3, 300, np.random.default_rng(0))
    choices = np.empty(300, dtype=np.int64)
    play(policy.kernel, policy.make_params(300), state, tape, np.random.default_rng(0), choices, 3)
    expected, narrowest = naive.play(
        lambda y, t: naive.ucb1_index(y, naive.anytime(t), 0.7), tape, 300, state.order.tolist()
    )
    assert narrowest > 1e-9  # no tie for rounding to break
    assert choices.tolist() == expected


@pytest.mark.parametrize("sigma", [0, -1, np.inf, np.nan, None, "2", True])
def test_a_scale_that_is_none_is_refused(sigma):
    with pytest.raises(InvalidInput, match=r"'sigma' parameter of UCB1 must be a finite number greater than 0. Got"):
        UCB1(sigma=sigma)

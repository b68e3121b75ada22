import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap.errors import InvalidInput
from bandstrap.policies.bootstrapped_ucb_plus import BootstrappedUCBPlus, choose, pooled_scale, score
from naive import scale_free as naive
from policies.learning import choices_on, learned
from sampling import each

samples = st.lists(st.lists(st.floats(-5, 5), min_size=2, max_size=9), min_size=2, max_size=4)


def scores(samples, t, **options):
    params, state = learned(BootstrappedUCBPlus(**options), *samples)
    least = params.exploration * math.log(t)
    pooled = pooled_scale(params, state)
    found = [score(params, state, k, t, pooled) if state.pulls[k] >= least else math.inf for k in range(len(samples))]
    order = state.order.tolist()
    assert choose(params, state, t, np.random.default_rng(0)) == max(
        order, key=lambda arm: (found[arm], -order.index(arm))
    )
    return found


@settings(max_examples=80, deadline=None)
@given(samples, st.integers(0, 2000), st.sampled_from([None, 0.7]), st.floats(0, 2), st.sampled_from([0.1, 0.5]))
def test_scores_are_the_formula(samples, more, sigma, exploration, delta):
    t = sum(map(len, samples)) + 1 + more
    found = scores(samples, t, sigma=sigma, exploration=exploration, delta=delta)
    spread = max(map(max, samples)) - min(map(min, samples))
    for arm, value in enumerate(found):
        expected = naive.plus_index(samples, arm, t, sigma=sigma, exploration=exploration, delta=delta)
        assert value == expected or value == pytest.approx(expected, abs=1e-6 * (spread + 1))


def test_an_arm_short_of_pulls_comes_first():
    few = [[0.1, 0.2], [5.0, 5.1, 5.3, 5.2]]
    assert [math.isinf(value) for value in scores(few, 100, exploration=0.5)] == [True, False]
    assert not any(map(math.isinf, scores(few, 100, exploration=0.0)))


def test_the_leader_has_almost_no_bonus():
    rng = np.random.default_rng(0)
    leader, other = rng.normal(1, 1, 30), rng.normal(0, 1, 5)
    value = scores([leader, other], 36)[0]
    assert 0 < value - leader.mean() < 0.15


def test_equal_rewards_in_every_arm_leave_the_range_of_means_as_scale():
    values = scores([[0.0, 0.0], [1.0, 1.0]], 5)
    assert values[0] > 0.0
    assert values == pytest.approx([naive.plus_index([[0.0, 0.0], [1.0, 1.0]], arm, 5) for arm in (0, 1)])


@each("scale", [0.125, 1024.0, 3.7])
@each("shift", [0.0, 55.0])
def test_choices_do_not_change_with_scale_and_shift(scale, shift):
    tape = np.random.default_rng(2).normal(size=(4, 700)) + np.array([[0.0], [0.3], [0.5], [0.2]])

    assert (choices_on(BootstrappedUCBPlus(), tape) == choices_on(BootstrappedUCBPlus(), shift + scale * tape)).all()


@pytest.mark.parametrize("options", [{"exploration": -0.1}, {"sigma": 0}, {"delta": 1.0}, {"exploration": np.nan}])
def test_wrong_settings_are_refused(options):
    name = next(iter(options))
    with pytest.raises(InvalidInput, match=f"'{name}' parameter of BootstrappedUCBPlus must be"):
        BootstrappedUCBPlus(**options)

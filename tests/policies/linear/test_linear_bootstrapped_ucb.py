"""BUCBL, resampled and streaming, against the literal algorithm given the same random numbers."""

import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bandstrap.errors import InvalidInput
from bandstrap.policies.linear import LinearBootstrappedUCB
from bandstrap.policies.linear import linear_bootstrapped_ucb as module
from bandstrap.policies.linear.multiplied import COUNTED, multipliers
from bandstrap.policies.linear.ridge import add_observation, start_regression
from naive import linear as naive
from policies.linear.compiled import CALLS, choosing_surely, resampling
from policies.linear.games import game, played
from sampling import each, exhaustive

MODES = ("resampled", "streaming")


@each("contextual", [False, True], ids=["fixed", "contextual"])
@each("mode", MODES)
@each(
    "options", [{}, {"radius": "theorem", "sigma": 0.5, "ridge": 0.3, "theta_bound": 1.0}], ids=["default", "theorem"]
)
def test_choices_are_those_of_the_literal_algorithm_over_a_run(mode, options, contextual):
    sets, tape = game(3, 5, 50, contextual, 1)
    names = {"radius": "kind", "theta_bound": "bound"}
    slow = naive.bootstrapped_ucb(
        mode, 20, np.random.default_rng(2), **{names.get(k, k): v for k, v in options.items()}
    )
    expected, narrowest = naive.play(slow, sets, tape, 50)
    assert narrowest > 1e-9  # no tie for rounding to break
    assert len(set(expected)) > 1
    assert played(LinearBootstrappedUCB(quantile=mode, n_resamples=20, **options), sets, tape, 50, 2) == expected


@each("n", [1, 4, 19])
@each("alpha", [0.01, 0.05, 0.3, 0.9])
def test_the_width_is_the_order_statistic_and_a_share_of_the_radius(n, alpha):
    """Scores of unit vectors before any reward but 0: the width alone, seen through which of two actions wins."""
    rng = np.random.default_rng(n)
    lengths = rng.exponential(size=20)
    policy = LinearBootstrappedUCB(alpha=alpha, sigma=0.7)
    params = policy.make_params(None)
    regression = start_regression(2, 1.0)
    for i in range(n):
        add_observation(regression, np.array([1.0, 0.0]), 5.0, i + 1)
    X, y = np.tile([[1.0, 0.0]], (n, 1)), np.full(n, 5.0)
    beta = naive.radius("closed-form", X, alpha, 0.7, 1.0, 0.0)
    width = naive.order_statistic(lengths, alpha) + beta / math.sqrt(n)
    mean = naive.estimate(X, y, 1.0)[0]
    # x = (1, 0) scores mean + width / sqrt(1 + n); (0, c) scores c width: they are equal at this c
    c = (mean + width / math.sqrt(1 + n)) / width
    for factor, winner in ((1 - 1e-9, 0), (1 + 1e-9, 1)):
        actions = np.array([[1.0, 0.0], [0.0, c * factor]])
        assert module.optimistic_choice(params, regression, lengths.copy(), actions, n + 1) == winner


@pytest.mark.parametrize("n", [1, 2, 20, 201])
def test_the_length_from_the_top_is_the_sorted_one_plain_and_compiled(n):
    lengths = np.random.default_rng(n).exponential(size=n).round(1)  # with ties
    for rank in {0, n // 2, n - 1}:
        found = module.number_from_the_top(lengths.copy(), rank)
        assert found == CALLS[module.number_from_the_top](lengths.copy(), rank) == np.sort(lengths)[::-1][rank]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 8), st.integers(0, 2**32), st.floats(-4, 2), st.booleans())
def test_a_sure_choice_wins_at_every_width_between_and_is_made_unless_another_wins_or_ties(n, seed, exponent, even):
    rng = np.random.default_rng(seed)
    means, lengths = rng.normal(size=n).round(1 if even else 17), rng.exponential(size=n).round(1 if even else 17)
    low = rng.exponential()
    high = low * (1 + 10**exponent)
    found = choosing_surely.compiled(means, lengths, low, high)
    assert found == module.sure_choice(means, lengths, low, high)
    winners = {int(np.argmax(means + width * lengths)) for width in np.linspace(low, high, 101)}
    if found >= 0:
        assert winners == {found}
    else:
        behind = [max(means + w * lengths) - (means + w * lengths) for w in (low, high)]
        close = (np.minimum(*behind) < 1e-12).sum()
        assert len(winners) > 1 or close > 1


def test_the_first_of_equal_actions_is_a_sure_choice():
    assert module.sure_choice(np.array([0.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.0]), 0.5, 2.0) == 1
    # equal where widths begin, and equal but for rounding
    assert module.sure_choice(np.array([0.0, 1.0]), np.array([2.0, 1.0]), 1.0, 1.5) == -1
    assert module.sure_choice(np.array([1.0, 1.0]), np.array([1.0, 1.0 + 2**-52]), 1.0, 1.5) == -1


def resampled_state(sets, tape, horizon, n_resamples, ridge):
    """The state of a policy that took actions at random, and how often replicates drew what it saw."""
    rng = np.random.default_rng(horizon)
    policy = LinearBootstrappedUCB(n_resamples=n_resamples, ridge=ridge)
    state = policy.start(sets.shape[2], horizon, rng)
    params = policy.make_params(None)
    for t in range(1, horizon):
        actions = sets[min(t, len(sets)) - 1]
        arm = int(rng.integers(len(actions)))
        module.learn_resampled(params, state, actions[arm], float(tape[arm, t - 1]), t, rng)
    return params, state, resampling.compiled(horizon - 1, state.generators)


@exhaustive
@pytest.mark.parametrize("ridge", [1e-9, 0.1, 30.0])
@pytest.mark.parametrize(("scale", "size"), [(1.0, 1.0), (1e-30, 1e20), (1e12, 1e-9), (1.0, 0.0)])
@pytest.mark.parametrize("contextual", [False, True], ids=["fixed", "contextual"])
def test_choices_by_estimates_are_those_by_distances(contextual, scale, size, ridge):
    """Features and rewards from tiny to huge, rewards that are all 0, actions that are twice the same."""
    for horizon in (1, 2, 4, 30, 60):
        sets, tape = game(4, 6, 60, contextual, horizon)
        sets = np.concatenate([sets, sets[:, :2]], axis=1) * scale
        params, state, times = resampled_state(sets, np.vstack([tape, tape[:2]]) * size, horizon, 50, ridge)
        actions = sets[-1]
        slow = module.choice_of_resamples(params, state, times, actions, horizon)
        assert CALLS[module.choice_of_resamples](params, state, times, actions, horizon) == slow


# How often an observation counts, as a scipy law or as values with their probabilities.
COUNTS = {
    "efron": stats.poisson(1),
    "rademacher": stats.rv_discrete(values=([0, 2], [0.5, 0.5])),
    "exponential": stats.expon(),
    "mammen": stats.rv_discrete(values=([0, 1], [(5 + 5**0.5) / 10, (5 - 5**0.5) / 10])),
}


@pytest.mark.parametrize("weights", COUNTED)
def test_weights_count_once_on_average_with_variance_one_and_follow_their_law(weights):
    drawn, again = (
        call(COUNTED[weights], 40_000, np.random.default_rng(1)) for call in (multipliers, CALLS[multipliers])
    )
    assert drawn.tobytes() == again.tobytes()
    # Means have a standard error of .005, variances of at most .014 (exponential): within five of them.
    assert drawn.mean() == pytest.approx(1, abs=0.025)
    assert drawn.var() == pytest.approx(1, abs=0.07)
    assert drawn.min() >= 0
    found = drawn if weights != "mammen" else (drawn > 1).astype(float)
    for x in (0.0, 0.5, 1.0, 2.0):
        # 5 standard errors of a share are .0125
        assert np.mean(found <= x) == pytest.approx(COUNTS[weights].cdf(x), abs=0.0125)


@each("mode", MODES)
@each("weights", [name for name in COUNTED if name != "efron"])
def test_choices_with_other_weights_are_those_of_the_literal_algorithm(mode, weights):
    sets, tape = game(3, 5, 40, False, 1)
    slow = naive.multiplied_ucb(mode, functools.partial(multipliers, COUNTED[weights], 20), np.random.default_rng(2))
    expected, narrowest = naive.play(slow, sets, tape, 40)
    assert narrowest > 1e-9
    assert len(set(expected)) > 1
    assert played(LinearBootstrappedUCB(quantile=mode, n_resamples=20, weights=weights), sets, tape, 40, 2) == expected


@exhaustive
@pytest.mark.parametrize("mode", MODES)
def test_other_weights_are_the_same_compiled_and_saved(mode):
    options = {"quantile": mode, "weights": "exponential", "n_resamples": 8, "dimension": 2}
    actions = [[1.0, 0.2], [0.1, -0.7], [0.4, 0.4]]
    plain, compiled = (LinearBootstrappedUCB(**options, compiled=flag, rng=3) for flag in (False, True))
    rewards = np.random.default_rng(0).normal(size=30)
    for i, reward in enumerate(rewards):
        if i == 15:
            plain = LinearBootstrappedUCB.from_dict(plain.to_dict())
        choice = plain.select(actions)
        assert compiled.select(actions) == choice
        for policy in (plain, compiled):
            policy.update(actions[choice], reward)


@pytest.mark.parametrize("mode", MODES)
def test_before_the_first_reward_the_longest_action_is_taken(mode):
    policy = LinearBootstrappedUCB(quantile=mode, n_resamples=7, rng=0)
    assert policy.select([[0.1, 0.0], [0.0, -2.0], [1.0, 1.0]]) == 1


@pytest.mark.parametrize("mode", MODES)
def test_one_replicate_is_enough(mode):
    sets, tape = game(2, 3, 20, False, 3)
    slow = naive.bootstrapped_ucb(mode, 1, np.random.default_rng(4))
    expected, narrowest = naive.play(slow, sets, tape, 20)
    assert narrowest > 1e-9
    assert played(LinearBootstrappedUCB(quantile=mode, n_resamples=1), sets, tape, 20, 4) == expected


@each(
    ("options", "message"),
    [
        (
            {"quantile": "exact"},
            "'quantile' parameter of LinearBootstrappedUCB must be one of 'streaming', 'resampled'",
        ),
        (
            {"n_resamples": 0},
            "'n_resamples' parameter of LinearBootstrappedUCB must be an integer of at least 1. Got 0",
        ),
        ({"n_resamples": 2.0}, "'n_resamples' parameter of LinearBootstrappedUCB must be an integer of at least 1"),
        (
            {"weights": "gaussian"},  # which would count some observations less than not at all
            "'weights' parameter of LinearBootstrappedUCB must be one of 'efron', 'rademacher', 'exponential', 'mammen'",
        ),
        ({"radius": "own"}, "'radius' parameter of LinearBootstrappedUCB must be one of"),
        ({"ridge": 0}, "'ridge' parameter of LinearBootstrappedUCB must be a finite number greater than 0. Got 0"),
        ({"sigma": "1"}, "'sigma' parameter of LinearBootstrappedUCB must be a finite number greater than 0. Got '1'"),
        ({"theta_bound": -1}, "'theta_bound' parameter of LinearBootstrappedUCB must be a finite number of at least 0"),
        ({"alpha": 0}, r"'alpha' parameter of LinearBootstrappedUCB must be a number in the open interval \(0, 1\)"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(InvalidInput, match=rf"^The {message}.* instead\.$"):
        LinearBootstrappedUCB(**options)

import itertools
import math

import numpy as np
import pytest

from bandstrap.environments import Beta
from bandstrap.errors import InvalidInput
from bandstrap.policies import (
    MARS,
    POLICIES,
    RMMUCB,
    UCB1,
    BootstrappedUCB,
    GaussianTSUnknownVariance,
    NaiveBootstrappedUCB,
)
from bandstrap.policies.kernels.schedule import error_probability, make_schedule
from bandstrap.policies.linear.linear_policy import LINEAR_POLICIES
from sampling import each


@pytest.mark.parametrize("t", [2, 3, 10, 1999, 10**6])
def test_rules_are_their_formulas(t):
    assert error_probability(make_schedule("1/(t+1)", 1.0, None, "X"), t) == 1 / (t + 1)
    assert error_probability(make_schedule("1/T^2", 1.0, 500, "X"), t) == 1 / 500**2
    assert error_probability(make_schedule(0.03, 1.0, None, "X"), t) == 0.03
    for tau in (0.5, 1.0, 3.0):
        u = max(t, 3)
        expected = min(0.5, 1 / (u * math.log(u) ** tau))
        assert error_probability(make_schedule("1/(t log^tau t)", tau, None, "X"), t) == pytest.approx(
            expected, rel=1e-14
        )


@pytest.mark.parametrize("rule", ["1/(t+1)", "1/T^2", "1/(t log^tau t)"])
def test_levels_are_probabilities_and_never_rise(rule):
    schedule = make_schedule(rule, 2.0, 100, "X")
    levels = [error_probability(schedule, t) for t in range(1, 3000)]
    assert all(0 < level <= 0.5 for level in levels)
    assert all(a >= b for a, b in itertools.pairwise(levels))


@each("alpha", [0, 1, -0.1, 1.5, math.nan, "1/t", "0.1", None, True, [0.1]], ids=repr)
@each("policy", [UCB1, BootstrappedUCB, NaiveBootstrappedUCB])
def test_a_level_that_is_none_is_refused(policy, alpha):
    with pytest.raises(InvalidInput, match=f"'alpha' parameter of {policy.__name__} must be .*Got"):
        policy(alpha=alpha)


@pytest.mark.parametrize("policy", [UCB1, BootstrappedUCB])
def test_the_horizon_of_a_fixed_level_must_be_known(policy):
    with pytest.raises(InvalidInput, match=r"'horizon' parameter of \w+ must be given for alpha='1/T\^2'"):
        policy(alpha="1/T^2", arms=2)
    with pytest.raises(InvalidInput, match=r"'horizon' parameter of .* must be an integer of at least 1"):
        policy(alpha="1/T^2", horizon=-3)
    assert policy(alpha="1/T^2").make_params(40).schedule.value == 1 / 1600
    assert policy(alpha="1/T^2", horizon=10).make_params(40).schedule.value == 1 / 100
    policy(alpha="1/T^2", horizon=10, arms=2)


@pytest.mark.parametrize("tau", [0, -1, math.inf, "1"])
def test_an_exponent_that_is_none_is_refused(tau):
    with pytest.raises(InvalidInput, match=r"'tau' parameter of UCB1 must be a finite number greater than 0"):
        UCB1(alpha="1/(t log^tau t)", tau=tau)


@pytest.mark.parametrize("make", [UCB1, BootstrappedUCB])
def test_a_callable_is_asked_in_every_round_online(make):
    asked = []

    def level(t):
        asked.append(t)
        return 1 / (t + 1)

    called, ruled = make(alpha=level, arms=3, rng=1), make(arms=3, rng=1)
    rng = np.random.default_rng(0)
    for _ in range(60):
        arm = called.select()
        assert arm == ruled.select()
        reward = rng.normal(arm / 3)
        called.update(arm, reward)
        ruled.update(arm, reward)
    assert set(range(4, 61)) <= set(asked)


@each(
    "level",
    [0, 2.0, math.nan, "x", None, True, [0.1], 1e-320, lambda t: 0.1],
    ids=lambda level: "callable" if callable(level) else repr(level),
)
def test_a_callable_that_returns_no_level_is_refused_with_nothing_changed(level):
    policy = BootstrappedUCB(alpha=lambda t: level if t == 3 else 0.5, arms=2, rng=0)
    policy.update([0, 1], [0.0, 1.0])
    twin = policy.copy()
    with pytest.raises(InvalidInput, match=r"'alpha' parameter of BootstrappedUCB must be .*Got"):
        policy.select()
    for either in (policy, twin):
        either.update(0, 0.5)
    assert [policy.select() for _ in range(5)] == [twin.select() for _ in range(5)]


SCHEDULED = [make for make in [*POLICIES.values(), *LINEAR_POLICIES.values()] if "alpha" in make.parameters()]


@each("make", SCHEDULED, ids=lambda make: make.name)
@each("alpha", [1e-251, 5e-324])
def test_a_level_that_is_too_small_to_compute_with_is_refused(make, alpha):
    with pytest.raises(InvalidInput, match=rf"'alpha' parameter of {make.__name__} must be at least 1e-.*Got {alpha}"):
        make(alpha=alpha)


# MARS and RMMUCB draw 1/alpha subsets or signs.
RESAMPLED = ("mars", "rmm_ucb")


@pytest.mark.parametrize("make", [make for make in SCHEDULED if make.name not in RESAMPLED], ids=lambda make: make.name)
@pytest.mark.parametrize(
    "options",
    [
        {"alpha": 1e-250},
        {"alpha": 1 - 1e-16},
        {"alpha": "1/(t log^tau t)", "tau": 100},
        {"alpha": "1/T^2", "horizon": 2**63 - 1},
    ],
    ids=str,
)
def test_the_smallest_and_largest_levels_can_be_played(make, options):
    if not set(options) <= set(make.parameters()):
        pytest.skip("no such parameter")
    is_linear = make.plays == "actions"
    policy = make(rng=0, **options) if is_linear else make(arms=2, rng=0, **options)
    actions = np.eye(2)
    for i in range(50):
        arm = policy.select(actions) if is_linear else policy.select()
        policy.update(actions[arm] if is_linear else arm, (i * 7 % 11) / 11)
    assert policy.n_rewards == 50


def test_settings_beyond_what_can_be_counted_are_refused():
    with pytest.raises(InvalidInput, match=r"'tau' parameter of UCB1 must be at most 100. Got 101"):
        UCB1(alpha="1/(t log^tau t)", tau=101)
    with pytest.raises(
        InvalidInput, match=r"'horizon' parameter of UCB1 must be an integer between 1 and .*. Got 1\.00e\+400"
    ):
        UCB1(alpha="1/T^2", horizon=10**400)
    for alpha in (1e-200, 1e-8):
        for make in (MARS, RMMUCB):
            with pytest.raises(InvalidInput, match=r"'alpha' parameter of \w+ must be at least 1e-07, as .* Got"):
                make(alpha=alpha)
    for a in (1e308, -1e308):
        with pytest.raises(
            InvalidInput, match=r"'a' parameter of GaussianTSUnknownVariance must be a number in the open"
        ):
            GaussianTSUnknownVariance(a=a)
    with pytest.raises(
        InvalidInput, match=r"'v' parameter of Beta must be a finite number of at least 1e-300. Got 5e-324"
    ):
        Beta(v=5e-324)
    assert np.isfinite(Beta(v=1e-300).tape(20, np.random.default_rng(0))[1]).all()


def test_a_callable_is_refused_in_a_simulation():
    with pytest.raises(InvalidInput, match=r"'alpha' parameter of UCB1 must be a rule or a number in a simulation"):
        UCB1(alpha=lambda t: 0.1).make_params(100)

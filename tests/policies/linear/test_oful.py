"""OFUL with its three radii, and LinUCB."""

import math

import numpy as np
import pytest

from bandstrap.errors import InvalidInput
from bandstrap.policies.kernels.schedule import FIXED, Schedule, make_schedule
from bandstrap.policies.linear import OFUL, LinUCB
from bandstrap.policies.linear.radius import RADII, Ellipsoid, radius
from bandstrap.policies.linear.ridge import add_observation, start_regression
from naive import linear as naive
from policies.linear.games import game, played
from sampling import each

KINDS = ("theorem", "closed-form", "printed")


def regressed(X, y, ridge):
    regression = start_regression(X.shape[1], ridge)
    for n, (x, reward) in enumerate(zip(X, y, strict=True), start=1):
        add_observation(regression, x, reward, n)
    return regression


# --- the radius -------------------------------------------------------------------------------------------------------


@each("kind", KINDS)
@each("n", [0, 1, 30])
@each(("sigma", "ridge", "bound"), [(1.0, 1.0, 0.0), (0.5, 3.0, 2.0), (2.0, 0.01, 0.7)])
def test_each_radius_is_its_formula(kind, n, sigma, ridge, bound):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 4))
    regression = regressed(X, rng.normal(size=n), ridge)
    ellipsoid = Ellipsoid(RADII[kind], sigma, ridge, bound, make_schedule("1/(t+1)", 1.0, None, "test"))
    expected = naive.radius(kind, X, naive.anytime(n + 1), sigma, ridge, bound)
    assert radius(ellipsoid, regression.factor, n + 1) == pytest.approx(expected, rel=1e-12)


def test_the_printed_radius_is_never_the_root_of_a_negative_number():
    regression = start_regression(5, 1e-4)
    ellipsoid = Ellipsoid(RADII["printed"], 1.0, 1e-4, 0.0, Schedule(FIXED, 0.5))
    assert radius(ellipsoid, regression.factor, 1) == 0.0


@each("ridge", [7.3, 0.3, 1e-6, 12345.6])
@each("d", [1, 20])
def test_the_theorems_radius_survives_an_error_probability_of_almost_one(ridge, d):
    # nothing observed: the logarithms of the determinants cancel up to rounding
    ellipsoid = Ellipsoid(RADII["theorem"], 1.0, ridge, 0.0, Schedule(FIXED, 1 - 2**-53))
    assert 0 <= radius(ellipsoid, start_regression(d, ridge).factor, 1) < 1e-5


def test_the_readings_agree_where_they_should():
    """With no penalty term, features of length 1 in all directions alike and n large, the closed form is the wider."""
    X = np.vstack([np.eye(3)] * 50)
    theorem = naive.radius("theorem", X, 0.1, 1.0, 1.0, 0.0)
    assert theorem == pytest.approx(math.sqrt(3 * math.log(51) + 2 * math.log(10)))
    assert theorem < naive.radius("closed-form", X, 0.1, 1.0, 1.0, 0.0)
    assert theorem == pytest.approx(naive.radius("printed", X, 0.1, 1.0, 1.0, 0.0))  # ridge 1: the slip is hidden


# --- choices ----------------------------------------------------------------------------------------------------------


@each("contextual", [False, True], ids=["fixed", "contextual"])
@each("kind", KINDS)
def test_ofuls_choices_are_those_of_the_formula_over_a_run(kind, contextual):
    sets, tape = game(contextual=contextual)
    expected, narrowest = naive.play(naive.oful(kind, 0.7, 1.5, 2.5), sets, tape, 60)
    assert narrowest > 1e-9  # no tie for rounding to break
    assert len(set(expected)) > 1
    assert played(OFUL(radius=kind, sigma=0.7, ridge=1.5, theta_bound=2.5), sets, tape, 60) == expected


@each("contextual", [False, True], ids=["fixed", "contextual"])
@each("options", [{}, {"delta": 0.5, "ridge": 0.2}, {"width": 0.3}], ids=str)
def test_lin_ucbs_choices_are_those_of_the_formula_over_a_run(options, contextual):
    sets, tape = game(seed=1, contextual=contextual)
    expected, narrowest = naive.play(naive.lin_ucb(**options), sets, tape, 60)
    assert narrowest > 1e-9
    assert played(LinUCB(**options), sets, tape, 60) == expected


def test_lin_ucbs_default_width_is_the_documented_one():
    assert LinUCB().make_params(None).width == pytest.approx(2.22, abs=5e-3)
    assert LinUCB(width=0.25, delta=0.5).make_params(None).width == 0.25


@pytest.mark.parametrize("policy", [OFUL(), LinUCB()], ids=repr)
def test_equal_scores_go_to_the_action_that_comes_first(policy):
    same = np.tile([[0.3, -0.4]], (5, 1))
    assert policy.copy().select(same) == 0
    assert policy.copy().select([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]) == 1
    assert policy.copy().select(np.zeros((3, 2))) == 0


# --- refusals ---------------------------------------------------------------------------------------------------------


@each(
    ("make", "message"),
    [
        (lambda: OFUL(radius="wide"), "'radius' parameter of OFUL must be one of 'theorem', .* Got 'wide' instead"),
        (lambda: OFUL(radius=None), "'radius' parameter of OFUL must be one of"),
        (lambda: OFUL(sigma=0), "'sigma' parameter of OFUL must be a finite number greater than 0. Got 0"),
        (lambda: OFUL(ridge=0), "'ridge' parameter of OFUL must be a finite number greater than 0. Got 0"),
        (lambda: OFUL(ridge=-1.0), "'ridge' parameter of OFUL must be a finite number greater than 0. Got -1"),
        (lambda: OFUL(ridge=np.nan), "'ridge' parameter of OFUL must be a finite number greater than 0. Got nan"),
        (lambda: OFUL(ridge="1"), "'ridge' parameter of OFUL must be a finite number greater than 0. Got '1'"),
        (lambda: OFUL(theta_bound=-0.1), "'theta_bound' parameter of OFUL must be a finite number of at least 0"),
        (lambda: OFUL(theta_bound=np.inf), "'theta_bound' parameter of OFUL must be a finite number"),
        (lambda: OFUL(alpha=1.0), r"'alpha' parameter of OFUL must be a number in the open interval \(0, 1\)"),
        (lambda: OFUL(alpha="2/t"), "'alpha' parameter of OFUL must be one of"),
        (lambda: OFUL(tau=0), "'tau' parameter of OFUL must be a finite number greater than 0"),
        (lambda: LinUCB(delta=0), r"'delta' parameter of LinUCB must be a number in the open interval \(0, 1\)"),
        (lambda: LinUCB(delta=1), r"'delta' parameter of LinUCB must be a number in the open interval \(0, 1\)"),
        (lambda: LinUCB(width=-1), "'width' parameter of LinUCB must be a finite number greater than 0. Got -1"),
        (lambda: LinUCB(ridge=0), "'ridge' parameter of LinUCB must be a finite number greater than 0. Got 0"),
    ],
)
def test_bad_parameters_are_refused(make, message):
    with pytest.raises(InvalidInput, match=rf"^The {message}.* instead\.$|^The {message}"):
        make()

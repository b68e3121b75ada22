"""The triangular factor against direct computation.

Errors are relative to the natural scale of each quantity: an estimate to ``|theta| + |y|/sqrt(ridge)``, a norm to
``|x|/sqrt(ridge)``, which neither can exceed. The best that can be asked of an estimate is an error of rounding times
``kappa``, the root of the condition number of ``V``.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap.policies.linear.ridge import (
    CHECK_EVERY,
    LARGEST_DRIFT,
    Regression,
    add_observation,
    back_substitute,
    drift,
    forward_substitute,
    log_determinant,
    norms,
    predictions,
    refactor,
    start_regression,
)
from bandstrap.policies.states.fields import as_lists
from naive import linear as naive
from policies.linear.compiled import CALLS, adding

SCALES = (1e-9, 1e-4, 1.0, 1e3)


def arrays(regression: Regression) -> Regression:
    return Regression(*(np.array(part, dtype=float) for part in regression))


def regressed(X, y, ridge) -> Regression:
    """A regression that has seen everything, by plain Python on lists, as online."""
    regression = as_lists(start_regression(X.shape[1], ridge))
    for n, (x, reward) in enumerate(zip(X, y, strict=True), start=1):
        add_observation(regression, x, float(reward), n)
    return arrays(regression)


def same_bits(one, other) -> bool:
    return all(a.tobytes() == b.tobytes() for a, b in zip(one, other, strict=True))


def assert_agrees(regression, X, y, ridge, actions, tolerance):
    theta = naive.stable_estimate(X, y, ridge)
    scale = np.linalg.norm(theta) + np.linalg.norm(y) / math.sqrt(ridge)
    assert np.abs(regression.theta - theta).max() <= tolerance * scale
    found = norms(regression.factor, actions)
    lengths = np.linalg.norm(actions, axis=1) / math.sqrt(ridge)
    assert (np.abs(found - naive.stable_norms(X, ridge, actions)) <= tolerance * lengths).all()
    expected = naive.stable_log_determinant(X, ridge)
    assert abs(log_determinant(regression.factor) - expected) <= tolerance * (len(theta) + abs(expected))


# --- many updates -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ten_thousand():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 10)) * np.geomspace(0.1, 10, 10)
    y = X @ rng.normal(size=10) + rng.normal(size=10_000)
    return X, y


def test_after_ten_thousand_updates_all_is_as_computed_directly(ten_thousand):
    X, y = ten_thousand
    regression = regressed(X, y, 1.0)
    actions = np.random.default_rng(1).normal(size=(50, 10))
    # relative to each number itself
    np.testing.assert_allclose(regression.theta, naive.estimate(X, y, 1.0), rtol=1e-9)
    np.testing.assert_allclose(norms(regression.factor, actions), naive.norms(X, 1.0, actions), rtol=1e-9)
    assert log_determinant(regression.factor) == pytest.approx(naive.log_determinant(X, 1.0), rel=1e-9)
    np.testing.assert_allclose(regression.gram, naive.gram(X, 1.0), rtol=1e-9)
    np.testing.assert_allclose(regression.moment, X.T @ y, rtol=1e-9)
    assert drift(regression.factor, regression.gram) < LARGEST_DRIFT
    compiled = start_regression(10, 1.0)
    adding.compiled(compiled, X, y, 1)
    assert same_bits(compiled, regression)


def test_plain_and_compiled_updates_are_the_same_bits_where_the_factor_is_refreshed(ten_thousand):
    X, y = (part[:40] for part in ten_thousand)
    both = [start_regression(10, 2.0) for _ in range(2)]
    for add, regression in zip((adding.plain, adding.compiled), both, strict=True):
        add(regression, X[:20], y[:20], CHECK_EVERY - 30)
        regression.factor[2, 5] += 0.1
        add(regression, X[20:], y[20:], CHECK_EVERY - 10)
    assert same_bits(*both)
    assert drift(both[0].factor, both[0].gram) < 1e-14


# --- degenerate actions -----------------------------------------------------------------------------------------------


@st.composite
def problems(draw):
    d = draw(st.integers(1, 20))
    ridge = 10 ** draw(st.floats(-6, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = []
    for _ in range(draw(st.integers(0, 25))):
        kind = draw(st.sampled_from(["zero", "repeat", "collinear", "unit", "normal"]))
        if kind == "zero":
            rows.append(np.zeros(d))
        elif kind in ("repeat", "collinear") and rows:
            rows.append(rows[draw(st.integers(0, len(rows) - 1))] * (1.0 if kind == "repeat" else -1.75))
        elif kind == "unit":
            rows.append(np.eye(d)[draw(st.integers(0, d - 1))])
        else:
            rows.append(rng.normal(size=d) * draw(st.sampled_from(SCALES)))
    rows = [row / max(1.0, np.abs(row).max() / 1e4) for row in rows]
    X = np.array(rows).reshape(-1, d)
    y = rng.normal(size=len(X)) * draw(st.sampled_from(SCALES))
    actions = np.vstack([X[:3], np.zeros(d), rng.normal(size=(3, d)) * draw(st.sampled_from(SCALES))])
    return X, y, ridge, actions


@settings(max_examples=120, deadline=None)
@given(problems())
def test_any_actions_and_penalty_are_as_computed_directly(problem):
    X, y, ridge, actions = problem
    regression = regressed(X, y, ridge)
    kappa = np.linalg.cond(naive.stacked(X, ridge))
    assert_agrees(regression, X, y, ridge, actions, 1e-9 if kappa < 1e4 else 1e-13 * kappa)
    assert drift(regression.factor, regression.gram) < 1e-13
    assert (np.diag(regression.factor) >= math.sqrt(ridge) * (1 - 1e-14)).all()
    assert (np.tril(regression.factor, -1) == 0).all()


@settings(max_examples=60, deadline=None)
@given(problems())
def test_a_factor_computed_anew_is_the_rotated_one(problem):
    X, y, ridge, actions = problem
    kappa = np.linalg.cond(naive.stacked(X, ridge))
    regression = regressed(X, y, ridge)
    refactor(regression.factor, regression.target, regression.gram, regression.moment)
    back_substitute(regression.factor, regression.target, regression.theta)
    assert all(np.isfinite(part).all() for part in regression)
    assert drift(regression.factor, regression.gram) < 1e-12
    if kappa < 1e4:  # Cholesky feels the condition number of V, the square
        assert_agrees(regression, X, y, ridge, actions, 1e-13 * kappa**2)


@pytest.mark.parametrize("seed", range(5))
def test_sums_too_near_a_singular_matrix_still_give_a_finite_factor(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 1)) * rng.normal(size=3) * 1e9  # all along one line; the penalty is lost in rounding
    y = rng.normal(size=8)
    both = [start_regression(3, 1.0) for _ in range(2)]
    for add, regression in zip((adding.plain, adding.compiled), both, strict=True):
        add(regression, X[:7], y[:7], 1)
        regression.factor[0, 0] *= 1.001
        add(regression, X[7:], y[7:], CHECK_EVERY)
        assert all(np.isfinite(part).all() for part in regression)
        assert (np.diag(regression.factor) > 0).all()
        assert drift(regression.factor, regression.gram) < 1e-14
        np.testing.assert_allclose(predictions(regression.theta, X), X @ naive.stable_estimate(X, y, 1.0), atol=1e-6)
    assert same_bits(*both)


# --- the check on drift -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [(0, 0), (0, 3), (3, 3)])
def test_drift_sees_a_corrupted_factor_and_the_check_refreshes_it(place):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    regression = regressed(X[:-1], y[:-1], 0.5)
    clean = drift(regression.factor, regression.gram)
    assert clean < 1e-14
    before = regression.factor[place]
    regression.factor[place] *= 1 + 1e-6
    seen = drift(regression.factor, regression.gram)
    largest = regression.gram.diagonal().max()
    # to first order the change of R'R in its largest entry; at least that of the diagonal
    assert seen >= 0.9 * 2e-6 * before**2 / largest
    assert seen > LARGEST_DRIFT
    unchecked = Regression(*(part.copy() for part in regression))
    add_observation(unchecked, X[-1], y[-1], CHECK_EVERY - 1)
    assert drift(unchecked.factor, unchecked.gram) > LARGEST_DRIFT
    add_observation(regression, X[-1], y[-1], CHECK_EVERY)
    assert drift(regression.factor, regression.gram) < 1e-14
    np.testing.assert_allclose(regression.theta, naive.estimate(X, y, 0.5), rtol=1e-10)


def test_drift_is_the_largest_difference_relative_to_the_largest_diagonal_entry():
    factor = np.array([[2.0, 1.0], [0.0, 3.0]])
    gram = factor.T @ factor
    assert drift(factor, gram) == 0.0
    gram[0, 1] += 0.5  # only the upper triangle is compared
    assert drift(factor, gram) == 0.5 / 10.0


# --- parts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 7, 20])
def test_substitutions_solve_triangular_systems(d):
    rng = np.random.default_rng(d)
    factor = np.triu(rng.normal(size=(d, d))) + 5 * np.eye(d)
    right = rng.normal(size=d)
    out = np.full(d, np.nan)
    back_substitute(factor, right, out)
    np.testing.assert_allclose(factor @ out, right, rtol=1e-12, atol=1e-13)
    out = right.copy()
    forward_substitute(factor, out)
    np.testing.assert_allclose(factor.T @ out, right, rtol=1e-12, atol=1e-13)


SHAPES = [(1, 1), (1, 5), (6, 1), (40, 3), (7, 20)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_norms_and_predictions_leave_the_actions_as_they_were(shape):
    rng = np.random.default_rng(3)
    actions = rng.normal(size=shape)
    kept = actions.copy()
    factor = 2.0 * np.eye(shape[1])
    np.testing.assert_allclose(norms(factor, actions), np.linalg.norm(kept, axis=1) / 2, rtol=1e-15)
    np.testing.assert_allclose(predictions(np.arange(shape[1]) + 1.0, actions), kept @ (np.arange(shape[1]) + 1.0))
    assert actions.tobytes() == kept.tobytes()
    actions.flags.writeable = False
    norms(factor, actions)
    norms(factor, np.asfortranarray(kept))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_norms_and_predictions_are_the_same_bits_compiled(shape):
    rng = np.random.default_rng(4)
    actions = rng.normal(size=shape)
    actions[0] = 0.0
    factor = np.triu(rng.normal(size=(shape[1], shape[1]))) + 3 * np.eye(shape[1])
    theta = rng.normal(size=shape[1])
    assert CALLS[norms](factor, actions.copy()).tobytes() == norms(factor, actions.copy()).tobytes()
    assert CALLS[predictions](theta, actions).tobytes() == predictions(theta, actions).tobytes()
    assert norms(factor.tolist(), actions.copy()).tobytes() == norms(factor, actions.copy()).tobytes()
    assert predictions(theta.tolist(), actions).tobytes() == predictions(theta, actions).tobytes()


@pytest.mark.parametrize("ridge", [1e-6, 1.0, 1e6])
def test_before_the_first_observation_there_is_only_the_penalty(ridge):
    regression = start_regression(3, ridge)
    assert regression.theta.tolist() == [0.0, 0.0, 0.0]
    assert log_determinant(regression.factor) == pytest.approx(3 * math.log(ridge), abs=1e-12)
    np.testing.assert_allclose(norms(regression.factor, np.eye(3)), 1 / math.sqrt(ridge), rtol=1e-15)
    assert drift(regression.factor, regression.gram) < 1e-15

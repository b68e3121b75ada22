"""Distances in single precision: never further off than they say, and seldom unsure."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap.policies.linear.estimated_distances import estimated_distances
from bandstrap.policies.linear.known_actions import record, start_known
from bandstrap.policies.linear.replicates import Observed
from naive import linear as naive
from policies.linear.compiled import estimating
from sampling import each, exhaustive, telling

N_REPLICATES = 8


def estimates(X, y, weights, ridge, theta, call):
    """Distances of replicates that hold each observation so often, and what they may be off by."""
    known = start_known(X.shape[1], len(X) + 1)
    labels = np.array([record(known, x, float(reward)) for x, reward in zip(X, y, strict=True)], dtype=np.int64)
    order = np.argsort(labels, kind="stable")
    lengths = np.full(weights.shape[1], np.nan)
    doubt = call(known, Observed(np.array([len(X)]), labels, y), weights[order].astype(np.uint8), ridge, theta, lengths)
    return lengths, doubt


def problem(kind, d, n, seed):
    rng = np.random.default_rng(seed)
    actions = rng.normal(size=(rng.integers(1, 40), d))
    if kind == "collinear":
        actions += 10 * actions[0]
    elif kind == "discrete":
        actions = np.sign(actions)
    elif kind == "scaled":
        actions *= 10.0 ** rng.uniform(-3, 3, d)
    X = actions[rng.choice(len(actions), n, p=rng.dirichlet(np.full(len(actions), 0.3)))]
    y = rng.normal(size=n) * 10 ** rng.uniform(-6, 6)
    if kind == "offset":
        y += 1e4 * np.abs(y).max()
    return X, y, rng.multinomial(n, np.full(n, 1 / n), N_REPLICATES).T


@exhaustive
@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(["random", "collinear", "discrete", "scaled", "offset"]),
    st.integers(1, 15),
    st.integers(1, 300),
    st.floats(-3, 3),
    st.integers(0, 2**32),
)
def test_no_distance_is_further_off_than_said(kind, d, n, exponent, seed):
    ridge = 10**exponent
    X, y, weights = problem(kind, d, n, seed)
    theta = naive.stable_estimate(X, y, ridge)
    found, doubt = estimates(X, y, weights, ridge, theta, estimating.compiled)
    exact = []
    for w in weights.T:  # the lengths of projections, which no condition number spoils
        rows = np.vstack([math.sqrt(ridge) * np.eye(d), np.sqrt(w)[:, None] * X])
        residuals = np.concatenate([-math.sqrt(ridge) * theta, np.sqrt(w) * (y - X @ theta)])
        exact.append(np.linalg.norm(np.linalg.qr(rows)[0].T @ residuals))
    assert doubt > 0
    if doubt < math.inf:
        assert np.abs(found - exact).max() <= doubt


@exhaustive
@each("d", [1, 5, 20])
@each("scale", [1e-100, 1.0, 1e100])
def test_ordinary_problems_are_known_to_a_hundredth_whatever_their_scale(d, scale):
    X, y, weights = problem("random", d, 500, d)
    X, y = X * 1e3, y * scale  # a ridge of 1, were features about 1
    theta = naive.estimate(X, y, 1e6)
    found, doubt = estimates(X, y, weights, 1e6, theta, estimating.compiled)
    assert doubt < 1e-2 * found.max()
    plain, plain_doubt = estimates(X, y, weights, 1e6, theta, estimated_distances)
    assert plain_doubt == pytest.approx(doubt, rel=1e-3)
    np.testing.assert_allclose(plain, found, rtol=1e-4)


@telling("is_compiled", [False, True], [False])
@each(
    ("features", "rewards", "ridge"),
    [(0.0, 1.0, 1.0), (1.0, 0.0, 1.0), (1e30, 1.0, 1.0), (1e-30, 1.0, 1.0), (1.0, 1e300, 1.0), (1.0, 1.0, 1e-12)],
)
def test_where_single_precision_ends_nothing_is_said(is_compiled, features, rewards, ridge):
    X = np.outer([1.0, 2.0, 3.0, 4.0], [1.0, 0.3, -0.7]) * features
    y = np.array([1.0, -1.0, 2.0, 0.5]) * rewards
    call = estimating.compiled if is_compiled else estimated_distances
    with np.errstate(all="ignore"):  # as in machine code
        _, doubt = estimates(X, y, np.ones((4, 5)), ridge, np.zeros(3), call)
    assert doubt == math.inf

"""SignFlipUCB(proved=True) against its formula in fractions: never below, and above by rounding only."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap.engine.simulator.play import play
from bandstrap.errors import InvalidInput
from bandstrap.policies import SignFlipUCB
from naive import sign_flip as naive
from naive.studentized import root
from policies.learning import choices_on, learned, scores

SMALLEST = 2.0**-1040
EXPONENTS = (-1000, -300, -30, 0, 30, 300)


def index(y, t=1, **options):
    """Index of an arm with rewards ``y`` in round ``t``."""
    return scores(SignFlipUCB(proved=True, **options), [y], t)[0]


def assert_formula(found, y, twice_log):
    """An index is at least the formula, in fractions, and above it by no more than rounding may be."""
    square, mean = naive.square_of_self_normalised_width(y, twice_log)
    if square is None or found == math.inf:
        assert found == math.inf
        assert len(y) <= twice_log * (1 + 2.0**-48)
        return
    excess = Fraction(found) - mean
    assert excess >= 0
    assert excess**2 >= square
    n = len(y)
    spread = sum((Fraction(float(reward)) - mean) ** 2 for reward in y) / n
    # The logarithm may be 2^-48 larger, the variance 4 n^2 2^-53, and the mean's size counts at the end.
    larger, _ = naive.square_of_self_normalised_width(y, Fraction(twice_log) * (1 + Fraction(1, 2**48)))
    if larger is None:
        return
    most = root(larger) * (1 + n * n * 2.0**-48) + 8 * n**1.5 * 2.0**-52 * root(spread)
    size = max(abs(float(mean)), abs(found))
    assert found <= float(mean) + most * (1 + 1e-12) + 8 * size * 2.0**-52 + SMALLEST


rewards = (
    st.lists(st.floats(-5, 5, width=32), min_size=1, max_size=40)
    | st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=60)
    | st.lists(st.sampled_from([0.1, 0.1, 0.1, 0.3, 1e9, -7.0]), min_size=8, max_size=40)
    | st.builds(lambda value, n: [value] * n, st.sampled_from([0.0, 0.1, -1e150]), st.integers(1, 40))
    | st.builds(
        lambda shift, y: [shift + v for v in y], st.just(1e15), st.lists(st.floats(-5, 5), min_size=9, max_size=30)
    )
)


@settings(max_examples=200, deadline=None)
@given(rewards, st.floats(1e-7, 0.9) | st.just(0.5), st.sampled_from(EXPONENTS))
def test_an_index_is_the_formula_rounded_up(y, alpha, exponent):
    y = np.ldexp(y, exponent)
    assert_formula(index(y, alpha=alpha), y, naive.twice_log_inverse(alpha))


@pytest.mark.parametrize("reward", [0.1, -0.1, 0.7, 0.9])
def test_what_the_variance_loses_by_rounding_is_added(reward):
    # Sums of decimals drift, and a first reward far from all others makes Q/n far larger than the variance.
    y = np.concatenate([[0.0], np.full(1999, reward)])
    assert_formula(index(y, alpha=1e-240), y, naive.twice_log_inverse(1e-240))


@pytest.mark.parametrize("sign", [-1, 1])
def test_what_the_mean_loses_by_rounding_is_added(sign):
    # At a high level the width is small, and cannot make up for it.
    for seed in range(4):
        tenths = np.random.default_rng(seed).choice([1, 1, 1, 7], size=2000)
        y = sign * np.concatenate([[0.0], 0.1 * tenths])
        assert_formula(index(y, alpha=0.9), y, naive.twice_log_inverse(0.9))


@pytest.mark.parametrize("n", range(5, 60, 3))
def test_levels_at_which_the_index_has_just_become_finite_are_rounded_up(n):
    # There a rounding of the logarithm moves the index by many; without UP some are too low.
    y = np.arange(n) - (n - 1) / 2
    for part in np.linspace(1e-12, 2e-12, 20):
        alpha = math.exp(-n / 2 * (1 - part))
        assert_formula(index(y, alpha=alpha), y, naive.twice_log_inverse(alpha))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=90), st.integers(2, 10**7))
def test_levels_fall_with_the_round(y, t):
    assert_formula(index(y, t), y, naive.twice_log_at(t))


@pytest.mark.parametrize("horizon", [1, 2, 500, 10**6])
def test_a_level_may_be_fixed_by_the_horizon(horizon):
    y = np.random.default_rng(0).normal(size=70)
    policy = SignFlipUCB(proved=True, alpha="1/T^2", horizon=horizon)
    for t in (2, 10**6):
        assert_formula(scores(policy, [y], t)[0], y, 2 * naive.twice_log_inverse(1 / max(horizon, 2)))


def test_it_is_infinite_just_while_rewards_are_too_few():
    # At 2L = 7.9999 and 8.0001, and not only to a part of a reward.
    y = np.arange(9.0)
    for level, finite in ((math.exp(-3.99), True), (math.exp(-4.001), False)):
        assert math.isfinite(index(y[:8], alpha=level)) is finite
    assert math.isinf(index(y, 4)) is (naive.twice_log_at(4) >= 9)


@pytest.mark.parametrize(
    "sizes", [(1,) * 9, (0, 1, 1, 2, 3, 5, 8, 1), (1, 2, 4, 8, 16, 32, 64, 128), (5,) * 4 + (0,) * 4]
)
def test_it_covers_the_mean_over_all_signs(sizes):
    # Exactly: as many signs as lemma 1 allows at most, and no sign at which the sign-flip bound itself covers.
    n = len(sizes)
    rows = np.array(list(itertools.product([-1, 1], repeat=n))) * np.array(sizes)
    counts = naive.at_least(rows, 0)
    for alpha in (0.03, 0.1, 0.3):
        missed = np.array([index(row, alpha=alpha) < 0 for row in rows])
        assert missed.sum() <= alpha * 2**n
        assert (counts[missed] <= alpha * 2**n).all()
    assert missed.any() or max(sizes) > 100  # it is a test


def test_choices_are_those_of_the_formula_and_the_same_compiled():
    rng = np.random.default_rng(1)
    tape = rng.normal(size=(3, 150)) + np.array([[0.0], [0.5], [1.5]])
    policy = SignFlipUCB(proved=True)
    choices = choices_on(policy, tape, by=play)
    assert (choices == choices_on(policy, tape)).all()
    order = policy.start(3, 150, np.random.default_rng(5)).order
    for t in range(3, 150):
        pulls = np.bincount(choices[:t], minlength=3)
        parts = [
            naive.square_of_self_normalised_width(tape[arm, : pulls[arm]], naive.twice_log_at(t + 1)) for arm in order
        ]
        values = [math.inf if square is None else float(mean) + root(square) for square, mean in parts]
        assert choices[t] == order[int(np.argmax(values))]


@pytest.mark.parametrize("factor", [2.0**-900, 2.0**-30, 2.0, 2.0**400])
def test_a_power_of_two_changes_no_choice(factor):
    for values in ((0.0, 1.0), (-1.0, 0.0, 0.3)):
        tape = np.random.default_rng(0).choice(values, size=(4, 300))
        policy = SignFlipUCB(proved=True)
        assert choices_on(policy, tape).tolist() == choices_on(policy, factor * tape).tolist()


def test_units_grow_with_rewards():
    # 1e-200 at first, and 1e100 later: squares of both, in one unit, would be lost or infinite.
    y = np.concatenate([1e-200 * np.arange(10), 1e100 * np.random.default_rng(0).normal(size=20)])
    for n in (5, 10, 11, 30):
        assert_formula(index(y[:n], alpha=0.2), y[:n], naive.twice_log_inverse(0.2))
    _, state = learned(SignFlipUCB(proved=True), y)
    assert np.isfinite(state.squares).all()


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"sigma": 1.0}, "'sigma' parameter of SignFlipUCB must be left out where 'proved' is true. Got 1.0"),
        (
            {"alpha": "1/(t log^tau t)"},
            r"'alpha' parameter of SignFlipUCB must be '1/T\^2', a number, or left out, where",
        ),
        ({"alpha": lambda t: 0.1}, r"'alpha' parameter of SignFlipUCB must be '1/T\^2', a number, or left out, where"),
        ({"alpha": 2.0}, "'alpha' parameter of SignFlipUCB must be a number in the open interval"),
    ],
)
def test_what_is_not_proved_is_refused(options, match):
    with pytest.raises(InvalidInput, match=match):
        SignFlipUCB(proved=True, **options)


def test_a_horizon_must_be_said_online():
    with pytest.raises(InvalidInput, match="'horizon' parameter of SignFlipUCB must be given for alpha='1/T"):
        SignFlipUCB(proved=True, alpha="1/T^2", arms=2)


def test_the_default_is_what_it_was():
    assert SignFlipUCB(proved=False).kernel is SignFlipUCB.kernel
    assert SignFlipUCB(proved=True).kernel is not SignFlipUCB.kernel
    assert SignFlipUCB(proved=True).label == "sign_flip_ucb:proved=True"

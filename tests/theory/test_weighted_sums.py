"""Theorem 2 and lemma 1 for weighted sums: formulas, what is proved, what is exceeded, and moments by the multinomial."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap.errors import InvalidInput
from bandstrap.theory import mean_deviation_bound, sub_weibull_constant, sum_deviation_bound
from bandstrap.theory.weighted_sums import least_sum_deviation, sum_moment, weighted_terms
from naive.theory import weibull_sum_moment
from sampling import each, exhaustive

BETAS = st.sampled_from([0.5, 0.8, 1.0, 1.5, 2.0, 4.0])
WEIGHTS = st.lists(st.floats(-3, 3), min_size=1, max_size=4)


def equal(n):
    return np.full(n, 1 / n)


@given(n=st.integers(1, 10**4), log=st.floats(2, 500), beta=BETAS)
def test_equal_weights_are_a_mean(n, log, beta):
    width = mean_deviation_bound(n, math.exp(-log), sigma=1, beta=beta, constant=1)
    assert weighted_terms(equal(n), log, beta) == pytest.approx(width, rel=1e-9)
    printed = math.sqrt(log / n) + log ** (1 / beta) / n
    assert weighted_terms(equal(n), log, beta, form="printed") == pytest.approx(printed, rel=1e-9)
    options = {"sigma": 1.3, "beta": beta}
    if log < 40:
        assert sum_deviation_bound(equal(n), math.exp(-log), **options) == pytest.approx(
            mean_deviation_bound(n, math.exp(-log), **options), rel=1e-9
        )


@given(weights=WEIGHTS, log=st.floats(2, 50), beta=BETAS, scale=st.floats(0.01, 100))
def test_terms_are_norms_and_widths_scale_and_know_no_signs_order_or_zeros(weights, log, beta, scale):
    a = np.array(weights)
    two, most = math.sqrt(sum(x * x for x in weights)), max(map(abs, weights))
    dual = beta / (beta - 1) if beta > 1 else math.inf
    norm = {False: sum(abs(x) ** dual for x in weights) ** (1 / dual) if dual < math.inf else most, True: 0.0}[
        beta >= 2
    ]
    assert weighted_terms(a, log, beta) == pytest.approx(two * log**0.5 + norm * log ** (1 / beta), rel=1e-9, abs=1e-12)
    assert weighted_terms(a, log, beta, form="printed") == pytest.approx(
        two * log**0.5 + most * log ** (1 / beta), rel=1e-9, abs=1e-12
    )
    options = {"sigma": 2.0, "beta": beta}
    width = sum_deviation_bound(a, math.exp(-log), **options)
    for other in (-a[::-1], np.append(a, 0.0)):
        assert sum_deviation_bound(other, math.exp(-log), **options) == pytest.approx(width, rel=1e-9)
    assert sum_deviation_bound(scale * a, math.exp(-log), **options) == pytest.approx(scale * width, rel=1e-6)
    formula = sum_deviation_bound(a, math.exp(-log), **options, constant=1.5)
    assert formula == pytest.approx(3 * weighted_terms(a, log, beta), rel=1e-9)


@settings(deadline=None)
@given(
    weights=st.lists(st.sampled_from([-2.0, 0.5, 1.0, 3.0]), min_size=1, max_size=4), half=st.integers(1, 4), beta=BETAS
)
def test_moments_by_the_multinomial_theorem(weights, half, beta):
    expected = weibull_sum_moment(weights, 2 * half, beta) / 2 ** (1 / beta)
    assert sum_moment(weights, 2 * half, beta) == pytest.approx(expected, rel=1e-10)


@each("beta", [0.5, 1.0, 1.5, 2.0])
@each("weights", [(1 / 3, 1 / 3, 1 / 3), (1.0, 0.5, 0.2)], ids=str)
def test_sums_do_exceed_what_they_are_said_to(weights, beta):
    # Of 400,000 sums of three, the share beyond the number is above exp(-6) = 0.0025, or below it by less than
    # 4 standard errors (0.0003). Two and a half times the number is exceeded by fewer, so the statement is not empty.
    norm, total = 2 ** (1 / beta), 400_000
    rng = np.random.default_rng(9)
    sample = rng.exponential(size=(total, 3)) ** (1 / beta) * rng.choice([-1.0, 1.0], size=(total, 3))
    sums = np.abs(sample @ weights) / norm
    least = least_sum_deviation(weights, 6.0, beta)
    assert np.mean(sums >= least) > math.exp(-6) - 4 * math.sqrt(math.exp(-6) / total)
    assert np.mean(sums >= 2.5 * least) < math.exp(-6)
    proved = sum_deviation_bound(weights, math.exp(-6), sigma=1, beta=beta)
    assert np.mean(sums >= proved) < math.exp(-6)


def test_what_is_needed_is_never_more_than_what_is_proved():
    for beta in (0.5, 1.0, 1.4, 2.0, 3.0):
        for a in (equal(1), equal(10), equal(1000), np.array([1.0, 0.3, -0.3, 0.1])):
            for log in (3.0, 30.0):
                proved = sum_deviation_bound(a, math.exp(-log), sigma=1, beta=beta)
                assert least_sum_deviation(a, log, beta) <= proved
                order = 2 * round(log / 2)
                assert sum_moment(a, order, beta) <= math.e * proved


@exhaustive
def test_theorem_two_as_printed_has_no_constant_between_one_and_two():
    sizes = [10**k for k in range(2, 7)]
    ratios = {
        form: [
            least_sum_deviation(equal(n), n**2, 4 / 3) / weighted_terms(equal(n), n**2, 4 / 3, form=form) for n in sizes
        ]
        for form in ("printed", "corrected")
    }
    assert all(later > 1.7 * earlier for earlier, later in itertools.pairwise(ratios["printed"]))
    assert max(ratios["corrected"]) < 0.6
    for beta in (0.5, 1.0, 2.0, 3.0):  # where it holds, the same path stays bounded
        assert all(
            least_sum_deviation(equal(n), n**2, beta) < weighted_terms(equal(n), n**2, beta, form="printed")
            for n in sizes
        )


def test_one_constant_serves_unequal_weights_too():
    rng = np.random.default_rng(3)
    for beta in (0.5, 1.0, 2.0):
        for a in (rng.exponential(size=6), 0.5 ** np.arange(8), np.array([1.0, *[0.05] * 10])):
            proved = sum_deviation_bound(a, math.exp(-2), sigma=1, beta=beta)
            assert proved <= 1.01 * sub_weibull_constant(beta) * weighted_terms(a, 2.0, beta)


def test_weights_of_zero_have_no_deviation_and_tiny_exponents_an_infinite_one():
    assert sum_deviation_bound([0.0, 0.0], 0.1, sigma=1, beta=1) == 0
    assert sum_moment([0.0], 2, 1.0) == 0
    assert weighted_terms(equal(3), 10.0, 1e-9) == weighted_terms(equal(3), 10.0, 1e-9, form="printed") == math.inf
    with pytest.raises(
        InvalidInput, match="'beta' parameter of sum_deviation_bound must be large enough that the moments"
    ):
        sum_deviation_bound([1.0], 0.1, sigma=1, beta=1e-9)


@each(
    ("function", "arguments", "parameter"),
    [
        (sum_moment, ([1.0], 5, 1.0), "order"),
        (weighted_terms, ([1.0], 0.0, 1.0), "log_level"),
        (weighted_terms, ([], 1.0, 1.0), "weights"),
        (weighted_terms, ([[1.0]], 1.0, 1.0), "weights"),
        (least_sum_deviation, ([1.0], 1.0, 0.0), "beta"),
        (least_sum_deviation, ([math.nan], 1.0, 1.0), "weights"),
    ],
)
def test_refusals_name_the_parameter(function, arguments, parameter):
    with pytest.raises(InvalidInput, match=f"'{parameter}' parameter of {function.__name__}"):
        function(*arguments)

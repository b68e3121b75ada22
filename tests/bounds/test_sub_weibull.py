import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import gammaln

from bandstrap.bounds import hoeffding, sub_weibull
from bandstrap.bounds.sub_weibull import finite_width, log_convolve, log_moment, theorem_terms
from bandstrap.errors import InvalidInput
from naive import bounds as naive
from sampling import each, exhaustive


@exhaustive
@settings(derandomize=True, deadline=None, max_examples=30)
@given(
    st.integers(1, 3),
    st.floats(0.02, 0.9),
    st.sampled_from([0.5, 0.8, 1.0, 1.5, 2.0, 3.0, 10.0]),
    st.booleans(),
)
def test_width_equals_the_multinomial_expansion_of_moments(n, alpha, beta, symmetric):
    expected = naive.sub_weibull_width(n, alpha, beta, symmetric=symmetric)
    assert finite_width(n, alpha, beta, symmetric, "test") == pytest.approx(expected, rel=1e-8)


@each("beta", [0.3, 0.5, 1.0, 1.7, 2.0, 4.0, 30.0])
@each("order", [2, 3, 4, 8, 24])
def test_moment_is_the_largest_over_laws_of_two_points(order, beta):
    assert log_moment(order, beta) == pytest.approx(math.log(naive.largest_moment(order, beta)), rel=1e-9, abs=1e-9)


@each("order", range(2, 30))
def test_moments_of_known_laws_stay_below_the_largest(order):
    weibull_half = gammaln(1 + 2 * order) - order * math.log(4)  # E|y|^p = Gamma(1 + p/beta), psi norm 4
    laplace = gammaln(1 + order) - order * math.log(2)
    normal = math.log(2 ** (order / 2) / math.sqrt(math.pi)) + gammaln((order + 1) / 2) - order / 2 * math.log(8 / 3)
    assert weibull_half < log_moment(order, 0.5)
    assert laplace < log_moment(order, 1.0)
    assert normal < log_moment(order, 2.0)


@pytest.mark.parametrize("beta", [2.0, 2.5, 8.0])
def test_second_moment_of_light_tails_is_that_of_a_random_sign(beta):
    # |y| = log(2)^(1/beta) is the law of norm 1 with the largest variance.
    assert log_moment(2, beta) == pytest.approx(2 / beta * math.log(math.log(2)), rel=1e-14)


def test_log_convolution_multiplies_power_series():
    first, second = np.array([1.0, 2.0, 0.0, 3.0]), np.array([2.0, 0.0, 5.0, 1.0])
    with np.errstate(divide="ignore"):
        got = np.exp(log_convolve(np.log(first), np.log(second)))
    np.testing.assert_allclose(got, np.convolve(first, second)[:4], rtol=1e-14)


@pytest.mark.parametrize(
    ("beta", "rest"), [(0.5, 9 / 16), (1.0, 3 / 16), (1.5, (3 / 16) ** (2 / 3)), (2.0, 0.0), (5.0, 0.0)]
)
def test_terms_of_theorem_two_with_its_second_term_corrected(beta, rest):
    main, second = theorem_terms(16, 3.0, beta)
    assert main == pytest.approx(math.sqrt(3) / 4, rel=1e-14)
    assert second == pytest.approx(rest, rel=1e-14)


@each("beta", [0.5, 1.0, 1.5, 2.0, 3.0])
@each("symmetric", [False, True])
def test_reported_constant_turns_the_formula_into_the_computed_width(beta, symmetric):
    bound = sub_weibull(np.zeros(20), 0.05, sigma=1.7, beta=beta, symmetric=symmetric)
    main, rest = theorem_terms(20, math.log(20), beta)
    constant = bound.parts["constant"]
    assert bound.width == pytest.approx(1.7 * finite_width(20, 0.05, beta, symmetric, "test"), rel=1e-13)
    assert bound.parts["main"] == pytest.approx(constant * 1.7 * main, rel=1e-13)
    assert bound.parts["correction"] == pytest.approx(constant * 1.7 * rest, rel=1e-13)
    assert bound.method == "moments"
    assert bound.guarantee == 0.05


def test_given_constant_is_used_as_it_is_and_proves_nothing():
    bound = sub_weibull(np.zeros(20), 0.05, sigma=1.7, beta=1.0, constant=2.5)
    assert bound.width == pytest.approx(2.5 * 1.7 * sum(theorem_terms(20, math.log(20), 1.0)), rel=1e-13)
    assert bound.guarantee is None
    assert bound.method == "closed-form"


def test_constants_lie_where_the_documentation_says():
    grid = [(n, alpha) for n in (1, 2, 5, 10, 30, 100, 300, 1000) for alpha in (0.2, 0.05, 0.01, 1e-3, 1e-4)]

    def constants(beta: float) -> list[float]:
        return [
            finite_width(n, alpha, beta, False, "test") / sum(theorem_terms(n, math.log(1 / alpha), beta))
            for n, alpha in grid
        ]

    for beta in (1.0, 1.25, 1.5, 1.75, 2.0, 3.0, 5.0, 10.0):
        assert min(constants(beta)) >= 0.4
        assert max(constants(beta)) <= 1.6
    assert max(constants(0.5)) == pytest.approx(3.25, abs=0.05)


def test_width_does_not_jump_where_the_second_term_does():
    for beta in (1.0, 2.0):
        below, above = (finite_width(10, 0.05, beta + step, False, "test") for step in (-1e-9, 1e-9))
        assert below == pytest.approx(above, rel=1e-7)


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_symmetry_narrows_and_rewards_help(beta):
    widths = [finite_width(n, 0.05, beta, False, "test") for n in (1, 2, 4, 8, 16, 64, 256)]
    assert widths == sorted(widths, reverse=True)
    # At high levels the second moment may be best, where symmetry does not show.
    assert finite_width(8, 0.05, beta, True, "test") <= finite_width(8, 0.05, beta, False, "test")
    assert finite_width(8, 1e-5, beta, True, "test") < finite_width(8, 1e-5, beta, False, "test")


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_width_shrinks_like_one_over_root_n(beta):
    assert finite_width(40_000, 0.05, beta, False, "test") == pytest.approx(
        finite_width(10_000, 0.05, beta, False, "test") / 2, rel=0.01
    )


@each("n", [1, 5, 50, 1000])
@each("alpha", [0.2, 0.01, 1e-4])
def test_sub_gaussian_width_is_of_hoeffdings_order(n, alpha):
    sample = np.zeros(n)
    ratio = sub_weibull(sample, alpha, sigma=math.sqrt(8 / 3), beta=2).width / hoeffding(sample, alpha, sigma=1).width
    # Two-sided, and for every law of that norm, so it cannot beat the normal law's own two-sided quantile.
    assert stats.norm.isf(alpha / 2) / math.sqrt(2 * math.log(1 / alpha)) < ratio < 1.6


@each("sigma", [None, 0, -1.0, math.nan, "a", True])
def test_sigma_must_be_a_positive_number(sigma):
    with pytest.raises(InvalidInput, match="'sigma' parameter of sub_weibull must be a finite number greater than 0"):
        sub_weibull([0.5], 0.05, sigma=sigma, beta=1.0)


@each("beta", [None, 0, -1.0, math.inf, "a", True])
def test_beta_must_be_a_positive_number(beta):
    with pytest.raises(InvalidInput, match="'beta' parameter of sub_weibull must be a finite number greater than 0"):
        sub_weibull([0.5], 0.05, sigma=1.0, beta=beta)


@pytest.mark.parametrize("constant", [0, -1.0, math.nan, "a", True])
def test_constant_must_be_a_positive_number(constant):
    with pytest.raises(InvalidInput, match="'constant' parameter of sub_weibull must be a finite number greater"):
        sub_weibull([0.5], 0.05, sigma=1.0, beta=1.0, constant=constant)


@pytest.mark.parametrize(("alpha", "beta"), [(0.1, 1e-9), (0.1, 5e-324), (5e-324, 2.0)])
def test_an_exponent_or_a_level_whose_moments_overflow_is_refused(alpha, beta):
    with pytest.raises(InvalidInput, match=r"'beta' parameter of sub_weibull must be large enough that the moments"):
        sub_weibull([0.2, 0.9], alpha, sigma=1.0, beta=beta)
    assert sub_weibull([0.2, 0.9], alpha, sigma=1.0, beta=beta, constant=1.0).upper > 0.9


def test_a_huge_scale_gives_an_infinite_bound():
    assert sub_weibull([0.2, 0.9], 0.1, sigma=1.7e308, beta=2).upper == math.inf

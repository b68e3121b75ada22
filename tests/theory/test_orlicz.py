import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from bandstrap.errors import InvalidInput
from bandstrap.theory import orlicz_norm, sample_orlicz_norm, tail_bound
from naive import theory as naive
from sampling import each, telling

LOG_2 = math.log(2)
BETAS = st.sampled_from([0.5, 1.0, 1.7, 2.0, 6.0])
SAMPLES = st.lists(st.floats(-100, 100).map(lambda y: round(y, 3)), min_size=1, max_size=8)
SCALES = [1e-8, 1e-3, 1.0, 1e8]

# Laws whose E exp(|y|^beta / c^beta) has a closed form: law, beta, whether centred, norm.
EXACT = {
    "normal": (stats.norm, (), 2, True, math.sqrt(8 / 3)),
    "laplace": (stats.laplace, (), 1, True, 2.0),
    "exponential, raw": (stats.expon, (), 1, False, 2.0),
    "gamma, raw": (stats.gamma, (2.5,), 1, False, 1 / (1 - 2 ** (-1 / 2.5))),
    "chi-squared, infinite at its end": (stats.chi2, (1,), 1, False, 2 / (1 - 2**-2)),
    "uniform, raw": (stats.uniform, (), 1, False, 0.7959050946318330),  # c (e^{1/c} - 1) = 2
    "inverse Gaussian, jumps to infinity": (stats.invgauss, (3.0,), 1, False, 18.0),
    "half-normal, jumps to infinity": (stats.halfnorm, (), 2, True, math.sqrt(2)),
    **{
        f"Weibull {b}": (stats.dweibull, (b,), b, True, 2 ** (1 / b)) for b in (0.25, 0.5, 0.8, 1.0, 1.5, 2.0, 3.0, 8.0)
    },
}


@each("scale", SCALES)
@each("name", EXACT)
def test_norms_that_are_known(name, scale):
    family, shape, beta, centred, norm = EXACT[name]
    law = family(*shape, scale=scale)
    assert orlicz_norm(law, beta, centred=centred) == pytest.approx(scale * norm, rel=3e-7 if "half" in name else 1e-10)


DISCRETE = {
    "fair coin": (stats.bernoulli(0.5), 1, True, 0.5 / LOG_2),
    "poisson, raw": (stats.poisson(3), 1, False, 1 / math.log1p(LOG_2 / 3)),
    "geometric, raw": (stats.geom(0.3), 1, False, 1 / math.log(2 / (0.3 + 2 * 0.7))),
    "certain": (stats.binom(4, 1.0), 2, True, 0.0),
}


@pytest.mark.parametrize("name", DISCRETE)
def test_norms_of_discrete_laws_that_are_known(name):
    law, beta, centred, norm = DISCRETE[name]
    assert orlicz_norm(law, beta, centred=centred) == pytest.approx(norm, rel=1e-12)


@pytest.mark.parametrize("values", [[0, 1.5], [-10, 0, 10], [0, 1, 1, 100], [0.25, 0.5, 7]], ids=str)
def test_norms_of_listed_values_wherever_they_lie(values):
    # Off the whole numbers, and beyond values that have no probability: found only if they are read off the list.
    atoms, counts = np.unique(values, return_counts=True)
    law = stats.rv_discrete(values=(atoms, counts / counts.sum()))(loc=3)
    for beta in (0.5, 2):
        assert orlicz_norm(law, beta) == pytest.approx(sample_orlicz_norm(values, beta), rel=1e-12)


@pytest.mark.parametrize(
    ("law", "beta"),
    [
        (stats.logistic(), 1),
        (stats.expon(), 0.5),
        (stats.gumbel_r(), 1),
        (stats.skewnorm(3), 1.5),
        (stats.laplace_asymmetric(2), 1),
        (stats.beta(2, 3), 5),
        (stats.truncnorm(-1, 1), 2),
    ],
)
@telling("centred", [True, False], [False])
def test_norm_agrees_with_adaptive_quadrature(law, beta, centred):
    norm = orlicz_norm(law, beta, centred=centred)
    centre = law.mean() if centred else 0.0
    low, high = (float(np.clip(end, -300, 300)) for end in law.support())
    ends = sorted({low, high, *np.clip([centre, 0.0, *law.ppf([1e-9, 0.1, 0.5, 0.9, 1 - 1e-9])], low, high)})
    expected = naive.density_norm(law.logpdf, centre, tuple(ends), beta, norm)
    assert norm == pytest.approx(expected, rel=2e-6)


@each(
    ("law", "beta"),
    [
        (stats.t(3), 0.05),
        (stats.t(30), 2),
        (stats.cauchy(), 1),
        (stats.pareto(5), 0.1),
        (stats.lognorm(1), 0.05),
        (stats.lognorm(0.1), 1),
        (stats.norm(), 2.001),
        (stats.norm(1e8, 1e-3), 3),
        (stats.laplace(), 1.01),
        (stats.gamma(100), 1.001),
        (stats.gumbel_r(), 1.01),
        (stats.gumbel_l(), 1.01),
        (stats.dweibull(0.5), 0.501),
        (stats.poisson(3), 1.1),
        (stats.geom(0.2), 1.01),
        (stats.zipf(4), 0.3),
    ],
)
def test_norm_is_infinite_where_tails_are_too_heavy(law, beta):
    assert orlicz_norm(law, beta) == math.inf
    assert orlicz_norm(law, beta, centred=False) == math.inf


@each(
    ("law", "beta"),
    [
        (stats.rice(1), 2),
        (stats.hypsecant(), 1),
        (stats.moyal(), 1),
        (stats.ncx2(3, 5), 1),
        (stats.skewnorm(3), 2),
        (stats.gengamma(3, 0.5), 0.5),
        (stats.beta(0.1, 0.1), 30),
        (stats.skellam(3, 4), 1),
        (stats.nbinom(3, 0.4), 1),
    ],
)
def test_norm_is_finite_at_the_heaviest_tail_allowed(law, beta):
    norm = orlicz_norm(law, beta)
    assert 0 < norm < math.inf
    t = np.linspace(0, 5 * law.std(), 50)
    assert (law.sf(law.mean() + t) <= tail_bound(t, sigma=norm, beta=beta)).all()


@settings(derandomize=True, deadline=None, max_examples=20)
@given(st.floats(-1e3, 1e3), st.integers(-20, 20), st.sampled_from([0.5, 1.0, 2.0]))
def test_centred_norm_scales_and_does_not_move(shift, octaves, beta):
    scale = 2.0**octaves
    assume(abs(shift) < 1e6 * scale)
    law = stats.truncnorm(-1, 2, loc=shift, scale=scale)
    assert orlicz_norm(law, beta) == pytest.approx(scale * orlicz_norm(stats.truncnorm(-1, 2), beta), rel=1e-7)


@settings(derandomize=True, deadline=None)
@given(SAMPLES, BETAS, st.booleans())
def test_norm_of_a_sample_is_the_root(sample, beta, centred):
    values = np.asarray(sample)
    distances = np.abs(values - values.mean()) if centred else np.abs(values)
    assume(distances.max() > 1e-6)
    expected = naive.atoms_norm(distances, np.full(values.size, 1 / values.size), beta)
    assert sample_orlicz_norm(sample, beta, centred=centred) == pytest.approx(expected, rel=1e-10)


@settings(derandomize=True, deadline=None)
@given(SAMPLES, SAMPLES, BETAS.filter(lambda beta: beta >= 1))
def test_norm_of_a_sum_is_at_most_the_sum(first, second, beta):
    size = min(len(first), len(second))
    first, second = np.array(first[:size]), np.array(second[:size])
    total = sample_orlicz_norm(first + second, beta)
    assert total <= (sample_orlicz_norm(first, beta) + sample_orlicz_norm(second, beta)) * (1 + 1e-9) + 1e-12


@settings(derandomize=True, deadline=None)
@given(SAMPLES, BETAS, st.integers(-26, 26), st.booleans())
def test_norm_of_a_sample_is_homogeneous(sample, beta, octaves, centred):
    norm = sample_orlicz_norm(sample, beta, centred=centred)
    scaled = sample_orlicz_norm(-np.ldexp(sample, octaves), beta, centred=centred)
    assert scaled == pytest.approx(math.ldexp(norm, octaves), rel=1e-12)


@settings(derandomize=True, deadline=None)
@given(SAMPLES, BETAS, st.floats(1, 3))
def test_norm_grows_with_distance_from_the_centre(sample, beta, factor):
    norm = sample_orlicz_norm(sample, beta, centred=False)
    farther = [factor * y if k % 2 else y for k, y in enumerate(sample)]
    assert sample_orlicz_norm(farther, beta, centred=False) >= norm * (1 - 1e-12)
    # Jensen: E exp(|y|^b s) <= 2 and (log 2)^{1/b} |y|-norm falls with b.
    lighter = sample_orlicz_norm(sample, 2 * beta, centred=False) * LOG_2 ** (1 / (2 * beta))
    assert lighter >= norm * LOG_2 ** (1 / beta) * (1 - 1e-12)


@pytest.mark.parametrize("n", [1, 3, 49])
def test_equal_rewards_have_norm_zero_about_their_mean(n):
    assert sample_orlicz_norm([0.1] * n, 2) == 0
    assert sample_orlicz_norm([0.1] * n, 2, centred=False) == pytest.approx(0.1 / math.sqrt(LOG_2), rel=1e-13)
    assert sample_orlicz_norm([0.0] * n, 2, centred=False) == 0


@pytest.mark.parametrize("power", [-1070, 1000])
@pytest.mark.parametrize("centred", [True, False])
def test_rewards_near_the_ends_of_all_numbers_have_a_norm(power, centred):
    sample = np.array([-3.0, 1.0, 3.0, 3.0])
    norm = sample_orlicz_norm(sample, 2, centred=centred)
    assert sample_orlicz_norm(np.ldexp(sample, power), 2, centred=centred) == pytest.approx(
        math.ldexp(norm, power), rel=0.1 if power < 0 else 1e-12
    )
    assert sample_orlicz_norm([-1.7e308, 1.7e308], 2) == math.inf  # 1.2 times as much


def test_an_exponent_for_which_a_norm_is_beyond_all_numbers():
    assert sample_orlicz_norm([-1.0, 1.0], 1e-4) == math.inf


def test_batches_give_one_norm_per_sample():
    batch = np.random.default_rng(0).normal(size=(2, 3, 7))
    norms = sample_orlicz_norm(batch, 2)
    assert norms.shape == (2, 3)
    assert norms[1, 2] == sample_orlicz_norm(batch[1, 2], 2)


def test_norm_of_quantiles_is_near_that_of_the_law():
    sample = stats.uniform.ppf((np.arange(2000) + 0.5) / 2000)
    assert sample_orlicz_norm(sample, 2) == pytest.approx(orlicz_norm(stats.uniform(), 2), rel=1e-5)


@pytest.mark.parametrize("law", [stats.norm, 3.0, [0.1, 0.2], stats.norm([0, 1])])
def test_law_must_be_one_frozen_distribution(law):
    with pytest.raises(InvalidInput, match=r"'law' parameter of orlicz_norm must be a frozen scipy.stats distribution"):
        orlicz_norm(law, 2)


def test_discrete_law_must_not_be_too_wide():
    with pytest.raises(
        InvalidInput, match="'law' parameter of orlicz_norm must be a distribution with at most 2000000 atoms"
    ):
        orlicz_norm(stats.geom(1e-6), 1)


@each("beta", [0, -1.0, math.nan, math.inf, "a", True])
def test_beta_must_be_positive(beta):
    with pytest.raises(InvalidInput, match="'beta' parameter of orlicz_norm must be a finite number greater than 0"):
        orlicz_norm(stats.norm(), beta)
    with pytest.raises(
        InvalidInput, match="'beta' parameter of sample_orlicz_norm must be a finite number greater than"
    ):
        sample_orlicz_norm([0.0], beta)

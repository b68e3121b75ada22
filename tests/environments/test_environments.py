"""Reward laws; z-tests allow five standard errors (6e-7 each), KS tests reject a right law with probability 1e-6."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from bandstrap.calls import parse_call
from bandstrap.environments import (
    ENVIRONMENTS,
    Arms,
    Bernoulli,
    Beta,
    Empirical,
    Environment,
    Exponential,
    Gaussian,
    Laplace,
    Logistic,
    StudentT,
    SubWeibull,
    TruncatedNormal,
    UnequalVariances,
)
from bandstrap.errors import InvalidInput

MEANS = (-0.3, 0.8)
UNIT_MEANS = (0.2, 0.7)
TRUNCATED_VARIANCE = 1 - 2 * stats.norm.pdf(1) / (stats.norm.cdf(1) - stats.norm.cdf(-1))


# Environment, means, and the law of a reward of a given mean.
LAWED = {
    "gaussian": (Gaussian(MEANS), lambda m: stats.norm(m, 1)),
    "gaussian scale 3": (Gaussian(MEANS, scale=3.0), lambda m: stats.norm(m, 3)),
    "truncated": (TruncatedNormal(MEANS), lambda m: stats.truncnorm(-1, 1, loc=m)),
    "truncated scale 2": (TruncatedNormal(MEANS, scale=2), lambda m: stats.truncnorm(-1, 1, loc=m, scale=2)),
    "logistic": (Logistic(MEANS), lambda m: stats.logistic(m, 0.5)),
    "laplace": (Laplace(MEANS), lambda m: stats.laplace(m, 1)),
    "student": (StudentT(MEANS, df=5), lambda m: stats.t(5, loc=m)),
    "sub-weibull": (SubWeibull(MEANS, beta=1.5), lambda m: stats.dweibull(1.5, loc=m)),
    "sub-weibull half": (SubWeibull(MEANS), lambda m: stats.dweibull(0.5, loc=m)),
    "beta": (Beta(UNIT_MEANS), lambda m: stats.beta(8 * m, 8 * (1 - m))),
    "beta v 2": (Beta(UNIT_MEANS, v=2), lambda m: stats.beta(2 * m, 2 * (1 - m))),
    "exponential": (Exponential(UNIT_MEANS), lambda m: stats.expon(scale=m)),
    "unequal, all alike": (UnequalVariances(MEANS, scale_range=(2, 2)), lambda m: stats.norm(m, 2)),
    "arms": (Arms([stats.norm(1, 2), stats.gamma(2)]), lambda m: {1.0: stats.norm(1, 2), 2.0: stats.gamma(2)}[m]),
}
# One of each, with drawn means where it has some; linear bandits have a file of their own.
ONE_OF_EACH = [
    *(cls() for name, cls in sorted(ENVIRONMENTS.items()) if name not in ("arms", "empirical", "linear_bandit")),
    Arms([stats.norm(), stats.uniform()]),
    Empirical({"a": [1, 2, 3], "b": [0.5]}),
]
DRAWN = [environment for environment in ONE_OF_EACH if environment.means is None]
N = 20_000


@pytest.mark.parametrize("name", LAWED)
def test_rewards_follow_their_law(name):
    environment, law = LAWED[name]
    means, tape = environment.tape(N, np.random.default_rng(1))
    assert tuple(means) == environment.means
    for mean, row in zip(means, tape, strict=True):
        assert stats.kstest(row, law(mean).cdf).pvalue > 1e-6
        assert law(mean).mean() == pytest.approx(mean, abs=1e-12)
    assert abs(np.corrcoef(tape)[0, 1]) < 5 / math.sqrt(N)
    assert abs(np.corrcoef(tape[0, 1:], tape[0, :-1])[0, 1]) < 5 / math.sqrt(N)


@pytest.mark.parametrize("name", LAWED)
def test_rewards_have_their_mean_and_variance(name):
    environment, law = LAWED[name]
    means, tape = environment.tape(N, np.random.default_rng(2))
    for mean, row in zip(means, tape, strict=True):
        _, variance, _, kurtosis = law(mean).stats(moments="mvsk")
        assert abs(row.mean() - mean) < 5 * math.sqrt(variance / N)
        if name != "sub-weibull half":  # whose fourth moment is too wild for its sample variance
            assert abs(row.var() / variance - 1) < 5 * math.sqrt((kurtosis + 2) / N)


def test_truncated_noise_has_the_papers_standard_deviation():
    assert math.sqrt(TRUNCATED_VARIANCE) == pytest.approx(0.5396, abs=5e-5)
    _, tape = TruncatedNormal([0.0]).tape(N, np.random.default_rng(3))
    assert abs(tape.var() - TRUNCATED_VARIANCE) < 5 * TRUNCATED_VARIANCE * math.sqrt(2 / N)
    assert np.abs(tape).max() <= 1


def test_beta_variance_is_the_papers():
    _, tape = Beta([0.3]).tape(N, np.random.default_rng(4))
    assert abs(tape.var() / (0.3 * 0.7 / 9) - 1) < 5 * math.sqrt(2 / N)


def test_bernoulli_rewards_are_zeros_and_ones():
    means, tape = Bernoulli([0.0, 0.25, 1.0]).tape(N, np.random.default_rng(5))
    assert set(np.unique(tape)) == {0.0, 1.0}
    assert (tape[0] == 0).all()
    assert (tape[2] == 1).all()
    assert abs(tape[1].mean() - 0.25) < 5 * math.sqrt(0.25 * 0.75 / N)
    assert means.tolist() == [0.0, 0.25, 1.0]


def test_sub_weibull_tail_and_sign_are_as_stated():
    _, tape = SubWeibull([0.0], beta=0.5).tape(N, np.random.default_rng(6))
    for x in (0.5, 2.0, 9.0):
        tail = math.exp(-(x**0.5))
        assert abs((np.abs(tape) > x).mean() - tail) < 5 * math.sqrt(tail / N)
    assert abs((tape > 0).mean() - 0.5) < 5 * 0.5 / math.sqrt(N)


def test_unequal_variances_are_dealt_out_at_random():
    environment = UnequalVariances([0.0, 0.0, 1.0], scale_range=(0.1, 2))
    assert environment.scales == pytest.approx([0.1, math.sqrt(0.2), 2])
    dealt = []
    for seed in range(120):
        _, tape = environment.tape(2000, np.random.default_rng(seed))
        # A standard deviation of 2000 rewards is within 8 % of its own, five standard errors; the scales lie far apart.
        dealt.append(tuple(int(np.argmin(np.abs(environment.scales - row.std()))) for row in tape))
        assert [row.std() for row in tape] == pytest.approx(environment.scales[list(dealt[-1])], rel=0.08)
    counts = [dealt.count(order) for order in itertools.permutations(range(3))]
    assert sum(counts) == 120
    assert stats.chisquare(counts).pvalue > 1e-6


def test_unequal_variances_of_one_arm_have_the_smallest_scale():
    assert UnequalVariances([0.0]).scales.tolist() == [0.1]
    assert parse_call(UnequalVariances(scale_range=(1, 3)).label).options == {"scale_range": (1, 3)}


@pytest.mark.parametrize("environment", ONE_OF_EACH, ids=lambda e: e.name)
def test_a_tape_is_a_contiguous_array_of_floats_and_the_same_again(environment):
    means, tape = environment.tape(37, np.random.default_rng(7))
    assert means.shape == (environment.n_arms,)
    assert tape.shape == (environment.n_arms, 37)
    assert tape.dtype == means.dtype == np.float64
    assert tape.flags.c_contiguous
    assert np.isfinite(tape).all()
    again = environment.tape(37, np.random.default_rng(7))
    assert again[0].tobytes() == means.tobytes()
    assert again[1].tobytes() == tape.tobytes()
    other = environment.tape(37, np.random.default_rng(8))
    assert other[1].tobytes() != tape.tobytes()


@pytest.mark.parametrize("environment", ONE_OF_EACH, ids=lambda e: e.name)
def test_rewards_stay_inside_the_support(environment):
    low, high = environment.support
    assert low < high
    for seed in range(20):
        means, tape = environment.tape(500, np.random.default_rng(seed))
        assert ((low <= tape) & (tape <= high)).all()
        assert ((low <= means) & (means <= high)).all()


@pytest.mark.parametrize("environment", DRAWN, ids=lambda e: e.name)
def test_drawn_means_are_uniform_in_their_range(environment):
    rng = np.random.default_rng(9)
    low, high = environment.default_range
    means = np.array([environment.draw_means(rng) for _ in range(400)])
    assert means.shape == (400, 5)
    assert ((low <= means) & (means <= high)).all()
    assert stats.kstest(means.ravel(), stats.uniform(low, high - low).cdf).pvalue > 1e-6


def test_default_ranges_are_the_papers():
    assert Gaussian().default_range == TruncatedNormal().default_range == Logistic().default_range == (-1.0, 1.0)
    assert Bernoulli().default_range == Beta().default_range == (0.25, 0.75)
    assert Logistic().scale == 0.5
    assert Beta().v == 8


@pytest.mark.parametrize("cls", [type(environment) for environment in DRAWN], ids=lambda c: c.__name__)
def test_a_range_of_ones_own_and_a_number_of_arms(cls):
    environment = cls(n_arms=3, mean_range=(0.4, 0.5))
    means, _ = environment.tape(10, np.random.default_rng(0))
    assert means.size == 3
    assert ((means >= 0.4) & (means <= 0.5)).all()


@pytest.mark.parametrize("cls", [type(environment) for environment in DRAWN], ids=lambda c: c.__name__)
def test_fixed_means_are_kept(cls):
    environment = cls([0.25, 0.5, 0.75])
    for seed in range(3):
        assert environment.tape(10, np.random.default_rng(seed))[0].tolist() == [0.25, 0.5, 0.75]
    assert environment.n_arms == 3
    assert cls(np.array([0.25])).n_arms == 1


@pytest.mark.parametrize("environment", DRAWN, ids=lambda e: e.name)
def test_labels_build_the_environment_again(environment):
    cls = type(environment)
    for made in (environment, cls((0.25, 0.5)), cls(n_arms=3, mean_range=(0.25, 0.5))):
        call = parse_call(made.label)
        twin = ENVIRONMENTS[call.name](**call.options)
        assert twin.label == made.label
        assert (twin.means, twin.n_arms, twin.mean_range) == (made.means, made.n_arms, made.mean_range)
        assert cls.__name__ in repr(made)


def test_labels_tell_the_laws_options():
    assert parse_call(StudentT(df=7, scale=2).label).options == {"df": 7, "scale": 2}
    assert parse_call(Beta(v=4).label).options == {"v": 4}
    assert parse_call(SubWeibull(beta=1.5).label).options == {"beta": 1.5}
    assert parse_call(Logistic(scale=0.25).label).options == {"scale": 0.25}
    assert Gaussian(n_arms=3).label == "gaussian:n_arms=3"


def test_the_registry_holds_every_environment_and_nothing_abstract():
    assert sorted(ENVIRONMENTS) == [
        "arms",
        "bernoulli",
        "beta",
        "empirical",
        "exponential",
        "gaussian",
        "laplace",
        "linear_bandit",
        "logistic",
        "student_t",
        "sub_weibull",
        "truncated_normal",
        "unequal_variances",
    ]
    assert all(issubclass(cls, Environment) for cls in ENVIRONMENTS.values())


# --- data and SciPy laws ----------------------------------------------------------------------------------------------


def test_empirical_rewards_are_those_observed_in_their_shares():
    data = {"old": [0.0, 0.0, 3.0], "new": [1.0, 2.0]}
    environment = Empirical(data)
    means, tape = environment.tape(N, np.random.default_rng(10))
    assert means.tolist() == [1.0, 1.5]
    assert environment.support == (0.0, 3.0)
    assert set(tape[0]) == {0.0, 3.0}
    assert set(tape[1]) == {1.0, 2.0}
    assert abs((tape[0] == 3).mean() - 1 / 3) < 5 * math.sqrt(2 / 9 / N)
    assert environment.label == "empirical:old,new"


@pytest.mark.parametrize("rewards", [{}, [1, 2], None, {"a": []}, {"a": [1, math.nan]}, {"a": ["x"]}], ids=repr)
def test_rewards_that_were_never_observed_are_refused(rewards):
    with pytest.raises(InvalidInput, match=r"parameter of Empirical must be"):
        Empirical(rewards)


def test_arms_have_the_hull_of_the_supports_and_the_laws_names():
    environment = Arms([stats.uniform(2, 3), stats.beta(1, 1)])
    assert environment.support == (0.0, 5.0)
    assert environment.label == "arms:uniform,beta"
    assert environment.n_arms == 2


@pytest.mark.parametrize("distributions", [[], [1, 2], [stats.norm(), None], [stats.cauchy()]], ids=len)
def test_arms_that_are_no_laws_with_a_mean_are_refused(distributions):
    with pytest.raises(InvalidInput, match=r"'distributions' parameter of Arms must be a non-empty sequence of frozen"):
        Arms(distributions)


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gaussian([]), "'means' parameter of Gaussian must be a non-empty sequence of finite numbers. Got"),
        (lambda: Gaussian([0.0, math.nan]), "'means' parameter of Gaussian must be .* finite"),
        (lambda: Gaussian([math.inf]), "'means' parameter of Gaussian must be .* finite"),
        (lambda: Gaussian(["high"]), "'means' parameter of Gaussian must be"),
        (lambda: Gaussian([[0.0, 1.0], [2.0, 3.0]]), "'means' parameter of Gaussian must be"),
        (lambda: Gaussian(n_arms=0), "'n_arms' parameter of Gaussian must be an integer of at least 1. Got 0"),
        (lambda: Gaussian(n_arms=2.0), "'n_arms' parameter of Gaussian must be an integer"),
        (lambda: Gaussian(scale=0), "'scale' parameter of Gaussian must be a finite number greater than 0. Got 0"),
        (lambda: Laplace(scale=-1), "'scale' parameter of Laplace must be a finite number greater than 0"),
        (lambda: Gaussian(mean_range=(1, 0)), "'mean_range' parameter of Gaussian must be a pair .* low <= high"),
        (lambda: Gaussian(mean_range=(0, math.inf)), "'mean_range' parameter of Gaussian must be a pair"),
        (lambda: Gaussian(mean_range=3), "'mean_range' parameter of Gaussian must be a pair"),
        (lambda: Gaussian(mean_range=(1, 2, 3)), "'mean_range' parameter of Gaussian must be a pair"),
        (lambda: Gaussian(mean_range=("a", "b")), "'mean_range' parameter of Gaussian must be a pair"),
        (lambda: Bernoulli([0.5, 1.2]), "'means' parameter of Bernoulli must be between 0 and 1. Got"),
        (lambda: Bernoulli(mean_range=(-0.5, 0.5)), "'mean.*' parameter of Bernoulli must be between 0 and 1. Got"),
        (lambda: Beta([0.0]), "'means' parameter of Beta must be strictly between 0 and 1. Got"),
        (lambda: Beta(v=0), "'v' parameter of Beta must be a finite number greater than 0. Got 0"),
        (lambda: Exponential([1.0, 0.0]), "'means' parameter of Exponential must be greater than 0. Got"),
        (lambda: Exponential(mean_range=(-1, 1)), "'means' parameter of Exponential must be greater than 0. Got"),
        (lambda: UnequalVariances(scale_range=(0, 1)), "'scale_range' parameter of UnequalVariances must be a pair"),
        (lambda: UnequalVariances(scale_range=(2, 1)), "'scale_range' parameter of UnequalVariances must be a pair"),
        (lambda: UnequalVariances(scale_range=2), "'scale_range' parameter of UnequalVariances must be a pair"),
        (lambda: StudentT(df=0), "'df' parameter of StudentT must be a finite number greater than 0. Got 0"),
        (
            lambda: SubWeibull(beta="2"),
            "'beta' parameter of SubWeibull must be a finite number greater than 0. Got '2'",
        ),
    ],
)
def test_bad_parameters_are_refused(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()

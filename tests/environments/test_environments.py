"""Reward laws; z-tests allow five standard errors (6e-7 each), KS tests reject a right law with probability 1e-6.

Of 20,000 rewards they see, with probability 0.99, a mean that is off by 0.052 standard deviations, a correlation of
0.052, and a spread that is off by a tenth; of 2000 drawn means, a range that is off by a tenth.
"""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from bandstrap.basics.calls import parse_call
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
    LinearBandit,
    Logistic,
    Lognormal,
    MirroredExponential,
    OwnPrizes,
    Poisson,
    ScaleMixture,
    StudentT,
    SubWeibull,
    TruncatedNormal,
    UnequalVariances,
)
from bandstrap.errors import InvalidInput
from sampling import each

MEANS = (-0.3, 0.8)
UNIT_MEANS = (0.2, 0.7)
TRUNCATED_VARIANCE = 1 - 2 * stats.norm.pdf(1) / (stats.norm.cdf(1) - stats.norm.cdf(-1))


class Mirrored:
    """The law of the negative."""

    def __init__(self, law):
        self.law = law

    def cdf(self, x):
        return self.law.sf(-np.asarray(x))

    def mean(self):
        return -self.law.mean()

    def stats(self, moments):
        mean, variance, skewness, kurtosis = self.law.stats(moments=moments)
        return -mean, variance, -skewness, kurtosis


class NormalMixture:
    """Normal about a mean, wide with probability ``share``, of standard deviation ``scale`` over both."""

    def __init__(self, mean, scale, share, ratio):
        narrow = scale / math.sqrt(1 - share + share * ratio**2)
        self.center = mean
        self.parts = ((1 - share, narrow), (share, ratio * narrow))

    def cdf(self, x):
        return sum(weight * stats.norm.cdf(x, self.center, spread) for weight, spread in self.parts)

    def mean(self):
        return self.center

    def stats(self, moments):
        variance = sum(weight * spread**2 for weight, spread in self.parts)
        fourth = sum(weight * 3 * spread**4 for weight, spread in self.parts)
        return self.center, variance, 0.0, fourth / variance**2 - 3


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
    "mirrored exponential": (MirroredExponential([-0.4, -2.0]), lambda m: Mirrored(stats.expon(scale=-m))),
    "lognormal": (Lognormal(UNIT_MEANS, log_scale=0.5), lambda m: stats.lognorm(0.5, scale=m * math.exp(-0.125))),
    "lognormal log scale 0.8": (
        Lognormal(UNIT_MEANS, log_scale=0.8),
        lambda m: stats.lognorm(0.8, scale=m * math.exp(-0.32)),
    ),
    "scale mixture": (ScaleMixture(MEANS), lambda m: NormalMixture(m, 1.0, 0.1, 3.0)),
    "scale mixture, mostly wide": (
        ScaleMixture(MEANS, share=0.7, ratio=4, scale=2),
        lambda m: NormalMixture(m, 2.0, 0.7, 4.0),
    ),
    "unequal, all alike": (UnequalVariances(MEANS, scale_range=(2, 2)), lambda m: stats.norm(m, 2)),
    "arms": (Arms([stats.norm(1, 2), stats.gamma(2)]), lambda m: {1.0: stats.norm(1, 2), 2.0: stats.gamma(2)}[m]),
}
# One of each, with drawn means where it has some; linear bandits, and environments that change, have files of their own.
HAVE_OTHER_PARAMETERS = ("arms", "drifting", "empirical", "linear_bandit")
ONE_OF_EACH = [
    *(cls() for name, cls in sorted(ENVIRONMENTS.items()) if name not in HAVE_OTHER_PARAMETERS),
    Arms([stats.norm(), stats.uniform()]),
    Empirical({"a": [1, 2, 3], "b": [0.5]}),
]
DRAWN = [environment for environment in ONE_OF_EACH if environment.means is None]
N = 20_000


def inside(cls, *shares):
    """Means that an environment's arms can have, ascending as the shares of the range they come from by default."""
    low, high = cls.default_range
    return [low + share * (high - low) for share in shares]


@each("name", LAWED)
def test_rewards_follow_their_law(name):
    environment, law = LAWED[name]
    means, tape = environment.tape(N, np.random.default_rng(1))
    assert tuple(means) == environment.means
    for mean, row in zip(means, tape, strict=True):
        assert stats.kstest(row, law(mean).cdf).pvalue > 1e-6
        assert law(mean).mean() == pytest.approx(mean, abs=1e-12)
    assert abs(np.corrcoef(tape)[0, 1]) < 5 / math.sqrt(N)
    assert abs(np.corrcoef(tape[0, 1:], tape[0, :-1])[0, 1]) < 5 / math.sqrt(N)


@each("name", LAWED)
def test_rewards_have_their_mean_and_variance(name):
    environment, law = LAWED[name]
    means, tape = environment.tape(N, np.random.default_rng(2))
    for mean, row in zip(means, tape, strict=True):
        _, variance, _, kurtosis = law(mean).stats(moments="mvsk")
        assert abs(row.mean() - mean) < 5 * math.sqrt(variance / N)
        # whose fourth moments are too wild for their sample variances
        if name not in ("sub-weibull half", "lognormal log scale 0.8"):
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


def test_poisson_rewards_are_counts_of_their_law():
    means, tape = Poisson([0.0, 0.7, 40.0]).tape(N, np.random.default_rng(11))
    assert (tape[0] == 0).all()
    assert (tape == np.floor(tape)).all()
    for mean, row in zip(means[1:], tape[1:], strict=True):
        law = stats.poisson(mean)
        edges = np.arange(law.ppf(1e-3), law.ppf(1 - 1e-3) + 1)
        cells = np.concatenate([[-np.inf], edges, [np.inf]])
        counts = np.histogram(row, cells + 0.5)[0]
        # A right law is rejected with probability 1e-6; rows of 20,000 show a mean that is off by 0.06 deviations.
        assert stats.chisquare(counts, N * np.diff(law.cdf(cells))).pvalue > 1e-6


def test_own_prizes_are_won_as_often_as_their_means_say():
    means, tape = OwnPrizes([0.9, 2.0, 0.0], prizes=[9, 2, 5]).tape(N, np.random.default_rng(12))
    assert set(tape[0]) == {0.0, 9.0}
    assert (tape[1] == 2).all()
    assert (tape[2] == 0).all()
    assert abs((tape[0] == 9).mean() - 0.1) < 5 * math.sqrt(0.1 * 0.9 / N)
    assert means.tolist() == [0.9, 2.0, 0.0]


def test_prizes_are_dealt_out_at_random():
    environment = OwnPrizes([1.0, 1.0, 1.0], prize_range=(2, 8))
    assert environment.sorted_prizes == pytest.approx([2, 4, 8])
    assert environment.support == (0.0, pytest.approx(8))
    # 200 rounds without one prize in eight have a probability of 3e-12.
    dealt = [
        tuple(environment.tape(200, np.random.default_rng(seed))[1].max(axis=1).round(9).tolist())
        for seed in range(1000)
    ]
    counts = [dealt.count(order) for order in itertools.permutations((2.0, 4.0, 8.0))]
    assert sum(counts) == 1000
    # An order that never comes, or comes twice as often as it should, is seen with probability 0.999.
    assert stats.chisquare(counts).pvalue > 1e-6


def test_prizes_without_means_say_how_many_arms_there_are():
    environment = OwnPrizes(prizes=[2, 30, 4])
    assert environment.n_arms == 3
    assert environment.support == (0.0, 30.0)
    call = parse_call(environment.label)
    assert ENVIRONMENTS[call.name](**call.options).label == environment.label
    means, tape = environment.tape(2000, np.random.default_rng(0))
    assert ((means > 0.5) & (means < 1.5)).all()
    assert tape.max(axis=1).tolist() == [2, 30, 4]
    assert parse_call(OwnPrizes(prize_range=(3, 9)).label).options == {"prize_range": (3, 9)}


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
    ratios = []
    for seed in range(1000):
        _, tape = environment.tape(200, np.random.default_rng(seed))
        spreads = np.array([row.std(ddof=1) for row in tape])
        # A standard deviation of 200 rewards is within 25 % of its own, five standard errors; the scales lie far apart.
        dealt.append(tuple(int(np.argmin(np.abs(environment.scales - spread))) for spread in spreads))
        ratios.append(spreads**2 / environment.scales[list(dealt[-1])] ** 2)
        assert ratios[-1] == pytest.approx(1, abs=0.6)
    # The variance of 600,000 rewards, within five standard errors (6e-7): one that is off by 1.4 % is seen.
    assert np.mean(ratios) == pytest.approx(1, abs=5 * math.sqrt(2 / 600_000))
    counts = [dealt.count(order) for order in itertools.permutations(range(3))]
    assert sum(counts) == 1000
    # An order that never comes, or comes twice as often as it should, is seen with probability 0.999.
    assert stats.chisquare(counts).pvalue > 1e-6


def test_unequal_variances_of_one_arm_have_the_smallest_scale():
    assert UnequalVariances([0.0]).scales.tolist() == [0.1]
    assert parse_call(UnequalVariances(scale_range=(1, 3)).label).options == {"scale_range": (1, 3)}


@each("environment", ONE_OF_EACH, ids=lambda e: e.name)
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


@each("environment", ONE_OF_EACH, ids=lambda e: e.name)
def test_rewards_stay_inside_the_support(environment):
    low, high = environment.support
    assert low < high
    for seed in range(20):
        means, tape = environment.tape(500, np.random.default_rng(seed))
        assert ((low <= tape) & (tape <= high)).all()
        assert ((low <= means) & (means <= high)).all()


@each("environment", DRAWN, ids=lambda e: e.name)
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


@each("cls", [type(environment) for environment in DRAWN], ids=lambda c: c.__name__)
def test_a_range_of_ones_own_and_a_number_of_arms(cls):
    low, high = inside(cls, 0.4, 0.5)
    environment = cls(n_arms=3, mean_range=(low, high))
    means, _ = environment.tape(10, np.random.default_rng(0))
    assert means.size == 3
    assert ((means >= low) & (means <= high)).all()


@each("cls", [type(environment) for environment in DRAWN], ids=lambda c: c.__name__)
def test_fixed_means_are_kept(cls):
    given = inside(cls, 0.25, 0.5, 0.75)
    environment = cls(given)
    for seed in range(3):
        assert environment.tape(10, np.random.default_rng(seed))[0].tolist() == given
    assert environment.n_arms == 3
    assert cls(np.array(given[:1])).n_arms == 1


@each("environment", DRAWN, ids=lambda e: e.name)
def test_labels_build_the_environment_again(environment):
    cls = type(environment)
    low, high = inside(cls, 0.25, 0.5)
    for made in (environment, cls((low, high)), cls(n_arms=3, mean_range=(low, high))):
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
        "drifting",
        "empirical",
        "exponential",
        "gaussian",
        "laplace",
        "linear_bandit",
        "logistic",
        "lognormal",
        "mirrored_exponential",
        "own_prizes",
        "poisson",
        "scale_mixture",
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
    assert environment.label == f"empirical:n_arms=2,digest={environment.digest}"


@pytest.mark.parametrize("rewards", [{}, [1, 2], None], ids=repr)
def test_rewards_that_are_no_mapping_are_refused(rewards):
    with pytest.raises(InvalidInput, match=r"^The 'rewards' parameter of Empirical must be a non-empty mapping"):
        Empirical(rewards)


@each("values", [[], [1, math.nan], ["x"], [[1.0], [2.0]], 3.0, None], ids=repr)
def test_rewards_that_were_never_observed_are_refused_with_the_arms_name(values):
    sentence = r"^The 'rewards' parameter of Empirical must be a non-empty row of finite numbers for arm 'b'\. Got"
    with pytest.raises(InvalidInput, match=sentence):
        Empirical({"a": [1, 2], "b": values})


def test_the_place_of_a_reward_that_is_no_number_is_told():
    with pytest.raises(InvalidInput, match=r"Got nan at position 500 instead\."):
        Empirical({"a": [*range(500), math.nan, *range(500)]})


def test_equal_rewards_have_just_their_value_as_mean():
    # The sum of three tenths is rounded up, and a third of it is more than a tenth.
    assert Empirical({"a": [0.1] * 3, "b": [0.1]}).means == (0.1, 0.1)


def test_arms_have_the_hull_of_the_supports_and_the_laws_names():
    environment = Arms([stats.uniform(2, 3), stats.beta(1, 1)])
    assert environment.support == (0.0, 5.0)
    assert environment.label.startswith("arms:uniform,beta,digest=")
    assert environment.n_arms == 2


@each(
    "distributions",
    [
        [],
        [1, 2],
        [stats.norm(), None],
        [stats.cauchy()],
        [stats.norm],  # not frozen
        [stats.norm(), stats.gamma],
        [stats.norm([0, 1], 1)],
        [stats.norm(0, -1)],
        [stats.norm(1e101)],
        stats.norm(),
        stats.norm,
        "norm",
        None,
        True,
        {"a": stats.norm()},
        [stats.multivariate_normal([0, 0])],
    ],
    ids=lambda given: str(given)[:40],
)
def test_arms_that_are_no_laws_with_a_mean_are_refused(distributions):
    with pytest.raises(InvalidInput, match=r"'distributions' parameter of Arms must be a non-empty sequence of frozen"):
        Arms(distributions)


# --- refusals ---------------------------------------------------------------------------------------------------------


@each(
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
        (lambda: Bernoulli(mean_range=(-0.5, 0.5)), "'mean_range' parameter of Bernoulli must be between 0 and 1. Got"),
        (lambda: Beta([0.0]), "'means' parameter of Beta must be strictly between 0 and 1. Got"),
        (lambda: Beta(v=0), "'v' parameter of Beta must be a finite number of at least 1e-300. Got 0"),
        (lambda: Exponential([1.0, 0.0]), "'means' parameter of Exponential must be greater than 0. Got"),
        (lambda: Exponential(mean_range=(-1, 1)), "'mean_range' parameter of Exponential must be greater than 0. Got"),
        (lambda: UnequalVariances(scale_range=(0, 1)), "'scale_range' parameter of UnequalVariances must be a pair"),
        (lambda: UnequalVariances(scale_range=(2, 1)), "'scale_range' parameter of UnequalVariances must be a pair"),
        (lambda: UnequalVariances(scale_range=2), "'scale_range' parameter of UnequalVariances must be a pair"),
        (lambda: MirroredExponential([0.5]), "'means' parameter of MirroredExponential must be less than 0. Got"),
        (
            lambda: MirroredExponential(mean_range=(-1, 0)),
            "'mean_range' parameter of MirroredExponential must be less than 0",
        ),
        (lambda: Lognormal([0.0]), "'means' parameter of Lognormal must be greater than 0. Got"),
        (lambda: Lognormal(log_scale=0), "'log_scale' parameter of Lognormal must be a finite number greater than 0"),
        (lambda: Poisson([-1.0]), "'means' parameter of Poisson must be between 0 and 9e\\+18. Got"),
        (lambda: Poisson([1e19]), "'means' parameter of Poisson must be between 0 and 9e\\+18. Got"),
        (lambda: ScaleMixture(share=1), "'share' parameter of ScaleMixture must be a number in the open interval"),
        (lambda: ScaleMixture(ratio=0), "'ratio' parameter of ScaleMixture must be a finite number greater than 0"),
        (lambda: OwnPrizes([3.0, 1.0]), "'means' parameter of OwnPrizes must be between 0 and the arm's prize. Got"),
        (lambda: OwnPrizes([-0.1]), "'means' parameter of OwnPrizes must be between 0 and the arm's prize. Got"),
        (lambda: OwnPrizes([3, 1], prizes=[2, 4]), "'means' parameter of OwnPrizes must be between 0 and the arm's"),
        (
            lambda: OwnPrizes(prizes=[1.2, 4]),
            "'mean_range' parameter of OwnPrizes must be between 0 and the arm's prize",
        ),
        (lambda: OwnPrizes(prizes=[2, 0]), "'prizes' parameter of OwnPrizes must be .* greater than 0. Got"),
        (lambda: OwnPrizes(prizes=[]), "'prizes' parameter of OwnPrizes must be a non-empty sequence"),
        (lambda: OwnPrizes(prizes=[2, 3], n_arms=3), "'prizes' parameter of OwnPrizes must be as many .* 3. Got 2 of"),
        (lambda: OwnPrizes([1.0], prizes=[2, 3]), "'prizes' parameter of OwnPrizes must be as many .* 1. Got 2 of"),
        (lambda: OwnPrizes(prizes=[2, 3], prize_range=(2, 3)), "'prize_range' parameter of OwnPrizes must be left out"),
        (lambda: OwnPrizes(prize_range=(0, 3)), "'prize_range' parameter of OwnPrizes must be a pair"),
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


CLASSES = [type(environment) for environment in DRAWN]
NOT_NUMBERS = [
    [],
    "",
    "12",
    ["1", "2"],
    [b"1"],
    3,
    True,
    [True, False],
    [0.5, True],
    [np.True_, 0.5],
    [0.5, None],
    [0.5, math.nan],
    [math.inf],
    [1j],
    {0.5, 0.6},
    {"a": 0.5},
    [[0.5]],
    [0.5, [0.6]],
    np.array(["2020-01-01"], dtype="datetime64[D]"),
    np.array([1, 2], dtype="timedelta64[s]"),
    [np.timedelta64(1), 0.5],
    [10**400],
    iter([0.5, 0.6]),
]


@each("cls", CLASSES, ids=lambda c: c.__name__)
def test_what_is_no_sequence_of_numbers_is_refused_wherever_numbers_are_wanted(cls):
    for means in NOT_NUMBERS:
        with pytest.raises(
            InvalidInput, match=rf"^The 'means' parameter of {cls.__name__} must be a non-empty sequence"
        ):
            cls(means)
    for ends in [*NOT_NUMBERS, [0.5], [0.25, 0.5, 0.75], [0.75, 0.25]]:
        with pytest.raises(InvalidInput, match=rf"^The 'mean_range' parameter of {cls.__name__} must be a pair"):
            cls(mean_range=ends)
    for count in (0, -1, 2.0, "3", True, math.nan, [3]):
        with pytest.raises(InvalidInput, match=rf"^The 'n_arms' parameter of {cls.__name__} must be an integer"):
            cls(n_arms=count)


@each("cls", CLASSES, ids=lambda c: c.__name__)
def test_contradictions_are_refused(cls):
    means = inside(cls, 0.25, 0.5)
    with pytest.raises(
        InvalidInput, match=rf"'n_arms' parameter of {cls.__name__} must be the number of 'means', 2, or"
    ):
        cls(means, n_arms=5)
    with pytest.raises(InvalidInput, match=rf"'mean_range' parameter of {cls.__name__} must be left out when 'means'"):
        cls(means, mean_range=tuple(means))
    assert cls(means, n_arms=2).label == cls(means).label
    assert cls(n_arms=5).label == cls().label == cls.name


@each(
    ("cls", "parameter"),
    [
        (cls, name)
        for cls in CLASSES
        for name, default in cls.parameters().items()
        if isinstance(default, float) and not isinstance(default, bool)
    ],
)
def test_what_is_no_number_is_refused_where_a_number_is_wanted(cls, parameter):
    for value in (math.nan, math.inf, 0, -1.0, "1", True, None, [1.0], 1j, 10**400):
        with pytest.raises(
            InvalidInput, match=rf"^The '{parameter}' parameter of {cls.__name__} must be a (finite )?number"
        ):
            cls(**{parameter: value})


@pytest.mark.filterwarnings("error")
@each("size", [5e-324, 1e-300, 1e-10, 1e10, 1e100, 1e101, 1e308])
def test_numbers_of_any_size_give_finite_rewards_or_a_sentence(size):
    makers = [
        *(lambda cls=cls, p=p: cls(**{p: size}) for cls, p in ((Beta, "v"), (StudentT, "df"), (SubWeibull, "beta"))),
        *(lambda cls=cls: cls(scale=size) for cls in (Gaussian, Laplace, Logistic, ScaleMixture, TruncatedNormal)),
        *(lambda cls=cls: cls([size, -size]) for cls in (Gaussian, StudentT, UnequalVariances)),
        lambda: Beta([1e-300, 0.5], v=size),
        lambda: Exponential([size]),
        lambda: MirroredExponential([-size]),
        lambda: Lognormal([size]),
        lambda: Poisson([min(size, 1e10)]),
        lambda: ScaleMixture(ratio=size),
        lambda: OwnPrizes([size / 2, size], prizes=[size, 2 * size]),
        lambda: Gaussian(mean_range=(-size, size)),
        lambda: UnequalVariances(scale_range=(size, size)),
        lambda: LinearBandit(2, n_actions=2, theta_scale=size),
        lambda: LinearBandit(2, n_actions=2, feature_range=size),
        lambda: LinearBandit(2, n_actions=2, scale=size),
        lambda: LinearBandit(2, n_actions=2, noise=f"sub_weibull:beta={size}"),
        lambda: Empirical({"a": [size, -size], "b": [0.0]}),
        lambda: Arms([stats.norm(size), stats.norm(0, size)]),
    ]
    for make in makers:
        try:
            environment = make()
            tape = environment.tape(50, np.random.default_rng(0))
        except InvalidInput:
            assert size < 1e-5 or size > 1e99  # ordinary sizes are never refused
        else:
            assert all(np.isfinite(part).all() for part in tape)


# --- labels tell contents ---------------------------------------------------------------------------------------------


def test_labels_of_data_tell_them_apart():
    data = [
        {"old": [0.0, 1.0], "new": [1.0, 2.0]},
        {"old": [0.0, 1.0], "new": [1.0, 2.5]},
        {"old": [1.0, 0.0], "new": [1.0, 2.0]},
        {"new": [1.0, 2.0], "old": [0.0, 1.0]},
        {"old": [0.0, 1.0], "newer": [1.0, 2.0]},
        {"old": [0.0], "new": [1.0, 1.0, 2.0]},
        {"old": [0.0, 1.0, 1.0], "new": [2.0]},
        {"old": [0.0, -1.0], "new": [1.0, 2.0]},
    ]
    labels = {Empirical(rewards).label for rewards in data}
    assert len(labels) == len(data)
    assert Empirical({"old": (0, 1), "new": np.array([1, 2])}).label == Empirical(data[0]).label
    assert all(len(label) < 40 for label in labels)


def test_labels_of_laws_tell_them_apart():
    histogram = np.histogram([1, 2, 2, 3], bins=3)
    other = np.histogram([1, 1, 2, 3], bins=3)
    laws = [
        stats.norm(0, 1),
        stats.norm(0, 1 + 1e-12),
        stats.norm(1e-9, 1),
        stats.t(5),
        stats.t(5.5),
        stats.bernoulli(0.5),
        stats.bernoulli(0.5 + 1e-9),
        stats.rv_histogram(histogram, density=False)(),
        stats.rv_histogram(other, density=False)(),
    ]
    assert len({Arms([law, stats.norm()]).label for law in laws}) == len(laws)
    assert len({LinearBandit(noise=law).label for law in laws if law.mean() == 0}) == 4
    assert Arms([stats.norm(1, 2)]).label == Arms([stats.norm(loc=1, scale=2)]).label
    assert Arms([stats.norm(1, 2), stats.t(5)]).label != Arms([stats.t(5), stats.norm(1, 2)]).label


# --- data from a file -------------------------------------------------------------------------------------------------

TABLE = "variant,day,revenue\nold,1,0\nnew,1,2.5\nold,2,1\nnew,2,-3e1\nold,3,1\n"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "clicks of may=1.csv"
    path.write_text(TABLE, encoding="utf-8")
    return path


def test_data_from_a_file_are_those_of_a_mapping(table):
    environment = Empirical.from_csv(table, arm="variant", reward="revenue")
    same = Empirical({"old": [0, 1, 1], "new": [2.5, -30]})
    assert list(environment.rewards) == ["old", "new"]
    ours, theirs = (made.tape(40, np.random.default_rng(0)) for made in (environment, same))
    assert all(one.tobytes() == other.tobytes() for one, other in zip(ours, theirs, strict=True))
    assert environment.digest == same.digest
    label = f"empirical:file={table},arm=variant,reward=revenue,digest={same.digest}"
    assert environment.label == label
    call = parse_call(label)
    assert ENVIRONMENTS[call.name].from_call(**call.options).label == label
    assert Empirical.from_csv(str(table), arm="variant", reward="revenue", digest=same.digest).label == label
    assert Empirical.from_csv(table, arm="day", reward="revenue").label != label


def test_a_file_edited_since_is_refused(table):
    label = Empirical.from_csv(table, arm="variant", reward="revenue").label
    table.write_text(TABLE.replace("2.5", "2.6"), encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"clicks of may=1\.csv was edited after its digest '[a-p]{8}' was taken"):
        Empirical.from_call(**parse_call(label).options)
    table.write_text(
        TABLE.replace("day", "date").replace("old,1", "old,7"), encoding="utf-8"
    )  # other columns may change
    assert Empirical.from_call(**parse_call(label).options).label == label


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (TABLE, {"arm": "x"}, r"clicks\.csv has no column 'x'; it has variant, day, revenue\.$"),
        (TABLE, {"reward": "x"}, r"has no column 'x'; it has variant, day, revenue\.$"),
        (TABLE, {"reward": "variant"}, r"'reward' parameter of Empirical.from_csv must be another column than 'arm'"),
        (TABLE, {"arm": 2024}, r"'arm' parameter .* must be the name of a column; in a call, put quotes .* Got 2024"),
        (TABLE, {"digest": "abcdefgh"}, r"was edited after its digest 'abcdefgh'"),
        (TABLE, {"digest": 12}, r"was edited after its digest 12"),
        (
            TABLE,
            {"arms": "x"},
            r"^empirical has no parameter 'arms' \(did you mean 'arm'\?\); it takes file, arm, reward",
        ),
        ("", {}, r"is empty\.$"),
        ("variant,revenue\n", {}, r"has no rows with a number in column 'revenue'\.$"),
        ("variant,revenue\na,1\na,2\n", {}, r"has a single arm in column 'variant', 'a'; at least two are needed\.$"),
        ("variant,revenue\na,1\nb,\n", {}, r"^Line 3 of .*: column 'revenue' is empty\.$"),
        ("variant,revenue\na,1\nb\n", {}, r"^Line 3 of .*: column 'revenue' is empty\.$"),
        ("variant,revenue\na,1\n,2\n", {}, r"has rows without an arm in column 'variant'\.$"),
        (
            "variant,revenue\na,nan\nb,2\n",
            {},
            r"^Line 2 of .*: column 'revenue' holds 'nan', which is not a finite number",
        ),
        ("variant,revenue\na,1\nb,1e999\n", {}, r"^Line 3 of .* '1e999', which is not a finite number\.$"),
        (
            "variant,revenue\na,1\nb,1e200\n",
            {},
            r"'rewards' parameter of Empirical must be no larger than 1e\+100 in size",
        ),
        ("variant,revenue\na,1\nb,1_000\n", {}, r"'1_000', which is not a finite number\.$"),
        ("variant,revenue,revenue\na,1,2\nb,1,2\n", {}, r"has 2 columns named 'revenue'; which one is meant cannot be"),
        ("variant,revenue\na,1,2\nb,1\n", {}, r"^Line 2 of .* has more fields than the header line\.$"),
        ("variant,revenue\na,\xff\n", {}, r"is not a readable CSV file: "),
    ],
)
def test_data_that_cannot_be_used_are_refused_with_a_sentence(tmp_path, text, options, message):
    path = tmp_path / "clicks.csv"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidInput, match=message):
        Empirical.from_call(**{"file": str(path), "arm": "variant", "reward": "revenue"} | options)


@each("file", ["", "-", None, 3, "no/such/file.csv", "."])
def test_what_is_no_file_is_refused(file):
    with pytest.raises(InvalidInput, match=r"must be the path of a CSV file|is not a file\.$"):
        Empirical.from_csv(file, arm="a", reward="b")

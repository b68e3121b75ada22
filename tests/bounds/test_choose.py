"""Which bound is chosen: by what is stated, never by how the data look."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bandstrap.bounds import BOUNDS, bootstrap_t, choose, clopper_pearson, hall, student_t
from bandstrap.errors import InvalidInput
from naive.bounds import critical_count
from sampling import each, exhaustive

COUNTS = [0, 3, 1, 0, 2, 0, 7, 1]


@each(
    ("sample", "stated", "method", "options"),
    [
        ([0, 1, 1, 0], {}, "clopper_pearson", {}),
        ([True, False, False], {}, "clopper_pearson", {}),
        ([0, 1, 1, 0], {"symmetric": True}, "clopper_pearson", {}),
        ([0, 9.5, 0], {"support": (0, 9.5)}, "clopper_pearson", {"support": (0.0, 9.5)}),
        ([9.5] * 5, {"support": (0, 9.5)}, "clopper_pearson", {"support": (0.0, 9.5)}),
        ([0, 1, 1, 0], {"support": (0, 2)}, "betting", {"support": (0.0, 2.0)}),
        (COUNTS, {"support": (0, 50)}, "betting", {"support": (0.0, 50.0)}),
        (COUNTS, {"support": (0, 50), "sigma": 2}, "betting", {"support": (0.0, 50.0)}),
        (COUNTS, {"support": (0, 50), "symmetric": True}, "sign_flip", {}),
        (COUNTS[:4], {"support": (0, 50), "symmetric": True}, "betting", {"support": (0.0, 50.0)}),
        (COUNTS, {"sigma": 2}, "hoeffding", {"sigma": 2.0}),
        (COUNTS[:4], {"sigma": 2, "symmetric": True}, "hoeffding", {"sigma": 2.0}),
        (COUNTS, {"symmetric": True}, "sign_flip", {}),
        (COUNTS[:3], {"symmetric": True}, "student_t", {}),
        (COUNTS[:4], {"symmetric": True}, "bootstrap_t", {}),
        (COUNTS, {}, "bootstrap_t", {}),
        ([2.0, 5.0, 2.0, 2.0], {}, "bootstrap_t", {}),
        ([2.0, 5.0, 2.0], {}, "student_t", {}),
        ([4.0] * 9, {}, "bootstrap_t", {}),
        ([4.0], {}, "bootstrap_t", {}),
        ([0, 1, 1, 0], {"column": [0, 1, 3.5]}, "bootstrap_t", {}),
        ([0, 0, 0], {"column": [0, 1]}, "clopper_pearson", {}),
        ([0, 0, 0], {}, "clopper_pearson", {}),
    ],
)
def test_the_first_rule_that_applies_decides(sample, stated, method, options):
    choice = choose(sample, 0.05, **stated)
    assert (choice.method, choice.options) == (method, options)
    assert choice.reason
    bound = BOUNDS[choice.method].function
    assert bound(COUNTS[:1] if method == "betting" else sample, 0.05, **choice.options).name == method


@each(
    ("sample", "stated", "words"),
    [
        ([0, 1, 1, 0], {}, "all rewards are 0 or 1, and it is exact if no others are possible"),
        (
            [0, 9.5, 0],
            {"support": (0, 9.5)},
            "0 or 9.5, the ends of the support, and it is exact if none in between are",
        ),
        (COUNTS, {"support": (0, 50)}, "rewards lie in [0, 50], as stated"),
        (COUNTS[:4], {"support": (0, 50), "symmetric": True}, "too few for a bound that needs only symmetry"),
        (COUNTS, {"sigma": 2}, "rewards are sub-Gaussian of scale 2, as stated"),
        (COUNTS, {"symmetric": True}, "rewards are symmetric about their mean, as stated"),
        (
            COUNTS,
            {},
            "nothing can be proved at any sample size; for skewed rewards its miss rate is nearer to alpha than",
        ),
        ([2.0, 5.0, 2.0], {}, "stated as the support, 2 and 5 give an exact bound, if no others are possible"),
        ([2.0, 5.0], {}, "nothing can be proved at any sample size; 2 rewards are too few for the bootstrap"),
        (COUNTS[:4], {"symmetric": True}, "4 rewards are too few for a bound that needs only symmetry, and no"),
        ([4.0] * 9, {}, "rewards that are all 4 cannot show how much they vary"),
        ([4.0], {}, "one reward cannot show how much rewards vary"),
        ([0, 0, 0], {}, "all rewards are 0, and are taken for zeros and ones"),
    ],
)
def test_the_reason_is_told(sample, stated, words):
    assert words in choose(sample, 0.05, **stated).reason


def test_nothing_but_zeros_may_be_anything_unless_a_support_or_other_groups_say_what():
    for value in (0, 1):
        guessed = choose([value] * 200, 0.05)
        assert f"all rewards are {value}: assumed to be 0/1 data" in guessed.guess
    assert choose([0] * 200, 0.05, support=(0, 1)).guess is None
    assert choose([0] * 200, 0.05, column=[0, 1, 0]).guess is None
    assert choose([0] * 200, 0.05, column=[0, 17.5]).method == "bootstrap_t"


@settings(derandomize=True, deadline=None, max_examples=100)
@given(
    st.lists(st.sampled_from([-2.0, -1, 0, 1, 2, 0.5]), min_size=1, max_size=12),
    st.sampled_from([0.01, 0.05, 0.3]),
    st.sampled_from(["upper", "lower", "two-sided"]),
    st.randoms(use_true_random=False),
)
def test_looks_prove_nothing_and_the_order_of_rewards_changes_nothing(sample, alpha, side, random):
    # Rewards that look symmetric, or bounded, or normal: without a word from the user nothing is called proved, but for
    # zeros and ones, both of which were seen.
    choice = choose(sample, alpha, side=side)
    bound = BOUNDS[choice.method]
    is_binary = set(sample) <= {0, 1}
    assert ("binary" in bound.assumes) == is_binary
    assert (choice.guess is not None) == (set(sample) in ({0.0}, {1.0}) if is_binary else bool(bound.assumes))
    random.shuffle(sample)
    assert choose(sample, alpha, side=side) == choice
    # Nor does the sign or the unit of rewards, if they are not 0 and 1.
    if not is_binary:
        assert choose([-3 * each + 7.5 for each in sample], alpha, side=side).method == choice.method


@each("stated", [{}, {"symmetric": True}, {"sigma": 2}, {"support": (-9, 9)}], ids=str)
@each("side", ["upper", "lower", "two-sided"])
def test_the_bound_of_rewards_that_differ_is_finite(stated, side):
    rewards = np.random.default_rng(0).normal(size=(8, 9))
    for n, alpha, sample in itertools.product(range(2, 9), (0.4, 0.05, 0.025, 0.01, 0.001), rewards):
        choice = choose(sample[:n], alpha, side=side, **stated)
        bound = BOUNDS[choice.method].function(sample[:n], alpha, side=side, check=False, **choice.options)
        assert np.isfinite(bound.value).all(), (n, alpha, choice)


def test_the_level_of_a_side_and_the_number_of_rewards_decide_on_symmetry_and_resamples():
    five = [1.0, 2.0, 4.0, 3.0, 7.0]
    assert choose(five, 0.05, symmetric=True, sigma=1).method == "sign_flip"
    assert choose(five, 0.05, symmetric=True, sigma=1, side="two-sided").method == "hoeffding"
    assert choose([*five, 9.0], 0.002, side="two-sided").options == {"n_resamples": 9999}
    assert choose(np.arange(100_000.0), 0.05).method == "bootstrap_t"
    many = choose(np.arange(100_051.0), 0.05)
    assert (many.method, many.options) == ("hall", {"quantile": "normal"})
    assert choose(np.arange(20.0), 0.0001).options == {"n_resamples": 99_999}
    assert choose(np.arange(21.0), 0.0001).method == "hall"
    assert choose(np.arange(20.0), 1e-9).method == "hall"
    assert choose(five, 1e-9).method == "student_t"
    # Ten resamples lie beyond the quantile, so that one is found.
    assert bootstrap_t([*five, 9.0, 8.5, 2.2], 0.0005, **choose(five, 0.0005).options).upper < math.inf


@exhaustive
def test_at_a_hundred_thousand_skewed_rewards_the_closed_form_is_that_of_the_resamples():
    rewards = np.random.default_rng(0).lognormal(sigma=1.5, size=100_000)
    closed, drawn = hall(rewards, 0.05, quantile="normal"), bootstrap_t(rewards, 0.05, n_resamples=999)
    # The 5 % quantile of 999 draws has a standard error of 4 % of the width.
    assert closed.width == pytest.approx(drawn.width, rel=0.16)
    assert closed.width > student_t(rewards, 0.05, check=False).width


@pytest.mark.parametrize("alpha", [0.05, 0.2, 0.4])
def test_samples_of_the_two_ends_are_missed_at_most_at_alpha_whatever_lies_between(alpha):
    # No chance: all samples of four rewards of laws on 0, v and 1, by their probabilities.
    n = 4
    uppers = {k: clopper_pearson([1] * k + [0] * (n - k), alpha).value for k in range(n + 1)}
    shares = np.linspace(0, 1, 11)
    for v, p, q in itertools.product((0.1, 0.5, 0.9), shares, shares):
        if p + q <= 1:
            mean = p + v * (1 - p - q)
            missed = sum(math.comb(n, k) * p**k * q ** (n - k) for k, upper in uppers.items() if upper < mean)
            assert missed <= alpha


def test_the_whole_rule_misses_at_most_twice_alpha_for_rewards_between_the_ends():
    # At alpha = 0.2, 400 of 1000 samples may be missed, and more than 458 are with a probability below 1e-4. A rule that
    # takes the lower end for the upper one misses most samples, and is seen for certain.
    rng, alpha = np.random.default_rng(3), 0.2
    rewards = np.where(rng.random((1000, 12)) < 0.05, 0.5, 1.0 * (rng.random((1000, 12)) < 0.6))
    mean = 0.05 * 0.5 + 0.95 * 0.6
    methods = np.array([choose(sample, alpha, support=(0, 1)).method for sample in rewards])
    assert set(methods) == {"clopper_pearson", "betting"}
    missed = sum(
        int(BOUNDS[name].function(rewards[methods == name], alpha, support=(0, 1)).misses(mean).sum())
        for name in set(methods)
    )
    assert missed <= critical_count(1000, 2 * alpha, 1e-4)


@pytest.mark.parametrize("law", ["gamma", "lognormal", "poisson"])
def test_with_nothing_stated_skewed_rewards_are_missed_less_often_than_by_students_t(law):
    # The sign test of a rule that misses as often as Student's t errs with probability 1e-4.
    rng = np.random.default_rng(4)
    draw, mean = {
        "gamma": (lambda size: rng.gamma(0.5, size=size), 0.5),
        "lognormal": (lambda size: rng.lognormal(size=size), math.exp(0.5)),
        "poisson": (lambda size: rng.poisson(0.5, size=size).astype(float), 0.5),
    }[law]
    samples = draw((600, 30))
    methods = np.array([choose(sample, 0.05).method for sample in samples])
    samples = samples[methods != "clopper_pearson"]  # counts that happen to be 0 and 1
    assert set(methods) <= {"clopper_pearson", "bootstrap_t"}
    missed, student = bootstrap_t(samples, 0.05, n_resamples=399).misses(mean), student_t(samples, 0.05).misses(mean)
    better, worse = int((student & ~missed).sum()), int((missed & ~student).sum())
    assert stats.binomtest(better, better + worse, alternative="greater").pvalue < (0.05 if law == "poisson" else 1e-4)


@each(
    ("sample", "options", "message"),
    [
        ([[1.0, 2.0]], {}, r"'sample' parameter of choose must be of one axis. Got shape \(1, 2\)"),
        ([], {}, "'sample' parameter of choose"),
        ([1.0], {"alpha": 0.95}, "is 0.05 meant"),
        ([1.0], {"side": "both"}, "'side' parameter of choose must be one of"),
        ([1.0], {"support": (1, 0)}, "'support' parameter of choose must be a pair"),
        ([1.0], {"sigma": 0}, "'sigma' parameter of choose must be"),
        ([1.0], {"symmetric": 3}, "'symmetric' parameter of choose must be"),
        ([1.0], {"column": [math.nan]}, "parameter of choose must be"),
    ],
)
def test_mistakes_are_told_in_a_sentence(sample, options, message):
    with pytest.raises(InvalidInput, match=message):
        choose(sample, **({"alpha": 0.05} | options))

"""Bootstrap-t, BCa and Hall's bound: against their formulas, against SciPy, and how often they miss."""

import math
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bandstrap.bounds import BOUNDS, bca, bootstrap_t, coverage, hall, student_t
from bandstrap.bounds.assumptions import judge
from bandstrap.bounds.hall import remove_skewness, restore_skewness
from bandstrap.bounds.resampling import drawn_seed, resample_counts, resampled_moments
from bandstrap.errors import InvalidInput
from naive import resampling_bounds as naive
from sampling import each, exhaustive, telling

RESAMPLED = {"bootstrap_t": bootstrap_t, "bca": bca, "hall": hall}
every_resampled = pytest.mark.parametrize("name", RESAMPLED)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    st.sampled_from(sorted(RESAMPLED)),
    st.lists(st.integers(-9, 9) | st.floats(-9, 9).map(lambda y: round(y, 3)), min_size=1, max_size=12),
    st.sampled_from([0.01, 0.05, 0.25, 0.45]),
)
def test_bounds_are_those_of_the_formulas_resample_by_resample(name, sample, alpha):
    n_resamples = 59
    drawn = naive.resamples(sample, n_resamples, drawn_seed(3, "test"))
    expected = getattr(naive, name)(sample, alpha, drawn)
    assert RESAMPLED[name](sample, alpha, n_resamples=n_resamples, seed=3).upper == pytest.approx(expected, rel=1e-8)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=12), st.floats(1e-6, 0.49))
def test_halls_bound_with_a_normal_quantile_is_that_of_the_formula(sample, alpha):
    found = hall(sample, alpha, quantile="normal")
    assert found.upper == pytest.approx(naive.hall(sample, alpha, None), rel=1e-8, abs=1e-8)
    assert found.method == "closed-form"


@settings(derandomize=True, deadline=None, max_examples=100)
@given(st.floats(-50, 50), st.floats(-8, 8), st.integers(1, 1000))
def test_skewness_is_restored_as_it_was_removed(t, skewness, n):
    there = remove_skewness(np.array(t), np.array(skewness), n)
    assert restore_skewness(there, np.array(skewness), n) == pytest.approx(t, rel=1e-6, abs=1e-4)


@pytest.mark.parametrize("alternative", ["less", "greater"])
@pytest.mark.parametrize("law", ["gamma", "whole numbers"])
def test_bca_is_scipys_on_the_same_resamples(law, alternative):
    rng = np.random.default_rng(5)
    sample = rng.gamma(0.5, size=25) if law == "gamma" else rng.integers(0, 4, 25).astype(float)
    side = {"less": "upper", "greater": "lower"}[alternative]
    # A lower bound resamples the negated rewards in their order, from below.
    ordered = np.sort(sample) if side == "upper" else -np.sort(-sample)
    (_, counts), *_ = resample_counts(25, 999, np.random.default_rng(drawn_seed(7, "test")))
    means = SimpleNamespace(bootstrap_distribution=counts @ ordered / 25)
    # Sums of whole numbers are exact, so that ties are the same for both.
    for alpha in (0.01, 0.05, 0.2):
        expected = stats.bootstrap(
            (sample,),
            np.mean,
            n_resamples=0,
            confidence_level=1 - alpha,
            method="BCa",
            alternative=alternative,
            bootstrap_result=means,
        ).confidence_interval
        found = bca(sample, alpha, side=side, n_resamples=999, seed=7)
        assert found.value == pytest.approx(expected.high if side == "upper" else expected.low, rel=1e-9)


def test_resamples_hold_as_many_rewards_as_there_are_and_all_of_them_together_each_equally_often():
    parts = list(resample_counts(700, 3000, np.random.default_rng(0)))
    assert [part.start for part, _ in parts] == [0, 1000, 2000]
    for part, counts in parts:
        assert (counts.sum(axis=-1) == 700).all()
        assert (counts.sum(axis=0) == part.stop - part.start).all()
    # Nearly Poisson of mean 1, so that the variance of independent ones has an error of sqrt(3 / number). Five of them are
    # exceeded by right counts with probability 6e-7; a variance that is 1 per cent off is seen for certain.
    counts = np.concatenate([each for _, each in parts])
    assert counts.var() == pytest.approx(1 - 1 / 700, abs=5 * math.sqrt(3 / counts.size))


def test_resamples_of_large_samples_are_drawn_one_by_one(monkeypatch):
    # Few that are balanced would vary too little: of two, each mean has half its variance, and one alone is the sample.
    monkeypatch.setattr(sys.modules["bandstrap.bounds.resampling"], "MOST_NUMBERS", 2048)
    row = np.sort(np.random.default_rng(0).gamma(2, size=1000))
    ((_, moments),) = resampled_moments(row[None], 3000, 5, order=3)
    places = np.random.default_rng(5).integers(1000, size=(3000, 1000))
    for power in (1, 2, 3):
        np.testing.assert_allclose(moments[power - 1, 0], [np.mean(row[each] ** power) for each in places], rtol=1e-12)
    # The variance of 3000 means has an error of sqrt(2 / 3000); five are exceeded with probability 6e-7.
    assert moments[0, 0].var() == pytest.approx(row.var() / 1000, rel=5 * math.sqrt(2 / 3000))
    pair = np.stack([row, row[::-1]])
    ((_, both),) = resampled_moments(pair, 7, 5, order=2)
    for i, sample in enumerate(pair):
        ((_, alone),) = resampled_moments(sample[None], 7, 5, order=2)
        np.testing.assert_array_equal(both[:, i], alone[:, 0])


@exhaustive
@every_resampled
def test_more_rewards_than_fit_into_memory_as_counts_have_about_the_bound_of_students(name):
    # Resamples of half a million rewards were all equal to the sample, and bounds to its mean. The 5 % quantile of 99
    # draws is off by 13 per cent, one standard error.
    sample = np.random.default_rng(0).normal(size=2**19 + 1)
    width = RESAMPLED[name](sample, 0.05, n_resamples=99).width
    assert width == pytest.approx(student_t(sample, 0.05).width, rel=0.5)


@every_resampled
@each("shift", [1e3, -1e6])
def test_resamples_that_have_the_sample_mean_do_so_wherever_the_rewards_are(name, shift):
    # Thirds are rounded, and the more so far from 0: a tie must stay a tie.
    sample = np.array([-1, -2 / 3, -1 / 3, 0, 0, 1 / 3, 2 / 3, 1])
    for n_resamples in (50, 51, 52, 53):
        plain, moved = (
            RESAMPLED[name](y, 0.2, n_resamples=n_resamples, seed=0).width for y in (sample, shift + sample)
        )
        assert moved == pytest.approx(plain, rel=1e-6)


# --- what they cannot know --------------------------------------------------------------------------------------------


@every_resampled
@each("sample", [[3.0], [2.0, 2.0], [0.1] * 7, [1.0, 5.0]])
def test_samples_that_show_no_spread_have_no_finite_bound(name, sample):
    bound = RESAMPLED[name](sample, 0.05, side="two-sided")
    assert bound.value == (-math.inf, math.inf)
    assert bound.guarantee is None
    assert "nothing is proved" in bound.holds_for


def test_one_success_of_twenty_does_not_bound_the_rate_from_above_for_bootstrap_t_nor_from_below_for_bca():
    sample = [1.0] + [0.0] * 19
    # Without the one success, which happens to 36 % of the resamples, there is no spread.
    assert bootstrap_t(sample, 0.05).upper == math.inf
    assert hall(sample, 0.05).upper == math.inf
    assert bca(sample, 0.05, side="lower").lower == -math.inf
    assert 0.05 < bca(sample, 0.05).upper <= 1


@pytest.mark.parametrize("name", ["bootstrap_t", "hall"])
def test_levels_that_the_resamples_do_not_reach_give_no_finite_bound(name):
    sample = np.random.default_rng(0).gamma(2, size=30)
    assert RESAMPLED[name](sample, 0.009, n_resamples=99).upper == math.inf
    assert RESAMPLED[name](sample, 0.01, n_resamples=99).upper < math.inf


@every_resampled
def test_a_generator_is_used_as_it_is_and_the_default_depends_on_the_rewards_alone(name):
    bound, sample = RESAMPLED[name], np.random.default_rng(0).gamma(2, size=30)
    rng = np.random.default_rng(1)
    first, second = (bound(sample, 0.05, seed=rng).upper for _ in range(2))
    assert first != second
    assert first == bound(sample, 0.05, seed=1).upper
    derived = bound(sample, 0.05).upper
    assert bound(sample[::-1], 0.05, seed=None).upper == pytest.approx(derived, rel=1e-14)
    assert derived != first
    # Of other rewards, other draws: the same sample moved by 1 has another width.
    assert bound(sample + 1, 0.05, seed=1).width == pytest.approx(first - sample.mean(), rel=1e-9)
    assert bound(sample + 1, 0.05).width != pytest.approx(derived - sample.mean(), rel=1e-6)


@every_resampled
def test_the_number_of_resamples_is_told_and_checked(name):
    assert RESAMPLED[name]([1.0, 2.0, 4.0], 0.05, n_resamples=50).method == "50 resamples"
    with pytest.raises(InvalidInput, match=f"'n_resamples' parameter of {name} must be an integer of at least 1"):
        RESAMPLED[name]([1.0, 2.0], 0.05, n_resamples=0)
    with pytest.raises(InvalidInput, match=f"'n_resamples' parameter of {name} must be small enough for the"):
        RESAMPLED[name]([1.0, 2.0], 0.05, n_resamples=10**13)


@every_resampled
def test_the_coverage_lab_draws_anew_for_each_slice_and_alike_for_a_seed(name, monkeypatch):
    seen = []
    entry = BOUNDS[name]

    def spy(*arguments, seed, **options):
        seen.append(seed.bit_generator.state["state"]["state"])
        return entry.function(*arguments, seed=seed, **options)

    monkeypatch.setitem(BOUNDS, name, replace(entry, function=spy))
    call = f"{name}:n_resamples=19"
    first = coverage("gamma:a=1", 1000, 0.2, bounds=[call], replications=40)
    assert len(set(seen)) == len(seen) == 3
    assert coverage("gamma:a=1", 1000, 0.2, bounds=[call], replications=40) == first
    assert seen[:3] == seen[3:]
    assert first[0].guarantee is None
    assert first[0].assumption == ""


@every_resampled
def test_a_bound_that_proves_nothing_is_no_proof_as_a_preliminary_width(name):
    verdict = judge("bootstrap", {"phi": name}, stats.norm())
    assert verdict.holds is None
    assert verdict.why == f"{name} proves nothing"


# --- how often they miss ----------------------------------------------------------------------------------------------

REPLICATIONS = 2000
SKEWED = {
    "gamma": (lambda rng, shape: rng.gamma(0.5, size=shape), 0.5),
    "lognormal": (lambda rng, shape: rng.lognormal(size=shape), math.exp(0.5)),
    "pareto": (lambda rng, shape: 1 + rng.pareto(2.2, size=shape), 2.2 / 1.2),
    "revenue": (lambda rng, shape: (rng.random(shape) < 0.2) * rng.lognormal(size=shape), 0.2 * math.exp(0.5)),
}


@telling("law", SKEWED, ["gamma"])
def test_upper_bounds_of_skewed_rewards_miss_less_often_than_students(law):
    # On the same samples of 30 Student's t misses 13 to 24 % at alpha = 0.05. The sign test of a bound that misses as often
    # as that one errs with probability 1e-4; one which takes the quantile of the wrong tail misses more often and is seen.
    draw, mean = SKEWED[law]
    samples = draw(np.random.default_rng(8), (REPLICATIONS, 30))
    student = student_t(samples, 0.05).misses(mean)
    for name, bound in RESAMPLED.items():
        missed = bound(samples, 0.05, n_resamples=399).misses(mean)
        better, worse = int((student & ~missed).sum()), int((missed & ~student).sum())
        assert stats.binomtest(better, better + worse, alternative="greater").pvalue < 1e-4, name


@every_resampled
@telling("side", ["upper", "lower"], ["upper"])
def test_normal_rewards_are_missed_about_as_often_as_aimed_at(name, side):
    # At n = 40 and alpha = 0.1 an error of 0.02 is allowed, for the bound is not exact, and 4 standard errors (0.027): a
    # right bound fails with probability below 1e-4, one that misses 16.7 % or 4.2 % of the time is seen with 0.99.
    samples = np.random.default_rng(9).normal(0.3, 2.0, size=(REPLICATIONS, 40))
    rate = RESAMPLED[name](samples, 0.1, side=side, n_resamples=399).misses(0.3).mean()
    assert rate == pytest.approx(0.1, abs=0.02 + 4 * math.sqrt(0.1 * 0.9 / REPLICATIONS))


@every_resampled
def test_rewards_that_are_large_and_close_together_keep_their_spread(name):
    # Numbers near 1e15 are 1/8 apart, and so are bounds; the rounding of the mean is up to 1/16.
    for seed in range(8):
        rewards = np.round(np.random.default_rng(seed).normal(0, 0.9, 30) * 8) / 8
        near, far = (float(RESAMPLED[name](rewards + offset, 0.05).width) for offset in (0.0, 1e15))
        assert abs(far - near) <= 0.125

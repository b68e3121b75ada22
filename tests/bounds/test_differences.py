"""Bounds on differences of means: against their formulas, against SciPy, what they cannot know, how often they miss."""

import itertools
import math
import sys
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from bandstrap.basics.seeds import drawn_seed
from bandstrap.bounds import BOUNDS, DIFFERENCES, compare, difference
from bandstrap.bounds.differences.permutation import drawn_differences, drawn_exchanges, n_divisions
from bandstrap.bounds.order import random_orders
from bandstrap.bounds.resampling import resample_counts
from bandstrap.errors import AssumptionWarning, InvalidInput
from naive import differences as naive
from naive.bounds import critical_count
from sampling import each, exhaustive, telling

ALTERNATIVES = {"upper": "less", "lower": "greater", "two-sided": "two-sided"}
CASES = [
    "welch",
    "permutation",
    "permutation:n_permutations=99",
    "bootstrap",
    "bootstrap:weights=mammen",
    "bootstrap_t:n_resamples=99",
    "betting:support=(-9,9)",
    "betting:support=(-9,9),seed=3",
    "union:bound=betting,support=(-9,9)",
    "union:bound=sign_flip",
]
every_case = pytest.mark.parametrize("method", CASES)
few = st.lists(st.integers(-9, 9), min_size=1, max_size=4)
quiet = pytest.mark.filterwarnings("ignore::bandstrap.errors.AssumptionWarning")


def groups(*shape, sizes=(9, 7), seed=0):
    rng = np.random.default_rng(seed)
    return tuple(
        np.clip(rng.normal(place, 1.0, size=(*shape, n)), -9, 9) for place, n in zip((0.4, 0), sizes, strict=True)
    )


# --- against formulas and SciPy ---------------------------------------------------------------------------------------


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30),
    st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30),
    st.floats(1e-6, 0.49),
    st.sampled_from(sorted(ALTERNATIVES)),
)
def test_welchs_ends_are_scipys(first, second, alpha, side):
    assume(np.std(first) > 1e-6 and np.std(second) > 1e-6)
    test = stats.ttest_ind(first, second, equal_var=False, alternative=ALTERNATIVES[side])
    expected = test.confidence_interval(1 - alpha)
    bound = difference(first, second, alpha, side=side)
    scale = np.std(first) + np.std(second)
    assert bound.lower == pytest.approx(expected.low, rel=1e-9, abs=1e-6 * scale)
    assert bound.upper == pytest.approx(expected.high, rel=1e-9, abs=1e-6 * scale)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    st.lists(st.integers(-3, 3), min_size=2, max_size=12),
    st.lists(st.integers(-3, 3), min_size=2, max_size=12),
    st.sampled_from([1e-3, 0.05, 0.4]),
    st.sampled_from(sorted(ALTERNATIVES)),
)
def test_welchs_ends_are_scipys_on_whole_numbers_with_ties_too(first, second, alpha, side):
    assume(min(first) < max(first) and min(second) < max(second))
    test = stats.ttest_ind(first, second, equal_var=False, alternative=ALTERNATIVES[side])
    expected = test.confidence_interval(1 - alpha)
    bound = difference(first, second, alpha, side=side)
    assert (bound.lower, bound.upper) == pytest.approx((expected.low, expected.high), rel=1e-9, abs=1e-9)


@quiet
@settings(derandomize=True, deadline=None, max_examples=40)
@given(few, few, st.sampled_from([0.01, 0.05, 0.1, 0.3, 0.49]), st.sampled_from([1, Fraction(1, 10), Fraction(1, 3)]))
def test_shifts_up_to_the_permutation_bound_and_no_others_survive_the_test_by_full_enumeration(x, y, alpha, unit):
    first, second = ([float(unit * value) for value in group] for group in (x, y))
    upper = difference(first, second, alpha, method="permutation", side="upper").upper
    if upper == math.inf:
        assert naive.permutation_p_value(first, second, 10**9) > alpha
        return
    margin = Fraction(1, 10**9)
    assert naive.permutation_p_value(first, second, Fraction(upper) - margin) > alpha
    assert naive.permutation_p_value(first, second, Fraction(upper) + margin) <= alpha + 1e-12
    # Nor is a tie lost to rounding: the largest shift that the test keeps in exact arithmetic is not above the bound.
    exact_x, exact_y = [unit * value for value in x], [unit * value for value in y]
    shifts = {
        naive.exact_mean(a) - naive.exact_mean(b)
        for k in range(1, min(len(x), len(y)) + 1)
        for a in itertools.combinations(exact_x, k)
        for b in itertools.combinations(exact_y, k)
    }
    level = alpha + 1e-12  # a float below 3/10 is meant as that
    largest = next(d for d in sorted(shifts, reverse=True) if naive.permutation_p_value(exact_x, exact_y, d) > level)
    assert largest <= upper


@each("shift", [-1.0, 0.25, 1.5])
@each("lattice", [None, 1.0, 0.5])
def test_the_permutation_test_that_is_inverted_is_scipys(shift, lattice):
    first, second = groups(sizes=(6, 5))
    if lattice is not None:  # of few values, with many ties
        first, second = (lattice * np.round(group / lattice) for group in (first, second))
    test = stats.permutation_test(
        (first - shift, second),
        lambda x, y, axis: x.mean(axis=axis) - y.mean(axis=axis),
        vectorized=True,
        n_resamples=np.inf,
        alternative="less",
    )
    p_value = float(naive.permutation_p_value(first, second, shift))
    assert test.pvalue == pytest.approx(p_value)
    # The bound just above this p-value is below the shift, and that just below it is not.
    for alpha, is_below in ((p_value + 1e-6, True), (p_value - 1e-6, False)):
        if 0 < alpha < 0.5:
            assert (difference(first, second, alpha, method="permutation", side="upper").upper < shift) == is_below


def test_drawn_divisions_are_among_those_enumerated_and_all_equally_likely():
    first, second = np.array([1.0, 2.0, 4.0]), np.array([0.0, 16.0])
    ((_, shifts),) = drawn_differences([(first, second)], 20_000, seed=1)
    expected = [math.nan] + [
        np.mean(a) - np.mean(b)
        for k in (1, 2)
        for a in itertools.combinations(first, k)
        for b in itertools.combinations(second, k)
    ]
    assert len(expected) == n_divisions(3, 2) == 10
    counts = [int(np.isnan(shifts).sum()), *(int((shifts == each).sum()) for each in expected[1:])]
    assert sum(counts) == 20_000
    # Right draws are refused with probability 1e-6; one division 30 % more likely than the others is seen for certain.
    assert stats.chisquare(counts).pvalue > 1e-6


@telling(("m", "n"), [(3, 2), (2, 9), (9, 2), (1, 40), (40, 1), (8, 1), (4, 4)], [(3, 2), (4, 4)])
def test_exchanges_are_drawn_from_all_divisions_alike(m, n):
    draws, rng = 40_000, np.random.default_rng(2)
    left, came = (np.unpackbits(bits, axis=0, bitorder="little") for bits in drawn_exchanges(m, n, draws, rng))
    assert not left[m:].any()
    assert not came[n:].any()
    np.testing.assert_array_equal(left.sum(axis=0), came.sum(axis=0))
    exchanged = np.concatenate([left[:m], came[:n]])
    _, counts = np.unique(exchanged, axis=1, return_counts=True)
    assert counts.size == math.comb(m + n, m)
    # Right draws are refused with probability 1e-6. Of 10 to 70 divisions, one that is 25 % more likely is seen with 0.9.
    assert stats.chisquare(counts).pvalue > 1e-6


@pytest.mark.parametrize(("m", "n"), [(9001, 8200), (20_000, 7), (5, 700), (3000, 300)])
def test_many_rewards_are_divided_into_groups_of_their_sizes_and_summed_up(m, n):
    first, second = groups(sizes=(m, n))
    ((_, shifts),) = drawn_differences([(first, second)], 30, seed=1)
    left, came = drawn_exchanges(m, n, 30, np.random.default_rng(1))
    left, came = (np.unpackbits(bits, axis=0, bitorder="little").astype(float) for bits in (left, came))
    sizes = left.sum(axis=0)
    np.testing.assert_array_equal(sizes, came.sum(axis=0))
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(shifts[0], (first @ left[:m] - second @ came[:n]) / sizes, rtol=1e-9)
    # The number exchanged is hypergeometric: 5 standard errors of its mean.
    law = stats.hypergeom(m + n, n, m)
    assert sizes.mean() == pytest.approx(law.mean(), abs=5 * law.std() / math.sqrt(30))


def test_drawn_permutations_give_nearly_the_enumerated_bound(monkeypatch):
    first, second = groups(sizes=(9, 8))
    counted = difference(first, second, 0.1, method="permutation")
    assert counted.method == "enumeration"
    monkeypatch.setattr(sys.modules["bandstrap.bounds.differences.permutation"], "MOST_ENUMERATED", 0)
    drawn = difference(first, second, 0.1, method="permutation", n_permutations=19_999)
    assert drawn.method == "19999 permutations"
    # The 1000th of 20,000 draws from a tail of 5 %: 4 standard errors are 0.6 % of the probability, which is 0.03 here.
    assert drawn.lower == pytest.approx(counted.lower, abs=0.05)
    assert drawn.upper == pytest.approx(counted.upper, abs=0.05)
    assert difference(first, second, 0.02, method="permutation", n_permutations=98).upper == math.inf
    assert difference(first, second, 0.02, method="permutation", n_permutations=99).upper < math.inf


@settings(derandomize=True, deadline=None, max_examples=40)
@given(
    st.lists(st.floats(-9, 9).map(lambda y: round(y, 2)), min_size=2, max_size=6),
    st.lists(st.floats(-9, 9).map(lambda y: round(y, 2)), min_size=2, max_size=5),
    st.sampled_from([0.02, 0.1, 0.3]),
)
def test_the_multiplier_bootstrap_is_the_quantile_over_all_signs(first, second, alpha):
    assume(np.std(first) > 0.1 and np.std(second) > 0.1)
    bound = difference(first, second, alpha, method="bootstrap", side="upper")
    expected = naive.bootstrap_width(first, second, alpha)
    assert bound.width == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(derandomize=True, deadline=None, max_examples=30)
@given(
    st.lists(st.integers(-9, 9), min_size=2, max_size=8),
    st.lists(st.integers(-9, 9), min_size=2, max_size=8),
    st.sampled_from([0.02, 0.1, 0.3]),
)
def test_the_studentised_bootstrap_is_that_of_the_formula(first, second, alpha):
    assume(min(first) < max(first) or min(second) < max(second))
    seeds = np.random.default_rng(5).integers(2**63, size=2)
    counts = tuple(
        next(resample_counts(len(group), 59, np.random.default_rng(int(seed))))[1]
        for group, seed in zip((first, second), seeds, strict=True)
    )
    expected = naive.bootstrap_t(first, second, alpha, counts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)
        bound = difference(first, second, alpha, method="bootstrap_t", side="upper", n_resamples=59, seed=5)
    assert bound.upper == pytest.approx(expected, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("name", ["hoeffding", "betting", "empirical_bernstein", "student_t", "sign_flip"])
def test_a_union_is_the_upper_bound_of_one_less_the_lower_of_the_other(name):
    first, second = groups()
    options = {} if name in ("student_t", "sign_flip") else {"support": (-9, 9)}
    bound = difference(first, second, 0.04, method="union", bound=name, **options)
    ends = {
        (i, side): BOUNDS[name].function(group, 0.01, side=side, **options).value
        for i, group in enumerate((first, second))
        for side in ("upper", "lower")
    }
    assert bound.upper == pytest.approx(ends[0, "upper"] - ends[1, "lower"], rel=1e-12)
    assert bound.lower == pytest.approx(ends[0, "lower"] - ends[1, "upper"], rel=1e-12)
    assert bound.guarantee == pytest.approx(0.04)
    assert bound.holds_for.endswith("in both groups")
    assert bound.order == ("shuffled with a seed derived from the rewards" if name == "betting" else None)


@quiet
@settings(derandomize=True, deadline=None, max_examples=40)
@given(
    st.lists(st.integers(0, 8), min_size=1, max_size=14),
    st.lists(st.integers(0, 8), min_size=1, max_size=14),
    st.sampled_from([0.01, 0.1, 0.4]),
)
def test_betting_on_pairs_is_that_of_the_formula_and_uses_every_reward(first, second, alpha):
    x, y = ([each / 8 for each in group] for group in (first, second))
    bound = difference(x, y, alpha, method="betting", side="upper", support=(0, 1), in_order=True)
    assert bound.upper == pytest.approx(naive.betting(x, y, alpha), abs=1e-8)
    assert bound.order == "as given"
    # On the lattice of another support, turned round.
    moved = [3 - 2 * each for each in x], [3 - 2 * each for each in y]
    turned = difference(*moved, alpha, method="betting:support=(1,3),in_order=True", side="lower")
    assert turned.lower == pytest.approx(-2 * bound.upper, abs=1e-8)
    drawn = difference(x, y, alpha, method="betting", side="upper", support=(0, 1), seed=4, n_orders=3)
    rng = np.random.default_rng(drawn_seed(4, "betting"))
    orders = [random_orders(np.array(group), 3, rng).tolist() for group in (x, y)]
    expected = max(naive.average_betting(*orders, alpha), float(np.mean(x) - np.mean(y)))
    assert drawn.upper == pytest.approx(expected, abs=1e-8)
    assert drawn.order == "shuffled with seed 4"
    assert drawn.guarantee == alpha


def test_betting_on_pairs_says_what_is_wrong_and_never_leaves_the_differences_that_are_possible():
    with pytest.raises(InvalidInput, match="'support' parameter of betting must be"):
        difference([0.5], [0.5], method="betting")
    with pytest.raises(
        InvalidInput, match=r"'second' parameter of betting must be inside the support \[0, 1\]. Got 1.5 at position 0"
    ):
        difference([0.5], [1.5], method="betting", support=(0, 1))
    assert difference([0.1], [0.7, 0.2], method="betting", support=(0, 1)).value == (-1.0, 1.0)
    huge = difference([1e308, 0.0] * 20, [0.0] * 40, method="betting", support=(-1e308, 1e308))
    assert huge.lower < huge.mean < huge.upper
    falling = [1.0] * 200 + [0.0] * 200
    with pytest.warns(AssumptionWarning) as told:
        crossed = difference(falling, [0.0] * 400, method="betting", support=(0, 1), in_order=True)
    said = [str(each.message) for each in told]
    assert said[0].startswith(
        "betting: the first group: the rewards fall along the sample (rank correlation -0.87, p = "
    )
    assert said[1].startswith("betting: no mean is left, because the lower end")
    assert {each.filename for each in told} == {__file__}
    assert (crossed.excludes_all, crossed.contradicted, crossed.guarantee) == (True, True, None)
    for seed in (None, 0):
        kept = difference(falling, [0.0] * 400, method="betting", support=(0, 1), seed=seed)
        assert kept.lower < 0.5 < kept.upper


@pytest.mark.parametrize(
    ("bound", "size", "rate", "low", "high"),
    [
        ("betting", 1000, 0.5, 1 / 0.70, 1 / 0.60),
        ("betting", 20, 0.5, 1 / 0.87, 1 / 0.68),
        ("clopper_pearson", 100, 0.5, 1.1, 1.3),
        ("clopper_pearson", 20, 0.1, 0.8, 1.0),
    ],
)
def test_unions_are_as_wide_beside_betting_on_pairs_as_its_notes_say(bound, size, rate, low, high):
    # Means over six pairs of samples; the union of Clopper and Pearson's bounds was said to be no wider.
    groups = (np.random.default_rng([1, size]).random((2, 6, size)) < rate).astype(float)
    known = {"support": (0, 1)} if bound == "betting" else {}
    of_union = difference(*groups, method="union", bound=bound, **known)
    of_pairs = difference(*groups, method="betting", support=(0, 1))
    widths = [np.subtract(one.upper, one.lower) for one in (of_union, of_pairs)]
    assert low < np.mean(widths[0] / widths[1]) < high


def test_groups_that_came_sorted_are_not_paired_rank_by_rank():
    rows = np.arange(500) / 500
    for seed in (None, 1):
        bound = difference(rows, rows, 0.05, method="betting", support=(0, 1), seed=seed)
        # Rank by rank all pairs would be 0, and the width 0.03.
        assert bound.width > 0.08


def test_a_union_of_mid_p_bounds_promises_twice_alpha_and_one_of_nothing_proved_promises_nothing():
    first, second = [1, 0, 0, 1, 1, 0], [0, 0, 1, 0]
    assert difference(first, second, 0.04, method="union:bound=mid_p").guarantee == pytest.approx(0.08)
    assert difference(first, second, 0.04, method="union:bound=bca").guarantee is None


# --- what all of them keep --------------------------------------------------------------------------------------------


def test_there_are_six_methods_each_with_a_summary():
    assert set(DIFFERENCES) == {"welch", "permutation", "bootstrap", "bootstrap_t", "betting", "union"}
    assert all(entry.summary.endswith(".") for entry in DIFFERENCES.values())


@every_case
@pytest.mark.parametrize("side", ["upper", "lower", "two-sided"])
@pytest.mark.parametrize("sizes", [(9, 7), (30, 25)])
def test_a_batch_equals_its_rows_bit_for_bit(method, side, sizes):
    first, second = groups(2, 3, sizes=sizes)
    batch = difference(first, second, 0.1, method=method, side=side)
    assert batch.mean.shape == batch.lower.shape == batch.upper.shape == (2, 3)
    for i, j in itertools.product(range(2), range(3)):
        one = difference(first[i, j], second[i, j], 0.1, method=method, side=side)
        assert isinstance(one.upper, float)
        assert (one.mean, one.lower, one.upper) == (batch.mean[i, j], batch.lower[i, j], batch.upper[i, j])
        assert one.lower <= one.mean <= one.upper


@every_case
def test_two_sided_at_alpha_is_both_sides_at_half_of_it(method):
    first, second = groups(4, sizes=(30, 25))
    both = difference(first, second, 0.1, method=method)
    for side in ("lower", "upper"):
        np.testing.assert_array_equal(
            getattr(both, side), getattr(difference(first, second, 0.05, method=method, side=side), side)
        )


@each("method", [case for case in CASES if "99" not in case and "mammen" not in case and "seed" not in case])
def test_the_difference_turned_round_has_the_ends_turned_round(method):
    first, second = groups(4)
    there, back = difference(first, second, 0.1, method=method), difference(second, first, 0.1, method=method)
    np.testing.assert_allclose(there.lower, -back.upper, rtol=1e-12)
    np.testing.assert_allclose(there.mean, -back.mean)


@every_case
@pytest.mark.parametrize("sizes", [(9, 7), (30, 25)])
def test_units_and_a_shift_of_one_group_change_the_bound_alike(method, sizes):
    first, second = groups(3, sizes=sizes)
    if "betting" in method:
        return  # whose support would have to move with only one of the groups
    # Draws derived from the rewards change with their units.
    same = {"seed": 3} if DIFFERENCES[method.partition(":")[0]].draws else {}
    base = difference(first, second, 0.1, method=method, **same)
    moved = difference(3 + 0.25 * first, 1 + 0.25 * second, 0.1, method=method, **same)
    np.testing.assert_allclose(moved.upper, 2 + 0.25 * base.upper, atol=1e-8)
    np.testing.assert_allclose(moved.lower, 2 + 0.25 * base.lower, atol=1e-8)
    for power in (-300, 300, 1000):
        huge = difference(first * 2.0**power, second * 2.0**power, 0.1, method=method, **same)
        np.testing.assert_allclose(huge.upper / 2.0**power, base.upper, rtol=1e-9)


@every_case
@quiet
@settings(derandomize=True, deadline=None, max_examples=25)
@given(
    st.lists(st.sampled_from([-9, 0, 0, 1, 2.5, 9]), min_size=1, max_size=7),
    st.lists(st.sampled_from([-9, 0, 0, 1, 2.5, 9]), min_size=1, max_size=7),
    st.sampled_from([1e-6, 0.05, 0.3, 0.49]),
)
def test_ends_never_cross_and_are_numbers(method, first, second, alpha):
    bound = difference(first, second, alpha, method=method)
    assert bound.lower <= bound.upper
    assert not math.isnan(bound.mean)


# --- what they cannot know --------------------------------------------------------------------------------------------


@each("method", ["welch", "bootstrap", "bootstrap_t"])
@each(("first", "second"), [([1.0], [2.0, 3.0, 4.0]), ([1, 2, 5], [3]), ([0.1] * 5, [0.1] * 7), ([1], [2])])
def test_groups_that_show_no_spread_have_no_finite_bound_and_a_note_says_which(method, first, second):
    with pytest.warns(AssumptionWarning, match=f"{method}: .*cannot show how much"):
        bound = difference(first, second, method=method, names=("blue", "red"))
    assert bound.value == (-math.inf, math.inf)
    assert {note.split(" has")[0].split(" of ")[-1].split(" are")[0] for note in bound.notes} <= {"blue", "red"}
    assert len(bound.notes) == (len(set(first)) == 1) + (len(set(second)) == 1)


def test_groups_may_be_called_what_others_are_called_by_default():
    names = ("the second group", "the first group")
    with pytest.warns(AssumptionWarning):
        bound = difference([1.0], [2.0, 2.0], names=names)
    assert bound.notes[0].startswith("the second group has one reward")
    assert bound.notes[1].startswith("all 2 rewards of the first group are 2")


@pytest.mark.filterwarnings("ignore:Precision loss:RuntimeWarning")  # SciPy's
def test_one_group_of_equal_rewards_is_told():
    with pytest.warns(AssumptionWarning, match=r"welch: all 4 rewards of the second group are 2, which cannot show"):
        bound = difference([1.0, 3.0, 4.0], [2.0] * 4)
    expected = stats.ttest_ind([1.0, 3.0, 4.0], [2.0] * 4, equal_var=False).confidence_interval(0.95)
    assert bound.value == pytest.approx((expected.low, expected.high))


@every_case
def test_equal_groups_may_be_equal(method):
    first, _ = groups()
    bound = difference(first, first, method=method)
    assert bound.mean == 0.0
    assert bound.lower < 0 < bound.upper


@each(
    ("first", "second", "options", "message"),
    [
        (
            [],
            [1.0],
            {},
            r"'first' parameter of welch must be at least one reward along its last axis. Got shape \(0,\)",
        ),
        (
            [1.0],
            3.0,
            {},
            r"'second' parameter of welch must be at least one reward along its last axis. Got shape \(\)",
        ),
        ([1.0, math.nan], [1.0], {}, "'first' parameter of welch must be finite. Got nan at position 1"),
        (
            [[1.0], [2.0]],
            [1.0],
            {},
            r"'second' parameter of welch must be of the same batch shape as 'first'. Got shape \(1,\)",
        ),
        ([1.0, 2.0], [1.0], {"method": "wlech"}, "'method' parameter of difference must be one of"),
        ([1.0, 2.0], [1.0], {"method": 3}, "'method' parameter of difference must be one of"),
        ([1.0, 2.0], [1.0], {"alpha": 0.95}, "is 0.05 meant"),
        ([1.0, 2.0], [1.0], {"side": "both"}, "'side' parameter of welch must be one of"),
        ([1.0, 2.0], [1.0], {"seed": 3}, "The method welch does not take these options: .*seed"),
        ([1.0, 2.0], [1.0], {"method": "union", "sigma": 1}, "The bound betting does not take these options: .*sigma"),
        ([1.0, 2.0], [1.0], {"method": "union:bound=x"}, "'bound' parameter of union must be one of"),
        ([1.0, 2.0], [1.0], {"method": "bootstrap:weights=efron"}, "'weights' parameter of bootstrap must be one of"),
        ([1.0, 2.0], [1.0], {"method": "permutation:n_permutations=0"}, "'n_permutations' parameter of permutation"),
        ([1.7e308], [-1.7e308], {}, "'first' parameter of welch must be of a mean whose distance"),
    ],
)
def test_mistakes_are_told_in_a_sentence(first, second, options, message):
    with pytest.raises(InvalidInput, match=message):
        difference(first, second, **options)


# --- several groups ---------------------------------------------------------------------------------------------------

THREE = {"red": [1.8, 2.2, 2.6, 1.1], "dark green": [3.1, 2.4, 4.4, 3.8, 2.9], "blue": [2.0, 2.9, 2.2, 2.4]}


@every_case
def test_each_group_is_compared_as_if_alone_or_at_its_share_of_alpha(method):
    for simultaneous, level in ((None, 0.1), ("bonferroni", 0.05)):
        found = compare(THREE, "red", 0.1, method=method, simultaneous=simultaneous)
        assert list(found.bounds) == ["dark green", "blue"]
        assert (found.control, found.alpha, found.simultaneous) == ("red", 0.1, simultaneous)
        for group, bound in found.bounds.items():
            assert bound == difference(THREE[group], THREE["red"], level, method=method, names=(group, "red"))
        promised = [bound.guarantee for bound in found.bounds.values()]
        assert found.guarantee == (None if promised[0] is None else pytest.approx(2 * level))


@settings(derandomize=True, deadline=None, max_examples=25)
@given(
    st.lists(st.lists(st.integers(-9, 9), min_size=2, max_size=4), min_size=3, max_size=4),
    st.sampled_from([0.05, 0.2, 0.4]),
    st.booleans(),
)
def test_bounds_that_hold_together_are_at_the_quantile_of_the_largest_sum_over_all_signs(samples, alpha, studentized):
    assume(sum(map(len, samples)) <= 13)
    assume(all(min(sample) < max(sample) for sample in samples))
    control, *others = samples
    errors = [naive.welch_error(group, control) if studentized else 1.0 for group in others]
    expected = naive.largest_multiple(control, others, errors, alpha)
    named = {"control": control} | {f"group {i}": group for i, group in enumerate(others)}
    found = compare(
        named, "control", alpha, method="bootstrap", side="upper", simultaneous="max", studentized=studentized
    )
    for bound, error in zip(found.bounds.values(), errors, strict=True):
        assert bound.method == "enumeration"
        assert bound.width == pytest.approx(max(expected, 0) * error, rel=1e-6, abs=1e-9)


def test_drawn_maxima_give_nearly_the_enumerated_bounds(monkeypatch):
    counted = compare(THREE, "red", 0.1, method="bootstrap", simultaneous="max")
    monkeypatch.setattr(sys.modules["bandstrap.bounds.differences.maximum"], "MOST_ENUMERATED", 0)
    drawn = compare(THREE, "red", 0.1, method="bootstrap", simultaneous="max", n_resamples=40_000)
    for group, bound in drawn.bounds.items():
        assert bound.method == "40000 resamples"
        assert bound.width == pytest.approx(counted.bounds[group].width, rel=0.02)
    few = compare(THREE, "red", 0.1, method="bootstrap", simultaneous="max", n_resamples=18)
    assert few.bounds["blue"].value == (-math.inf, math.inf)


def test_the_largest_sum_is_narrower_than_bonferroni_and_wider_than_one_group_alone():
    rng = np.random.default_rng(0)
    several = {str(i): rng.normal(size=40) for i in range(8)}
    widths = {
        how: compare(several, "0", method="bootstrap", simultaneous=how).bounds["3"].width
        for how in (None, "max", "bonferroni")
    }
    assert widths[None] < widths["max"] < widths["bonferroni"]


def test_a_group_of_one_reward_has_no_bound_and_leaves_the_others_theirs():
    with pytest.warns(AssumptionWarning, match="compare: late minus red: late has one reward, which cannot show"):
        found = compare(THREE | {"late": [7.0]}, "red", method="bootstrap", simultaneous="max")
    assert found.bounds["late"].value == (-math.inf, math.inf)
    assert found.bounds["blue"] == compare(THREE, "red", method="bootstrap", simultaneous="max").bounds["blue"]
    with pytest.warns(AssumptionWarning):
        alone = compare({"red": [1.0, 2.0], "late": [7.0]}, "red", method="bootstrap", simultaneous="max")
    assert alone.bounds["late"].value == (-math.inf, math.inf)


@each(
    ("several", "control", "options", "message"),
    [
        ({"red": [1.0]}, "red", {}, r"'groups' parameter of compare must be two or more.* Got one \('red'\)"),
        (THREE, "pink", {}, r"'control' parameter of compare must be one of the groups \(.*red.*\). Got 'pink'"),
        (THREE, None, {}, "'control' parameter of compare must be one of the groups"),
        ([[1.0], [2.0]], "red", {}, "'groups' parameter of compare must be rewards by name"),
        (
            THREE | {"x": [math.nan]},
            "red",
            {},
            r"groups\['x'\]' parameter of compare must be finite. Got nan at position 0",
        ),
        (THREE | {"x": [[1.0]]}, "red", {}, r"groups\['x'\]' parameter of compare must be of one axis"),
        (
            THREE,
            "red",
            {"simultaneous": "sidak"},
            "'simultaneous' parameter of compare must be one of 'bonferroni', 'max'",
        ),
        (
            THREE,
            "red",
            {"simultaneous": "max"},
            "'method' parameter of compare must be 'bootstrap' for simultaneous='max'",
        ),
        (
            THREE,
            "red",
            {"simultaneous": "max", "method": "bootstrap:quantile=inversion"},
            "does not take these options with 'max': .*quantile",
        ),
        (THREE, "red", {"side": "up"}, "'side' parameter of compare must be one of"),
        (THREE, "red", {"alpha": 95}, "'alpha' parameter of compare"),
    ],
)
def test_mistakes_with_several_groups_are_told_in_a_sentence(several, control, options, message):
    with pytest.raises(InvalidInput, match=message):
        compare(several, control, **options)


# --- how often they miss ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [(0, 1), (0, 1, 3), (0, 0, 8)])
@telling(("m", "n"), [(1, 4), (2, 3), (3, 3), (4, 2)], [(1, 4), (2, 3)])
def test_the_permutation_bound_misses_at_most_alpha_of_all_samples_of_a_shifted_law(values, m, n):
    # No chance: every pair of samples, equally likely.
    shift = 0.3
    samples = np.array(list(itertools.product(values, repeat=m + n)), dtype=float)
    first, second = shift + samples[:, :m], samples[:, m:]
    for alpha in (0.05, 0.1, 0.2, 0.34, 0.45):
        for side in ("upper", "lower", "two-sided"):
            bound = difference(first, second, alpha, method="permutation", side=side)
            assert bound.guarantee == alpha
            assert bound.misses(shift).mean() <= alpha


@exhaustive
def test_drawn_permutations_miss_at_most_alpha():
    # Right bounds fail with probability 1e-4. The largest of 19 draws is below the true shift once in 20 samples; a bound
    # that takes the second misses 10 %, and is seen for certain.
    replications, alpha = 3000, 0.05
    rng = np.random.default_rng(3)
    missed = 0
    for _ in range(replications):
        first, second = rng.exponential(size=20), rng.exponential(size=20) - 0.7
        bound = difference(
            first, second, alpha, method="permutation", side="upper", n_permutations=19, seed=rng, check=False
        )
        missed += bound.misses(0.7)
    assert missed <= critical_count(replications, alpha, 1e-4)
    assert missed >= replications * 0.02  # one draw of 20 lies beyond: 5 per cent


@exhaustive
def test_derived_seeds_miss_at_most_alpha_and_one_seed_for_all_samples_may_not():
    # Groups of gamma(1/2) rewards, and 19 divisions, so that an error common to all samples is large: with seed 1 for all,
    # 16 % are missed. A right bound fails with probability 1e-4 (fixed seeds: always or never).
    replications, alpha = 1500, 0.05
    rng = np.random.default_rng(5)
    first, second = rng.gamma(0.5, size=(replications, 60)), rng.gamma(0.5, size=(replications, 40))
    derived, common = (
        difference(first, second, alpha, method="permutation", side="upper", n_permutations=19, seed=seed)
        for seed in (None, 1)
    )
    most = critical_count(replications, alpha, 1e-4)
    assert replications * 0.04 < derived.misses(0.0).sum() <= most < common.misses(0.0).sum()
    assert derived.holds_for.endswith("only by a shift, over rewards and draws together")


@telling("method", ["welch", "bootstrap", "bootstrap_t:n_resamples=399"], ["welch"])
def test_normal_groups_of_unequal_size_and_spread_are_missed_about_as_often_as_aimed_at(method):
    # An error of 0.02 is allowed, for nothing is exact here, and 4 standard errors (0.027): a right bound fails with
    # probability below 1e-4, one that misses 16.7 % or 4.2 % instead of 10 % is seen with 0.99. Pooled variances would miss
    # more than 30 %, for the smaller group is the wider.
    rng = np.random.default_rng(4)
    first, second = rng.normal(1.0, 4.0, size=(2000, 20)), rng.normal(0.0, 1.0, size=(2000, 60))
    rate = difference(first, second, 0.1, method=method).misses(1.0).mean()
    assert rate == pytest.approx(0.1, abs=0.02 + 4 * math.sqrt(0.1 * 0.9 / 2000))


def test_unions_of_exact_bounds_miss_at_most_alpha_for_rates_that_differ():
    # No chance: all pairs of counts, weighted by their binomial probabilities.
    m, n, p, q, alpha = 12, 9, 0.3, 0.6, 0.2
    missed = 0.0
    for i, j in itertools.product(range(m + 1), range(n + 1)):
        first, second = [1] * i + [0] * (m - i), [1] * j + [0] * (n - j)
        bound = difference(first, second, alpha, method="union:bound=clopper_pearson")
        missed += bool(bound.misses(p - q)) * stats.binom.pmf(i, m, p) * stats.binom.pmf(j, n, q)
    assert missed <= bound.guarantee == pytest.approx(alpha)


@telling(("m", "n"), [(60, 60), (200, 80)], [(60, 60)])
def test_betting_on_pairs_misses_at_most_alpha_for_laws_that_differ(m, n):
    # Right bounds fail with probability 1e-4 at the very level: more than 248 of 1000 missed at 0.2. These miss about 8 %;
    # of half their width they would miss 32 %, which is seen for certain.
    replications, alpha, rng = 1000, 0.2, np.random.default_rng(12)
    first, second = rng.random((replications, m)) ** 2, 1.0 * (rng.random((replications, n)) < 0.7)
    bound = difference(first, second, alpha, method="betting", support=(0, 1))
    missed = int(bound.misses(1 / 3 - 0.7).sum())
    assert missed <= critical_count(replications, alpha, 1e-4)


@exhaustive
@pytest.mark.parametrize("simultaneous", ["bonferroni", "max"])
def test_bounds_that_hold_together_miss_any_group_about_as_often_as_aimed_at(simultaneous):
    # Four groups and a control: bounds each at 0.1 miss one at least of them 27 % of the time. Allowed is 0.1 + 0.03 for
    # what is not exact, and 3.7 standard errors (1e-4): seen with probability 0.99 are 20.5 % and more.
    replications, rng = 800, np.random.default_rng(6)
    missed = 0
    for _ in range(replications):
        several = {str(i): rng.normal(i, 1 + i, size=30) for i in range(5)}
        found = compare(
            several,
            "0",
            0.1,
            method="bootstrap:weights=gaussian",
            simultaneous=simultaneous,
            **({"n_resamples": 299, "seed": rng} if simultaneous == "max" else {}),
        )
        missed += any(bound.misses(float(group)) for group, bound in found.bounds.items())
    assert missed / replications <= 0.13 + 3.7 * math.sqrt(0.1 * 0.9 / replications)
    assert missed / replications >= 0.05


@every_case
def test_a_side_that_is_none_is_refused_before_anything_else(method):
    for side in (np.array([1.0, 2.0]), "both", None):
        with pytest.raises(InvalidInput, match=r"'side' parameter of \w+ must be one of 'upper', 'lower', 'two-sided'"):
            difference(*groups(), method=method, side=side)

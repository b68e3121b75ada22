import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap.multipliers import subset_mean
from bandstrap.multipliers.subset_mean import (
    ENUMERATION,
    FEW_SUBSETS,
    GROUPED,
    INVERSION,
    MOST_COUNTED,
    MOST_COUNTED_FAR,
    certain_tail_batch,
    is_counted,
    subset_mean_batch,
)
from naive.bounds import exact_subset_mean_quantile, many_subsets_quantile
from sampling import each, telling

rewards = st.lists(st.floats(-5, 5, allow_subnormal=False), min_size=1, max_size=10)
tied_rewards = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=10)
decimal_rewards = st.lists(st.integers(-30, 30).map(lambda k: k / 10), min_size=1, max_size=9)
dyadic_levels = st.integers(1, 10).flatmap(lambda n: st.integers(1, 2**n - 1).map(lambda k: k / 2.0**n))
levels = st.floats(1e-4, 0.999) | dyadic_levels


def quantiles(rows, level):
    return subset_mean.quantiles(np.asarray(rows, dtype=float), level)[0]


def quantile(sample, level):
    return float(quantiles([sample], level)[0])


LAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "uniform": lambda rng, n: rng.uniform(size=n),
    "exponential": lambda rng, n: rng.exponential(size=n),
    "t3": lambda rng, n: rng.standard_t(3, size=n),
    "lumps": lambda rng, n: rng.choice([-1, 1], size=n) + 0.01 * rng.normal(size=n),
    "tenths": lambda rng, n: np.round(rng.normal(size=n), 1),
}


@settings(derandomize=True, deadline=None, max_examples=60)
@given(rewards, levels)
def test_quantile_is_that_of_all_subsets_or_a_little_more(sample, level):
    exact = exact_subset_mean_quantile(sample, level)
    found = quantile(sample, level)
    assert found >= exact
    if math.isfinite(exact):
        assert found <= exact + (max(sample) - min(sample)) * 2.0**-44 + 5e-15


@settings(derandomize=True, deadline=None, max_examples=100)
@given(tied_rewards, dyadic_levels, st.integers(-1000, 1000))
def test_quantile_of_whole_numbers_is_the_next_double_above_the_exact_one(sample, level, power):
    exact = exact_subset_mean_quantile(sample, level)
    found = math.ldexp(quantile([math.ldexp(y, power) for y in sample], level), -power)
    assert found >= exact
    if math.isfinite(exact):
        assert math.nextafter(found, -math.inf) < exact


@settings(derandomize=True, deadline=None, max_examples=60)
@given(decimal_rewards, levels)
def test_quantile_of_decimals_holds_for_the_decimals_and_for_their_doubles(sample, level):
    decimals = [Fraction(round(10 * y), 10) for y in sample]
    found = quantile(sample, level)
    assert found >= exact_subset_mean_quantile(sample, level)
    # A mean that is a decimal is known as the double nearest to it.
    nearest = float(exact_subset_mean_quantile(decimals, level))
    assert nearest <= found <= nearest + 1e-14


def test_the_quantile_is_an_attained_mean():
    # Of 7 rewards at 0.05 six subsets may be at or above: {1}, and 1 with each of the six others, means 1 and 0.
    assert quantile([-1.0] * 6 + [1.0], 0.05) == 0.0
    assert quantile([0.0] * 6 + [1.0], 0.05) == 0.5
    assert quantile([-1e308] * 6 + [1e308], 0.05) == 0.0
    assert quantile([-5e-324] * 6 + [5e-324], 0.05) == 0.0
    assert quantile([0.0] * 6 + [5e-324], 0.05) == 5e-324  # half of it is no double


@each("y", [[1e308, 1e-10, 2e-10, -3e-10], [1e308, 5e-324, 0.0, -5e-324], [-1e308, 1e-300, 3e-300, 0.1]])
@each("level", [0.0625, 0.2, 0.5, 0.7, 0.9])
def test_rewards_lost_beside_a_huge_one_do_not_lower_the_quantile(y, level):
    assert quantile(y, level) >= exact_subset_mean_quantile(y, level)


@pytest.mark.parametrize(
    ("other", "times", "largest"),
    [
        ("0x1.00f0864a15440p+0", 12, "0x1.18ace0bc87900p+0"),
        ("0x1.0aa79c52352c0p+0", 5, "0x1.3eb20663e7300p+0"),
        ("0x1.018bb6a5b8540p+0", 12, "0x1.4f6cdec182400p+0"),
    ],
)
def test_rewards_that_are_whole_units_but_for_rounding_do_not_lower_the_quantile(other, times, largest):
    # 866/946, 620/741 and 711/926 of the largest as rounded, while the unit is no double and sums of it are rounded too.
    y = [0.0, *[float.fromhex(other)] * times, float.fromhex(largest)]
    assert quantile(y, 0.25) >= exact_subset_mean_quantile(y, 0.25)


@each("n", [25, 30, 60, 101])
@each("level", [0.6, 0.2, 0.05, 0.001, 1e-6])
def test_quantile_of_two_values_is_that_of_the_hypergeometric_staircase(n, level):
    # With k ones among n rewards, i ones and j zeros are in with C(k, i) C(n - k, j)/2^n; the mean is i/(i + j).
    for k in (1, n // 3, n // 2, n - 1):
        ways: dict[Fraction, int] = {}
        for i in range(k + 1):
            for j in range(n - k + 1):
                if i + j:
                    mean = Fraction(i, i + j)
                    ways[mean] = ways.get(mean, 0) + math.comb(k, i) * math.comb(n - k, j)
        above = 1  # the empty subset
        expected = math.inf
        for mean in sorted(ways, reverse=True):
            if Fraction(above, 2**n) > Fraction(level):
                break
            expected = mean
            above += ways[mean]
        found, method = subset_mean.quantiles(np.array([[1.0] * k + [0.0] * (n - k)]), level)
        assert method[0] == GROUPED
        assert found[0] >= expected > math.nextafter(found[0], -1)


@each("n", range(1, 8))
def test_every_dyadic_level_gives_its_own_subset_mean(n):
    # Between k/2^n and (k+1)/2^n the quantile is the k-th largest of all subset means, the empty one first.
    y = np.sort(np.random.default_rng(n).normal(size=n))
    means = sorted((np.mean(s) for size in range(1, n + 1) for s in itertools.combinations(y, size)), reverse=True)
    for k in range(1, 2**n):
        for level in (k / 2.0**n, (k + 0.9) / 2.0**n):
            assert quantile(y, level) == pytest.approx(means[k - 1], rel=1e-12, abs=1e-12)
    assert quantile(y, 0.99 / 2.0**n) == math.inf


@each("n", [13, 24])
@each("level", [0.5, 0.2, 0.05, 1e-3])
def test_entry_counts_exactly_up_to_its_limit(n, level):
    rows = np.random.default_rng(n).standard_t(3, size=(2, n))
    expected = [many_subsets_quantile(row, level) for row in rows]
    np.testing.assert_allclose(quantiles(rows, level), expected, rtol=0, atol=2e-10 * np.ptp(rows))


@pytest.mark.parametrize("law", LAWS)
@telling("n", [26, 28], [26])
@pytest.mark.parametrize("level", [0.5, 0.2, 0.05, 1e-3])
def test_smoothed_quantile_is_never_below_the_exact_one_and_hardly_above(law, n, level):
    y = np.sort(LAWS[law](np.random.default_rng([n, 7]), n))
    exact = many_subsets_quantile(y, level)
    found, method = subset_mean.quantiles(y[None], level)
    assert method == [INVERSION]
    excess = (found[0] - exact) / (y.std() / math.sqrt(n))
    # many_subsets_quantile has ten digits
    assert -1e-8 < excess < (0.1 if law == "lumps" else 0.006)


OUTLIERS = {
    "one low": [-50.0],
    "two low": [-50.0, -40.0],
    "one high": [50.0],
    "both": [-60.0, 45.0],
    "one huge": [-1e9],
}


@pytest.mark.parametrize("outliers", OUTLIERS)
@pytest.mark.parametrize("level", [0.2, 0.05, 0.01])
@telling("seed", range(3), [0])
def test_a_reward_that_outweighs_the_others_does_not_widen_the_bound(outliers, level, seed):
    # 19 % too wide, that is 0.22 standard errors, where the saddlepoint was the only guess.
    few = OUTLIERS[outliers]
    y = np.append(np.random.default_rng([28, seed]).normal(size=28 - len(few)), few)
    exact = many_subsets_quantile(y, level)
    excess = (quantile(y, level) - exact) / (y.std() / math.sqrt(28))
    assert -1e-8 < excess < 0.005


def crowds(places, counts, width, seed):
    """Rewards near ``places``, and as many at them exactly."""
    at = np.repeat(places, counts)
    return at, at + width * np.random.default_rng(seed).uniform(-1, 1, at.size)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.lists(st.integers(1, 40), min_size=2, max_size=2), st.sampled_from([0.4, 0.2, 0.05, 0.01, 1e-3]), st.data())
def test_rewards_that_crowd_at_few_places_are_counted(counts, level, data):
    counts = [*counts, max(25 - sum(counts), 1)]
    places = data.draw(st.sampled_from([[-1.0, 0.0, 1.0], [0.0, 1.0, math.pi], [0.0, 1.0, 100.0]]))
    at, near = crowds(places, counts, 1e-7, sum(counts))
    error = near.std() / math.sqrt(near.size)
    found, method = subset_mean.quantiles(near[None], level)
    assert method == [GROUPED]
    # A subset mean moves by at most 1e-7, and its crowd is rounded up by at most 2e-7.
    below, above = subset_mean.quantiles(np.array([at - 1e-7, at + 3e-7]), level)[0]
    assert below - 1e-12 <= found[0] <= above + 1e-12
    assert found[0] <= below + 1e-3 * error + 1e-6


@pytest.mark.parametrize("level", [0.2, 0.05, 1e-3])
def test_crowds_are_counted_as_all_their_subsets(level):
    for seed, places in enumerate([(-1.0, 1.0), (0.0, 0.3, 1.0), (0.0, 1.0, math.e, 5.0)]):
        rng = np.random.default_rng(seed)
        y = rng.choice(places, size=26) + 1e-6 * rng.normal(size=26)
        exact = many_subsets_quantile(y, level)
        found, method = subset_mean.quantiles(y[None], level)
        assert method == [GROUPED]
        assert -1e-8 < (found[0] - exact) / (y.std() / math.sqrt(26)) < 1e-3


@pytest.mark.parametrize("level", [0.5, 0.8, 0.99])
def test_smoothed_quantile_also_serves_the_lower_half(level):
    y = np.sort(np.random.default_rng(8).normal(size=26))
    exact = many_subsets_quantile(y, level)
    assert exact <= quantile(y, level) <= exact + 0.06 * y.std() / math.sqrt(26)


@pytest.mark.parametrize("n", [28, 32])
def test_counting_and_approximation_meet_where_one_hands_over_to_the_other(n):
    rows = np.random.default_rng(n).normal(size=(3, n))
    switch = FEW_SUBSETS / 2.0**n
    assert is_counted(n, 0.999 * switch)
    assert not is_counted(n, switch)
    counted, approximate = quantiles(rows, 0.999 * switch), quantiles(rows, switch)
    np.testing.assert_allclose(approximate, counted, rtol=0, atol=0.005 * (counted - rows.mean(axis=-1)).min())


def test_each_sample_is_served_by_the_method_that_is_told():
    normal = np.random.default_rng(0).normal(size=(1, 60))
    tenths = np.round(normal, 1)
    signs = np.sign(normal)
    served = {
        ENUMERATION: [normal[:, :24], tenths[:, :24]],
        GROUPED: [signs[:, :24], signs[:, :60], np.round(normal)],
        INVERSION: [normal[:, :25], tenths[:, :60]],
    }
    for method, samples in served.items():
        for rows in samples:
            assert subset_mean.quantiles(rows, 0.05)[1] == [method]


def test_where_subsets_are_counted():
    assert is_counted(MOST_COUNTED, 0.5)
    assert not is_counted(MOST_COUNTED + 1, 0.5)
    assert is_counted(MOST_COUNTED_FAR, 1e-9)
    assert not is_counted(MOST_COUNTED_FAR + 1, 1e-9)
    assert not is_counted(5000, 1e-300)


@each("n", [1, 4, 20, 30, 36, 37, 40, 60])
def test_quantile_is_infinite_exactly_while_the_empty_subset_outweighs_the_level(n):
    rows = np.random.default_rng(n).normal(size=(1, n))
    assert quantiles(rows, 0.5**n)[0] == pytest.approx(rows.max(), rel=1e-9)
    for share in (0.99, 0.5, 1e-3):
        assert quantiles(rows, share * 0.5**n)[0] == math.inf, f"level {share} * 2^-{n}"


@each("n", [1, 5, 24, 25, 36, 37, 100])
def test_constant_rows_give_the_constant_or_infinity(n):
    rows = np.full((1, n), 0.3)
    assert quantiles(rows, 0.6)[0] == 0.3
    assert quantiles(rows, 0.5**n)[0] == 0.3
    assert quantiles(rows, 0.9 * 0.5**n)[0] == math.inf


@pytest.mark.parametrize("n", [7, 12, 30, 50])
def test_quantile_does_not_depend_on_the_order_of_rewards(n):
    rng = np.random.default_rng(n)
    row = rng.normal(size=n)
    rows = np.array([row, row[::-1], rng.permutation(row)])
    out = quantiles(rows, 0.05)
    assert out[0] == out[1] == out[2]


@pytest.mark.parametrize("n", [10, 24, 30, 60])
def test_quantile_falls_as_the_level_rises(n):
    rows = np.random.default_rng(n).standard_t(2, size=(2, n))
    ends = np.array([quantiles(rows, level) for level in (1e-9, 1e-5, 1e-3, 0.01, 0.05, 0.2, 0.5, 0.9, 0.999)])
    assert (ends[1:] <= ends[:-1]).all()
    assert (ends[-1] < rows.mean(axis=-1)).all()
    assert (ends[-1] >= rows.min(axis=-1)).all()


@telling("n", [1, 2, 5, 16, 25, 30, 50], [1, 2, 5, 16])
def test_compiled_and_plain_entry_give_the_same_bits(n):
    rng = np.random.default_rng(n)
    laws = (
        rng.normal(size=n),
        rng.standard_cauchy(n),
        rng.integers(0, 3, n),
        np.ones(n),
        np.append(rng.normal(size=n - 1), -50.0),
        rng.integers(0, 3, n) + 1e-7 * rng.normal(size=n),
    )
    rows = np.sort([*laws], axis=-1).astype(float)
    for level in (0.7, 0.2, 0.05):
        plain, compiled = np.empty((2, len(rows)))
        plain_methods, compiled_methods = np.empty((2, len(rows)), dtype=np.int64)
        subset_mean_batch.plain(rows, level, plain_methods, plain)
        subset_mean_batch.compiled(rows, level, compiled_methods, compiled)
        assert plain.tolist() == compiled.tolist()
        assert plain_methods.tolist() == compiled_methods.tolist()


@pytest.mark.parametrize("n", [25, 30, 60])
def test_compiled_and_plain_tail_have_the_same_bits(n):
    rng = np.random.default_rng(n)
    rows = np.array([rng.normal(0.3, 1.0, n), rng.standard_t(3, n), rng.integers(-2, 4, n)]) / 8.0
    for level in (0.05, 0.005):
        plain, compiled = np.empty((2, len(rows)))
        certain_tail_batch.plain(rows, level, plain)
        certain_tail_batch.compiled(rows, level, compiled)
        assert plain.tolist() == compiled.tolist()
        assert (plain > 0).any()


@pytest.mark.parametrize("n", [9, 30])
def test_quantile_shifts_and_scales_with_the_rewards(n):
    rows = np.random.default_rng(n).normal(size=(3, n))
    base = quantiles(rows, 0.05)
    np.testing.assert_allclose(quantiles(3.0 + 2.5 * rows, 0.05), 3.0 + 2.5 * base, rtol=1e-9)
    for power in (-300, 300):
        np.testing.assert_allclose(quantiles(np.ldexp(rows, power), 0.05), np.ldexp(base, power), rtol=1e-9)


@each("n", [9, 30])
@each("scale", [1e-200, 1e200, 1e307])
def test_quantile_scales_with_rewards_whose_squares_leave_the_floats(n, scale):
    rows = np.random.default_rng(n).uniform(-1, 1, size=(3, n))
    np.testing.assert_allclose(quantiles(scale * rows, 0.05) / scale, quantiles(rows, 0.05), rtol=1e-9)


def test_rewards_are_not_sorted_in_place():
    rows = np.random.default_rng(0).normal(size=(2, 8))
    before = rows.copy()
    quantiles(rows, 0.05)
    assert (rows == before).all()

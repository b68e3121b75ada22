"""What counts as numbers, and what is refused in one sentence."""

import datetime
import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars
import pytest

from bandstrap import UCB1
from bandstrap.bounds import BOUNDS, bootstrap, hoeffding, sign_flip
from bandstrap.bounds.assumptions import ascending, contradictions, symmetry_p_value
from bandstrap.bounds.bound import check_support
from bandstrap.errors import InvalidInput, check_levels, check_number, check_numbers, check_sample, sample_mean
from bandstrap.multipliers import bootstrap_quantile
from bandstrap.multipliers.quantile import WEIGHTS
from sampling import each


def shown(value):
    """A case by its text, without the address of an object: both workers must call it the same."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


LARGEST = 1.7e308
SMALLEST = 5e-324


class Frame:
    """As much of a data frame as is looked at."""

    def __init__(self, **columns: list) -> None:
        self.columns = list(columns)
        self._values = np.array(list(columns.values())).T

    def to_numpy(self) -> np.ndarray:
        return self._values

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return self._values.astype(dtype or self._values.dtype)


class ArrowTable(Frame):
    """As much of an Arrow table as is looked at."""

    def __init__(self, **columns: list) -> None:
        super().__init__(**columns)
        self.column_names, self.columns = self.columns, list(columns.values())


# --- what is no number ------------------------------------------------------------------------------------------------

NO_NUMBERS = [
    np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]"),
    np.array([5, 6], dtype="timedelta64[s]"),
    [1, np.timedelta64(5, "s")],
    [1.5, np.timedelta64(5, "s")],
    [datetime.date(2020, 1, 1)],
    [datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)],
    [datetime.timedelta(1)],
    np.array(["1", "2"], dtype=object),
    np.array([0.5, "1"], dtype=object),
    np.array([0.5, None], dtype=object),
    np.array([(1.0,)], dtype=[("a", float)]),
    np.array([(1.0, 2.0)], dtype=[("a", float), ("b", float)]),
    b"ab",
    bytearray(b"ab"),
    memoryview(b"ab"),
    ["0.5"],
    [1j],
    [[0.1, 0.2], [0.3]],
    {0.1: 0.2},
    polars.Series(["0.5"]),
    polars.Series([datetime.date(2020, 1, 1)]),
    polars.Series([datetime.timedelta(1)]),
    polars.Series([True, None]),
]


@each("values", NO_NUMBERS, ids=shown)
@each("check", [check_sample, check_numbers, check_levels], ids=lambda check: check.__name__)
def test_what_is_no_number_is_refused_in_one_line(check, values):
    owner = ("f",) if check is check_sample else ("sample", "f")
    with pytest.raises(InvalidInput, match=r"The 'sample' parameter of f must be .* Got .* instead.") as error:
        check(values, *owner)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "values",
    [
        np.ma.array([1, 2, 1e6], mask=[0, 0, 1]),
        np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 0], [1, 0]]),
        [0.5, np.ma.masked],
        [np.ma.array([0.1, 0.2], mask=[0, 1]), [0.3, 0.4]],
    ],
    ids=shown,
)
def test_masked_values_are_refused_with_advice(values):
    with pytest.raises(InvalidInput, match=r"must be without masked values \(compressed\(\) leaves them out\)"):
        hoeffding(values, 0.1, sigma=1)
    with pytest.raises(InvalidInput, match="without masked values"):
        bootstrap_quantile([0.0, 1.0], np.ma.array([0.1, 0.2], mask=[0, 1]))


def test_a_mask_that_hides_nothing_changes_nothing():
    values = np.ma.array([1.0, 2.0, 4.0], mask=[0, 0, 0])
    assert hoeffding(values, 0.1, sigma=1) == hoeffding([1.0, 2.0, 4.0], 0.1, sigma=1)
    hidden = np.ma.array([1.0, 1e6, 2.0, 4.0], mask=[0, 1, 0, 0])
    assert hoeffding(hidden.compressed(), 0.1, sigma=1).mean == pytest.approx(7 / 3)


@pytest.mark.parametrize(
    "frame",
    [polars.DataFrame, lambda columns: Frame(**columns), lambda columns: ArrowTable(**columns)],
    ids=["polars", "pandas", "arrow"],
)
def test_a_frame_of_one_column_is_that_column_and_of_several_is_refused(frame):
    one = sign_flip(frame({"a": [0.4, -0.3, 0.1, 0.7, -0.6]}), 0.1)
    assert one == sign_flip([0.4, -0.3, 0.1, 0.7, -0.6], 0.1)
    with pytest.raises(InvalidInput, match=r"must be one column of a data frame. Got 2 \(a, b\) instead"):
        sign_flip(frame({"a": [0.4, -0.3], "b": [0.1, 0.7]}), 0.1)
    with pytest.raises(InvalidInput, match=r"must be one column of a data frame. Got 0 "):
        sign_flip(frame({}), 0.1)


def test_a_pandas_frame_is_read_like_a_polars_one():
    pandas = pytest.importorskip("pandas")
    values = [0.4, -0.3, 0.1, 0.7, -0.6]
    for given in (pandas.Series(values), pandas.DataFrame({"a": values})):
        assert sign_flip(given, 0.1) == sign_flip(values, 0.1)
    with pytest.raises(InvalidInput, match="one column of a data frame"):
        sign_flip(pandas.DataFrame({"a": values, "b": values}), 0.1)


def test_series_whole_numbers_booleans_and_exact_numbers_are_numbers():
    for values in (
        polars.Series([1, 0, 1, 1]),
        [1, 0, 1, 1],
        np.array([1, 0, 1, 1], dtype=np.uint8),
        np.array([1, 0, 1, 1], dtype=np.float16),
        np.array([1, 0, 1, 1], dtype=object),
        [True, False, True, True],
        np.array([True, False, 1, 1.0], dtype=object),
        [Fraction(1), Fraction(0), 1, Fraction(2, 2)],
        [Decimal(1), Decimal(0), Decimal("1.0"), Decimal(1)],
    ):
        assert check_sample(values, "f").tolist() == [1.0, 0.0, 1.0, 1.0]
    assert check_sample([10**30, 1], "f").tolist() == [1e30, 1.0]
    assert check_numbers([Fraction(1, 4), 10**30], "x", "f").tolist() == [0.25, 1e30]
    assert check_levels([Fraction(1, 4), Decimal("0.5")], "x", "f").tolist() == [0.25, 0.5]


@pytest.mark.parametrize("values", [[10**400], [Decimal("1e400")], [Fraction(10**400)], [Decimal("nan")]], ids=shown)
def test_numbers_beyond_all_floats_are_refused_as_not_finite(values):
    with pytest.raises(InvalidInput, match="'sample' parameter of f must be finite"):
        check_sample(values, "f")


def test_booleans_are_no_numbers_where_they_were_none():
    for check in (check_numbers, check_levels):
        for values in ([True, False], np.array([True, 0.5], dtype=object)):
            with pytest.raises(InvalidInput, match="'x' parameter of f must be"):
                check(values, "x", "f")


@pytest.mark.parametrize("value", [np.timedelta64(5, "ns"), np.timedelta64(5, "s"), np.datetime64("2020-01-01")])
def test_a_length_of_time_is_no_number(value):
    with pytest.raises(InvalidInput, match=r"'x' parameter of f must be a finite number. Got np"):
        check_number(value, "x", "f")


@each("support", ["01", b"01", ("0", "1"), np.array([0, 9], dtype="m8[s]"), (False, True), {0, 1}])
def test_a_support_is_made_of_numbers(support):
    with pytest.raises(InvalidInput, match=r"'support' parameter of f must be a pair \(low, high\) of finite numbers"):
        check_support(support, "f")
    assert check_support([Fraction(1, 2), 2], "f") == (0.5, 2.0)


@each(
    "rewards",
    [
        bytearray(b"ab"),
        memoryview(b"ab"),
        b"ab",
        np.array([5, 6], dtype="m8[s]"),
        np.array([5, 6], dtype="m8[ns]"),
        np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]"),
        np.array(["1", "2"], dtype=object),
        np.ma.array([1.0, 2.0], mask=[0, 1]),
        polars.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}),
    ],
    ids=shown,
)
def test_rewards_that_are_no_numbers_are_refused_and_change_nothing(rewards):
    policy = UCB1(arms=2, rng=0)
    with pytest.raises(InvalidInput) as error:
        policy.update([0, 1], rewards)
    assert "\n" not in str(error.value)
    assert policy.n_rewards == 0
    assert list(policy._state.pulls) == [0, 0]


# --- huge and tiny numbers --------------------------------------------------------------------------------------------


def test_the_mean_of_huge_numbers_is_a_number():
    assert sample_mean(np.array([LARGEST, LARGEST])) == LARGEST
    assert sample_mean(np.array([LARGEST, LARGEST, -LARGEST])) == pytest.approx(LARGEST / 3, rel=1e-15)
    top = np.finfo(float).max
    assert sample_mean(np.full(7, top)) == top
    assert sample_mean(np.full(3, -top)) == -top
    batch = np.array([[LARGEST, LARGEST], [0.1, 0.2]])
    assert sample_mean(batch).tolist() == [LARGEST, np.mean([0.1, 0.2])]


EXTREMES = {
    "equal": [LARGEST] * 2,
    "opposite": [LARGEST, -LARGEST],
    "one": [LARGEST],
    "mixed": [LARGEST, -LARGEST, LARGEST / 2, LARGEST, LARGEST, -LARGEST, LARGEST, 1.0, 0.3 * LARGEST],
    "ramp": (LARGEST * np.linspace(-1, 1, 30)).tolist(),
    "many": [LARGEST] * 40,
    "tiny": [SMALLEST] * 2,
    "tiny and zero": [SMALLEST, 0.0, 2 * SMALLEST, 0.0, -SMALLEST, 0.0, SMALLEST, 0.0, 0.0],
}
FORMS = [{"correction": form} for form in ("none", "practical", "theorem", "sharp")] + [
    {"correction": "sharp", "quantile": "monte-carlo", "seed": 0},
    {"correction": "practical", "weights": "mammen"},
    {"correction": "practical", "weights": "exponential"},
]
OPTIONS = {
    "hoeffding": [{"sigma": 1e308}, {"sigma": SMALLEST}, {"support": (-LARGEST, LARGEST)}],
    "empirical_bernstein": [{"support": (-LARGEST, LARGEST)}, {"support": (-LARGEST, LARGEST), "spread": 1e308}],
    "sub_weibull": [{"sigma": 1e308, "beta": 1.5}, {"sigma": SMALLEST, "beta": 2}],
    "bootstrap": [form | {"sigma": 1e308} for form in FORMS] + [{"support": (-LARGEST, LARGEST)}],
    "empirical_kl": [{"support": (-LARGEST, LARGEST)}],
    "betting": [{"support": (-LARGEST, LARGEST)}],
    "clopper_pearson": [{"support": (-LARGEST, LARGEST)}],
    "mid_p": [{"support": (-LARGEST, LARGEST)}],
}


@each("sample", EXTREMES.values(), ids=EXTREMES)
@each("side", ["upper", "lower", "two-sided"])
@each("name", sorted(BOUNDS))
@pytest.mark.filterwarnings("ignore::bandstrap.errors.AssumptionWarning")  # of equal rewards, and of a ramp
def test_a_bound_on_huge_or_tiny_rewards_is_a_number(name, side, sample):
    if "binary" in BOUNDS[name].assumes:
        sample = [LARGEST if y > 0 else -LARGEST for y in sample]
    for options in OPTIONS.get(name, [{}]):
        bound = BOUNDS[name].function(sample, 0.1, side=side, **options)
        assert math.isfinite(bound.mean)
        assert not any(math.isnan(value) for value in (bound.lower, bound.upper, bound.width, *bound.parts.values()))
        # Time-uniform bounds may end below the mean of rewards that rise, as in the ramp.
        assert name in ("betting", "symmetric_betting") or bound.lower <= bound.mean <= bound.upper
        batch = BOUNDS[name].function([sample, sample], 0.1, side=side, **options)
        assert batch.mean.tolist() == [bound.mean] * 2


@each("name", ["betting", "empirical_kl", "empirical_bernstein", "hoeffding", "sign_flip", "student_t"])
@each("power", [1015, -1060])
def test_huge_and_tiny_units_change_a_bound_alike(name, power):
    # Powers of two: the huge ones are exact, the tiny ones round to multiples of the smallest float.
    sample = np.array([3.0, -2.0, 5.0, 1.0, 0.0, 2.0, -4.0, 4.0]) * 2.0**4
    support = {"support": (-64.0, 96.0)} if "support" in "".join(BOUNDS[name].needs) else {}
    scaled = {key: tuple(math.ldexp(end, power) for end in ends) for key, ends in support.items()}
    orders = {"seed": 0} if BOUNDS[name].walks else {}  # which else are drawn for each sample
    plain = BOUNDS[name].function(sample, 0.1, side="two-sided", **support, **orders)
    moved = BOUNDS[name].function(np.ldexp(sample, power), 0.1, side="two-sided", **scaled, **orders)
    for found, expected in zip(moved.value, plain.value, strict=True):
        assert found == pytest.approx(math.ldexp(expected, power), rel=1e-9, abs=2 * SMALLEST)


@each("sample", EXTREMES.values(), ids=EXTREMES)
@each("weights", WEIGHTS)
def test_a_quantile_of_huge_or_tiny_rewards_is_a_number(weights, sample):
    assert bootstrap_quantile(sample, 0.05, weights=weights) >= 0


def test_data_beyond_squares_are_doubted_like_any_others():
    skewed = np.array([1, 1, 1, 2, 2, 3, 9, 30, 80, 250.0] * 2)
    for power in (1010, -1060):
        huge = np.ldexp(skewed, power)
        assert symmetry_p_value(ascending(huge)) == symmetry_p_value(ascending(skewed))
        assert "skewed to the right" in contradictions("sign_flip", huge, {})[0]
        assert "above sigma" in contradictions("hoeffding", huge, {"sigma": math.ldexp(1.0, power)})[0]
        assert contradictions("hoeffding", huge, {"sigma": math.ldexp(100.0, power)}) == []


def test_a_huge_sample_behind_the_sharp_form_keeps_its_phi():
    bound = bootstrap([LARGEST, -LARGEST], 0.1, phi=1e308, correction="sharp")
    assert 1e308 <= bound.upper <= 1e308 * (1 + 1e-14)  # rounded outwards

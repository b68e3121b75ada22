"""What every bound keeps, over every entry of the registry and its forms."""

import dataclasses
import inspect
import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap.bounds import BOUNDS, Bound
from bandstrap.bounds.betting import average_batch, betting_batch
from bandstrap.bounds.empirical_kl import largest_mean_batch
from bandstrap.bounds.symmetric_betting import symmetric_betting_batch
from bandstrap.errors import AssumptionWarning, InvalidInput
from bandstrap.multipliers.subset_mean import subset_mean_batch
from sampling import each, telling

SUPPORT = (-4.0, 5.0)
GIVEN = {"sigma": 1.2, "support": SUPPORT, "beta": 1.5}


def needed(name: str) -> dict:
    """One value for each option the bound cannot do without."""
    options = {option: GIVEN[option] for option in (need.split("|")[0] for need in BOUNDS[name].needs)}
    # Two values that a change of units changes, as it does a support.
    return options | ({"support": SUPPORT} if is_binary(name) else {})


def is_binary(name: str) -> bool:
    return "binary" in BOUNDS[name].assumes


FORMS = [
    ("hoeffding", {"support": SUPPORT}),
    ("empirical_bernstein", {"support": SUPPORT, "form": "maurer-pontil"}),
    ("sub_weibull", {"sigma": 1.2, "beta": 0.5, "symmetric": True}),
    ("sub_weibull", {"sigma": 1.2, "beta": 2, "constant": 1.5}),
    ("bootstrap", {"sigma": 1.2, "correction": "theorem"}),
    ("bootstrap", {"sigma": 1.2, "correction": "stated"}),
    ("bootstrap", {"sigma": 1.2, "correction": "sharp"}),
    ("bootstrap", {"correction": "none"}),
    ("bootstrap", {"support": SUPPORT, "weights": "gaussian"}),
    ("bootstrap", {"phi": 0.7, "weights": "efron"}),
    ("bootstrap", {"phi": 0.7, "weights": "efron", "interval": "basic"}),
    ("bootstrap", {"phi": "student_t", "weights": "mammen"}),
    ("bootstrap", {"phi": "empirical_kl", "support": SUPPORT, "correction": "sharp"}),
    ("bootstrap", {"phi": "betting", "support": SUPPORT, "quantile": "saddlepoint"}),
    ("sign_flip", {"sigma": 1.2}),
    ("sign_flip", {"phi": "empirical_kl", "support": SUPPORT}),
    ("empirical_kl", {"support": SUPPORT, "calibration": "plain"}),
    ("betting", {"support": SUPPORT, "share": 0.75}),
    ("hall", {"quantile": "normal"}),
    ("bca", {"n_resamples": 99}),
]
CASES = [(name, needed(name)) for name in sorted(BOUNDS)] + FORMS


def ident(case: tuple[str, dict]) -> str:
    return " ".join([case[0], *(str(value) for value in case[1].values())])


each_bound = each("name", sorted(BOUNDS))
each_case = each("case", CASES, ids=ident)
# Read in order, the largest capital over the path cannot sink, so these may end below the mean of rewards that changed.
SEQUENTIAL = tuple(name for name, entry in BOUNDS.items() if entry.walks)
# Draws derived from the rewards change with their units.
WITH_SEED = tuple(name for name, entry in BOUNDS.items() if "seed" in inspect.signature(entry.function).parameters)
# Some samples here are of one reward or of equal ones, which some bounds say they take for no spread at all.
pytestmark = pytest.mark.filterwarnings("ignore::bandstrap.errors.AssumptionWarning")


def apply(case: tuple[str, dict], sample, alpha=0.05, **more) -> Bound:
    name, options = case
    return BOUNDS[name].function(sample, alpha, **(options | more))


def rewards(*shape: int, seed: int = 0) -> np.ndarray:
    return np.clip(np.random.default_rng(seed).normal(0.4, 1.0, size=shape), *SUPPORT)


def rewards_for(case: tuple[str, dict], *shape: int, seed: int = 0) -> np.ndarray:
    """Rewards that the bound takes."""
    return fit(case, rewards(*shape, seed=seed))


def fit(case: tuple[str, dict], sample: np.ndarray) -> np.ndarray:
    """The same rewards, moved to one of the two values where there are no others."""
    return np.where(np.asarray(sample) > 0.4, SUPPORT[1], SUPPORT[0]) if is_binary(case[0]) else sample


def numbers(bound: Bound) -> dict:
    return {"mean": bound.mean, "lower": bound.lower, "upper": bound.upper, **bound.parts}


# --- what is returned -------------------------------------------------------------------------------------------------


@each_case
@each("side", ["upper", "lower", "two-sided"])
@each("n", [1, 2, 9, 30])
def test_one_sample_gives_floats_that_are_numbers(case, side, n):
    bound = apply(case, rewards_for(case, n), side=side)
    assert isinstance(bound, Bound)
    for key, value in (numbers(bound) | {"width": bound.width}).items():
        assert isinstance(value, float), key
        assert not math.isnan(value), key
    assert bound.name == case[0]
    assert bound.side == side
    assert bound.alpha == 0.05
    assert bound.mean == rewards_for(case, n).mean()
    assert isinstance(bound.misses(0.0), bool | np.bool_)
    assert isinstance(bound.method, str)
    assert bound.method
    assert (bound.lower == -math.inf) if side == "upper" else (bound.upper == math.inf or side == "two-sided")
    assert (side == "two-sided") == all(key.startswith(("lower ", "upper ")) for key in bound.parts)
    assert any(key.endswith("main") for key in bound.parts)


@each_case
@each("n", [1, 9, 30])
def test_a_batch_equals_its_rows_bit_for_bit(case, n):
    batch = rewards_for(case, 3, 4, n)
    bound = apply(case, batch, side="two-sided")
    for key, value in (numbers(bound) | {"width": bound.width}).items():
        assert value.shape == (3, 4), key
        assert value.dtype == np.float64, key
    for i in range(3):
        for j in range(4):
            single = numbers(apply(case, batch[i, j], side="two-sided"))
            assert {key: value[i, j] for key, value in numbers(bound).items()} == single


@each_case
def test_a_batch_of_nothing_gives_nothing(case):
    bound = apply(case, np.empty((0, 5)))
    assert bound.upper.shape == bound.mean.shape == bound.width.shape == (0,)


@each_case
def test_a_promise_and_an_assumption_are_told(case):
    bound = apply(case, rewards_for(case, 9))
    assert bound.guarantee is None or bound.guarantee in (0.05, 0.1)
    assert len(bound.holds_for.split()) >= 3
    assert "rewards" in bound.holds_for or "samples" in bound.holds_for
    assert bound.holds_for == apply(case, rewards_for(case, 9, seed=1), side="lower").holds_for


PROVED = [name for name, entry in BOUNDS.items() if name not in ("bootstrap", "mid_p") and entry.assumes]


@each("name", PROVED)
def test_without_preliminary_width_proved_bounds_promise_alpha(name):
    assert apply((name, needed(name)), rewards_for((name, {}), 9), 0.02).guarantee == 0.02


@each_case
@each("side", ["upper", "lower", "two-sided"])
def test_inputs_are_left_alone_and_the_answer_is_the_same_again(case, side):
    sample = rewards_for(case, 2, 9)
    before = sample.copy()
    sample.flags.writeable = False
    first, second = (apply(case, sample, side=side) for _ in range(2))
    assert (sample == before).all()
    for key, value in numbers(first).items():
        np.testing.assert_array_equal(value, numbers(second)[key])


@each_case
def test_lists_integers_and_any_memory_order_will_do(case):
    whole = fit(case, np.round(rewards(4, 6))).astype(int)
    expected = apply(case, whole.astype(float)).upper
    np.testing.assert_array_equal(apply(case, whole).upper, expected)
    np.testing.assert_array_equal(apply(case, whole.tolist()).upper, expected)
    strided = np.asfortranarray(whole.astype(float))
    np.testing.assert_allclose(apply(case, strided).upper, expected, rtol=1e-12)


# --- the three sides --------------------------------------------------------------------------------------------------


def mirrored(options: dict) -> dict:
    return {key: (-value[1], -value[0]) if key == "support" else value for key, value in options.items()}


@each_case
@each("n", [1, 9, 30])
def test_lower_is_minus_the_upper_of_minus_the_rewards(case, n):
    batch = rewards_for(case, 5, n)
    below = apply(case, batch, side="lower")
    above = apply((case[0], mirrored(case[1])), -batch)
    # Each end of a probability is computed, and rounded outwards, relative to its own distance from 0.
    rounding = 1e-11 if is_binary(case[0]) else 0
    np.testing.assert_allclose(below.lower, -above.upper, rtol=rounding, atol=rounding)
    assert below.parts.keys() == above.parts.keys()
    for key in below.parts:
        np.testing.assert_allclose(below.parts[key], above.parts[key], rtol=rounding, atol=rounding)


@each_case
@each("n", [1, 9, 30])
def test_two_sided_at_alpha_is_both_sides_at_half_of_it(case, n):
    batch = rewards_for(case, 5, n)
    both = apply(case, batch, 0.05, side="two-sided")
    below, above = (apply(case, batch, 0.025, side=side) for side in ("lower", "upper"))
    np.testing.assert_array_equal(both.lower, below.lower)
    np.testing.assert_array_equal(both.upper, above.upper)
    for prefix, one in (("lower ", below), ("upper ", above)):
        for key, value in one.parts.items():
            np.testing.assert_array_equal(both.parts[prefix + key], value)


# --- how the width behaves --------------------------------------------------------------------------------------------


@each_case
@each("side", ["upper", "lower"])
def test_parts_make_up_the_width(case, side):
    bound = apply(case, rewards_for(case, 6, 9), side=side)
    parts = bound.parts
    if case[0] == "sign_flip":
        expected = np.minimum(parts["main"], parts.get("phi", math.inf))
    else:
        expected = parts["main"] + parts.get("correction", 0.0)
    np.testing.assert_allclose(bound.width, expected, rtol=1e-12, atol=1e-14)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(
    # An outlier moves the mean, and hardly the bound for symmetric rewards.
    st.sampled_from([case for case in CASES if case[0] != "symmetric_betting"]),
    st.lists(st.floats(*SUPPORT, allow_subnormal=False), min_size=1, max_size=9),
    st.floats(1e-6, 0.49),
)
def test_the_mean_lies_between_the_ends(case, sample, alpha):
    rounding = 1e-12
    bound = apply(case, fit(case, sample), alpha, side="two-sided")
    assert bound.lower <= bound.mean + rounding
    assert bound.upper >= bound.mean - rounding


@each_case
@each("n", [1, 5, 9, 30])
def test_width_shrinks_as_alpha_grows(case, n):
    # The bets depend on alpha, so for time-uniform bounds this is no theorem; it holds at the levels in use.
    batch = rewards_for(case, 5, n)
    widths = np.array([apply(case, batch, alpha).width for alpha in (1e-8, 1e-5, 1e-3, 0.01, 0.05, 0.1, 0.25)])
    rounding = 1e-12
    assert (widths[1:] <= widths[:-1] + rounding).all()
    assert (widths[-1] < widths[0]).all() or case[0] in SEQUENTIAL or n == 1


@each_case
def test_more_of_the_same_rewards_narrow_the_bound(case):
    base = np.tile(rewards_for(case, 5), (2, 1)).reshape(-1)
    few, many = (apply(case, np.tile(base, times)) for times in (1, 20))
    assert many.mean == pytest.approx(few.mean, rel=1e-12)
    assert 0 < many.width < few.width or case[1].get("phi") == 0.7


@each_case
def test_the_order_of_rewards_matters_to_sequential_bounds_only(case):
    sample = rewards_for(case, 30)
    shuffled = np.random.default_rng(1).permutation(sample)
    same = apply(case, shuffled).upper == pytest.approx(apply(case, sample).upper, rel=1e-9)
    assert same == (case[0] not in SEQUENTIAL and case[1].get("phi") not in SEQUENTIAL)


@each_case
def test_a_bound_tells_the_order_in_which_it_read_the_rewards(case):
    is_sequential = case[0] in SEQUENTIAL or case[1].get("phi") in SEQUENTIAL
    derived = "shuffled with a seed derived from the rewards"
    assert apply(case, rewards_for(case, 30)).order == (derived if is_sequential else None)
    if case[0] in WITH_SEED:
        assert apply(case, rewards_for(case, 30), seed=7).order == ("shuffled with seed 7" if is_sequential else None)
    if case[0] in SEQUENTIAL:
        assert apply(case, rewards_for(case, 30), in_order=True).order == "as given"
        given = apply(case, rewards_for(case, 30), seed=np.random.default_rng(7))
        assert given.order == "shuffled with the generator given"
        assert given.upper == apply(case, rewards_for(case, 30), seed=7).upper


@each("name", SEQUENTIAL)
def test_a_seed_shuffles_every_sample_of_a_batch_alike(name):
    case, batch = (name, needed(name)), rewards(2, 3, 30)
    given, again = (apply(case, batch, side="two-sided", seed=7) for _ in range(2))
    alone = [apply(case, row, side="two-sided", seed=7).upper for row in batch.reshape(6, 30)]
    assert given.upper.ravel().tolist() == again.upper.ravel().tolist() == alone
    assert "sizes" not in given.holds_for  # of a sample that is shuffled there is one size only
    assert "at all sample sizes together" in apply(case, batch, in_order=True).holds_for
    assert (apply(case, batch, side="two-sided", seed=8).upper != given.upper).any()
    with pytest.raises(InvalidInput, match=f"'seed' parameter of {name} must be a NumPy generator, an integer of at "):
        apply(case, batch, seed=-1)


@each("name", WITH_SEED)
def test_the_old_name_of_seed_works_and_warns_where_there_was_one(name):
    case, sample = (name, needed(name)), rewards_for((name, {}), 9)
    if name in SEQUENTIAL:
        with pytest.raises(TypeError, match="rng"):
            apply(case, sample, rng=3)
        return
    with pytest.warns(DeprecationWarning, match=f"The 'rng' parameter of {name} is called 'seed' now"):
        old = apply(case, sample, rng=3)
    assert numbers(old) == numbers(apply(case, sample, seed=3))


@each("name", SEQUENTIAL)
def test_ends_that_cross_are_told_and_not_handed_out(name):
    case, rising = (name, needed(name)), np.sort(rewards(400))
    with pytest.warns(
        AssumptionWarning, match=f"{name}: no mean is left, because the lower end, .* lies above the upper"
    ):
        bound = apply(case, rising, side="two-sided", in_order=True)
    assert math.isnan(bound.lower)
    assert math.isnan(bound.upper)
    assert bound.excludes_all
    assert bound.misses(0.4)
    assert (len(bound.notes), bound.contradicted, bound.guarantee) == (2, True, None)
    assert bound.notes[0].startswith("the rewards rise along the sample (rank correlation 1.00, p = ")
    assert "which has a probability of at most 0.05 for independent rewards" in bound.notes[1]
    unchecked = apply(case, rising, side="two-sided", check=False, in_order=True)
    assert (len(unchecked.notes), unchecked.guarantee) == (1, 0.05)
    batch = apply(case, np.stack([rewards(400), rising]), side="two-sided", in_order=True)
    assert batch.excludes_all.tolist() == [False, True]
    assert batch.misses(0.4).tolist() == [False, True]
    assert batch.notes[0].startswith("in 1 of 2 samples no mean is left")
    for seed in (None, 0):
        shuffled = apply(case, rising, side="two-sided", seed=seed)
        assert shuffled.notes == ()
        assert shuffled.lower < 0.4 < shuffled.upper


@each("side", ["upper", "lower", "two-sided"])
@each_case
def test_equal_rewards_are_told_where_the_width_is_read_off_them(case, side):
    value = float(fit(case, np.array(0.25)))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        bound = apply(case, np.full(20, value), side=side)
    blind = case[0] in ("bootstrap", "sign_flip", "student_t")
    assert [str(each.message) for each in heard] == [f"{case[0]}: {note}." for note in bound.notes]
    assert len(bound.notes) == blind
    if blind:
        assert bound.notes[0].startswith("all 20 rewards are 0.25, which cannot show how much rewards vary")
    if not bound.notes:  # nothing was taken for granted: either end is a support's, or it is away from the rewards
        assert bound.upper > value or bound.upper == SUPPORT[1]
        assert bound.lower < value or bound.lower == SUPPORT[0]


def moved(options: dict, shift: float, scale: float) -> dict:
    new = dict(options)
    for key in ("sigma", "phi"):
        if isinstance(new.get(key), float):
            new[key] *= scale
    if "support" in new:
        new["support"] = tuple(shift + scale * end for end in new["support"])
    return new


@each_case
@each("side", ["upper", "lower"])
@each("n", [1, 9, 30])
def test_a_change_of_units_changes_the_bound_alike(case, side, n):
    batch = rewards_for(case, 4, n)
    same = {"seed": 3} if case[0] in WITH_SEED else {}
    base = apply(case, batch, side=side, **same).value
    for shift, scale in ((3.0, 1.0), (0.0, 2.5), (-10.0, 0.01)):
        got = apply((case[0], moved(case[1], shift, scale)), shift + scale * batch, side=side, **same).value
        np.testing.assert_allclose(got, shift + scale * base, rtol=0, atol=1e-7 * scale)


@each_case
@each("power", [-300, 300])
def test_huge_and_tiny_units_change_the_bound_alike(case, power):
    batch = rewards_for(case, 4, 9)
    same = {"seed": 3} if case[0] in WITH_SEED else {}
    base = apply(case, batch, **same).upper
    scale = 2.0**power
    got = apply((case[0], moved(case[1], 0.0, scale)), batch * scale, **same).upper
    np.testing.assert_allclose(got / scale, base, rtol=1e-9)


# --- what is promised ---


# Student's t speaks of normal rewards alone.
@each("case", [case for case in CASES if case[0] != "student_t"], ids=ident)
@telling("n", [1, 2, 4, 7], [1, 2, 4])
def test_what_is_promised_is_kept_for_a_fair_coin_and_where_nothing_is_the_sentence_says_so(case, n):
    # No chance: all tosses of up to seven coins, symmetric, bounded and of a psi norm below the one told.
    sides = SUPPORT if is_binary(case[0]) else (-0.1, 0.9)
    tosses = np.array(list(itertools.product(sides, repeat=n)))
    for alpha in (0.4, 0.2, 0.05, 0.01, 1e-3):
        for side in ("upper", "lower", "two-sided"):
            bound = apply(case, tosses, alpha, side=side)
            if bound.guarantee is None:
                assert "large" in bound.holds_for
            else:
                assert bound.misses(sum(sides) / 2).mean() <= bound.guarantee


@pytest.mark.parametrize("correction", ["practical", "stated"])
def test_the_unproved_corrections_do_not_claim_to_miss_rarely(correction):
    # A fair coin of scale 1/2, four tosses, alpha = 0.001: the samples of equal tosses are missed, one by each end.
    tosses = np.array(list(itertools.product((0.0, 1.0), repeat=4)))
    missed = {}
    for side in ("upper", "lower"):
        bound = BOUNDS["bootstrap"].function(tosses, 0.001, side=side, sigma=0.5, correction=correction)
        missed[side] = bound.misses(0.5).mean()
        assert "rarely" not in bound.holds_for
        assert "large samples; nothing is proved at small ones" in bound.holds_for
    if correction == "practical":
        assert missed == {"upper": 1 / 16, "lower": 1 / 16}


# --- small samples ----------------------------------------------------------------------------------------------------


@each_case
@each("n", [1, 2, 9, 30])
def test_equal_rewards_give_a_bound_on_the_right_side_of_their_value(case, n):
    # A quarter, whose sums are exact.
    value = float(fit(case, np.array(0.25)))
    bound = apply(case, np.full(n, value), side="two-sided")
    assert bound.mean == value
    assert bound.lower <= value <= bound.upper
    assert not bound.misses(value)


@each("case", [case for case in CASES if case[0] == "bootstrap"], ids=ident)
def test_equal_rewards_have_no_quantile_of_their_own(case):
    bound = apply(case, np.full(9, 0.3))
    assert bound.parts["main"] == 0.0
    assert bound.width == pytest.approx(bound.parts["correction"], rel=1e-12, abs=1e-15)


@each_bound
def test_one_reward_gives_the_documented_width(name):
    width = apply((name, needed(name)), fit((name, {}), [0.4])).width
    log = math.log(20)
    expected = {
        "hoeffding": 1.2 * math.sqrt(2 * log),
        "bootstrap": 1.2 * math.sqrt(2 * log),
        "empirical_bernstein": 3 * 9 * math.log(60),
        "empirical_kl": (5 - 0.4) * (1 - 0.05 / (3 * math.e)),
        "betting": 5 - 0.4,
        "student_t": math.inf,
        "sign_flip": math.inf,
        "symmetric_betting": math.inf,
        "clopper_pearson": 9 * (1 - 0.05),
        "mid_p": 9 * (1 - 2 * 0.05),
        "bootstrap_t": math.inf,
        "bca": math.inf,
        "hall": math.inf,
    }
    if name in expected:
        assert width == pytest.approx(expected[name], rel=2e-12)
    else:
        assert 0 < width < math.inf


# --- plain and compiled -----------------------------------------------------------------------------------------------

ENTRIES = [
    (largest_mean_batch, (SUPPORT[1], 0.4)),
    (largest_mean_batch, (SUPPORT[1], 1e-5)),
    (betting_batch, (0.05, 0.5)),
    (betting_batch, (0.6, 0.75)),
    (average_batch, (0.05, 0.5)),
    (average_batch, (0.6, 0.75)),
    (symmetric_betting_batch, (0.05, True)),
    (symmetric_betting_batch, (0.6, False)),
    (subset_mean_batch, (0.05, np.zeros(9, dtype=np.int64))),
    (subset_mean_batch, (0.6, np.zeros(9, dtype=np.int64))),
]


@telling(
    ("entry", "options"),
    ENTRIES,
    lambda entry, options: entry is largest_mean_batch,
    ids=lambda value: getattr(value, "__name__", None) or str(value[0]),
)
@pytest.mark.parametrize("n", [1, 2, 9, 26, 40])
def test_plain_and_compiled_kernels_give_the_same_bits(entry, options, n):
    rows = np.vstack([rewards(4, n), np.round(rewards(4, n)), np.full((1, n), 0.3)])
    if entry in (betting_batch, average_batch):
        rows = (rows - SUPPORT[0]) / (SUPPORT[1] - SUPPORT[0])
    if entry in (average_batch, symmetric_betting_batch):
        rows = np.stack([rows, rows[:, ::-1]], axis=1)
    if entry is subset_mean_batch:
        rows = np.sort(rows, axis=-1)
    plain, compiled = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
    entry.plain(rows, *options, plain)
    entry.compiled(rows, *options, compiled)
    assert not np.isnan(plain).any()
    np.testing.assert_array_equal(plain, compiled)


# --- bad input --------------------------------------------------------------------------------------------------------


@each_bound
@each(
    ("sample", "complaint"),
    [
        ([], r"non-empty along its last axis. Got shape \(0,\)"),
        (np.empty((3, 0)), r"non-empty along its last axis. Got shape \(3, 0\)"),
        (0.5, "an array with at least one axis. Got the single value 0.5"),
        ([0.1, math.nan, 0.2], "finite. Got nan at position 1"),
        ([0.1, 0.2, math.inf], "finite. Got inf at position 2"),
        ([[0.1, 0.2], [-math.inf, 0.3]], r"finite. Got -inf at position \(1, 0\)"),
        ("abc", r"numbers of shape \(..., n\)|an array with at least one axis"),
        ([0.1, "b"], r"numbers of shape \(..., n\)"),
        ([[0.1, 0.2], [0.3]], r"numbers of shape \(..., n\)"),
        ([0.1, None], r"numbers of shape \(..., n\)|finite"),
    ],
)
def test_samples_that_are_none_are_refused(name, sample, complaint):
    with pytest.raises(InvalidInput, match=f"'sample' parameter of {name} must be ({complaint})"):
        apply((name, needed(name)), sample)


@each_bound
@each("alpha", [0, 1, -0.1, 1.5, math.nan, math.inf, "a", True, None, [0.05, 0.1], 0.05 + 0j])
def test_alpha_must_be_a_probability(name, alpha):
    with pytest.raises(
        InvalidInput, match=rf"'alpha' parameter of {name} must be a number in the open interval \(0, 1\)"
    ):
        apply((name, needed(name)), rewards_for((name, {}), 5), alpha)


@each_bound
@each("alpha", [0.5, 0.95, 0.99])
def test_a_confidence_is_not_taken_for_an_error_probability(name, alpha):
    meant = "" if alpha == 0.5 else rf" \(is {1 - alpha:.3g} meant\?\)"
    rule = "below 0.5, since it is the probability of a miss and not the confidence, which is 1 - alpha"
    with pytest.raises(InvalidInput, match=rf"'alpha' parameter of {name} must be {rule}. Got {alpha}{meant} instead"):
        apply((name, needed(name)), rewards_for((name, {}), 5), alpha)


@each_bound
@each("side", ["both", "Upper", "", None, 1, ["upper"]])
def test_side_must_be_known(name, side):
    with pytest.raises(InvalidInput, match=f"'side' parameter of {name} must be one of 'upper', 'lower', 'two-sided'"):
        apply((name, needed(name)), rewards_for((name, {}), 5), side=side)


@each_bound
def test_needed_options_are_asked_for(name):
    for need in BOUNDS[name].needs:
        options = {key: value for key, value in needed(name).items() if key not in need.split("|")}
        asked = "phi" if name == "bootstrap" else need.split("|")[0]
        with pytest.raises(InvalidInput, match=f"'{asked}' parameter of {name} must be"):
            apply((name, options), rewards(5))


WITH_SUPPORT = ("hoeffding", "empirical_bernstein", "empirical_kl", "betting")


@each("name", [*WITH_SUPPORT, "bootstrap", "sign_flip", "clopper_pearson", "mid_p"])
@each("support", [(1, -1), (1, 1), (0, math.nan), (-math.inf, 0), 3, "ab", (1, 2, 3)])
def test_support_must_be_an_ascending_pair(name, support):
    with pytest.raises(InvalidInput, match=rf"'support' parameter of {name} must be a pair \(low, high\) of finite"):
        apply((name, {}), rewards(5), support=support)


@each("name", WITH_SUPPORT)
@each("side", ["upper", "lower", "two-sided"])
def test_rewards_must_lie_in_the_support(name, side):
    for sample in ([0.5, 1.01, 0.2], [0.5, -0.01, 0.2]):
        with pytest.raises(
            InvalidInput, match=f"'sample' parameter of {name} must be inside the support .* at position 1"
        ):
            apply((name, {}), sample, support=(0, 1), side=side)
    assert math.isfinite(apply((name, {}), [0.0, 1.0], support=(0, 1), side=side).mean)


@each("name", WITH_SUPPORT)
def test_rewards_outside_the_support_are_told_as_they_were_given(name):
    # Also where the bound is computed on rewards of turned sign.
    for side in ("upper", "lower", "two-sided"):
        with pytest.raises(InvalidInput, match=r"inside the support \[0, 2\]. Got 3.5 at position 0"):
            apply((name, {}), [3.5, 1.0], support=(0, 2), side=side)


@each_bound
def test_unknown_options_are_not_swallowed(name):
    with pytest.raises(TypeError, match="unexpected keyword"):
        apply((name, needed(name)), rewards_for((name, {}), 5), nonsense=1)


@each_bound
def test_a_bound_is_a_frozen_record(name):
    bound = apply((name, needed(name)), rewards_for((name, {}), 5))
    with pytest.raises(dataclasses.FrozenInstanceError):
        bound.upper = 0.0

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bandstrap.bounds import bootstrap, hoeffding, sign_flip
from bandstrap.bounds.bootstrap import drawn_quantile_and_factor
from bandstrap.bounds.corrections import CORRECTIONS, correction_term
from bandstrap.errors import AccuracyWarning, InvalidInput
from bandstrap.multipliers import bootstrap_quantile
from bandstrap.multipliers.monte_carlo import draws
from bandstrap.multipliers.weights import LAWS
from naive import bounds as naive
from naive.multipliers import ATOMS, quantiles
from sampling import each, exhaustive, telling

SAMPLE = [0.4, -0.3, 0.1, 0.7, -0.6, 0.2, 0.05]
rewards = st.lists(st.floats(-5, 5, allow_subnormal=False), min_size=1, max_size=14)

# One reward has no spread, which the naive bootstrap says it takes for nothing.
pytestmark = pytest.mark.filterwarnings("ignore:bootstrap:bandstrap.errors.AssumptionWarning")

# --- the correction ---------------------------------------------------------------------------------------------------


@telling("n", [1, 2, 7, 50], [1, 2, 7])
@pytest.mark.parametrize("alpha", [0.2, 0.05, 1e-3])
@pytest.mark.parametrize("delta", [0.1, 0.5])
def test_corrections_are_the_documented_factors_times_phi(n, alpha, delta):
    sample = np.random.default_rng(n).normal(size=n)
    log = math.log(2 / (alpha * delta))
    factors = {
        "practical": 1 / math.sqrt(n),
        "theorem": math.sqrt(2 * log / n),
        "stated": math.sqrt(log / n),
        "sharp": naive.mean_sign_quantile(n, alpha * delta),
    }
    for correction, factor in factors.items():
        term = correction_term(CORRECTIONS[correction], n, 0.3, alpha, delta, n)
        assert term == pytest.approx(factor * 0.3, rel=1e-14)
        bound = bootstrap(sample, alpha, delta=delta, correction=correction, phi=0.3)
        main = bootstrap_quantile(sample, alpha * (1 - delta))
        if n == 50 and bound.guarantee is not None:  # not counted any more, so rounded up where something is proved
            assert 1.001 * main < bound.parts["main"] < 1.006 * main
            main = bound.parts["main"]
        assert bound.parts["main"] == pytest.approx(main, rel=1e-14)
        width = main + factor * 0.3
        if correction == "sharp":
            width = min(width, 0.3)
        assert bound.width == pytest.approx(width, rel=1e-12)
        assert bound.parts["correction"] == pytest.approx(width - main, rel=1e-12, abs=1e-13)  # rounded outwards
    naive_width = bootstrap_quantile(sample, alpha * (1 - delta))
    assert bootstrap(sample, alpha, delta=delta, correction="none").width == pytest.approx(
        naive_width, rel=1e-12, abs=1e-15
    )


def test_practical_correction_with_sigma_is_of_order_one_over_n():
    bound = bootstrap(SAMPLE, 0.05, sigma=2.0)
    assert bound.parts["correction"] == pytest.approx(2.0 * math.sqrt(2 * math.log(20)) / 7, rel=1e-14)


def test_figure_one_of_the_paper_starts_at_five_point_nine_nine():
    # Left panel: the stated form at n = 1, alpha = 0.05, delta = 0.1, sigma = 1; right panel: the practical one at 20.
    bound = bootstrap([0.3], 0.05, sigma=1.0, correction="stated")
    assert bound.parts["main"] == 0.0
    assert bound.width == pytest.approx(5.99, abs=0.005)
    rewards = naive.truncated_normal(np.random.default_rng(1), (1000, 20))
    # The mean width is .32 by eye of a published figure, good to about 3 %; its standard error here is 0.001.
    assert bootstrap(rewards, 0.05, sigma=1.0).width.mean() == pytest.approx(0.32, rel=0.03)


def test_remark_one_is_the_proofs_constant_at_half_the_level():
    # Threshold q_{a/4} + 2 log(8/a)/n for coverage 1 - a: delta = 1/2 and alpha = a/2; phi is a little below
    # sqrt(2 log(8/a)/n) there.
    a, n = 0.1, len(SAMPLE)
    phi = math.sqrt(2 * math.log(8 / a) / n)
    bound = bootstrap(SAMPLE, a / 2, delta=0.5, correction="theorem", phi=phi)
    assert bound.width == pytest.approx(bootstrap_quantile(SAMPLE, a / 4) + 2 * math.log(8 / a) / n, rel=1e-13)


# --- the sharp form ---------------------------------------------------------------------------------------------------


@settings(derandomize=True, deadline=None, max_examples=60)
@given(rewards, st.floats(1e-4, 0.49), st.floats(0.01, 0.99), st.floats(0.01, 10))
def test_sharp_is_never_wider_than_theorem_nor_than_phi(sample, alpha, delta, sigma):
    sharp = bootstrap(sample, alpha, delta=delta, sigma=sigma, correction="sharp")
    theorem = bootstrap(sample, alpha, delta=delta, sigma=sigma, correction="theorem")
    assert sharp.parts["phi"] == theorem.parts["phi"]
    assert sharp.parts["phi"] == pytest.approx(hoeffding(sample, alpha, sigma=sigma, check=False).width, rel=1e-12)
    # proved forms are rounded outwards by a few roundings of the largest reward
    rounding = 1e-14 * (max(map(abs, sample)) + theorem.width)
    assert sharp.width <= theorem.width + rounding
    assert sharp.width <= sharp.parts["phi"] + rounding


def test_sharp_is_capped_at_phi_and_may_take_back_from_the_quantile():
    wide = bootstrap([-10.0, 10.0, 3.0], 0.05, phi=1.0, correction="sharp")
    assert wide.width == pytest.approx(1.0, rel=1e-14)
    assert wide.parts["main"] + wide.parts["correction"] == pytest.approx(1.0, rel=1e-14)
    assert wide.parts["correction"] < 0


def test_sharp_of_one_reward_is_phi():
    assert bootstrap([3.0], 0.05, sigma=1.0, correction="sharp").width == pytest.approx(math.sqrt(2 * math.log(20)))


@each("correction", ["sharp", "theorem", "practical", "stated"])
@each(("alpha", "delta"), [(0.4, 0.625), (0.05, 0.1)])
def test_a_phi_that_knows_nothing_gives_a_bound_that_knows_no_more(correction, alpha, delta):
    # At n = 2 and alpha delta = 1/4 the sharp factor is 0: zero times infinity must not become a NaN.
    bound = bootstrap([1.0, 2.0], alpha, delta=delta, correction=correction, phi=math.inf)
    assert not math.isnan(bound.upper)
    assert bound.upper >= 1.5


# --- the quantile -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", ["rademacher", "mammen"])
def test_main_part_is_the_quantile_over_all_weights(weights):
    main = bootstrap(SAMPLE, 0.05, weights=weights, correction="none").parts["main"]
    assert main == pytest.approx(quantiles(ATOMS[weights](SAMPLE), [0.045])[0], rel=1e-12)


def test_main_part_of_gaussian_weights_is_the_normal_quantile():
    main = bootstrap(SAMPLE, 0.05, weights="gaussian", correction="none").parts["main"]
    assert main == pytest.approx(stats.norm.isf(0.045) * np.std(SAMPLE) / math.sqrt(7), rel=1e-12)


def test_interval_makes_no_difference_for_symmetric_weights():
    for weights in ("rademacher", "gaussian"):
        options = {"weights": weights, "sigma": 1.0, "side": "two-sided"}
        percentile, basic = (bootstrap(SAMPLE, 0.05, interval=i, **options) for i in ("percentile", "basic"))
        assert basic.value == pytest.approx(percentile.value, rel=1e-12)


@exhaustive
def test_percentile_is_longer_on_the_long_side_of_skew_rewards_and_basic_is_its_mirror():
    skew = [0.0, 0.1, 0.2, 0.1, 0.3, 2.0]
    options = {"weights": "efron", "correction": "none"}
    widths = {
        (interval, side): bootstrap(skew, 0.1, side=side, interval=interval, **options).width
        for interval in ("percentile", "basic")
        for side in ("upper", "lower")
    }
    assert widths["percentile", "upper"] > widths["percentile", "lower"]
    assert widths["basic", "upper"] == pytest.approx(widths["percentile", "lower"], rel=1e-12)
    assert widths["basic", "lower"] == pytest.approx(widths["percentile", "upper"], rel=1e-12)
    law = quantiles(ATOMS["efron"](skew), [0.09])
    assert widths["percentile", "upper"] == pytest.approx(law[0], rel=1e-12)


def test_method_tells_how_the_quantile_was_computed():
    rng = np.random.default_rng(0)
    assert bootstrap(SAMPLE, 0.05, sigma=1.0).method == "enumeration"
    assert bootstrap([0.0, 1.0, 1.0], 0.05, sigma=1.0).method == "binomial"
    assert bootstrap(rng.normal(size=50), 0.05, sigma=1.0).method == "inversion"
    assert bootstrap([[0.0, 1.0, 1.0], [0.1, 0.5, 0.7]], 0.05, sigma=1.0).method == "binomial and enumeration"
    assert bootstrap(SAMPLE, 0.05, sigma=1.0, quantile="monte-carlo", n_resamples=50, seed=0).method == "monte-carlo"


@telling("quantile", ["auto", "enumeration", "inversion", "saddlepoint", "expansion"], ["auto"])
def test_a_quantile_that_may_be_too_small_proves_nothing(quantile):
    sample = np.random.default_rng(1).normal(size=36)
    bound = bootstrap(sample, 0.05, sigma=1.0, correction="sharp", quantile=quantile)
    assert bound.guarantee == (None if quantile in ("saddlepoint", "expansion") else 0.1)
    exact = bootstrap_quantile(sample, 0.045, method="enumeration")
    if bound.guarantee is not None:
        assert bound.parts["main"] >= exact


# --- Monte Carlo ------------------------------------------------------------------------------------------------------


def test_drawn_factor_comes_from_the_very_signs_of_the_quantile():
    # One draw, y = (1, -1): X = (w1 - w2)/2 and -wbar = -(w1 + w2)/2, each 0 where it is negative; never both 1.
    found = set()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        main, factor = drawn_quantile_and_factor(np.array([[1.0, -1.0]]), 0.5, 0.5, 1, rng)
        found.add((main[0], factor[0]))
    assert found == {(0.0, 0.0), (0.0, 1.0), (1.0, 0.0)}


@pytest.mark.parametrize("seed", range(5))
def test_drawn_factor_is_that_of_the_sign_a_miss_needs(seed):
    # mu is above ybar where the bound misses, and the bootstrap around mu is that around ybar minus wbar (mu - ybar).
    _, factor = drawn_quantile_and_factor(np.zeros((1, 9)), 0.4, 0.5, 41, np.random.default_rng(seed))
    signs = np.random.default_rng(np.random.default_rng(seed).integers(2**63))
    opposite = -draws(LAWS["rademacher"], np.full(9, 1 / 9), 41, signs)
    assert factor[0] == max(sorted(opposite, reverse=True)[8], 0.0)


def test_drawn_factor_is_near_the_exact_one():
    # B = 4000 draws of the mean of 9 signs at level 0.05 * 0.1: between the exact quantiles at half and twice the level
    # (a draw outside has probability below 1e-4: 20 expected exceedances, Poisson bounds 6 and 44).
    sample = np.random.default_rng(1).normal(size=(20, 9))
    _, factor = drawn_quantile_and_factor(sample, 0.05, 0.1, 4000, np.random.default_rng(0))
    low, high = (naive.mean_sign_quantile(9, level) for level in (0.011, 0.0015))
    assert low <= factor.min()
    assert factor.max() <= high


def test_drawn_quantile_converges_to_the_exact_one():
    main, _ = drawn_quantile_and_factor(np.array([SAMPLE]), 0.05, 0.1, 200_000, np.random.default_rng(0))
    # Level 0.045 of 128 equally likely sums: their tails are multiples of 1/128 = 0.0078, and the standard error of the
    # drawn tail is 0.0005, so the drawn quantile is the exact one but with probability below 1e-3.
    assert main[0] == pytest.approx(bootstrap_quantile(SAMPLE, 0.045), rel=1e-12)


def test_monte_carlo_is_repeatable_by_seed_and_varies_with_it():
    options = {"sigma": 1.0, "quantile": "monte-carlo", "correction": "sharp", "n_resamples": 60}
    batch = np.random.default_rng(0).normal(size=(6, 12))
    first = bootstrap(batch, 0.05, seed=7, **options)
    assert (first.upper == bootstrap(batch, 0.05, seed=7, **options).upper).all()
    assert (first.upper == bootstrap(batch, 0.05, seed=np.random.default_rng(7), **options).upper).all()
    assert (first.upper != bootstrap(batch, 0.05, seed=8, **options).upper).any()


def test_monte_carlo_warns_where_it_saturates():
    with pytest.warns(AccuracyWarning, match="saturates"):
        bootstrap(SAMPLE, 0.004, sigma=1.0, quantile="monte-carlo", seed=0)


def test_sharp_monte_carlo_is_for_the_percentile_interval_and_signs_only():
    options = {"sigma": 1.0, "quantile": "monte-carlo", "correction": "sharp", "seed": 0}
    with pytest.raises(
        InvalidInput, match="'interval' parameter of bootstrap must be 'percentile' for correction='sharp'"
    ):
        bootstrap(SAMPLE, 0.05, interval="basic", **options)
    with pytest.raises(
        InvalidInput, match="'weights' parameter of bootstrap must be 'rademacher' for correction='sharp'"
    ):
        bootstrap(SAMPLE, 0.05, weights="efron", **options)


# --- what is promised -------------------------------------------------------------------------------------------------


@each("correction", ["theorem", "sharp"])
@each("side", ["upper", "lower", "two-sided"])
def test_proved_forms_promise_two_alpha(correction, side):
    bound = bootstrap(SAMPLE, 0.05, sigma=1.0, correction=correction, side=side)
    assert bound.guarantee == pytest.approx(0.1)
    assert "symmetric" in bound.holds_for
    assert "2 alpha" in bound.holds_for


@each(
    "options",
    [
        {"correction": "practical"},
        {"correction": "stated"},
        {"correction": "none"},
        {"correction": "sharp", "weights": "gaussian"},
        {"correction": "theorem", "weights": "efron"},
        {"correction": "theorem", "quantile": "monte-carlo", "seed": 0},
    ],
)
def test_other_forms_promise_nothing(options):
    bound = bootstrap(SAMPLE, 0.05, sigma=1.0, **options)
    assert bound.guarantee is None
    assert "large samples" in bound.holds_for


@pytest.mark.parametrize(("n_resamples", "alpha", "rank"), [(200, 0.05, 10), (99, 0.05, 4), (100, 0.29, 29)])
def test_sharp_monte_carlo_promises_what_its_draws_allow(n_resamples, alpha, rank):
    # 100 * 0.29 is 29 less a rounding, and the quantile's rank is counted as 29.
    options = {"sigma": 1.0, "quantile": "monte-carlo", "correction": "sharp", "seed": 0}
    bound = bootstrap(SAMPLE, alpha, n_resamples=n_resamples, **options)
    assert bound.guarantee == pytest.approx((rank + 1) / (n_resamples + 1) + alpha, rel=1e-12)


@pytest.mark.parametrize("alpha", [0.3, 0.05, 0.004])
def test_two_sided_sharp_monte_carlo_promises_no_less_than_its_two_sides_need(alpha):
    # Each side misses with probability up to (floor(B alpha/2) + 1)/(B + 1) apart from the event that the mean lies
    # beyond phi on its side, which has probability alpha/2.
    options = {"sigma": 1.0, "quantile": "monte-carlo", "correction": "sharp", "seed": 0, "n_resamples": 200}
    bound = bootstrap(SAMPLE, alpha, side="two-sided", **options)
    assert bound.guarantee >= 2 * (math.floor(200 * alpha / 2) + 1) / 201 + alpha


def test_sign_flip_is_narrower_than_the_sharp_form_from_a_few_rewards_on():
    # Not a theorem: what "See Also" recommends, on average over 200 normal samples of 12.
    sample = np.random.default_rng(3).normal(size=(200, 12))
    flips = sign_flip(sample, 0.05).width
    assert flips.mean() < 0.8 * bootstrap(sample, 0.05, sigma=1.0, correction="sharp").width.mean()


# --- bad input --------------------------------------------------------------------------------------------------------


@each(
    ("parameter", "value", "rule"),
    [
        ("weights", "poisson", "one of 'rademacher'"),
        ("weights", None, "one of 'rademacher'"),
        ("correction", "exact", "one of 'practical', 'theorem', 'stated', 'sharp', 'none'"),
        ("interval", "bca", "one of 'percentile', 'basic'"),
        ("quantile", "guess", "one of 'auto'"),
        ("quantile", 3, "one of 'auto'"),
        ("n_resamples", 0, "an integer of at least 1"),
        ("n_resamples", 2.5, "an integer of at least 1"),
        ("n_resamples", True, "an integer of at least 1"),
        *(
            ("delta", d, r"a number in the open interval \(0, 1\)")
            for d in (0, 1, -0.1, 1.5, math.nan, "a", True, None)
        ),
    ],
)
def test_options_outside_their_range_are_refused(parameter, value, rule):
    with pytest.raises(InvalidInput, match=f"'{parameter}' parameter of bootstrap must be {rule}"):
        bootstrap(SAMPLE, 0.05, sigma=1.0, **{parameter: value})


def test_a_method_that_cannot_serve_the_weights_is_refused():
    with pytest.raises(InvalidInput, match="'method' parameter of bootstrap_quantile must be one of"):
        bootstrap(SAMPLE, 0.05, sigma=1.0, weights="exponential", quantile="enumeration")


@each("alpha", [None, "a", math.nan, math.inf, 0, 1.5, True])
@each("quantile", ["auto", "monte-carlo"])
@each("correction", ["sharp", "practical"])
def test_alpha_is_refused_before_it_is_computed_with(alpha, quantile, correction):
    with pytest.raises(InvalidInput, match=r"'alpha' parameter of bootstrap must be a number in the open interval \(0"):
        bootstrap(SAMPLE, alpha, sigma=1.0, correction=correction, quantile=quantile, seed=0)


def test_without_a_correction_the_quantile_is_the_main_term_of_the_other_forms_unless_it_is_not_shrunk():
    # The supplement's index without correction: ybar + q_{alpha (1 - delta)}.
    sample = np.random.default_rng(4).normal(size=(3, 9))
    naive_bound = bootstrap(sample, 0.05, delta=0.3, correction="none")
    corrected = bootstrap(sample, 0.05, delta=0.3, correction="practical", sigma=1.0)
    assert np.array_equal(naive_bound.parts["main"], corrected.parts["main"])
    usual = bootstrap(sample, 0.05, delta=0.3, correction="none", shrunk=False)
    assert usual.parts["main"] == pytest.approx(bootstrap_quantile(sample, 0.05))
    assert (usual.parts["main"] < naive_bound.parts["main"]).all()


def test_the_printed_monte_carlo_theorem_takes_the_quantile_at_alpha():
    sample = np.random.default_rng(4).normal(size=(3, 9))
    printed = bootstrap(sample, 0.05, sigma=1.0, correction="stated", shrunk=False)
    assert printed.guarantee is None
    assert printed.parts["main"] == pytest.approx(bootstrap_quantile(sample, 0.05))
    usual = bootstrap(sample, 0.05, sigma=1.0, correction="stated")
    assert printed.parts["correction"] == pytest.approx(usual.parts["correction"])
    drawn = bootstrap(sample, 0.05, correction="none", quantile="monte-carlo", n_resamples=20, shrunk=False, seed=1)
    same = bootstrap(sample, 0.05, correction="none", quantile="monte-carlo", n_resamples=20, delta=1e-12, seed=1)
    assert np.array_equal(drawn.upper, same.upper)
    assert bootstrap(sample, 0.05, sigma=1.0, correction="sharp", shrunk=False).guarantee is None
    with pytest.raises(InvalidInput, match="'shrunk' parameter of bootstrap must be True for correction='sharp'"):
        bootstrap(sample, 0.05, sigma=1.0, correction="sharp", quantile="monte-carlo", shrunk=False)
    with pytest.raises(InvalidInput, match="'shrunk'"):
        bootstrap(sample, 0.05, sigma=1.0, shrunk="maybe")


def test_a_share_of_less_precision_is_taken_for_the_number_it_is():
    sample, short = np.random.default_rng(5).normal(size=30), np.float32(0.1)
    for quantile in ("auto", "monte-carlo"):
        options = {"sigma": 1.0, "correction": "sharp", "quantile": quantile, "seed": 0}
        found, expected = (bootstrap(sample, 0.05, delta=delta, **options) for delta in (short, float(short)))
        assert found == expected

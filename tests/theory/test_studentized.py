"""Each step of docs/theorem.md, on grids where both sides can be computed and by simulation where they cannot."""

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import special, stats

from bandstrap import StudentizedUCB, simulate
from bandstrap.environments import Arms, Bernoulli, Gaussian
from bandstrap.errors import InvalidInput
from bandstrap.multipliers.normal import ROUGHNESS, rough_normal_quantile
from bandstrap.policies import studentized_ucb
from bandstrap.theory import lai_robbins_bound, studentized_regret_bound
from bandstrap.theory import studentized as theory
from naive import theory as naive
from policies.learning import scores
from sampling import each, exhaustive, telling

PULLS = [2, 3, 4, 5, 7, 11, 20, 41, 100, 1000, 20_000]
LEVELS = [0.5, 0.3, 0.1, 1e-2, 1e-3, 1e-5, 1e-9]
SHIFTS = [0.0, 0.05, 0.3, 1.0, 2.0]
DRAWS = 20_000
# Standard errors by which a simulated probability may exceed a bound: one test in 30,000 would fail by chance, for each.
ERRORS = 4.0


# --- the index --------------------------------------------------------------------------------------------------------


def test_constants_are_those_of_the_policy():
    assert theory.QUANTILE_PART == studentized_ucb.QUANTILE_PART
    assert theory.MOST_EXPONENT == studentized_ucb.MOST_EXPONENT
    assert StudentizedUCB.n_initial == theory.INITIAL_PULLS
    assert StudentizedUCB().exploration == 0.25
    assert StudentizedUCB().caution == 1.0


@pytest.mark.parametrize("caution", [1.0, 3.0])
def test_index_of_the_proved_setting_is_the_one_of_the_theorem(caution):
    rng = np.random.default_rng(1)
    for sizes in [(2, 3), (2, 5000), (5, 40, 300), (40, 40)]:
        samples = [rng.normal(arm, 1 + arm, n) for arm, n in enumerate(sizes)]
        found = scores(StudentizedUCB(proved=True, caution=caution), samples, 50)
        highest = max(np.mean(y) for y in samples)  # scores are less by it, in units of 1 for rewards of this size
        for y, index in zip(samples, found, strict=True):
            level = min(0.5, len(y) / (len(y) + max(sizes)) / caution)
            bonus = index + highest - np.mean(y)
            root = np.std(y)
            low, high = (float(theory.multiplier(len(y), level, side * ROUGHNESS)) for side in (-1, 1))
            assert low * root * (1 - 1e-9) <= bonus <= high * root * (1 + 1e-9)
            expected = naive.studentized_multiplier(len(y), level, stats.norm.isf)
            assert float(theory.multiplier(len(y), level)) == pytest.approx(expected, rel=1e-9)


def test_quantile_of_the_policy_is_as_near_as_the_theorem_assumes():
    tails = 0.45 * np.exp(-np.linspace(0, 60, 20_001))
    errors = np.array([rough_normal_quantile(tail) for tail in tails]) + special.ndtri(tails)
    assert np.abs(errors).max() <= ROUGHNESS


def test_multiplier_rises_when_pulls_or_level_fall():
    pulls, levels = np.arange(2, 3000)[:, None], np.geomspace(1e-9, 0.5, 60)
    values = theory.multiplier(pulls, levels)
    assert (np.diff(values, axis=0) <= 0).all()
    assert (np.diff(values, axis=1) <= 0).all()
    # Along n/(n + k) as well, where pulls and level rise together.
    for k in (2, 50, 10_000):
        assert (np.diff(theory.multiplier(pulls[:, 0], pulls[:, 0] / (pulls[:, 0] + k))) <= 0).all()


# --- quadrature -------------------------------------------------------------------------------------------------------


@telling("n", [2, 3, 4, 9, 17, 30, 400], [2, 17])
def test_tails_are_those_of_adaptive_quadrature(n):
    for level in (0.5, 0.1, 1e-3, 1e-6, 1e-9):
        slope = float(theory.multiplier(n, level))
        for shift in SHIFTS[::2]:
            exact = naive.index_is_low(n, slope, shift)
            found = float(theory.lower_tail(n - 1, math.sqrt(n) * shift, slope))
            if exact > 1e-14:
                assert found >= exact * (1 - 1e-8)
            if exact > 1e-8:
                assert found <= exact * (1 + 1e-7)
        for part in (-2.0, 0.0, 2.0, 4.0):
            value = slope * math.sqrt(n - 1) + part * math.hypot(1, slope)
            exact = naive.index_is_high(n, slope, value)
            assert float(theory.upper_tail(n - 1, value, slope)) == pytest.approx(exact, rel=1e-7, abs=1e-13)


@each("n", [*PULLS, 10**6, 10**9])
def test_without_a_shift_the_lower_tail_is_students(n):
    for level in LEVELS[:-1]:
        slope = float(theory.multiplier(n, level))
        student = stats.t.sf(slope * math.sqrt(n - 1), n - 1)
        assert float(theory.lower_tail(n - 1, 0.0, slope)) == pytest.approx(student, rel=1e-7, abs=1e-14)


# --- lemma 1 ----------------------------------------------------------------------------------------------------------


def miss_bound(pulls, level, shift):
    """Right side: ``exp(-n shift^2/2) exp(-z^2/2)/2``, as long as ``z^2 <= 50 (n - 1)``."""
    z = -special.ndtri(0.9 * np.minimum(level, 0.5)) - ROUGHNESS
    return np.exp(-(pulls * np.square(shift) + z * z) / 2) / 2


def level_bound(level):
    """In terms of the level: ``exp(-z^2/2)/2 <= 1.2 e (1 + sqrt(2 log(1/e)))``."""
    return 1.2 * level * (1 + np.sqrt(-2 * np.log(level)))


def test_lemma_one():
    ratios = []
    for n, level, shift in itertools.product(PULLS, LEVELS, SHIFTS):
        if special.ndtri(0.9 * level) ** 2 > theory.MOST_EXPONENT * (n - 1):
            continue
        probability, bound = float(theory.miss_probability(n, level, shift)), float(miss_bound(n, level, shift))
        assert probability <= bound + 2e-15
        ratios.append(probability / bound if bound > 1e-9 else 0.0)
    assert max(ratios) > 0.8  # with 0.4 in place of 1/2 it would be false, and found so


def test_lemma_one_in_terms_of_the_level():
    levels = np.concatenate([np.geomspace(1e-300, 0.4, 4000), np.linspace(0.4, 0.5, 500)])
    ratio = miss_bound(2, levels, 0.0) / level_bound(levels)
    assert ratio.max() <= 1
    assert ratio.max() > 0.6  # half the constant would be found too small


# --- lemma 2 ----------------------------------------------------------------------------------------------------------


def paths(first, last, draws, seed):
    """Means and sums of squared deviations after each number of pulls from ``first`` to ``last``, of standard rewards."""
    rng = np.random.default_rng(seed)
    rewards = rng.standard_normal((draws, last))
    n = np.arange(1, last + 1)
    sums, squares = np.cumsum(rewards, axis=1), np.cumsum(rewards**2, axis=1)
    means = sums / n
    return means[:, first - 1 :], (squares - n * means**2)[:, first - 1 :]


@pytest.mark.parametrize(
    ("first", "last", "others", "shift"),
    [(8, 10, 40, 0.2), (20, 26, 300, 0.1), (20, 26, 20, 0.2), (50, 65, 1000, 0.0), (100, 130, 100, 0.05)],
)
def test_lemma_two(first, last, others, shift):
    n = np.arange(first, last + 1)
    level = np.minimum(n / (n + others), 0.5)
    means, squares = paths(first, last, DRAWS, seed=first)
    index = means + np.sqrt(np.maximum(squares, 0) / n) * theory.multiplier(n, level, -ROUGHNESS)
    share = (index <= -shift).any(axis=1).mean()
    bound = float(theory.block_miss_bound(first, last, level[-1], shift))
    assert share - ERRORS * math.sqrt(share * (1 - share) / DRAWS) <= bound
    # The sum of the single probabilities is a bound, too.
    singles = sum(float(theory.miss_probability(m, e, shift)) for m, e in zip(n.tolist(), level, strict=True))
    assert share - ERRORS * math.sqrt(share * (1 - share) / DRAWS) <= singles


def test_the_two_of_lemma_two_is_needed():
    first, last, shift, draws = 10, 600, 0.3, 4000
    means, _ = paths(first, last, draws, seed=3)
    share = (means <= -shift).any(axis=1).mean()
    error = math.sqrt(share * (1 - share) / draws)
    once = special.ndtr(-shift * math.sqrt(first))
    assert share - ERRORS * error <= 2 * once
    assert share - ERRORS * error > 1.4 * once  # what is left of 2 is the walk's: it is seen at whole times alone


# --- lemmas 3 and 4 ---------------------------------------------------------------------------------------------------


def test_lemma_three():
    draws, longest, seed = 3000, 800, 5
    means, squares = paths(2, longest, draws, seed)
    n = np.arange(2, longest + 1)
    for others, shift in [(4, 0.5), (30, 0.3), (200, 0.15), (1000, 0.4)]:
        level = np.minimum(n / (n + others), 0.5)
        index = means + np.sqrt(np.maximum(squares, 0) / n) * theory.multiplier(n, level, -ROUGHNESS)
        occurs = n >= 0.25 * np.log(n + others + 1)
        share = (index <= -shift)[:, occurs].any(axis=1).mean()
        bound = float(theory.ever_miss_bound(others, shift, longest))
        assert share - ERRORS * math.sqrt(share * (1 - share) / draws) <= bound
        assert bound <= 1


def test_lemma_three_falls_with_shift_and_pulls_of_the_other():
    others, shifts = np.array([2, 5, 20, 100, 1000, 10_000])[:, None], np.linspace(-0.1, 2, 22)
    bound = theory.ever_miss_bound(others, shifts, 20_000)
    assert (bound[:, shifts <= 0] == 1).all()
    assert (np.diff(bound, axis=1) <= 1e-12).all()
    assert (np.diff(bound, axis=0) <= 1e-12).all()
    assert (theory.ever_miss_bound(others, shifts, 20_000, caution=2.0) <= bound).all()
    assert (theory.ever_miss_bound(others, shifts, 20_000, exploration=3.0) <= bound).all()


@each(("single", "ratio"), [(40, 1.03), (6, 1.3), (1, 2.0)])
@each("last", [2, 3, 41, 20_000])
def test_blocks_make_up_the_whole(single, ratio, last):
    ends = theory.blocks(2, last, single, ratio)
    assert ends == sorted(set(ends))
    assert ends[-1] == last
    assert set(range(2, min(single, last) + 1)) <= set(ends)


PROBLEMS = [
    ((1.0, 0.0), (1.0, 1.0)),
    ((0.3, 0.0), (1.0, 1.0)),
    ((2.0, 0.0), (3.0, 1.0)),
    ((1.0, 0.0), (1.0, 3.0)),
    ((1.0, 0.8, 0.4, 0.0), (0.5, 0.5, 2.0, 1.0)),
]


CHECKPOINTS = [200, 2000, 20_000]
REPLICATIONS = 60


@pytest.fixture(scope="module")
def played():
    """Results of the proved setting in each problem."""
    return {
        (means, scales): simulate(
            StudentizedUCB(proved=True),
            Arms([stats.norm(*law) for law in zip(means, scales, strict=True)]),
            horizon=CHECKPOINTS[-1],
            replications=REPLICATIONS,
            seed=11,
            checkpoints=CHECKPOINTS,
            progress=False,
        )
        for means, scales in PROBLEMS
    }


@pytest.mark.parametrize(("gap", "scale", "pulls"), [(1.0, 1.0, (14, 30, 60)), (0.6, 2.0, (100, 200, 400))])
def test_chances_are_above_those_of_drawn_indices(gap, scale, pulls):
    draws, longest, horizon = 3000, 600, 20_000
    means, squares = paths(2, longest, draws, seed=9)
    n = np.arange(2, longest + 1)
    rng = np.random.default_rng(10)
    firsts, lasts, chances = theory.pull_chances(gap, scale, 1.0, horizon)
    ratios = []
    for k in pulls:
        upper = (
            scale
            * (
                rng.standard_normal(draws)
                + theory.multiplier(k, k / (horizon - 1), ROUGHNESS) * np.sqrt(rng.chisquare(k - 1, draws))
            )
            / math.sqrt(k)
        )
        level = np.minimum(n / (n + k), 0.5)
        lower = gap + means + np.sqrt(np.maximum(squares, 0) / n) * theory.multiplier(n, level, -ROUGHNESS)
        share = (upper[:, None] >= lower)[:, n >= 0.25 * np.log(n + k + 1)].any(axis=1).mean()
        (chance,) = chances[(firsts <= k) & (k <= lasts)]
        assert share - ERRORS * math.sqrt(share * (1 - share) / draws) <= chance
        ratios.append(share / chance)
    assert max(ratios) > 0.6  # were chances to be 0.6 of what they are, it would be found


@exhaustive
@pytest.mark.parametrize("problem", PROBLEMS[:-1], ids=str)
def test_lemma_four(played, problem):
    (best, other), (best_scale, scale) = problem
    pulls = played[problem].pulls[0, :, 1]
    firsts, _, chances = theory.pull_chances(best - other, scale, best_scale, CHECKPOINTS[-1])
    runs = (pulls[:, None] > firsts).sum(axis=0)
    # Exact lower confidence bounds: for each of some 230 numbers of pulls one in a million is too high by chance.
    low = np.where(runs > 0, stats.beta.ppf(1e-6, np.maximum(runs, 1), REPLICATIONS - runs + 1), 0.0)
    assert (low <= chances).all()
    # With three times the gap it would be wrong, and found so.
    _, _, wrong = theory.pull_chances(3 * (best - other), scale, best_scale, CHECKPOINTS[-1])
    assert (low > wrong).any()


@exhaustive
@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_theorem_one_is_above_measured_regret_and_theorem_two_above_theorem_one(played, problem):
    means, scales = problem
    result = played[problem]
    computed = studentized_regret_bound(means, scales, CHECKPOINTS)
    assert (result.mean[0] <= computed).all()
    assert (computed <= studentized_regret_bound(means, scales, CHECKPOINTS, form="closed") * (1 + 1e-12)).all()
    # Six times smaller it would be wrong beyond error, and found so, at one horizon; fifteen times smaller at each.
    low = result.mean[0] - 3 * result.standard_error[0]
    assert (low > computed / 6).any()
    assert (low > computed / 15).all()


@exhaustive
def test_bound_keeps_above_with_other_cautions_and_exploration():
    means, scales = (0.6, 0.0), (1.0, 2.0)
    for options in ({"caution": 4.0}, {"caution": 0.5}, {"exploration": 2.0}, {"exploration": 0.0}):
        result = simulate(
            StudentizedUCB(proved=True, **options),
            Arms([stats.norm(*law) for law in zip(means, scales, strict=True)]),
            horizon=2000,
            replications=100,
            seed=3,
            checkpoints=[2000],
            progress=False,
        )
        assert float(result.mean[0, -1]) <= studentized_regret_bound(means, scales, 2000, **options)


def test_a_crowd_counts_as_less_caution():
    means = (0.8, 0.0, 0.0, 0.0)
    result = simulate(
        StudentizedUCB(proved=True, crowd=0.5, caution=3.0),
        Gaussian(means),
        horizon=1000,
        replications=100,
        seed=4,
        checkpoints=[1000],
        progress=False,
    )
    assert float(result.mean[0, -1]) <= studentized_regret_bound(means, 1.0, 1000, caution=1.5)


# --- theorem 2 --------------------------------------------------------------------------------------------------------


@each("ratio", [0.1, 1.0, 5.0])
@each("eta", [0.02, 0.1, 0.4])
def test_deviations_of_theorem_two(ratio, eta):
    k = np.arange(2, 100_000)
    assert special.ndtr(-np.sqrt(k) * eta * ratio).sum() <= 1 / (eta * ratio) ** 2
    assert stats.chi2.sf(k * (1 + eta), k - 1).sum() <= 2 / (eta - math.log1p(eta))


@each("ratio", [0.1, 1.0, 5.0])
@each("share", [(0.1, 0.05), (0.5, 0.2), (0.02, 0.4)])
@each("horizon", [50, 20_000, 10**9])
def test_after_the_early_pulls_of_theorem_two_the_bonus_is_small(ratio, share, horizon):
    theta, eta = share
    log = math.log(horizon)
    main = 2 * log / math.log1p(((1 - theta - 2 * eta) * ratio) ** 2 / (1 + eta))
    correction = math.sqrt(2 * log * (1 + eta)) / (eta * ratio)
    first = math.floor(max(main, correction) + 1) + 1
    k = first + np.unique(np.concatenate([np.arange(200), np.geomspace(1, 1e7, 300).astype(int)]))
    bonus = math.sqrt(1 + eta) * theory.multiplier(k, np.minimum(k / horizon, 0.5), ROUGHNESS)
    assert (bonus <= (1 - theta - eta) * ratio).all()


@each("shift", [0.3, 0.6, 1.5])
@each("exploration", [0.1, 0.25, 2.0])
@each("horizon", [30, 3000])
def test_lemma_five(shift, exploration, horizon):
    n, k = np.arange(2, 800)[:, None], np.arange(2, horizon)
    occurs = n >= exploration * np.log(n + k + 1)
    total = (miss_bound(n, n / (n + k), shift) * occurs).sum()
    bound = float(theory.miss_sum_bound(shift, horizon, exploration))
    assert total <= bound
    a, ell = shift**2 / 2, np.minimum(n / exploration, math.log(horizon))
    assert (1.2 * n * np.exp(-n * a) * (ell + 0.943 * ell**1.5)).sum() <= bound


def test_slope_of_the_early_pulls_is_the_least_possible():
    # For theta and eta near 0 the first of the maximum is what Burnetas and Katehakis show to be needed.
    means, scales = (1.0, 0.0, 0.4), (1.0, 2.0, 0.5)
    slope = sum(2 * gap / math.log1p((gap / scale) ** 2) for gap, scale in [(1.0, 2.0), (0.6, 0.5)])
    least = lai_robbins_bound(means, math.e, family="gaussian-unknown-variance", sigma=scales)
    assert least == pytest.approx(slope, rel=1e-12)


# --- beyond normal rewards --------------------------------------------------------------------------------------------


def test_zeros_and_ones_break_the_bound():
    # Two zeros of the best arm leave it without a bonus; then only forced pulls come: see docs/theorem.md.
    means, horizon, forced = (0.2, 0.1), 20_000, 3
    result = simulate(
        StudentizedUCB(proved=True),
        Bernoulli(means),
        horizon=horizon,
        replications=150,
        seed=8,
        checkpoints=[horizon],
        progress=False,
    )
    scales = [math.sqrt(p * (1 - p)) for p in means]
    low = float(result.mean[0, -1] - 4 * result.standard_error[0, -1])
    assert low > studentized_regret_bound(means, scales, horizon)
    proved_below = 0.1 * 0.1 * 0.8**forced * (horizon - forced)
    assert float(result.mean[0, -1] + 4 * result.standard_error[0, -1]) > proved_below


# --- forced pulls that outgrow log t ----------------------------------------------------------------------------------


def test_squares_of_sub_gaussian_rewards():
    # Normal rewards make it an equation, so that a smaller constant than the root of 2 would be refuted; coins on 0 and 1
    # have the variance proxy 1/4, uniform ones their variance.
    for law, proxy in ((stats.norm(), 1.0), (stats.uniform(-1, 2), 1 / 3)):
        mean = law.expect(lambda y, proxy=proxy: np.exp(y**2 / (4 * proxy)), lb=-30, ub=30)
        assert mean <= math.sqrt(2) * (1 + 1e-9)
    assert stats.norm().expect(lambda y: np.exp(y**2 / 4), lb=-30, ub=30) == pytest.approx(math.sqrt(2))
    p = np.linspace(0.01, 0.99, 99)
    assert (p * np.exp((1 - p) ** 2) + (1 - p) * np.exp(p**2) <= math.sqrt(2)).all()
    assert 1 - math.log(2) / 2 > 0.65


def test_bonuses_vanish_where_forced_pulls_outgrow_log_t():
    # Without log log t they do not: at n = 0.25 log t, or 2 log t, they stay what they are.
    t = np.exp(np.exp(np.linspace(2.0, 6.5, 30)))
    n = np.log(np.log(t)) * np.log(t)
    for caution in (0.5, 1.0, 100.0):
        bonus = theory.multiplier(n, np.minimum(n / t, 0.5) / caution, ROUGHNESS)
        log = np.log(max(caution, 2) * t)
        assert (bonus <= np.sqrt(np.expm1(2 * log / (n - 1))) + np.sqrt(2 * log) / (n - 1) + 0.01).all()
        assert (np.diff(bonus)[10:] < 0).all()
        assert bonus[-1] < 0.62
    constant = 2 * np.log(t)
    assert theory.multiplier(constant, np.minimum(constant / t, 0.5))[-1] > 1


def test_forced_pulls_that_outgrow_log_t_keep_an_arm_of_zeros():
    # Two zeros of the best arm end the proved setting in some runs; here no run ends with the best arm given up.
    result = simulate(
        {"proved": StudentizedUCB(proved=True), "consistent": StudentizedUCB(consistent=True)},
        Bernoulli([0.2, 0.1]),
        horizon=2000,
        replications=150,
        seed=9,
        checkpoints=[2000],
        progress=False,
    )
    least = math.floor(math.log(math.log(2000)) * math.log(2000))
    assert (result.pulls[1].min(axis=1) >= least).all()
    assert np.mean(result.pulls[0, :, 0] < 5) > 0.2
    assert result.difference("consistent", "proved", confidence=0.999).high < 0


def test_forced_pulls_that_outgrow_log_t_are_of_the_proved_setting():
    policy = StudentizedUCB(consistent=True)
    assert policy.proved
    assert (policy.borrowed, policy.skew) == (0, 0)
    for options, name in (
        ({"borrowed": 3.0}, "borrowed"),
        ({"skew": 0.5}, "skew"),
        ({"randomized": True}, "randomized"),
    ):
        with pytest.raises(InvalidInput, match=f"'{name}' parameter of StudentizedUCB must be .* 'consistent' is true"):
            StudentizedUCB(consistent=True, **options)


# --- the page ---------------------------------------------------------------------------------------------------------


def test_numbers_of_the_page_are_those_of_the_functions():
    page = (Path(__file__).parents[2] / "docs" / "theorem.md").read_text()
    for gap in (2, 0.2):
        (row,) = re.findall(rf"^\| gap {gap} \| (.*) \|$", page, re.M)
        *cells, closed, least = row.split(" | ")
        printed = [float(cell.split(" / ")[1]) for cell in cells]
        assert printed == [round(float(b), 1) for b in studentized_regret_bound([gap, 0], 1.0, [200, 2000, 20_000])]
        assert float(closed) == round(float(studentized_regret_bound([gap, 0], 1.0, 20_000, form="closed")))
        slope = lai_robbins_bound([gap, 0], 20_000, family="gaussian-unknown-variance", sigma=1.0)
        assert float(least) == round(float(slope), 1)
        measured = [float(cell.split(" ")[0]) for cell in cells]
        assert all(mean < bound for mean, bound in zip(measured, printed, strict=True))


# --- the front door ---------------------------------------------------------------------------------------------------


def test_shapes_units_and_order():
    means, scales = [0.7, 0.0, 0.4], [0.5, 2.0, 1.0]
    curve = studentized_regret_bound(means, scales, [[20, 60]])
    assert curve.shape == (1, 2)
    bound = float(curve[0, 1])
    assert bound > curve[0, 0]
    same = studentized_regret_bound(means[::-1], scales[::-1], 59.5)
    assert isinstance(same, float)
    assert same == pytest.approx(bound, rel=1e-12)
    moved = studentized_regret_bound([5 + 4 * m for m in means], [4 * s for s in scales], 60)
    assert moved == pytest.approx(4 * bound, rel=1e-9)
    assert studentized_regret_bound(means, [1.0] * 3, 60) == studentized_regret_bound(means, 1.0, 60)


@pytest.mark.parametrize("form", ["computed", "closed"])
def test_no_regret_where_all_arms_are_best_and_never_more_than_all_rounds(form):
    assert studentized_regret_bound([1.0], 1.0, 100, form=form) == 0
    assert studentized_regret_bound([1.0, 1.0], [1.0, 2.0], 100, form=form) == 0
    for horizon in (2, 3, 5, 10):
        assert studentized_regret_bound([0.0, 0.5, 1.0], 100.0, horizon, form=form) <= horizon * (1 + 1e-12)


def test_a_quiet_arm_that_is_not_best_may_stand_for_the_best():
    # Beside a best arm that is very noisy, the second arm is what rules the third out.
    with_quiet = studentized_regret_bound([1.0, 0.9, 0.0], [50.0, 0.1, 0.1], 200)
    without = studentized_regret_bound([1.0, 0.0], [50.0, 0.1], 200)
    assert with_quiet < 0.2 * without


@each(
    ("change", "match"),
    [
        ({"means": []}, r"'means' parameter of studentized_regret_bound must be of shape \(n_arms,\)"),
        ({"means": [[1.0]]}, "'means' parameter"),
        ({"means": [0, math.nan]}, "'means' parameter of studentized_regret_bound must be finite numbers"),
        ({"scales": 0}, "'scales' parameter of studentized_regret_bound must be greater than 0. Got 0.0"),
        ({"scales": [1, 1, 1]}, "'scales' parameter of studentized_regret_bound must be one number, or one per arm"),
        ({"horizon": 1}, "'horizon' parameter of studentized_regret_bound must be finite numbers of at least 2"),
        ({"horizon": 1e10}, r"'horizon' parameter of studentized_regret_bound must be at most 1e\+09"),
        ({"caution": 0}, "'caution' parameter of studentized_regret_bound must be a finite number greater than 0"),
        ({"exploration": -1}, "'exploration' parameter of studentized_regret_bound must be"),
        ({"form": "open"}, "'form' parameter of studentized_regret_bound must be one of 'computed', 'closed'"),
        ({"form": "closed", "caution": 0.5}, "'caution' parameter .* must be at least 1 in the closed form. Got 0.5"),
        ({"form": "closed", "exploration": 3}, "'exploration' parameter .* must be from 0.08 to 2 in the closed form"),
    ],
)
def test_refusals(change, match):
    arguments = {"means": [0, 1], "scales": 1.0, "horizon": 100} | change
    with pytest.raises(InvalidInput, match=match):
        studentized_regret_bound(**arguments)


def test_the_proved_setting_borrows_nothing():
    policy = StudentizedUCB(proved=True)
    assert (policy.borrowed, policy.skew) == (0, 0)
    assert StudentizedUCB(proved=True, borrowed=0, skew=0, caution=2.0).proved
    for option in ("borrowed", "skew"):
        with pytest.raises(InvalidInput, match=f"'{option}' parameter of StudentizedUCB must be 0, or left out, where"):
            StudentizedUCB(proved=True, **{option: 0.5})


def test_forced_pulls_that_outgrow_log_t_are_beyond_the_bound():
    # Each of the forced pulls costs the whole gap; without them the bound holds, and nearly is an equation.
    environment = Arms([stats.norm(100), stats.norm(0)])
    policies = {"proved": StudentizedUCB(proved=True), "consistent": StudentizedUCB(consistent=True)}
    result = simulate(policies, environment, horizon=2000, replications=400, seed=5, progress=False)
    bound = studentized_regret_bound([100, 0], 1, 2000)
    proved, consistent = result.mean[:, -1]
    assert 0.9 * bound < proved - ERRORS * result.standard_error[0, -1]
    assert proved - ERRORS * result.standard_error[0, -1] <= bound
    assert consistent > 5 * bound
    assert "not for ``consistent=True``" in studentized_regret_bound.__doc__

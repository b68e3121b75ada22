import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bandstrap.engine.compiler.steps import select
from bandstrap.errors import InvalidInput
from bandstrap.multipliers.normal import rough_normal_quantile
from bandstrap.policies.edgeworth_ucb import (
    EdgeworthUCB,
    pooled_shape,
    prepare,
    tempered_quantile,
)
from bandstrap.policies.studentized_ucb import skewness_factor
from naive import studentized as naive
from policies.learning import Exponentials, indices_of, learned

numbers = st.floats(-5, 5, width=32)
a_sample = (
    st.lists(numbers, min_size=1, max_size=12)
    | st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=40)
    | st.lists(st.sampled_from([0.0, 0.0, 0.1, 0.5, 9.0]), min_size=4, max_size=20)
)
several = st.lists(a_sample, min_size=1, max_size=7)
of_0_9 = pytest.mark.filterwarnings(r"ignore:EdgeworthUCB\(hall=True\):DeprecationWarning")


def indices(samples, t, rng=None, **options):
    """Indices of arms that have these rewards, in the units of rewards."""
    return indices_of(EdgeworthUCB(**options), samples, t, rng)


def shape(*samples):
    """Coefficient of skewness and excess kurtosis of arms with these rewards."""
    _, state = learned(EdgeworthUCB(), *samples)
    return pooled_shape(state.facts)


@of_0_9
@settings(max_examples=80, deadline=None)
@given(
    several,
    st.integers(0, 10**6),
    st.sampled_from(
        [
            {},
            {"caution": 3.0, "exploration": 0.0},
            {"caution": 0.1},
            {"caution": 1e9, "exploration": 0.0},
            {"hall": True},
        ]
    ),
)
def test_indices_are_the_formula(samples, more, options):
    t = sum(map(len, samples)) + 1 + more
    size = max(max(map(abs, sample)) for sample in samples) + 1
    for arm, value in enumerate(indices(samples, t, **options)):
        expected = naive.edgeworth_index(samples, arm, t, **options)
        assert value == expected or value == pytest.approx(expected, rel=1e-9, abs=1e-9 * size)


def studentized_quantile(rng, law, n, tail, draws):
    """Minus the lower quantile of the studentized means of ``n`` rewards."""
    y = law(rng, (draws, n))
    return -np.quantile(y.mean(axis=1) * math.sqrt(n) / y.std(axis=1, ddof=1), tail)


def measured_skewness_factors(owns, n=200, draws=800_000, tail=0.01):
    """By what a unit of skewness over ``sqrt(n)`` moves both quantiles of a mean over ``s_w``, ``s_w^2 = w s^2 + 1 - w``.

    Exponential rewards have skewness 2. Terms of order ``1/n``, by which both quantiles go outwards, cancel.
    """
    rng = np.random.default_rng(0)
    means, variances = np.empty((2, draws))
    for block in np.split(np.arange(draws), 200):
        y = rng.standard_exponential((len(block), n))
        means[block], variances[block] = y.mean(axis=1) - 1.0, y.var(axis=1, ddof=1)
    for own in owns:
        low, high = np.quantile(means / np.sqrt(own * variances + 1.0 - own), [tail, 1.0 - tail])
        yield -0.5 * (low + high) * n / 2.0


def test_skewness_moves_the_quantile_of_a_mean_as_far_as_its_spread_is_its_own():
    # A factor is refuted if it is more than 0.11 from what is measured at w = 0, 0.25, 0.5 or 1, where standard errors are
    # 0.017 to 0.023 and terms of higher order 0.01 to 0.05. The right one is refuted with a probability of 0.005; the wrong
    # ones below, and Hall's at each w alone, are off by 0.17 or more somewhere, which is found with more than 0.99.
    owns = np.array([0.0, 0.25, 0.5, 1.0])
    z = rough_normal_quantile(0.01)
    measured = np.array(list(measured_skewness_factors(owns)))

    def refuted(factors):
        return abs(measured - factors) > 0.11

    assert not refuted([skewness_factor(z, own) for own in owns]).any()
    assert refuted(skewness_factor(z, 1.0)).tolist() == [True, True, True, False]
    for slope, constant in ((2 * owns, 1), (4 * owns, 1), (3 * owns**2, 1), (3 * owns, 0), (3 * owns, 2)):
        assert refuted(((slope - 1) * z * z + constant) / 6).any()


def test_kurtosis_tempers_the_quantile_of_a_studentized_mean():
    # Laplace rewards, kurtosis 3, n = 12, at 0.5 %: 2.885 was measured with 600,000 draws, Student's quantile, 3.106, times
    # the factor is 2.887. The standard error of 100,000 draws is 0.012: without the factor, and with twice its effect,
    # 2.70, the test fails, and with the right one once in a thousand times.
    z = rough_normal_quantile(0.005)
    measured = studentized_quantile(
        np.random.default_rng(0), lambda rng, size: rng.laplace(size=size), 12, 0.005, 100_000
    )
    assert measured == pytest.approx(3.1058 * tempered_quantile(z, 1 / 12, 3.0) / z, abs=0.04)
    assert tempered_quantile(1.5, 1 / 12, 3.0) == 1.5
    assert tempered_quantile(3.0, 1 / 12, 0.0) == 3.0


def test_shape_waits_for_evidence_and_has_no_scale():
    rng = np.random.default_rng(0)
    skewness, evidence, kurtosis = shape(*(scale * rng.exponential(size=1500) for scale in (1.0, 1e3, 1e-3)))
    assert skewness == pytest.approx(2.0, rel=0.15)
    assert 0.8 < evidence < 1.0
    assert 2.0 < kurtosis < 9.0
    assert shape(-rng.exponential(size=1500))[0] == pytest.approx(-2.0, rel=0.3)
    assert np.median([shape(rng.standard_t(3, 300))[0] for _ in range(15)]) == 0.0
    assert shape(rng.random(500))[2] == 0.0  # lighter tails than normal ones count as normal
    assert shape([1.0, 1.0, 1.0], [2.0]) == (0.0, 0.0, 0.0)
    assert shape([0.0, 1.0, 5.0])[2] == 0.0  # three rewards say nothing of tails


def test_an_arm_without_spread_takes_the_skewness_of_the_others():
    rng = np.random.default_rng(1)
    rare = (rng.random(400) < 0.05) * 1.0
    samples = [rare, np.zeros(20)]
    log = prepare(*learned(EdgeworthUCB(), *samples), 500).log_rounds - math.log(20)
    z = rough_normal_quantile(0.9 * math.exp(-log))
    lent = float(naive.skewness_of_all(naive.arms_of([rare])))
    assert lent > 0.5
    # Rare losses are as spread, and lend as much skewness of the other sign.
    shared = prepare(*learned(EdgeworthUCB(), *samples), 500)
    owned = (19 + shared.freedom * 19 / (20 + 19)) / (19 + shared.freedom)
    assert 0 < owned < 1
    assert indices(samples, 500)[1] - indices([-rare, np.zeros(20)], 500)[1] == pytest.approx(
        skewness_factor(z, owned) * 2 * lent / 20
    )


@of_0_9
def test_an_arm_with_one_success_is_below_the_leader_and_was_not_in_0_9():
    # One success in 78, beside an arm of 1/16: the exact bound at this level is 0.098. The index of 0.9.0 was 0.080; that
    # without the arm's own skewness is below the leader's mean, a weakness that the docstring states.
    leader = np.zeros(18_000)
    leader[::16] = 1.0
    few = np.zeros(78)
    few[5] = 1.0
    assert indices([leader, few], 19_000, hall=True)[1] > 0.07
    assert indices([leader, few], 19_000)[1] < 1 / 16


def test_caution_and_the_number_of_arms_move_the_level():
    rng = np.random.default_rng(0)
    samples = [rng.normal(1, 1, 160), *rng.normal(0, 1, (9, 6))]
    bonuses = np.subtract(indices(samples, 200), [sample.mean() for sample in samples])
    assert 0 < bonuses[0] < 0.05
    assert min(bonuses[1:]) > 0.4
    more = np.subtract(indices(samples, 200, caution=2.0), indices(samples, 200))
    assert more[0] == 0  # the leader stays at 1/2
    assert (more[1:] > 0).all()
    # Eight rivals are twice as many as few: as four, or one, with 2^-1.2 of the caution.
    for caution, n_arms, expected in ((1.0, 9, 87.055 / 0.75), (0.5, 5, 100 / 0.75), (0.5, 2, 100 / 0.75)):
        shared = prepare(*learned(EdgeworthUCB(caution=caution), *samples[:n_arms]), 200)
        assert math.exp(shared.log_rounds) == pytest.approx(expected)


@pytest.mark.parametrize(
    "options", [{"caution": 0}, {"caution": 1e200}, {"exploration": -1}, {"randomized": "maybe"}, {"hall": 2}], ids=str
)
def test_wrong_settings_are_refused(options):
    with pytest.raises(InvalidInput, match=f"'{next(iter(options))}' parameter of EdgeworthUCB must be"):
        EdgeworthUCB(**options)


def test_the_index_of_0_9_warns():
    with pytest.warns(DeprecationWarning, match=r"EdgeworthUCB\(hall=True\), the index of 0.9.0, goes with"):
        assert EdgeworthUCB(hall=True).hall


# --- levels that are drawn --------------------------------------------------------------------------------------------


@of_0_9
@settings(max_examples=60, deadline=None)
@given(
    several,
    st.floats(0, 40) | st.floats(0, 1),
    st.sampled_from([{}, {"caution": 3.0, "exploration": 1.0}, {"hall": True}]),
)
def test_drawn_an_index_is_the_formula_at_the_level_drawn(samples, log, options):
    t = sum(map(len, samples)) + 1
    size = max(max(map(abs, sample)) for sample in samples) + 1
    for arm, value in enumerate(indices(samples, t, Exponentials(log), randomized=True, **options)):
        level = math.exp(-log)
        expected = naive.edgeworth_index(samples, arm, t, drawn=level, **options)
        # Where the quantile is cut off at 0 its root is steep: a rounding there is seen with half its digits.
        assert value == expected or value == pytest.approx(expected, rel=1e-7, abs=1e-7 * size)


@pytest.mark.parametrize(
    "samples",
    [
        [[0.3, 1.2, -0.4, 0.9, 0.1, 1.4, 0.2, 0.8] * 4, [0.4, -0.5, 1.0, 0.5], [-0.2, 0.9, 0.3, 0.1, 1.1, -0.1]],
        [np.round(stats.expon.ppf(np.arange(0.5, n) / n), 3) * m for n, m in ((60, 1.0), (14, 0.8), (7, 0.9))],
    ],
    ids=["normal", "skewed"],
)
def test_arms_are_chosen_with_the_probability_that_their_draw_is_highest(samples):
    # A chi-square test that rejects right frequencies with probability 1e-6, and with 0.995 two weights of 1/3 of which one
    # is 15 % too large and one too small: a noncentrality of 60 at two degrees of freedom.
    size = 4000
    t = sum(map(len, samples)) + 1
    policy = EdgeworthUCB(randomized=True)
    params, state = learned(policy, *samples)
    rng = np.random.default_rng(2)
    counts = np.bincount(
        [select(policy.kernel, params, state, t, rng, [0, 0]) for _ in range(size)], minlength=len(samples)
    )
    weights = naive.weights_of_drawn_levels(naive.edgeworth_index, samples, t)
    assert min(weights) > 0.03
    assert stats.chisquare(counts, size * weights / sum(weights)).pvalue > 1e-6

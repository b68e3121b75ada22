import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap.errors import InvalidInput
from bandstrap.theory import gap_free_bound, naive_lower_bound, problem_dependent_bound, sub_weibull_constant
from naive import theory as naive
from sampling import each

BETAS = st.sampled_from([0.5, 0.8, 1.0, 1.25, 1.75, 2.0, 5.0])
GAPS = st.lists(st.floats(0.01, 5), max_size=4).map(lambda gaps: [0.0, *gaps])
HORIZONS = st.floats(2, 1e7)
BOUNDS = [problem_dependent_bound, gap_free_bound]


def printed_as_in_the_paper(gaps, horizon, scale, beta):
    total = 0.0
    for gap in gaps:
        if gap > 0:
            total += 128 * scale**2 * math.log(horizon) / gap + 4 * gap
    return total + 8 * 2 ** (1 / beta) * scale * len(gaps) * math.log(horizon) ** (1 / beta)


@settings(derandomize=True, deadline=None)
@given(GAPS, HORIZONS, st.floats(0.1, 5), st.floats(0.1, 5), BETAS)
def test_printed_form_is_the_papers(gaps, horizon, sigma, constant, beta):
    options = {"sigma": sigma, "beta": beta, "constant": constant, "form": "printed"}
    expected = printed_as_in_the_paper(gaps, horizon, constant * sigma, beta)
    assert problem_dependent_bound(gaps, horizon, **options) == pytest.approx(expected, rel=1e-12)
    free = gap_free_bound(gaps, horizon, best_mean=-1.5, **options)
    log, n_arms = math.log(horizon), len(gaps)
    if horizon >= 2 ** (2 / beta - 3) * n_arms * log ** (2 / beta - 1):
        expected = 32 * math.sqrt(2) * constant * sigma * math.sqrt(horizon * n_arms * log) - 6 * n_arms
        assert free == pytest.approx(expected, rel=1e-12)
    else:
        assert free == math.inf


@settings(derandomize=True, deadline=None)
@given(st.floats(0.01, 5), HORIZONS, st.floats(0.1, 5), BETAS)
def test_corrected_form_pulls_long_enough_for_its_proof(gap, horizon, scale, beta):
    pulls = problem_dependent_bound([0, gap], horizon, sigma=scale, beta=beta, constant=1) / gap - 6
    enough = naive.pulls_needed(gap, horizon, scale, beta)
    # Half the gap for each term, and both added: at most 8 times too many for one, 2^{1/beta} times for the other.
    assert enough * (1 - 1e-9) <= pulls <= 8 * enough


@settings(derandomize=True, deadline=None)
@given(st.lists(st.floats(1e-6, 5), min_size=1, max_size=4), st.floats(10, 1e7), st.floats(0.1, 5), BETAS)
def test_gap_free_form_covers_any_gaps(gaps, horizon, scale, beta):
    options = {"sigma": scale, "beta": beta, "constant": 1}
    free = gap_free_bound([0, *gaps], horizon, **options)
    # The most regret that pulls can make which the other form allows, and of which there are T: largest gaps first.
    left, most = horizon, 0.0
    for gap in sorted(gaps, reverse=True):
        pulls = min(left, problem_dependent_bound([0, gap], horizon, **options) / gap)
        left -= pulls
        most += gap * pulls
    assert most <= free * (1 + 1e-12)
    # Reached but for what small gaps cost twice, where all gaps are at the threshold.
    best = threshold(horizon, scale, len(gaps))
    worst = problem_dependent_bound([0, *[best] * len(gaps)], horizon, **options) - 6 * len(gaps) * best
    assert free == pytest.approx(horizon * best + worst + 6 * sum(gaps), rel=1e-12)


def threshold(horizon, scale, n):
    return 2 * (math.sqrt(2) + 3) * scale * math.sqrt(2 * n * math.log(horizon) / horizon)


@settings(derandomize=True, deadline=None)
@given(GAPS, st.lists(HORIZONS, min_size=1, max_size=5), BETAS, st.sampled_from(BOUNDS))
def test_a_curve_is_its_points_and_rises(gaps, horizons, beta, bound):
    horizons = sorted(horizons)
    options = {"sigma": 0.7, "beta": beta, "constant": 1.3}
    curve = bound(gaps, horizons, **options)
    points = [bound(gaps, horizon, **options) for horizon in horizons]
    assert all(isinstance(point, float) for point in points)
    np.testing.assert_allclose(curve, points, rtol=1e-13)
    assert (np.diff(curve) >= -1e-9 * curve[:-1]).all()
    assert bound(gaps, np.reshape(horizons, (1, -1)), **options).shape == (1, len(horizons))


@settings(derandomize=True, deadline=None)
@given(GAPS, HORIZONS, BETAS, st.sampled_from(BOUNDS), st.sampled_from(["corrected", "printed"]))
def test_units_of_the_reward_and_order_of_the_arms_do_not_matter(gaps, horizon, beta, bound, form):
    options = {"beta": beta, "constant": 1.0, "form": form}
    means = [{"best_mean": m} if bound is gap_free_bound else {} for m in (1.0, 4.0)]
    total = bound(gaps, horizon, sigma=0.5, **options, **means[0])
    assert bound([4 * g for g in gaps], horizon, sigma=2.0, **options, **means[1]) == pytest.approx(
        4 * total, rel=1e-12
    )
    assert bound(gaps[::-1], horizon, sigma=0.5, **options, **means[0]) == pytest.approx(total, rel=1e-12)


@settings(derandomize=True, deadline=None, max_examples=50)
@given(GAPS.filter(lambda gaps: len(gaps) > 1), HORIZONS, BETAS, st.sampled_from(BOUNDS))
def test_noise_costs(gaps, horizon, beta, bound):
    quiet, loud = (bound(gaps, horizon, sigma=sigma, beta=beta, constant=1) for sigma in (1.0, 1.5))
    assert 6 * sum(gaps) < quiet < loud


@pytest.mark.parametrize("bound", BOUNDS)
def test_no_regret_where_all_arms_are_best(bound):
    assert bound([0, 0, 0], [10, 1000], sigma=1, beta=1.5).tolist() == [0, 0]


@each("bound", BOUNDS)
@each("beta", [0.5, 1.5, 2.0])
def test_constant_is_that_of_theorem_two_unless_given(bound, beta):
    given_constant = bound([0, 1], 100, sigma=2, beta=beta, constant=sub_weibull_constant(beta))
    assert bound([0, 1], 100, sigma=2, beta=beta) == given_constant


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_corrections_cost_less_than_twice_the_printed_constants(beta):
    options = {"sigma": 1, "beta": beta, "constant": 1}
    printed = problem_dependent_bound([0, 0.1], 1e4, form="printed", **options)
    corrected = problem_dependent_bound([0, 0.1], 1e4, **options)
    assert printed < corrected < 2 * printed


@each("means", [(0.6, 0.4), (0.9, 0.2), (0.3, 0.3), (1.0, 0.5)])
@each("horizon", [2, 3, 6])
def test_naive_policy_regrets_at_least_what_theorem_four_says(means, horizon):
    regret = naive.naive_policy_regret(means, horizon, 0.3)
    assert naive_lower_bound(means, horizon) <= regret + 1e-12


@settings(derandomize=True, deadline=None, max_examples=50)
@given(st.floats(0, 1), st.floats(0, 1), st.integers(2, 10**6))
def test_lower_bound_of_theorem_four_is_linear(first, second, horizon):
    best, other = max(first, second), min(first, second)
    curve = naive_lower_bound([first, second], [2, horizon, horizon + 1])
    assert curve[0] == pytest.approx(best - other)
    assert curve[2] - curve[1] == pytest.approx((best - other) * (1 - best) * other, rel=1e-6, abs=1e-9)
    assert naive_lower_bound([second, first], horizon) == naive_lower_bound([first, second], horizon) == curve[1]


@each("bound", BOUNDS)
@each(
    ("change", "match"),
    [
        ({"gaps": [0.1, 0.2]}, "'gaps' parameter of {} must be one number per arm, 0 for the best"),
        ({"gaps": []}, "'gaps' parameter of {} must be"),
        ({"gaps": [[0.0, 1.0]]}, "'gaps' parameter of {} must be one number per arm"),
        ({"gaps": [0, -1]}, "'gaps' parameter of {} must be finite numbers of at least 0. Got -1.0"),
        ({"horizon": 1}, "'horizon' parameter of {} must be finite numbers of at least 2. Got 1.0"),
        ({"horizon": [5, math.nan]}, "'horizon' parameter of {} must be finite numbers of at least 2. Got nan"),
        ({"sigma": 0}, "'sigma' parameter of {} must be a finite number greater than 0"),
        ({"beta": -1}, "'beta' parameter of {} must be a finite number greater than 0"),
        ({"constant": 0}, "'constant' parameter of {} must be a finite number greater than 0"),
        ({"form": "stated"}, "'form' parameter of {} must be one of 'corrected', 'printed'. Got 'stated'"),
    ],
)
def test_refusals(bound, change, match):
    arguments = {"gaps": [0, 1], "horizon": 100, "sigma": 1, "beta": 1} | change
    with pytest.raises(InvalidInput, match=match.format(bound.__name__)):
        bound(**arguments)


def test_printed_gap_free_form_asks_for_the_best_mean():
    with pytest.raises(
        InvalidInput, match=r"'best_mean' parameter of gap_free_bound must be a finite number\. Got None"
    ):
        gap_free_bound([0, 1], 100, sigma=1, beta=1, form="printed")


@pytest.mark.parametrize("means", [[0.5], [0.5, 1.5], [0.1, 0.2, 0.3]])
def test_theorem_four_is_about_two_probabilities(means):
    with pytest.raises(InvalidInput, match="'means' parameter of naive_lower_bound must be two probabilities"):
        naive_lower_bound(means, 10)

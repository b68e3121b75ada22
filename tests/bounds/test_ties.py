"""Bounds that tie with the mean: rounding must not put them on the wrong side of it."""

import math
from fractions import Fraction

import numpy as np
import pytest

from bandstrap.bounds import BOUNDS, betting, bootstrap, clopper_pearson, empirical_kl, mid_p
from bandstrap.multipliers.mean_sign import mean_sign_quantile
from naive import bounds as naive
from sampling import each, telling

# Sums of these, or their products with a sum, are rounded: the mean of seven is below 0.1, that of ten below 0.7.
AWKWARD = [0.1, 0.7, 1 / 3, 1.1, 1e-9]
# Equal rewards have no spread, which some bounds say they take for nothing.
pytestmark = pytest.mark.filterwarnings("ignore::bandstrap.errors.AssumptionWarning")


@each("value", AWKWARD)
@each("n", [2, 3, 6, 7, 10, 30])
@each("name", sorted(BOUNDS))
def test_rewards_that_never_vary_are_not_missed(name, n, value):
    given = {"sigma": value, "support": (0.0, value), "beta": 1.0}
    options = {option: given[option] for option in (need.split("|")[0] for need in BOUNDS[name].needs)}
    if "binary" in BOUNDS[name].assumes:
        options["support"] = (0.0, value)
    bound = BOUNDS[name].function(np.full(n, value), 0.05, side="two-sided", **options)
    assert not bound.misses(value)
    assert bound.mean == value


@each(("low", "high"), [(0.0, 0.1), (0.1, 0.7), (-0.3, 1.1), (1 / 3, 2 / 3)])
@each("bound", [betting, empirical_kl, clopper_pearson, mid_p])
def test_the_end_of_the_support_is_a_bound_as_it_is(bound, low, high):
    for n in (1, 3, 10):
        found = bound(np.full(n, high), 0.05, side="two-sided", support=(low, high))
        assert found.upper == high
        found = bound(np.full(n, low), 0.05, side="two-sided", support=(low, high))
        assert found.lower == low


@pytest.mark.parametrize("alpha", [0.25, 0.125])
def test_the_supremum_of_the_empirical_likelihood_is_not_undercut(alpha):
    # One reward at 0: mass moves to the upper end until log(1/(1 - p)) = d, so that the bound is 1 - exp(-d).
    budget = math.log(math.e * 3 / alpha)
    assert empirical_kl([0.0], alpha, support=(0, 1)).upper >= 1 - math.exp(-budget)


@telling("n", [51, 60, 101, 400, 1500], [51, 101, 400])
def test_quantile_of_a_mean_of_signs_is_never_below_the_exact_one_at_its_own_tails(n):
    # Levels that are tails of the law themselves, or a rounding below: where a rounded tail could pass for smaller.
    total = 2**n
    for k in range(n // 2, n, max(n // 25, 1)):
        tail = float(Fraction(sum(math.comb(n, j) for j in range(k + 1, n + 1)), total))
        for level in (tail, math.nextafter(tail, 0)):
            if 0 < level < 1:
                assert mean_sign_quantile(n, level) >= naive.mean_sign_quantile(n, level)


@pytest.mark.parametrize("n", [3, 7, 13, 20])
def test_the_sharp_bootstrap_bound_is_not_below_its_exact_value_on_a_lattice(n):
    # Coins with values 0.1 and 0.3, and a phi of 0.1, at which the bound is capped for so few rewards.
    for heads in range(n + 1):
        sample = [Fraction(3, 10)] * heads + [Fraction(1, 10)] * (n - heads)
        bound = bootstrap([float(y) for y in sample], 0.05, phi=0.1, correction="sharp")
        if math.isclose(bound.width, 0.1, rel_tol=1e-9):
            assert bound.upper >= float(sum(sample) / n + Fraction(1, 10))

"""What bounds assume: the tests that look for contradictions, and what is read off a law."""

import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bandstrap import bounds
from bandstrap.bounds import BOUNDS
from bandstrap.bounds.assumptions import (
    ASSUMPTIONS,
    SIGNIFICANCE,
    ascending,
    binary_symmetry_p_value,
    contradictions,
    judge,
    normality_p_value,
    rank_correlation,
    symmetry_p_value,
    trend_p_value,
)
from bandstrap.bounds.bound import Refuted
from bandstrap.bounds.distributions import has_heavy_tail, is_two_valued
from naive import assumptions as naive
from sampling import each


def contradicted(name, sample, options, **more):
    return contradictions(name, np.asarray(sample, dtype=float), options, **more)


def test_every_assumption_is_made_by_some_bound_and_has_its_name():
    assert set(ASSUMPTIONS) == {each for entry in BOUNDS.values() for each in entry.assumes}
    assert all(name == each.name for name, each in ASSUMPTIONS.items())


def test_contradictions_name_what_the_data_contradict():
    rng = np.random.default_rng(1)
    normal, skewed = rng.standard_normal(100), rng.exponential(size=100)
    assert contradicted("sign_flip", normal, {}) == []
    assert "skewed to the right" in contradicted("sign_flip", skewed, {})[0]
    assert "skewed to the left" in contradicted("symmetric_betting", -skewed, {})[0]
    assert contradicted("betting", skewed, {"support": (0, 50)}) == []
    assert "above sigma = 0.5" in contradicted("hoeffding", normal, {"sigma": 0.5})[0]
    assert contradicted("hoeffding", normal, {"sigma": 1.0}) == []


# --- order ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ties", [False, True])
def test_rank_correlation_is_scipys(ties):
    rng = np.random.default_rng(3)
    for n in (8, 30, 200):
        sample = rng.integers(0, 4, n).astype(float) if ties else rng.normal(size=n)
        rho = rank_correlation(sample)[0]
        assert rho == pytest.approx(stats.spearmanr(np.arange(n), sample).statistic, abs=1e-12)
        assert trend_p_value(sample) == pytest.approx(2 * stats.norm.sf(abs(rho) * math.sqrt(n - 1)), rel=1e-12)
    assert trend_p_value([2.0] * 9) == 1.0


def test_the_test_for_trend_keeps_its_level_over_all_orders_of_the_fewest_rewards():
    # All 40320 orders of eight rewards, and of eight of which four are equal: no chance.
    orders = np.array(list(itertools.permutations(range(8))))
    for sample in (np.arange(8.0), np.array([0, 0, 0, 0, 1, 2, 3, 4.0])):
        ranks = stats.rankdata(sample)[orders] - 4.5
        rho = ranks @ (np.arange(8) - 3.5) / math.sqrt(42 * (ranks[0] @ ranks[0]))
        rejected = 2 * stats.norm.sf(np.abs(rho) * math.sqrt(7)) < SIGNIFICANCE
        assert rejected.mean() <= SIGNIFICANCE
        assert rejected.any() == (len(set(sample)) == 8)  # a sorted sample is found out, unless half of it is equal
        assert [trend_p_value(sample[order]) < SIGNIFICANCE for order in orders[::4000]] == rejected[::4000].tolist()


def test_a_sorted_sample_is_found_out_and_only_by_bounds_that_walk_through_it():
    rng = np.random.default_rng(0)
    sample = np.sort(rng.random(50))
    for name in BOUNDS:
        options = {"support": (0, 1)} if "support" in BOUNDS[name].needs else {}
        if "binary" in BOUNDS[name].assumes:
            continue
        found = contradicted(name, sample, options, in_order=True)
        assert (
            any("rewards rise along the sample (rank correlation 1.00" in text for text in found) == BOUNDS[name].walks
        )
        assert not any("along the sample" in text for text in contradicted(name, sample, options))
    assert "rewards fall along" in contradicted("betting", sample[::-1], {"support": (0, 1)}, in_order=True)[0]
    # As a preliminary width, a sequential bound is read in random orders.
    assert contradicted("bootstrap", sample, {"support": (0, 1), "phi": "betting"}, in_order=True) == []


def test_a_related_column_that_sorts_the_sample_is_found_out_with_power():
    # Rewards whose correlation with what the file is sorted by is 0.3: of 200 files of 300 rows, at least 190 are found out
    # (power 0.99 or more was measured; were it 0.9, this would fail 98 times in 100).
    rng = np.random.default_rng(1)
    cause = np.sort(rng.normal(size=(200, 300)), axis=-1)
    rewards = 0.3 * cause + math.sqrt(1 - 0.09) * rng.normal(size=cause.shape)
    assert sum(trend_p_value(row) < SIGNIFICANCE for row in rewards) >= 190


# --- symmetry ----------------------------------------------------------------------------------------------------------


samples = st.lists(
    st.one_of(st.integers(-3, 3).map(float), st.floats(-1e3, 1e3).map(lambda y: round(y, 6))), min_size=8, max_size=60
).filter(lambda y: max(y) - min(y) > 1e-3)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(samples)
def test_symmetry_and_normality_are_tested_by_their_formulas(sample):
    found = symmetry_p_value(ascending(sample)), normality_p_value(ascending(sample))
    assert found[0] == pytest.approx(naive.symmetry_p_value(sample), rel=1e-6, abs=1e-12)
    assert found[1] == pytest.approx(naive.normality_p_value(sample), rel=1e-6, abs=1e-12)
    for power in (-1000, 900):  # squares of which would vanish, or overflow
        moved = np.ldexp(np.array(sample), power)
        assert (symmetry_p_value(ascending(moved)), normality_p_value(ascending(moved))) == pytest.approx(
            found, rel=1e-9
        )
    assert symmetry_p_value(ascending(-np.array(sample))) == pytest.approx(found[0], rel=1e-6, abs=1e-12)


def modes(rng, size):
    """Two modes, of which a median takes one or the other by chance."""
    return rng.choice([-3.0, 3.0], size) + rng.normal(size=size)


SYMMETRIC = {
    "normal": lambda rng, size: rng.normal(size=size),
    "Cauchy": lambda rng, size: rng.standard_cauchy(size),
    "t(2)": lambda rng, size: rng.standard_t(2, size),
    "Laplace": lambda rng, size: rng.laplace(size=size),
    "uniform": lambda rng, size: rng.uniform(size=size),
    "two modes": modes,
    "three values": lambda rng, size: rng.integers(-1, 2, size).astype(float),
    "differences of ratings": lambda rng, size: (rng.integers(1, 6, size) - rng.integers(1, 6, size)).astype(float),
    "mostly 0": lambda rng, size: rng.choice([-1, 0, 0, 0, 0, 1], size) * rng.uniform(size=size),
}


@each("law", SYMMETRIC)
def test_the_test_of_symmetry_nearly_keeps_its_level_for_light_and_heavy_tails_two_modes_and_few_values(law):
    # 4 % are allowed at 0.01, of samples of 60; most laws have 1 %, two modes 3 %. A right test fails with probability
    # 1e-4. One that rejects 8 %, as that of mean minus median does of few values, is seen with 0.999, and 70 %, as it does
    # of two modes, for certain.
    drawn = SYMMETRIC[law](np.random.default_rng(0), (1500, 60))
    rejected = sum(symmetry_p_value(ascending(sample)) < SIGNIFICANCE for sample in drawn)
    assert rejected <= stats.binom.isf(1e-4, 1500, 0.04)


@pytest.mark.parametrize(
    ("draw", "power"),
    [
        (lambda rng: rng.exponential(size=60), 0.85),
        (lambda rng: rng.exponential(size=60) ** 2, 0.95),
        (lambda rng: rng.lognormal(size=60), 0.95),
        (lambda rng: rng.poisson(0.3, 300).astype(float), 0.85),
        (lambda rng: (rng.random(300) < 0.1) * rng.lognormal(size=300), 0.95),
    ],
    ids=["exponential", "squared exponential", "lognormal", "counts", "purchases"],
)
def test_skewness_is_seen(draw, power):
    # Rates of 0.94, 1.00, 0.99, 0.94 and 1.00 were measured; of 200, fewer than told come up once in 1e4.
    rng = np.random.default_rng(1)
    rejected = sum(symmetry_p_value(ascending(draw(rng))) < SIGNIFICANCE for _ in range(200))
    assert rejected >= stats.binom.ppf(1e-4, 200, power)


def test_the_test_of_normality_keeps_its_level_and_has_power():
    # Normal samples of each size are rejected at 0.01 with that probability: more than 38 of 2000 come up once in 1e4, and
    # 2.5 % would be seen with 0.95.
    rng = np.random.default_rng(2)
    for n in (8, 20, 200, 6000):
        n_samples = 2000 if n < 6000 else 300
        rejected = sum(
            normality_p_value(ascending(sample)) < SIGNIFICANCE for sample in rng.normal(size=(n_samples, n))
        )
        assert rejected <= stats.binom.isf(1e-4, n_samples, 0.01)
    for sample in (rng.standard_cauchy(60), rng.choice([-1.0, 1.0], 60), rng.uniform(size=300), rng.gamma(2, size=200)):
        assert normality_p_value(ascending(sample)) < SIGNIFICANCE


def test_two_values_are_compared_with_a_fair_coin():
    for n in (8, 21, 200):
        for k in (1, n // 4, n // 2, n - 1):
            assert binary_symmetry_p_value(k, n) == pytest.approx(stats.binomtest(k, n).pvalue, rel=1e-9)
    (text,) = contradicted("sign_flip", [0] * 190 + [1] * 10, {})
    assert text.startswith("the rewards take two values, 0 and 1, in unequal numbers (fair coin, p = ")
    assert text.endswith("; clopper_pearson is exact for them")
    assert contradicted("sign_flip", [0, 1] * 20, {}) == []
    assert "clopper_pearson" not in contradicted("sign_flip", [0] * 190 + [2] * 10, {})[0]


def test_rewards_that_are_symmetric_but_not_normal_contradict_students_t_alone():
    rng = np.random.default_rng(2)
    for sample in (rng.standard_cauchy(60), rng.choice([-1.0, 1.0], 60), rng.uniform(size=300)):
        assert any(
            "do not look normal (Shapiro and Francia's test, p = " in text
            for text in contradicted("student_t", sample, {})
        )
        assert contradicted("sign_flip", sample, {}) == []
    assert contradicted("student_t", [3.0] * 9, {}) == []
    assert contradicted("student_t", 1e300 * rng.normal(size=12_000), {}) == []


def test_what_rules_a_bound_out_is_refused_with_a_note_for_groups():
    with pytest.raises(Refuted, match=r"must be of the two values 0 and 1 alone\. Got 0\.5 at position 2") as refusal:
        bounds.clopper_pearson([0, 1, 0.5, 0.25], 0.05)
    assert refusal.value.note == "2 of 4 rewards are neither 0 nor 1, the first of them 0.5"
    with pytest.raises(Refuted, match=r"inside the support \[0, 1\]") as refusal:
        bounds.betting([0.5, 2, 3], 0.05, support=(0, 1))
    assert refusal.value.note == "2 of 3 rewards lie outside [0, 1]"
    again = pickle.loads(pickle.dumps(refusal.value))  # noqa: S301 - our own
    assert (str(again), again.note) == (str(refusal.value), refusal.value.note)


def test_symmetry_that_was_claimed_beside_a_norm_is_tested():
    skewed = np.random.default_rng(0).exponential(size=99)
    told = {"sigma": 9.0, "beta": 1.0}
    assert contradicted("sub_weibull", skewed, told) == []
    assert "skewed to the right" in contradicted("sub_weibull", skewed, told | {"symmetric": True})[0]


@pytest.mark.parametrize(
    "phi", [0, 0.3, np.full(2, 0.3), lambda rewards, alpha: 0.3], ids=["0", "number", "array", "callable"]
)
def test_a_phi_that_is_no_name_contradicts_nothing(phi):
    normal = np.random.default_rng(0).normal(size=40)
    assert contradicted("bootstrap", normal, {"phi": phi, "sigma": 0.1}) == []
    assert "above sigma = 0.1" in contradicted("bootstrap", normal, {"phi": None, "sigma": 0.1})[0]


# --- laws -------------------------------------------------------------------------------------------------------------


@each(
    ("law", "heavy"),
    [
        *((law, False) for law in (stats.norm(3, 2), stats.uniform(), stats.beta(2, 3), stats.bernoulli(0.1))),
        *((law, False) for law in (stats.gennorm(4), stats.halfnorm(), stats.skewnorm(4), stats.maxwell())),
        *((law, True) for law in (stats.t(3), stats.t(30), stats.laplace(1e6), stats.gamma(2), stats.lognorm(1))),
        *((law, True) for law in (stats.cauchy(), stats.pareto(2.2), stats.expon(), stats.weibull_min(1.2))),
    ],
    ids=lambda value: getattr(getattr(value, "dist", None), "name", str(value)),
)
def test_heavy_tails(law, heavy):
    assert has_heavy_tail(law) == heavy


def test_two_values_of_a_law():
    assert is_two_valued(stats.binom(1, 0.3), (0, 1))
    assert is_two_valued(stats.bernoulli(0.3, loc=2), (2, 3))
    assert not is_two_valued(stats.bernoulli(0.3, loc=2), (0, 1))
    assert not is_two_valued(stats.uniform(), (0, 1))


def test_a_failure_weighs_more_than_what_is_not_known():
    verdict = judge("bootstrap", {"phi": 0.3}, stats.gamma(2))
    assert (verdict.holds, verdict.why) == (False, "the distribution is not symmetric")
    verdict = judge("bootstrap", {"phi": 0.3}, stats.norm())
    assert (verdict.holds, verdict.why) == (None, "nothing is known of phi")
    assert judge("bootstrap", {"sigma": 1.0}, stats.norm()).holds

import itertools

import numpy as np
import pytest

from bandstrap.multipliers import bootstrap_quantile
from bandstrap.multipliers.enumeration import (
    HalfLaw,
    extreme_quantile,
    extreme_rank,
    grouped,
    grouped_law,
    list_sums,
    meet_in_the_middle,
    resampled_law,
    without_zeros,
)
from bandstrap.multipliers.weights import MAMMEN, RADEMACHER
from naive.multipliers import ATOMS, all_sums, away_from_atoms, quantiles, tails
from sampling import each

LARGEST = {"rademacher": 8, "mammen": 8, "efron": 5}


def random_samples(n: int) -> list[np.ndarray]:
    rng = np.random.default_rng(n)
    return [
        rng.normal(size=n),
        rng.standard_t(2, size=n),
        rng.integers(0, 4, size=n).astype(float),  # ties among sums and residuals
        np.r_[np.zeros(n - 1), 1.0],
    ]


@pytest.mark.parametrize("weights", LARGEST)
def test_enumeration_equals_the_list_of_all_weights(weights):
    compared = 0
    for n in range(1, LARGEST[weights] + 1):
        rng = np.random.default_rng(100 + n)
        levels = np.r_[rng.random(6), 10.0 ** rng.uniform(-4, 0, size=6), 0.05, 0.95]
        for sample in random_samples(n):
            atoms = ATOMS[weights](sample)
            apart = away_from_atoms(atoms, levels)
            got = bootstrap_quantile(sample, apart, weights=weights, method="enumeration")
            np.testing.assert_allclose(got, quantiles(atoms, apart), rtol=1e-12, atol=1e-14 * np.abs(sample).max())
            compared += len(apart)
    assert compared > 200


@each("n", range(1, 9))
def test_rademacher_enumeration_is_exact_at_dyadic_levels(n):
    # At a tail probability itself the quantile is the lower of the two sums: "P(X > x) <= level" holds with equality.
    for sample in random_samples(n):
        atoms = ATOMS["rademacher"](sample)
        levels = sorted({float(tail) for _, tail in tails(atoms)} - {0.0})
        levels = [level + step for level in levels or [0.5] for step in (0.0, -(2.0**-30), 2.0**-30)]
        got = bootstrap_quantile(sample, levels, method="enumeration")
        np.testing.assert_allclose(got, quantiles(atoms, levels), rtol=1e-12, atol=1e-14 * np.abs(sample).max())


def two_point_law(terms: np.ndarray, law: int) -> HalfLaw:
    return grouped_law(grouped(terms, law), law)


def halves(terms: np.ndarray, law: int) -> tuple[HalfLaw, HalfLaw]:
    """The laws of every other term."""
    return two_point_law(terms[::2], law), two_point_law(terms[1::2], law)


@pytest.mark.parametrize("n", [1, 2, 5, 9, 11])
def test_two_halves_meet_where_the_list_from_the_top_ends(n):
    rng = np.random.default_rng(n)
    terms = np.sort(rng.random(n) + 0.1)
    values, _ = all_sums(terms, "rademacher")
    left, right = halves(terms, RADEMACHER)
    steps = np.arange(1, 2**n) if n < 6 else np.unique(rng.integers(1, 2**n, size=60))
    for level in {*(steps / 2.0**n), *((steps - 0.5) / 2.0**n), 0.25 / 2.0**n} - {0.5}:
        expected = values[2**n - 1 - int(level * 2**n)]
        assert meet_in_the_middle(left, right, level) == pytest.approx(expected, rel=1e-12, abs=1e-12)
        assert extreme_quantile(terms, level) == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_the_middle_level_takes_the_lower_of_the_two_middle_sums():
    # Sums 4, 2, -2, -4, so P(X > x) <= 1/2 from x = -2 on. Residuals always have two sums of zero in the middle, so
    # this shows for other terms only.
    terms = np.array([1.0, 3.0])
    assert meet_in_the_middle(*halves(terms, RADEMACHER), 0.5) == -2.0
    assert extreme_quantile(terms, 0.5) == -2.0


@pytest.mark.parametrize("level", [0.3, 5e-2, 5e-3, 2e-4])
def test_both_ways_agree_on_twenty_terms(level):
    terms = np.sort(np.abs(np.random.default_rng(20).standard_t(3, size=20)))
    rank = extreme_rank(terms.size, level)
    assert rank == int(level * 2**20)
    expected = meet_in_the_middle(*halves(terms, RADEMACHER), level)
    assert extreme_quantile(terms, level) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("weights", "law"), [("rademacher", RADEMACHER), ("mammen", MAMMEN)])
def test_repeated_terms_have_the_law_of_all_weights(weights, law):
    terms = np.array([0.5, 0.5, 0.5, -1.25, 0.0, -1.25, 2.0])
    values, probabilities = all_sums(terms, weights)
    merged = two_point_law(terms, law)
    for x in np.linspace(-9, 9, 50):
        expected = probabilities[values > x].sum()
        assert merged.probabilities[merged.values > x].sum() == pytest.approx(expected, rel=1e-12, abs=1e-14)


def test_sums_from_the_top_come_in_order_and_repeat_with_ties():
    sums = [extreme_quantile(np.array([1.0, 1.0, 2.0]), level / 8) for level in range(8)]
    assert sums == [4.0, 2.0, 2.0, 0.0, 0.0, -2.0, -2.0, -4.0]


@pytest.mark.parametrize("most", [1, 2, 5, 31, 32, 40])
@pytest.mark.parametrize("n", [0, 3, 5])
def test_the_smallest_subset_sums_are_listed_in_order(n, most):
    terms = np.array([0.5, 1.0, 0.25, 3.0, 0.0])
    expected = sorted(float(sum(s)) for size in range(n + 1) for s in itertools.combinations(terms[:n], size))[:most]
    for room in (np.full((2, most), np.nan), np.full((2, most), np.nan).tolist()):
        assert list(room[list_sums(room, terms, n, most)])[: len(expected)] == expected


def test_the_rank_counts_the_sums_beyond_and_never_overflows():
    assert [extreme_rank(3, level) for level in (0.01, 0.125, 0.49)] == [0, 1, 3]
    assert extreme_rank(52, 2.0**-50) == 4
    assert extreme_rank(53, 2.0**-53) > 2**60


def test_zero_terms_are_dropped():
    assert without_zeros(np.array([0.0, 0.0, 1.0, 2.0])).tolist() == [1.0, 2.0]
    assert without_zeros(np.zeros(3)).size == 0
    # 39 zeros among 41 values: two of them differ from the mean, so this is well within reach.
    sample = np.r_[np.zeros(39), -1.0, 1.0]
    assert bootstrap_quantile(sample, 0.1, method="enumeration") == pytest.approx(2 / 41, rel=1e-15)


def test_half_laws_are_sorted_probabilities_with_tails():
    rng = np.random.default_rng(5)
    terms = rng.normal(size=5)
    laws = two_point_law(terms, RADEMACHER), two_point_law(terms, MAMMEN), resampled_law(terms - terms.mean(), 5)
    for law, mass in zip(laws, (1, 1, 5**5), strict=True):
        assert (np.diff(law.values) >= 0).all()
        assert law.probabilities.sum() == pytest.approx(mass, rel=1e-13)
        assert law.tail[0] == pytest.approx(mass, rel=1e-13)
        assert law.tail[-1] == 0
        np.testing.assert_allclose(-np.diff(law.tail), law.probabilities, rtol=0, atol=1e-15 * mass)
        assert law.probabilities @ law.values == pytest.approx(0, abs=1e-13 * mass)


def test_mammen_splits_any_number_of_terms_in_two_halves():
    rng = np.random.default_rng(6)
    for n in (9, 12):
        sample = rng.exponential(size=n)
        values, probabilities = all_sums((sample - sample.mean()) / n, "mammen")
        beyond = 1 - np.cumsum(probabilities)
        for level in (0.3, 0.05, 1e-3, 0.7):
            expected = values[np.argmax(beyond <= level)]
            got = bootstrap_quantile(sample, level, weights="mammen", method="enumeration")
            assert got == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n", [6, 9, 12])
def test_efron_halves_give_the_law_of_all_draws(n):
    rng = np.random.default_rng(n)
    sample = rng.exponential(size=n)
    whole = resampled_law((sample - sample.mean()) / n, n)
    for level in (0.3, 0.0501, 1.01e-3, 0.7):
        expected = whole.values[np.argmax(whole.tail[1:] <= level * n**n)]
        got = bootstrap_quantile(sample, level, weights="efron", method="enumeration")
        assert got == pytest.approx(expected, rel=1e-12)


def test_forty_equal_magnitudes_stay_within_memory_and_are_exact():
    # 2^40 sums, but only 41 different ones; listing pairs without care would ask for terabytes.
    sample = np.r_[np.full(20, -1.0), np.full(20, 1.0)]
    levels = [0.4, 1e-3, 1e-9]
    got = bootstrap_quantile(sample, levels, method="enumeration")
    np.testing.assert_allclose(got, bootstrap_quantile(sample, levels, method="binomial"), rtol=1e-12)


def test_forty_equal_magnitudes_with_skew_weights_stay_within_memory_and_are_exact():
    sample = np.r_[np.full(20, -1.0), np.full(20, 1.0)]
    levels = [0.4, 1e-3]
    got = bootstrap_quantile(sample, levels, weights="mammen", method="enumeration")
    expected = bootstrap_quantile(sample, levels, weights="mammen", method="binomial")
    np.testing.assert_allclose(got, expected, rtol=1e-12)

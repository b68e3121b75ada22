"""Quantiles by inversion, against counts of all sums: on lumps, lattices, clusters, outliers and smooth samples."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap.multipliers import bootstrap_quantile, inversion
from bandstrap.multipliers.quantile import quantiles
from bandstrap.multipliers.weights import LAWS
from naive.multipliers import exponential_tail, lattice_atoms, lattice_quantile
from naive.sums_of_signs import coins_quantile
from sampling import each, telling

LEVELS = np.array([0.2, 0.05, 1e-3, 1e-5])
REWARDS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "clusters": lambda rng, n: rng.choice([-1, 1], size=n) + 0.01 * rng.normal(size=n),
    "outlier": lambda rng, n: np.r_[rng.normal(size=n - 1), 30.0],
    "rounded": lambda rng, n: np.round(rng.normal(size=n), 1),
    "poisson": lambda rng, n: rng.poisson(5, size=n).astype(float),
    "pareto": lambda rng, n: rng.pareto(0.5, size=n),
    "powers": lambda rng, n: 2.0 ** np.arange(n),
    "two-scale": lambda rng, n: rng.normal(size=n) * np.where(rng.random(n) < 0.5, 1, 10),
    "far from 0": lambda rng, n: 1e9 + rng.normal(size=n),
}


@pytest.mark.parametrize("rewards", REWARDS)
@telling(("weights", "n"), [("rademacher", 29), ("mammen", 24), ("efron", 12)], [("mammen", 24), ("efron", 12)])
def test_inversion_is_within_half_a_per_cent_of_enumeration(weights, n, rewards):
    # Measured on 40 samples of each kind: worst 0.30 %, where the quantile sits at the edge of a lump.
    samples = [REWARDS[rewards](np.random.default_rng(n), n)]
    got = bootstrap_quantile(samples, LEVELS, weights=weights, method="inversion")
    exact = bootstrap_quantile(samples, LEVELS, weights=weights, method="enumeration")
    np.testing.assert_allclose(got, exact, rtol=0.005)


@pytest.mark.parametrize("rewards", ["normal", "two-scale", "far from 0"])
def test_inversion_is_within_a_thirtieth_of_a_per_cent_where_nothing_is_lumpy(rewards):
    samples = [REWARDS[rewards](np.random.default_rng(4), 30)]
    got = bootstrap_quantile(samples, LEVELS, method="inversion")
    exact = bootstrap_quantile(samples, LEVELS, method="enumeration")
    np.testing.assert_allclose(got, exact, rtol=3e-4)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 9), min_size=26, max_size=60).filter(lambda steps: len(set(steps)) > 1), st.data())
def test_on_lattices_inversion_is_as_near_as_counting_and_upward_never_below(steps, data):
    level = data.draw(st.sampled_from([0.2, 0.1, 0.01, 1e-4]))
    terms = (np.array([steps], dtype=float) - np.mean(steps)) / len(steps)
    law = LAWS["rademacher"]
    exact = lattice_quantile(steps, level)
    got = inversion.quantiles(law, terms, np.array([level]))[0, 0]
    upward = inversion.quantiles(law, terms, np.array([level]), upward=True)[0, 0]
    # A level at the edge of an atom may round to either side, where one smoothed by a thousandth is in between.
    values, mass = lattice_atoms(steps)
    beyond = np.cumsum(mass[::-1])[::-1] - mass
    near = values[(beyond <= 1.002 * level) & (mass > 0)][0] / len(steps) ** 2
    far = values[(beyond <= 0.998 * level) & (mass > 0)][0] / len(steps) ** 2
    assert (1 - 0.004) * near <= got <= (1 + 0.004) * far
    assert upward >= exact * (1 - 1e-12)
    assert upward <= (1 + 0.008) * far


CROWDS = {"two": [0.0, 1.0], "three": [-1.0, 0.0, 1.0], "on no lattice": [0.0, 1.0, 3.14]}


@each("places", CROWDS)
@each("n", [26, 31, 59, 300])
@each("weights", ["rademacher", "mammen"])
def test_rewards_that_crowd_at_few_places_are_counted_as_few_values(places, n, weights):
    # Inverted, two crowds of 6 and 20 were 8 % off at the level 0.2, which is within 1e-6 of the tail between two lumps.
    places = CROWDS[places]
    rng = np.random.default_rng(n)
    at = np.append(places, rng.choice(places, size=n - len(places), p=rng.dirichlet(np.ones(len(places)))))
    near = at + 1e-7 * rng.uniform(-1, 1, size=n)
    levels = np.append(LEVELS, 0.4)
    found = quantiles(near, levels, weights=weights)
    exact = bootstrap_quantile(at, levels, weights=weights)
    assert found.methods == "enumeration"
    np.testing.assert_allclose(found.values, exact, rtol=1e-5)
    if weights == "rademacher":
        upward = quantiles(near, levels, upward=True).values
        assert (upward >= exact - 1e-6 * at.std()).all()
        np.testing.assert_allclose(upward, exact, rtol=1e-4)


def test_two_crowds_at_a_level_between_two_lumps_are_counted():
    # 20 F - 6 M, of 6 and 20 signs, exceeds 46 with a probability 1.3e-7 of it below 0.2.
    near = np.append(np.ones(6), np.zeros(20)) + 1e-9 * np.random.default_rng(26).uniform(-1, 1, 26)
    exact = coins_quantile(6, 20, Fraction(0.2)) / 26**2
    for upward in (False, True):
        assert quantiles(near, 0.2, upward=upward).values == pytest.approx(exact, rel=1e-6)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    st.lists(st.floats(-3, 3), min_size=2, max_size=4, unique=True),
    st.sampled_from([0.0, 1e-6, 1e-4, 1e-3, 0.01, 0.1]),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.2, 0.1, 0.045, 0.01, 1e-3]),
)
def test_upward_is_never_below_and_one_per_cent_above_at_most_on_crowds(places, width, seed, level):
    # Above the quantile of a level a thousandth smaller: between two lumps a quantile jumps.
    rng = np.random.default_rng(seed)
    sample = rng.choice(places, size=25, p=rng.dirichlet(np.ones(len(places)))) + width * rng.normal(size=25)
    exact, next_one = bootstrap_quantile(sample, [level, 0.999 * level], method="enumeration")
    upward = quantiles(sample, level, upward=True).values
    plain = quantiles(sample, level).values
    assert exact * (1 - 1e-12) <= upward <= 1.01 * next_one
    assert 0.995 * bootstrap_quantile(sample, 1.001 * level, method="enumeration") <= plain <= 1.005 * next_one


@pytest.mark.parametrize("n", [100, 300])
def test_long_lattices_are_counted_too(n):
    rng = np.random.default_rng(n)
    steps = rng.poisson(3, size=n) if n == 100 else rng.choice([0, 1, 5], size=n, p=[0.9, 0.09, 0.01])
    got = bootstrap_quantile(steps.astype(float), LEVELS, method="inversion")
    exact = [lattice_quantile(steps.tolist(), level) for level in LEVELS]
    np.testing.assert_allclose(got, exact, rtol=0.004)


@pytest.mark.parametrize("large", [[100, -100], [100, -130, 90]])
def test_far_tails_of_terms_of_which_a_few_dominate_are_as_near_and_upward_never_below(large):
    # The large terms give a law of few lumps, each as wide as a hundredth or so of its distance from the next.
    steps = [*large, *[1, -1] * 60]
    levels = np.array([1e-5, 1e-7, 1e-9, 1e-12])
    exact = np.array([lattice_quantile(steps, level) for level in levels])
    plain, upward = (quantiles(steps, levels, method="inversion", upward=flag).values for flag in (False, True))
    np.testing.assert_allclose(plain, exact, rtol=0.005)
    assert (upward >= exact * (1 - 1e-12)).all()
    assert (upward <= 1.009 * exact).all()


@each("n", [3, 24])
@each("level", [1e-9, 1e-16, 1e-30])
def test_exponential_weights_have_nearly_their_level_beyond_a_far_quantile(n, level):
    for sample in (
        np.random.default_rng(n).exponential(size=n),
        np.r_[np.random.default_rng(n).normal(size=n - 1), 30.0],
    ):
        q = bootstrap_quantile(sample, level, weights="exponential")
        assert exponential_tail(sample, q) == pytest.approx(level, rel=0.01, abs=0)


@pytest.mark.parametrize("n", [2, 3, 5, 24])
def test_exponential_weights_have_their_level_beyond_the_quantile(n):
    sample = np.random.default_rng(n).exponential(size=n)
    for level in LEVELS:
        q = bootstrap_quantile(sample, level, weights="exponential")
        assert exponential_tail(sample, q) == pytest.approx(level, rel=1e-3)


@each("weights", ["rademacher", "efron", "exponential", "mammen"])
@each("n", [2, 3, 7, 40])
def test_opposite_levels_are_those_of_opposite_rewards(weights, n):
    sample = np.random.default_rng(n).exponential(size=n)
    levels = np.array([0.3, 0.05])
    lower = bootstrap_quantile(-sample, 1 - levels, weights=weights, method="inversion")
    upper = bootstrap_quantile(sample, levels, weights=weights, method="inversion")
    np.testing.assert_allclose(lower, -upper, rtol=1e-6)


def test_the_order_of_rewards_does_not_matter():
    rng = np.random.default_rng(3)
    sample = rng.normal(size=50).round(1)
    for weights in ("rademacher", "efron", "exponential", "mammen"):
        one = bootstrap_quantile(sample, LEVELS, weights=weights, method="inversion")
        other = bootstrap_quantile(np.sort(sample), LEVELS, weights=weights, method="inversion")
        np.testing.assert_allclose(one, other, rtol=1e-7)


def test_quantiles_fall_with_the_level_and_end_at_the_largest_sum():
    sample = np.round(np.random.default_rng(5).normal(size=40), 1)
    levels = np.array([0.45, 0.3, 0.2, 0.1, 0.02, 1e-3, 1e-6, 1e-9, 2.0**-39, 2.0**-45])
    got = bootstrap_quantile(sample, levels, method="inversion")
    assert (np.diff(got) >= 0).all()
    assert got[-1] == pytest.approx(np.abs(sample - sample.mean()).mean(), rel=1e-12)


@pytest.mark.parametrize("weights", ["efron", "mammen"])
def test_levels_below_the_chance_of_the_largest_sum_give_it(weights):
    sample = np.array([0.0, 0.1, 0.4, 1.0] * 4 + [2.0])
    got = bootstrap_quantile(sample, 1e-30, weights=weights, method="inversion")
    residuals = sample - sample.mean()
    factor = np.where(residuals > 0, (1 + 5**0.5) / 2, (1 - 5**0.5) / 2)
    most = residuals.max() if weights == "efron" else (residuals * factor).mean()
    assert got == pytest.approx(most, rel=1e-12)


def test_plain_and_compiled_agree_to_the_bit():
    rng = np.random.default_rng(8)
    rows = np.stack([rng.normal(size=30), np.round(rng.normal(size=30), 1)])
    z = np.array([1.0, 3.0])
    levels = np.array([0.15865525393145707, 0.0013498980316300933])
    for law in (LAWS["rademacher"], LAWS["efron"], LAWS["exponential"], LAWS["mammen"]):
        terms = (rows - rows.mean(axis=1, keepdims=True)) / 30
        if law == LAWS["rademacher"]:
            terms = np.ascontiguousarray(np.sort(np.abs(terms))[:, ::-1])
        plain, compiled = np.empty((2, 2)), np.empty((2, 2))
        inversion.inversion_batch.plain(law, terms[:1], levels[1:], z[1:], False, plain[:1, 1:])
        inversion.inversion_batch.compiled(law, terms, levels, z, False, compiled)
        assert plain[0, 1] == compiled[0, 1]


TRANSFORMS = {
    "rademacher": lambda z, a: np.cosh(z * a).prod(),
    "mammen": lambda z, a: sum(
        share * np.exp(z * a * (1 + sign * 5**0.5) / 2)
        for sign, share in ((1, 0.5 - 0.1 * 5**0.5), (-1, 0.5 + 0.1 * 5**0.5))
    ).prod(),
    "efron": lambda z, a: np.exp(z * a).mean() ** a.size,
    "exponential": lambda z, a: (np.exp(-z * a) / (1 - z * a)).prod(),
}


@each("weights", TRANSFORMS)
@each("n", [5, 31, 32, 33, 90])
def test_nodes_are_those_of_the_transform_and_what_is_left_out_is_bounded(weights, n):
    rng = np.random.default_rng(n)
    for sample in (rng.normal(size=n), rng.choice([-1, 1], size=n) + 0.01 * rng.normal(size=n)):
        a = (sample - sample.mean()) / n
        scale = np.sqrt((a**2).sum())
        c, h, deviation = 1.5 / scale, 0.7 / scale, 0.01 * scale
        if weights == "exponential":
            c = min(c, 0.5 / a.max())
        terms, nodes = np.zeros((inversion.WEIGHT + 1, max(n, inversion.N_TURNED))), np.empty((3, 400))
        origin = inversion.prepare_terms(LAWS[weights], a, c, terms)
        count, bound = inversion.fill_nodes(LAWS[weights], terms, n, c, h, deviation, nodes)
        t = h * np.arange(1, 401)
        z = c + 1j * t
        ratio = np.array([TRANSFORMS[weights](one, a) for one in z]) / TRANSFORMS[weights](c, a)
        expected = 2 * ratio * np.exp(-1j * t * origin + (z**2 - c**2) * deviation**2 / 2) / z
        is_in = np.isin(t, nodes[0, :count])
        assert is_in.sum() == count
        np.testing.assert_allclose(nodes[1, :count] + 1j * nodes[2, :count], expected[is_in], rtol=1e-7, atol=1e-12 / c)
        assert np.abs(expected[~is_in]).sum() <= bound * (1 + 1e-9)
        assert np.abs(expected[~is_in]).max(initial=0.0) <= inversion.TINY / c * (1 + 1e-9)


def test_upward_reaches_the_bounds_that_prove_something():
    sample = np.random.default_rng(9).choice([0.0, 1.0, 2.5], size=80)
    plain, upward = (quantiles(sample, 0.01, method="inversion", upward=flag).values for flag in (False, True))
    assert plain < upward < 1.006 * plain

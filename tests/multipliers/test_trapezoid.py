"""The trapezoid rule: products of two-point factors, turned from node to node, and what is left out."""

import cmath
import math

import numpy as np
import pytest
from scipy.integrate import quad

from bandstrap.multipliers.trapezoid import (
    CHANCE,
    SPEED,
    STEP_SINE,
    beyond_last,
    power,
    spread_order,
    start_turns,
    tilted_chance,
    turn,
    two_point_product,
)


def some_terms(n, seed=0):
    rng = np.random.default_rng(seed)
    terms = np.zeros((STEP_SINE + 1, n))
    terms[CHANCE], terms[SPEED] = rng.random(n), rng.normal(size=n)
    return terms, rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 64, 100])
def test_powers_are_those_of_complex_numbers(count):
    z = complex(0.6, -0.7)
    assert complex(*power(z.real, z.imag, float(count))) == pytest.approx(z**count, rel=1e-13)


@pytest.mark.parametrize("turned", [0, 3, 9])
def test_products_are_those_of_complex_numbers_at_every_node(turned):
    terms, counts = some_terms(9)
    h, first = 0.37, 4
    start_turns(terms, h, first, turned)
    for j in range(first, 40):
        t = h * j
        expected = 0.5j
        for p, v, count in zip(terms[CHANCE], terms[SPEED], counts, strict=True):
            expected *= (1 - p + p * cmath.exp(1j * t * v)) ** count
        *found, multiplied = two_point_product(0.0, 0.5, terms, counts, t, 0.0, turned, turned)
        assert complex(*found) == pytest.approx(expected, rel=1e-11)
        assert multiplied == 9
        turn(terms, turned)


def test_a_tiny_product_is_left_alone_after_those_that_are_sure():
    terms, counts = some_terms(9)
    terms[CHANCE, 3], terms[SPEED, 3], counts[3] = 0.5, math.pi, 1.0  # 1 - p + p exp(i v t) is 0 at t = 1
    assert two_point_product(1.0, 0.0, terms, counts, 1.0, 1e-6, 0, 1)[2] == 4
    assert two_point_product(1.0, 0.0, terms, counts, 1.0, 1e-6, 0, 7)[2] == 7
    assert two_point_product(1.0, 0.0, terms, counts, 1.0, 2.0, 0, 2)[2] == 2


@pytest.mark.parametrize("odds", [0.4, 1.0, 3.0])
def test_tilting_multiplies_odds(odds):
    for v in (-800.0, -3.0, 0.0, 1e-9, 2.0, 800.0):
        exact = 1.0 if v > 700 else odds * math.exp(v) / (1 + odds * math.exp(v))
        assert tilted_chance(odds, v, math.exp(-abs(v))) == pytest.approx(exact, rel=1e-14)


@pytest.mark.parametrize(("h", "last", "deviation"), [(0.5, 9, 1.0), (0.01, 45_000, 0.01), (2.0, 3, 0.7)])
def test_nodes_beyond_the_last_add_up_to_less_than_the_bound(h, last, deviation):
    # At most 2 exp(-d^2 t^2/2)/t each, and their sum times h at most the integral from the last on.
    nodes = h * np.arange(last + 1, last + 200_000)
    left_out = (2 * np.exp(-0.5 * (deviation * nodes) ** 2) / nodes).sum()
    integral = quad(lambda t: 2 * math.exp(-0.5 * (deviation * t) ** 2) / t, h * last, math.inf)[0] / h
    assert 0 < left_out <= integral <= beyond_last(h, last, deviation)


@pytest.mark.parametrize("n", [1, 2, 7, 30, 1000])
def test_the_spread_order_visits_all_places_and_its_first_ones_are_apart(n):
    order = spread_order(n)
    assert sorted(order.tolist()) == list(range(n))
    first = np.sort(order[: min(n, 8)])
    assert n < 8 or np.diff(first).min() >= n // 16

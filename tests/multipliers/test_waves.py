"""Sums of signs as waves against fine grids."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap.multipliers.normal import normal_quantile
from bandstrap.multipliers.waves import MOST_TERMS, MOST_WAVES, fit_waves, wave_quantile, wave_tail
from naive import sums_of_signs as naive

LEVELS = [0.3, 0.05, 1e-3, 1e-5]


def fitted(terms, rest=(0.0, 0.0, 0.0), counts=None, total=None):
    """Waves, their number, ``H`` and the variance of the blur."""
    waves = np.zeros(MOST_WAVES)
    row = np.zeros(MOST_TERMS)
    row[: len(terms)] = terms
    times = np.ones(MOST_TERMS) if counts is None else np.append(counts, np.zeros(MOST_TERMS - len(terms)))
    most = np.abs(terms).sum() if total is None else total
    half, n_waves, blur = fit_waves(row, times, len(terms), rest, most, np.zeros((3, MOST_TERMS)), waves)
    return waves, int(n_waves), half, blur


@pytest.mark.parametrize("n", [22, 24])
def test_quantiles_of_terms_are_those_of_a_fine_grid(n):
    sample = np.random.default_rng(n).normal(size=n)
    terms = (sample - sample.mean()) / n
    waves, n_waves, half, blur = fitted(terms)
    scale = math.sqrt((terms**2).sum())
    found = [
        wave_quantile(waves, n_waves, half, scale, level) * scale / math.hypot(scale, blur**0.5) for level in LEVELS
    ]
    assert found == pytest.approx(naive.grid_quantiles(sample, LEVELS), rel=6e-3)


def test_small_terms_may_go_in_by_their_power_sums():
    sample = np.sort(np.random.default_rng(0).standard_t(3, 300))
    terms = (sample - sample.mean()) / 300
    inner = terms[12:-12]
    rest = tuple(float((inner**k).sum()) for k in (2, 4, 6))
    waves, n_waves, half, blur = fitted(np.append(terms[:12], terms[-12:]), rest, total=np.abs(terms).sum())
    assert blur == 0.0
    found = [wave_quantile(waves, n_waves, half, 1.0, level) for level in LEVELS]
    assert found == pytest.approx(naive.grid_quantiles(sample, LEVELS), rel=2e-3)


def test_equal_terms_may_be_counted():
    terms = np.array([0.1, 0.25, 0.3])
    apart = np.repeat(terms, [9, 4, 7])
    one = fitted(terms, counts=[9.0, 4.0, 7.0], total=apart.sum())
    # Waves of terms apart may end early; those of counted terms do not, and are blurred then.
    other = fitted(apart)
    n_waves = min(one[1], other[1])
    assert one[2] == other[2]
    blur = math.pi**2 / one[2] ** 2 * (one[3] - other[3]) / 2
    expected = other[0][:n_waves] * np.exp(-blur * np.arange(1, n_waves + 1) ** 2)
    assert one[0][:n_waves] == pytest.approx(expected, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0.01, 1.0), min_size=13, max_size=MOST_TERMS), st.floats(0.0, 0.9))
def test_the_density_is_the_fall_of_the_tail_and_has_its_slope(terms, place):
    waves, n_waves, half, _ = fitted(np.array(terms))
    x = place * half
    step = 1e-6 * half
    here, there = (wave_tail(waves, n_waves, half, at) for at in (x, x + step))
    _, density, slope = wave_tail(waves, n_waves, half, x + step / 2)
    assert (here[0] - there[0]) / step == pytest.approx(density, abs=1e-3 / half)
    assert (there[1] - here[1]) / step == pytest.approx(slope, abs=0.1 / half**2)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0.01, 1.0), min_size=13, max_size=MOST_TERMS), st.floats(1e-6, 0.49), st.floats(0, 3))
def test_a_quantile_has_its_tail_whatever_the_start(terms, level, start):
    waves, n_waves, half, _ = fitted(np.array(terms))
    x = wave_quantile(waves, n_waves, half, start, level)
    assert wave_tail(waves, n_waves, half, x)[0] == pytest.approx(level, rel=4e-3, abs=1e-8)
    # Near the middle the last step leaves a hundred-thousandth, far below what the series itself is off.
    usual = wave_quantile(waves, n_waves, half, normal_quantile(level), level)
    assert x == pytest.approx(usual, rel=1e-4, abs=1e-7 * half)

"""Weights, pieces of the line and hashes of live decisions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bandstrap.live.weights import (
    WHOLE,
    ShareRule,
    cut,
    decision_id,
    encoded,
    hash_53,
    is_held_out,
    keyed_generator,
    mixed,
    shares,
)
from naive.live import naive_arm, naive_shares

number = st.floats(0, 1, allow_subnormal=False)
some_weights = st.lists(number, min_size=1, max_size=6).filter(lambda values: sum(values) > 0)


@st.composite
def situations(draw):
    """A rule, rewards of arms, and what a policy would answer."""
    share = draw(st.floats(0.01, 1))
    floor = draw(st.floats(0, min(share, 0.999)))
    rule = ShareRule(floor, draw(st.integers(0, 5)), share, draw(st.integers(0, 3)))
    rewards = draw(st.lists(st.integers(0, 8), min_size=1, max_size=6))
    wishes = draw(st.lists(st.integers(0, 20), min_size=len(rewards), max_size=len(rewards)))

    def ask(arms):
        total = sum(wishes[arm] for arm in arms)
        return [wishes[arm] / total if total else 1 / len(arms) for arm in arms]

    return rule, rewards, ask


@given(situations())
def test_shares_are_those_of_the_steps_in_fractions(situation):
    rule, rewards, ask = situation
    found = shares(rule, range(len(rewards)), rewards, ask)
    assert found == pytest.approx([float(share) for share in naive_shares(*rule, rewards, ask)], abs=1e-12)


@given(situations())
def test_floor_and_cap_hold_to_the_last_bits_of_the_propensity(situation):
    rule, rewards, ask = situation
    widths = cut(shares(rule, range(len(rewards)), rewards, ask)).widths
    n_arms = len(rewards)
    is_old = [n >= max(rule.burn_in, rule.n_initial, 1) for n in rewards]
    assert sum(map(Fraction, widths)) == 1
    for width, old in zip(widths, is_old, strict=True):
        if any(is_old):
            assert width >= rule.floor / n_arms - 4 / WHOLE
        if any(is_old) and not old:
            assert width <= min(rule.new_arm_share, 1 / n_arms) + 4 / WHOLE


def test_a_policy_is_asked_about_no_arm_that_it_cannot_score():
    asked = []

    def ask(arms):
        asked.append(list(arms))
        return [1 / len(arms)] * len(arms)

    shares(ShareRule(0.0, 5, 0.1, 2), [3, 4, 7, 9], [9, 1, 3, 0], ask)
    assert asked == [[3, 7], [3]]


def test_established_arms_share_what_new_ones_leave():
    found = shares(ShareRule(0.0, 20, 0.1, 1), [0, 1, 2], [50, 30, 0], lambda arms: [0.75, 0.25])
    assert found == pytest.approx([0.675, 0.225, 0.1])


@given(some_weights, st.lists(st.integers(0, WHOLE - 1), min_size=1, max_size=20))
def test_inverse_distribution_function_is_that_of_the_loop(weights, points):
    chances = cut(weights)
    widths = chances.widths
    assert sum(map(Fraction, widths)) == 1
    edges = [point for end in chances.ends for point in (end - 1, end) if 0 <= point < WHOLE]
    for point in [0, WHOLE - 1, *points, *edges]:
        assert chances.at(point) == naive_arm(widths, Fraction(point, WHOLE))


@given(some_weights)
def test_widths_are_the_weights_up_to_rounding(weights):
    total = sum(weights)
    assert cut(weights).widths == pytest.approx([weight / total for weight in weights], abs=1e-15)


def test_an_arm_of_weight_zero_is_never_hit():
    chances = cut([0.0, 0.3, 0.0, 0.7, 0.0])
    assert [width > 0 for width in chances.widths] == [False, True, False, True, False]
    assert {chances.at(0), chances.at(WHOLE - 1), chances.at(chances.ends[1] - 1), chances.at(chances.ends[1])} == {
        1,
        3,
    }


def test_actions_are_mixed_with_the_floor():
    assert mixed(0.1, [1.0, 0.0]) == pytest.approx([0.95, 0.05])


@given(
    st.lists(st.text(max_size=4) | st.integers(), max_size=4), st.lists(st.text(max_size=4) | st.integers(), max_size=4)
)
def test_different_parts_are_encoded_differently(one, other):
    assert (encoded(*one) == encoded(*other)) == (one == other)


def test_hashes_are_uniform():
    """Kolmogorov-Smirnov on 20,000 hashes, and counts in 64 cells: each rejects the uniform law with chance 1e-6."""
    points = np.array([hash_53(7, "checkout", f"u{i}") for i in range(20_000)]) / WHOLE
    assert stats.kstest(points, "uniform").pvalue > 1e-6
    assert stats.chisquare(np.bincount((points * 64).astype(int), minlength=64)).pvalue > 1e-6


def test_hashes_and_generators_do_not_change():
    """Stored experiments depend on these numbers."""
    assert hash_53(7, "checkout", "u17") == 4899089533246048
    assert decision_id("checkout", "u17") == "a6b9d79dd458dc9e3b555c6ec15090df"
    assert keyed_generator(7, "learn", 3).integers(2**63) == 1017265476583751804


def test_each_purpose_has_a_generator_of_its_own():
    keys = [(7, "start", 0), (7, "learn", 1), (7, "learn", 2), (7, "weights", 1), (8, "learn", 1)]
    assert len({int(keyed_generator(*key).integers(2**63)) for key in keys}) == len(keys)


def test_first_draws_of_generators_with_neighbouring_keys_are_independent():
    """Uniform, and without correlation between neighbours: each check rejects good generators with chance 1e-6."""
    draws = np.array([keyed_generator(7, "learn", i).random(2) for i in range(20_000)])
    for one in draws.T:
        assert stats.kstest(one, "uniform").pvalue > 1e-6
        assert abs(np.corrcoef(one[1:], one[:-1])[0, 1]) < 4.9 / 20_000**0.5
    assert abs(np.corrcoef(*draws.T)[0, 1]) < 4.9 / 20_000**0.5


def test_a_larger_holdout_contains_a_smaller_one():
    units = [f"u{i}" for i in range(2000)]
    small, large = ({unit for unit in units if is_held_out(7, "checkout", unit, share)} for share in (0.05, 0.2))
    assert small < large
    assert not any(is_held_out(7, "checkout", unit, 0.0) for unit in units)
    assert abs(len(large) - 400) < 5 * (2000 * 0.2 * 0.8) ** 0.5

"""What indices without parameters have in common: units, names and late rewards do not matter; all arms have turns."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap.engine.simulator.play import play
from bandstrap.policies import BootstrappedUCBPlus, EdgeworthUCB, SignFlipUCB, StudentizedUCB, SubsampleDuels
from naive import studentized as naive
from policies.learning import choices_on, indices_of
from sampling import each

INDICES = {"studentized": (StudentizedUCB, naive.studentized_index), "edgeworth": (EdgeworthUCB, naive.edgeworth_index)}
every_index = pytest.mark.parametrize(("kind", "formula"), INDICES.values(), ids=INDICES)

LAWS = {
    "normal": lambda rng, size: rng.normal(size=size),
    "exponential": lambda rng, size: rng.exponential(size=size),
    "t": lambda rng, size: rng.standard_t(3, size=size),
    "coins": lambda rng, size: rng.integers(0, 2, size=size) * 1.0,
}


SAMPLES = (
    st.lists(st.floats(-5, 5, width=32), min_size=2, max_size=12)
    | st.lists(st.sampled_from([0.0, 1.0]), min_size=2, max_size=40)
    | st.lists(st.sampled_from([0.0, 0.0, 0.0, 0.1, 0.5, 9.0]), min_size=2, max_size=30)
    | st.builds(lambda value, n: [value] * n, st.sampled_from([0.0, 1.0, 0.1]), st.integers(2, 30))
    | st.builds(
        lambda seed, n: np.random.default_rng(seed).lognormal(0, 2, n).tolist(), st.integers(0, 99), st.integers(2, 50)
    )
)


@every_index
@settings(max_examples=60, deadline=None)
@given(
    st.lists(SAMPLES, min_size=1, max_size=5) | st.lists(SAMPLES, min_size=20, max_size=30),
    st.sampled_from([1.0, 3.7, 1e-140, 1e140]),
    st.integers(0, 9),
)
def test_the_docstring_suffices(kind, formula, samples, scale, seed):
    # The twin has nothing but the docstring. Rewards come late: all arms were handed out before the first one came, and
    # they come in an order of their own.
    samples = [[scale * reward for reward in sample] for sample in samples]
    policy = kind(arms=len(samples), rng=0)
    for _ in range(7):
        policy.select()
    rewards = [(arm, reward) for arm, sample in enumerate(samples) for reward in sample]
    np.random.default_rng(seed).shuffle(rewards := np.array(rewards))
    policy.update([int(arm) for arm in rewards[:, 0]], rewards[:, 1].tolist())
    t = len(rewards) + 1
    size = max(max(map(abs, sample)) for sample in samples)
    for arm, row in enumerate(policy.table()):
        assert row.index == pytest.approx(formula(samples, arm, t), rel=1e-9, abs=1e-9 * size)


def assert_formula(kind, formula, samples, t):
    """All indices are those of the formula."""
    expected = [formula(samples, arm, t) for arm in range(len(samples))]
    assert indices_of(kind(), samples, t) == pytest.approx(expected, rel=1e-9)


@every_index
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    ("scale", "shift"),
    [(1.0, 1e6), (1.0, -1e9), (2.0**-40, 1.0), (3.7, 0.0), (1e-300, 0.0), (1e300, 0.0)]
    + [(2.0**exponent, 0.0) for exponent in (-1000, -40, 40, 490, 990)],
)
def test_choices_do_not_change_with_scale_and_shift(kind, formula, law, scale, shift):
    # Rewards are multiples of 2^-10: shifted by 1e9, or in small units by 1, they lose no bit. Sixth powers are far from
    # doubles.
    draws = LAWS[law](np.random.default_rng(2), (4, 500)) + np.array([[0.0], [0.3], [0.5], [0.2]])
    tape = np.round(draws * 2**10) / 2**10
    assert choices_on(kind(), tape).tolist() == choices_on(kind(), shift + scale * tape).tolist()


@each("kind", [EdgeworthUCB, StudentizedUCB, SignFlipUCB, BootstrappedUCBPlus, SubsampleDuels])
@each("values", [(0.0, 1.0), (-1.0, 0.0, 0.3)], ids=str)
def test_a_power_of_two_changes_no_choice_and_another_number_may_break_ties(kind, values):
    tape = np.random.default_rng(0).choice(values, size=(4, 300))
    choices = choices_on(kind(), tape).tolist()
    assert all(choices == choices_on(kind(), factor * tape).tolist() for factor in (2.0, 2.0**-30, 2.0**400))
    if kind is EdgeworthUCB and values == (0.0, 1.0):
        assert choices != choices_on(kind(), 3.7 * tape).tolist()


@every_index
def test_rewards_of_different_sizes_are_in_different_units_and_comparable(kind, formula):
    # An arm near 1e-40 and one near 1e40, which have different units: the second is better, and its spread decides.
    rng = np.random.default_rng(0)
    tape = np.stack([1e-40 * rng.normal(size=400), 1e40 * rng.normal(1.0, 1.0, 400), rng.normal(size=400)])
    choices = choices_on(kind(), tape)
    assert choices.tolist() == choices_on(kind(), tape, by=play).tolist()
    assert np.bincount(choices, minlength=3)[1] > 350
    assert_formula(kind, formula, [tape[0, :6], tape[1, :30], tape[2, :9]], 50)


@every_index
@pytest.mark.parametrize("seed", range(3))
def test_relabelling_arms_relabels_choices(kind, formula, seed):
    tape = np.random.default_rng(seed).exponential(size=(4, 400))
    perm = np.random.default_rng(seed + 10).permutation(4)
    order = np.array([2, 0, 3, 1])
    choices = choices_on(kind(), tape, order=order)[8:]
    relabelled = choices_on(kind(), np.ascontiguousarray(tape[perm]), order=np.argsort(perm)[order])[8:]
    assert perm[relabelled].tolist() == choices.tolist()


@every_index
def test_an_arm_with_one_late_reward_has_no_variance_of_its_own(kind, formula):
    policy = kind(arms=3, rng=0)
    for _ in range(10):  # nothing comes back
        policy.select()
    policy.update([0, 0, 1, 2], [0.25, 0.5, 0.0, 1.0])
    assert policy.select() in (0, 1, 2)
    assert_formula(kind, formula, [[0.25, 0.5], [0.0], [1.0]], 5)
    policy.update([2] * 50, [1.0, 0.9] * 25)
    assert policy.select() in (0, 1, 2)


@every_index
def test_arms_that_never_differ_are_told_apart_by_the_range_of_means(kind, formula):
    for scale in (1e-300, 1.0, 1e300):
        tape = scale * np.repeat([[0.0], [1.0], [0.5]], 300, axis=1)
        counts = np.bincount(choices_on(kind(), tape), minlength=3)
        assert counts[1] > 270
        assert (counts >= 3).all()


@every_index
def test_the_form_that_is_not_drawn_draws_nothing(kind, formula):
    policy = kind(arms=3, rng=0)
    policy.update([0, 1, 2] * 4, np.random.default_rng(0).random(12))
    before = policy.rng.bit_generator.state
    assert len({policy.select() for _ in range(20)}) == 1
    assert policy.rng.bit_generator.state == before


@every_index
def test_an_arm_short_of_pulls_comes_first(kind, formula):
    few = [[0.1, 0.2], [5.0, 5.1, 5.3, 5.2, 5.0]]
    assert [math.isinf(value) for value in indices_of(kind(), few, 10_000)] == [True, False]
    assert not any(map(math.isinf, indices_of(kind(exploration=0.0), few, 10_000)))
    tape = np.stack([np.full(10_000, 1.0), np.zeros(10_000)]) + 0.01 * np.random.default_rng(0).normal(size=(2, 10_000))
    assert np.bincount(choices_on(kind(), tape))[1] >= 0.25 * math.log(10_000)


@every_index
def test_while_all_rewards_are_equal_arms_take_turns(kind, formula):
    # The arm that is first in the order must not wait for a reward that never comes.
    for value in (0.0, 1.0, -1e300, 1e-300):
        assert np.bincount(choices_on(kind(), np.full((4, 100), value)), minlength=4).tolist() == [25] * 4
    tape = np.zeros((3, 400))
    tape[2] = np.random.default_rng(0).binomial(1, 0.1, 400)
    assert np.bincount(choices_on(kind(), tape, order=[0, 1, 2]))[2] > 200

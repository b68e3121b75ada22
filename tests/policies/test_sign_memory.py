"""The memory for random signs against all rewards."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from bandstrap.policies.states.quantile_memory import arm_mean
from bandstrap.policies.states.sign_memory import (
    ENDS,
    FLATNESS,
    KIND,
    MOST_TERMS,
    MOST_VALUES,
    N_POWERS,
    SMALL_FOURTH,
    SMALL_SIXTH,
    SMOOTH,
    add_reward,
    arm_squares,
    law_quantile,
    new_sign_memory,
    rest_powers,
)
from naive import sums_of_signs as naive


def remembered(rewards):
    memory, pulls = new_sign_memory(2), np.zeros(2, dtype=np.int64)
    for reward in rewards:
        add_reward(pulls, memory, 1, float(reward))
    return memory, pulls


rewards = st.lists(st.one_of(st.floats(-5, 5), st.sampled_from([0.0, 1.0])), min_size=1, max_size=120)


@settings(max_examples=60, deadline=None)
@given(rewards)
def test_ends_and_power_sums_are_those_of_all_rewards(rewards):
    memory, pulls = remembered(rewards)
    n = len(rewards)
    assert pulls.tolist() == [0, n]
    ordered = np.sort(rewards)
    kept = ordered if n <= MOST_TERMS else np.append(ordered[:ENDS], ordered[-ENDS:])
    assert memory.ends[1][: kept.size].tolist() == kept.tolist()
    mean = arm_mean(pulls, memory, 1)
    assert mean == pytest.approx(np.mean(rewards), abs=1e-12)
    inner = ordered[ENDS:-ENDS] - mean if n > MOST_TERMS else np.zeros(0)
    found = rest_powers(memory.rests[1], n - MOST_TERMS, mean)
    assert found == pytest.approx([float((inner**k).sum()) for k in (2, 4, 6)], rel=1e-6, abs=1e-9)
    if n > MOST_TERMS:
        sums = [float(((ordered - memory.rests[1][0]) ** k).sum()) for k in range(1, N_POWERS + 1)]
        assert memory.rests[1][1 + N_POWERS :] == pytest.approx(sums, rel=1e-6, abs=1e-9)
    squares = float(((ordered - np.mean(rewards)) ** 2).sum())
    assert arm_squares(memory, 1, n, mean) == pytest.approx(squares, rel=1e-9, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 7.0, -1.0]), max_size=60))
def test_few_values_are_counted(rewards):
    row = remembered(rewards)[0].values[1]
    values, counts = np.unique(rewards, return_counts=True)
    if values.size > MOST_VALUES:
        assert row[0] == MOST_VALUES + 1
    else:
        known = int(row[0])
        found = dict(zip(row[1 : 1 + known], row[1 + MOST_VALUES : 1 + MOST_VALUES + known], strict=True))
        assert found == dict(zip(values, counts, strict=True))


@settings(max_examples=80, deadline=None)
@given(
    st.integers(MOST_TERMS + 1, 200),
    st.integers(0, 2**32 - 1),
    st.sampled_from([1.0, 3.0, 10.0]),
    st.sampled_from([1.0, 1e-30, 1e30, 1e-80]),
    st.floats(-100, 100),
    st.floats(1e-5, 0.9),
)
def test_a_law_is_smooth_where_its_cumulants_are_small_and_then_the_expansion_of_all_rewards(
    n, seed, freedom, unit, shift, level
):
    rewards = unit * (shift + np.random.default_rng(seed).standard_t(freedom, n))
    memory, pulls = remembered(rewards)
    found = law_quantile(memory, 1, n, arm_mean(pulls, memory, 1), level, stats.norm.isf(level))
    terms = (rewards - rewards.mean()) / np.ptp(rewards)
    deviation = np.sqrt((terms**2).sum())
    fourth, sixth = -2 * (terms**4).sum() / deviation**4, 16 * (terms**6).sum() / deviation**6
    most = SMALL_FOURTH if (terms**4).mean() > FLATNESS * (terms**2).mean() ** 2 else SMALL_FOURTH / 2
    if unit > 1e-80:  # of which the sixth power is no float
        assume(min(abs(-fourth / most - 1), abs(sixth / SMALL_SIXTH - 1)) > 1e-6)
        assume(abs((terms**4).mean() / (terms**2).mean() ** 2 / FLATNESS - 1) > 1e-6)
        assert (memory.laws[1][KIND] == SMOOTH) == (-fourth < most and sixth < SMALL_SIXTH)
    if memory.laws[1][KIND] == SMOOTH:
        eighth = 1.2 * -272 * (terms**6).sum() ** 2 / (terms**4).sum() / deviation**8
        expanded = naive.cornish_fisher(fourth, sixth, eighth, stats.norm.isf(level))
        assert found == pytest.approx(deviation / n * np.ptp(rewards) * expanded, rel=1e-6, abs=1e-12 * unit)


def test_an_outlier_that_comes_first_spoils_no_sum():
    inner = np.random.default_rng(0).normal(size=5000)
    memory, pulls = remembered(np.append(1e6, inner))
    right = float(((np.append(1e6, inner) - arm_mean(pulls, memory, 1)) ** 2).sum())
    assert arm_squares(memory, 1, 5001, arm_mean(pulls, memory, 1)) == pytest.approx(right, rel=1e-10)
    middle = np.sort(np.append(1e6, inner))[ENDS:-ENDS]
    assert memory.rests[1][2] == pytest.approx(((middle - memory.rests[1][0]) ** 2).sum(), rel=1e-9)

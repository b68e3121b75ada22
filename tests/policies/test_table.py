"""The table of a policy: pulls, means and indices as the user counts them, of every policy; nothing changes."""

import numpy as np
import pytest

from bandstrap import (
    OFUL,
    UCB1,
    BootstrappedUCB,
    EdgeworthUCB,
    LinearBootstrappedUCB,
    LinearTS,
    LinUCB,
    StudentizedUCB,
    UniformRandom,
)
from bandstrap.errors import InvalidInput
from bandstrap.policies import POLICIES
from contract import test_linear_policies as linear
from contract.test_policies import CASES, DETERMINISTIC, TELLING, every_case, every_form, make
from policies.learning import indices_of
from policies.own_policies import Sorted
from policies.test_available import game, known, told
from sampling import each, telling

ARMS = ["red", "green", "blue"]
ACTIONS = np.array([[1.0, 0.0], [0.8, 0.3], [0.1, 0.9]])


@every_form
def test_the_highest_index_is_selected_and_nothing_changes(case):
    policy = told(case, game())
    before = known(policy)
    table = policy.table()
    assert known(policy) == before
    assert [row.arm for row in table] == list(policy.arms)
    assert [row.pulls for row in table] == list(policy._state.pulls)
    assert not any(row.retired for row in table)
    rewards = {arm: [reward for other, reward in game() if other == arm] for arm in policy.arms}
    assert [row.mean for row in table] == pytest.approx([np.mean(rewards[arm]) for arm in policy.arms], rel=1e-14)
    indices = [row.index for row in table]
    if (
        policy.weights(2) in [{arm: float(arm == k) for arm in policy.arms} for k in policy.arms]
        and None not in indices
    ):
        assert max(indices) == indices[policy.select()]
    for row in table:
        if policy.indices_are_bounds and row.index is not None:
            assert row.index >= row.mean or case[0] == "robust_ucb"  # whose estimates are not means


@every_case
def test_there_is_an_index_unless_choices_are_drawn(case):
    policy = told(case, game())
    before = policy.rng.bit_generator.state
    policy.select()
    # Duels have none, nor has the increment of an arm that AIM compares with that of the leader.
    has_none = "contest" in policy._state._fields or case[0] == "aim"
    is_drawn = policy.rng.bit_generator.state != before
    assert {row.index is None for row in policy.table()} == {is_drawn or has_none}


def test_every_policy_says_whether_its_indices_are_bounds():
    """Of those whose choices are not drawn, one compares something else."""
    others = [case[0] for case in DETERMINISTIC if not POLICIES[case[0]].indices_are_bounds]
    assert set(others) == {"imed"}


@telling("case", [case for case in CASES if POLICIES[case[0]].indices_are_bounds], TELLING.__contains__, ids=str)
@pytest.mark.parametrize("compiled", [False, True])
def test_bounds_of_costs_are_lower_bounds(case, compiled):
    gains, costs = make(case, arms=3, rng=4), make(case, arms=3, rng=4, direction="min", compiled=compiled)
    low, high = gains.support
    shift = low + high if np.isfinite([low, high]).all() else 0.0
    for arm, reward in game(50, 3):
        for policy, value in ((gains, reward), (costs, shift - reward)):
            policy.rng = np.random.default_rng(1)
            policy.update(arm, value)
    table, mirrored = gains.table(), costs.table()
    assert (table.index_is, mirrored.index_is) == ("upper bound", "lower bound")
    for row, other in zip(table, mirrored, strict=True):
        assert other.mean == pytest.approx(shift - row.mean, rel=1e-12)
        if row.index is None:
            assert other.index is None
        else:
            assert other.index == pytest.approx(shift - row.index, rel=1e-12)


def test_indices_are_those_of_the_formulas():
    samples = [[0.5, 0.25, 0.75], [0.25, 0.25, 0.5, 0.0]]
    policy = UCB1(arms=["a", "b"], sigma=0.5, rng=0)
    policy.update(["a"] * 3 + ["b"] * 4, samples[0] + samples[1])
    expected = [np.mean(sample) + 0.5 * np.sqrt(2 * np.log(9) / len(sample)) for sample in samples]
    assert [row.index for row in policy.table()] == pytest.approx(expected, rel=1e-12)
    shifted = StudentizedUCB(arms=2, rng=0)
    shifted.update([0] * 3 + [1] * 4, [1e6 + reward for reward in samples[0] + samples[1]])
    expected = indices_of(StudentizedUCB(), [[1e6 + reward for reward in sample] for sample in samples], 8)
    assert [row.index for row in shifted.table()] == pytest.approx(expected, rel=1e-15)
    assert all(row.index > row.mean > 1e6 for row in shifted.table())


@pytest.mark.parametrize("quantile", ["exact", "streaming"])
def test_the_table_of_bootstrapped_ucb_agrees_with_its_bounds(quantile):
    policy = BootstrappedUCB(arms=3, quantile=quantile, sigma=0.5, rng=0, direction="min")
    policy.update([0, 1, 2] * 6, [0.25, 0.5, 0.75, 0.125, 0.625, 0.5] * 3)
    bounds = policy.bounds()
    for row in policy.table():
        assert row.index == pytest.approx(bounds[row.arm]["index"], rel=1e-14)
        assert row.mean == pytest.approx(bounds[row.arm]["mean"], rel=1e-14)
        assert row.index < row.mean


def test_who_looks_for_bounds_is_told_of_the_table():
    policy = UCB1(arms=2, rng=0)
    with pytest.raises(AttributeError, match=r"UCB1 has no bounds\(\): table\(\) shows .* index of each arm"):
        policy.bounds()
    assert not hasattr(policy, "bounds")
    assert hasattr(BootstrappedUCB(arms=2, rng=0), "bounds")


@each("compiled", [False, True], ids=["plain", "compiled"])
@each("direction", ["max", "min"])
@each("make", [EdgeworthUCB, StudentizedUCB])
def test_bounds_of_studentized_indices_are_those_of_the_next_choice(make, direction, compiled):
    policy = make(arms=ARMS, rng=0, direction=direction, compiled=compiled)
    rng = np.random.default_rng(1)
    for _ in range(30):
        policy.update(policy.select(), rng.gamma(2.0))
    before = known(policy)
    bounds = policy.bounds()
    assert known(policy) == before
    assert [(label, row["pulls"], row["mean"], row["index"]) for label, row in bounds.items()] == [
        (row.arm, row.pulls, row.mean, row.index) for row in policy.table()
    ]
    best = max if direction == "max" else min
    assert policy.select() == best(ARMS, key=lambda label: bounds[label]["index"])


@pytest.mark.parametrize("make", [EdgeworthUCB, StudentizedUCB])
def test_bounds_of_drawn_levels_are_those_of_the_next_choice(make):
    policy = make(arms=ARMS, rng=0, randomized=True)
    rng, chosen = np.random.default_rng(1), set()
    for _ in range(60):
        bounds = policy.bounds()
        arm = policy.select()
        if all(row["pulls"] >= 2 for row in bounds.values()):
            assert arm == max(ARMS, key=lambda label: bounds[label]["index"])
            chosen.add(arm)
        policy.update(arm, rng.normal())
    assert len(chosen) > 1


def test_bounds_of_arms_that_lack_rewards_are_infinite_and_of_retired_ones_no_number():
    policy = EdgeworthUCB(arms=["red", "green", "blue"], rng=0, direction="min")
    policy.update(["red", "green"] * 3, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    policy.retire("green")
    bounds = policy.bounds()
    assert bounds["red"]["index"] < bounds["red"]["mean"] == pytest.approx(0.3)
    assert np.isnan(bounds["green"]["index"])
    assert (bounds["blue"]["pulls"], bounds["blue"]["index"]) == (0, -np.inf)
    with pytest.raises(InvalidInput, match="'arms' parameter of EdgeworthUCB must be given to call bounds"):
        EdgeworthUCB().bounds()


def test_arms_without_rewards_and_retired_ones_have_no_index():
    policy = UCB1(arms=["red", "green", "blue"], rng=0)
    assert [(row.pulls, row.mean, row.index) for row in policy.table()] == [(0, None, None)] * 3
    policy.update(["red", "green", "green"], [0.25, 0.5, 0.75])
    policy.retire("red")
    policy.add_arm("new")
    rows = {row.arm: row for row in policy.table()}
    assert [row.retired for row in rows.values()] == [True, False, False, False]
    assert (rows["red"].mean, rows["red"].index) == (0.25, None)
    assert rows["green"].index > rows["green"].mean == 0.625
    assert rows["blue"].index is rows["new"].mean is None
    policy.update("red", 0.75)  # late
    assert policy.table()[0].mean == 0.5


def test_a_table_is_read_at_a_glance():
    policy = UniformRandom(arms=["a\nb", ("x", 1), None], rng=0)
    policy.update([("x", 1), None], [0.5, 1e-9])
    policy.retire(None)
    lines = [
        "     arm  pulls   mean  retired",
        r"    a\nb      0                ",
        "('x', 1)      1    0.5         ",
        "    None      1  1e-09      yes",
    ]
    assert repr(policy.table()) == "\n".join(lines)
    assert policy.table() == list(policy.table())


def test_of_ones_own_policy_there_is_a_table_too():
    policy = Sorted(arms=2, rng=0)
    policy.update([0, 1, 1], [0.5, 0.25, 0.5])
    assert [(row.pulls, row.mean, row.index) for row in policy.table()] == [(1, 0.5, None), (2, 0.375, None)]
    assert policy.table().index_is == "index"


def test_without_arms_there_is_no_table():
    with pytest.raises(InvalidInput, match=r"given to call table\(\)"):
        UCB1().table()


# --- actions --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", [False, True])
@linear.every_case
def test_the_table_of_actions_has_what_a_choice_compares(case, compiled):
    policy = linear.make(case, rng=3, compiled=compiled)
    assert [row.estimate for row in policy.table(ACTIONS)] == [0.0, 0.0, 0.0]
    assert policy.dimension is None
    rng = np.random.default_rng(1)
    features = ACTIONS[rng.integers(3, size=20)]
    rewards = features @ [0.5, 0.25] + 0.1 * rng.normal(size=20)
    policy.update(features, rewards)
    before = policy.to_dict()
    table = policy.table(ACTIONS)
    assert policy.to_dict() == before
    ridge = getattr(policy, "ridge", 1.0)
    theta = np.linalg.solve(features.T @ features + ridge * np.eye(2), features.T @ rewards)
    assert [row.estimate for row in table] == pytest.approx(ACTIONS @ theta, rel=1e-10)
    if table[0].index is None:
        assert case[0] in ("linear_ts", "linear_phe", "linear_reboot") or case == ("linear_bootstrapped_ucb", {})
    else:
        indices = [row.index for row in table]
        assert int(np.argmax(indices)) == policy.select(ACTIONS)
        assert all(row.index > row.estimate for row in table)


def test_bounds_of_the_costs_of_actions_are_lower_bounds():
    gains, costs = LinUCB(width=0.5), LinUCB(width=0.5, direction="min")
    gains.update(ACTIONS, [0.5, 0.25, 1.0])
    costs.update(ACTIONS, [-0.5, -0.25, -1.0])
    for row, other in zip(gains.table(ACTIONS), costs.table(ACTIONS), strict=True):
        assert (other.estimate, other.index) == (-row.estimate, -row.index)
    assert costs.table(ACTIONS).index_is == "lower bound"


def test_actions_at_random_have_no_index():
    policy = OFUL(random_rounds=1)
    assert [row.index for row in policy.table(ACTIONS)] == [None] * 3
    policy.update(ACTIONS[0], 0.5)
    assert None not in [row.index for row in policy.table(ACTIONS)]
    assert LinearTS().table(ACTIONS)[0].index is None
    assert LinearBootstrappedUCB().table(ACTIONS)[0].index is None

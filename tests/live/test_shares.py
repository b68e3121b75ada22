"""Rewards that are lost or late freeze nothing, and a new arm never takes more than its share."""

import numpy as np
import pytest

from live.checkout import ARMS, make

# What rounding a sum of weights to pieces of the line may add.
ROUNDING = 2.0**-50


@pytest.mark.filterwarnings("ignore::bandstrap.errors.SlowWarning")  # of those that keep their rewards
@pytest.mark.parametrize(
    "policy", ["ucb1", "bootstrapped_ucb_plus", "gaussian_ts", "subsample_duels", "rds", "chk_ucb"]
)
def test_an_arm_whose_rewards_are_lost_does_not_hold_up_the_others(tmp_path, policy):
    experiment = make(tmp_path / "a.db", policy=policy, draws=50, burn_in=10)
    rng = np.random.default_rng(1)
    last = []
    for _ in range(30):
        decisions = experiment.decide_many([None] * 10)
        known = [d for d in decisions if d.arm != "blue"]
        experiment.reward_many([(d.id, float(rng.normal(1.0 if d.arm == "green" else 0.0, 0.1))) for d in known])
        last = decisions
    assert experiment.state.rewards[2] == 0
    assert last[-1].weights["blue"] == pytest.approx(0.1)
    assert last[-1].weights["green"] > 0.8
    assert experiment.replay().is_identical


def test_without_any_reward_all_arms_go_on(tmp_path):
    decisions = make(tmp_path / "a.db", burn_in=10).decide_many([None] * 300)
    assert all(abs(d.propensity - 1 / 3) < ROUNDING for d in decisions)
    assert min(sum(d.arm == arm for d in decisions) for arm in ARMS) > 60


def test_new_arms_stay_within_their_share_while_rewards_are_late(tmp_path):
    """Arms come one, then two at a time; rewards 150 decisions late, some never; some arms are not always available."""
    experiment = make(tmp_path / "a.db", policy="bootstrapped_ucb_plus", floor=0.03, burn_in=10)
    rng = np.random.default_rng(4)
    waiting, limited, served = [], 0, dict.fromkeys([*ARMS, "teal", "pink", "grey"], 0)
    for number in range(180):
        if number == 60:
            experiment.add_arm("teal")
        if number == 100:
            experiment.add_arm("pink")
            experiment.add_arm("grey")
        state = experiment.state
        available = None if rng.random() < 0.6 else [a for a in state.arms if a == "red" or rng.random() < 0.6]
        decisions = experiment.decide_many([None] * 10, available=available)
        rewards = dict(zip(state.arms, state.rewards, strict=True))
        weights = decisions[0].weights
        there = [arm for arm in state.arms if weights[arm] > 0]
        if any(rewards[arm] >= 10 for arm in there):
            for arm in there:
                assert weights[arm] >= 0.03 / len(there) - ROUNDING
                if rewards[arm] < 10:
                    limited += 1
                    assert weights[arm] <= min(0.1, 1 / len(there)) + ROUNDING
        waiting += decisions
        while len(waiting) > 150:
            decision = waiting.pop(int(rng.integers(100)))
            if rng.random() < 0.8:
                experiment.reward(decision.id, float(rng.normal(2.0 if decision.arm == "teal" else 0.0)))
        for decision in decisions:
            served[decision.arm] += 1
    assert limited > 60
    assert all(served.values())
    assert experiment.settings.burn_in < experiment.state.rewards[3]
    assert experiment.state.chances(experiment.state.active()).widths[3] > 0.5
    assert experiment.replay().is_identical


def test_nine_hundred_decisions_before_a_new_arms_first_reward(tmp_path):
    """A policy by itself would hand it out 900 times; its share here is a tenth: 90, give or take 5 times 9."""
    experiment = make(tmp_path / "a.db", burn_in=10)
    rng = np.random.default_rng(2)
    for _ in range(6):
        decisions = experiment.decide_many([None] * 10)
        experiment.reward_many([(d.id, float(rng.normal())) for d in decisions])
    experiment.add_arm("teal")
    decisions = [d for _ in range(9) for d in experiment.decide_many([None] * 100)]
    assert abs(sum(d.arm == "teal" for d in decisions) - 90) < 45

"""Choices by ceilings are those of all indices."""

import math

import numpy as np
import pytest
from scipy import stats

from bandstrap.multipliers.normal import rough_normal_quantile
from bandstrap.multipliers.order_statistic import level_of_sum
from bandstrap.policies import BootstrappedUCB, BootstrappedUCBPlus, bootstrapped_ucb_plus
from bandstrap.policies.kernels import bootstrap_index
from bandstrap.policies.states.ceilings import forget, leading, new_ceilings, put_ceiling, settle
from bandstrap.policies.states.sign_memory import COINS, KIND, law_quantile, main_bound
from sampling import telling

REWARDS = {
    "normal": lambda rng, arm: rng.normal(0.2 * arm),
    "0 or 1": lambda rng, arm: float(rng.random() < 0.3 + 0.1 * arm),
    "t(3)": lambda rng, arm: rng.standard_t(3) + 0.2 * arm,
    "equal": lambda rng, arm: 0.5,
    "three values": lambda rng, arm: float(rng.choice([0, 1, 2], p=[0.5 - 0.05 * arm, 0.3, 0.2 + 0.05 * arm])),
    "four values": lambda rng, arm: float(rng.integers(0, 4)) + 0.1 * arm,
    "clusters": lambda rng, arm: rng.choice([-1.0, 0.0, 1.0]) + 0.01 * rng.normal() + 0.1 * arm,
    "counts": lambda rng, arm: float(rng.poisson(2 + 0.2 * arm)),
}
N_ARMS = 4


def all_indices(policy, params, state, t, rng):
    """Every index of a round."""
    if isinstance(policy, BootstrappedUCBPlus):
        least = params.exploration * math.log(t)
        pooled = bootstrapped_ucb_plus.pooled_scale(params, state)
        score = bootstrapped_ucb_plus.score
        return [score(params, state, k, t, pooled) if state.pulls[k] >= least else math.inf for k in range(N_ARMS)]
    score = bootstrap_index.exact_score if policy.quantile == "exact" else bootstrap_index.streaming_score
    shared = bootstrap_index.prepare(params, state, t)
    return [score(params, state, k, shared, rng) for k in range(N_ARMS)]


BY_CEILINGS = pytest.mark.parametrize(
    "policy",
    [
        BootstrappedUCB(quantile="exact"),
        BootstrappedUCB(quantile="exact", correction="sharp"),
        BootstrappedUCB(quantile="exact", alpha=0.01),
        BootstrappedUCB(quantile="exact", alpha="1/(t log^tau t)"),
        BootstrappedUCB(quantile="streaming", n_resamples=30),
        BootstrappedUCB(quantile="streaming", n_resamples=30, interpolate=True),
        BootstrappedUCBPlus(),
        BootstrappedUCBPlus(sigma=1.0),
    ],
    ids=lambda policy: policy.label,
)


@BY_CEILINGS
@telling("rewards", REWARDS, ["normal", "three values"])
def test_the_arm_chosen_is_the_first_with_the_highest_index(policy, rewards):
    rng, luck = np.random.default_rng(1), np.random.default_rng(2)
    state = policy.start(N_ARMS, 0, rng)
    params = policy.make_params(None)
    order = state.order.tolist()
    for t in range(1, 161):
        arm = (t - 1) % N_ARMS
        if t > N_ARMS * policy.n_initial:
            arm = policy.kernel.choose(params, state, t, rng)
            indices = all_indices(policy, params, state, t, rng)
            assert arm == max(order, key=lambda k: (indices[k], -order.index(k)))
            assert arm == policy.kernel.choose(params, state, t, rng)
        policy.kernel.learn(params, state, arm, REWARDS[rewards](luck, arm), t, rng)


@BY_CEILINGS
@telling("rewards", ["normal", "0 or 1", "three values", "clusters"], ["0 or 1"])
def test_it_is_where_no_reward_comes_for_many_decisions_and_then_several_of_one_arm_or_of_more(policy, rewards):
    rng, luck = np.random.default_rng(1), np.random.default_rng(2)
    state, params = policy.start(N_ARMS, 0, rng), policy.make_params(None)
    order, owed, n_learned = state.order.tolist(), [*range(N_ARMS)] * policy.n_initial, 0
    for decision in range(200):
        if decision % 7 == 0:
            luck.shuffle(owed)
            late = owed if n_learned == 0 else [owed.pop() for _ in range(luck.integers(0, len(owed) + 1))]
            for arm in late:
                n_learned += 1
                policy.kernel.learn(params, state, arm, REWARDS[rewards](luck, arm), n_learned, rng)
            owed = [] if late is owed else owed
        arm = policy.kernel.choose(params, state, n_learned + 1, rng)
        indices = all_indices(policy, params, state, n_learned + 1, rng)
        assert arm == max(order, key=lambda k: (indices[k], -order.index(k)))
        owed += [arm] if decision % 3 else [int(luck.integers(N_ARMS))]
    assert n_learned > 100


@telling("rewards", ["normal", "0 or 1", "t(3)", "equal", "three values"], ["0 or 1"])
@pytest.mark.parametrize(
    "policy",
    [
        BootstrappedUCB(),
        BootstrappedUCB(n_resamples=500, correction="theorem"),
        BootstrappedUCB(interpolate=True),
        BootstrappedUCB(correction="sharp", phi="sub_weibull", constant=1.5),
        BootstrappedUCB(correction="none", alpha=0.01),
    ],
    ids=lambda policy: policy.label,
)
def test_drawn_levels_have_ceilings_that_hold_and_the_highest_index_is_chosen(policy, rewards):
    rng, luck = np.random.default_rng(1), np.random.default_rng(2)
    state, params = policy.start(N_ARMS, 0, rng), policy.make_params(None)
    order, n_settled = state.order.tolist(), 0
    for t in range(1, 121):
        arm = (t - 1) % N_ARMS
        if t > N_ARMS:
            arm = policy.kernel.choose(params, state, t, rng)
            shared = bootstrap_index.prepare(params, state, t)
            settled = state.ceilings.settled == t
            indices = [bootstrap_index.resampled_score_at(params, state, k, shared) for k in range(N_ARMS)]
            assert (state.ceilings.bounds >= indices).all()
            assert (state.ceilings.bounds == indices)[settled].all()
            assert arm == max(order, key=lambda k: (indices[k], -order.index(k)))
            n_settled += settled.sum()
        policy.kernel.learn(params, state, arm, REWARDS[rewards](luck, arm), t, rng)
    if (policy.correction, rewards) == ("practical", "normal"):
        assert n_settled < 0.7 * 116 * N_ARMS, "ceilings spare no work"


def test_a_level_that_rises_again_is_answered_with_its_own_indices():
    levels = [0.3, 0.01, 0.2, 0.001, 0.2, 0.3]
    policy = BootstrappedUCB(arms=N_ARMS, rng=0, quantile="exact", alpha=lambda t: levels[t % 6])
    luck = np.random.default_rng(3)
    for t in range(200):
        arm = policy.select()
        if t >= N_ARMS:
            table = policy.bounds()
            assert table[arm]["index"] == max(row["index"] for row in table.values())
        policy.update(arm, luck.normal())


@pytest.mark.parametrize("rewards", ["normal", "0 or 1", "t(3)"])
def test_a_quantile_does_not_exceed_its_cheap_bound(rewards):
    policy = BootstrappedUCB(quantile="resampled")
    params, rng = policy.make_params(None), np.random.default_rng(4)
    state = policy.start(1, 0, rng)
    for n in range(1, 120):
        policy.kernel.learn(params, state, 0, REWARDS[rewards](rng, 0), n, rng)
        mean = state.memory.shifts[0] + state.memory.sums[0] / n
        for total in (1.0, 0.3, 0.05, 0.02, 0.004, 1e-3, 1e-5):
            level = level_of_sum(total)
            quantile = law_quantile(state.memory, 0, n, mean, level, rough_normal_quantile(level))
            assert quantile <= main_bound(state.memory.laws, 0, total)


def test_a_ceiling_above_the_leader_is_not_put_and_the_next_one_is_nearer():
    ceilings, order = new_ceilings(2), np.arange(2)
    settle(ceilings, 0, 1.0, 5.0)
    settle(ceilings, 1, 0.8, 5.0)
    usual = ceilings.parts[1]
    put_ceiling(ceilings, 1, 1.1, 0.3, 9.0, 1.0)
    assert (ceilings.bounds[1], ceilings.until[1], ceilings.settled[1]) == (0.8, 5.0, 5.0)
    assert ceilings.parts[1] == usual / 2
    put_ceiling(ceilings, 1, 0.9, 0.3, 9.0, 1.0)
    assert ceilings.bounds[1] >= 0.9
    assert (ceilings.until[1], ceilings.parts[1]) == (9.0, usual)
    settle(ceilings, 0, 1.0, 9.0)
    assert leading(order, ceilings, 9.0) == 0
    forget(ceilings, 1, False)
    assert leading(order, ceilings, 9.0) == 1


def test_quantiles_of_two_values_do_not_depend_on_the_levels_asked_before():
    policy = BootstrappedUCB(quantile="exact")
    params, rng = policy.make_params(None), np.random.default_rng(5)
    rewards = [REWARDS["0 or 1"](rng, 1) for _ in range(60)]

    def learned():
        state = policy.start(1, 0, np.random.default_rng(0))
        for n, reward in enumerate(rewards):
            policy.kernel.learn(params, state, 0, reward, n + 1, rng)
        return state

    def quantile(state, level):
        return law_quantile(state.memory, 0, len(rewards), np.mean(rewards), level, stats.norm.isf(level))

    asked = learned()
    for level in np.ravel([[now, 0.6 * now, 1.0 - now, now] for now in np.geomspace(0.4, 1e-4, 12)]):
        assert quantile(asked, level) == quantile(learned(), level)
    assert asked.memory.laws[0][KIND] == COINS

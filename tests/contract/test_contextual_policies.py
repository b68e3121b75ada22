"""What every contextual policy keeps, over every entry of the registry and every model."""

import json
import math

import numpy as np
import pytest
from scipy.special import ndtr

import bandstrap
from bandstrap.engine.simulator.blocks import play_policy
from bandstrap.engine.simulator.feedback import Feedback
from bandstrap.engine.simulator.play import Game, play
from bandstrap.engine.simulator.tape import Tape
from bandstrap.environments import LinearContexts, Wheel
from bandstrap.errors import InvalidInput
from bandstrap.policies import CONTEXTUAL_POLICIES
from bandstrap.policies.contextual import probabilities
from bandstrap.policies.contextual.linear_ts import NormalLaws
from bandstrap.policies.contextual.probabilities import chances_of_highest
from bandstrap.policies.states.fields import as_lists
from naive.contexts import Oracle
from sampling import exhaustive, telling

FEATURES = ((0.5, 1.0), (1.0, -1.0), (0.0, 2.0))
MODELS = [("disjoint", None), ("shared", FEATURES), ("hybrid", None), ("hybrid", FEATURES)]
RANDOM = {
    "share_ucb": {"randomized": True},
    "contextual_epsilon_greedy": {},
    "contextual_linear_ts": {"sigma": 0.5},
    "rand_ucb": {"width": 20.0},
    "square_cb": {},
}
CASES = [(name, {}) for name in sorted(CONTEXTUAL_POLICIES)] + [("share_ucb", {"randomized": True})]
every_case = telling("case", CASES, [("share_ucb", {})].__contains__, ids=str)
NAMES = sorted(CONTEXTUAL_POLICIES)


def made(name, model="disjoint", features=None, contexts=4, arms=3, **options):
    return CONTEXTUAL_POLICIES[name](arms=arms, contexts=contexts, model=model, features=features, **options)


def visits(n, seed=0, n_arms=3):
    """Contexts on very different scales, one of them sometimes missing; and the rewards of all arms."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    means = x @ rng.normal(size=(4, n_arms)) * 0.4 + [0.0, 0.2, 0.4][:n_arms]
    rewards = means + rng.normal(size=(n, n_arms)) * [0.3, 1.0, 0.6][:n_arms]
    seen = x * [1, 1000, 0.01, 1] + [0, 5, 0, 100]
    seen[rng.random(n) < 0.1, 2] = np.nan
    return seen, rewards


def played(policy, n, seed=0, late=0):
    """Decisions and what was learned; rewards come ``late`` decisions later, with the contexts of their decisions."""
    seen, rewards = visits(n, seed)
    chosen, waiting = [], []
    for t in range(n):
        arm = policy.select(context=seen[t])
        chosen.append(arm)
        waiting.append((arm, float(rewards[t, arm]), seen[t]))
        if len(waiting) > late:
            arm, reward, context = waiting.pop(len(waiting) // 2 if late else 0)
            policy.update(arm, reward, context=context)
    return chosen


# --- the formulas -------------------------------------------------------------------------------------------------------


def compare_with_oracle(model, features, ridge, n, every):
    policies = {
        "share": made("share_ucb", model, features, ridge=ridge, rng=0),
        "lin": made("contextual_lin_ucb", model, features, ridge=ridge, width=0.7, rng=0),
        "oful": made("contextual_oful", model, features, ridge=ridge, sigma=0.6, theta_bound=0.3, delta=0.1, rng=0),
    }
    oracle = Oracle(3, 4, model, features, ridge)
    seen, rewards = visits(n, seed=4)
    rng = np.random.default_rng(5)
    worst = 0.0
    for t in range(n):
        arm = int(rng.integers(3)) if t % 2 else policies["share"].select(context=seen[t])
        for policy in policies.values():
            policy.update(arm, float(rewards[t, arm]), context=seen[t])
        oracle.add(seen[t], arm, float(rewards[t, arm]))
        if t > 2 and (t < 10 or t % every == 0 or t == n - 1):
            context = seen[rng.integers(n)]
            wanted = {
                "share": oracle.share_indices(context),
                "lin": oracle.lin_ucb_indices(context, 0.7),
                "oful": oracle.oful_indices(context, 0.6, 0.3, 0.1),
            }
            for name, policy in policies.items():
                got = np.array([row.index for row in policy.table(context=context)])
                worst = max(worst, float(np.abs(got - wanted[name]).max() / max(1.0, np.abs(wanted[name]).max())))
    return worst


@pytest.mark.parametrize(("model", "features"), MODELS)
def test_indices_are_those_of_direct_ridge_solves(model, features):
    assert compare_with_oracle(model, features, "textbook" if features else "shrunk", 400, 40) < 1e-8


@exhaustive
@pytest.mark.parametrize("ridge", ["shrunk", "textbook"])
@pytest.mark.parametrize(("model", "features"), MODELS)
def test_they_are_after_ten_thousand_rounds(model, features, ridge):
    assert compare_with_oracle(model, features, ridge, 10_000, 500) < 1e-8


# --- plain, compiled, simulated, saved ----------------------------------------------------------------------------------


@every_case
def test_compiled_choices_and_states_are_the_plain_ones_to_the_last_bit(case):
    name, options = case
    for model, features in MODELS:
        plain, fast = (made(name, model, features, rng=3, compiled=flag, **options) for flag in (False, True))
        assert played(plain, 160, late=5) == played(fast, 160, late=5)
        saved = [json.loads(json.dumps(policy.to_dict())) for policy in (plain, fast)]
        assert saved[0]["state"] == saved[1]["state"]
        seen, _ = visits(3, seed=8)
        assert [plain.weights(context=x) for x in seen] == [fast.weights(context=x) for x in seen]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_saved_policy_goes_on_as_it_would_have(case):
    name, options = case
    for model, features in MODELS[:3]:
        policy = made(name, model, features, rng=3, **options)
        played(policy, 40)
        again = type(policy).from_dict(json.loads(json.dumps(policy.to_dict())))
        assert played(again, 30, seed=1) == played(policy, 30, seed=1)
        assert again.to_dict() == policy.to_dict()


@every_case
def test_a_simulation_is_a_live_policy_that_learns_late(case):
    name, options = case
    described = CONTEXTUAL_POLICIES[name](**options)
    environment = LinearContexts(3, n_arms=4)
    tape = environment.tape(90, np.random.default_rng(6))
    for feedback in (Feedback(), Feedback("geom:p=0.2", 5, 0.1)):
        arrivals = feedback.arrivals(90, 1, 0)
        chosen = np.empty(90, dtype=np.int64)
        late = None if feedback.is_at_once else arrivals
        play_policy(described, described.make_params(90), Tape(*tape), chosen, np.random.default_rng(7), late)
        live = CONTEXTUAL_POLICIES[name](arms=4, contexts=3, rng=7, **options)
        decided, n_learned = [], 0
        for t in range(90):
            decided.append(live.select(context=tape[2][t, 0]))
            while n_learned < arrivals.due[t]:
                past = arrivals.order[n_learned]
                arm = decided[past]
                live.update(arm, float(tape[1][arm, past]), context=tape[2][past, 0])
                n_learned += 1
        assert decided == chosen.tolist()
        plain = np.empty(90, dtype=np.int64)
        rng = np.random.default_rng(7)
        state = as_lists(described.start(4, 90, rng, 3))
        play(
            described.kernel, Game.begin(described.make_params(90), state, tape[1], plain, 0, True, tape[2], late), rng
        )
        assert plain.tolist() == decided


@pytest.mark.parametrize("case", CASES, ids=str)
def test_choices_change_no_fact_and_a_refused_update_nothing(case):
    name, options = case
    policy = made(name, rng=3, **options)
    played(policy, 30)
    before = policy.to_dict()["state"]
    seen, _ = visits(5, seed=2)
    for x in seen:
        policy.select(context=x)
        policy.weights(context=x)
    assert policy.to_dict()["state"] == before
    saved = policy.to_dict()
    for wrong in ({"context": [1.0]}, {}, {"context": [1.0, math.inf, 0.0, 0.0]}, {"context": "phone"}):
        with pytest.raises(InvalidInput, match="context"):
            policy.update(0, 1.0, **wrong)
    with pytest.raises(InvalidInput, match="contexts for 2 rewards"):
        policy.update([0, 1], [1.0, 0.0], context=[seen[0]])
    with pytest.raises(InvalidInput):
        policy.update([0, 1, 2], [1.0, 0.0, math.nan], context=seen[:3])
    assert policy.to_dict() == saved


@pytest.mark.parametrize("n", [3, 60, 200])
def test_an_update_that_is_interrupted_is_taken_back_whole(n, monkeypatch):
    policy = made("share_ucb", "hybrid", rng=1)
    played(policy, n)
    saved, calls = policy.to_dict(), []
    real = policy.kernel.learn

    def learn(*arguments):
        real(*arguments)
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(policy.kernel, "learn", learn)
    seen, _ = visits(5, seed=9)
    with pytest.raises(KeyboardInterrupt):
        policy.update([0, 1, 2, 0, 1], [1.0] * 5, context=seen)
    assert policy.to_dict() == saved


# --- probabilities ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=str)
def test_weights_sum_to_one_exactly_also_among_some_arms(case):
    name, options = case
    policy = made(name, rng=3, **options)
    seen, _ = visits(40, seed=1)
    for t, x in enumerate(seen):
        for available in (None, [0, 2], [1]):
            weights = policy.weights(context=x, available=available)
            assert math.fsum(weights.values()) == 1.0
            assert all(weights[arm] == 0.0 for arm in {0, 1, 2} - set(available or (0, 1, 2)))
        policy.update(t % 3, float(t % 7), context=x)


def shares_against_weights(name, options, n_draws, n_rewards):
    policy = made(name, rng=3, compiled=n_draws > 50_000, **options)
    seen, rewards = visits(n_rewards, seed=2)
    for t in range(n_rewards):
        arm = (0, 0, 0, 1, 0, 0, 0, 2, 0, 0)[t % 10]  # of whom others know less
        policy.update(arm, float(rewards[t, arm]), context=seen[t])
    worst, spread = 0.0, 0.0
    for x in seen[:: max(n_rewards // 3, 1)]:
        weights = policy.weights(context=x)
        counts = np.bincount([policy.select(context=x) for _ in range(n_draws)], minlength=3) / n_draws
        worst = max(worst, float(np.abs(counts - [weights[arm] for arm in range(3)]).max()))
        spread = max(spread, 1.0 - max(weights.values()))
    return worst, spread


@pytest.mark.parametrize(("name", "options"), RANDOM.items())
def test_weights_are_the_shares_of_choices(name, options):
    """Four standard errors of a share of a half: one of the 75 comparisons fails by chance once in 200 such seeds."""
    worst, spread = shares_against_weights(name, options, 2500, 12)
    assert worst < 4 * 0.5 / 50
    assert spread > 0.02  # chance has a part in it


def test_weights_of_many_arms_worked_out_in_parts_are_the_integral(monkeypatch):
    rng = np.random.default_rng(1)
    means, deviations = rng.normal(size=40), 0.1 + rng.random(40)
    law = NormalLaws(means, deviations)
    found = chances_of_highest(law, range(40))
    y = np.linspace(-2, 12, 20_001)
    z = (y[:, None] - means) / deviations
    below = ndtr(z)
    for k in range(40):
        others = np.delete(below, k, axis=1).prod(axis=1)
        density = np.exp(-0.5 * z[:, k] ** 2) / math.sqrt(2 * math.pi) / deviations[k]
        assert found[k] == pytest.approx((density * others).sum() * (y[1] - y[0]), abs=1e-6)
    monkeypatch.setattr(probabilities, "AT_ONCE", 1)
    assert chances_of_highest(law, range(40)) == pytest.approx(found, abs=1e-14)


@exhaustive
@pytest.mark.parametrize(("name", "options"), RANDOM.items())
def test_weights_are_the_shares_of_a_hundred_thousand_choices(name, options):
    for n_rewards in (12, 60):
        assert shares_against_weights(name, options, 100_000, n_rewards)[0] < 0.005


# --- arms ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=str)
def test_arms_come_and_go_and_only_available_ones_are_chosen(case):
    name, options = case
    for model in ("disjoint", "hybrid"):
        policy = made(name, model, arms=["a", "b"], rng=3, **options)
        seen, _ = visits(60, seed=5)
        for t, x in enumerate(seen):
            if t == 20:
                policy.add_arm("c")
            if t == 40:
                policy.retire("a")
            assert policy.select(["b"], context=x) == "b"
            arm = policy.select(context=x)
            assert arm != "a" or t < 40
            policy.update(arm, 1.0 if arm == "c" else 0.1 * (t % 3), context=x)
            policy.update("a", 0.2, context=x)  # rewards of a retired arm still count
        assert policy.table()[0].pulls >= 60
        assert policy.predict(seen[0])["c"] > policy.predict(seen[0])["a"] or policy.table()[2].pulls == 0


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name not in ("contextual_greedy", "contextual_epsilon_greedy")]
)
def test_no_arm_is_shut_out_by_a_bad_beginning(name):
    """The best arm is unlucky at first in all contexts; greedy never comes back to it."""
    policy = made(name, arms=["best", "other"], contexts=1, rng=0)
    for x in (-1.0, 0.0, 1.0):
        policy.update(["best", "other"], [-0.5, 0.4], context=[[x], [x]])
    rng = np.random.default_rng(1)
    counts = {"best": 0, "other": 0}
    for _ in range(600):
        x = [float(rng.normal())]
        arm = policy.select(context=x)
        counts[arm] += 1
        policy.update(arm, (1.0 if arm == "best" else 0.3) + 0.4 * float(rng.normal()), context=x)
    assert counts["best"] > 300


def test_arms_of_which_all_rewards_are_the_same_so_far_are_all_tried():
    for name in NAMES:
        policy = made(name, arms=5, contexts=2, rng=0)
        rng = np.random.default_rng(2)
        arms = set()
        for _ in range(60):
            x = rng.normal(size=2)
            arms.add(policy.select(context=x))
            policy.update(max(arms), 0.0, context=x)
            policy.update(policy.select(context=x), 0.0, context=x)
        assert len(arms) == 5, name


@pytest.mark.parametrize("options", [{}, {"randomized": True}])
def test_share_ucb_does_not_see_the_scale_of_rewards(options):
    def run(scale, shift):
        policy = made("share_ucb", rng=3, **options)
        seen, rewards = visits(250)
        rewards = np.round(rewards * 64) / 64  # exact in every scale and shift below
        chosen = []
        for t in range(250):
            chosen.append(policy.select(context=seen[t]))
            policy.update(chosen[-1], float(rewards[t, chosen[-1]] * scale + shift), context=seen[t])
        return chosen

    usual = run(1.0, 0.0)
    assert len({*usual}) == 3
    for scale, shift in ((2.0**20, 0.0), (2.0**-30, 0.0), (1.0, 1024.0), (8.0, -4096.0)):
        assert run(scale, shift) == usual
    down = made("share_ucb", rng=3, direction="min", **options)
    seen, rewards = visits(250)
    rewards = np.round(rewards * 64) / 64
    for t in range(250):
        arm = down.select(context=seen[t])
        assert arm == usual[t]
        down.update(arm, -float(rewards[t, arm]), context=seen[t])


# --- worlds -------------------------------------------------------------------------------------------------------------


@exhaustive
def test_on_the_wheel_greedy_loses_what_share_ucb_finds():
    """Both wheels, 30 environments of 5000 rounds; where ShareUCB explored no more than greedy this would fail."""
    policies = [bandstrap.ShareUCB(), bandstrap.ContextualGreedy()]
    for delta, most in ((0.5, 0.61), (0.95, 1.0)):
        result = bandstrap.simulate(policies, Wheel(delta), horizon=5000, replications=30, seed=1, progress=False)
        share, greedy = (row["mean"] / 5000 for row in result.summary())
        assert share < most
        assert share < greedy / 2


def test_misfits_are_refused_in_a_sentence():
    for options, word in (
        ({"arms": 2}, "contexts"),
        ({"arms": 2, "contexts": 0}, "contexts"),
        ({"arms": 2, "contexts": 100_000_000}, "memory"),
        ({"arms": 2, "contexts": 2, "model": "shared"}, "features"),
        ({"arms": 2, "contexts": 2, "features": [[1.0], [2.0]]}, "features"),
        ({"arms": 3, "contexts": 2, "model": "hybrid", "features": [[1.0], [2.0]]}, "features"),
        ({"arms": 2, "contexts": 2, "ridge": "lasso"}, "ridge"),
        ({"arms": 2, "contexts": {"age": "whole"}}, "age.kind"),
    ):
        with pytest.raises(InvalidInput, match=word):
            bandstrap.ShareUCB(**options)
    with pytest.raises(InvalidInput, match=r"finite number as 'age', no larger than 1e\+50"):
        bandstrap.Contexts({"age": "number"}).encode({"age": 10**400})
    policy = made("share_ucb", "shared", FEATURES)
    with pytest.raises(InvalidInput, match="without features are added"):
        policy.add_arm("new")
    with pytest.raises(InvalidInput, match="contexts of 7 features"):
        bandstrap.simulate(
            bandstrap.ShareUCB(contexts=7), LinearContexts(3), horizon=5, replications=1, seed=0, progress=False
        )
    with pytest.raises(InvalidInput, match="offers contexts"):
        bandstrap.simulate(
            bandstrap.ShareUCB(), bandstrap.environments.Gaussian(), horizon=5, replications=1, seed=0, progress=False
        )

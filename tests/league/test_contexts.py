"""The league of contextual policies."""

from pathlib import Path

import numpy as np
import polars
import pytest

from bandstrap import ContextualGreedy, ContextualLinUCB, simulate
from bandstrap.basics.extras import is_installed
from bandstrap.environments import PackagedSet, Wheel
from bandstrap.league import play_league, read_league, vowpal_wabbit
from bandstrap.league.plan import plan_league
from bandstrap.policies import CONTEXTUAL_POLICIES

LEAGUE = read_league(contexts=True)
SETS = [environment for environment in LEAGUE.environments if environment.needs]


def test_every_contextual_policy_plays_and_one_of_twelve_is_greedy():
    ours = [policy for policy in LEAGUE.policies if not policy.needs]
    assert len(ours) == 12
    assert {policy.call.split(":")[0] for policy in ours} == set(CONTEXTUAL_POLICIES)
    assert [policy.name for policy in ours if policy.call == "contextual_greedy"] == ["greedy"]
    found = {policy.call.split("=")[-1] for policy in LEAGUE.policies if policy.needs == "vowpalwabbit"}
    assert found == vowpal_wabbit.EXPLORATIONS.keys()
    assert (len(SETS), len(LEAGUE.environments)) == (10, 18)


def test_a_set_is_played_once_through_at_most():
    for environment in SETS:
        if is_installed(environment.needs):
            rows = len(PackagedSet(environment.call.split("=")[1]).features)
            assert environment.rounds == min(rows, 10_000)


def test_where_a_package_is_missing_who_needs_it_sits_out():
    league = LEAGUE.choose(["wheel .5", "car"], ["greedy", "VW bag"])
    missing = {"needs": "not_there_at_all"}
    worlds = [world.model_copy(update=missing) if world.name == "car" else world for world in league.environments]
    players = [one.model_copy(update=missing) if one.name == "VW bag" else one for one in league.policies]
    matches = plan_league(league.model_copy(update={"environments": worlds, "policies": players}), 100, 4, 0)
    sat_out = {(match.environment.name, match.policy.name): match.sits_out for match in matches}
    why = "needs not_there_at_all"
    wanted = {("car", "greedy"): why, ("car", "VW bag"): why, ("wheel .5", "greedy"): "", ("wheel .5", "VW bag"): why}
    assert sat_out == wanted


def test_a_policy_of_arms_may_play_in_contexts_and_none_of_contexts_without():
    league = LEAGUE.choose(["wheel .5"], ["greedy", "uniform_random"])
    assert [match.sits_out for match in plan_league(league, 100, 4, 0)] == ["", ""]
    arms = read_league().choose(["Gaussian"], ["contextual_greedy"])
    assert [match.sits_out for match in plan_league(arms, 100, 4, 0)] == ["plays contexts"]


def test_regret_is_that_of_simulate_and_rounds_are_the_environments(tmp_path):
    short = LEAGUE.environments[-8].model_copy(update={"rounds": 80})
    league = LEAGUE.choose([short.name], ["greedy", "LinUCB .25"]).model_copy(update={"environments": (short,)})
    found = play_league(league, tmp_path, horizon=200, replications=6, seed=3, progress=False)
    for policy, name in ((ContextualGreedy(), "greedy"), (ContextualLinUCB(width=0.25), "LinUCB .25")):
        wanted = simulate(policy, Wheel(0.5), horizon=80, replications=6, seed=3, progress=False)
        (standing,) = found.of(name)
        assert standing.mean == pytest.approx(wanted.regret[0, :, -1].mean(), rel=1e-12)
    per_decision = found.cost(found.of("greedy")) * 80 * 6
    assert per_decision == pytest.approx(1e6 * found.seconds[short.name, "greedy"])
    assert polars.read_parquet(tmp_path / "league.parquet").height == 2


@pytest.mark.skipif(not is_installed("vowpalwabbit"), reason="vowpalwabbit is not installed")
def test_vowpal_wabbit_learns_which_arm_is_whose():
    from bandstrap.names import NAMED_POLICIES, make

    file = Path(vowpal_wabbit.__file__)
    for exploration in vowpal_wabbit.EXPLORATIONS:
        policy = make(f"{file}:VowpalWabbit:exploration={exploration}", NAMED_POLICIES, "policy")
        live = policy.start(2, 0, np.random.default_rng(0), 1)
        waiting, right = [], []
        for t in range(400):
            context = np.array([1.0 if t % 2 else -1.0])
            arm = live.select(context=context)
            right.append(arm == t % 2)
            waiting.append((arm, float(right[-1]), context))
            if t >= 5:  # rewards are late
                arm, reward, before = waiting.pop(0)
                live.update(arm, reward, context=before)
        assert np.mean(right[-100:]) > 0.7, exploration

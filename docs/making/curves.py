"""The regret that the policies' pages show, kept in docs/policies.parquet: ``python -m docs.making.curves``, some minutes.

Each policy plays in its plainest form, told what ``league.toml`` tells it, on three kinds of rewards, and each linear one
on the paper's linear bandit. All of a world meet the same rewards.
"""

import functools
from pathlib import Path

import numpy as np
import polars

from bandstrap import simulate
from bandstrap.league.spec import asked, fill, read_league
from bandstrap.names import NAMED_ENVIRONMENTS, NAMED_POLICIES, make
from bandstrap.policies import POLICIES

KEPT = Path(__file__).parents[1] / "policies.parquet"
HORIZON, REPLICATIONS, SEED = 2000, 100, 7
CHECKPOINTS = np.unique(np.geomspace(5, HORIZON, 40).astype(int)).tolist()
# Replications whose regret is kept one by one: a test plays them again.
KEPT_WHOLE = 2
WORLDS = ("beta", "Gaussian", "exponential")
LINEAR_WORLD = "linear_bandit:dimension=10"
LINEAR_CALLS = (
    "lin_ucb",
    "oful:ridge=0.1,theta_bound=10",
    "linear_bootstrapped_ucb:ridge=0.1,theta_bound=10",
    "linear_phe:lower=-2,upper=2,check_range=false",
    "linear_reboot",
    "linear_ts:prior_scale=3.1622776601683795",
)


@functools.cache
def league():
    """The league, read and checked once."""
    return read_league()


def calls(world):
    """The plainest call of each policy that can be told what it asks for, by name."""
    truths = {key: value for key, value in vars(world).items() if isinstance(value, float)}
    found = {}
    for name in POLICIES:
        own = [p for p in league().policies if p.call.partition(":")[0] == name and "check_range" not in p.call]
        able = [p for p in own if set(asked(p.call)) <= truths.keys() and (p.told != "range" or world.upper == 1.0)]
        if able:
            found[name] = fill(min((p.call for p in able), key=len), truths)
    return found


def worlds():
    """Each world with the calls that play in it."""
    named = {environment.name: environment for environment in league().environments}
    for name in WORLDS:
        yield named[name].call, calls(named[name])
    yield LINEAR_WORLD, {call.partition(":")[0]: call for call in LINEAR_CALLS}


def play(environment, played, replications=REPLICATIONS):
    """One row per policy and checkpoint."""
    made = {name: make(call, NAMED_POLICIES, "policy") for name, call in played.items()}
    world = make(environment, NAMED_ENVIRONMENTS, "environment")
    sizes = {"horizon": HORIZON, "replications": replications, "seed": SEED, "checkpoints": CHECKPOINTS}
    result = simulate(made, world, **sizes, progress=False)
    for i, (name, call) in enumerate(played.items()):
        for j, round_ in enumerate(CHECKPOINTS):
            yield {
                "environment": environment,
                "policy": name,
                "call": call,
                "round": round_,
                "mean": result.mean[i, j],
                "standard_error": result.standard_error[i, j],
                "first": result.regret[i, :KEPT_WHOLE, j].tolist(),
            }


if __name__ == "__main__":
    rows = [row for environment, played in worlds() for row in play(environment, played)]
    polars.DataFrame(rows).write_parquet(KEPT)

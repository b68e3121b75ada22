"""A battery of games, samples and decisions, whose numbers may change only on purpose.

``python tests/battery.py`` plays it and keeps the numbers in ``battery.json``, which ``engine/test_provenance.py`` compares
with. It refuses where numbers changed and what they are stored under did not: then raise the integer of the part in
``bandstrap/engine/compiler/provenance.py`` first.
"""

from __future__ import annotations

import inspect
import json
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from scipy import stats

from bandstrap.basics.sources import versions
from bandstrap.bounds import BOUNDS
from bandstrap.engine.simulator.blocks import code_of
from bandstrap.engine.simulator.feedback import Feedback
from bandstrap.environments import ENVIRONMENTS, Bernoulli, Gaussian, LinearBandit
from bandstrap.experiments.plan import code_of_bounds
from bandstrap.live.fold import LiveState, this_build
from bandstrap.live.rows import LogEntry
from bandstrap.live.settings import Settings
from bandstrap.policies import LINEAR_POLICIES, POLICIES

FILE = Path(__file__).with_name("battery.json")
ROUNDS = 120
# Bounds need a range or a scale, some policies rewards in [0, 1].
GIVEN = {"sigma": 1.0, "support": (0.0, 1.0), "beta": 2.0}


def rounded(numbers):
    """Ten digits: other processors and versions of libraries round the last ones otherwise."""
    return [float(f"{number:.10g}") for number in np.ravel(np.asarray(numbers, dtype=float))]


def of_policy(name, **options):
    """Arms that a policy of arms chose, and what it thinks of them afterwards."""
    policy = POLICIES[name](arms=3, rng=5, **options)
    rewards = np.random.default_rng(3).random((ROUNDS, 3)) < (0.3, 0.5, 0.6)
    rewards = np.where(rewards, 0.9, 0.1) + 0.01 * np.sin(np.arange(ROUNDS))[:, None]
    chosen = []
    for round_ in range(ROUNDS):
        arm = policy.select()
        policy.update(arm, float(rewards[round_, arm]))
        chosen.append(arm)
    known = [number for row in policy.table() for number in (row.mean, row.index) if number is not None]
    return [*chosen, *rounded(known)]


def of_edgeworth_of_0_9():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return of_policy("edgeworth_ucb", hall=True)


def of_linear_policy(name):
    policy = LINEAR_POLICIES[name](dimension=3, rng=5)
    rng = np.random.default_rng(4)
    chosen = []
    for _ in range(40):
        actions = rng.normal(size=(4, 3))
        action = policy.select(actions)
        reward = actions[action] @ (0.5, -0.2, 0.1) + 0.1 * rng.normal()
        policy.update(actions[action], float(np.clip(0.5 + reward / 4, 0, 1)))
        chosen.append(action)
    return [*chosen, *rounded(policy.weights(np.eye(3), 50, rng=1))]


def of_environment(name):
    tape = make_environment(name).tape(20, np.random.default_rng(9))
    return rounded(np.concatenate([np.ravel(part) for part in tape]))


def make_environment(name):
    cls = ENVIRONMENTS[name]
    given = {
        "arms": lambda: cls([stats.norm(0, 1), stats.gamma(2)]),
        "empirical": lambda: cls({"a": [1.0, 2.0, 4.0], "b": [0.5, 3.0]}),
    }
    return given.get(name, cls)()


def of_bound(name):
    entry, rng = BOUNDS[name], np.random.default_rng(11)
    options = {need.split("|")[0]: GIVEN[need.split("|")[0]] for need in entry.needs}
    if "seed" in inspect.signature(entry.function).parameters:
        options["seed"] = 2
    found = []
    for n in (6, 15, 40):
        sample = rng.random(n).round(2)
        if "binary" in entry.assumes:
            sample = np.round(sample)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            bound = entry.function(sample, 0.1, side="two-sided", **options)
            found += [bound.lower, bound.upper]
    return rounded(np.nan_to_num(found, posinf=1e9, neginf=-1e9))


def of_feedback():
    order, due = Feedback(delay="geom:p=0.2", batch=3, lost=0.1).arrivals(60, 7, 2)
    return [*order.tolist(), *due.tolist()]


def live_state():
    settings = {"policy": "edgeworth_ucb", "direction": "max", "arms": ("a", "b", "c"), "seed": 3, "window": None}
    settings |= {
        "default_reward": None,
        "aggregate": "first",
        "draws": 200,
        "floor": 0.05,
        "holdout": 0.1,
        "control": "a",
    }
    return LiveState(Settings(**settings, burn_in=5, new_arm_share=0.2, mode="live", refresh=0.0))


def of_live():
    state, rng = live_state(), np.random.default_rng(8)
    found = []
    for seq in range(1, 60):
        choice = state.choose("checkout", None, f"key-{seq}", None, None)
        found += [choice.arm, *rounded(choice.propensity)]
        state.fold([LogEntry(seq, "reward", None, choice.arm, float(rng.random() < 0.4), None, None, None)])
    return found


def games():
    """Name, what results are stored under, and numbers, of all there is; both are worked out when they are called."""
    ucb1 = POLICIES["ucb1"]()
    for name, cls in POLICIES.items():
        yield f"policy {name}", partial(code_of, cls(), Gaussian()), partial(of_policy, name)
    edgeworth = POLICIES["edgeworth_ucb"]()
    yield "policy edgeworth_ucb:hall=true", partial(code_of, edgeworth, Gaussian()), of_edgeworth_of_0_9
    for name, cls in LINEAR_POLICIES.items():
        yield f"policy {name}", partial(code_of, cls(), LinearBandit(dimension=3)), partial(of_linear_policy, name)
    for name in ENVIRONMENTS:
        yield f"environment {name}", partial(code_of, ucb1, make_environment(name)), partial(of_environment, name)
    for name in BOUNDS:
        yield f"bound {name}", code_of_bounds, partial(of_bound, name)
    yield "feedback", partial(code_of, ucb1, Bernoulli()), of_feedback
    yield "live", lambda: this_build(live_state().policy).id, of_live


def codes():
    return {name: code() for name, code, _ in games()}


def play():
    return ((name, code(), numbers()) for name, code, numbers in games())


def main():
    kept = json.loads(FILE.read_text()) if FILE.exists() else {"versions": "", "numbers": {}}
    found = {name: {"code": code, "numbers": numbers} for name, code, numbers in play()}
    if kept["versions"] == versions():
        for name, now in found.items():
            before = kept["numbers"].get(name)
            if before is not None and before["numbers"] != now["numbers"] and before["code"] == now["code"]:
                sys.exit(
                    f"The numbers of {name} changed, and stored ones would be taken for them: raise its part in PARTS."
                )
    FILE.write_text(json.dumps({"versions": versions(), "numbers": found}, indent=0, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()

"""What a moving level costs, and what epochs and discounts cost: ``python docs/drift.py``, ten minutes.

Prints the table of docs/explanation/drift.md, and keeps it and the curves of its figure in docs/drift.json.
"""

import json
import sys
from pathlib import Path

import numpy as np

from bandstrap import EdgeworthUCB, simulate
from bandstrap.engine.compiler.kernel import Kernel, borrowing
from bandstrap.environments import Bernoulli, Drifting
from bandstrap.policies import edgeworth_ucb as index
from bandstrap.policies.online.epoch_policy import KernelOfEpochs

FILE = Path(__file__).with_name("drift.json")
SIZES = {"horizon": 8000, "batch": 100, "seed": 20_330, "checkpoints": list(range(100, 8001, 100))}
RUNS = 1000
# Tests play these few again, to tell a table that was made by an earlier version of the policies.
FEW_RUNS = 4
# Each of two arms is served at least this often; what an experiment calls its floor is twice that.
FLOOR = 0.025
LOW, HIGH = Bernoulli([0.05, 0.0575]), Bernoulli([0.2, 0.23])
ENVIRONMENTS = {
    "constant": Bernoulli([0.1, 0.115]),
    "rises": Drifting(LOW, drift="trend", factor=4),
    "jumps": Drifting(LOW, drift="jump", factor=4, at=0.3),
    "falls": Drifting(HIGH, drift="trend", factor=0.25),
    "waves": Drifting(LOW, drift="wave", factor=4),
    "swaps": Drifting(Bernoulli([0.1, 0.115]), drift="swap"),
}


@borrowing
def score(params, state, arm, shared, rng):
    """The index; now and then an arm is served whatever it is."""
    return 1e6 + rng.random() if rng.random() < FLOOR else index.score(params, state, arm, shared, rng)


class Floored(EdgeworthUCB):
    """EdgeworthUCB in an experiment with a floor."""

    kernel = KernelOfEpochs(Kernel("floored", learn=index.learn, prepare=index.prepare, score=score), index.SUMS)


POLICIES = {
    "plain": {},
    "epochs=True": {"epochs": True},
    'epochs="auto"': {"epochs": "auto"},
    "discount=0.95": {"discount": 0.95},
}


def play(environment, cls, runs=RUNS):
    """Of each policy: mean regret, its standard error, and the part of the runs on the worse arm, at the end and always."""
    players = {name: cls(randomized=True, **options) for name, options in POLICIES.items()}
    result = simulate(players, environment, replications=runs, choices=True, progress=False, **SIZES)
    wrong = np.zeros(result.choices.shape, dtype=np.bool_)
    best = 1 if environment is not ENVIRONMENTS["swaps"] else np.repeat([1, 0], SIZES["horizon"] // 2)
    wrong[:] = result.choices != best
    # A stretch of 800 rounds, the last tenth of the game, is on the worse arm if more than half of its rounds are.
    by_epoch = wrong.reshape(*wrong.shape[:2], -1, 100).mean(axis=3)
    late = by_epoch[:, :, -8:].mean(axis=2) > 0.5
    return {
        name: {
            "regret": float(result.mean[p, -1]),
            "error": float(result.standard_error[p, -1]),
            "ends_worse": float(late[p].mean()),
            "curve": (by_epoch[p] > 0.5).mean(axis=0).round(4).tolist(),
        }
        for p, name in enumerate(result.policies)
    }


def play_few():
    """Mean regret of each policy in a few runs without a floor."""
    return {name: of["regret"] for name, of in play(ENVIRONMENTS["rises"], EdgeworthUCB, FEW_RUNS).items()}


def main():
    found, few = {}, play_few()
    for floor, cls in (("floor 0.05", Floored), ("no floor", EdgeworthUCB)):
        for name, environment in ENVIRONMENTS.items():
            if floor == "no floor" and name not in ("constant", "rises"):
                continue
            row = found[f"{name}, {floor}"] = play(environment, cls)
            cells = [f"{of['regret']:.1f} ± {of['error']:.1f} ({of['ends_worse']:.3f})" for of in row.values()]
            sys.stdout.write(f"| {' | '.join([f'{name}, {floor}', *cells])} |\n")
            sys.stdout.flush()
            FILE.write_text(
                json.dumps({"runs": RUNS, "few_runs": few, "rows": found}, indent=1) + "\n", encoding="utf-8"
            )


if __name__ == "__main__":
    main()

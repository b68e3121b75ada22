"""Linear policies: cost of a decision on the paper's problem, 100 actions, compiled."""

import math
import time
from collections.abc import Iterator

import numpy as np

from bandstrap import OFUL, LinearBootstrappedUCB
from bandstrap.engine.simulator.play import Game, compiled_play
from bandstrap.environments import LinearBandit
from bandstrap.policies import LINEAR_POLICIES
from benchmarks.document import Row, Table
from benchmarks.timing import best_time


def cost_of_a_decision(policy, horizon: int, dimension: int = 10, seconds: float = 0.3) -> float:
    """Seconds per decision of compiled play, the tape not counted."""
    _, tape, actions = LinearBandit(dimension).tape(horizon, np.random.default_rng(0))
    choices = np.empty(horizon, dtype=np.int64)
    params = policy.make_params(horizon)

    def run() -> None:
        rng = np.random.default_rng(1)
        state = policy.start(dimension, horizon, rng)
        compiled_play(policy.kernel, Game.begin(params, state, tape, choices, action_sets=actions), rng)

    return best_time(run, seconds) / horizon


def numpy_bucbl(actions: np.ndarray, tape: np.ndarray, rounds: range, n_resamples: int = 200) -> float:
    """Seconds per decision of a straightforward NumPy version that resamples and solves, in the given rounds.

    The history it meets in round ``t`` is made of the best twenty actions, about what a run looks like.
    """
    rng = np.random.default_rng(0)
    d = actions.shape[1]
    best = np.argsort(tape.mean(axis=1))[-20:]
    labels = rng.choice(best, tape.shape[1])
    spent = 0.0
    for t in rounds:
        features, rewards = actions[labels[: t - 1]], tape[labels, np.arange(tape.shape[1])][: t - 1]
        start = time.perf_counter()
        gram = features.T @ features + np.eye(d)
        theta = np.linalg.solve(gram, features.T @ rewards)
        lengths = np.empty(n_resamples)
        for b in range(n_resamples):
            drawn = rng.integers(t - 1, size=t - 1)
            x, y = features[drawn], rewards[drawn]
            own = x.T @ x + np.eye(d)
            off = np.linalg.solve(own, x.T @ y) - theta
            lengths[b] = math.sqrt(off @ own @ off)
        beta = math.sqrt(d * math.log(t * (t + 1)))
        width = np.quantile(lengths, 1 - 1 / (t + 1)) + beta / math.sqrt(t - 1)
        norms = np.sqrt(np.einsum("ai,ij,aj->a", actions, np.linalg.inv(gram), actions))
        np.argmax(actions @ theta + width * norms)
        spent += time.perf_counter() - start
    return spent / len(rounds)


def every_policy() -> Table:
    """All linear policies beside OFUL."""
    base = cost_of_a_decision(OFUL(), 2000)
    rows = []
    for name, policy in LINEAR_POLICIES.items():
        cost = cost_of_a_decision(policy(), 2000, seconds=0.1)
        rows.append(Row(name, cost / base, "times OFUL", details={"ns": 1e9 * cost}))
    return Table("What does a decision of each linear policy cost? (100 actions, d = 10, T = 2000)", rows)


def tables() -> Iterator[Table]:
    """One after the other."""
    yield every_policy()
    base = cost_of_a_decision(OFUL(radius="closed-form"), 2000)
    streaming = LinearBootstrappedUCB(quantile="streaming")
    short, long = cost_of_a_decision(streaming, 2000), cost_of_a_decision(streaming, 20_000)
    resampled = cost_of_a_decision(LinearBootstrappedUCB(), 2000)
    _, tape, actions = LinearBandit(10).tape(2000, np.random.default_rng(0))
    slow = numpy_bucbl(actions[0], tape, range(2, 2001, 50))
    yield Table(
        f"What does a decision of BUCBL cost? (100 actions, d = 10, B = 200; OFUL takes {1e6 * base:.1f} us)",
        [
            Row("streaming, T = 2000", short / base, "times OFUL", 12.0),
            Row("streaming, T = 20,000 against T = 2000", long / short, "times", 1.3),
            Row("resampled, T = 2000", resampled / base, "times OFUL"),
            Row("resampled, against resampling and solving in NumPy", slow / resampled, "times", 20.0, "higher"),
        ],
    )

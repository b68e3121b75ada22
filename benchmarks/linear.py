"""Linear policies: cost of a decision on the paper's problem, 100 actions, compiled and online."""

import math
import time

import numpy as np

from bandstrap import OFUL, LinearBootstrappedUCB
from bandstrap.engine.play import compiled_play_linear
from bandstrap.environments import LinearBandit
from bandstrap.policies import LINEAR_POLICIES
from benchmarks.timing import best_time, report


def cost_of_a_decision(policy, horizon: int, dimension: int = 10, seconds: float = 0.3) -> float:
    """Seconds per decision of compiled play, the tape not counted."""
    _, tape, actions = LinearBandit(dimension).tape(horizon, np.random.default_rng(0))
    choices = np.empty(horizon, dtype=np.int64)
    params = policy.make_params(horizon)

    def run() -> None:
        rng = np.random.default_rng(1)
        state = policy.start(dimension, horizon, rng)
        compiled_play_linear(policy.kernel, params, state, actions, tape, rng, choices)

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


def online_cost(policy, n_rewards: int = 200) -> float:
    """Seconds of one ``select`` and one ``update``, after ``n_rewards``."""
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1, 1, (100, 10))
    policy.update(actions[rng.integers(100, size=n_rewards)], rng.random(n_rewards))
    return best_time(lambda: policy.update(actions[policy.select(actions)], 0.5), 0.2)


def main() -> None:
    """Run all of them."""
    print("Linear bandits, 100 actions, d = 10, one core")
    base = cost_of_a_decision(OFUL(radius="closed-form"), 2000)
    report("OFUL: microseconds a decision", f"{1e6 * base:.1f}")
    streaming = LinearBootstrappedUCB(quantile="streaming")
    short, long = cost_of_a_decision(streaming, 2000), cost_of_a_decision(streaming, 20_000)
    goal = f"goal: {max(40, 12e6 * base):.0f} (40, or 12 times OFUL)"
    report("BUCBL streaming, B = 200: microseconds a decision", f"{1e6 * short:.1f}", goal)
    report("BUCBL streaming, times OFUL a decision", f"{short / base:.1f}")
    report("BUCBL streaming, T = 20,000 against T = 2,000", f"{long / short:.2f}", "flat: 1")
    resampled = cost_of_a_decision(LinearBootstrappedUCB(), 2000)
    _, tape, actions = LinearBandit(10).tape(2000, np.random.default_rng(0))
    slow = numpy_bucbl(actions[0], tape, range(2, 2001, 50))
    report("BUCBL resampled, B = 200, T = 2,000: microseconds a decision", f"{1e6 * resampled:.0f}")
    report("BUCBL resampled, times faster than resampling and solving in NumPy", f"{slow / resampled:.1f}", "goal: 20")
    for name, policy in LINEAR_POLICIES.items():
        options = {"check_range": False} if name == "linear_phe" else {}
        report(f"{name} online after 200 rewards: microseconds", f"{1e6 * online_cost(policy(**options, rng=0)):.0f}")

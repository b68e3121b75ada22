"""Policies: cost of a decision compiled and online, beside bare loops and other libraries."""

import math
import os
import time
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np

from bandstrap import BootstrappedUCB, simulate
from bandstrap.engine.play import compiled_play
from bandstrap.engine.streams import ENVIRONMENT, POLICY, stream
from bandstrap.environments import Beta, Gaussian, TruncatedNormal
from bandstrap.policies import POLICIES, UCB1
from benchmarks.timing import best_time, report

N_ARMS = 5
MODES = ("resampled", "streaming", "exact")


# Keep every reward, or a thousand subsets or replicates, and cost as much.
NOT_CONSTANT = (
    "bootstrapped_ts",
    "empirical_kl_ucb",
    "giro",
    "mars",
    "npts",
    "rds",
    "subsample_duels",
    "weighted_bootstrap",
)


def cost_of_a_decision(policy, horizon: int, repeats: int = 5, environment=Gaussian) -> float:
    """Seconds per decision of compiled play, the tape not counted."""
    _, tape = environment(n_arms=N_ARMS).tape(horizon, np.random.default_rng(0))
    choices = np.empty(horizon, dtype=np.int64)
    params = policy.make_params(horizon)

    def run() -> None:
        rng = np.random.default_rng(1)
        state = policy.start(N_ARMS, horizon, rng)
        compiled_play(policy.kernel, params, state, tape, rng, choices, N_ARMS * policy.n_initial)

    return best_time(run, seconds=0.3 * repeats / 5) / horizon


@numba.njit
def bare_ucb1(tape, sigma, order, choices):
    n_arms, horizon = tape.shape
    pulls = np.zeros(n_arms, dtype=np.int64)
    sums = np.zeros(n_arms)
    for t in range(horizon):
        arm = t
        if t >= n_arms:
            width = sigma * math.sqrt(2.0 * math.log(t + 2.0))
            best = -math.inf
            for i in range(n_arms):
                k = order[i]
                index = sums[k] / pulls[k] + width / math.sqrt(pulls[k])
                if index > best:
                    best = index
                    arm = k
        sums[arm] += tape[arm, pulls[arm]]
        pulls[arm] += 1
        choices[t] = arm


def simulate_against_a_bare_loop() -> None:
    horizon, replications = 2000, 200
    environment = Gaussian(n_arms=N_ARMS)
    marks = np.unique(np.linspace(1, horizon, 200).round().astype(np.int64)) - 1

    def bare() -> np.ndarray:
        out = np.empty((replications, marks.size))
        choices = np.empty(horizon, dtype=np.int64)
        for r in range(replications):
            means, tape = environment.tape(horizon, stream(1, r, ENVIRONMENT))
            order = stream(1, r, POLICY).permutation(N_ARMS)
            bare_ucb1(tape, 1.0, order, choices)
            out[r] = np.cumsum((means.max() - means)[choices])[marks]
        return out

    with ThreadPoolExecutor(1) as one:

        def ours() -> np.ndarray:
            return simulate(
                UCB1(), environment, horizon=horizon, replications=replications, seed=1, executor=one, progress=False
            ).regret[0]

        assert np.array_equal(ours(), bare())
        slow, fast = best_time(ours, 2), best_time(bare, 2)
    report("(a) simulate UCB1, times a bare numba loop (same tapes, same regret)", f"{slow / fast:.2f}", "goal: 1.5")


def modes_against_ucb1() -> None:
    base = cost_of_a_decision(UCB1(), 2000)
    report("    UCB1, K = 5: nanoseconds a decision", f"{1e9 * base:.0f}")
    for mode in MODES:
        policy = BootstrappedUCB(quantile=mode)
        short, long = cost_of_a_decision(policy, 2000), cost_of_a_decision(policy, 20_000)
        report(f"(b) BootstrappedUCB {mode}, times UCB1 a decision", f"{short / base:.1f}", "goal: 25, aim 10")
        report(f"(c) BootstrappedUCB {mode}, T = 20,000 against T = 2,000", f"{long / short:.2f}", "goal: 1.3")


def every_policy_against_ucb1() -> None:
    base = cost_of_a_decision(UCB1(), 2000, environment=Beta)
    for name, policy in POLICIES.items():
        cost = cost_of_a_decision(policy(), 2000, repeats=2, environment=Beta)
        goal = "" if name in NOT_CONSTANT else "goal: 25" if "bootstrapped_ucb" in name else "goal: 20"
        report(f"(h) {name}, times UCB1 a decision", f"{cost / base:.1f}", goal)


def numpy_bucb(tape: np.ndarray, n_resamples: int = 200, sigma: float = 1.0, delta: float = 0.1) -> None:
    """Algorithm 1 with the NumPy one-liner for every arm in every round."""
    rng = np.random.default_rng(0)
    n_arms, horizon = tape.shape
    rewards = [[tape[k, 0]] for k in range(n_arms)]
    for t in range(n_arms + 1, horizon + 1):
        alpha = 1 / (t + 1)
        scores = []
        for k in range(n_arms):
            y = np.array(rewards[k])
            n = y.size
            d = (y - y.mean()) / n
            draws = (rng.integers(0, 2, (n_resamples, n)) * 2 - 1) @ d
            q = np.sort(draws)[::-1][math.floor(n_resamples * alpha * (1 - delta) + 1e-9)]
            scores.append(y.mean() + q + sigma * math.sqrt(2 * math.log(1 / alpha)) / n)
        best = int(np.argmax(scores))
        rewards[best].append(tape[best, len(rewards[best])])


def modes_against_numpy() -> None:
    horizon = 2000
    _, tape = Gaussian(n_arms=N_ARMS).tape(horizon, np.random.default_rng(0))
    start = time.perf_counter()
    numpy_bucb(tape)
    slow = (time.perf_counter() - start) / horizon
    fast = cost_of_a_decision(BootstrappedUCB(), horizon)
    literal = cost_of_a_decision(BootstrappedUCB(quantile="resampled-literal"), horizon, repeats=1)
    report("(d) resampled, times faster than the NumPy one-liner, T = 2000, B = 200", f"{slow / fast:.0f}", "goal: 500")
    report("(d) resampled-literal, times faster than the NumPy one-liner", f"{slow / literal:.1f}", "goal: 10")


def two_threads() -> None:
    environment = TruncatedNormal(n_arms=N_ARMS)

    def run(threads: int) -> float:
        with ThreadPoolExecutor(threads) as pool:
            return best_time(
                lambda: simulate(
                    BootstrappedUCB(),
                    environment,
                    horizon=2000,
                    replications=200,
                    seed=1,
                    executor=pool,
                    progress=False,
                    block_size=5,
                ),
                seconds=3,
            )

    report("(e) two threads, times faster than one", f"{run(1) / run(2):.2f}", f"goal: 1.7 ({os.cpu_count()} cores)")


def online_step(policy, rewards: np.ndarray) -> float:
    """Microseconds of one select and update."""
    for i in range(300):
        policy.update(policy.select(), float(rewards[i]))
    start = time.perf_counter()
    for i in range(300, 1300):
        policy.update(policy.select(), float(rewards[i]))
    return 1e3 * (time.perf_counter() - start)


def online_costs() -> None:
    rewards = np.random.default_rng(0).random(2000)
    for name, policy in POLICIES.items():
        slow = name in ("giro", "empirical_kl_ucb", "mars", "npts", "rds", "weighted_bootstrap")
        report(
            f"(g) online {name}, K = 10: microseconds a select and update",
            f"{online_step(policy(arms=10, rng=0), rewards):.0f}",
            "" if slow else "goal: 200",
        )
    for mode in ("streaming", "exact"):
        cost = online_step(BootstrappedUCB(arms=10, rng=0, quantile=mode), rewards)
        report(f"(g) online bootstrapped_ucb {mode}, K = 10", f"{cost:.0f}", "goal: 200")
    ours = online_step(UCB1(arms=5, rng=0), rewards)
    report("(g) online UCB1, K = 5: microseconds", f"{ours:.1f}")
    for library, step in (("river's bandit.UCB", river_step), ("MABWiser's UCB1", mabwiser_step)):
        try:
            theirs = step(rewards)
        except ImportError:
            report(f"(g) {library}", "not installed")
        else:
            report(f"(g) {library}, K = 5: microseconds", f"{theirs:.1f}", "goal: ours at or below river")


def river_step(rewards: np.ndarray) -> float:
    from river import bandit

    policy = bandit.UCB(delta=1, seed=0)
    arms = list(range(5))
    for i in range(300):
        policy.update(policy.pull(arms), float(rewards[i]))
    start = time.perf_counter()
    for i in range(300, 1300):
        policy.update(policy.pull(arms), float(rewards[i]))
    return 1e3 * (time.perf_counter() - start)


def mabwiser_step(rewards: np.ndarray) -> float:
    from mabwiser.mab import MAB, LearningPolicy

    policy = MAB(list(range(5)), LearningPolicy.UCB1(alpha=1.0))
    policy.fit(list(range(5)), [float(r) for r in rewards[:5]])
    start = time.perf_counter()
    for i in range(300, 500):
        policy.partial_fit([policy.predict()], [float(rewards[i])])
    return 1e6 * (time.perf_counter() - start) / 200


def main() -> None:
    print("Policies")
    simulate_against_a_bare_loop()
    modes_against_ucb1()
    modes_against_numpy()
    two_threads()
    online_costs()
    every_policy_against_ucb1()

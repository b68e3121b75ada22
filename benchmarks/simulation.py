"""What the simulator adds to bare play, and what a second core gives."""

import math
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np

from bandstrap import BootstrappedUCB, simulate
from bandstrap.engine.simulator.streams import ENVIRONMENT, POLICY, stream
from bandstrap.environments import Gaussian, TruncatedNormal
from bandstrap.policies import UCB1
from benchmarks.document import Row, Table
from benchmarks.timing import best_time

N_ARMS = 5


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


def against_a_bare_loop() -> Row:
    """The simulator beside a bare numba loop with the same tapes and the same regret."""
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
    return Row("UCB1, 200 replications of 2000 rounds, against a bare numba loop", slow / fast, "times", 1.5)


def two_threads() -> Row:
    """Two threads beside one."""
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
                seconds=2,
            )

    cores = os.cpu_count() or 1
    return Row(f"BootstrappedUCB, one thread against two ({cores} cores)", run(1) / run(2), "times", 1.7, "higher")


def tables() -> Iterator[Table]:
    """One table."""
    yield Table(
        "What does the simulator add, and what does a second core give?", [against_a_bare_loop(), two_threads()]
    )

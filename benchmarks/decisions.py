"""What a decision costs in compiled play, beside UCB1 and beside NumPy."""

import math
import time
from collections.abc import Iterator

import numpy as np

from bandstrap import BootstrappedUCB, BootstrappedUCBPlus, EdgeworthUCB, SignFlipUCB, StudentizedUCB
from bandstrap.engine.simulator.play import Game, compiled_play
from bandstrap.environments import Bernoulli, Beta, Gaussian
from bandstrap.policies import POLICIES, UCB1
from benchmarks.document import Row, Table
from benchmarks.timing import best_time

CONTENDERS = {
    "BootstrappedUCB resampled": lambda: BootstrappedUCB(),
    "BootstrappedUCB exact": lambda: BootstrappedUCB(quantile="exact"),
    "BootstrappedUCB streaming": lambda: BootstrappedUCB(quantile="streaming"),
    "BootstrappedUCBPlus": lambda: BootstrappedUCBPlus(),
    "SignFlipUCB": lambda: SignFlipUCB(),
    "StudentizedUCB": lambda: StudentizedUCB(),
    "EdgeworthUCB": lambda: EdgeworthUCB(),
}
# Times UCB1, where it is not the goal of all.
OWN_GOALS = {"StudentizedUCB": 8.0, "EdgeworthUCB": 8.0}
# Keep every reward, or a thousand subsets or replicates, and cost as much.
NOT_CONSTANT = (
    "bootstrapped_ts",
    "empirical_kl_ucb",
    "giro",
    "mars",
    "npts",
    "rds",
    "rmm_ucb",
    "subsample_duels",
    "weighted_bootstrap",
)


def cost_of_a_decision(policy, horizon: int = 2000, n_arms: int = 5, environment=Gaussian, seconds: float = 0.3):
    """Seconds per decision of compiled play, the tape not counted."""
    _, tape = environment(n_arms=n_arms).tape(horizon, np.random.default_rng(0))
    choices = np.empty(horizon, dtype=np.int64)
    params = policy.make_params(horizon)

    def run() -> None:
        rng = np.random.default_rng(1)
        state = policy.start(n_arms, horizon, rng)
        compiled_play(policy.kernel, Game.begin(params, state, tape, choices, policy.n_initial), rng)

    return best_time(run, seconds, time.thread_time) / horizon


def against_ucb1() -> Iterator[Table]:
    """The bootstrap family beside UCB1."""
    for environment, n_arms, goal in ((Gaussian, 5, 10.0), (Gaussian, 50, 10.0), (Bernoulli, 5, None)):
        base = cost_of_a_decision(UCB1(), n_arms=n_arms, environment=environment)
        rows = []
        for name, make in CONTENDERS.items():
            cost = cost_of_a_decision(make(), n_arms=n_arms, environment=environment)
            rows.append(Row(name, cost / base, "times UCB1", OWN_GOALS.get(name, goal)))
        about = f"{environment.__name__} rewards, K = {n_arms}, T = 2000; UCB1 takes {1e9 * base:.0f} ns"
        yield Table(f"What does a decision cost? ({about})", rows)


def against_longer_play() -> Table:
    """Whether a decision costs the same however long the game is."""
    rows = [
        Row(name, cost_of_a_decision(make(), 20_000) / cost_of_a_decision(make()), "times", 1.3)
        for name, make in CONTENDERS.items()
    ]
    return Table("Is a decision of a game of 20,000 rounds as cheap as one of 2000?", rows)


def every_policy() -> Table:
    """All policies beside UCB1."""
    base = cost_of_a_decision(UCB1(), environment=Beta)
    rows = []
    for name, policy in POLICIES.items():
        cost = cost_of_a_decision(policy(), environment=Beta, seconds=0.1)
        goal = None if name in NOT_CONSTANT else 20.0
        rows.append(Row(name, cost / base, "times UCB1", goal, details={"ns": 1e9 * cost}))
    return Table("What does a decision of each policy cost? (Beta rewards, K = 5, T = 2000)", rows)


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


def against_numpy() -> Table:
    """The paper's policy beside a straightforward one."""
    horizon = 2000
    _, tape = Gaussian(n_arms=5).tape(horizon, np.random.default_rng(0))
    start = time.thread_time()  # as of ours: others use the machine too
    numpy_bucb(tape)
    slow = (time.thread_time() - start) / horizon
    fast = cost_of_a_decision(BootstrappedUCB(), horizon)
    literal = cost_of_a_decision(BootstrappedUCB(quantile="resampled-literal"), horizon, seconds=0.1)
    rows = [
        Row("resampled", slow / fast, "times", 500.0, "higher"),
        Row("resampled-literal", slow / literal, "times", 10.0, "higher"),
    ]
    return Table("How much faster than the NumPy one-liner is BootstrappedUCB? (T = 2000, B = 200)", rows)


def tables() -> Iterator[Table]:
    """One after the other."""
    yield from against_ucb1()
    yield against_longer_play()
    yield every_policy()
    yield against_numpy()

"""What one ``select`` and one ``update`` of a live object cost, plain and compiled, beside other libraries."""

import statistics
import time
from collections.abc import Callable, Iterator

import numpy as np

from bandstrap import BootstrappedUCB, LinearBootstrappedUCB
from bandstrap.policies import LINEAR_POLICIES, POLICIES, UCB1
from benchmarks.document import Row, Table

# Microseconds of a compiled policy; of the others no goal is set.
GOALS = {
    "bootstrapped_ucb": 25.0,
    "bootstrapped_ucb exact": 25.0,
    "bootstrapped_ucb_plus": 30.0,
    "sign_flip_ucb": 60.0,
    "linear_bootstrapped_ucb streaming": 300.0,
}


def median_step(step: Callable[[int], None], first: int = 300, last: int = 1300) -> float:
    """Median microseconds of a step, once the first ones are taken."""
    for i in range(first):
        step(i)
    times = []
    for i in range(first, last):
        start = time.perf_counter_ns()
        step(i)
        times.append(time.perf_counter_ns() - start)
    return statistics.median(times) / 1e3


def policy_step(policy, rewards: np.ndarray) -> float:
    """Median microseconds of one select and update."""

    def step(i: int) -> None:
        policy.update(policy.select(), float(rewards[i]))

    return median_step(step)


def river_step(rewards: np.ndarray) -> float:
    """River's UCB."""
    from river import bandit

    policy = bandit.UCB(delta=1, seed=0)
    arms = list(range(5))

    def step(i: int) -> None:
        policy.update(policy.pull(arms), float(rewards[i]))

    return median_step(step)


def mabwiser_step(rewards: np.ndarray) -> float:
    """MABWiser's UCB1."""
    from mabwiser.mab import MAB, LearningPolicy

    policy = MAB(list(range(5)), LearningPolicy.UCB1(alpha=1.0))
    policy.fit(list(range(5)), [float(r) for r in rewards[:5]])

    def step(i: int) -> None:
        policy.partial_fit([policy.predict()], [float(rewards[i])])

    return median_step(step, 5, 205)


def beside_other_libraries(rewards: np.ndarray) -> Table:
    """UCB1 beside other libraries'."""
    ours = policy_step(UCB1(arms=5, rng=0), rewards)
    rows = []
    for name, step in (("river's bandit.UCB", river_step), ("MABWiser's UCB1", mabwiser_step)):
        try:
            rows.append(Row(name, step(rewards), "us"))
        except ImportError:
            rows.append(Row(f"{name} (not installed)", float("nan")))
    first = Row("UCB1", ours, "us", None if np.isnan(rows[0].measured) else rows[0].measured)
    return Table("Is a live UCB1 as quick as that of other libraries? (K = 5)", [first, *rows])


def both_ways(name: str, cost: Callable[[bool], float]) -> list[Row]:
    """A row for plain Python and one for machine code."""
    return [Row(name, cost(False), "us"), Row(f"{name}, compiled", cost(True), "us", GOALS.get(name))]


def every_policy(rewards: np.ndarray) -> Table:
    """All policies of arms."""
    makers = {name: (policy, {}) for name, policy in POLICIES.items()}
    makers |= {f"bootstrapped_ucb {mode}": (BootstrappedUCB, {"quantile": mode}) for mode in ("exact", "streaming")}
    rows = []
    for name, (policy, options) in makers.items():

        def cost(compiled: bool, policy=policy, options=options) -> float:
            return policy_step(policy(arms=10, rng=0, compiled=compiled, **options), rewards)

        rows += both_ways(name, cost)
    return Table("What do a select and an update cost? (K = 10, after 300 rewards)", rows)


def linear_step(policy) -> float:
    """Median microseconds of one select and update among 100 actions of 10 features."""
    rng = np.random.default_rng(0)
    actions = rng.uniform(-1, 1, (100, 10))
    policy.update(actions[rng.integers(100, size=200)], rng.random(200))

    def step(i: int) -> None:
        policy.update(actions[policy.select(actions)], 0.5)

    return median_step(step, 20, 120)


def linear_policies() -> Table:
    """All linear policies."""
    makers = {"linear_bootstrapped_ucb streaming": (LinearBootstrappedUCB, {"quantile": "streaming"})}
    for name, policy in LINEAR_POLICIES.items():
        makers[name] = policy, {"check_range": False} if name == "linear_phe" else {}
    rows = []
    for name, (policy, options) in makers.items():

        def cost(compiled: bool, policy=policy, options=options) -> float:
            return linear_step(policy(rng=0, compiled=compiled, **options))

        rows += both_ways(name, cost)
    return Table(
        "What do a select and an update of linear policies cost? (100 actions, d = 10, after 200 rewards)", rows
    )


def tables() -> Iterator[Table]:
    """One after the other."""
    rewards = np.random.default_rng(0).random(2000)
    yield beside_other_libraries(rewards)
    yield every_policy(rewards)
    yield linear_policies()

"""The regret of ``EdgeworthUCB`` over ``BootstrappedUCBPlus``, where none of its constants were chosen.

Ratios are of means and of 99th percentiles; both policies meet the same rewards.
"""

import functools
import math
from collections.abc import Iterator

import numpy as np

from bandstrap import simulate
from bandstrap.basics.arrays import Floats
from bandstrap.names import NAMED_ENVIRONMENTS, make
from bandstrap.policies import POLICIES
from benchmarks.document import Row, Table

ENVIRONMENTS = (
    "gaussian:n_arms=3",
    "gaussian:n_arms=15",
    "gaussian:n_arms=40",
    "gaussian:means=(0.3,0,0,0)",
    "bernoulli:n_arms=3,mean_range=(0.3,0.6)",
    "bernoulli:n_arms=8,mean_range=(0.6,0.95)",
    "bernoulli:n_arms=4,mean_range=(0.02,0.2)",
    "beta:v=2,n_arms=7",
    "truncated_normal:n_arms=10",
    "laplace:n_arms=8",
    "student_t:df=5",
    "sub_weibull:beta=0.8",
    "exponential:n_arms=4,mean_range=(1,2)",
    "exponential:n_arms=12",
    "mirrored_exponential:n_arms=3",
    "lognormal:log_scale=0.6",
    "lognormal:log_scale=1.2,n_arms=3",
    "poisson:n_arms=8,mean_range=(2,4)",
    "poisson:mean_range=(0.05,0.5)",
    "own_prizes:n_arms=8,prize_range=(2,5)",
    "unequal_variances:n_arms=3",
    "unequal_variances:n_arms=10,scale_range=(0.2,1)",
)
# Rounds, replications and seed.
SIZES = ((2000, 500, 30_101), (20_000, 60, 30_102))
SEED = 30_103
RUNS = 400  # on exponential rewards


@functools.cache
def regret(policy: str, environment: str, horizon: int, replications: int, seed: int) -> Floats:
    """Regret at the end of each replication."""
    sizes = {"horizon": horizon, "replications": replications, "seed": seed}
    player = make(policy, POLICIES, "policy")
    world = make(environment, NAMED_ENVIRONMENTS, "environment")
    return simulate(player, world, **sizes, progress=False).regret[0, :, -1]


def ratios(environment: str, *sizes: int) -> tuple[float, float, float]:
    """Of the mean, its standard error, and of the 99th percentile."""
    ours = regret("edgeworth_ucb", environment, *sizes)
    theirs = regret("bootstrapped_ucb_plus", environment, *sizes)
    ratio = ours.mean() / theirs.mean()
    error = float((ours - ratio * theirs).std(ddof=1) / (math.sqrt(len(ours)) * theirs.mean()))
    tail = np.quantile(ours, 0.99, method="inverted_cdf") / np.quantile(theirs, 0.99, method="inverted_cdf")
    return float(ratio), error, float(tail)


def share_of_bad_runs(policy: str) -> float:
    """Runs, in a hundred, of more than five times the mean of the others, on exponential rewards for 20,000 rounds."""
    found = regret(policy, "exponential", 20_000, RUNS, SEED)
    others = (found.sum() - found) / (len(found) - 1)
    return 100 * float((found > 5 * others).mean())


def against_bucb_plus(horizon: int, replications: int, seed: int) -> Table:
    """Ratios on each environment, and their geometric means."""
    found = [ratios(environment, horizon, replications, seed) for environment in ENVIRONMENTS]
    means, tails = (np.array([row[i] for row in found]) for i in (0, 2))
    error = math.sqrt(sum((row[1] / row[0]) ** 2 for row in found)) / len(found)
    rows = [
        Row("geometric mean of means", geometric(means), "x", 0.88, details={"s.e.": geometric(means) * error}),
        Row("geometric mean of 99th percentiles", geometric(tails), "x", 0.93),
        *(
            Row(name, mean, "x", 1.10, details={"s.e.": error, "99th percentile": tail})
            for name, (mean, error, tail) in zip(ENVIRONMENTS, found, strict=True)
        ),
    ]
    size = f"{horizon} rounds, {replications} replications, seed {seed}"
    return Table(f"Mean regret of EdgeworthUCB over that of BootstrappedUCBPlus ({size})", rows)


def hundred_arms() -> Table:
    """Beside MOSS, which is told the noise scale."""
    sizes = (2000, 200, SEED)
    ours = regret("edgeworth_ucb", "gaussian:n_arms=100", *sizes).mean()
    moss = regret("moss:sigma=1", "gaussian:n_arms=100", *sizes).mean()
    size = f"2000 rounds, 200 replications, seed {SEED}"
    return Table(
        f"A hundred arms: mean regret over that of MOSS ({size})", [Row("EdgeworthUCB", ours / moss, "x", 1.05)]
    )


def worst_runs() -> Table:
    """Runs above five times the rest, beside RB-SDA."""
    rivals = share_of_bad_runs("subsample_duels")
    return Table(
        f"Runs above five times the rest: exponential rewards, 20,000 rounds, {RUNS} replications, seed {SEED}",
        [Row("EdgeworthUCB", share_of_bad_runs("edgeworth_ucb"), "%", rivals), Row("RB-SDA", rivals, "%")],
    )


def tables() -> Iterator[Table]:
    """For each number of rounds, then many arms, then the worst runs."""
    for sizes in SIZES:
        yield against_bucb_plus(*sizes)
    yield hundred_arms()
    yield worst_runs()


def geometric(values: Floats) -> float:
    """Geometric mean."""
    return float(np.exp(np.log(values).mean()))

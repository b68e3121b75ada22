"""The regret of ``EdgeworthUCB`` over ``BootstrappedUCBPlus``, where none of its constants were chosen.

Ratios are of means and of 99th percentiles; both policies meet the same rewards. Standard errors are of a bootstrap that
draws replications, each with all policies and environments: replications of one number have the same random numbers in all.
"""

import functools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

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
Sizes = tuple[int, int, int]  # rounds, replications and seed
SIZES = ((2000, 2000, 50_101), (20_000, 60, 30_102))
CAUTION_SIZES = (2000, 500, 50_103)
SEED = 30_103
RUNS = 400  # on exponential rewards
CAUTIONS = (0.5, 0.75, 1.2, 1.5, 2.0)
BOOTSTRAPS = 400
# Standard errors from a goal at which a one-sided test at 5 % says "missed" with probability 0.9: 1.645 + 1.282.
DETECTED = 2.93


@functools.cache
def regret(policy: str, environment: str, horizon: int, replications: int, seed: int) -> Floats:
    """Regret at the end of each replication."""
    player = make(policy, POLICIES, "policy")
    world = make(environment, NAMED_ENVIRONMENTS, "environment")
    played = simulate(player, world, horizon=horizon, replications=replications, seed=seed, progress=False)
    return played.regret[0, :, -1]


def percentile(ordered: Floats, counts: NDArray[np.int64]) -> float:
    """99th percentile of a sample in which the values, in order, occur so often: the smallest that 99 % are not above."""
    seen = np.cumsum(counts)
    return float(ordered[np.searchsorted(seen, 0.99 * seen[-1])])


def means_and_percentiles(policy: str, sizes: Sizes) -> Floats:
    """Both of each environment, of the sample and then of each bootstrap sample: shape (2, samples, environments)."""
    runs = sizes[1]
    rng = np.random.default_rng(sizes[2])
    samples = [np.ones(runs, dtype=np.int64), *rng.multinomial(runs, np.full(runs, 1 / runs), BOOTSTRAPS)]
    found = np.empty((2, len(samples), len(ENVIRONMENTS)))
    for k, environment in enumerate(ENVIRONMENTS):
        values = regret(policy, environment, *sizes)
        order = np.argsort(values)
        for i, counts in enumerate(samples):
            found[:, i, k] = values @ counts / runs, percentile(values[order], counts[order])
    return found


def share_of_bad_runs(policy: str) -> float:
    """Runs, in a hundred, of more than five times the mean of the others, on exponential rewards for 20,000 rounds."""
    found = regret(policy, "exponential", 20_000, RUNS, SEED)
    others = (found.sum() - found) / (len(found) - 1)
    return 100 * float((found > 5 * others).mean())


def against_bucb_plus(sizes: Sizes) -> Table:
    """Ratios on each environment, and their geometric means."""
    ratios = means_and_percentiles("edgeworth_ucb", sizes) / means_and_percentiles("bootstrapped_ucb_plus", sizes)
    summaries = geometric(ratios)
    rows = [
        Row("geometric mean of means", summaries[0, 0], "x", 0.88, details=with_power(summaries[0])),
        Row("geometric mean of 99th percentiles", summaries[1, 0], "x", 0.93, details=with_power(summaries[1])),
    ]
    for name, mean, tail in zip(ENVIRONMENTS, ratios[0].T, ratios[1].T, strict=True):
        rows.append(Row(name, mean[0], "x", 1.10, details=with_tail(mean, tail)))
    return Table(f"Mean regret of EdgeworthUCB over that of BootstrappedUCBPlus ({described(sizes)})", rows)


def cautions(sizes: Sizes) -> Table:
    """Cost of other levels on average, and their gain in the worst runs, over the default."""
    default = means_and_percentiles("edgeworth_ucb", sizes)
    rows = []
    for caution in CAUTIONS:
        ratios = geometric(means_and_percentiles(f"edgeworth_ucb:caution={caution}", sizes) / default)
        rows.append(Row(f"caution={caution:g}", ratios[0, 0], "x", details=with_tail(*ratios)))
    return Table(f"Mean regret over that of caution=1, geometric mean over the environments ({described(sizes)})", rows)


def error(bootstrapped: Floats) -> float:
    """Standard error of the first value, of the sample itself, by the others."""
    return float(bootstrapped[1:].std(ddof=1))


def with_power(bootstrapped: Floats) -> dict[str, float]:
    """Standard error of a ratio, and the distance from its goal at which a miss is found with probability 0.9."""
    return {"s.e.": error(bootstrapped), "from the goal are found": DETECTED * error(bootstrapped)}


def with_tail(mean: Floats, tail: Floats) -> dict[str, float]:
    """Standard error of a ratio of means, and the ratio of 99th percentiles with its own."""
    return {"s.e.": error(mean), "99th percentile": tail[0], "its s.e.": error(tail)}


def described(sizes: Sizes) -> str:
    """Sizes in words."""
    return f"{sizes[0]} rounds, {sizes[1]} replications, seed {sizes[2]}"


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
    """For each number of rounds, then other levels, then many arms, then the worst runs."""
    for sizes in SIZES:
        yield against_bucb_plus(sizes)
    yield cautions(CAUTION_SIZES)
    yield hundred_arms()
    yield worst_runs()


def geometric(values: Floats) -> Floats:
    """Geometric means over the last axis."""
    return np.asarray(np.exp(np.log(values).mean(axis=-1)))

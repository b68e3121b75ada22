"""Standings: regret with error bars, ranks with intervals, and one number over all environments.

All policies met the same reward tables, so replications are resampled as a whole: a draw of the bootstrap takes the same
replications for every policy and, since an environment's replication number ``r`` starts from the same stream
everywhere, for every environment. A policy with fewer replications than others has the first ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

from bandstrap.basics.arrays import Floats
from bandstrap.engine.simulator.result import Statistics

# Draws of the bootstrap and its seed.
DRAWS = 2000
SEED = 2019
# Levels of the two ends of every interval.
TAILS = (0.025, 0.975)
QUANTILES = (0.95, 0.99)


@dataclass(frozen=True)
class Interval:
    """Ends of a confidence interval; infinite where the replications are too few for an end."""

    low: float
    high: float


@dataclass(frozen=True)
class Standing:
    """A policy on an environment.

    Attributes
    ----------
    environment, policy, told
        Names, and what kind of truth the policy was told.
    replications
        How many it played.
    mean, standard_error, median, q90, q95, q99
        Of regret at the horizon; see :class:`bandstrap.engine.simulator.result.Statistics`.
    q95_interval, q99_interval
        Their order-statistic intervals.
    worst
        The largest regret of a replication.
    rank, rank_interval
        Place by mean regret among the policies that played, and its bootstrap interval.
    relative, relative_interval
        Mean regret as a multiple of the best policy's, and its bootstrap interval.
    relative_q99
        99th percentile of regret as a multiple of the smallest among the policies.
    """

    environment: str
    policy: str
    told: str
    replications: int
    mean: float
    standard_error: float
    median: float
    q90: float
    q95: float
    q95_interval: Interval
    q99: float
    q99_interval: Interval
    worst: float
    rank: int
    rank_interval: Interval
    relative: float
    relative_interval: Interval
    relative_q99: float


@dataclass(frozen=True)
class PolicyComparison:
    """A policy beside a yardstick, over the environments both played.

    Attributes
    ----------
    policy, yardstick
        Names.
    n_environments
        How many both played.
    n_below, n_above
        Where the policy's mean regret is below, or above, the yardstick's by more than the bootstrap leaves open.
    ratio, ratio_interval
        Geometric mean of mean regret as a multiple of the yardstick's, and its bootstrap interval.
    ratio_q99, ratio_q99_interval
        The same of the 99th percentile.
    """

    policy: str
    yardstick: str
    n_environments: int
    n_below: int
    n_above: int
    ratio: float
    ratio_interval: Interval
    ratio_q99: float
    ratio_q99_interval: Interval


@dataclass(frozen=True)
class Overall:
    """A policy over the environments it played: geometric means of regret relative to the best policy of each.

    ``beside`` compares it with the league's first policy, the yardstick; ``None`` where they never met.
    """

    policy: str
    told: str
    n_environments: int
    relative: float
    relative_interval: Interval
    relative_q99: float
    beside: PolicyComparison | None


@dataclass(frozen=True, eq=False)
class LeagueResults:
    """Regret at the horizon of each policy that played, by environment; all policies of an environment share reward tables.

    ``told`` has every policy, the yardstick first. Environments in ``apart`` are ranked by themselves alone, if there are
    others.
    """

    regret: Mapping[str, Mapping[str, Floats]]
    told: Mapping[str, str]
    apart: frozenset[str] = frozenset()

    @property
    def counted(self) -> Mapping[str, Mapping[str, Floats]]:
        """The environments over which means are taken."""
        return {name: found for name, found in self.regret.items() if name not in self.apart} or self.regret


def rank_league(results: LeagueResults) -> tuple[list[Standing], list[Overall]]:
    """Standings by environment and rank; overall, policies that played everywhere first, then by regret."""
    weights = resample(counts_of(results))
    counted = results.counted
    standings: list[Standing] = []
    relatives: dict[str, list[Floats]] = {}
    for environment, players in results.regret.items():
        found, ratios = rank_environment(environment, players, results.told, weights)
        standings += sorted(found, key=lambda standing: (standing.rank, standing.policy))
        for policy, ratio in ratios.items():
            if environment in counted:
                relatives.setdefault(policy, []).append(ratio)
    beside = {row.policy: row for row in compare(results, next(iter(results.told)))}
    overall = [
        combine(
            policy,
            results.told[policy],
            draws,
            [found for found in standings if found.environment in counted],
            beside.get(policy),
        )
        for policy, draws in relatives.items()
    ]
    overall.sort(key=lambda row: (-row.n_environments, row.relative, row.policy))
    return standings, overall


def compare(results: LeagueResults, yardstick: str) -> list[PolicyComparison]:
    """Every policy that met the yardstick beside it, the lowest regret first."""
    draws = resample(counts_of(results))
    weights = np.concatenate([np.ones((1, draws.shape[1])), draws])  # the replications as they are come first
    means: dict[str, list[Floats]] = {}
    tails: dict[str, list[Floats]] = {}
    for players in results.counted.values():
        if yardstick not in players:
            continue
        usual_mean = drawn_mean(players[yardstick], weights)
        usual_tail = drawn_quantile(players[yardstick], weights, QUANTILES[1])
        for policy, values in players.items():
            means.setdefault(policy, []).append(ratio_to(drawn_mean(values, weights), usual_mean))
            tail = drawn_quantile(values, weights, QUANTILES[1])
            tails.setdefault(policy, []).append(ratio_to(tail, usual_tail))
    rows = []
    for policy, ratios in means.items():
        ends = [interval_of(ratio[1:]) for ratio in ratios]
        mean, tail = geometric_mean(np.stack(ratios)), geometric_mean(np.stack(tails[policy]))
        rows.append(
            PolicyComparison(
                policy=policy,
                yardstick=yardstick,
                n_environments=len(ratios),
                n_below=sum(interval.high < 1 for interval in ends),
                n_above=sum(interval.low > 1 for interval in ends),
                ratio=float(mean[0]),
                ratio_interval=interval_of(mean[1:]),
                ratio_q99=float(tail[0]),
                ratio_q99_interval=interval_of(tail[1:]),
            )
        )
    return sorted(rows, key=lambda row: (-row.n_environments, row.ratio, row.policy))


def counts_of(results: LeagueResults) -> list[int]:
    """The numbers of replications that policies played, ascending."""
    return sorted({values.size for players in results.regret.values() for values in players.values()})


def drawn_mean(values: Floats, weights: Floats) -> Floats:
    """Mean of the replications that each draw takes."""
    mean: Floats = weights[:, : values.size] @ values / values.size
    return mean


def drawn_quantile(values: Floats, weights: Floats, level: float) -> Floats:
    """The smallest value that a share ``level`` of the replications of each draw does not exceed."""
    n = values.size
    spare = n - math.ceil(level * n - 1e-9)  # how many may exceed it
    falling = np.argsort(-values, kind="stable")
    # A draw takes about as many of the largest values as there are: a few times as many will do, or else all.
    for reach in (min(n, 4 * spare + 50), n):
        taken = np.cumsum(weights[:, falling[:reach]], axis=1)
        place = (taken <= spare).sum(axis=1)
        if (place < reach).all():
            break
    quantile: Floats = values[falling[place]]
    return quantile


def interval_of(drawn: Floats) -> Interval:
    """Percentile interval of a statistic, from its draws; of a policy without any regret a ratio may be infinite."""
    with np.errstate(invalid="ignore"):
        ends = np.quantile(drawn, TAILS)
    low, high = np.where(np.isnan(ends), np.quantile(drawn, TAILS, method="higher"), ends)  # between infinite ones
    return Interval(float(low), float(high))


def resample(counts: Sequence[int]) -> NDArray[np.float64]:
    """Count of each replication in each draw of the bootstrap, shape ``(draw, replication)``.

    Where policies played different numbers of replications, those up to the smallest number are resampled among
    themselves, then those up to the next, so that every policy has as many in each draw as it played.
    """
    rng = np.random.default_rng(SEED)
    parts = []
    for start, stop in zip([0, *counts], counts, strict=False):
        size = stop - start
        parts.append(rng.multinomial(size, np.full(size, 1 / size), size=DRAWS))
    return np.concatenate(parts, axis=1).astype(np.float64)


def rank_environment(
    environment: str, players: Mapping[str, Floats], told: Mapping[str, str], weights: Floats
) -> tuple[list[Standing], dict[str, Floats]]:
    """Standings on one environment, and each policy's regret relative to the best in every draw of the bootstrap."""
    names = list(players)
    statistics = [Statistics.of(values[:, None]) for values in players.values()]
    means = np.array([float(found.mean[0]) for found in statistics])
    drawn = np.stack([drawn_mean(values, weights) for values in players.values()], axis=1)
    ranks, rank_intervals = rank_means(means), rank_interval(means, drawn)
    best = int(np.argmin(means))
    relative = ratio_to(means, means[best])
    drawn_relative = ratio_to(drawn, drawn[:, [best]])
    least_q99 = min(float(found.q99[0]) for found in statistics)
    standings = []
    for i, (policy, values) in enumerate(players.items()):
        (found,) = statistics[i].rows()
        standings.append(
            Standing(
                environment=environment,
                policy=policy,
                told=told[policy],
                replications=values.size,
                **found,
                q95_interval=quantile_interval(values, QUANTILES[0]),
                q99_interval=quantile_interval(values, QUANTILES[1]),
                worst=float(values.max()),
                rank=int(ranks[i]),
                rank_interval=rank_intervals[i],
                relative=float(relative[i]),
                relative_interval=interval_of(drawn_relative[:, i]),
                relative_q99=float(ratio_to(np.array(found["q99"]), np.array(least_q99))),
            )
        )
    return standings, {name: drawn_relative[:, i] for i, name in enumerate(names)}


def combine(
    policy: str, told: str, draws: Sequence[Floats], standings: Sequence[Standing], beside: PolicyComparison | None
) -> Overall:
    """Geometric means over the environments a policy played."""
    own = [standing for standing in standings if standing.policy == policy]
    return Overall(
        policy=policy,
        told=told,
        n_environments=len(own),
        relative=float(geometric_mean(np.array([standing.relative for standing in own]))),
        relative_interval=interval_of(geometric_mean(np.stack(draws))),
        relative_q99=float(geometric_mean(np.array([standing.relative_q99 for standing in own]))),
        beside=beside,
    )


def geometric_mean(values: Floats) -> Floats:
    """Geometric mean along the first axis; 0 and infinity together have none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean: Floats = np.exp(np.log(values).mean(axis=0))
    return mean


def ratio_to(values: Floats, best: Floats) -> Floats:
    """Regret as a multiple of the best, which is 1 where both are 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(values == best, 1.0, values / best)


def rank_means(means: Floats) -> NDArray[np.int64]:
    """One more than the number of smaller means, along the last axis."""
    return 1 + (means[..., None, :] < means[..., :, None]).sum(axis=-1)


def rank_interval(means: Floats, drawn: Floats) -> list[Interval]:
    """Percentile intervals of the ranks in draws of shape ``(draw, policy)``, widened to hold the ranks of ``means``."""
    ranks = rank_means(means)
    lows, highs = np.quantile(rank_means(drawn), TAILS, axis=0, method="inverted_cdf")
    return [
        Interval(int(min(low, rank)), int(max(high, rank))) for low, high, rank in zip(lows, highs, ranks, strict=True)
    ]


def quantile_interval(values: Floats, level: float) -> Interval:
    """The interval of a quantile that holds for every distribution.

    The number of values below the quantile is at most binomial: the interval reaches from the last order statistic that is
    above it with a probability of at most 0.025 to the first that is below it as rarely. With fewer than
    368 values there is none for the 99th percentile: the upper end is infinite.
    """
    n = values.size
    ordered = np.sort(values)
    below = bdtr(np.arange(n + 1), n, level)  # P(at most k values are below)
    first = int((below <= TAILS[0]).sum())  # P(fewer than ``first`` below) <= 0.025
    last = int((below < TAILS[1]).sum()) + 1  # P(at least ``last`` below) <= 0.025
    low = float(ordered[first - 1]) if first > 0 else -math.inf
    high = float(ordered[last - 1]) if last <= n else math.inf
    return Interval(low, high)

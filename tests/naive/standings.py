"""Ranks, their intervals and order-statistic intervals, written from their definitions."""

import math


def rank(means, i):
    """One more than the number of smaller means."""
    return 1 + sum(mean < means[i] for mean in means)


def smallest_with_share(values, level):
    """The smallest value that at least ``level`` of the values do not exceed."""
    for candidate in sorted(values):
        if sum(value <= candidate for value in values) >= level * len(values) - 1e-9:
            return candidate
    raise AssertionError


def resampled(values, counts):
    """Each value as often as a draw of the bootstrap takes it; counts beyond those of the values are another's."""
    return [value for value, count in zip(values, counts, strict=False) for _ in range(int(count))]


def rank_interval(regret, weights, i):
    """Percentile interval of the rank of policy ``i`` over draws of the bootstrap, widened to hold the rank found.

    ``regret`` has a list of replications a policy, ``weights`` a list of counts a draw.
    """
    ranks = []
    for counts in weights:
        means = []
        for values in regret:
            taken = resampled(values, counts)
            means.append(sum(taken) / len(taken))
        ranks.append(rank(means, i))
    found = rank([sum(values) / len(values) for values in regret], i)
    low, high = smallest_with_share(ranks, 0.025), smallest_with_share(ranks, 0.975)
    return min(low, found), max(high, found)


def binomial_at_most(k, n, p):
    """P(Bin(n, p) <= k)."""
    return sum(math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k + 1))


def quantile_interval(values, level):
    """The largest and the smallest order statistic that miss a quantile on their side with at most half the error."""
    ordered, n, tail = sorted(values), len(values), 0.025
    low, high = -math.inf, math.inf
    for k in range(1, n + 1):
        # Order statistic k exceeds the quantile when fewer than k values lie at or below it.
        if binomial_at_most(k - 1, n, level) <= tail:
            low = ordered[k - 1]
        # It falls short when at least k values lie below.
        if 1 - binomial_at_most(k - 1, n, level) <= tail:
            high = min(high, ordered[k - 1])
    return low, high

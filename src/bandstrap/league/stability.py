"""Stability of a policy: whether the mean of an arm, standardised with its pulls, is normal when play ends.

A policy decides by the rewards so far how often an arm is pulled. If the pulls vary little between replications, as those
of UCB1 do, the mean is as normal as that of a sample of fixed size (Lai and Wei 1982), and the usual interval around it
holds. Otherwise an arm that begins badly is given up, and its mean stays too low.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bandstrap.basics.arrays import Floats
from bandstrap.engine.simulator.tape import EnvironmentLike, open_tape

# The usual interval of 95 % reaches so many standard errors.
REACH = 1.96
# Means are said not to be normal where their distance from the normal distribution is that improbable.
LEVEL = 0.01


@dataclass(frozen=True)
class Stability:
    """The mean of an environment's last arm under a policy.

    Attributes
    ----------
    environment, policy, told
        Names, and what kind of truth the policy was told.
    replications
        How many it played.
    misses, misses_error
        Share of replications in which the true mean is not within 1.96 standard errors, of the true scale, and its own
        standard error; 0.05 for a sample of fixed size.
    bias
        Mean of the standardised mean; 0 for a sample of fixed size.
    distance
        Kolmogorov distance of the standardised mean from the normal distribution.
    p_value
        Probability that normal ones are as far from it.
    """

    environment: str
    policy: str
    told: str
    replications: int
    misses: float
    misses_error: float
    bias: float
    distance: float
    p_value: float

    @property
    def is_normal(self) -> bool:
        """True if the test does not reject normal means; of few replications that says little, see ``surely_found``."""
        return self.p_value >= LEVEL

    @property
    def surely_found(self) -> float:
        """Distance of the true distribution from which on the test rejects with a probability of at least ``1 - LEVEL``.

        Twice the bound of Dvoretzky, Kiefer, Wolfowitz and Massart on the distance of a sample from its distribution.
        """
        return math.sqrt(2.0 * math.log(2.0 / LEVEL) / self.replications)


def standardised_means(
    environment: EnvironmentLike,
    sigma: float,
    horizon: int,
    seed: int,
    pulls: Mapping[str, NDArray[np.int64]],
) -> dict[str, Floats]:
    """``sqrt(n) (mean - mu)/sigma`` of the last arm in each replication, by policy, from its pulls of all arms.

    Rewards are drawn again: those of a replication are the same for all policies, and the ``n`` pulls of an arm bring the
    first ``n`` of its rewards.
    """
    found = {policy: np.empty(len(counts)) for policy, counts in pulls.items()}
    for replication in range(max(map(len, pulls.values()), default=0)):
        tape = open_tape(environment, horizon, seed, replication)
        sums = np.cumsum(tape.rewards[-1] - tape.means[-1])
        for policy, counts in pulls.items():
            if replication < len(counts):
                n = int(counts[replication, -1])
                found[policy][replication] = sums[n - 1] / (sigma * math.sqrt(n))
    return found


def judge(environment: str, policy: str, told: str, standardised: Sequence[float] | Floats) -> Stability:
    """Compare standardised means with the normal distribution."""
    z = np.asarray(standardised, dtype=np.float64)
    test = stats.kstest(z, "norm")
    misses = float((np.abs(z) > REACH).mean())
    return Stability(
        environment=environment,
        policy=policy,
        told=told,
        replications=z.size,
        misses=misses,
        misses_error=math.sqrt(misses * (1 - misses) / z.size),
        bias=float(z.mean()),
        distance=float(test.statistic),
        p_value=float(test.pvalue),
    )

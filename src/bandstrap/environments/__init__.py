"""Reward models; any scipy.stats distribution can be an arm."""

from bandstrap.environments.arms import Arms, Empirical, OfDistributions
from bandstrap.environments.bounded import Bernoulli, Beta, UnitInterval
from bandstrap.environments.contextual import CONTEXTUAL_ENVIRONMENTS, LinearContexts, Wheel
from bandstrap.environments.contextual_tables import Classification, RewardTable
from bandstrap.environments.drifting import Drifting
from bandstrap.environments.environment import ENVIRONMENTS, Environment
from bandstrap.environments.exponential import Exponential, MirroredExponential
from bandstrap.environments.linear_bandit import LinearBandit
from bandstrap.environments.lognormal import Lognormal
from bandstrap.environments.noisy import (
    Gaussian,
    Laplace,
    Logistic,
    Noisy,
    ScaleMixture,
    StudentT,
    SubWeibull,
    TruncatedNormal,
)
from bandstrap.environments.own_prizes import OwnPrizes
from bandstrap.environments.packaged_sets import PackagedSet
from bandstrap.environments.poisson import Poisson
from bandstrap.environments.unequal_variances import UnequalVariances

# Shared by others, not environments of their own.
for _abstract in (Noisy, OfDistributions, UnitInterval):
    del ENVIRONMENTS[_abstract.name]

__all__ = [
    "CONTEXTUAL_ENVIRONMENTS",
    "ENVIRONMENTS",
    "Arms",
    "Bernoulli",
    "Beta",
    "Classification",
    "Drifting",
    "Empirical",
    "Environment",
    "Exponential",
    "Gaussian",
    "Laplace",
    "LinearBandit",
    "LinearContexts",
    "Logistic",
    "Lognormal",
    "MirroredExponential",
    "OwnPrizes",
    "PackagedSet",
    "Poisson",
    "RewardTable",
    "ScaleMixture",
    "StudentT",
    "SubWeibull",
    "TruncatedNormal",
    "UnequalVariances",
    "Wheel",
]

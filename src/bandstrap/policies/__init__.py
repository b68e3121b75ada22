"""Policies, one a file: each is described to the simulator without arms, and live with them."""

from bandstrap.policies.bernoulli_ts import BernoulliTS
from bandstrap.policies.bootstrapped_ts import BootstrappedTS
from bandstrap.policies.bootstrapped_ucb import BootstrappedUCB, NaiveBootstrappedUCB
from bandstrap.policies.empirical_kl_ucb import EmpiricalKLUCB
from bandstrap.policies.gaussian_ts import GaussianTS
from bandstrap.policies.giro import Giro
from bandstrap.policies.mars import MARS
from bandstrap.policies.mbe import MBE
from bandstrap.policies.npts import NPTS
from bandstrap.policies.policy import POLICIES, Policy
from bandstrap.policies.rds import RDS
from bandstrap.policies.robust_ucb import RobustUCB
from bandstrap.policies.subsample_duels import SubsampleDuels
from bandstrap.policies.ucb1 import UCB1
from bandstrap.policies.weighted_bootstrap import WeightedBootstrap

__all__ = [
    "MARS",
    "MBE",
    "NPTS",
    "POLICIES",
    "RDS",
    "UCB1",
    "BernoulliTS",
    "BootstrappedTS",
    "BootstrappedUCB",
    "EmpiricalKLUCB",
    "GaussianTS",
    "Giro",
    "NaiveBootstrappedUCB",
    "Policy",
    "RobustUCB",
    "SubsampleDuels",
    "WeightedBootstrap",
]

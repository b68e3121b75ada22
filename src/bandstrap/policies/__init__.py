"""Policies, one per file. Without arms, a policy object is a description for the simulator; with arms, it is a live policy.

Build your own policy from ``Policy``, ``Kernel``, ``jitable`` and ``moments``; ``Online`` is the type of the keywords that
its constructor passes on.
"""

from bandstrap.engine.compiler.kernel import Kernel, jitable
from bandstrap.policies.aim import AIM
from bandstrap.policies.bernoulli_ts import BernoulliTS
from bandstrap.policies.bootstrapped_ts import BootstrappedTS
from bandstrap.policies.bootstrapped_ucb import BootstrappedUCB
from bandstrap.policies.bootstrapped_ucb_plus import BootstrappedUCBPlus
from bandstrap.policies.chk_ucb import CHKUCB
from bandstrap.policies.contextual import CONTEXTUAL_POLICIES
from bandstrap.policies.discounted_ucb import DiscountedUCB
from bandstrap.policies.edgeworth_ucb import EdgeworthUCB
from bandstrap.policies.empirical_kl_ucb import EmpiricalKLUCB
from bandstrap.policies.epsilon_greedy import EpsilonGreedy
from bandstrap.policies.epsilon_ts import EpsilonTS
from bandstrap.policies.gaussian_ts import GaussianTS
from bandstrap.policies.gaussian_ts_unknown_variance import GaussianTSUnknownVariance
from bandstrap.policies.giro import Giro
from bandstrap.policies.imed import IMED
from bandstrap.policies.imed_unknown_variance import IMEDUnknownVariance
from bandstrap.policies.kl_ucb import KLUCB
from bandstrap.policies.light_tailed_ucb import LightTailedUCB
from bandstrap.policies.linear import LINEAR_POLICIES
from bandstrap.policies.maillard_sampling import MaillardSampling
from bandstrap.policies.mars import MARS
from bandstrap.policies.mbe import MBE
from bandstrap.policies.med_unknown_variance import MEDUnknownVariance
from bandstrap.policies.moss import MOSS
from bandstrap.policies.naive_bootstrapped_ucb import NaiveBootstrappedUCB
from bandstrap.policies.npts import NPTS
from bandstrap.policies.online.epoch_policy import EpochPolicy
from bandstrap.policies.online.policy import POLICIES, Online, Policy
from bandstrap.policies.phe import PHE
from bandstrap.policies.rds import RDS
from bandstrap.policies.reboot import ReBoot
from bandstrap.policies.rmm_ucb import RMMUCB
from bandstrap.policies.robust_ucb import RobustUCB
from bandstrap.policies.sign_flip_ucb import SignFlipUCB
from bandstrap.policies.sliding_window_ucb import SlidingWindowUCB
from bandstrap.policies.stable_ts import StableTS
from bandstrap.policies.states import moments
from bandstrap.policies.studentized_ucb import StudentizedUCB
from bandstrap.policies.subsample_duels import SubsampleDuels
from bandstrap.policies.tsallis_inf import TsallisINF
from bandstrap.policies.ucb1 import UCB1
from bandstrap.policies.ucb_tuned import UCBTuned
from bandstrap.policies.ucb_v import UCBV
from bandstrap.policies.uniform_random import UniformRandom
from bandstrap.policies.weighted_bootstrap import WeightedBootstrap

# Shared by others, not a policy of its own.
del POLICIES[EpochPolicy.name]

__all__ = [
    "AIM",
    "CHKUCB",
    "CONTEXTUAL_POLICIES",
    "IMED",
    "KLUCB",
    "LINEAR_POLICIES",
    "MARS",
    "MBE",
    "MOSS",
    "NPTS",
    "PHE",
    "POLICIES",
    "RDS",
    "RMMUCB",
    "UCB1",
    "UCBV",
    "BernoulliTS",
    "BootstrappedTS",
    "BootstrappedUCB",
    "BootstrappedUCBPlus",
    "DiscountedUCB",
    "EdgeworthUCB",
    "EmpiricalKLUCB",
    "EpsilonGreedy",
    "EpsilonTS",
    "GaussianTS",
    "GaussianTSUnknownVariance",
    "Giro",
    "IMEDUnknownVariance",
    "Kernel",
    "LightTailedUCB",
    "MEDUnknownVariance",
    "MaillardSampling",
    "NaiveBootstrappedUCB",
    "Online",
    "Policy",
    "ReBoot",
    "RobustUCB",
    "SignFlipUCB",
    "SlidingWindowUCB",
    "StableTS",
    "StudentizedUCB",
    "SubsampleDuels",
    "TsallisINF",
    "UCBTuned",
    "UniformRandom",
    "WeightedBootstrap",
    "jitable",
    "moments",
]

"""Policies for linear bandits, one per file: told the features of the actions each round, they pick one."""

from bandstrap.policies.linear.lin_ucb import LinUCB
from bandstrap.policies.linear.linear_bootstrapped_ucb import LinearBootstrappedUCB
from bandstrap.policies.linear.linear_phe import LinearPHE
from bandstrap.policies.linear.linear_policy import LINEAR_POLICIES, LinearOnline, LinearPolicy
from bandstrap.policies.linear.linear_reboot import LinearReBoot
from bandstrap.policies.linear.linear_ts import LinearTS
from bandstrap.policies.linear.oful import OFUL

__all__ = [
    "LINEAR_POLICIES",
    "OFUL",
    "LinUCB",
    "LinearBootstrappedUCB",
    "LinearOnline",
    "LinearPHE",
    "LinearPolicy",
    "LinearReBoot",
    "LinearTS",
]

"""Policies of labelled arms that are shown a context with each decision, one per file."""

from bandstrap.policies.contextual.bootstrapped_contextual import BootstrappedContextual
from bandstrap.policies.contextual.bootstrapped_ucb import ContextualBootstrappedUCB
from bandstrap.policies.contextual.contexts import Contexts
from bandstrap.policies.contextual.contextual_policy import CONTEXTUAL_POLICIES, ContextualOnline, ContextualPolicy
from bandstrap.policies.contextual.greedy import ContextualEpsilonGreedy, ContextualGreedy
from bandstrap.policies.contextual.lin_ucb import ContextualLinUCB
from bandstrap.policies.contextual.linear_ts import ContextualLinearTS
from bandstrap.policies.contextual.oful import ContextualOFUL
from bandstrap.policies.contextual.rand_ucb import RandUCB
from bandstrap.policies.contextual.share_ucb import ShareUCB
from bandstrap.policies.contextual.square_cb import SquareCB

__all__ = [
    "CONTEXTUAL_POLICIES",
    "BootstrappedContextual",
    "Contexts",
    "ContextualBootstrappedUCB",
    "ContextualEpsilonGreedy",
    "ContextualGreedy",
    "ContextualLinUCB",
    "ContextualLinearTS",
    "ContextualOFUL",
    "ContextualOnline",
    "ContextualPolicy",
    "RandUCB",
    "ShareUCB",
    "SquareCB",
]

"""Policies that become slower the longer an experiment lasts, and alternatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from bandstrap.errors import InvalidInput, SlowWarning, warn_caller
from bandstrap.live.settings import Settings
from bandstrap.policies.states.fields import declared_leaves


def warn_if_slow(settings: Settings) -> None:
    """Warn of a policy that keeps its rewards: in a simulation a game ends, behind live traffic the log grows for years."""
    if not keeps_rewards(settings):
        return
    kept, others = "all rewards", "bootstrapped_ucb_plus and edgeworth_ucb"
    if settings.is_linear:
        kept, others = "every different action that it observed", "lin_ucb and linear_ts"
    warn_caller(
        f"The policy {settings.policy} keeps {kept}: memory and snapshots grow with them, and the first decision "
        f"after a new reward can take time in proportion to their number. {others} keep a summary of fixed size, and "
        "decide "
        "in constant time for any length of the log.",
        SlowWarning,
    )


def keeps_rewards(settings: Settings) -> bool:
    """Return whether rewards leave a trace in what grows with their number; it is tried, since settings may leave it
    unused.

    What a policy in a file keeps, its author knows.
    """
    if settings.is_contextual or settings.file is not None:  # the former keep sums of fixed size
        return False
    policy: Any = settings.make_policy(np.random.default_rng(0))
    rewards = np.clip([0.5, 0.25, -0.5, -2.0], *policy.support).tolist()  # not all alike, whatever the support is
    actions = [[0.25, *[0.5] * (policy.dimension - 1)]] if settings.is_linear else settings.arms
    try:
        policy.update(np.repeat(actions, len(rewards), axis=0).tolist(), rewards * len(actions))
    except InvalidInput:
        return False  # it learns none of these
    grows = getattr(policy, "_growing", ())
    return any(
        np.any(row)
        for name, field, values in declared_leaves(policy._state)
        if field.grows or name in grows
        for row in values
    )

"""Plan of a league: which policy plays which environment, with which parameters given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bandstrap.engine.simulator.blocks import Block, EnvironmentLike, PolicyLike
from bandstrap.league.spec import (
    PLAYERS,
    TRUTHS,
    League,
    LeagueEnvironment,
    LeaguePolicy,
    asked,
    fill,
    lacks,
    make_feedback,
)
from bandstrap.names import NAMED_ENVIRONMENTS, make


@dataclass(frozen=True)
class Match:
    """A policy on an environment: what to play, or why it sits out."""

    environment: LeagueEnvironment
    policy: LeaguePolicy
    block: Block | None = None
    # What regret is multiplied by: more than 1 where rewards were mapped to [0, 1].
    factor: float = 1.0
    sits_out: str = ""


def plan_league(league: League, horizon: int, replications: int, seed: int) -> list[Match]:
    """Every match, environment by environment; those of stability come last."""
    return [
        plan_match(environment, policy, horizon, replications, seed)
        for environment in (*league.environments, *league.stability)
        for policy in league.policies
    ]


def plan_match(
    environment: LeagueEnvironment, policy: LeaguePolicy, horizon: int, replications: int, seed: int
) -> Match:
    """One match."""
    missing = lacks(environment) or lacks(policy)
    if missing:
        return Match(environment, policy, sits_out=missing)
    horizon = rounds_on(environment, horizon)
    truths = {name: value for name in TRUTHS if (value := getattr(environment, name)) is not None}
    if not set(asked(policy.call)) <= set(truths):
        return Match(environment, policy, sits_out="needs a range")
    call = environment.call
    factor = 1.0
    player = make(fill(policy.call, truths), PLAYERS, "policy")
    if environment.unit is not None and np.isfinite(player.support).all():
        call, factor = environment.unit, environment.width
        player = make(fill(policy.call, unit_truths(environment)), PLAYERS, "policy")
    world = make(call, NAMED_ENVIRONMENTS, "environment")
    reason = reason_to_sit_out(player, world, horizon)
    if reason:
        return Match(environment, policy, sits_out=reason)
    n = max(2, round(policy.share * replications))
    at_the_end = np.array([horizon])
    block = Block(player, world, horizon, seed, 0, n, at_the_end, make_feedback(environment))
    return Match(environment, policy, block, factor)


def rounds_on(environment: LeagueEnvironment, horizon: int) -> int:
    """Number of rounds on an environment."""
    return min(horizon, environment.rounds or horizon)


def unit_truths(environment: LeagueEnvironment) -> dict[str, float]:
    """The truths about rewards mapped to [0, 1]; their mean square is at most 1."""
    return {
        "sigma": environment.sigma / environment.width,
        "lower": 0.0,
        "upper": 1.0,
        "moment": environment.moment / environment.width**2,
        "raw_moment": 1.0,
    }


def reason_to_sit_out(policy: PolicyLike, environment: EnvironmentLike, horizon: int) -> str:
    """Reason why a policy cannot play an environment; empty if it can."""
    if policy.plays not in environment.offers:
        return f"plays {policy.plays}"
    low, high = policy.support
    if environment.support[0] < low or environment.support[1] > high:
        return f"needs rewards in [{low:g}, {high:g}]" if np.isfinite(low) else f"needs rewards up to {high:g}"
    needed = environment.n_arms * policy.n_initial
    return f"needs {needed} rounds" if horizon < needed else ""

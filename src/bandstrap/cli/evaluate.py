"""``bandstrap evaluate``: what another policy, or one arm for all, would have earned."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from bandstrap.basics.text import listed
from bandstrap.cli.logs import GivenLog, reads_log
from bandstrap.cli.terminal import print_table, say_wrapped, write_json
from bandstrap.errors import InvalidInput, brief, check_count, check_number, requirement

if TYPE_CHECKING:
    from bandstrap.readout.log import DecisionLog

OWNER = "bandstrap evaluate"


@reads_log
def evaluate(
    given: GivenLog,
    policy: Annotated[
        str | None,
        typer.Option(
            help="Policy: 'even', fixed shares such as red=0.7,green=0.3, or a policy that learns, such as ucb1:sigma=0.5."
        ),
    ] = None,
    arm: Annotated[str | None, typer.Option(help="Arm to serve to everybody.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of a policy that learns.")] = 0,
) -> None:
    """Estimate the reward per decision of another policy, or of one arm for all, from a log.

    A fixed policy is evaluated from the stored probabilities (doubly robust, with an interval that holds at all times). A
    learning policy is replayed: it uses the decisions in which it agrees with the log. The log must have given all arms the
    same probability.
    """
    check_count(seed, "seed", OWNER, at_least=0, at_most=None)
    if (policy is None) == (arm is None):
        raise InvalidInput(f"{OWNER} needs either --policy or --arm.")
    source = given.open()
    cap = 1.0 if given.cap is None else check_number(given.cap, "cap", OWNER, above=0)
    ends = given.ends(source, OWNER) or (0.0, cap)
    if arm is not None:
        if arm not in source.labels:
            raise requirement("arm", OWNER, f"one of the arms {listed(source.labels, 20)}", brief(arm))
        shares: list[float] | None = [float(label == arm) for label in source.labels]
    else:
        shares = shares_of(str(policy), source.labels)
    name = str(arm if arm is not None else policy)
    if shares is None:
        tell_replay(given, source, name, seed, ends)
    else:
        tell_value(given, source, name, shares, ends)


def shares_of(policy: str, labels: tuple[str, ...]) -> list[float] | None:
    """Probabilities of a fixed policy; ``None`` of one that learns."""
    from bandstrap.evidence.table import SUM_SLACK
    from bandstrap.readout.log import split_propensity

    if policy == "even":
        return [1.0 / len(labels)] * len(labels)
    if "=" not in policy or ":" in policy.partition("=")[0]:
        return None
    parts = split_propensity(policy) or {}
    for label, share in parts.items():
        if label not in labels:
            raise requirement("policy", OWNER, f"shares of the arms {listed(labels, 20)}", brief(label))
        if not isinstance(share, float):
            raise requirement("policy", OWNER, "a number for each arm, as in red=0.7,green=0.3", brief(policy))
    shares = [float(parts.get(label, 0.0)) for label in labels]
    if min(shares) < 0.0 or abs(math.fsum(shares) - 1.0) > SUM_SLACK:
        raise requirement("policy", OWNER, "shares from 0 to 1 with a sum of 1", brief(policy))
    return shares


def counted(source: DecisionLog, cap: float | None, ends: tuple[float, float]) -> tuple[list[Any], int]:
    """Decisions that were shown and have a reward, in batches, and the number of all others."""
    found, left_out = [], 0
    for batch in source.batches():
        here = batch.active & ~np.isnan(batch.rewards)
        left_out += int((~here).sum())
        rewards = batch.rewards[here] if cap is None else np.minimum(batch.rewards[here], cap)
        outside = rewards[(rewards < ends[0]) | (rewards > ends[1])]
        if outside.size:
            raise InvalidInput(
                f"Rewards of {source.name} must lie from {ends[0]:g} to {ends[1]:g}, and one is {outside[0]:g}: give --low "
                "and --high, or --cap for revenue."
            )
        found.append((np.array(batch.arms)[here], rewards, batch.weights[here]))
    return found, left_out


def tell_value(given: GivenLog, source: DecisionLog, name: str, shares: list[float], ends: tuple[float, float]) -> None:
    """Print the value of a fixed policy."""
    from bandstrap.evidence import PolicyValues
    from bandstrap.evidence.value import no_overlap

    state = PolicyValues(source.labels, [shares], names=[name], low=ends[0], high=ends[1])
    served, n = 0.0, 0
    batches, left_out = counted(source, given.cap, ends)
    for batch in batches:
        state.update(*batch)
        served, n = served + math.fsum(batch[1]), n + len(batch[1])
    (found,) = state.estimates(given.alpha)
    if found.uncovered:
        raise no_overlap(found)
    if given.format == "json":
        write_json(asdict(found) | {"alpha": given.alpha, "served": served / n if n else None, "left_out": left_out})
        return
    columns = ("policy", "mean reward", "lower", "upper", "as served", "decisions", "worth decisions")
    row = (name, found.estimate, found.lower, found.upper, served / n if n else None, n, round(found.effective_size))
    print_table(columns, [row])
    tell_left_out(left_out)
    say_wrapped(
        f"Doubly robust; the interval contains the average value over these decisions with probability "
        f"{100 * (1 - given.alpha):g} %, at all times at once."
    )


def tell_replay(given: GivenLog, source: DecisionLog, name: str, seed: int, ends: tuple[float, float]) -> None:
    """Print the value of a policy that learns."""
    from bandstrap.evidence import rejection_replay
    from bandstrap.names import NAMED_POLICIES, make

    description = make(name, NAMED_POLICIES, "policy")
    if getattr(description, "plays", "arms") != "arms":
        raise requirement("policy", OWNER, "one that plays arms", brief(name))
    options = description.settings() | {
        "direction": source.direction or "max",
        "arms": source.labels,
        "rng": np.random.default_rng(seed),
    }
    player = type(description)(**options)
    batches, left_out = counted(source, given.cap, ends)
    if not batches:
        raise InvalidInput(f"{source.name} has no decisions.")
    columns = [np.concatenate(each) for each in zip(*batches, strict=True)]
    found = rejection_replay(player, *columns, labels=source.labels, low=ends[0], high=ends[1], alpha=given.alpha)
    if given.format == "json":
        write_json(
            asdict(found) | {"name": name, "alpha": given.alpha, "method": "rejection replay", "left_out": left_out}
        )
        return
    shares = ", ".join(f"{label} {100 * share:.0f} %" for label, share in found.shares.items())
    print_table(
        ("policy", "mean reward", "lower", "upper", "kept", "of", "arms"),
        [(name, found.estimate, found.lower, found.upper, found.n_kept, found.n_decisions, shares)],
    )
    tell_left_out(left_out)
    say_wrapped(
        "A policy that learns, by rejection replay on a uniformly randomised log: its value over the first "
        f"{found.n_kept:,} decisions that it would have made, if mean rewards do not drift."
    )


def tell_left_out(n: int) -> None:
    """Print how many decisions were not counted."""
    if n:
        say_wrapped(f"{n:,} decisions that were not shown, or have no reward, are left out.")

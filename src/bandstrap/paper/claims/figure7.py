"""Figure 7: logistic rewards, and Giro on unbounded ones."""

from __future__ import annotations

import itertools

from bandstrap.paper.claims.claim import BUCB, DEPENDS, Evidence, Finding, Power, ReportedNumber, claim
from bandstrap.paper.claims.end_points import farthest, points_of, power_of_points
from bandstrap.paper.claims.statistics import (
    ERROR_RATE,
    POWER,
    brief,
    ends_in,
    exponent,
    finding,
    grows_faster,
    growth_seen,
    lower,
    sidak,
    unless_contradicted,
    unless_unseen,
)

GIROS = ("Giro", "Giro, a = 0.1")
UNBOUNDED = (("7a", "logistic"), ("7d", "normal"), ("7e", "Laplace"))
STOPPED = "Giro, first reward only"


@claim(
    "logistic",
    "E",
    "Figure 7",
    "On logistic bandits Jeffreys-TS, bootstrapped UCB and UCB come in this order for sigma = 1; for sigma = 2 "
    "bootstrapped UCB comes first.",
    "7a 7b",
)
def order_on_logistic(evidence: Evidence) -> Finding:
    """The order of the published curves, each before the next."""
    orders = {"7a": ("Jeffreys-TS", BUCB, "UCB"), "7b": (BUCB, "Jeffreys-TS", "UCB")}
    tests = [
        lower(evidence[name], first, second)
        for name, order in orders.items()
        for first, second in itertools.pairwise(order)
    ]
    return finding(tests, ends_in(evidence, "7a 7b", *orders["7a"]))


@claim(
    "giro-unbounded",
    "E",
    "Figure 7, footnote of section 4.1",
    "Giro fails on unbounded rewards, with linear regret in most cases.",
    "7a 7d 7e",
)
def giro_fails(evidence: Evidence) -> Finding:
    """Linear: faster than the root of T beyond chance; most: on more than half of the distributions, with either ``a``."""
    tests = {(giro, law): grows_faster(evidence[name][giro], 0.5) for giro in GIROS for name, law in UNBOUNDED}
    most = len(UNBOUNDED) // 2 + 1
    # Where one distribution too few is linear, each of the others could be taken for linear by chance.
    others = len(UNBOUNDED) - (most - 1)
    linear = {giro: sum(tests[giro, law].holds_among(others) for _, law in UNBOUNDED) for giro in GIROS}
    good = [count >= most for count in linear.values()]
    told = growth_seen([*tests.values()], 0.5, others)
    detects = f"growth like T^{told:.2f} is distinguished from T^0.5 on every distribution with probability {POWER:g}"
    power = Power(ERROR_RATE, detects, reached=told <= 1)
    verdict = DEPENDS if any(good) and not all(good) else unless_unseen(all(good), power)
    counts = "; ".join(f"{giro}: linear on {count} of {len(UNBOUNDED)} distributions" for giro, count in linear.items())
    straightest = max(tests.values(), key=lambda test: test.z)
    text = f"{counts}; nearest: {straightest.text} ({straightest.z:.1f} standard errors)"
    numbers = [
        number
        for name, law in UNBOUNDED
        for number in (
            *ends_in(evidence, name, BUCB, *GIROS),
            *(ReportedNumber(f"order of growth of {giro}, {law}", exponent(evidence[name][giro])) for giro in GIROS),
        )
    ]
    setting = f"how many pseudo-rewards Giro adds ({counts})" if verdict == DEPENDS else ""
    return Finding(verdict, text, tuple(numbers), power, setting)


@claim("giro-curve", "E", "Figure 7, left", "The published curve of Giro.", "7a 7c")
def giro_curve(evidence: Evidence) -> Finding:
    """Compared with Giro on the bandit of the figure; the text tells whether one that stops growing could explain it."""
    proper, stopped = points_of(evidence, "7a", "Giro"), points_of(evidence, "7c", STOPPED)
    limit = sidak(ERROR_RATE, len(proper))
    off, near = farthest(proper), farthest(stopped)
    explains = "meets it" if near.distance <= limit else "does not meet it either"
    text = (
        f"{off.name}: {brief(off.ours)} for {brief(off.published)} ({off.distance:.1f} standard errors, {limit:.1f} "
        "allowed). One explanation is a Giro that keeps only the first reward, with means in (0.25, 0.75). "
        f"This {explains}: {near.name}, {brief(near.ours)} for {brief(near.published)} ({near.distance:.1f} standard "
        "errors)"
    )
    numbers = tuple(point.number for point in (*proper, *stopped))
    power = power_of_points(proper, limit)
    return Finding(unless_contradicted(off.distance > limit, power), text, numbers, power)

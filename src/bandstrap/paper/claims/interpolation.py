"""Published points of all figures together: a policy that is off by a little everywhere is off beyond chance.

A single point must be off by 15 % or so to be seen (``end_points``), all points of a policy together by 6 %. Tested is the
mean of our regret over the published one, points weighted by how well they are known. Replications share their luck between
panels, which is read off ours; published points are taken to depend on each other as ours do, and to be read independently.
Figures 5 and 6 are left out: their settings were chosen to meet the points.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from bandstrap.paper.claims.claim import BUCB, DEPENDS, Evidence, Finding, Power, claim
from bandstrap.paper.claims.end_points import PUBLISHED_RUNS, PublishedPoint, farthest, flip_probability
from bandstrap.paper.claims.statistics import ERROR_RATE, POWER, Estimate, sidak, unless_contradicted

INTERPOLATED = "Bootstrapped UCB, interpolated"
# How far off all points of a policy together the check is meant to see, as a part of them.
OFF_TOGETHER = 0.05
# Panels of the figures that have published points of a policy.
PANELS = {
    "UCB": ["2a", "2b", "2c", "2d", "3a", "3b", "4a", "7a", "7b"],
    "Jeffreys-TS": ["2a", "2b", "2c", "2d", "4a", "4b", "7a", "7b"],
    BUCB: ["2a", "2b", "2c", "2d", "3a", "3b", "4a", "4b", "7a", "7b"],
}
# The same panels with both ways to read the quantile.
BOTH_WAYS = [f"I{name}" for name in PANELS[BUCB]]


def together(evidence: Evidence, panels: list[str], label: str, published_of: str) -> PublishedPoint:
    """Regret of a policy over the published one, by all its points; 1 is published."""
    excess, reading = [], []
    for name in panels:
        panel = evidence[name]
        for place, published in panel[published_of].published:
            excess.append(panel[label].at(place) / published)
            reading.append(panel.panel.reading_error)
    n = min(values.size for values in excess)
    ratios = np.array([values[:n] for values in excess])
    luck, read = np.cov(ratios), np.diag(np.square(reading))
    weights = 1 / np.diag(luck * (1 / n + 1 / PUBLISHED_RUNS) + read)
    weights /= weights.sum()
    ours, variance = float(weights @ ratios.mean(axis=1)), float(weights @ luck @ weights)
    uncertainty = math.sqrt(variance * (1 / n + 1 / PUBLISHED_RUNS) + float(weights @ read @ weights))
    return PublishedPoint(f"{label}, {len(excess)} points", ours, math.sqrt(variance / n), 1.0, uncertainty)


def lowered(evidence: Evidence) -> Estimate:
    """Share by which interpolation lowers regret on the same rewards, on average over the points."""
    shares = []
    for name in BOTH_WAYS:
        panel = evidence[name]
        for place, _ in panel[BUCB].published:
            plain, other = panel[BUCB].at(place), panel[INTERPOLATED].at(place)
            shares.append((plain - other) / plain.mean())
    by_replication = np.mean(shares, axis=0)
    error = float(by_replication.std(ddof=1)) / math.sqrt(by_replication.size)
    return Estimate(float(by_replication.mean()), error, by_replication.size - 1)


def in_words(point: PublishedPoint) -> str:
    """Distance of a policy from the paper, all its points together."""
    return f"{point.name}: {point.ours - 1:+.1%} ± {point.uncertainty:.1%}"


@claim(
    "points-together",
    "4.1",
    "Figures 2, 3, 4 and 7",
    "The published points of each policy, all figures together.",
    " ".join([*PANELS[BUCB], *BOTH_WAYS]),
)
def points_together(evidence: Evidence) -> Finding:
    """Each policy's points are off by nothing on average; bootstrapped UCB's as defined, or else interpolated."""
    points = [together(evidence, panels, label, label) for label, panels in PANELS.items()]
    other = together(evidence, BOTH_WAYS, INTERPOLATED, BUCB)
    limit = sidak(ERROR_RATE, len(points))
    wrong = [point for point in points if point.distance > limit]
    share = lowered(evidence)
    less = f"{share.value:.1%} ± {share.error:.1%}"
    worst = farthest(points)
    text = (
        f"{'; '.join(map(in_words, points))}; farthest at {worst.distance:.1f} standard errors ({limit:.1f} allowed), and "
        f"another seed gives another verdict with probability {flip_probability(points, limit):.2f}. Interpolation lowers "
        f"regret by {less} on the same rewards: {in_words(other)}, at {other.distance:.1f} standard errors. It was tried "
        "after these points had been looked at"
    )
    is_explained = wrong == [points[-1]] and other.distance <= limit
    setting = (
        f"how the paper's program computes its quantile from the B draws; with the interpolation of numpy.percentile, "
        f"regret is lower by {less}, and agrees"
    )
    seen = max((limit + float(ndtri(POWER))) * point.uncertainty for point in points)
    text_of_power = f"a policy whose points are all off by {seen:.1%} is seen with probability {POWER:g}"
    power = Power(ERROR_RATE, text_of_power, reached=seen <= OFF_TOGETHER)
    verdict = DEPENDS if is_explained else unless_contradicted(bool(wrong), power)
    numbers = tuple(point.number for point in (*points, other))
    return Finding(verdict, text, numbers, power, setting if is_explained else "")

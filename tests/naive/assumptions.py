"""Tests of assumptions from their formulas, reward by reward."""

import math
from statistics import NormalDist, fmean


def symmetry_p_value(rewards):
    ordered = sorted(rewards)
    n = len(ordered)
    quarter = n // 4
    middle = fmean(ordered[quarter : n - quarter])
    half = (ordered[n - 1 - quarter] - ordered[quarter]) / 2
    distances = [y - middle for y in ordered]
    cut = 5 * (half or fmean(map(abs, distances)))
    trimmed = [max(-cut, min(cut, d)) for d in distances]
    share = sum(abs(d) <= cut for d in distances) / n
    influence = [n / (n - 2 * quarter) * max(-half, min(half, d)) for d in distances]
    p_value = two_tails(sum(trimmed), [a - share * b for a, b in zip(trimmed, influence, strict=True)])
    if p_value < 0.01 and (max(map(abs, distances)) <= 3 * half or len(set(ordered)) <= 5):
        mean = fmean(ordered)
        square = fmean((y - mean) ** 2 for y in ordered)
        cubes = [(y - mean) ** 3 for y in ordered]
        terms = [cube - 3 * square * (y - mean) for cube, y in zip(cubes, ordered, strict=True)]
        p_value = max(p_value, two_tails(sum(cubes), terms))
    return p_value


def two_tails(total, terms):
    size = math.sqrt(sum(term**2 for term in terms))
    return 2 * NormalDist().cdf(-abs(total) / size) if size > 0 else 1.0


def normality_p_value(rewards):
    ordered = sorted(rewards)
    n = len(ordered)
    scores = [NormalDist().inv_cdf((i - 3 / 8) / (n + 1 / 4)) for i in range(1, n + 1)]
    mean = fmean(ordered)
    products = sum(m * (y - mean) for m, y in zip(scores, ordered, strict=True))
    explained = products**2 / (sum(m * m for m in scores) * sum((y - mean) ** 2 for y in ordered))
    u, v = math.log(n), math.log(math.log(n))
    z = (math.log(max(1 - explained, 1e-16)) - (-1.2725 + 1.0521 * (v - u))) / (1.0308 - 0.26758 * (v + 2 / u))
    return NormalDist().cdf(-z)

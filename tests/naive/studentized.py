"""StudentizedUCB and EdgeworthUCB from their docstrings alone: rationals until there is a root or a logarithm."""

import math
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np


class Arm(NamedTuple):
    """Number and mean of an arm's rewards, and the sums of powers of their deviations, ``s[p]``."""

    n: int
    mean: Fraction
    s: dict[int, Fraction]

    @property
    def variance(self):
        return self.s[2] / (self.n - 1) if self.n > 1 else Fraction(0)

    @property
    def weight(self):
        return min(self.n - 1, 20)

    @property
    def is_spread(self):
        return self.s[2] > 0


@cache
def arm_of(rewards):
    y = [Fraction(reward) for reward in rewards]
    mean = sum(y) / len(y)
    return Arm(len(y), mean, {p: sum((reward - mean) ** p for reward in y) for p in (2, 3, 4, 6)})


def arms_of(samples):
    return [arm_of(tuple(map(float, sample))) for sample in samples]


def root(x):
    """Square root of a rational, which need not be a double itself."""
    if x <= 0:
        return 0.0
    half = (x.numerator.bit_length() - x.denominator.bit_length()) // 2
    return math.ldexp(math.sqrt(x / Fraction(4) ** half), half)


def plus(x):
    return max(x, 0)


def normal_quantile(tail):
    """``Phi^{-1}(1 - tail)``, none below 0: Abramowitz and Stegun 26.2.23."""
    q = math.sqrt(2 * math.log(1 / tail))
    above = 2.515517 + 0.802853 * q + 0.010328 * q**2
    return max(0, q - above / (1 + 1.432788 * q + 0.189269 * q**2 + 0.001308 * q**3))


def shared_variance(arms, borrowed, kurtosis=0, is_fitted=True):
    """``sbar^2`` and ``d0``; variances of rewards with this excess kurtosis have the noise ``(2 + kurtosis)/(n - 1)``."""
    several = [arm for arm in arms if arm.n > 1]
    weights = sum(arm.weight for arm in several)
    means = [arm.mean for arm in arms]
    if any(arm.is_spread for arm in several):
        shared = sum(arm.weight * arm.variance for arm in several) / weights
    else:
        shared = (max(means) - min(means)) ** 2 or 1
    spread = sum(
        arm.weight
        * (
            (arm.variance / shared - 1) ** 2
            - (1 - Fraction(is_fitted * arm.weight, weights)) * (2 + Fraction(kurtosis)) / (arm.n - 1)
        )
        for arm in several
    )
    lost = Fraction(is_fitted * sum(arm.weight**2 for arm in several), weights or 1)
    h = (spread + 5) / (weights - lost + 10)
    return shared, Fraction(borrowed) if h <= 0 else min(max(2 / h - 1, 0), Fraction(borrowed))


def shrunk_skewness(s2, s3, s6):
    """``(S3/S2)_+ (1 - 2 S6/S3^2)_+``, 0 unless ``S3 > 0``."""
    return s3 / s2 * plus(1 - 2 * s6 / s3**2) if s3 > 0 else 0


def skewness_of_all(arms):
    return shrunk_skewness(*(sum(arm.s[p] for arm in arms) for p in (2, 3, 6)))


def studentized_index(
    samples, arm, t, *, exploration=0.25, borrowed=50, skew=1, caution=1, crowd=0, drawn=0, consistent=False, hall=False
):
    """The index of :class:`bandstrap.StudentizedUCB`; ``drawn`` is U, 0 where levels are not drawn."""
    arms = arms_of(samples)
    if consistent:
        borrowed = skew = 0
        if t > math.e:
            exploration = max(exploration, math.log(math.log(t)))
    n, mean, s = arms[arm]
    level = min(0.5, max(1, crowd * len(arms)) / caution * n / (n + max(other.n for other in arms)))
    if n < exploration * math.log(t) and drawn <= level:
        return math.inf
    level = max(level, drawn)
    log, z = math.log(1 / level), normal_quantile(0.9 * level)
    shared, d0 = shared_variance(arms, borrowed, 0, not hall)
    nu = float(max(n - 1 + d0, Fraction(1, 2)))
    main = root((s[2] + d0 * shared) / n) * math.sqrt(math.expm1(min(z**2 / nu, 50)))
    own = 2 / float(2 + d0) * root(arms[arm].variance) * math.sqrt(2 * log)
    if hall:
        skewness = 2 * log / 3 * float(max(shrunk_skewness(s[2], s[3], s[6]), skewness_of_all(arms)))
    else:
        kappa = signed_skewness(*(sum(other.s[p] for other in arms) for p in (2, 3, 6)))
        skewness = ((3 * own_part(arms, arm, d0, nu) - 1) * z**2 + 1) / 6 * float(kappa)
    return float(mean) + main + (own + skew * skewness) / n


def own_part(arms, arm, d0, nu):
    """The part of the standard deviation that is the arm's own, which is one of those that it borrows from."""
    weights = sum(other.weight for other in arms)
    return min(1, float((arms[arm].n - 1 + (d0 * arms[arm].weight / weights if weights else 0)) / Fraction(nu)))


def signed_skewness(s2, s3, s6):
    """``S3/S2 (1 - 2 S6/S3^2)_+``, of either sign."""
    return shrunk_skewness(s2, s3, s6) if s3 > 0 else -shrunk_skewness(s2, -s3, s6)


def edgeworth_index(samples, arm, t, *, exploration=0.5, caution=1, drawn=0, hall=False):
    """The index of :class:`bandstrap.EdgeworthUCB`; ``drawn`` is U, 0 where levels are not drawn."""
    arms = arms_of(samples)
    n, mean, s = arms[arm]
    level = min(0.5, 3 / (4 * caution) * max(1, (len(arms) - 1) / 4) ** (1 if hall else 1.2) * n / t)
    if n < exploration * (math.log(t) / 2 if hall else math.log(t / len(arms))) and drawn <= level:
        return math.inf
    level = max(level, drawn)
    log, z = math.log(1 / level), normal_quantile(0.9 * level)
    spread = [other for other in arms if other.is_spread]
    g3 = sum((1 if other.s[3] > 0 else -1) * root(other.s[3] ** 2 / other.variance**3) for other in spread)
    g6 = float(sum(other.s[6] / other.variance**3 for other in spread))
    rewards = sum(other.n for other in spread)
    gamma = signed_skewness(rewards, g3, g6)
    four = [other for other in spread if other.n >= 4]
    excess = sum(
        other.weight * (other.n * other.s[4] / other.s[2] ** 2 - Fraction(3 * (other.n - 1), other.n + 1))
        for other in four
    )
    kurtosis = plus(excess) / sum(other.weight for other in four) if four else 0
    shared, d0 = shared_variance(arms, 50, 0 if hall else min(kurtosis, 1.5 * gamma**2), not hall)
    nu = max(n - 1 + d0, Fraction(1, 2))
    deviation = root((s[2] + d0 * shared) / nu)
    if hall:
        omega = 1
        evidence = plus(1 - 2 * g6 / g3**2) if g3 > 0 else 0
        if arms[arm].is_spread:
            skewness = evidence * max(deviation * g3 / rewards, float(s[3] / s[2]))
        else:
            skewness = float(skewness_of_all(arms))
    else:
        omega = own_part(arms, arm, d0, nu)
        skewness = deviation * gamma
        if not arms[arm].is_spread:
            skewness = float(signed_skewness(*(sum(other.s[p] for other in arms) for p in (2, 3, 6))))
    zeta = z / (1 + float((n - 1) / nu * kurtosis / (12 * n)) * plus(z**2 - 3))
    main = deviation * math.sqrt(float(nu) / n * math.expm1(min(zeta**2 / float(nu), 50)))
    own = 2 / float(2 + d0) * deviation * math.sqrt(2 * log)
    return float(mean) + main + (own + ((3 * omega - 1) * z**2 + 1) / 6 * skewness) / n


def weights_of_drawn_levels(index, samples, t, *, n_levels=500, **options):
    """The probability that each arm has the highest index when the levels drawn are uniform and independent.

    Within ``len(samples)/n_levels``: each level is one of as many in the middle of equal parts of (0, 1).
    """
    levels = (np.arange(n_levels) + 0.5) / n_levels
    values = [[index(samples, arm, t, drawn=u, **options) for u in levels] for arm in range(len(samples))]
    below = [[np.mean(np.array(other)[:, None] < np.array(own), axis=0) for other in values] for own in values]
    return np.array(
        [np.mean(np.prod([b for k, b in enumerate(row) if k != arm], axis=0)) for arm, row in enumerate(below)]
    )

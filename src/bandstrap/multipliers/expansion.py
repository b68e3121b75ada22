"""Cornish-Fisher quantiles from power sums alone: constant time and memory, for large samples.

The cumulants of ``X = (1/n) sum w_i (y_i - ybar)`` are those of one weight times power sums of the residuals, so the
distribution of ``X`` is summarised by the central moments ``m_r = (1/n) sum (y_i - ybar)^r``. With standardised
cumulants ``g_r`` and ``z`` the normal quantile,

* symmetric weights: ``q/sd = z + g4/24 (z^3 - 3z) + g6/720 (z^5 - 10z^3 + 15z) - g4^2/384 (3z^5 - 24z^3 + 29z)``;
* skewed weights: ``q/sd = z + g3/6 (z^2 - 1) + g4/24 (z^3 - 3z) - g3^2/36 (2z^3 - 5z)``.

The expansion is asymptotic in ``n`` and fails for small or heavy-tailed samples. It says so itself: it is *trusted* only
while its corrections are a small part of the quantile, and where they are not, they are cut to that part. Of lumps (rewards
of few values, clusters) power sums know nothing, so a sample at hand is compared with ``inversion`` as well.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import jitable
from bandstrap.multipliers import inversion
from bandstrap.multipliers.weights import EFRON, GAUSSIAN, largest_sum

# The third, fourth and sixth cumulant of one weight, by distribution, but for Efron's, which are not independent; the
# sixth only where odd ones vanish.
WEIGHT_CUMULANTS = ((0.0, -2.0, 16.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (2.0, 6.0, 0.0), (1.0, -1.0, 0.0))
# Trusted while the first-order correction is below this share of the larger of z and 1 ...
FIRST_ORDER_SHARE = 0.1
# ... and the second-order one below this.
SECOND_ORDER_SHARE = 0.004
# A sample's quantiles are trusted within this share of those by inversion, or of the standard deviation near the middle.
LUMP_SHARE = 0.005


class Cumulants(NamedTuple):
    """Standard deviation of ``X`` given the sample, and its standardised cumulants."""

    deviation: float
    third: float
    fourth: float
    sixth: float


@jitable
def standardised_cumulants(law: int, n: int, m2: float, m3: float, m4: float, m6: float) -> Cumulants:
    """Cumulants of ``X`` from the central moments of ``n`` rewards, ``m2 > 0``."""
    deviation = math.sqrt(m2 / n)
    skewness = m3 / (m2 * math.sqrt(m2 * n))
    if law == EFRON:  # X is a mean of n draws from the residuals
        return Cumulants(deviation, skewness, (m4 / (m2 * m2) - 3.0) / n, 0.0)
    third, fourth, sixth = WEIGHT_CUMULANTS[law]
    # Divided twice: the cube of m2 is 0 where m2 and its square are not.
    return Cumulants(deviation, third * skewness, fourth * m4 / (n * m2 * m2), sixth * m6 / (n * m2) / (n * m2 * m2))


@jitable
def expansion_quantile(deviation: float, third: float, fourth: float, sixth: float, z: float) -> tuple[float, bool]:
    """Cornish-Fisher quantile at the normal quantile ``z``, and whether it may be trusted."""
    z2 = z * z
    first = fourth / 24.0 * (z2 - 3.0) * z
    if third == 0.0:
        second = sixth / 720.0 * ((z2 - 10.0) * z2 + 15.0) * z
        second -= fourth * fourth / 384.0 * ((3.0 * z2 - 24.0) * z2 + 29.0) * z
    else:
        second = first - third * third / 36.0 * (2.0 * z2 - 5.0) * z
        first = third / 6.0 * (z2 - 1.0)
    most_first = FIRST_ORDER_SHARE * max(abs(z), 1.0)
    most_second = SECOND_ORDER_SHARE * max(abs(z), 1.0)
    trusted = abs(first) <= most_first and abs(second) <= most_second
    first = min(max(first, -most_first), most_first)
    second = min(max(second, -most_second), most_second)
    return deviation * (z + first + second), trusted


def quantiles(law: int, terms: Floats, levels: Floats) -> tuple[Floats, bool]:
    """Quantiles for each row ``(y - ybar)/n`` of ``terms``, shape ``(rows, levels)``, and whether all are trusted."""
    n = terms.shape[-1]
    residuals = terms * n
    out = np.zeros((terms.shape[0], levels.size))
    trusted = True
    moments = np.stack([(residuals**r).mean(axis=-1) for r in (2, 3, 4, 6)], axis=-1)
    for row in np.flatnonzero(moments[:, 0] > 0):
        cumulants = standardised_cumulants(law, n, *moments[row].tolist())
        for k, z in enumerate(-ndtri(levels)):
            out[row, k], safe = expansion_quantile(*cumulants, float(z))
            trusted = trusted and safe
        largest, smallest = largest_sum(law, terms[row]), -largest_sum(law, -terms[row])
        out[row] = np.clip(out[row], smallest, largest)
        if trusted and law != GAUSSIAN:
            sure = inversion.quantiles(law, terms[row : row + 1], levels)[0]
            most = LUMP_SHARE * np.maximum(np.abs(sure), cumulants.deviation)
            trusted = bool((np.abs(out[row] - sure) <= most).all())
    return out, trusted

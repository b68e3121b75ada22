"""Tests that draws follow a law. Each of the three checks rejects draws of the right law with probability 1e-6 or less.

What they see with probability 0.99, of ``n`` draws (per side) from a law that is not far from normal: a mean that is off by
``7.4/sqrt(n)`` standard deviations (``10.4/sqrt(n)`` between two samples), a standard deviation that is off by a share of
``6/sqrt(n)`` (``8.5/sqrt(n)``), and any distribution function that is off by ``4/sqrt(n)`` somewhere (``5.7/sqrt(n)``).
At 3000 draws per side that is a fifth of a standard deviation, 16 per cent of it, and 0.1; ``test_laws.py`` measures it.
"""

import math

import numpy as np
from scipy import stats

SIGNIFICANCE = 1e-6
STANDARD_ERRORS = 5  # exceeded with probability 6e-7


def assert_follows(found, law, *, moments=True):
    """Draws follow a continuous law of ``scipy.stats``; without ``moments`` where the fourth is infinite or nearly so."""
    found = np.asarray(found)
    assert stats.kstest(found, law.cdf).pvalue > SIGNIFICANCE
    if moments:
        mean, variance = law.stats()
        error = math.sqrt(variance / found.size)
        assert abs(found.mean() - mean) <= STANDARD_ERRORS * error
        assert abs(found.var() - variance) <= STANDARD_ERRORS * variance_error(found)


def assert_same_law(found, slow, *, moments=True):
    """Two samples come from one law, which may be discrete."""
    found, slow = np.asarray(found), np.asarray(slow)
    assert stats.ks_2samp(found, slow, method="asymp").pvalue > SIGNIFICANCE
    if moments:
        error = math.sqrt(found.var() / found.size + slow.var() / slow.size)
        assert abs(found.mean() - slow.mean()) <= STANDARD_ERRORS * error + 1e-12 * abs(slow.mean())
        error = math.hypot(variance_error(found), variance_error(slow))
        assert abs(found.var() - slow.var()) <= STANDARD_ERRORS * error + 1e-12 * slow.var()


def variance_error(sample):
    """The standard error of a sample's variance, from its fourth moment."""
    squares = (sample - sample.mean()) ** 2
    return squares.std() / math.sqrt(sample.size)

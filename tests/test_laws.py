"""The tests of laws have the power they claim, and let right draws pass."""

import math

import numpy as np
import pytest
from scipy import stats

from laws import assert_follows, assert_same_law
from sampling import exhaustive

REPEATS = 200
N = 2000


def rejections(check, draw, seed):
    rng = np.random.default_rng(seed)
    count = 0
    for _ in range(REPEATS):
        try:
            check(draw(rng), rng)
        except AssertionError:
            count += 1
    return count


def one(found, rng):
    assert_follows(found, stats.norm())


def two(found, rng):
    assert_same_law(found, rng.standard_normal(found.size))


# Of 200 samples that are each rejected with probability 0.99, fewer than 190 are rejected once in 10^4 seeds; were it 0.9,
# this would find it out with probability 0.99. Of the right ones, one in a thousand seeds has any rejected.
@exhaustive
@pytest.mark.parametrize(("check", "factor"), [(one, 1.0), (two, math.sqrt(2))], ids=["law", "samples"])
def test_power(check, factor):
    shift, share, jump = (factor * size / math.sqrt(N) for size in (7.4, 6.0, 4.0))
    assert rejections(check, lambda rng: rng.standard_normal(N), 0) == 0
    assert rejections(check, lambda rng: rng.standard_normal(N) + shift, 1) >= 190
    assert rejections(check, lambda rng: rng.standard_normal(N) * (1 + share), 2) >= 190

    def displaced(rng):
        """A share of the draws above the median moved below it, to the mirrored place: mean 0, variance 1 hardly change."""
        draws = rng.standard_normal(N)
        close = np.abs(draws) < 1.5
        moved = close & (draws > 0) & (rng.random(N) < jump / 0.4332)
        return np.where(moved, -draws, draws)

    assert rejections(check, displaced, 3) >= 190

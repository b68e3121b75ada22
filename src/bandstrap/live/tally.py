"""Numbers of rewards, their means and spreads, as a database counts them, and intervals from them."""

from __future__ import annotations

import math
from typing import NamedTuple

from bandstrap.bounds.differences.welch import welch_width
from bandstrap.bounds.student_t import student_width


class Tally(NamedTuple):
    """So many rewards, their mean, and the sum of their squared distances from it.

    >>> Tally(2, 1.0, 2.0).merged(Tally(1, 4.0, 0.0))  # 0 and 2, and 4
    Tally(n=3, mean=2.0, squares=8.0)
    """

    n: int = 0
    mean: float = math.nan
    squares: float = 0.0

    @classmethod
    def of_scaled(cls, n: int, middle: float, spread: float, total: float, squares: float) -> Tally:
        """Make a tally from the sums of ``z = (y - middle) / spread`` and of ``z^2``: near 1, so that nothing
        overflows or cancels.
        """
        shift = total / n
        return cls(n, middle + spread * shift, max(squares - total * shift, 0.0) * spread * spread)

    @property
    def variance(self) -> float:
        """The variance (1/(n-1)); 0 of one reward."""
        return self.squares / max(self.n - 1, 1)

    def merged(self, other: Tally) -> Tally:
        """Both together (Chan, Golub and LeVeque, 1979)."""
        if not (self.n and other.n):
            return self if self.n else other
        n, apart = self.n + other.n, other.mean - self.mean
        return Tally(
            n, self.mean + apart * other.n / n, self.squares + other.squares + apart * apart * self.n * other.n / n
        )


def student_interval(tally: Tally, alpha: float) -> tuple[float, float] | None:
    """Student's two-sided interval; none where rewards do not show how much they vary."""
    if tally.n < 2 or tally.squares == 0.0:
        return None
    width = float(student_width(tally.n, math.sqrt(tally.variance), alpha / 2))
    return tally.mean - width, tally.mean + width


def welch_interval(first: Tally, second: Tally, alpha: float) -> tuple[float, float] | None:
    """Welch's two-sided interval for the mean of ``first`` minus that of ``second``; none where nothing shows a spread."""
    if min(first.n, second.n) < 2 or first.squares == second.squares == 0.0:
        return None
    width = float(welch_width((first.variance, second.variance), (first.n, second.n), alpha / 2))
    apart = first.mean - second.mean
    return apart - width, apart + width

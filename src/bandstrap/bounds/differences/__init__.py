"""Confidence bounds on the difference of two means, one method per file, and on many such differences at once."""

from bandstrap.bounds.differences import bootstrap, bootstrap_t, permutation, union, welch  # noqa: F401 - registered
from bandstrap.bounds.differences.compare import Comparison, compare
from bandstrap.bounds.differences.difference import DIFFERENCES, difference

__all__ = ["DIFFERENCES", "Comparison", "compare", "difference"]

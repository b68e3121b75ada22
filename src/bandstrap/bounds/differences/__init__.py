"""Confidence bounds on the difference of two means, one method per file, and on many such differences at once."""

from bandstrap.bounds.differences.betting import betting
from bandstrap.bounds.differences.bootstrap import bootstrap
from bandstrap.bounds.differences.bootstrap_t import bootstrap_t
from bandstrap.bounds.differences.compare import Comparison, compare
from bandstrap.bounds.differences.difference import DIFFERENCES, difference
from bandstrap.bounds.differences.permutation import permutation
from bandstrap.bounds.differences.union import union
from bandstrap.bounds.differences.welch import welch

__all__ = [
    "DIFFERENCES",
    "Comparison",
    "betting",
    "bootstrap",
    "bootstrap_t",
    "compare",
    "difference",
    "permutation",
    "union",
    "welch",
]

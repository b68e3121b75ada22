"""Upper, lower and two-sided confidence bounds on a mean, one per file, and a lab that measures how often they miss."""

from bandstrap.bounds.bca import bca
from bandstrap.bounds.betting import betting
from bandstrap.bounds.bootstrap import bootstrap
from bandstrap.bounds.bootstrap_t import bootstrap_t
from bandstrap.bounds.bound import BOUNDS, Bound
from bandstrap.bounds.choose import Choice, choose
from bandstrap.bounds.clopper_pearson import clopper_pearson
from bandstrap.bounds.coverage import CoverageRow, coverage
from bandstrap.bounds.differences import DIFFERENCES, Comparison, compare, difference
from bandstrap.bounds.empirical_bernstein import empirical_bernstein
from bandstrap.bounds.empirical_kl import empirical_kl
from bandstrap.bounds.groups import GroupBounds, bound_groups
from bandstrap.bounds.hall import hall
from bandstrap.bounds.hoeffding import hoeffding
from bandstrap.bounds.mid_p import mid_p
from bandstrap.bounds.sign_flip import sign_flip
from bandstrap.bounds.student_t import student_t
from bandstrap.bounds.sub_weibull import sub_weibull
from bandstrap.bounds.symmetric_betting import symmetric_betting

__all__ = [
    "BOUNDS",
    "DIFFERENCES",
    "Bound",
    "Choice",
    "Comparison",
    "CoverageRow",
    "GroupBounds",
    "bca",
    "betting",
    "bootstrap",
    "bootstrap_t",
    "bound_groups",
    "choose",
    "clopper_pearson",
    "compare",
    "coverage",
    "difference",
    "empirical_bernstein",
    "empirical_kl",
    "hall",
    "hoeffding",
    "mid_p",
    "sign_flip",
    "student_t",
    "sub_weibull",
    "symmetric_betting",
]

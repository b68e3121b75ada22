"""Results of the theorems as functions: regret bounds, lower bounds, Orlicz norms and the tails they imply."""

from bandstrap.theory.lower_bounds import divergence, lai_robbins_bound
from bandstrap.theory.orlicz import orlicz_norm, sample_orlicz_norm
from bandstrap.theory.regret_bounds import gap_free_bound, naive_lower_bound, problem_dependent_bound
from bandstrap.theory.sign_flip import sign_flip_regret_bound, symmetric_divergence, symmetric_rate
from bandstrap.theory.studentized import studentized_regret_bound
from bandstrap.theory.tails import mean_deviation_bound, sub_weibull_constant, tail_bound
from bandstrap.theory.weighted_sums import sum_deviation_bound

__all__ = [
    "divergence",
    "gap_free_bound",
    "lai_robbins_bound",
    "mean_deviation_bound",
    "naive_lower_bound",
    "orlicz_norm",
    "problem_dependent_bound",
    "sample_orlicz_norm",
    "sign_flip_regret_bound",
    "studentized_regret_bound",
    "sub_weibull_constant",
    "sum_deviation_bound",
    "symmetric_divergence",
    "symmetric_rate",
    "tail_bound",
]

"""Bootstrap weights, and the conditional quantile of ``(1/n) sum_i w_i (y_i - ybar)``: the heart of the method."""

from bandstrap.multipliers.quantile import METHODS, WEIGHTS, bootstrap_quantile

__all__ = ["METHODS", "WEIGHTS", "bootstrap_quantile"]

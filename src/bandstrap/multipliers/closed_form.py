"""Gaussian weights: given the sample, ``X`` is exactly ``N(0, V/n)`` with ``V`` the variance of the sample (1/n)."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from bandstrap.basics.arrays import Floats


def quantiles(terms: Floats, levels: Floats) -> Floats:
    """Quantiles of ``sum_i a_i w_i`` for each row ``a`` of ``terms``: shape ``(rows, levels)``."""
    scale = np.sqrt((terms**2).sum(axis=-1))
    values: Floats = np.multiply.outer(scale, -ndtri(levels))
    return values

"""Frozen ``scipy.stats`` distributions as parts of an environment: which objects are, and what tells them apart."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_law(law: Any) -> bool:
    """Whether this is a frozen distribution of one number."""
    return all(hasattr(law, name) for name in ("rvs", "mean", "std", "support", "dist")) and np.ndim(law.mean()) == 0


def law_name(law: Any) -> str:
    """SciPy's name of the family."""
    return str(law.dist.name)


def law_content(law: Any) -> bytes:
    """What tells a law from others: name, moments, support and a few draws.

    Parameters alone do not: a family of the user's own may hold data, and the same law can be written in several ways.
    """
    with np.errstate(all="ignore"):  # SciPy's moments overflow on their way to a correct limit
        numbers = [law.mean(), law.std(), *law.support(), *law.rvs(size=64, random_state=np.random.default_rng(0))]
    return law_name(law).encode() + np.array(numbers, dtype="<f8").tobytes()

"""The probability of each arm to have the highest of independent numbers whose distributions are known."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.polynomial.legendre import leggauss

from bandstrap.basics.arrays import Floats
from bandstrap.policies.states.fields import Entries

# Nodes between two places where a distribution begins or ends; halving them changes probabilities by less than 1e-6.
N_NODES = 32
# Numbers in an array: those of a thousand arms are worked out in parts.
AT_ONCE = 1 << 20


class IndexLaws(Protocol):
    """Distributions of one number for each arm: continuous from ``bottoms`` to ``tops``, with an atom at the top."""

    bottoms: Floats
    tops: Floats
    atoms: Floats

    def below(self, y: Floats) -> Floats:
        """``P(I_k <= y_i)``, a row for each ``y_i``, as far as these lie between bottom and top of the arm."""

    def density(self, y: Floats) -> Floats:
        """Its derivative in ``y_i``, likewise."""


def distribution(law: IndexLaws, y: Floats) -> Floats:
    """``P(I_k <= y_i)``; atoms count from the top on."""
    inside = np.clip(law.below(y), 0.0, 1.0)
    column = y[:, None]
    return np.where(column >= law.tops, 1.0, np.where(column <= law.bottoms, 0.0, inside))


def products_of_others(factors: Floats) -> Floats:
    """Product of the other entries of a row, for each entry, without dividing, as some are 0."""
    ones = np.ones((len(factors), 1))
    forth: Floats = np.hstack([ones, factors[:, :-1]])
    back: Floats = np.hstack([ones, factors[:, :0:-1]])
    return np.cumprod(forth, axis=1) * np.cumprod(back, axis=1)[:, ::-1]


def chances_of_highest(law: IndexLaws, order: Entries) -> list[float]:
    r"""``P(I_k > I_j for all j)``, by Gauss's rule between bottoms and tops, and the atoms.

    .. math:: \int f_k(y) \prod_{j \ne k} F_j(y)\,dy + 2 e_k \prod_{j \ne k} F_j(\mathrm{top}_k)

    The first in ``order`` wins where tops are equal, as in a choice.
    """
    n = len(law.tops)
    least = float(law.bottoms.max())  # below it some arm never is
    chances = np.zeros(n)
    places = np.zeros(n, dtype=np.int64)
    places[list(order)] = np.arange(n)
    at_tops = distribution(law, law.tops)
    for k in range(n):
        if law.tops[k] >= least:
            ties = (law.tops == law.tops[k]) & (places < places[k])
            others = np.where(ties, 1.0 - law.atoms, at_tops[k])
            others[k] = 1.0
            chances[k] = law.atoms[k] * others.prod()
    edges = np.unique(np.concatenate([law.bottoms, law.tops]))
    edges = edges[(edges >= least) & (edges <= law.tops.max())]
    nodes, weights = leggauss(N_NODES)
    several = max(1, AT_ONCE // (N_NODES * n))
    for first in range(0, len(edges) - 1, several):
        ends = edges[first : first + several + 1]
        half = np.diff(ends)[:, None] / 2.0
        y = (ends[:-1, None] + half * (1.0 + nodes)).ravel()
        mass = (half * weights).ravel()
        column = y[:, None]
        densities = np.where((column > law.bottoms) & (column < law.tops), law.density(y), 0.0)
        chances += (mass[:, None] * densities * products_of_others(distribution(law, y))).sum(axis=0)
    return (chances / chances.sum()).tolist()

"""Evidence on which a sentence of the paper is false, a module per module of claims.

Each world is a claim, what is changed in evidence that agrees with the paper, and the verdict that the claim must get.
"""

from paper.false_worlds import (
    end_points,
    figure1,
    figure2,
    figure3,
    figure4,
    figure5,
    figure6,
    figure7,
    miss_rates,
    remark3,
    theorem2,
    theorem3,
    theorem4,
)

MODULES = (
    end_points,
    figure1,
    figure2,
    figure3,
    figure4,
    figure5,
    figure6,
    figure7,
    miss_rates,
    remark3,
    theorem2,
    theorem3,
    theorem4,
)
WORLDS = [world for module in MODULES for world in module.WORLDS]

from bandstrap.paper.claims import DEPENDS, NOT_REPRODUCED, REPRODUCED
from bandstrap.paper.claims.interpolation import BOTH_WAYS, INTERPOLATED, PANELS
from paper.synthetic import BUCB
from paper.worlds import times


def everywhere(label, factor):
    """A policy that is off by a little in all figures."""
    return [(panel, label, times(factor)) for panel in PANELS[label]]


NO_WAY = [(panel, INTERPOLATED, times(1.09)) for panel in BOTH_WAYS]

WORLDS = [
    ("points-together", everywhere("UCB", 1.07), NOT_REPRODUCED),
    ("points-together", everywhere("Jeffreys-TS", 0.93), NOT_REPRODUCED),
    # Interpolation explains what bootstrapped UCB is off by, or does not, or need not.
    ("points-together", everywhere(BUCB, 1.07), DEPENDS),
    ("points-together", everywhere(BUCB, 1.07) + NO_WAY, NOT_REPRODUCED),
    ("points-together", everywhere(BUCB, 1.07) + everywhere("UCB", 1.07), NOT_REPRODUCED),
    ("points-together", NO_WAY, REPRODUCED),
]

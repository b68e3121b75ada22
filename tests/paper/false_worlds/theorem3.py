import numpy as np

from bandstrap.paper.claims import NOT_REPRODUCED, UNDECIDED
from bandstrap.paper.claims.theorem3 import HORIZON, POLICY, SCHEDULES
from paper.worlds import shaped, times


def log_to_the(power):
    """Regret as a power of the logarithm of the horizon whose level 2/T^2 it is."""
    return shaped(lambda level: (0.5 * np.log(2 / level)) ** power)


WORLDS = [
    # log^2 T, which a limit of sqrt(2) for the ratio of two horizons let pass.
    ("theorem-3-log", [("T3-beta-1", POLICY, log_to_the(2))], NOT_REPRODUCED),
    ("theorem-3-log", [("T3-beta-2", POLICY, log_to_the(1.3))], NOT_REPRODUCED),
    ("theorem-3-log", [("T3-horizon", HORIZON, shaped(lambda t: np.log(t) ** 2))], NOT_REPRODUCED),
    # What horizons from 1,000 to 64,000 rounds give, which a limit of 2 for played horizons let pass.
    ("theorem-3-log", [("T3-horizon", HORIZON, shaped(lambda t: np.log(t) ** 1.55))], NOT_REPRODUCED),
    ("theorem-3-log", [("T3-horizon", HORIZON, shaped(np.sqrt))], NOT_REPRODUCED),
    ("theorem-3-heavy", [("T3-beta-0.5", POLICY, log_to_the(2.3))], NOT_REPRODUCED),
    ("theorem-3-heavy", [("T3-beta-0.5", POLICY, log_to_the(3))], NOT_REPRODUCED),
    ("remark-5-given-gaps", [("T3-beta-0.5", POLICY, log_to_the(5 / 3))], NOT_REPRODUCED),
    ("theorem-3-gap", [("T3-gap", POLICY, shaped(lambda gap: gap**-1.2))], NOT_REPRODUCED),
    ("theorem-3-gap", [("T3-gap", POLICY, shaped(lambda gap: gap**-2.0))], NOT_REPRODUCED),
    ("theorem-3-arms", [("T3-arms-10", POLICY, times(1.5))], NOT_REPRODUCED),
    ("theorem-3-arms", [("T3-arms-2", POLICY, times(0.5)), ("T3-arms-10", POLICY, times(2))], NOT_REPRODUCED),
    ("theorem-3-bound", [("T3-arms-5", POLICY, times(50))], NOT_REPRODUCED),
    ("theorem-3-bound", [("T3-horizon", HORIZON, times(200, 16000))], NOT_REPRODUCED),
    # Worst regret that grows like T.
    ("theorem-3-gap-free", [("T3-worst-2-32000", POLICY, times(2))], NOT_REPRODUCED),
    ("theorem-3-gap-free", [("T3-worst-0.5-32000", POLICY, times(5, 250))], NOT_REPRODUCED),
    # Worst at the largest gap tried: what lies beyond is not known.
    ("theorem-3-gap-free", [("T3-worst-0.5-2000", POLICY, times(1.2, 2000))], UNDECIDED),
    ("theorem-3-gap-free", [("T3-worst-2-32000", POLICY, times(1.5, 0.03))], UNDECIDED),
    *(
        world
        for label in SCHEDULES.values()
        for world in (
            ("remark-4", [("T3-schedule", label, shaped(lambda t: np.log(t) ** 2))], NOT_REPRODUCED),
            ("remark-4", [("T3-schedule", label, times(2, 64000))], NOT_REPRODUCED),
        )
    ),
]

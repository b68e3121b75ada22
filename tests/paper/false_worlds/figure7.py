import numpy as np

from bandstrap.paper.claims import DEPENDS, NOT_REPRODUCED, REPRODUCED
from paper.synthetic import BUCB
from paper.worlds import shaped, times

LOGARITHM = shaped(lambda t: 10 * np.log1p(t))
GIRO, FEWER = "Giro", "Giro, a = 0.1"

WORLDS = [
    ("logistic", [("7a", BUCB, times(0.8))], NOT_REPRODUCED),
    ("logistic", [("7a", "UCB", times(0.8))], NOT_REPRODUCED),
    ("logistic", [("7b", "Jeffreys-TS", times(0.5))], NOT_REPRODUCED),
    ("logistic", [("7b", "UCB", times(0.7))], NOT_REPRODUCED),
    ("giro-unbounded", [("7a", GIRO, LOGARITHM)], REPRODUCED),
    ("giro-unbounded", [("7a", GIRO, LOGARITHM), ("7d", GIRO, LOGARITHM)], DEPENDS),
    ("giro-unbounded", [("7d", FEWER, LOGARITHM), ("7e", FEWER, LOGARITHM)], DEPENDS),
    (
        "giro-unbounded",
        [(panel, giro, LOGARITHM) for panel in ("7a", "7d") for giro in (GIRO, FEWER)],
        NOT_REPRODUCED,
    ),
    ("giro-curve", [("7a", GIRO, LOGARITHM)], NOT_REPRODUCED),
    ("giro-curve", [("7a", GIRO, times(1.3))], NOT_REPRODUCED),
]

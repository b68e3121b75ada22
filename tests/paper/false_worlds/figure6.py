import dataclasses

import numpy as np

from bandstrap.paper.claims import NOT_REPRODUCED
from paper.synthetic import ROUNDS
from paper.worlds import flat, shaped, straight, times

NAIVE = "naive bootstrap"

WORLDS = [
    ("theorem-4", [("6c", NAIVE, times(0.3))], NOT_REPRODUCED),
    ("theorem-4", [("6c", NAIVE, shaped(lambda t: 300 * np.log1p(t)))], NOT_REPRODUCED),
    ("theorem-4", [("6c", NAIVE, shaped(lambda t: 10 * np.sqrt(t)))], NOT_REPRODUCED),
    (
        "theorem-4",
        [("6c", NAIVE, lambda c: dataclasses.replace(c, values=c.values * 0 + ROUNDS / 2000))],
        NOT_REPRODUCED,
    ),
    ("theorem-4-weights", [("6c", "naive, Efron's weights", times(0.3))], NOT_REPRODUCED),
    ("theorem-4-weights", [("6c", "naive, normal weights", shaped(lambda t: 300 * np.log1p(t)))], NOT_REPRODUCED),
    ("figure-6", [("C6b", "UCB", times(10))], NOT_REPRODUCED),
    ("figure-6", [("C6a", "Bernoulli-TS", times(100))], NOT_REPRODUCED),
    ("figure-6", [("C6b", "Jeffreys-TS", times(100))], NOT_REPRODUCED),
    ("figure-6", [("C6b", NAIVE, flat)], NOT_REPRODUCED),
    ("figure-6", [("C6b", NAIVE, shaped(lambda t: 10 * np.sqrt(t)))], NOT_REPRODUCED),
    ("figure-6", [("C6a", "UCB", straight(100))], NOT_REPRODUCED),
]

import dataclasses

import numpy as np

from bandstrap.paper.claims import NOT_REPRODUCED
from paper.synthetic import ROUNDS
from paper.worlds import flat, shaped, times

WORLDS = [
    ("theorem-4", [("6a", "naive bootstrap", times(0.3))], NOT_REPRODUCED),
    ("theorem-4", [("6a", "naive bootstrap", shaped(lambda t: 300 * np.log1p(t)))], NOT_REPRODUCED),
    (
        "theorem-4",
        [("6a", "naive bootstrap", lambda c: dataclasses.replace(c, values=c.values * 0 + ROUNDS / 2000))],
        NOT_REPRODUCED,
    ),
    ("figure-6", [("6b", "UCB", times(10))], NOT_REPRODUCED),
    ("figure-6", [("6a", "Bernoulli-TS", times(100))], NOT_REPRODUCED),
    ("figure-6", [("6b", "Jeffreys-TS", times(100))], NOT_REPRODUCED),
    ("figure-6", [("6b", "naive bootstrap", flat)], NOT_REPRODUCED),
]

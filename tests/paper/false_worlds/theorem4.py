import numpy as np

from bandstrap.paper.claims import NOT_REPRODUCED
from paper.worlds import shaped, times

WORLDS = [
    ("zero-quantile", [("T4-zeros", "mammen", shaped(lambda n: 1e-17 * n))], NOT_REPRODUCED),
    ("theorem-4-weights", [("T4-weights", "efron", times(0.3))], NOT_REPRODUCED),
    ("theorem-4-weights", [("T4-weights", "gaussian", shaped(lambda t: 10 * np.sqrt(t)))], NOT_REPRODUCED),
    ("theorem-4-weights", [("T4-weights", "exponential", shaped(lambda t: 30 * np.log1p(t)))], NOT_REPRODUCED),
]

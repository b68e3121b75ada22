import numpy as np

from bandstrap.paper.claims import NOT_REPRODUCED
from paper.synthetic import EXACT
from paper.worlds import misses, shaped, times

STATED, PRACTICAL, NAIVE = (f"bootstrap, {form}" for form in ("as stated", "practical", "naive"))

WORLDS = [
    ("naive-invalid", [("C1", NAIVE, misses(0.05, 10))], NOT_REPRODUCED),
    ("naive-invalid", [("C1", NAIVE, misses(0.0, 3))], NOT_REPRODUCED),
    ("naive-small", [("C1", NAIVE, times(1.1, 10))], NOT_REPRODUCED),
    ("naive-small", [("C1", EXACT, times(0.9, 2))], NOT_REPRODUCED),
    ("corrected-valid", [("1a", PRACTICAL, misses(0.08, 7))], NOT_REPRODUCED),
    ("corrected-valid", [("1b", STATED, misses(0.08, 1000))], NOT_REPRODUCED),
    ("corrected-valid", [("1b", PRACTICAL, shaped(lambda n: 1.5 / np.sqrt(n)))], NOT_REPRODUCED),
    ("sharper", [("1b", PRACTICAL, times(2.5, 100))], NOT_REPRODUCED),
    ("sharper", [("1b", STATED, times(4, 1000))], NOT_REPRODUCED),
    ("sharper", [("1b", "empirical Bernstein, b = 1 (paper)", times(0.3))], NOT_REPRODUCED),
    # A correction that shrinks no faster than the quantile, and a quantile that shrinks like 1/n.
    ("remark-1", [("1b", STATED, shaped(lambda n: 2 / np.sqrt(n)))], NOT_REPRODUCED),
    ("remark-1", [("1b", NAIVE, shaped(lambda n: 1 / n))], NOT_REPRODUCED),
]

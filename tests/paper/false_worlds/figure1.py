import numpy as np

from bandstrap.paper.claims import NOT_REPRODUCED
from paper.worlds import misses, shaped, times

WORLDS = [
    ("naive-invalid", [("C1", "bootstrap, naive", misses(0.05, 10))], NOT_REPRODUCED),
    ("naive-invalid", [("C1", "bootstrap, naive", misses(0.0, 3))], NOT_REPRODUCED),
    ("corrected-valid", [("1a", "bootstrap, practical", misses(0.08, 7))], NOT_REPRODUCED),
    ("corrected-valid", [("1b", "bootstrap, as stated", misses(0.08, 1000))], NOT_REPRODUCED),
    ("corrected-valid", [("1b", "bootstrap, practical", shaped(lambda n: 1.5 / np.sqrt(n)))], NOT_REPRODUCED),
    ("sharper", [("1b", "bootstrap, practical", times(2.5, 100))], NOT_REPRODUCED),
    ("sharper", [("1b", "bootstrap, as stated", times(4, 1000))], NOT_REPRODUCED),
    ("sharper", [("1b", "empirical Bernstein, b = 1 (paper)", times(0.3))], NOT_REPRODUCED),
]

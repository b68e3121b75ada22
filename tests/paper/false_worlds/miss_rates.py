from bandstrap.paper.claims import NOT_REPRODUCED
from paper.worlds import misses

WORLDS = [
    ("theorem-1", [("T1-weibull", "as stated", misses(0.13, 50))], NOT_REPRODUCED),
    ("theorem-1", [("T1-normal", "as stated", misses(0.13, 1))], NOT_REPRODUCED),
    ("theorem-1-proof", [("T1-laplace", "as proved", misses(0.13, 2))], NOT_REPRODUCED),
    ("theorem-1-proof", [("T1-uniform", "sharp", misses(0.13, 5))], NOT_REPRODUCED),
    ("monte-carlo", [("T1-normal", "sharp, Monte Carlo", misses(0.13, 10))], NOT_REPRODUCED),
    ("theorem-2", [("T1-normal", "theorem 2", misses(0.07, 10))], NOT_REPRODUCED),
]

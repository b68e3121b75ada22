from bandstrap.paper.claims import NOT_REPRODUCED
from paper.worlds import misses

B20, B200 = "printed, B = 20", "printed, B = 200"

WORLDS = [
    ("theorem-1-usual", [("T1-weibull", "as stated", misses(0.13, 14))], NOT_REPRODUCED),
    ("theorem-1-usual", [("T1-normal", "as stated", misses(0.13, 1))], NOT_REPRODUCED),
    ("theorem-1-proof", [("T1-laplace", "as proved", misses(0.13, 2))], NOT_REPRODUCED),
    ("theorem-1-sharp", [("T1-uniform", "sharp", misses(0.13, 5))], NOT_REPRODUCED),
    ("monte-carlo-usual", [("D-normal", B20, misses(0.18, 10))], NOT_REPRODUCED),
    ("monte-carlo-usual", [("D-weibull", B200, misses(0.13, 5))], NOT_REPRODUCED),
    ("monte-carlo-corrected", [("D-weibull", "corrected, B = 20", misses(0.18, 5))], NOT_REPRODUCED),
    ("monte-carlo-loss", [("D-normal", B20, misses(0.08, 5))], NOT_REPRODUCED),
    ("monte-carlo-loss-quantile", [("D-weibull", "no correction, B = 20", misses(0.08, 10))], NOT_REPRODUCED),
]

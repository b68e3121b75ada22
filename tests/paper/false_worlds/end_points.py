from bandstrap.paper.claims import DEPENDS, NOT_REPRODUCED
from paper.synthetic import BUCB
from paper.worlds import L1, OFUL_CLOSED, times

WORLDS = [
    ("end-points-1", [("1a", "Hoeffding, sigma = 1", times(1.2, 1))], NOT_REPRODUCED),
    ("end-points-1", [("1b", "bootstrap, practical", times(0.8, 20))], NOT_REPRODUCED),
    ("end-points-2", [("2c", "Jeffreys-TS", times(1.2))], NOT_REPRODUCED),
    ("end-points-3", [("3a", "Giro", times(0.8))], NOT_REPRODUCED),
    ("end-points-4", [("4a", BUCB, times(1.2, 20))], NOT_REPRODUCED),
    ("end-points-4", [("4b", "UCB, level 1/10,000", times(1.2, 0.5))], NOT_REPRODUCED),
    ("end-points-4", [("4b", "UCB", times(1.2, 0.5))], DEPENDS),
    ("end-points-5", [("5a", OFUL_CLOSED, times(1.2))], NOT_REPRODUCED),
    ("end-points-5", [("5a", L1, times(1.2))], DEPENDS),
    ("end-points-7", [("7b", "UCB", times(1.2))], NOT_REPRODUCED),
    ("end-points-7", [("7a", "Giro", times(0.3))], DEPENDS),
]

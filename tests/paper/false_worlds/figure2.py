from bandstrap.paper.claims import NOT_REPRODUCED
from paper.synthetic import BUCB
from paper.worlds import times

WORLDS = [
    ("truncated-normal", [("2b", BUCB, times(3.1))], NOT_REPRODUCED),
    ("truncated-normal", [("2a", "Jeffreys-TS", times(0.5))], NOT_REPRODUCED),
    ("kl-ucb", [("2a", "KL-UCB", times(0.5))], NOT_REPRODUCED),
    ("kl-ucb", [("2b", BUCB, times(1.5))], NOT_REPRODUCED),
    ("exact-posterior", [("2d", "Jeffreys-TS", times(1.5))], NOT_REPRODUCED),
    ("exact-posterior", [("2d", "UCB", times(0.5))], NOT_REPRODUCED),
    ("misspecified", [("2c", BUCB, times(2))], NOT_REPRODUCED),
    ("ucb-conservative", [("2a", "KL-UCB", times(2))], NOT_REPRODUCED),
    ("ucb-conservative", [("2c", "UCB", times(0.5))], NOT_REPRODUCED),
]

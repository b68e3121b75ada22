from bandstrap.paper.claims import NOT_REPRODUCED, REPRODUCED
from paper.synthetic import BUCB
from paper.worlds import times

BETTER_IN_D = ("2d", BUCB, times(0.8))

WORLDS = [
    ("truncated-normal", [("2b", BUCB, times(3.1))], NOT_REPRODUCED),
    ("truncated-normal", [("2a", "Jeffreys-TS", times(0.5))], NOT_REPRODUCED),
    ("kl-ucb", [("2a", "KL-UCB", times(0.5))], NOT_REPRODUCED),
    ("kl-ucb", [("2b", BUCB, times(1.5))], NOT_REPRODUCED),
    ("exact-posterior", [("2d", "Jeffreys-TS", times(1.5))], NOT_REPRODUCED),
    ("exact-posterior", [("2d", "UCB", times(0.5))], NOT_REPRODUCED),
    ("misspecified", [("2c", BUCB, times(2))], NOT_REPRODUCED),
    # In the paper's own figure 2 (d) bootstrapped UCB is no better than UCB.
    ("ucb-conservative", [], NOT_REPRODUCED),
    ("ucb-conservative", [BETTER_IN_D], REPRODUCED),
    ("ucb-conservative", [BETTER_IN_D, ("2a", "KL-UCB", times(2))], NOT_REPRODUCED),
    ("ucb-conservative", [BETTER_IN_D, ("2c", "UCB", times(0.5))], NOT_REPRODUCED),
    ("deteriorates", [("2c", "Jeffreys-TS", times(0.6)), ("2c", BUCB, times(0.6))], NOT_REPRODUCED),
    ("deteriorates", [("2a", BUCB, times(2))], NOT_REPRODUCED),
    ("deteriorates", [("2b", BUCB, times(3))], NOT_REPRODUCED),
    # The paper's own figure 7 contradicts the introduction; with another logistic panel it could be right.
    ("introduction-posterior", [], NOT_REPRODUCED),
    ("introduction-posterior", [("7a", BUCB, times(0.8))], REPRODUCED),
    ("introduction-posterior", [("7a", BUCB, times(0.8)), ("3b", "Bernoulli-TS", times(0.5))], NOT_REPRODUCED),
    ("introduction-variance", [("2c", "UCB", times(0.5))], NOT_REPRODUCED),
    ("introduction-variance", [("7b", "Jeffreys-TS", times(0.5))], NOT_REPRODUCED),
]

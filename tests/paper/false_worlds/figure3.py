from bandstrap.paper.claims import NOT_REPRODUCED
from paper.synthetic import BUCB
from paper.worlds import times

WORLDS = [
    ("bounded", [("C3a", "Giro", times(0.5))], NOT_REPRODUCED),
    ("bounded", [("3b", "Giro", times(0.4))], NOT_REPRODUCED),
    ("bounded", [("3a", "UCB", times(0.4))], NOT_REPRODUCED),
    ("bounded", [("3b", "UCB", times(0.2))], NOT_REPRODUCED),
    ("beta-ts", [("3b", BUCB, times(2))], NOT_REPRODUCED),
    ("beta-ts", [("3a", "Bernoulli-TS", times(2))], NOT_REPRODUCED),
]

from bandstrap.paper.claims import NOT_REPRODUCED
from paper.worlds import times

WORLDS = [
    ("remark-3", [("R3", "empirical KL-UCB", times(0.1, 400))], NOT_REPRODUCED),
    ("remark-3", [("R3", "resampling, B = 200", times(3))], NOT_REPRODUCED),
]

from bandstrap.paper.claims import DEPENDS, NOT_REPRODUCED
from paper.synthetic import BUCB
from paper.worlds import times

WORLDS = [
    ("giro-unbounded", [("7a", "Giro", times(0.3))], DEPENDS),
    ("giro-unbounded", [("7a", "Giro, a = 0.1", times(0.3))], DEPENDS),
    ("giro-unbounded", [("7a", BUCB, times(3))], NOT_REPRODUCED),
]

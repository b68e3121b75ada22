from bandstrap.paper.claims import DEPENDS, NOT_REPRODUCED, REPRODUCED
from bandstrap.paper.claims.figure5 import MOST_LOST
from paper.worlds import L01, L1, OFUL_CLOSED, TSL, losing, times

WORLDS = [
    ("linear", [("5a", L1, times(2))], DEPENDS),
    ("linear", [("5b", L01, times(3))], DEPENDS),
    ("linear", [("5a", L1, times(2)), ("5b", L01, times(3))], NOT_REPRODUCED),
    ("linear", [("5a", L1, losing(MOST_LOST + 0.01))], DEPENDS),
    ("linear", [("5a", L1, losing(MOST_LOST - 0.01))], REPRODUCED),
    ("linear", [("5b", TSL, times(0.1))], NOT_REPRODUCED),
    ("linear", [("5a", OFUL_CLOSED, times(0.6))], NOT_REPRODUCED),
]

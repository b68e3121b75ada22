from bandstrap.paper.claims import DEPENDS, NOT_REPRODUCED, REPRODUCED
from paper.worlds import BUCBL, OFUL, TSL, times

PLAIN = f"{BUCBL}, lambda = 1, no S"

WORLDS = [
    ("linear", [("5a", BUCBL, times(2))], NOT_REPRODUCED),
    ("linear", [("5b", BUCBL, times(3))], NOT_REPRODUCED),
    ("linear", [("5b", TSL, times(0.1))], NOT_REPRODUCED),
    ("linear", [("5a", OFUL, times(0.6))], NOT_REPRODUCED),
    # Lambda and S make no difference, or make it in one of two panels.
    ("linear", [("5a", PLAIN, times(0.7)), ("5b", PLAIN, times(0.4))], REPRODUCED),
    ("linear", [("5a", PLAIN, times(0.7))], DEPENDS),
    ("tsl-constant", [("5c", "TSL, larger constant", times(0.3))], NOT_REPRODUCED),
    ("tsl-constant", [("5c", TSL, times(3))], NOT_REPRODUCED),
]

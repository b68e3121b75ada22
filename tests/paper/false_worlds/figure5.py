from bandstrap.paper.claims import NOT_REPRODUCED
from paper.worlds import BUCBL, OFUL, TSL, times

WORLDS = [
    ("linear", [("5a", BUCBL, times(2))], NOT_REPRODUCED),
    ("linear", [("5b", BUCBL, times(3))], NOT_REPRODUCED),
    ("linear", [("5b", TSL, times(0.1))], NOT_REPRODUCED),
    ("linear", [("5a", OFUL, times(0.6))], NOT_REPRODUCED),
    ("tsl-constant", [("5c", "TSL, larger constant", times(0.3))], NOT_REPRODUCED),
    ("tsl-constant", [("5c", TSL, times(3))], NOT_REPRODUCED),
]

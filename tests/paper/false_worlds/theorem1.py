from bandstrap.paper.claims import NOT_REPRODUCED
from paper.worlds import times

# The made-up shares of what is allowed are 1/n.
WORLDS = [
    ("theorem-1", [("T1-coin", "as stated", times(9, 8))], NOT_REPRODUCED),
    ("theorem-1", [("T1-coin", "as stated, delta = 0.1", times(21, 20))], NOT_REPRODUCED),
    ("theorem-1-proof", [("T1-coin", "as proved", times(9, 8))], NOT_REPRODUCED),
    ("theorem-1-sharp", [("T1-coin", "sharp", times(9, 8))], NOT_REPRODUCED),
    ("theorem-1-constant", [("T1-constant", "needed by a coin", times(0.9))], NOT_REPRODUCED),
    ("theorem-1-constant", [("T1-constant", "enough for the proof", times(1.1))], NOT_REPRODUCED),
    ("monte-carlo", [("T1-coin-draws", "first inequality", times(6, 5))], NOT_REPRODUCED),
    ("monte-carlo", [("T1-coin-draws", "second inequality", times(14, 13))], NOT_REPRODUCED),
]

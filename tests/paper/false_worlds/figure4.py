from bandstrap.paper.claims import NOT_REPRODUCED
from paper.synthetic import BUCB
from paper.worlds import times, wider

WORLDS = [
    ("robust-sigma", [("4a", BUCB, times(1.5, 100))], NOT_REPRODUCED),
    ("robust-sigma", [("4a", "Jeffreys-TS", times(0.5, 2))], NOT_REPRODUCED),
    ("robust-sigma", [("4a", "UCB", times(9, 1))], NOT_REPRODUCED),
    ("gaps", [("4b", BUCB, times(1.5, 0.7))], NOT_REPRODUCED),
    ("gaps", [("4b", "Jeffreys-TS", times(0.8, 0.1))], NOT_REPRODUCED),
    ("bands", [("4a", "UCB", wider(2))], NOT_REPRODUCED),
    ("bands", [("4a", BUCB, wider(0.5))], NOT_REPRODUCED),
]

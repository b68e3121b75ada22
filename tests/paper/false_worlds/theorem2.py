from bandstrap.paper.claims import NOT_REPRODUCED, UNDECIDED
from paper.worlds import misses, shaped

PROVED, NEEDED, MOMENT = "proved by moments", "needed", "moment of order 8"
ORDER, UNEQUAL = "moment of order n^2", ", one large weight"


def growing(power):
    """A constant that grows with n: no one number serves all."""
    return shaped(lambda n: n ** (power - 1.0))


WORLDS = [
    ("theorem-2-heavy", [("T2-0.5", PROVED, growing(0.15))], NOT_REPRODUCED),
    ("theorem-2-heavy", [("T2-1", PROVED, growing(0.25))], NOT_REPRODUCED),
    # The same at levels exp(-n^2), with equal and with unequal weights; and where the known falsehood is not found.
    ("theorem-2-heavy", [("T2-0.5-path", PROVED, growing(0.15))], NOT_REPRODUCED),
    ("theorem-2-heavy", [("T2-1-path", PROVED + UNEQUAL, growing(0.15))], NOT_REPRODUCED),
    ("theorem-2-heavy", [("T2-1.33-path", "formula as printed", growing(0))], UNDECIDED),
    ("theorem-2-between", [("T2-1.33-tiny", NEEDED, growing(0.25))], NOT_REPRODUCED),
    ("theorem-2-corrected", [("T2-1.33-tiny", NEEDED, growing(0.25))], NOT_REPRODUCED),
    ("theorem-2-corrected", [("T2-1.33", PROVED, growing(0.15))], NOT_REPRODUCED),
    ("theorem-2-light", [("T2-2", PROVED, growing(0.15))], NOT_REPRODUCED),
    ("lemma-1", [("T2-0.5", MOMENT, growing(0.15))], NOT_REPRODUCED),
    ("lemma-1", [("T2-1.33", MOMENT, growing(0.5))], NOT_REPRODUCED),
    ("lemma-1", [("T2-1-path", ORDER, growing(0.15))], NOT_REPRODUCED),
    ("lemma-1", [("T2-1.33-path", ORDER + UNEQUAL, growing(0.15))], NOT_REPRODUCED),
    ("lemma-1", [("T2-1.33-path", "formula as printed", growing(0))], UNDECIDED),
    ("lemma-2", [("L2-display", "as displayed", misses(0.08, 5))], NOT_REPRODUCED),
    ("lemma-2", [("L2-display-heavy", "as displayed", misses(0.08, 14))], NOT_REPRODUCED),
    ("lemma-2-step", [("L2", "as used", misses(0.08, 5))], NOT_REPRODUCED),
    ("lemma-2-corrected", [("L2", "level squared", misses(0.08, 14))], NOT_REPRODUCED),
]

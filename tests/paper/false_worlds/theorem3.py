import numpy as np

from bandstrap.paper.claims import NOT_REPRODUCED
from paper.worlds import shaped

WORLDS = [
    ("theorem-3-log", [("T3-horizon", "sharp, level 1/T^2", shaped(np.sqrt))], NOT_REPRODUCED),
    ("theorem-3-log", [("T3-horizon", "as proved, level 1/T^2", shaped(np.sqrt))], NOT_REPRODUCED),
    ("theorem-3-gap", [("T3-gap", "sharp, level 1/T^2", shaped(np.ones_like))], NOT_REPRODUCED),
    ("theorem-3-gap", [("T3-gap", "sharp, level 1/T^2", shaped(lambda gap: gap**-2.0))], NOT_REPRODUCED),
]

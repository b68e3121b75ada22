from bandstrap.paper.claims import NOT_REPRODUCED
from paper.worlds import shaped

WORLDS = [("zero-quantile", [("T4-zeros-draws", "Mammen", shaped(lambda n: 1e-17 * n))], NOT_REPRODUCED)]

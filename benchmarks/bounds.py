"""How many samples per second each bound serves."""

from collections.abc import Iterator

import numpy as np

from bandstrap.bounds import BOUNDS
from benchmarks.document import Row, Table
from benchmarks.timing import best_time

# Rewards in [-1, 1]; what a bound needs to be told.
TOLD = {"sigma": 1.0, "support": (-1.0, 1.0), "beta": 2.0, "phi": 1.0}


def tables() -> Iterator[Table]:
    """One table."""
    rewards = np.random.default_rng(0).uniform(-1, 1, (2000, 30))
    rows = []
    for name, entry in BOUNDS.items():
        options = {need.split("|")[0]: TOLD[need.split("|")[0]] for need in entry.needs}
        forms = [{}] if name != "bootstrap" else [{"correction": c} for c in ("none", "practical", "sharp")]
        for form in forms:
            seconds = best_time(lambda e=entry, o=options | form: e.function(rewards, 0.05, **o), seconds=0.1)
            label = name + (f" ({form['correction']})" if form else "")
            rows.append(Row(label, len(rewards) / seconds, "per second", None, "higher"))
    yield Table("How many samples does each bound serve? (2000 samples of size 30, alpha = 0.05)", rows)

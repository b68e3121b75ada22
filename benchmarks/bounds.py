"""How many samples per second each bound serves, and how long two large groups take to compare."""

from collections.abc import Iterator

import numpy as np

from bandstrap.bounds import BOUNDS, DIFFERENCES, difference
from benchmarks.document import Row, Table
from benchmarks.timing import best_time

# Rewards in [-1, 1]; what a bound needs to be told.
TOLD = {"sigma": 1.0, "support": (-1.0, 1.0), "beta": 2.0, "phi": 1.0}


def tables() -> Iterator[Table]:
    """One for a mean, one for a difference."""
    rewards = np.random.default_rng(0).uniform(-1, 1, (2000, 30))
    rows = []
    for name, entry in BOUNDS.items():
        options = {need.split("|")[0]: TOLD[need.split("|")[0]] for need in entry.needs}
        forms = [{}] if name != "bootstrap" else [{"correction": c} for c in ("none", "practical", "sharp")]
        for form in forms:
            sample = 1.0 * (rewards > 0) if "binary" in entry.assumes else rewards
            seconds = best_time(lambda e=entry, s=sample, o=options | form: e.function(s, 0.05, **o), seconds=0.1)
            label = name + (f" ({form['correction']})" if form else "")
            rows.append(Row(label, len(rewards) / seconds, "per second", None, "higher"))
    yield Table("How many samples does each bound serve? (2000 samples of size 30, alpha = 0.05)", rows)
    yield differences()


def differences() -> Table:
    """Two-sided bounds on the difference of two large groups, as ``bandstrap compare`` makes them."""
    rng = np.random.default_rng(1)
    first, second = rng.uniform(-1, 1, 50_000), rng.uniform(-1, 1, 50_000)
    told = {"betting": {"support": (-1, 1)}, "union": {"support": (-1, 1)}}
    rows = []
    for name in DIFFERENCES:
        options = told.get(name, {})
        seconds = best_time(lambda m=name, o=options: difference(first, second, method=m, **o), seconds=0.1)
        rows.append(Row(name, seconds, "seconds"))
    return Table("How long does it take to compare two groups of 50,000? (two-sided, alpha = 0.05)", rows)

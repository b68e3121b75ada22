"""Every bound on a batch of 10,000 samples of size 30, in samples per second."""

import numpy as np

from bandstrap.bounds import BOUNDS
from benchmarks.timing import best_time, report

# Rewards in [-1, 1]; what a bound needs to be told.
TOLD = {"sigma": 1.0, "support": (-1.0, 1.0), "beta": 2.0, "phi": 1.0}


def main() -> None:
    print("Bounds: 10,000 samples of size 30, alpha = 0.05")
    rewards = np.random.default_rng(0).uniform(-1, 1, (10_000, 30))
    for name, entry in BOUNDS.items():
        options = {need.split("|")[0]: TOLD[need.split("|")[0]] for need in entry.needs}
        forms = [{}] if name != "bootstrap" else [{"correction": c} for c in ("none", "practical", "sharp")]
        for form in forms:
            seconds = best_time(lambda e=entry, o=options | form: e.function(rewards, 0.05, **o), seconds=0.1)
            label = name + (f" ({form['correction']})" if form else "")
            report(label, f"{len(rewards) / seconds:,.0f} /s")

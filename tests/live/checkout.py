"""An experiment to test with: three arms, soon established, every reward known at the next decision."""

from bandstrap import live
from live_rows import set_clock

ARMS = ["red", "green", "blue"]


def make(target, **options):
    """Create it, or open it again, with other settings if wanted."""
    told = {"policy": "ucb1", "arms": ARMS, "seed": 7, "refresh": 0, "burn_in": 2, "durability": "normal"}
    return live.create(target, "checkout", **told | options)


def at(experiment, seconds):
    """Set the database's clock, as this experiment's connection reads it."""
    set_clock(experiment.store, seconds)

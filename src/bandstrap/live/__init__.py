"""Policies behind live traffic: decisions that survive restarts, many workers, late rewards, exact propensities.

An experiment is kept in a database, SQLite or PostgreSQL, and used by any number of processes:

>>> import tempfile
>>> from bandstrap import live
>>> file = tempfile.mkdtemp() + "/shop.db"
>>> experiment = live.create(file, "checkout", policy="ucb1", arms=["red", "green"], seed=7)
>>> decision = experiment.decide(unit="u17")
>>> experiment.reward(decision.id, 12.5)
'stored'
>>> experiment.replay().is_identical
True
>>> experiment.close()
"""

from bandstrap.live.changes import AppliedChange
from bandstrap.live.copies import backup, restore
from bandstrap.live.database import StoreError
from bandstrap.live.erasure import delete_unit
from bandstrap.live.experiment import Decision, Experiment, LargeRewardWarning
from bandstrap.live.opening import ListedExperiment, create, names, open, overview  # noqa: A004 - as live.open

__all__ = [
    "AppliedChange",
    "Decision",
    "Experiment",
    "LargeRewardWarning",
    "ListedExperiment",
    "StoreError",
    "backup",
    "create",
    "delete_unit",
    "names",
    "open",
    "overview",
    "restore",
]

"""Load and compile what a worker needs. Imported once, by the process that all workers are forked from."""

import tempfile

import pytest  # noqa: F401 - children load the main module of the tests

from bandstrap import live
from bandstrap.live import postgres, sqlite  # noqa: F401 - children find it loaded
from bandstrap.live.fold import LiveState, this_build
from bandstrap.live.rows import LogEntry
from live import workers

with tempfile.TemporaryDirectory() as folder, live.create(f"{folder}/live.db", "loaded", **workers.SHOP) as experiment:
    state = LiveState(experiment.definition)
state.fold(LogEntry(i, "reward", None, i % 3, 0.1 * i, None, None, None) for i in range(1, 10))
state.choose("loaded", None, "key", None, None)
this_build(state.policy)

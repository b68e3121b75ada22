"""Load and compile what a worker needs. Imported once, by the process that all workers are forked from."""

import pytest  # noqa: F401 - children load the main module of the tests

from bandstrap.live import postgres, sqlite  # noqa: F401 - children find it loaded
from bandstrap.live.fold import State, this_build
from bandstrap.live.rows import Entry
from bandstrap.live.settings import make_settings
from live import workers


def learn(**settings):
    """Fold a few rewards, and choose."""
    state = State(make_settings(**settings))
    state.fold(Entry(i, "reward", None, i % 3, 0.1 * i, None, None, None) for i in range(1, 10))
    state.choose("loaded", None, "key", None, None)
    this_build(state.policy)


learn(**workers.SHOP)

"""The same examples every time: a test that fails for one person fails for all. ``make fuzz`` looks for others.

A warning is an error with the versions of ``requirements-dev.lock``: what newer or older libraries warn of is not ours.
"""

import gc
import os
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from hypothesis import settings

LOCK = Path(__file__).parents[1] / "requirements-dev.lock"

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("searching", deadline=None)
settings.load_profile("searching" if "BANDSTRAP_FUZZ" in os.environ else "repeatable")


def is_locked() -> bool:
    """Whether all libraries of the lock file are installed in the versions that it names."""
    pins = [line.split("==") for line in LOCK.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    try:
        return all(version(name) == pin for name, pin in pins)
    except PackageNotFoundError:
        return False


def pytest_collection_finish(session):
    """Keep the garbage collector from all that was imported and collected: a compiler makes it look often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_configure(config):
    if is_locked():
        config.addinivalue_line("filterwarnings", "error")

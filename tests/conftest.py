"""The same examples every time: a test that fails for one person fails for all. ``make fuzz`` looks for others.

A warning is an error with the versions of ``requirements-dev.lock``: what newer or older libraries warn of is not ours.
"""

import gc
import os
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from hypothesis import settings

from sampling import exhaustive

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


# --- databases ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def postgres():
    if sys.platform == "win32":
        pytest.skip("the server is started by the means of Unix")
    from postgres_server import PostgresServer

    server = PostgresServer()
    try:
        server.start()
        yield server
    finally:
        server.remove()


def place(request, tmp_path):
    """Where a store may be made: a path, or the URL of a new schema of a database."""
    if request.param == "sqlite":
        return str(tmp_path / "live.db")
    return request.getfixturevalue("postgres").new_schema()


# All is tried with both databases; make test tries with PostgreSQL what asks for ``either``.
target = pytest.fixture(place, params=["sqlite", pytest.param("postgres", marks=exhaustive)], name="target")
either = pytest.fixture(place, params=["sqlite", "postgres"], name="either")

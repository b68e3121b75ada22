"""Stores to test, of both kinds, and a PostgreSQL server for the session (for each worker, where there are several)."""

import sys

import pytest

from bandstrap.live.store import Store


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


@pytest.fixture(params=["sqlite", "postgres"])
def target(request, tmp_path):
    """Where a store may be made: a path, or the URL of a new schema of a database."""
    if request.param == "sqlite":
        return str(tmp_path / "live.db")
    return request.getfixturevalue("postgres").new_schema()


@pytest.fixture
def store(target):
    """A new store, of each kind."""
    with Store.open(target, create=True) as store:
        yield store

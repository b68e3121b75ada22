"""Databases that older versions wrote: brought up to date, with all that was in them, and gone on with.

``data/live-0.9.0.db.gz`` was written by 0.9.0: rewards on arrival with changes of arms and deferred decisions, a window
with sums, defaults, a holdout and shadow mode, of which ten decisions are still to be settled, and a linear policy.
"""

import gzip
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from bandstrap import live
from bandstrap.live.chain import first_link, is_identity_of, next_link
from bandstrap.live.store import Store
from live.workers import rows_of

STORED = Path(__file__).parent / "data" / "live-0.9.0.db.gz"
NAMES = ["arrival", "linear", "window"]
# Tables whose rows stay as they are.
SAME = (
    "live_experiment",
    "live_decision",
    "live_activation",
    "live_reward",
    "live_learned",
    "live_change",
    "live_pending",
)


def unpack(folder):
    path = folder / "old.db"
    path.write_bytes(gzip.decompress(STORED.read_bytes()))
    return path


def copy_to_server(path, url):
    """The same rows, in tables of PostgreSQL as 0.9.0 made them."""
    from bandstrap.live.postgres import PostgresStore

    with psycopg.connect(url) as connection, closing(sqlite3.connect(path)) as source:
        connection.execute(PostgresStore.steps()[0])
        for table in (*SAME, "live_schema", "live_build", "live_snapshot"):
            cursor = source.execute(f"SELECT * FROM {table}")  # noqa: S608
            names = [column[0] for column in cursor.description]
            places = ", ".join("%s::int::boolean" if name in ("deferred", "late") else "%s" for name in names)
            statement = f"INSERT INTO {table} ({', '.join(names)}) OVERRIDING SYSTEM VALUE VALUES ({places})"  # noqa: S608
            connection.cursor().executemany(statement, cursor.fetchall())
        for table in ("live_experiment", "live_reward", "live_pending"):
            connection.execute("SELECT setval(pg_get_serial_sequence(%s, 'id'), 10000)", [table])
    return url


@pytest.fixture(params=["sqlite", "postgres"])
def old(request, tmp_path):
    path = unpack(tmp_path)
    return path if request.param == "sqlite" else copy_to_server(path, request.getfixturevalue("postgres").new_schema())


def test_a_database_of_0_9_0_is_brought_up_and_replays_identically(old):
    before = {table: rows_of(old, table) for table in SAME}
    with Store.open(old) as store:
        assert store.experiments() == NAMES
    for table, rows in before.items():
        after = rows_of(old, table)
        columns = rows[0].keys() - ({"id"} if table in ("live_reward", "live_pending") else set())
        first, second = ([[row[name] for name in sorted(columns)] for row in part] for part in (after, rows))
        assert sorted(map(repr, first)) == sorted(map(repr, second)), table
    for name, n_decisions, n_entries, n_waiting in (
        ("arrival", 80, 40, 0),
        ("linear", 30, 30, 0),
        ("window", 60, 41, 10),
    ):
        with live.open(old, name) as experiment:
            replay = experiment.replay()
            assert replay.is_identical, replay.first
            assert (replay.decisions, replay.entries) == (n_decisions, n_entries)
            # It goes on: what was waiting is learned, stored decisions are given back, new ones are made.
            assert experiment.refresh() == n_entries + n_waiting
            options = {"actions": [[1.0, 0.0], [0.0, 1.0]]} if name == "linear" else {}
            stored = next(row for row in before["live_decision"] if row["experiment"] == experiment.row.id)
            again = experiment.decide(unit=stored["unit"], key=stored["key"], **options)
            assert (again.id, again.propensity) == (stored["id"], stored["propensity"])
            new = experiment.decide(unit="new", key="new", **options)
            assert new.version == n_entries + n_waiting
            experiment.reward(new.id, 1.0)
            assert experiment.replay().is_identical


def test_links_of_an_old_log_are_those_that_its_entries_give(old):
    with Store.open(old) as store:
        rows = [store.experiment(name) for name in NAMES]
        assert len({row.identity for row in rows}) == 3
        assert all(is_identity_of(row.identity, row.name, row.definition, row.created_by) for row in rows)
        for row in rows:
            link = first_link(row.identity)
            for entry in store.entries(row.id, 0, 1000, context=True):
                link = next_link(link, entry)
                assert entry.link == link

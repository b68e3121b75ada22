"""Two workers at once, in every order of statements that some seeds draw, crashes among them."""

import math
import os
from itertools import pairwise

import pytest

from bandstrap import live
from bandstrap.live.database import StoreError
from bandstrap.live.postgres import PostgresStore
from bandstrap.live.sqlite import SqliteStore
from live import history
from live.interleaving import interleave
from live.workers import HELD_OUT, SHOP, check_log, stored_of
from sampling import exhaustive, telling

SETTLING = {
    "on arrival": ({}, None),
    "when the window closes": ({"window": 60.0, "aggregate": "sum", "default_reward": 0.0}, math.fsum),
}
TIMES = math.ceil(float(os.environ.get("BANDSTRAP_FUZZ", "1")))


def settings_of(settling):
    return SHOP | HELD_OUT | {"refresh": 0, "draws": 20} | SETTLING[settling][0]


def places(request, tmp_path, kind):
    """Databases, each of them new."""
    if kind == "postgres":
        server = request.getfixturevalue("postgres")
        while True:
            yield server.new_schema()
    for number in range(10**6):
        yield str(tmp_path / f"live{number}.db")


def check_run(target, seed, settling, note=None):
    """Interleave two workers, and compare what they were told with what is stored; gives the order of statements."""
    calls, order = interleave(target, seed, settings_of(settling))
    with live.open(target, "shop") as experiment:
        experiment.refresh()
        stored = stored_of(experiment, target)
        findings, replay = history.judge(calls, stored), experiment.replay()
    if note is not None:
        note(findings, replay.is_identical)
    assert findings.is_sound, f"seed {seed}: {findings}"
    assert replay.is_identical, f"seed {seed}: {replay}"
    check_log(stored, SETTLING[settling][1])
    return calls, order


@pytest.mark.parametrize("settling", SETTLING)
@pytest.mark.parametrize(("kind", "n"), [("sqlite", 5), ("postgres", 2)])
def test_in_whichever_order_two_workers_run_nothing_is_lost_or_doubled(request, tmp_path, noting, kind, n, settling):
    begin(request, tmp_path, noting, kind, settling, range(n))


@exhaustive
@pytest.mark.parametrize("settling", SETTLING)
@pytest.mark.parametrize(("kind", "n"), [("sqlite", 30), ("postgres", 10)])
def test_in_many_more_orders(request, tmp_path, noting, kind, n, settling):
    begin(request, tmp_path, noting, kind, settling, range(100, 100 + n * TIMES))


def begin(request, tmp_path, noting, kind, settling, seeds):
    name = {"sqlite": "SQLite", "postgres": "PostgreSQL"}[kind]
    crashed = switched = 0
    for seed, target in zip(seeds, places(request, tmp_path, kind), strict=False):
        calls, order = check_run(target, seed, settling, noting(f"interleavings ({name})"))
        crashed += sum(call.result is None for call in calls)
        inside = [one for one, other in pairwise(order) if one[0] != other[0] and one[1] != "COMMIT"]
        switched += len(inside)
    assert crashed > 0 or len(seeds) < 5
    assert switched > 10 * len(seeds)  # in the middle of transactions


@telling("kind", ["sqlite", "postgres"], ["sqlite"])
def test_the_same_seed_gives_the_same_history(request, tmp_path, kind):
    targets = places(request, tmp_path, kind)
    one, two = (check_run(next(targets), 1, "on arrival") for _ in range(2))
    assert one == two


def breaks(request, tmp_path, kind, seeds):
    """How many seeds find a fault."""
    found = 0
    for seed, target in zip(seeds, places(request, tmp_path, kind), strict=False):
        try:
            check_run(target, seed, "when the window closes")
        except (AssertionError, StoreError):
            found += 1
    return found


def test_without_transactions_orders_are_found_that_break_something(request, tmp_path, monkeypatch):
    """The negative control: each statement is committed by itself."""
    ask = SqliteStore._ask

    def each(store, statement, *parameters):
        return [] if statement in ("BEGIN IMMEDIATE", "COMMIT", "ROLLBACK") else ask(store, statement, *parameters)

    monkeypatch.setattr(SqliteStore, "_ask", each)
    assert breaks(request, tmp_path, "sqlite", range(8)) > 0


@exhaustive
def test_without_locks_orders_are_found_that_break_something(request, tmp_path, monkeypatch):
    """The negative control: a reward is added while its decision is settled."""
    monkeypatch.setattr(PostgresStore, "rewarding", "")
    monkeypatch.setattr(PostgresStore, "settling", "")
    monkeypatch.setattr(PostgresStore, "sequencing", "")
    monkeypatch.setattr(PostgresStore, "skipping", "")
    assert breaks(request, tmp_path, "postgres", range(10)) > 0

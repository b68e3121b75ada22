"""Stores to test, of both kinds, and a PostgreSQL server for the session (for each worker, where there are several)."""

import os
import random
from collections import Counter, defaultdict
from functools import partial

import pytest

from bandstrap.live import experiment, opening
from bandstrap.live.store import Store


@pytest.fixture(autouse=True)
def repeatable(request, monkeypatch):
    """The same keys and seeds every time where a test gives none: it fails always or never. Other processes draw theirs."""
    if "BANDSTRAP_FUZZ" not in os.environ:
        draw = random.Random(request.node.nodeid)  # noqa: S311 - not secret
        monkeypatch.setattr(experiment, "new_key", lambda: f"{draw.getrandbits(128):032x}")
        monkeypatch.setattr(opening, "new_seed", lambda: draw.getrandbits(62))


@pytest.fixture
def store(either):
    """A new store, of each kind."""
    with Store.open(either, create=True) as store:
        yield store


# --- what faults have cost, in a table ----------------------------------------------------------------------------------

COSTS = pytest.StashKey()


@pytest.fixture
def noting(request):
    """Of a kind of fault and how often it occurred: what to tell ``check``, for the table that ``make fuzz`` prints."""

    def note(kind, number, findings, is_identical):
        row = request.config.stash.setdefault(COSTS, defaultdict(Counter))[kind]
        row["number"] += number
        row["acknowledged"] += findings.acknowledged
        row["given up"] += findings.given_up
        row["lost"] += len(findings.lost)
        row["doubled"] += len(findings.doubled)
        row["wrong"] += len(findings.wrong)
        row["checked"] += 1
        row["identical"] += is_identical

    return lambda kind, number=1: partial(note, kind, number)


def pytest_terminal_summary(terminalreporter, config):
    rows = config.stash.get(COSTS, {})
    if not rows or "BANDSTRAP_FUZZ" not in os.environ:
        return
    columns = ("number", "acknowledged", "given up", "lost", "doubled", "wrong")
    terminalreporter.write_line("")
    head = "".join(f"{column:>13}" for column in (*columns, "identical"))
    terminalreporter.write_line(f"{'kind of fault':36}{head}")
    for kind, row in sorted(rows.items()):
        cells = [*(str(row[column]) for column in columns), f"{row['identical']}/{row['checked']}"]
        terminalreporter.write_line(f"{kind:36}{''.join(f'{cell:>13}' for cell in cells)}")

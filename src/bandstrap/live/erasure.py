"""Erasure: units and keys are taken out of decisions, and what was served, and with which probability, stays.

The arm of a decision follows from a hash of its key, so that without the key it cannot be drawn again. Replay then checks
the rest: the weights follow from the log, and the propensity is that of the arm. An id is a hash of the key and stays,
since the log is chained over it: whoever guesses a key can check the guess. Where that is too much, only hashes of keys
are to be stored from the start (``bandstrap serve --privacy-key``).
"""
# ruff: noqa: S608 - statements are put together from parts of this package; whatever comes from outside is a parameter

from __future__ import annotations

import hmac
import secrets
from datetime import timedelta
from pathlib import Path

from bandstrap.errors import requirement
from bandstrap.live.database import TIMEOUT, Database, reading, writing
from bandstrap.live.rows import DecisionRow
from bandstrap.live.settings import check_duration, check_text
from bandstrap.live.store import Store

# What stands before what replaces a key or a unit.
ERASED = "erased:"
# Decisions of one transaction, so that nobody waits long.
PAGE = 1000


def delete_unit(target: str | Path, name: str, unit: str, *, timeout: str | float | timedelta = TIMEOUT) -> int:
    """Erase a unit, its name and the keys of its decisions, and return the number of its decisions.

    Parameters
    ----------
    target, name
        As :func:`bandstrap.live.open` takes them.
    unit
        The unit; decisions without a unit are erased too if it is their key.
    timeout
        As for :func:`bandstrap.live.open`.

    Notes
    -----
    Decisions of the unit keep a random name that they share, so that a unit counts once in the lift. Repeated calls under
    the old keys still find their decisions; a reward that is repeated under its old key is stored once more. Contexts and
    features of actions stay: they must not identify a person. Earlier copies still contain the unit. A server keeps old
    rows until ``VACUUM``, and in its own log.

    Examples
    --------
    >>> import tempfile
    >>> from bandstrap import live
    >>> file = tempfile.mkdtemp() + "/shop.db"
    >>> with live.create(file, "checkout", policy="ucb1", arms=["red", "green"], seed=7) as experiment:
    ...     decision = experiment.decide(unit="ann@example.org", key="ann@example.org")
    ...     print(live.delete_unit(file, "checkout", "ann@example.org"), experiment.replay().is_identical)
    1 True
    """
    text = check_text(unit, "unit", "live.delete_unit")
    patience = check_duration(timeout, "timeout", "live.delete_unit", positive=True)
    with Store.open(target, timeout=patience) as store:
        row = store.experiment(name)
        if row is None:
            raise requirement("name", "live.delete_unit", f"one of {store.experiments()[:20]}", repr(name))
        which = f"(unit = ? OR (unit IS NULL AND key = ? AND NOT key = '{ERASED}' || id))"
        return erase(store, row.id, which, text, text) + erase_forced(store, row.id, text)


def erase_before(store: Store, experiment: int, age: float) -> int:
    """Erase units and keys of decisions that are older than so many seconds; how many there were."""
    return erase(store, experiment, f"decided_at < {store.now} - ? AND NOT key = '{ERASED}' || id", age)


def erase(store: Store, experiment: int, which: str, *parameters: object) -> int:
    """Erase units and keys of the decisions that a condition of SQL names."""
    secret = secrets.token_bytes(32)  # forgotten at the end: nobody can tell which unit a new name was
    n_erased = 0
    while found := erasable(store, experiment, which, *parameters):
        replace(store, [(number, None if unit is None else new_name(secret, unit)) for number, unit in found])
        n_erased += len(found)
    if n_erased:
        store.forget()
    return n_erased


def new_name(secret: bytes, unit: str) -> str:
    """Name that replaces a unit."""
    return ERASED + hmac.new(secret, unit.encode(), "sha256").hexdigest()[:32]


@reading
def erasable(database: Database, experiment: int, which: str, *parameters: object) -> list[tuple[int, str | None]]:
    """Some decisions that are to be erased: numbers and units."""
    rows = database._ask(
        f"SELECT number, unit FROM live_decision WHERE experiment = ? AND {which} LIMIT {PAGE}", experiment, *parameters
    )
    return [(number, unit) for number, unit in rows]


@writing
def replace(database: Store, rows: list[tuple[int, str | None]]) -> None:
    """Replace units, and keys by what follows from the id."""
    database._overwrite()
    for number, unit in rows:
        database._ask(f"UPDATE live_decision SET key = '{ERASED}' || id, unit = ? WHERE number = ?", unit, number)
        database._ask(f"UPDATE live_reward SET key = '{ERASED}' || id WHERE decision = ? AND key <> ''", number)


def is_erased(decision: DecisionRow) -> bool:
    """Return whether the key of a decision was erased."""
    return decision.key == ERASED + decision.id


def hidden(secret: str, text: str) -> str:
    """A unit or a key as a service with ``--privacy-key`` stores it."""
    return hmac.new(secret.encode(), text.encode(errors="surrogatepass"), "sha256").hexdigest()


# --- arms that a service served by force --------------------------------------------------------------------------------


def erase_forced(store: Store, experiment: int, unit: str | None, age: float | None = None) -> int:
    """Erase a unit of arms served by force, or all units that are older than so many seconds; how many rows there were."""
    which, values = "(unit = ? OR (unit IS NULL AND key = ?))", tuple[object, ...]((unit, unit))
    if age is not None:
        which, values = f"at < {store.now} - ?", (age,)
    n_erased = replace_forced(store, experiment, f"{which} AND NOT key = '{ERASED}' || id", *values)
    if n_erased:
        store.forget()
    return n_erased


@writing
def replace_forced(database: Store, experiment: int, which: str, *parameters: object) -> int:
    """Replace keys by what follows from the id, and leave out units."""
    if not has_forced(database):
        return 0
    database._overwrite()
    rows = database._ask(
        f"UPDATE serve_forced SET unit = NULL, key = '{ERASED}' || id WHERE experiment = ? AND {which} RETURNING id",
        experiment,
        *parameters,
    )
    return len(rows)


def has_forced(database: Database) -> bool:
    """Return whether a service has run on this database."""
    name = "serve_forced"
    query = database.has_schema.replace("live_schema", name)
    return bool(database._ask(query)[0][0])

"""Whole copies of a SQLite file while workers use it, and their restoration under a new name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

from bandstrap.basics.storage import as_path, check_file, whole_file
from bandstrap.errors import brief, requirement
from bandstrap.live.database import StoreError
from bandstrap.live.sqlite import SqliteStore
from bandstrap.live.store import Store, is_server


def backup(target: str | Path, path: str | Path) -> None:
    """Copy a SQLite file that may be in use, by SQLite's online backup; completely or not at all.

    The copy is the committed state of one moment. It is checked (``PRAGMA integrity_check``) before it gets its name.

    Parameters
    ----------
    target
        The SQLite file; a server has ``pg_dump``.
    path
        The copy; the file must not exist yet.

    Examples
    --------
    >>> import tempfile
    >>> from bandstrap import live
    >>> folder = tempfile.mkdtemp()
    >>> live.create(f"{folder}/shop.db", "checkout", policy="ucb1", arms=["red", "green"]).close()
    >>> live.backup(f"{folder}/shop.db", f"{folder}/copy.db")
    >>> live.restore(f"{folder}/copy.db", f"{folder}/again.db")
    """
    if is_server(target):
        raise requirement("target", "live.backup", "a SQLite file; copy a PostgreSQL database with pg_dump", "a server")
    copy(target, as_path(path, "path", "live.backup"), "path", "live.backup")


def restore(path: str | Path, target: str | Path) -> None:
    """Make a new SQLite file from a backup; completely or not at all.

    Parameters
    ----------
    path
        A file written by :func:`bandstrap.live.backup`.
    target
        The new file. To replace a file, first stop the workers and move the old file away, including its ``-wal`` and
        ``-shm`` files, which SQLite would apply to the new file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from bandstrap import live
    >>> folder = Path(tempfile.mkdtemp())
    >>> live.create(folder / "shop.db", "checkout", policy="ucb1", arms=["red", "green"], seed=7).close()
    >>> live.backup(folder / "shop.db", folder / "monday.db")
    >>> live.restore(folder / "monday.db", folder / "restored.db")
    >>> live.names(folder / "restored.db")
    ['checkout']
    """
    if is_server(target):
        rule = "a SQLite file; restore a PostgreSQL database with pg_restore"
        raise requirement("target", "live.restore", rule, "a server")
    copy(as_path(path, "path", "live.restore"), as_path(target, "target", "live.restore"), "target", "live.restore")


def copy(source: str | Path, path: Path, parameter: str, owner: str) -> None:
    """Copy a database to a name that neither a file nor the log of another one has."""
    for name in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal"))):
        if os.path.lexists(name):
            raise requirement(
                parameter, owner, "a name of no file yet", f"{brief(str(path))}, and {name.name} is there"
            )
    check_file(path, parameter, owner)
    failures: list[StoreError] = []
    with cast(SqliteStore, Store.open(source)) as store:
        try:
            with whole_file(path) as part:
                part.chmod(0o600)
                try:
                    store.copy_to(part)
                except StoreError as failure:
                    failures.append(failure)
                    raise
        except OSError:
            if failures:  # of the database, not of the new file
                raise failures[0] from None
            raise

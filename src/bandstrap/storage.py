"""Files that are written whole or not at all, and the digest of sources that what they hold depends on."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bandstrap.errors import requirement


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a temporary path beside ``path`` to write to; it takes its name once writing has ended without error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def check_folder(path: Path, parameter: str, owner: str) -> None:
    """Refuse a path where no folder can be made or none can be written to; nothing is made yet.

    It is better to learn this before hours of play.
    """
    rule = "a folder that can be written to, or a path where one can be made"
    nearest = path.absolute()
    while not os.path.lexists(nearest):
        nearest = nearest.parent
    if not nearest.is_dir():
        raise requirement(parameter, owner, rule, f"{path}, where {nearest.name} is no folder,")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise requirement(parameter, owner, rule, f"{path}, where {nearest} cannot be written to,")


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def digest_sources(root: Path, folders: Iterable[str] = (".",)) -> str:
    """Digest of the names and contents of all Python sources in some folders below ``root``."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            digest.update(path.relative_to(root).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]

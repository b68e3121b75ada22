"""Every choice of every replication, of the curves of which they are wanted: large, and so in files of their own.

A file has some replications of one *lane* (see :mod:`bandstrap.experiments.merged`), and is named after both, so that what
is there is known from the names alone. The pieces of a lane are put together, as many in a file as are still read at once
with ease; the new file is on the disk before the pieces are removed.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bandstrap.engine.blocks import Block, type_of_choices
from bandstrap.engine.blocks import Choices as Array
from bandstrap.engine.parquet import read_about, rows_of, write_frame
from bandstrap.experiments.merged import LARGEST_FILE, lane_of, settled, span, stamp_of
from bandstrap.storage import read_sealed

if TYPE_CHECKING:
    from polars import DataFrame

NAME = re.compile(r"^([0-9a-f]{32})-(\d+)-(\d+)\.parquet$")


class Kept(NamedTuple):
    """A file with replications ``first`` to ``last - 1`` of a lane."""

    file: Path
    first: int
    last: int


class Choices:
    """The files of choices in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lanes: dict[str, list[Kept]] = {}
        self._changed: int | None = None
        # Files that were read to the last bit, and those that were found damaged, as they were then.
        self._whole: dict[Path, tuple[int, int]] = {}
        self._damaged: dict[Path, tuple[int, int]] = {}

    @property
    def damaged(self) -> list[Path]:
        """Files that were found damaged."""
        return [*self._damaged]

    # --- what is there ------------------------------------------------------------------------------------------------

    def has(self, about: dict[str, Any]) -> bool:
        """Whether there are files of all replications of a block; they are not read."""
        return self._cover(about) is not None

    def is_whole(self, about: dict[str, Any]) -> bool:
        """Whether there are, and each is what was written, to the last bit."""
        while True:
            cover = self._cover(about)
            if cover is None:
                return False
            if all(self._check(kept, about) for kept in cover):
                return True

    def files(self, about: dict[str, Any]) -> list[Kept]:
        """Whole files with all replications of a block, in their order, each cut to what the one before lacks."""
        if not self.is_whole(about):
            raise ValueError("choices are missing")
        return self._cover(about) or []

    def read(self, about: dict[str, Any]) -> Iterator[tuple[int, Array]]:
        """The choices of a block, file by file, each with its first replication; ``ValueError`` if any are missing."""
        for kept in self.files(about):
            first, array = read_choices(kept.file, about)
            yield kept.first, array[kept.first - first : kept.last - first]

    def _cover(self, about: dict[str, Any]) -> list[Kept] | None:
        """The fewest files with all replications of a block; ``None`` if any are missing."""
        self._refresh()
        lane = [kept for kept in self._lanes.get(lane_of(about)[:32], ()) if not self._is_damaged(kept.file)]
        place, last = span(about)
        cover = []
        while place < last:
            reach = max((kept for kept in lane if kept.first <= place < kept.last), key=lambda k: k.last, default=None)
            if reach is None:
                return None
            cover.append(Kept(reach.file, place, min(last, reach.last)))
            place = reach.last
        return cover

    def _refresh(self) -> None:
        """Look at the names, if any came or went since."""
        changed = settled(self._folder)
        if changed is not None and changed == self._changed:
            return
        self._changed = changed
        self._lanes = {}
        for file in self._folder.iterdir() if self._folder.is_dir() else ():
            found = NAME.match(file.name)
            if found:
                self._lanes.setdefault(found[1], []).append(Kept(file, int(found[2]), int(found[3])))

    def _is_damaged(self, file: Path) -> bool:
        return file in self._damaged and self._damaged[file] == stamp_of(file)

    def _check(self, kept: Kept, about: dict[str, Any]) -> bool:
        """Whether a file is what was written; it is read once."""
        stamp = stamp_of(kept.file)
        if self._whole.get(kept.file) == stamp:
            return True
        try:
            check_file(read_sealed(kept.file), kept.file, about)
        except FileNotFoundError:  # removed by another process
            self._changed = None
            return False
        except (OSError, ValueError, KeyError):
            self._damaged[kept.file] = stamp
            return False
        self._whole[kept.file] = stamp
        self._damaged.pop(kept.file, None)
        return True

    # --- writing ------------------------------------------------------------------------------------------------------

    def save(self, block: Block, choices: Array, *, lasting: bool = True) -> None:
        """Keep the choices of a block."""
        import polars

        first, last = block.first, block.last
        columns = {"replication": range(first, last), "choices": polars.Series(choices).arr.to_list()}
        about = {"block": block.about}
        write_frame(self._path(block.about, first, last), polars.DataFrame(columns), about, lasting=lasting)
        self._changed = None

    def merge(self, block: Block) -> None:
        """Put the pieces of a block, of which none is missing, together in few files."""
        n_bytes = block.horizon * type_of_choices(block.environment.n_arms).itemsize
        size = max(1, LARGEST_FILE // n_bytes)
        kept = set()
        for piece in block.cut(size):
            (first, *others) = self.files(piece.about)
            start, end = (int(text) for text in first.file.stem.split("-")[1:])
            if not others and (start == piece.first or end - start > size):  # one file has it all, and perhaps more
                kept.add(first.file)
                continue
            arrays = [array for _, array in self.read(piece.about)]
            self.save(piece, np.concatenate(arrays))
            kept.add(self._path(piece.about, piece.first, piece.last))
        self._refresh()
        for each in self._lanes.get(lane_of(block.about)[:32], ()):
            if each.file not in kept and block.first <= each.first and each.last <= block.last:
                each.file.unlink(missing_ok=True)

    def _path(self, about: dict[str, Any], first: int, last: int) -> Path:
        return self._folder / f"{lane_of(about)[:32]}-{first}-{last}.parquet"


def check_file(data: bytes, file: Path, about: dict[str, Any]) -> int:
    """Refuse a file, whose seal is whole, that has another name than its content; its first replication."""
    found = read_about(data)["block"]
    name = NAME.match(file.name)
    first, last = span(found)
    if name is None or (first, last) != (int(name[2]), int(name[3])) or lane_of(found) != lane_of(about):
        raise ValueError("choices of another block")
    return first


def read_choices(file: Path, about: dict[str, Any]) -> tuple[int, Array]:
    """The first replication of a file, and the choices in it."""
    import polars

    data = read_sealed(file)
    first = check_file(data, file, about)
    frame: DataFrame = polars.read_parquet(io.BytesIO(data))
    return first, rows_of(frame, "choices")


def bytes_of_choices(block: Block) -> int:
    """Bytes of the choices that are kept of a block; on the disk they are compressed."""
    kind = type_of_choices(block.environment.n_arms)
    return block.work * block.horizon * kind.itemsize if block.keeps_choices else 0

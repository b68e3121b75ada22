"""Every choice of every replication, of the curves of which they are wanted: large, and so in files of their own.

A file has some replications of one series (see :mod:`bandstrap.experiments.lanes`), and is named after both. The tasks of a
series are put together, as many in a file as are still read at once with ease; the new file is on the disk before the tasks
are removed.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bandstrap.basics.arrays import ChoiceArray as Array
from bandstrap.basics.storage import read_sealed
from bandstrap.engine.simulator.blocks import Block, type_of_choices
from bandstrap.engine.simulator.parquet import read_about, rows_of, write_frame
from bandstrap.errors import InvalidInput
from bandstrap.experiments.lanes import NAME, Kept, Listing, SeriesAbout, Slice, lane_of, name_of, span
from bandstrap.experiments.merged import LARGEST_FILE, stamp_of

if TYPE_CHECKING:
    from polars import DataFrame


class ChoiceFiles:
    """The files of choices in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._listing = Listing(folder)
        # Files that were read to the last bit, and those that were found damaged, as they were then.
        self._whole: dict[Path, tuple[int, int]] = {}
        self._damaged: dict[Path, tuple[int, int]] = {}

    @property
    def damaged(self) -> list[Path]:
        """Files that were found damaged."""
        return [*self._damaged]

    # --- what is there ------------------------------------------------------------------------------------------------

    def has(self, lane: str, first: int, last: int) -> bool:
        """Return whether there were files of some replications of a series when it was last looked; they are not read."""
        return self._listing.cover(lane, first, last) is not None

    def is_whole(self, about: SeriesAbout) -> bool:
        """Return whether there are files of all replications of a block, and each is what was written, to the last
        bit.
        """
        return self._whole_files(about) is not None

    def read(self, about: SeriesAbout) -> Iterator[tuple[int, Array]]:
        """The choices of a block, file by file, each with its first replication; refused if any are missing."""
        first, last = span(about)
        while first < last:
            each = self._files({**about, "first": first, "last": last})[0]
            try:
                start, array = read_choices(each.kept.file, about)
            except FileNotFoundError:  # merged into another, meanwhile
                self._listing.look()
                continue
            yield first, array[first - start : each.last - start]
            first = each.last

    def kind(self, about: SeriesAbout) -> Any:
        """The type of the arms of a block."""
        import polars

        while True:
            try:
                schema: Any = polars.read_parquet_schema(self._files(about)[0].kept.file)
                return schema["choices"].inner
            except FileNotFoundError:  # merged into another, meanwhile
                self._listing.look()

    def _files(self, about: SeriesAbout) -> list[Slice]:
        """Whole files with all replications of a block, in their order; refused if any are missing."""
        slices = self._whole_files(about)
        if slices is None:
            raise InvalidInput("choices are missing, or damaged: run the experiment again.")
        return slices

    def _whole_files(self, about: SeriesAbout) -> list[Slice] | None:
        """Whole files with all replications of a block, in their order; ``None`` if any are missing."""
        while True:
            slices = self._cover(about)
            if slices is None or all(self._check(each.kept.file, about) for each in slices):
                return slices

    def _cover(self, about: SeriesAbout) -> list[Slice] | None:
        """Files with all replications of a block, in their order; ``None`` if any are missing."""
        first, last = span(about)
        lane = lane_of(about)
        own = self._path(lane, first, last)
        if own.is_file() and not self._is_damaged(own):  # perhaps since it was last looked
            return [Slice(Kept(own, first, last), first, last)]
        if self._damaged:
            self._listing.forget(*(kept.file for kept in self._listing.of(lane) if self._is_damaged(kept.file)))
        return self._listing.cover(lane, first, last)

    def _is_damaged(self, file: Path) -> bool:
        return file in self._damaged and self._damaged[file] == stamp_of(file)

    def _check(self, file: Path, about: SeriesAbout) -> bool:
        """Return whether a file is what was written; it is read once."""
        stamp = stamp_of(file)
        if self._whole.get(file) == stamp:
            return True
        try:
            check_file(read_sealed(file), file, about)
        except FileNotFoundError:  # removed by another process
            self._listing.look()
            return False
        except (OSError, ValueError, KeyError):
            self._damaged[file] = stamp
            return False
        self._whole[file] = stamp
        self._damaged.pop(file, None)
        return True

    # --- writing ------------------------------------------------------------------------------------------------------

    def save(self, block: Block, choices: Array, *, lasting: bool = True) -> None:
        """Keep the choices of a block."""
        import polars

        first, last = block.first, block.last
        columns = {"replication": range(first, last), "choices": polars.Series(choices).arr.to_list()}
        about = {"block": block.about}
        path = self._path(lane_of(block.about), first, last)
        write_frame(path, polars.DataFrame(columns), about, lasting=lasting)
        self._listing.add(Kept(path, first, last))

    def merge(self, block: Block) -> bool:
        """Put the tasks of a block together in few files; whether none was missing."""
        lane = lane_of(block.about)
        self._listing.look()
        before = list(self._listing.of(lane))  # damaged ones among them
        n_bytes = block.horizon * type_of_choices(block.environment.n_arms).itemsize
        size = max(1, LARGEST_FILE // n_bytes)
        kept = set()
        for piece in block.cut(size):
            slices = self._whole_files(piece.about)
            if slices is None:
                return False
            first, *others = slices
            start, end = first.kept.first, first.kept.last
            if not others and (start == piece.first or end - start > size):  # one file has it all, and perhaps more
                kept.add(first.kept.file)
                continue
            arrays = [array for _, array in self.read(piece.about)]
            self.save(piece, np.concatenate(arrays))
            kept.add(self._path(lane, piece.first, piece.last))
        inside = [each.file for each in before if block.first <= each.first and each.last <= block.last]
        gone = [file for file in inside if file not in kept]
        for file in gone:
            file.unlink(missing_ok=True)
        self._listing.forget(*gone)
        return True

    def _path(self, lane: str, first: int, last: int) -> Path:
        return self._folder / name_of(lane, first, last)


def check_file(data: bytes, file: Path, about: SeriesAbout) -> int:
    """Refuse a file, whose checksum is valid, that has another name than its content; its first replication."""
    found = read_about(data)["block"]
    name = NAME.match(file.name)
    first, last = span(found)
    if name is None or (first, last) != (int(name[2]), int(name[3])) or lane_of(found) != lane_of(about):
        raise ValueError("choices of another block")
    return first


def read_choices(file: Path, about: SeriesAbout) -> tuple[int, Array]:
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

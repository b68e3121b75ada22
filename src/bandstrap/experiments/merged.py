"""Complete panels, each in one file instead of hundreds of small blocks.

A file holds whole series (see :mod:`bandstrap.experiments.lanes`), so that any task of a series is found in it, of
whatever size, also by a run that wants fewer replications, or more. Of a very large panel there are several files, so
that no more than a few series are in memory at a time. What is not kept is how long it took: the same numbers are the
same bytes, whoever played them; the core-seconds of each series are in a file of their own, in ``seconds``.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import struct
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bandstrap.basics.storage import NO_SEAL, place_of_seal, read_sealed, seal, write_bytes
from bandstrap.engine.simulator.blocks import Played
from bandstrap.engine.simulator.parquet import read_about, rows_of, write_frame
from bandstrap.engine.work.interrupts import step
from bandstrap.experiments.lanes import SeriesAbout, digest, lane_of, names_in, span
from bandstrap.experiments.plan import AnyBlock, Blocks
from bandstrap.experiments.store import Finished, Measured

# Bytes of numbers in a file, unless one series has more; and of series that were read and are kept in memory.
LARGEST_FILE = 2**26
KEPT = 2**27
# Characters of a panel's name in that of its file.
LONGEST_NAME = 80
# Nanoseconds that some file systems take for one instant, and more.
INSTANT = 100_000_000


class Series(NamedTuple):
    """Replications ``first`` to ``last - 1`` of something that was played, or one measurement: where they are kept."""

    file: Path
    number: int
    first: int
    last: int


@dataclass
class MergePart:
    """Series on the way into one file."""

    lanes: list[SeriesAbout]
    seconds: list[float]
    played: list[Played]
    n_bytes: int = 0


class Merged:
    """The files of complete panels in a folder.

    Whether each is what was written, to the last bit, is found out when it is first looked at, unless they are not
    ``checked``: then no more is read than what is in them.
    """

    def __init__(self, folder: Path, *, checked: bool = True) -> None:
        self._folder = folder
        self._checked = checked
        # Files by name, each with the series it has; and those in which there is nothing to be read, as they were then.
        self._files: dict[str, list[str]] = {}
        self._unread: dict[str, tuple[int, int]] = {}
        self._lanes: dict[str, list[Series]] = {}
        self._arrays: OrderedDict[tuple[Path, int], Played] = OrderedDict()
        self._rows: dict[tuple[Path, int], dict[str, Any]] = {}
        self._times: dict[Path, list[float]] = {}
        self._changed: int | None = None
        # Files that were found damaged.
        self.damaged: list[Path] = []

    # --- reading ------------------------------------------------------------------------------------------------------

    def load(self, about: SeriesAbout) -> Finished | None:
        """Load a block, or part of one; ``None`` unless all of it is."""
        while True:
            lane = self.find(about)
            if lane is None:
                return None
            try:
                return self._read(lane, about)
            except (OSError, ValueError):  # removed by another process, or damaged since it was looked at
                self._drop(lane.file)

    def find(self, about: SeriesAbout) -> Series | None:
        """File that holds all of a block, or of a part of one."""
        self.refresh()
        first, last = span(about)
        lanes = self._lanes.get(lane_of(about), ())
        return next((lane for lane in lanes if lane.first <= first and last <= lane.last), None)

    def lanes(self, lane: str) -> list[Series]:
        """Files that hold replications of a series."""
        self.refresh()
        return self._lanes.get(lane, [])

    def refresh(self) -> None:
        """Look at the files that have come since, and forget those that went; nothing is read while none did."""
        changed = settled(self._folder)
        if changed is not None and changed == self._changed:
            return
        self._changed = changed
        # A name tells what is in a file, so that one which is there is looked at once, unless there was nothing to be read.
        names = {name for name in names_in(self._folder) if name.endswith((".parquet", ".json"))}
        for name in self._files.keys() - names:
            self._drop(self._folder / name)
            del self._files[name]
        for name, stamp in list(self._unread.items()):
            if name not in names or stamp_of(self._folder / name) != stamp:
                del self._unread[name]
                self._files.pop(name, None)
        for name in sorted(names - self._files.keys()):
            file = self._folder / name
            self._files[name] = []
            try:
                self._look_at(file)
            except FileNotFoundError:  # removed by another process
                del self._files[name]
            except (OSError, ValueError, KeyError, TypeError):
                self._drop(file)
                self.damaged.append(file)

    def _look_at(self, file: Path) -> None:
        """Note the series of a file."""
        if file.suffix == ".json":
            content = json.loads(read_sealed(file))
        else:
            content = read_about(read_sealed(file)) if self._checked else read_footer(file)
        for index, lane in enumerate(content["lanes"]):
            first, last = span(lane["about"])
            key = lane_of(lane["about"])
            self._lanes.setdefault(key, []).append(Series(file, index, first, last))
            self._files[file.name].append(key)
            if "row" in lane:
                self._rows[file, index] = lane["row"]

    def _drop(self, file: Path) -> None:
        """Take nothing more from a file, until it is replaced."""
        self._changed = None
        for key in self._files[file.name]:
            self._lanes[key] = [lane for lane in self._lanes[key] if lane.file != file]
        for number in range(len(self._files[file.name])):
            self._arrays.pop((file, number), None)
            self._rows.pop((file, number), None)
        self._times.pop(file, None)
        self._files[file.name] = []
        self._unread[file.name] = stamp_of(file)

    def _read(self, lane: Series, about: SeriesAbout) -> Finished:
        key = lane.file, lane.number
        if key in self._rows:
            return Measured(self._rows[key], self._time(lane))
        if key not in self._arrays:  # a file is checked and read as a whole, so all of it is kept if there is room
            self._arrays.update(((lane.file, number), played) for number, played in enumerate(read_lanes(lane.file)))
        self._arrays.move_to_end(key)
        while len(self._arrays) > 1 and sum(map(n_bytes, self._arrays.values())) > KEPT:
            self._arrays.popitem(last=False)
        first, last = span(about)
        rows = slice(first - lane.first, last - lane.first)
        whole = self._arrays[key]
        if len(whole.regret) != lane.last - lane.first:
            raise ValueError("another table")
        share = (last - first) / (lane.last - lane.first)
        return Played(whole.regret[rows], whole.pulls[rows], share * self._time(lane))

    def _time(self, lane: Series) -> float:
        """Core-seconds of a series; nothing where that is no longer known."""
        if lane.file not in self._times:
            try:
                self._times[lane.file] = json.loads(read_sealed(self._seconds_of(lane.file)))["seconds"]
            except (OSError, ValueError, KeyError):
                self._times[lane.file] = []
        times = self._times[lane.file]
        return float(times[lane.number]) if lane.number < len(times) else 0.0

    # --- merging ------------------------------------------------------------------------------------------------------

    def merge(self, plan: Blocks, read: Callable[[SeriesAbout], Finished | None]) -> bool:
        """Put a panel, if it is complete, into files that are on the disk when this ends; whether it is complete.

        A file whose every series is in the new ones is removed.
        """
        blocks = {digest(block.about): block for block in plan}
        if all(self.find(block.about) is not None for block in blocks.values()):
            return True
        written: list[Path] = []
        part = MergePart([], [], [])
        for block in blocks.values():
            whole = put_together(pieces_of(block), read)
            if whole is None:
                return False
            about = {"about": block.about}
            if isinstance(whole, Measured):
                part.lanes.append({**about, "row": whole.row})
                part.seconds.append(whole.seconds)
                continue
            if part.played and part.n_bytes + n_bytes(whole) > LARGEST_FILE:
                written.append(self._write(plan.name, part))
                part = MergePart([], [], [])
            part.lanes.append(about)
            part.seconds.append(whole.seconds)
            part.played.append(whole)
            part.n_bytes += n_bytes(whole)
        written.append(self._write(plan.name, part))
        self._changed = None
        self.refresh()
        new = [key for file in written for key in self._files.get(file.name, ())]
        for file in {lane.file for key in new for lane in self._lanes[key]}.difference(written):
            if self._is_covered(file, written):
                file.unlink(missing_ok=True)
                self._seconds_of(file).unlink(missing_ok=True)
        return True

    def _write(self, panel: str, part: MergePart) -> Path:
        """Write one file, named after the panel and all that its series are about."""
        key = hashlib.sha256("".join(digest(lane["about"]) for lane in part.lanes).encode()).hexdigest()[:16]
        name = re.sub(r"[^\w.=-]", "_", panel)[:LONGEST_NAME]
        path = self._folder / f"{name}-{key}.{'parquet' if part.played else 'json'}"
        content = {"panel": panel, "lanes": part.lanes}
        # First: without it, what is in the file would have taken no time.
        times = {"seconds": part.seconds, "seal": NO_SEAL}
        write_bytes(self._seconds_of(path), seal(json.dumps(times).encode()), lasting=False)
        if not part.played:
            write_bytes(path, seal(json.dumps(content | {"seal": NO_SEAL}).encode()))
            return path
        import polars

        frames = [
            polars.DataFrame(
                {
                    "lane": np.full(len(played.regret), index, dtype=np.int32),
                    "replication": np.arange(*span(lane["about"])),
                    "regret": polars.Series(played.regret).arr.to_list(),
                    "pulls": polars.Series(played.pulls).arr.to_list(),
                }
            )
            for index, (lane, played) in enumerate(zip(part.lanes, part.played, strict=True))
        ]
        write_frame(path, polars.concat(frames), content)
        return path

    def _seconds_of(self, file: Path) -> Path:
        """File with the seconds that each series of a file took, apart from the numbers, which are the same each
        time.
        """
        return self._folder.parent / "seconds" / f"{file.stem}.json"

    def _is_covered(self, file: Path, by: Collection[Path]) -> bool:
        """Return whether some files have every series of another."""
        for key in self._files[file.name]:
            lanes = self._lanes[key]
            for old in (lane for lane in lanes if lane.file == file):
                if not any(lane.file in by and lane.first <= old.first and old.last <= lane.last for lane in lanes):
                    return False
        return True


def pieces_of(block: AnyBlock) -> Iterator[SeriesAbout]:
    """Subject of each task of a block."""
    return (piece.about for piece in block.cut())


def put_together(pieces: Iterable[SeriesAbout], read: Callable[[SeriesAbout], Finished | None]) -> Finished | None:
    """The outcome of a whole block from those of its tasks; ``None`` if any is missing."""
    parts: list[Played] = []
    for about in pieces:
        step(0)  # if it is no longer wanted
        found = read(about)
        if not isinstance(found, Played):
            return found  # a measurement, which is one task
        parts.append(found)
    regret, pulls, seconds = zip(*(part[:3] for part in parts), strict=True)
    return Played(np.concatenate(regret), np.concatenate(pulls), math.fsum(seconds))


def read_lanes(file: Path) -> list[Played]:
    """The numbers of all series of a file, which is checked to the last bit."""
    import polars

    data = read_sealed(file)
    try:
        frame = polars.read_parquet(io.BytesIO(data))
        lanes = [frame.filter(polars.col("lane") == number) for number in range(len(read_about(data)["lanes"]))]
    except (polars.exceptions.PolarsError, KeyError) as error:
        raise ValueError(f"not a panel: {error}") from None
    return [Played(rows_of(lane, "regret"), rows_of(lane, "pulls"), 0.0) for lane in lanes]


def read_footer(file: Path) -> dict[str, Any]:
    """Contents that a file declares, without the numbers, whose checksum is not verified.

    It is a text of JSON that stands as it is in the last part of a Parquet file, the length of which, of 4 bytes, is before
    the last 4. No text in it can be mistaken for its first key, because quotation marks inside a string are escaped.
    """
    with file.open("rb") as content:
        content.seek(-8, os.SEEK_END)
        n_bytes, end = struct.unpack("<I4s", content.read())
        content.seek(-8 - n_bytes, os.SEEK_END)
        footer = content.read(n_bytes)
    start = footer.rfind(b'{"panel": ')
    if end != b"PAR1" or start < 0:
        raise ValueError("not a panel")
    return dict(json.loads(footer[start : place_of_seal(footer) + len(NO_SEAL) + len('"}')]))


def stamp_of(file: Path) -> tuple[int, int]:
    """Stamp that changes when a file is replaced; nothing of one that is gone."""
    try:
        found = file.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_ino


def settled(folder: Path) -> int | None:
    """Stamp that changes when files come to a folder or go; ``None`` if there is none, or if one may yet in the same
    instant.
    """
    try:
        changed = folder.stat().st_mtime_ns
    except OSError:
        return None
    return changed if time.time_ns() - changed > INSTANT else None


def n_bytes(played: Played) -> int:
    """Bytes of the numbers of what was played."""
    return int(played.regret.nbytes + played.pulls.nbytes)

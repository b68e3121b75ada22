"""Files named after what is in them: replications ``first`` to ``last - 1`` of a *series*.

A series is all that a block is about but for which replications it has. So what is there of it is known from the names
alone, and tasks of any size serve for tasks of any other.
"""

from __future__ import annotations

import bisect
import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

SeriesAbout = dict[str, Any]

NAME = re.compile(r"^([0-9a-f]{32})-(\d+)-(\d+)\.parquet$")


def digest(about: SeriesAbout) -> str:
    """Digest of what a block is about."""
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def lane_of(about: SeriesAbout) -> str:
    """Digest of all that a block is about but for its replications."""
    return digest({key: value for key, value in about.items() if key not in ("first", "last")})


def span(about: SeriesAbout) -> tuple[int, int]:
    """The first replication, and the one after the last; a measurement counts as one."""
    return about.get("first", 0), about.get("last", 1)


def file_of(about: SeriesAbout) -> str:
    """Name of the file of a block, after all that its numbers depend on; a measurement has no replications."""
    key = lane_of(about)
    return name_of(key, *span(about)) if "first" in about else f"{key[:32]}.json"


def name_of(lane: str, first: int, last: int) -> str:
    """Name of the file with some replications of a series."""
    return f"{lane[:32]}-{first}-{last}.parquet"


class Kept(NamedTuple):
    """A file with replications ``first`` to ``last - 1`` of a series."""

    file: Path
    first: int
    last: int


class Slice(NamedTuple):
    """Replications ``first`` to ``last - 1``, and a file that has them."""

    kept: Kept
    first: int
    last: int


class Listing:
    """The files of a folder by their series, as they were when it was last looked at, at the latest when first asked."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lanes: dict[str, list[Kept]] | None = None
        # Of each series the first replications of its files, ascending, and up to each place the file that reaches
        # furthest.
        self._reach: dict[str, tuple[list[int], list[Kept]]] = {}

    def look(self) -> None:
        """Look at the folder again."""
        self._lanes, self._reach = {}, {}
        for name in names_in(self._folder):
            found = NAME.match(name)
            if found:
                kept = Kept(self._folder / name, int(found[2]), int(found[3]))
                self._lanes.setdefault(found[1], []).append(kept)

    def of(self, lane: str) -> list[Kept]:
        """The files of a series."""
        if self._lanes is None:
            self.look()
        return (self._lanes or {}).get(lane[:32], [])

    def add(self, kept: Kept) -> None:
        """Note a file that was just written."""
        lane = kept.file.name[:32]
        if self._lanes is not None:
            files = self._lanes.setdefault(lane, [])
            if kept not in files:
                files.append(kept)
            self._reach.pop(lane, None)

    def forget(self, *files: Path) -> None:
        """Take nothing from files, until they are looked at again."""
        gone = set(files)
        for lane in {file.name[:32] for file in files}:
            if self._lanes is not None and lane in self._lanes:
                self._lanes[lane] = [kept for kept in self._lanes[lane] if kept.file not in gone]
                self._reach.pop(lane, None)

    def cover(self, lane: str, first: int, last: int) -> list[Slice] | None:
        """The fewest files with all of some replications, in their order; ``None`` if any is missing."""
        files = self.of(lane)
        key = lane[:32]
        if key not in self._reach:
            ordered = sorted(files, key=lambda kept: (kept.first, kept.last))
            furthest: list[Kept] = []
            for kept in ordered:
                furthest.append(kept if not furthest or kept.last > furthest[-1].last else furthest[-1])
            self._reach[key] = [kept.first for kept in ordered], furthest
        starts, furthest_to = self._reach[key]
        slices = []
        while first < last:
            place = bisect.bisect_right(starts, first) - 1
            if place < 0 or furthest_to[place].last <= first:
                return None
            kept = furthest_to[place]
            slices.append(Slice(kept, first, min(last, kept.last)))
            first = kept.last
        return slices


def names_in(folder: Path) -> set[str]:
    """The names in a folder; none where it is not there."""
    try:
        with os.scandir(folder) as entries:
            return {entry.name for entry in entries}
    except (FileNotFoundError, NotADirectoryError):
        return set()

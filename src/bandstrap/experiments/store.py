"""Store of finished blocks: one file each, written whole or not at all, read back without running anything."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bandstrap.basics.storage import NO_SEAL, read_sealed, seal, write_bytes
from bandstrap.engine.simulator.blocks import Block, Played
from bandstrap.engine.simulator.parquet import PlayedTable, read_about, read_table, write_table
from bandstrap.experiments.lanes import Listing, SeriesAbout, Slice, file_of, lane_of, span
from bandstrap.experiments.plan import AnyBlock

# Core-seconds of a block from which on it is worth waiting for the disk: some ten times as long as that usually takes.
WORTH_WAITING = 0.2


@dataclass(frozen=True)
class Measured:
    """Outcome of a measurement, such as the fields of a ``CoverageRow``, and the seconds it took."""

    row: dict[str, Any]
    seconds: float


Finished = Played | Measured


class BlockStore:
    """A folder of finished blocks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.listing = Listing(folder)

    def path(self, block: AnyBlock) -> Path:
        """The file of a block, named after all that its numbers depend on."""
        return self.folder / file_of(block.about)

    def load(self, block: AnyBlock) -> Finished | None:
        """A finished block; ``None`` if it is missing, damaged or the file of another block: it is run again."""
        return self.read(block.about)

    def read(self, about: SeriesAbout) -> Finished | None:
        """The same, of what a block is about."""
        return self.read_one(about) or self.read_several(about)

    def read_one(self, about: SeriesAbout) -> Finished | None:
        """Read the file of a block."""
        path = self.folder / file_of(about)
        if not path.is_file():
            return None
        try:
            return read_played(path, about) if path.suffix == ".parquet" else read_row(path, about)
        except (ValueError, OSError):
            return None

    def read_several(self, about: SeriesAbout) -> Played | None:
        """A block from files of other sizes that were there when the folder was last looked at."""
        if "first" not in about:  # a measurement is in one task
            return None
        while True:
            slices = self.listing.cover(lane_of(about), *span(about))
            if slices is None:
                return None
            parts = []
            for each in slices:
                try:
                    parts.append(read_slice(each, about))
                except (ValueError, OSError):  # damaged, or removed by who merged it
                    self.listing.forget(each.kept.file)
                    break
            else:
                regret, pulls, seconds = zip(*(part[:3] for part in parts), strict=True)
                return Played(np.concatenate(regret), np.concatenate(pulls), sum(seconds))

    def save(self, block: AnyBlock, finished: Finished) -> None:
        """Keep a finished block.

        One that took long is on the disk before it has its name. The others are not waited for: a block that a power cut
        takes is run again, and its checksum shows it.
        """
        about: dict[str, Any] = {"block": block.about, "seconds": finished.seconds}
        lasting = finished.seconds >= WORTH_WAITING
        if isinstance(finished, Measured):
            about["row"] = finished.row
            write_bytes(self.path(block), seal(json.dumps(about | {"seal": NO_SEAL}).encode()), lasting=lasting)
        elif isinstance(block, Block):
            replications = np.arange(block.first, block.last)
            table = PlayedTable([block.policy.label], replications, finished.regret[None], finished.pulls[None])
            write_table(self.path(block), table, about, lasting=lasting)


def read_played(path: Path, about: SeriesAbout) -> Played:
    """Read the replications of a block from its file."""
    data = read_sealed(path)
    found = read_about(data)
    check_block(found, about)
    table = read_table(data)
    return Played(table.regret[0], table.pulls[0], float(found["seconds"]))


def read_row(path: Path, about: SeriesAbout) -> Measured:
    """Read a measurement from its file."""
    found = json.loads(read_sealed(path))
    check_block(found, about)
    return Measured(found["row"], float(found["seconds"]))


def read_slice(part: Slice, about: SeriesAbout) -> Played:
    """Some replications of the file of a block, which may have more."""
    kept = part.kept
    whole = read_played(kept.file, {**about, "first": kept.first, "last": kept.last})
    rows = slice(part.first - kept.first, part.last - kept.first)
    share = (part.last - part.first) / (kept.last - kept.first)
    return Played(whole.regret[rows], whole.pulls[rows], share * whole.seconds)


def check_block(found: SeriesAbout, about: SeriesAbout) -> None:
    """Refuse the file of another block."""
    if found.get("block") != about:
        raise ValueError("another block")

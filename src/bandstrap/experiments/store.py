"""Where finished blocks are kept: one file each, written whole or not at all, read back without running anything."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bandstrap.bounds.coverage import CoverageRow
from bandstrap.engine.blocks import Block, Played
from bandstrap.engine.parquet import Table, read_about, read_table, write_table
from bandstrap.experiments.plan import AnyBlock, BoundBlock
from bandstrap.storage import NO_SEAL, read_sealed, seal, write_bytes


@dataclass(frozen=True)
class Measured:
    """A bound at one sample size, and the seconds it took."""

    row: CoverageRow
    seconds: float


Finished = Played | Measured


class Store:
    """A folder of finished blocks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, block: AnyBlock) -> Path:
        """The file of a block, named after all that its numbers depend on."""
        return self.folder / f"{digest(block.about)[:32]}.{'json' if isinstance(block, BoundBlock) else 'parquet'}"

    def load(self, block: AnyBlock) -> Finished | None:
        """A finished block; ``None`` if it is missing, damaged or the file of another block: it is run again."""
        path = self.path(block)
        if not path.is_file():
            return None
        try:
            return self._load_row(path, block) if isinstance(block, BoundBlock) else self._load_played(path, block)
        except (ValueError, OSError):
            return None

    def save(self, block: AnyBlock, finished: Finished) -> None:
        """Keep a finished block.

        It is not waited for until it is on the disk: a block that a power cut takes is run again.
        """
        about: dict[str, Any] = {"block": block.about, "seconds": finished.seconds}
        if isinstance(finished, Measured):
            about["row"] = dataclasses.asdict(finished.row)
            write_bytes(self.path(block), seal(json.dumps(about | {"seal": NO_SEAL}).encode()), lasting=False)
        elif isinstance(block, Block):
            replications = np.arange(block.first, block.last)
            table = Table([block.policy.label], replications, finished.regret[None], finished.pulls[None])
            write_table(self.path(block), table, about, lasting=False)

    def _load_played(self, path: Path, block: Block) -> Played:
        data = read_sealed(path)
        about = read_about(data)
        check_block(about, block)
        table = read_table(data)
        return Played(table.regret[0], table.pulls[0], float(about["seconds"]))

    def _load_row(self, path: Path, block: BoundBlock) -> Measured:
        about = json.loads(read_sealed(path))
        check_block(about, block)
        return Measured(CoverageRow(**about["row"]), float(about["seconds"]))


def digest(about: dict[str, Any]) -> str:
    """Digest of what a block is about, its file's name."""
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def check_block(about: dict[str, Any], block: AnyBlock) -> None:
    """Refuse the file of another block."""
    if about.get("block") != block.about:
        raise ValueError("another block")

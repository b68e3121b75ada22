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
from bandstrap.engine.parquet import Table, read_table, write_table
from bandstrap.experiments.plan import AnyBlock, BoundBlock
from bandstrap.storage import write_text


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
        except (ValueError, TypeError, KeyError, OSError, RecursionError):
            return None

    def save(self, block: AnyBlock, finished: Finished) -> None:
        """Keep a finished block."""
        about: dict[str, Any] = {"block": block.about, "seconds": finished.seconds}
        if isinstance(finished, Measured):
            about["row"] = dataclasses.asdict(finished.row)
            write_text(self.path(block), json.dumps(about | {"digest": digest(about)}))
        elif isinstance(block, Block):
            replications = np.arange(block.first, block.last)
            table = Table([block.policy.label], replications, finished.regret[None], finished.pulls[None])
            write_table(self.path(block), table, about)

    def _load_played(self, path: Path, block: Block) -> Played:
        table, about = read_table(path)
        check_block(about, block)
        return Played(table.regret[0], table.pulls[0], float(about["seconds"]))

    def _load_row(self, path: Path, block: BoundBlock) -> Measured:
        about = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(about, dict) or about.pop("digest") != digest(about):
            raise ValueError("not what was saved")
        check_block(about, block)
        return Measured(CoverageRow(**about["row"]), float(about["seconds"]))


def digest(about: dict[str, Any]) -> str:
    """Digest of what is written as JSON."""
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def check_block(about: dict[str, Any], block: AnyBlock) -> None:
    """Refuse the file of another block."""
    if about["block"] != block.about:
        raise ValueError("another block")

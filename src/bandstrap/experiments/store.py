"""Where finished blocks are kept: one file each, written whole or not at all, read back without running anything."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bandstrap.bounds.coverage import CoverageRow
from bandstrap.errors import Floats
from bandstrap.experiments.plan import Block, BoundBlock, key
from bandstrap.storage import whole_file, write_text


@dataclass(frozen=True, eq=False)
class Played:
    """Regret of a block, shape ``(replication, checkpoint)``, and the seconds it took."""

    checkpoints: np.ndarray
    regret: Floats
    seconds: float


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

    def path(self, block: Block) -> Path:
        """The file of a block."""
        return self.folder / f"{key(block)}.{'json' if isinstance(block, BoundBlock) else 'parquet'}"

    def load(self, block: Block) -> Finished | None:
        """A finished block; ``None`` if it is not there or its file is damaged, so that it is run again."""
        path = self.path(block)
        if not path.is_file():
            return None
        try:
            return self._load_row(path) if isinstance(block, BoundBlock) else self._load_regret(path)
        except (ValueError, TypeError, KeyError, IndexError, OSError):
            return None

    def save(self, block: Block, finished: Finished) -> None:
        """Keep a finished block."""
        if isinstance(finished, Measured):
            write_text(self.path(block), json.dumps(dataclasses.asdict(finished)))
            return
        import polars

        frame = polars.DataFrame({"regret": finished.regret.ravel()}, schema={"regret": polars.Float64})
        about = {
            "block": dataclasses.asdict(block),
            "checkpoints": finished.checkpoints.tolist(),
            "seconds": finished.seconds,
        }
        with whole_file(self.path(block)) as temporary:
            frame.write_parquet(temporary, metadata={"bandstrap": json.dumps(about)})

    def _load_regret(self, path: Path) -> Played:
        import polars

        try:
            about = json.loads(polars.read_parquet_metadata(path)["bandstrap"])
            regret = polars.read_parquet(path)["regret"].to_numpy()
        except polars.exceptions.PolarsError as error:
            raise ValueError(str(error)) from None
        checkpoints = np.array(about["checkpoints"], dtype=np.int64)
        return Played(checkpoints, regret.reshape(-1, checkpoints.size), float(about["seconds"]))

    def _load_row(self, path: Path) -> Measured:
        content = json.loads(path.read_text(encoding="utf-8"))
        return Measured(CoverageRow(**content["row"]), float(content["seconds"]))

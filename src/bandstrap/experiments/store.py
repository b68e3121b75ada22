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
        """A finished block; ``None`` if it is not there or its file is damaged or of another block: it is run again."""
        path = self.path(block)
        if not path.is_file():
            return None
        try:
            return self._load_row(path, block) if isinstance(block, BoundBlock) else self._load_regret(path, block)
        except (ValueError, TypeError, KeyError, IndexError, OSError, RecursionError):
            return None

    def save(self, block: Block, finished: Finished) -> None:
        """Keep a finished block."""
        about: dict[str, Any] = {"block": dataclasses.asdict(block), "seconds": finished.seconds}
        if isinstance(finished, Measured):
            about["row"] = dataclasses.asdict(finished.row)
            write_text(self.path(block), json.dumps(about | {"digest": digest(about)}))
            return
        import polars

        frame = polars.DataFrame({"regret": finished.regret.ravel()}, schema={"regret": polars.Float64})
        about["checkpoints"] = finished.checkpoints.tolist()
        metadata = {"bandstrap": json.dumps(about | {"digest": digest(about, finished.regret)})}
        with whole_file(self.path(block)) as temporary:
            frame.write_parquet(temporary, metadata=metadata)

    def _load_regret(self, path: Path, block: Block) -> Played:
        import polars

        try:
            about = json.loads(polars.read_parquet_metadata(path)["bandstrap"])
            regret = polars.read_parquet(path)["regret"].to_numpy()
        except (polars.exceptions.PolarsError, polars.exceptions.PanicException) as error:  # the latter is no Exception
            raise ValueError(str(error)) from None
        check_whole(about, block, regret)
        checkpoints = np.array(about["checkpoints"], dtype=np.int64)
        return Played(checkpoints, regret.reshape(-1, checkpoints.size), float(about["seconds"]))

    def _load_row(self, path: Path, block: Block) -> Measured:
        about = json.loads(path.read_text(encoding="utf-8"))
        check_whole(about, block)
        return Measured(CoverageRow(**about["row"]), float(about["seconds"]))


def digest(about: dict[str, Any], regret: Floats | None = None) -> str:
    """Digest of all a file holds: Parquet would not notice a flipped bit."""
    sha = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    if regret is not None:
        sha.update(np.ascontiguousarray(regret, dtype=np.float64).tobytes())
    return sha.hexdigest()


def check_whole(about: Any, block: Block, regret: Floats | None = None) -> None:
    """Refuse what is not, to the last bit, what was saved of a block."""
    if (
        not isinstance(about, dict)
        or about.pop("digest") != digest(about, regret)
        or about["block"] != dataclasses.asdict(block)
    ):
        raise ValueError("not what was saved")

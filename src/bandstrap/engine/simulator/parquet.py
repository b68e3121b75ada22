"""Results of a simulation as Parquet: one row per policy and replication, with a checksum that shows any damage."""

from __future__ import annotations

import errno
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import AnyArray, ChoiceArray, Floats
from bandstrap.basics.extras import need
from bandstrap.basics.storage import NO_SEAL, pieces_of, seal, whole_file, write_bytes

if TYPE_CHECKING:
    from polars import DataFrame


class PlayedTable(NamedTuple):
    """Policies, the replications they all played, and regret and pulls of shape ``(policy, replication, ...)``."""

    policies: Sequence[str]
    replications: NDArray[np.int64]
    regret: Floats
    pulls: NDArray[np.int64]
    choices: ChoiceArray | None = None


def write_table(path: Path, table: PlayedTable, about: Mapping[str, object], *, lasting: bool = True) -> None:
    """Write a table, whole or not at all, with a checksum; ``about`` goes into the file's metadata."""
    need("A Parquet file", "polars")
    import polars

    n_policies, n_replications = table.regret.shape[:2]
    frame = polars.DataFrame(
        {
            "policy": np.repeat(np.array(table.policies, dtype=object), n_replications),
            "replication": np.tile(table.replications, n_policies),
            "regret": list(table.regret.reshape(n_policies * n_replications, -1)),
            "pulls": list(table.pulls.reshape(n_policies * n_replications, -1)),
        },
        schema={
            "policy": polars.String,
            "replication": polars.Int64,
            "regret": polars.List(polars.Float64),
            "pulls": polars.List(polars.Int64),
        },
    )
    if table.choices is not None:
        choices = table.choices.reshape(n_policies * n_replications, -1)
        frame = frame.with_columns(choices=polars.Series(choices).arr.to_list())
    write_frame(path, frame, about, lasting=lasting)


def write_frame(path: Path, frame: DataFrame, about: Mapping[str, object], *, lasting: bool = True) -> None:
    """Write a frame, whole or not at all, with a checksum; ``about`` goes into the file's metadata."""
    content = io.BytesIO()
    # The seal comes last in the last text of the file, where nothing that looks like it can follow.
    frame.write_parquet(content, metadata={"bandstrap": json.dumps({**about, "seal": NO_SEAL})})
    write_bytes(path, seal(content.getvalue()), lasting=lasting)


def read_about(data: bytes) -> dict[str, Any]:
    """Metadata of a table, from the bytes of a file with a valid checksum; ``ValueError`` if it has no table."""
    need("A Parquet file", "polars")
    import polars

    try:
        about: dict[str, Any] = json.loads(polars.read_parquet_metadata(io.BytesIO(data))["bandstrap"])
    except (polars.exceptions.PolarsError, KeyError) as error:  # a file of another kind with a checksum
        raise ValueError(f"not a table of ours: {error}") from None
    return about


def read_table(data: bytes) -> PlayedTable:
    """The table in the bytes of its file, whose checksum is valid."""
    import polars

    frame = polars.read_parquet(io.BytesIO(data))
    names = frame["policy"].unique(maintain_order=True).to_list()
    shape = len(names), frame.height // len(names)
    return PlayedTable(
        names,
        frame["replication"].to_numpy()[: shape[1]].copy(),
        rows_of(frame, "regret").reshape(*shape, -1),
        rows_of(frame, "pulls").reshape(*shape, -1),
        rows_of(frame, "choices").reshape(*shape, -1) if "choices" in frame.columns else None,
    )


def rows_of(frame: DataFrame, name: str) -> AnyArray:
    """A column of lists of one length as an array with one row for each; ``ValueError`` if their lengths differ."""
    lists = frame[name]
    if lists.list.len().n_unique() > 1:
        raise ValueError(f"the lists of {name} have different lengths")
    return lists.explode().to_numpy().reshape(frame.height, -1).copy()


def write_frames(
    path: Path, frames: Iterable[DataFrame], rows_at_a_time: int, metadata: dict[str, str] | None = None
) -> None:
    """Write frames, at least one, to a Parquet file, whole or not at all; one is in memory at a time.

    They are written one by one beside the file first, and put together there.
    """
    from polars import scan_ipc
    from polars.exceptions import ComputeError

    with whole_file(path) as part, pieces_of(part) as folder:
        pieces = []
        try:
            for number, frame in enumerate(frames):
                pieces.append(folder / f"{number}.arrow")
                frame.write_ipc(pieces[-1], compression="lz4")
            scan_ipc(pieces).sink_parquet(part, row_group_size=rows_at_a_time, metadata=metadata)
        except ComputeError as error:
            raise OSError(errno.EIO, str(error)) from None

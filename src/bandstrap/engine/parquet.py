"""What policies played, as Parquet: one row per policy and replication, with what it takes to detect damage."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandstrap.arrays import Floats
from bandstrap.storage import whole_file


class Table(NamedTuple):
    """Policies, the replications they all played, and regret and pulls of shape ``(policy, replication, ...)``."""

    policies: Sequence[str]
    replications: NDArray[np.int64]
    regret: Floats
    pulls: NDArray[np.int64]


def write_table(path: Path, table: Table, about: Mapping[str, Any]) -> None:
    """Write a table, whole or not at all; ``about`` goes into the file's metadata."""
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
    metadata = {"bandstrap": json.dumps({**about, "digest": digest(table, about)})}
    with whole_file(path) as temporary:
        frame.write_parquet(temporary, metadata=metadata)


def read_about(path: Path) -> dict[str, Any]:
    """What a table's metadata say; ``ValueError`` if it is not one of ours."""
    import polars

    try:
        about = json.loads(polars.read_parquet_metadata(path)["bandstrap"])
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException, KeyError, RecursionError) as error:
        raise ValueError(str(error)) from None  # a PanicException is not an Exception
    if not isinstance(about, dict):
        raise ValueError("not a table of ours")
    return about


def read_table(path: Path) -> tuple[Table, dict[str, Any]]:
    """Read what :func:`write_table` wrote; ``ValueError`` if it is not, to the last bit, what was written."""
    import polars

    about = read_about(path)
    try:
        frame = polars.read_parquet(path)
        names = frame["policy"].unique(maintain_order=True).to_list()
        shape = len(names), frame.height // len(names)
        replications = np.array(frame["replication"].to_list(), dtype=np.int64).reshape(shape)
        table = Table(
            names,
            replications[0],
            np.array(frame["regret"].to_list(), dtype=np.float64).reshape(*shape, -1),
            np.array(frame["pulls"].to_list(), dtype=np.int64).reshape(*shape, -1),
        )
        if about.pop("digest") != digest(table, about) or (replications != replications[0]).any():
            raise ValueError("not what was written")
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException) as error:
        raise ValueError(str(error)) from None
    except (KeyError, IndexError, TypeError, ZeroDivisionError) as error:
        raise ValueError(f"not a table of ours: {error!r}") from None
    return table, about


def digest(table: Table, about: Mapping[str, Any]) -> str:
    """Digest of all a file holds: Parquet would not notice a flipped bit."""
    sha = hashlib.sha256(json.dumps([about, list(table.policies)], sort_keys=True).encode())
    for values, kind in ((table.replications, np.int64), (table.regret, np.float64), (table.pulls, np.int64)):
        sha.update(str(values.shape).encode())
        sha.update(np.ascontiguousarray(values, dtype=kind).tobytes())
    return sha.hexdigest()

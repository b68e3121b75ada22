"""Frames written one by one to one Parquet file."""

import polars
import pytest

from bandstrap.basics import storage
from bandstrap.engine.simulator.parquet import write_frames

FRAMES = [
    polars.DataFrame(
        {"n": [], "text": [], "list": []}, schema={"n": polars.Int64, "text": polars.String, "list": LISTS}
    )
    for LISTS in [polars.List(polars.Float64)]
]
FRAMES += [
    FRAMES[0].vstack(polars.DataFrame({"n": [n, None], "text": [None, f"{n}"], "list": [[0.5 * n, -0.0], []]}))
    for n in range(12)
]


def test_frames_come_back_in_their_order_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "deep" / "table.parquet"
    with polars.Config() as settings:
        settings.warn_unstable(True)  # and warnings are errors
        write_frames(path, iter(FRAMES), 5)
    assert polars.read_parquet(path).equals(polars.concat(FRAMES))
    assert polars.read_parquet_schema(path) == FRAMES[0].schema
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_frames_that_end_in_an_error_leave_what_was_there(tmp_path):
    path = tmp_path / "table.parquet"
    write_frames(path, FRAMES, 5, {"about": "first"})

    def broken():
        yield FRAMES[1]
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_frames(path, broken(), 5)
    assert polars.read_parquet_metadata(path)["about"] == "first"
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_what_a_killed_process_left_of_a_part_goes_with_it(tmp_path):
    part = tmp_path / storage.PART.format("1")
    part.touch()
    with storage.part_file(tmp_path) as being_written, storage.pieces_of(being_written) as kept:
        left = part.with_suffix(storage.PIECES)
        left.mkdir()
        (left / "0.arrow").touch()
        storage.remove_orphans.cache_clear()
        storage.remove_orphans(tmp_path)
        assert kept.is_dir()
        assert not left.exists()
        assert not part.exists()
    assert list(tmp_path.iterdir()) == []

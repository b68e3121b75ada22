"""Finished blocks in files: they come back bit for bit, or are run again."""

import dataclasses
import json
import math
import pickle
import random
from pathlib import Path

import numpy as np
import pytest

from bandstrap import UCB1
from bandstrap.bounds.coverage import coverage, measure_exact
from bandstrap.engine.simulator.blocks import Block, Played
from bandstrap.environments import Gaussian
from bandstrap.experiments import store as module
from bandstrap.experiments.plan import BoundBlock
from bandstrap.experiments.store import BlockStore, Measured

PLAY = Block(UCB1(), Gaussian(), 30, 7, 0, 3, np.array([1, 10, 30]))
BOUND = BoundBlock("sign_flip", "normal", 2, 0.05, 10, 7)


def played(block=PLAY, seed=0):
    rng = np.random.default_rng(seed)
    return Played(rng.random((block.work, 3)).cumsum(axis=1), rng.integers(30, size=(block.work, 5)), 0.25)


def measured():
    (row,) = coverage("normal", 2, 0.05, bounds=["sign_flip"], replications=10, seed=7)
    assert math.isinf(row.mean_width)  # the hard case: JSON has no infinity
    return Measured(dataclasses.asdict(row), 0.5)


@pytest.fixture
def store(tmp_path):
    return BlockStore(tmp_path / "new" / "blocks")


def test_play_comes_back_bit_for_bit(store):
    kept = played()
    assert store.load(PLAY) is None
    store.save(PLAY, kept)
    back = store.load(PLAY)
    assert back.regret.tobytes() == kept.regret.tobytes()
    assert back.regret.shape == (3, 3)
    np.testing.assert_array_equal(back.pulls, kept.pulls)
    assert back.seconds == 0.25
    assert store.path(PLAY).suffix == ".parquet"


@pytest.mark.parametrize("number", [0.1 + 0.2, 5e-324, 1.7976931348623157e308, -0.0])
def test_hard_numbers_come_back(store, number):
    kept = played()._replace(regret=np.full((3, 3), number))
    store.save(PLAY, kept)
    assert store.load(PLAY).regret.tobytes() == kept.regret.tobytes()


def test_columns_in_another_memory_order_come_back(store):
    kept = played()._replace(regret=np.asfortranarray(played().regret))
    store.save(PLAY, kept)
    np.testing.assert_array_equal(store.load(PLAY).regret, kept.regret)


def test_a_bound_comes_back(store):
    store.save(BOUND, measured())
    assert store.load(BOUND).row == measured().row
    assert store.load(BOUND).seconds == 0.5
    exact = BoundBlock("exact", "uniform", 2, 0.05, 10, 7)
    row = dataclasses.asdict(measure_exact("uniform", 2, 0.05))
    store.save(exact, Measured(row, 0.1))
    assert store.load(exact).row == row


def test_a_newer_block_takes_the_place_of_an_older(store):
    store.save(PLAY, played())
    store.save(PLAY, played(seed=1))
    assert store.load(PLAY).regret.tobytes() == played(seed=1).regret.tobytes()
    assert len(list(store.folder.iterdir())) == 1


# --- files that are not what was saved --------------------------------------------------------------------------------

FINISHED = [(PLAY, played), (BOUND, measured)]
KINDS = ["play", "bound"]


@pytest.mark.parametrize(("block", "finished"), FINISHED, ids=KINDS)
def test_truncated_files_are_run_again(store, block, finished):
    store.save(block, finished())
    whole = store.path(block).read_bytes()
    for length in range(0, len(whole), max(1, len(whole) // 40)):
        store.path(block).write_bytes(whole[:length])
        assert store.load(block) is None, length


@pytest.mark.parametrize(("block", "finished"), FINISHED, ids=KINDS)
def test_a_flipped_bit_is_run_again_without_being_parsed(store, block, finished, monkeypatch):
    store.save(block, finished())
    whole = store.path(block).read_bytes()

    def parse(*_, **__):
        raise AssertionError("parsed")

    monkeypatch.setattr("polars.read_parquet_metadata", parse)
    monkeypatch.setattr(module.json, "loads", parse)
    rng = random.Random(0)  # noqa: S311 - no secret
    for _ in range(300):
        damaged = bytearray(whole)
        damaged[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        store.path(block).write_bytes(damaged)
        assert store.load(block) is None


@pytest.mark.parametrize(("block", "finished"), FINISHED, ids=KINDS)
def test_the_file_of_another_block_is_run_again(store, block, finished):
    store.save(block, finished())
    other = dataclasses.replace(block, seed=8)
    store.path(block).rename(store.path(other))
    assert store.load(other) is None


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[]", b"null", b"3", b"[" * 100_000, b"\xff\xfe", b"PAR1PAR1", pickle.dumps([1]), b'{"digest": 1}'],
    ids=["empty", "object", "list", "null", "number", "deep", "not UTF-8", "PAR1", "pickle", "digest"],
)
@pytest.mark.parametrize("block", [PLAY, BOUND], ids=KINDS)
def test_foreign_files_are_run_again(store, block, content):
    store.folder.mkdir(parents=True)
    store.path(block).write_bytes(content)
    assert store.load(block) is None


def test_foreign_parquet_is_run_again(store):
    import polars

    store.folder.mkdir(parents=True)
    for metadata in (None, {"bandstrap": "{"}, {"bandstrap": "{}"}, {"bandstrap": "null"}, {"other": "{}"}):
        polars.DataFrame({"regret": [1.0]}).write_parquet(store.path(PLAY), metadata=metadata)
        assert store.load(PLAY) is None
    store.save(PLAY, played())
    metadata = polars.read_parquet_metadata(store.path(PLAY))
    frame = polars.read_parquet(store.path(PLAY))
    for other in (
        frame.drop("pulls"),
        frame.head(2),
        frame.head(0),
        frame.with_columns(regret=polars.lit("1")),
        frame.with_columns(regret=polars.lit(None)),
        frame.with_columns(policy=polars.lit("moss")),
    ):
        other.write_parquet(store.path(PLAY), metadata={"bandstrap": metadata["bandstrap"]})
        assert store.load(PLAY) is None


def test_a_row_of_wrong_content_is_run_again(store):
    store.save(BOUND, measured())
    content = json.loads(store.path(BOUND).read_text())
    for change in ({"misses": 3}, {"sample_size": "two"}, {"colour": 1}):
        store.path(BOUND).write_text(json.dumps(content | {"row": content["row"] | change}))
        assert store.load(BOUND) is None


def test_a_folder_in_the_place_of_a_file_is_not_read(store):
    store.path(PLAY).mkdir(parents=True)
    assert store.load(PLAY) is None


# --- writing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("block", "finished"), FINISHED, ids=KINDS)
def test_an_error_while_writing_leaves_nothing_new(store, monkeypatch, block, finished):
    def fail(self, target):
        assert self.stat().st_size > 0
        raise OSError(28, "No space left on device", str(self))

    store.save(block, finished())
    before = store.path(block).read_bytes()
    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match=f"No space left on device: '{store.path(block)}'"):
        store.save(block, finished())
    assert [path.name for path in store.folder.iterdir()] == [store.path(block).name]
    assert store.path(block).read_bytes() == before


def test_nothing_is_pickled(store, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("no pickle")

    for name in ("dump", "dumps", "load", "loads"):
        monkeypatch.setattr(pickle, name, refuse)
    for block, finished in FINISHED:
        store.save(block, finished())
        assert store.load(block) is not None
    assert not hasattr(module, "pickle")


def test_a_block_that_took_long_is_on_the_disk_before_it_has_its_name(store, monkeypatch):
    waited = []
    monkeypatch.setattr(
        "bandstrap.basics.storage.synchronise", lambda path: waited.append((path.suffix, path.exists()))
    )
    store.save(PLAY, played()._replace(seconds=0.01))
    assert waited == []
    store.save(PLAY, played()._replace(seconds=1.0))
    assert waited[0] == (".part", True)
    assert store.load(PLAY) is not None

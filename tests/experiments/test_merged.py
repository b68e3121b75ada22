"""Complete panels in one file each: any piece comes back bit for bit, and nothing is lost on the way."""

import dataclasses
import random

import numpy as np
import pytest

from bandstrap import UCB1
from bandstrap.bounds.coverage import coverage
from bandstrap.engine.simulator.blocks import Block, Played
from bandstrap.environments import Gaussian
from bandstrap.experiments import lanes
from bandstrap.experiments import merged as module
from bandstrap.experiments.folder import Folder
from bandstrap.experiments.lanes import lane_of
from bandstrap.experiments.merged import Merged
from bandstrap.experiments.plan import BoundBlock, CurvePlan, PanelPlan
from bandstrap.experiments.spec import Curve, Panel
from bandstrap.experiments.store import Measured

SIGMAS = (1.0, 2.0, 3.0)


def block(sigma=1.0, last=60, marks=(1, 10, 30), n_arms=5):
    return Block(UCB1(sigma=sigma), Gaussian(n_arms=n_arms), 30, 7, 0, last, np.array(marks))


def plan(*blocks, name="a"):
    curves = tuple(CurvePlan(Curve(label=str(i), policy="ucb1"), (None,), (b,)) for i, b in enumerate(blocks))
    return PanelPlan(Panel(name=name, environment="gaussian", curves=tuple(c.curve for c in curves)), curves)


def outcome(piece):
    """Numbers that belong to each replication, whatever piece it comes in."""
    rows = [np.random.default_rng([r, int(piece.policy.sigma)]) for r in range(piece.first, piece.last)]
    regret = np.array([rng.random(piece.checkpoints.size).cumsum() for rng in rows])
    pulls = np.array([rng.integers(30, size=piece.environment.n_arms) for rng in rows])
    return Played(regret, pulls, 0.5)


def save(store, *blocks):
    for each in blocks:
        for piece in each.cut():
            store.save(piece, outcome(piece))


def is_there(found, piece):
    expected = outcome(piece)
    return found.regret.tobytes() == expected.regret.tobytes() and (found.pulls == expected.pulls).all()


def panel_files(folder):
    return sorted(folder.panels.iterdir()) if folder.panels.is_dir() else []


def block_files(folder):
    return sorted(folder.blocks.iterdir())


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "out").mkdir()
    return Folder(tmp_path / "out")


@pytest.mark.parametrize("size", [1, 7, 25, 64])
def test_pieces_of_any_size_come_back_from_a_merged_panel_bit_for_bit(folder, size):
    blocks = [block(sigma) for sigma in SIGMAS]
    store = folder.store()
    save(store, *blocks)
    assert folder.merge(plan(*blocks), store)
    assert block_files(folder) == []
    assert len(panel_files(folder)) == 1
    for reader in (store, folder.store()):
        for each in blocks:
            assert all(is_there(reader.load(piece), piece) for piece in each.cut(size))


def test_lanes_of_different_widths_share_a_file(folder):
    blocks = [block(1.0, n_arms=2, marks=(30,)), block(2.0, n_arms=9)]
    store = folder.store()
    save(store, *blocks)
    assert folder.merge(plan(*blocks), store)
    for each in blocks:
        assert is_there(folder.store().merged.load(each.about), each)


def test_a_merge_lists_its_folder_once(folder, monkeypatch):
    blocks = [block(sigma) for sigma in SIGMAS]
    store = folder.store()
    save(store, *blocks)
    listed, whole = [], lanes.names_in
    monkeypatch.setattr(lanes, "names_in", lambda place: (listed.append(place), whole(place))[1])
    assert folder.merge(plan(*blocks), store)
    assert listed == [folder.blocks]
    assert block_files(folder) == []
    assert store.listing.of(lane_of(block().about)) == []


def test_damaged_blocks_of_another_size_go_when_the_panel_is_merged(folder):
    store = folder.store()
    for piece in block().cut(7):
        store.save(piece, outcome(piece))
    file = store.path(next(block().cut(7)))
    file.write_bytes(file.read_bytes()[:-1])
    save(store, block())
    assert folder.merge(plan(block()), store)
    assert block_files(folder) == []


def test_a_panel_that_lacks_a_piece_is_not_merged_and_keeps_its_blocks(folder):
    blocks = [block(1.0), block(2.0)]
    store = folder.store()
    save(store, *blocks)
    store.path(next(blocks[1].cut())).unlink()
    before = block_files(folder)
    assert not folder.merge(plan(*blocks), store)
    assert block_files(folder) == before
    assert panel_files(folder) == []


def test_the_same_numbers_are_the_same_bytes_whoever_played_them(folder, tmp_path):
    one = block()
    save(folder.store(), one)
    folder.merge(plan(one), folder.store())
    other = Folder(tmp_path)
    for piece in one.cut():
        other.store().save(piece, outcome(piece)._replace(seconds=99.0))
    other.merge(plan(one), other.store())
    (first,), (second,) = panel_files(folder), panel_files(other)
    assert (first.name, first.read_bytes()) == (second.name, second.read_bytes())


def test_more_replications_take_the_place_of_fewer_and_fewer_are_found_in_more(folder):
    store = folder.store()
    save(store, block(last=50))
    folder.merge(plan(block(last=50)), store)
    (old,) = panel_files(folder)
    for piece in block(last=100).cut():
        if piece.first >= 50:
            store.save(piece, outcome(piece))
    assert folder.merge(plan(block(last=100)), store)
    (new,) = panel_files(folder)
    assert new != old
    assert is_there(folder.store().merged.load(block(last=100).about), block(last=100))
    assert is_there(folder.store().merged.load(block(last=30).about), block(last=30))
    assert folder.merge(plan(block(last=50)), folder.store())  # nothing to write
    assert panel_files(folder) == [new]


def test_one_policy_with_fewer_and_more_replications_in_one_panel(folder):
    store = folder.store()
    save(store, block(last=10), block(last=50))
    assert folder.merge(plan(block(last=10), block(last=50)), store)
    save(store, block(last=75))
    assert folder.merge(plan(block(last=10), block(last=75)), store)
    assert len(panel_files(folder)) == 1
    for last in (10, 50, 75):
        assert is_there(folder.store().merged.load(block(last=last).about), block(last=last))


def test_panels_that_share_nothing_are_not_looked_at_again_for_each_other(folder, monkeypatch):
    looked, compared = [], []
    read, covered = module.read_sealed, Merged._is_covered
    monkeypatch.setattr(module, "read_sealed", lambda file: (looked.append(file), read(file))[1])
    monkeypatch.setattr(Merged, "_is_covered", lambda *of: (compared.append(of), covered(*of))[1])
    store = folder.store()
    for sigma in range(1, 21):
        save(store, block(float(sigma), last=2))
        assert folder.merge(plan(block(float(sigma), last=2), name=f"p{sigma}"), store)
    assert sorted(looked) == panel_files(folder)  # each once
    assert compared == []


def test_a_file_is_kept_while_another_panel_has_something_in_it_alone(folder):
    store = folder.store()
    save(store, block(1.0), block(2.0))
    folder.merge(plan(block(1.0), block(2.0)), store)
    save(store, block(1.0, last=75))
    folder.merge(plan(block(1.0, last=75), name="b"), store)
    assert len(panel_files(folder)) == 2
    assert is_there(folder.store().merged.load(block(2.0).about), block(2.0))


def test_a_panel_takes_what_it_shares_with_one_that_was_merged_before(folder):
    store = folder.store()
    save(store, block(1.0), block(2.0))
    assert folder.merge(plan(block(1.0)), store)
    assert folder.merge(plan(block(1.0), block(2.0), name="b"), store)
    assert [file.name[:2] for file in panel_files(folder)] == ["b-"]  # which has all of a's
    assert is_there(folder.store().merged.load(block(1.0).about), block(1.0))


def test_a_large_panel_is_cut_into_files_of_whole_lanes(folder, monkeypatch):
    monkeypatch.setattr(module, "LARGEST_FILE", 8000)
    blocks = [block(sigma) for sigma in SIGMAS]  # of 60 x (3 + 5) x 8 = 3840 bytes each
    store = folder.store()
    save(store, *blocks)
    assert folder.merge(plan(*blocks), store)
    assert len(panel_files(folder)) == 2
    for each in blocks:
        assert is_there(folder.store().merged.load(each.about), each)


def test_a_file_is_read_once_for_all_its_lanes(folder, monkeypatch):
    blocks = [block(sigma) for sigma in SIGMAS]
    store = folder.store()
    save(store, *blocks)
    folder.merge(plan(*blocks), store)
    reader = Merged(folder.panels)
    reader.refresh()
    files = []
    whole = module.read_sealed
    monkeypatch.setattr(module, "read_sealed", lambda file: (files.append(file), whole(file))[1])
    assert all(is_there(reader.load(piece.about), piece) for each in blocks for piece in each.cut())
    assert [file.parent.name for file in files] == ["panels", "seconds"]


def test_little_is_kept_in_memory(folder, monkeypatch):
    monkeypatch.setattr(module, "KEPT", 1)
    blocks = [block(sigma) for sigma in SIGMAS]
    store = folder.store()
    save(store, *blocks)
    folder.merge(plan(*blocks), store)
    reader = Merged(folder.panels)
    assert all(is_there(reader.load(each.about), each) for each in blocks)
    assert len(reader._arrays) == 1


def test_measurements_are_merged_too(folder):
    blocks = [BoundBlock("sign_flip", "normal", n, 0.05, 10, 7) for n in (2, 9)]
    store = folder.store()
    sizes = {"bounds": ["sign_flip"], "replications": 10, "seed": 7}
    rows = [dataclasses.asdict(coverage("normal", n, 0.05, **sizes)[0]) for n in (2, 9)]
    for each, row in zip(blocks, rows, strict=True):
        store.save(each, Measured(row, 0.5))
    curve = Curve(label="x", bound="sign_flip")
    panel = Panel(name="c", plot="bounds", distribution="normal", sample_sizes=(2, 9), curves=(curve,))
    assert folder.merge(PanelPlan(panel, (CurvePlan(curve, (2.0, 9.0), tuple(blocks)),)), store)
    assert block_files(folder) == []
    assert [folder.store().load(each).row for each in blocks] == rows


def test_any_flipped_bit_is_seen_and_the_panel_is_made_again(folder, flipped):
    store = folder.store()
    save(store, block())
    folder.merge(plan(block()), store)
    (file,) = panel_files(folder)
    whole = file.read_bytes()
    for _ in flipped(file):
        damaged = folder.store()
        assert damaged.load(next(block().cut())) is None
        assert damaged.merged.damaged == [file]
    save(damaged, block())
    assert folder.merge(plan(block()), damaged)
    assert file.read_bytes() == whole


def test_a_sealed_file_of_another_kind_is_not_taken_for_a_panel(folder):
    save(folder.store(), block())
    folder.panels.mkdir()
    stray = folder.panels / "x.parquet"
    stray.write_bytes(block_files(folder)[0].read_bytes())
    reader = Merged(folder.panels)
    assert reader.load(block().about) is None
    assert reader.damaged == [stray]


def test_another_process_may_merge_replace_and_remove_meanwhile(folder):
    blocks = [block(1.0), block(2.0)]
    mine, theirs = folder.store(), folder.store()
    save(theirs, *blocks)
    assert is_there(mine.load(next(blocks[0].cut())), next(blocks[0].cut()))
    folder.merge(plan(*blocks), theirs)
    assert is_there(mine.load(next(blocks[1].cut())), next(blocks[1].cut()))
    save(theirs, block(1.0, last=75), block(2.0, last=75))
    folder.merge(plan(block(1.0, last=75), block(2.0, last=75)), theirs)
    assert len(panel_files(folder)) == 1
    assert all(is_there(mine.load(piece), piece) for each in blocks for piece in each.cut(10))
    panel_files(folder)[0].unlink()
    assert mine.load(next(blocks[0].cut())) is None


def test_a_lane_is_what_a_block_is_about_but_for_replications():
    one = lane_of(block(last=25).about)
    assert {lane_of(piece.about) for piece in block(last=100).cut(9)} == {one}
    others = [block(2.0), block(marks=(30,)), block(n_arms=4)]
    assert one not in [lane_of(each.about) for each in others]
    assert lane_of(BoundBlock("x", "normal", 2, 0.05, 10, 7).about) != lane_of(
        BoundBlock("x", "normal", 2, 0.05, 11, 7).about
    )


def test_a_kill_between_writing_a_panel_and_removing_its_blocks_loses_nothing(folder, monkeypatch):
    store = folder.store()
    save(store, block())
    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.unlink", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            folder.merge(plan(block()), store)
    assert len(block_files(folder)) == 3
    assert folder.merge(plan(block()), folder.store())
    assert block_files(folder) == []
    assert is_there(folder.store().merged.load(block().about), block())


def test_what_is_in_a_file_is_known_without_its_numbers(folder):
    blocks = [block(sigma) for sigma in SIGMAS]
    store = folder.store()
    save(store, *blocks)
    folder.merge(plan(*blocks), store)
    (file,) = panel_files(folder)
    whole = file.read_bytes()
    assert module.read_footer(file) == module.read_about(whole)
    # Numbers that nobody reads may be anything; what says what is in the file is either read or not.
    file.write_bytes(b"\x00" * 200 + whole[200:])
    assert Merged(folder.panels, checked=False).find(blocks[0].about) is not None
    assert Merged(folder.panels).find(blocks[0].about) is None
    rng = random.Random(0)  # noqa: S311 - no secret
    for length in [*range(12), *(rng.randrange(len(whole)) for _ in range(20))]:
        file.write_bytes(whole[:length])
        assert Merged(folder.panels, checked=False).find(blocks[0].about) is None
    for _ in range(200):
        data = bytearray(whole)
        data[rng.randrange(len(whole) - 2000, len(whole))] ^= 1 << rng.randrange(8)
        file.write_bytes(data)
        Merged(folder.panels, checked=False).find(blocks[0].about)

"""Every choice, kept on request: as they were played, in few files, and nothing else changes."""

from dataclasses import replace

import numpy as np
import polars
import pytest

from bandstrap import UCB1, GaussianTS, simulate
from bandstrap.engine.simulator.blocks import Block, play_blocks, type_of_choices
from bandstrap.engine.simulator.result import Result
from bandstrap.environments import Gaussian
from bandstrap.errors import InvalidInput
from bandstrap.experiments import choices as module
from bandstrap.experiments.choices import ChoiceFiles
from bandstrap.experiments.folder import Folder
from bandstrap.experiments.plan import CurvePlan, PanelPlan
from bandstrap.experiments.spec import Curve, Panel
from sampling import each

SIZES = {"horizon": 40, "replications": 60, "seed": 7, "progress": False}


def block(sigma=1.0, last=60, keeps_choices=True):
    marks = np.array([1, 20, 40])
    return Block(UCB1(sigma=sigma), Gaussian(n_arms=3), 40, 7, 0, last, marks, keeps_choices=keeps_choices)


def plan(*blocks):
    curves = tuple(CurvePlan(Curve(label=str(i), policy="ucb1"), (None,), (b,)) for i, b in enumerate(blocks))
    return PanelPlan(Panel(name="a", environment="gaussian", curves=tuple(c.curve for c in curves)), curves)


def save(store, whole, size=25):
    for piece in whole.cut(size):
        store.save(piece, play_blocks([piece])[0])


def chosen(about, folder):
    return np.concatenate([array for _, array in ChoiceFiles(folder.choices).read(about)])


def names(folder):
    return sorted(path.name.partition("-")[2] for path in folder.choices.iterdir())


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def test_choices_are_those_that_were_played():
    # From pulls and regret, which are computed from the choices apart from what is kept of them.
    world = Gaussian(means=[1, 0.5, 0])
    result = simulate([UCB1(), GaussianTS()], world, **SIZES, choices=True)
    assert result.choices.shape == (2, 60, 40)
    assert result.choices.dtype == np.uint8
    counts = np.array([[np.bincount(row, minlength=3) for row in rows] for rows in result.choices])
    assert (counts == result.pulls).all()
    lost = np.array([0, 0.5, 1])[result.choices].cumsum(axis=2)[:, :, result.checkpoints - 1]
    assert result.regret == pytest.approx(lost, abs=1e-12)
    without = simulate([UCB1(), GaussianTS()], world, **SIZES)
    assert without.choices is None
    assert without.regret.tobytes() == result.regret.tobytes()
    other = simulate([UCB1(), GaussianTS()], world, **SIZES, choices=True, block_size=7)
    assert other.choices.tobytes() == result.choices.tobytes()


def test_a_result_with_choices_is_written_and_read(tmp_path):
    result = simulate([UCB1(), GaussianTS()], Gaussian(n_arms=3), **SIZES, choices=True)
    result.to_parquet(tmp_path / "r.parquet")
    found = Result.from_parquet(tmp_path / "r.parquet")
    assert found.choices.dtype == np.uint8
    assert found.choices.tobytes() == result.choices.tobytes()
    assert found.regret.tobytes() == result.regret.tobytes()


@each(("n_arms", "kind"), [(1, "u1"), (2, "u1"), (256, "u1"), (257, "u2"), (65536, "u2"), (65537, "u4")])
def test_the_smallest_type_is_used(n_arms, kind):
    assert type_of_choices(n_arms) == np.dtype(kind)


def test_choices_that_memory_would_not_hold_are_refused():
    with pytest.raises(InvalidInput, match="'replications' parameter of simulate must be small enough"):
        simulate(UCB1(), Gaussian(), horizon=10**5, replications=10**9, seed=0, choices=True)
    with pytest.raises(InvalidInput, match="'choices' parameter of simulate"):
        simulate(UCB1(), Gaussian(), **SIZES, choices="perhaps")


def test_a_block_is_about_the_same_with_choices_and_without():
    assert block(keeps_choices=True).about == block(keeps_choices=False).about


@pytest.mark.parametrize("size", [1, 7, 25, 64])
def test_pieces_are_put_together_and_come_back(folder, size):
    save(folder.store(), block(), size)
    assert len(names(folder)) == -(-60 // size)
    expected = play_blocks([block()])[0].choices
    assert chosen(block().about, folder).tobytes() == expected.tobytes()
    store = folder.store()
    store.choices.merge(block())
    assert names(folder) == ["0-60.parquet"]
    assert chosen(block().about, folder).tobytes() == expected.tobytes()
    for piece in block().cut(9):
        assert (chosen(piece.about, folder) == expected[piece.first : piece.last]).all()


def test_a_merged_file_is_the_same_however_it_was_played(folder, tmp_path):
    other = Folder(tmp_path / "other")
    for place, size in ((folder, 7), (other, 25)):
        save(place.store(), block(), size)
        place.store().choices.merge(block())
    (one,), (two,) = folder.choices.iterdir(), other.choices.iterdir()
    assert (one.name, one.read_bytes()) == (two.name, two.read_bytes())


def test_files_are_not_larger_than_is_read_with_ease(folder, monkeypatch):
    monkeypatch.setattr(module, "LARGEST_FILE", 40 * 28)
    store = folder.store()
    save(store, block())
    store.choices.merge(block())
    assert names(folder) == ["0-28.parquet", "28-56.parquet", "56-60.parquet"]
    assert chosen(block().about, folder).tobytes() == play_blocks([block()])[0].choices.tobytes()


def test_more_replications_are_added_and_fewer_are_found_in_more(folder):
    store = folder.store()
    save(store, block(last=50))
    store.choices.merge(block(last=50))
    save(store, replace(block(last=100), first=50))
    store.choices.merge(block(last=100))
    assert names(folder) == ["0-100.parquet"]
    store.choices.merge(block(last=50))
    assert names(folder) == ["0-100.parquet"]
    assert chosen(block(last=30).about, folder).tobytes() == play_blocks([block(last=30)])[0].choices.tobytes()


def test_what_has_no_choices_is_played_again_and_nothing_else(folder):
    store = folder.store()
    save(store, block(1.0, keeps_choices=False))
    save(store, block(2.0))
    missing = [piece for sigma in (1.0, 2.0) for piece in block(sigma).cut() if store.load(piece) is None]
    assert [piece.policy.sigma for piece in missing] == [1.0] * 3
    assert all(store.load(piece) is not None for piece in block(1.0, keeps_choices=False).cut())
    assert folder.merge(plan(block(1.0, keeps_choices=False), block(2.0)), store)
    assert [store.has(block(sigma)) for sigma in (1.0, 2.0)] == [False, True]
    assert store.has(block(2.0, keeps_choices=False))


def test_any_flipped_bit_is_seen_and_the_choices_are_played_again(folder, flipped):
    save(folder.store(), block())
    folder.merge(plan(block()), folder.store())
    (file,) = folder.choices.iterdir()
    whole = file.read_bytes()
    for _ in flipped(file):
        store = folder.store()
        assert not store.has(block())
        assert store.choices.damaged == [file]
    save(store, block())
    assert store.has(block())
    folder.merge(plan(block()), store)
    assert file.read_bytes() == whole
    assert names(folder) == ["0-60.parquet"]


def test_a_file_swapped_with_another_is_not_taken_for_it(folder):
    for sigma in (1.0, 2.0):
        save(folder.store(), block(sigma))
        folder.store().choices.merge(block(sigma))
    one, two = folder.choices.iterdir()
    data = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(data)
    assert not any(folder.store().choices.is_whole(block(sigma).about) for sigma in (1.0, 2.0))


def test_a_kill_at_any_step_of_merging_loses_nothing(folder, monkeypatch):
    expected = play_blocks([block()])[0].choices
    save(folder.store(), block(), 7)
    unlink = module.Path.unlink
    for step in range(20):
        done = []

        def fail(path, *rest, done=done, step=step, **options):
            if len(done) >= step:
                raise KeyboardInterrupt
            done.append(path)
            unlink(path, *rest, **options)

        with monkeypatch.context() as patch:
            patch.setattr("pathlib.Path.unlink", fail)
            try:
                folder.store().choices.merge(block())
                break
            except KeyboardInterrupt:
                assert chosen(block().about, folder).tobytes() == expected.tobytes()
    assert names(folder) == ["0-60.parquet"]


def test_choices_are_read_while_another_process_merges_them(folder):
    save(folder.store(), block(), 7)
    whole = chosen(block().about, folder)
    reading = ChoiceFiles(folder.choices).read(block().about)
    first = [next(reading)]
    folder.store().choices.merge(block())  # and removes the pieces
    assert names(folder) == ["0-60.parquet"]
    parts = [*first, *reading]
    assert [start for start, _ in parts] == [0, 7]
    np.testing.assert_array_equal(np.concatenate([array for _, array in parts]), whole)
    for file in folder.choices.iterdir():
        file.unlink()
    with pytest.raises(InvalidInput, match="choices are missing, or damaged: run the experiment again"):
        chosen(block().about, folder)


def test_the_type_of_arms_is_found_while_another_process_merges(folder, monkeypatch):
    save(folder.store(), block(), 7)
    whole = polars.read_parquet_schema

    def merged_meanwhile(file):
        folder.store().choices.merge(block())
        return whole(file)

    monkeypatch.setattr(polars, "read_parquet_schema", merged_meanwhile)
    assert ChoiceFiles(folder.choices).kind(block().about) == polars.UInt8


def test_damaged_files_of_another_size_go_when_the_choices_are_merged(folder):
    save(folder.store(), block(), 7)
    file = next(folder.choices.glob("*-0-7.parquet"))
    file.write_bytes(file.read_bytes()[:-1])
    store = folder.store()
    assert not store.choices.is_whole(block().about)
    save(store, block())
    assert store.choices.merge(block())
    assert names(folder) == ["0-60.parquet"]

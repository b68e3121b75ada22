"""Running: the same numbers as the functions behind it, once, however often it is stopped."""

import dataclasses
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import bandstrap.experiments.runner as module
from bandstrap import OFUL, UCB1, GaussianTS, simulate
from bandstrap.bounds import BOUNDS
from bandstrap.bounds.coverage import coverage, measure_exact
from bandstrap.engine.compiler.locks import count_compiling
from bandstrap.engine.work.pool import Unfinished
from bandstrap.environments import Gaussian, LinearBandit
from bandstrap.errors import InvalidInput
from bandstrap.experiments import read_experiment, run_experiments
from bandstrap.experiments.folder import Folder, planned
from bandstrap.experiments.folder_status import status_of
from bandstrap.experiments.panels import CurveData, read_panels
from bandstrap.experiments.plan import BoundBlock, plan_panel
from bandstrap.experiments.runner import run_plans
from bandstrap.experiments.spec import Curve
from bandstrap.experiments.store import BlockStore
from sampling import exhaustive, telling
from stops import interrupted_after

TEXT = """
title = "t"
horizon = 40
replications = 50

[[panels]]
name = "a"
environment = "gaussian:n_arms=3"
curves = [
    { label = "UCB", policy = "ucb1", published = 3 },
    { label = "TS", policy = "gaussian_ts:sigma=2", replications = 25 },
]

[[panels]]
name = "b"
plot = "sweep"
environment = "gaussian:means=({gap},0)"
sweep = { name = "gap", values = [0.5, 1] }
replications = 6
curves = [{ label = "UCB", policy = "ucb1", published = [[0.5, 2], [1, 3]] }]

[[panels]]
name = "c"
environment = "linear_bandit:dimension=3,n_actions=6"
replications = 4
curves = [{ label = "OFUL", policy = "oful" }]

[[panels]]
name = "d"
plot = "bounds"
distribution = "uniform"
sample_sizes = [2, 7]
alpha = 0.1
curves = [
    { label = "flip", bound = "sign_flip" },
    { label = "true", bound = "exact" },
    { label = "Hoeffding", bound = "hoeffding:sigma=1", replications = 9 },
]
"""
N_BLOCKS = 2 + 1 + 2 + 1 + 6


def run_into(folder, path, seed, executor):
    """Run a file, and read its panels."""
    experiment = read_experiment(path)
    plans = [plan_panel(panel, experiment, seed) for panel in experiment.panels]
    ran = run_plans(plans, folder, planned("t", seed, (), plans), executor=executor, progress=False)
    if ran.unfinished is not None:
        raise ran.unfinished
    return list(read_panels(plans, folder))


@pytest.fixture
def run(tmp_path):
    def go(text=TEXT, folder="out", seed=5, jobs=1):
        path = tmp_path / "mine.toml"
        path.write_text(text)
        with ThreadPoolExecutor(jobs) as executor:
            return run_into(Folder(tmp_path / folder), path, seed, executor)

    return go


@pytest.fixture
def ran(monkeypatch):
    """The blocks that were run, in order."""
    blocks = []
    whole = module.run_blocks

    def count(group):
        blocks.extend(group)
        return whole(group)

    monkeypatch.setattr(module, "run_blocks", count)
    return blocks


def bits(panels):
    return [
        (panel.panel.name, curve.label, curve.places.tobytes(), curve.values.tobytes(), curve.rows)
        for panel in panels
        for curve in panel.curves
    ]


def test_regret_is_that_of_simulate_bit_for_bit(run):
    a, b, c, _ = run()
    expected = simulate(UCB1(), Gaussian(n_arms=3), horizon=40, replications=50, seed=5, progress=False)
    assert a["UCB"].values.tobytes() == expected.regret[0].tobytes()
    assert a["UCB"].places.tolist() == expected.checkpoints.tolist() == list(range(1, 41))
    np.testing.assert_array_equal(a["UCB"].mean, expected.mean[0])
    np.testing.assert_allclose(a["UCB"].standard_error, expected.standard_error[0], rtol=1e-12)
    expected = simulate(GaussianTS(sigma=2), Gaussian(n_arms=3), horizon=40, replications=25, seed=5, progress=False)
    assert a["TS"].values.tobytes() == expected.regret[0].tobytes()
    for column, gap in enumerate((0.5, 1)):
        expected = simulate(UCB1(), Gaussian([gap, 0]), horizon=40, replications=6, seed=5, progress=False)
        np.testing.assert_array_equal(b["UCB"].values[:, column], expected.regret[0, :, -1])
        np.testing.assert_array_equal(b["UCB"].at(gap), expected.regret[0, :, -1])
    assert b["UCB"].places.tolist() == [0.5, 1]
    world = LinearBandit(3, n_actions=6)
    expected = simulate(OFUL(), world, horizon=40, replications=4, seed=5, progress=False)
    assert c["OFUL"].values.tobytes() == expected.regret[0].tobytes()


def test_bounds_are_those_of_the_coverage_lab(run):
    panel = run()[-1]
    flip = coverage("uniform", [2, 7], 0.1, bounds=["sign_flip"], replications=50, seed=5)
    assert panel["flip"].rows == tuple(flip)
    assert panel["flip"].values.tolist() == [[row.mean_width for row in flip]]
    assert panel["true"].rows == tuple(measure_exact("uniform", n, 0.1) for n in (2, 7))
    known = coverage("uniform", [2, 7], 0.1, bounds=["hoeffding:sigma=1"], replications=9, seed=5)
    assert panel["Hoeffding"].rows == tuple(known)
    assert np.isnan(panel["Hoeffding"].standard_error).all()
    assert panel["flip"].places.tolist() == [2, 7]
    shown = run(TEXT.replace("alpha = 0.1", 'alpha = 0.1\nshow = "miss rate"'))[-1]
    assert shown["flip"].values.tolist() == [[row.miss_rate for row in flip]]


def test_a_place_between_two_points_is_on_the_line_between_them():
    curve = CurveData(Curve(label="c", policy="ucb1"), np.array([1.0, 11.0, 21.0]), np.array([[0, 10, 30.0]]), (), 0.0)
    places = (1, 11, 21, 6, 13, 0, 99)
    assert [curve.at(place).tolist() for place in places] == [[0], [10], [30], [5], [14], [0], [30]]
    alone = CurveData(curve.curve, np.array([5.0]), np.array([[7.0]]), (), 0.0)
    assert [alone.at(place).tolist() for place in (None, 1, 5, 9)] == [[7], [7], [7], [7]]


def test_published_values_have_places(run):
    a, b, *_ = run()
    assert a["UCB"].published == [(40, 3)]
    assert a["TS"].published == []
    assert b["UCB"].published == [(0.5, 2), (1, 3)]


def test_one_or_two_jobs_the_same_numbers(run):
    assert bits(run(jobs=1)) == bits(run(jobs=2, folder="others"))


def test_any_executor_plays_the_same_numbers(run, tmp_path):
    by_threads = run()
    with ProcessPoolExecutor(2) as processes:
        by_processes = run_into(Folder(tmp_path / "processes"), tmp_path / "mine.toml", 5, processes)
    assert bits(by_processes) == bits(by_threads)


def test_another_seed_other_numbers(run):
    first, second = run(), run(seed=6)
    assert (first[0]["UCB"].at() != second[0]["UCB"].at()).any()
    assert first[3]["flip"].rows != second[3]["flip"].rows


def test_one_replication_has_no_standard_error(run):
    panel = run(TEXT.replace("replications = 50", "replications = 1"))[0]
    assert panel["UCB"].values.shape == (1, 40)
    assert np.isnan(panel["UCB"].standard_error).all()


def busy(seconds):
    """Work for so long."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_the_seconds_of_a_measurement_are_those_of_the_thread_that_measures(monkeypatch):
    """Of the main thread another one takes the work, so that it can answer signals: threads, processes, a command."""
    entry = BOUNDS["student_t"]

    def slow(*sample, **options):
        busy(0.1)
        return entry.function(*sample, **options)

    monkeypatch.setitem(BOUNDS, "student_t", dataclasses.replace(entry, function=slow))
    block = BoundBlock("student_t", "normal", 5, 0.05, 10, 7)
    with ThreadPoolExecutor(1) as pool:
        found = [module.measure_block(block).seconds, pool.submit(module.measure_block, block).result().seconds]
    assert all(0.1 <= seconds < 1 for seconds in found)


def test_a_compiler_is_no_part_of_a_measurement(monkeypatch):
    def measured(*_):
        busy(0.1)
        start = time.thread_time()
        busy(0.3)
        count_compiling(time.thread_time() - start)
        return measure_exact("uniform", 2, 0.05)

    monkeypatch.setattr("bandstrap.experiments.plan.measure_curve", measured)
    assert 0.1 <= module.measure_block(BoundBlock("exact", "uniform", 2, 0.05, 10, 7)).seconds < 0.3


# --- resuming ---------------------------------------------------------------------------------------------------------


def test_a_second_run_computes_nothing(run, ran, monkeypatch):
    first = run()
    assert len(ran) == N_BLOCKS
    monkeypatch.setattr("bandstrap.engine.simulator.blocks.play_policy", lambda *_: pytest.fail("compiled something"))
    assert bits(run()) == bits(first)
    assert len(ran) == N_BLOCKS


@pytest.mark.parametrize(
    ("old", "new", "missing"),
    [
        ("ucb1", "ucb1", 0),
        ('"TS"', '"Thompson"', 0),
        ("published = 3", "published = 4", 0),
        ('title = "t"', 'title = "u"', 0),
        ("gaussian_ts:sigma=2", "gaussian_ts:sigma=3", 1),
        ("replications = 25", "replications = 50", 1),
        ("replications = 25", "replications = 45", 1),
        ("values = [0.5, 1]", "values = [0.5, 1, 2]", 1),
        ("sample_sizes = [2, 7]", "sample_sizes = [2, 7, 8]", 3),
        ("alpha = 0.1", "alpha = 0.2", 6),
    ],
)
def test_a_change_recomputes_what_hangs_on_it(run, ran, old, new, missing):
    run()
    ran.clear()
    changed = run(TEXT.replace(old, new))
    assert len(ran) == missing
    assert bits(changed) == bits(run(TEXT.replace(old, new), folder="others"))


def test_a_lost_or_damaged_block_is_run_again_and_no_other(run, ran, tmp_path, monkeypatch):
    first = run()
    with monkeypatch.context() as patch:  # so that blocks are not put together
        patch.setattr(Folder, "merge", lambda *_: False)
        with pytest.raises(InvalidInput, match=r"were removed from .* meanwhile: run it again"):
            run(folder="others")
    files = sorted((tmp_path / "others/blocks").iterdir())
    assert len(files) == N_BLOCKS
    files[0].unlink()
    files[5].write_bytes(files[5].read_bytes()[:-9])
    files[-1].write_bytes(b"")
    ran.clear()
    assert bits(run(folder="others")) == bits(first)
    assert len(ran) == 3
    assert list((tmp_path / "others/blocks").iterdir()) == []


def test_the_same_curve_twice_is_run_once(run, ran):
    again = '\n[[panels]]\nname = "e"\nenvironment = "gaussian:n_arms=3"\ncurves = [{ label = "x", policy = "ucb1" }]\n'
    panels = run(TEXT + again)
    assert len(ran) == N_BLOCKS
    assert panels[-1]["x"].values.tobytes() == panels[0]["UCB"].values.tobytes()


@telling("jobs", [1, 3], [3])
@pytest.mark.parametrize("after", [1, 6, N_BLOCKS])
def test_ctrl_c_keeps_what_is_finished(run, ran, tmp_path, jobs, after):
    with interrupted_after(after), pytest.raises(KeyboardInterrupt):
        run(jobs=jobs)
    kept = sum(panel.done for panel in status_of(Folder(tmp_path / "out")).panels)
    assert after <= kept <= len(ran) <= N_BLOCKS
    ran.clear()
    resumed = run(jobs=jobs)
    assert len(ran) == N_BLOCKS - kept
    assert bits(resumed) == bits(run(folder="others"))


def test_an_error_in_a_block_reaches_the_caller_and_keeps_the_others(run, monkeypatch, tmp_path):
    whole = module.measure_block

    def fail(block):
        if block.bound == "exact":
            raise RuntimeError("no luck")
        return whole(block)

    monkeypatch.setattr(module, "measure_block", fail)
    with pytest.raises(Unfinished, match="no luck"):
        run()
    assert sum(panel.done for panel in status_of(Folder(tmp_path / "out")).panels) == N_BLOCKS - 2


def test_a_full_disk_is_told(run, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(BlockStore, "save", full)
    with pytest.raises(OSError, match="No space"):
        run()


SLOW = """
import sys, time
from concurrent.futures import ThreadPoolExecutor
import bandstrap.experiments.runner as module
from bandstrap.experiments import run
whole, done = module.run_blocks, []
def slow(blocks):
    done.extend(blocks)
    if len(done) >= 5:
        print("half-way", flush=True)
        time.sleep(600)
    return whole(blocks)
module.run_blocks = slow
run(sys.argv[1], sys.argv[2], seed=5, executor=ThreadPoolExecutor(1))
"""


@exhaustive
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
def test_a_killed_run_goes_on_where_it_was(run, ran, tmp_path):
    (tmp_path / "mine.toml").write_text(TEXT)
    command = [sys.executable, "-c", textwrap.dedent(SLOW), tmp_path / "mine.toml", tmp_path / "out"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "half-way\n"
            deadline = time.monotonic() + 300
            # In blocks, or merged into panels by now.
            while sum(p.done for p in status_of(Folder(tmp_path / "out")).panels) < 4 and time.monotonic() < deadline:
                time.sleep(0.02)
        finally:
            process.kill()
    assert process.returncode == -signal.SIGKILL
    resumed = run()
    assert len(ran) == N_BLOCKS - 4
    assert bits(resumed) == bits(run(folder="others"))


def test_the_old_door_still_runs_and_warns(run, tmp_path):
    expected = run()
    experiment = read_experiment(tmp_path / "mine.toml")
    plans = [plan_panel(panel, experiment, 5) for panel in experiment.panels]
    with pytest.warns(DeprecationWarning, match=r"use bandstrap\.experiments\.run"):
        found = run_experiments(plans, BlockStore(tmp_path / "old" / "blocks"), progress=False)
    assert bits(found) == bits(expected)

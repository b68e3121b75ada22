"""Processes on one folder at once, killed or short of disk: in the end the numbers are those of an undisturbed run."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from bandstrap.basics import storage
from bandstrap.engine.simulator.parquet import read_about
from bandstrap.experiments import merged, runs, store
from bandstrap.experiments import runner as playing
from bandstrap.experiments.folder import Folder, planned
from bandstrap.experiments.folder_status import status_of
from bandstrap.experiments.plan import plan_panel
from bandstrap.experiments.spec import read_experiment
from sampling import exhaustive

TEXT = """
title = "t"
horizon = 1000
replications = 250
[[panels]]
name = "a"
environment = "gaussian:n_arms={n}"
grid = { n = [2, 3] }
curves = [{ label = "UCB", policy = "ucb1" }, { label = "TS", policy = "gaussian_ts" }]
"""
N_BLOCKS = 40
PATIENCE = 600


@pytest.fixture
def mine(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(TEXT)
    return file


@pytest.fixture
def run(monkeypatch, capsys):
    """``bandstrap`` in this process: exit code and standard error."""
    from bandstrap.cli import commands

    monkeypatch.setattr("bandstrap.cli.simulate.draw", lambda *_: None)  # which takes longest

    def go(*arguments):
        monkeypatch.setattr(sys, "argv", ["bandstrap", *map(str, arguments)])
        code = commands.run()
        return code, capsys.readouterr()

    return go


def panels(out):
    return {path.name: path.read_bytes() for path in (out / "panels").iterdir()}


@exhaustive
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals of Unix-like systems")
def test_two_runs_share_a_folder_and_one_is_killed(mine, run, tmp_path):
    assert run("simulate", mine, "--out", tmp_path / "whole")[0] == 0
    out = tmp_path / "shared"
    command = [sys.executable, "-m", "bandstrap", "simulate", str(mine), "--out", str(out), "--jobs", "1"]
    processes = [
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(2)
    ]
    try:
        until = time.monotonic() + PATIENCE
        most = 0
        while processes[0].poll() is None and len(list((out / "blocks").glob("*.parquet"))) < 5:
            assert time.monotonic() < until
            time.sleep(0.02)
            if (out / "plan.json").exists():
                most = max(most, len(status_of(Folder(out)).runs))
        processes[0].kill()
        _, errors = processes[1].communicate(timeout=PATIENCE)
        assert processes[1].returncode == 0, errors
        assert most >= 1
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    assert panels(out) == panels(tmp_path / "whole")
    found = status_of(Folder(out))
    assert [(panel.done, panel.total) for panel in found.panels] == [(N_BLOCKS // 2, N_BLOCKS // 2)] * 2
    assert found.runs == ()


def children(pid):
    """The processes that a process has started, and that have not ended."""
    return {int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}


def is_there(pid):
    """Whether a process has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@exhaustive
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="children are looked for as Linux shows them")
def test_workers_end_with_a_run_that_is_killed(mine, tmp_path):
    mine.write_text(TEXT.replace("replications = 250", "replications = 1000000"))
    out = tmp_path / "out"
    command = [sys.executable, "-m", "bandstrap", "simulate", str(mine), "--out", str(out), "--jobs", "1"]
    process = subprocess.Popen(
        [*command, "--executor", "process"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        until = time.monotonic() + PATIENCE
        while not list((out / "blocks").glob("*.parquet")):
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        started = children(process.pid)
        assert started
    finally:
        process.kill()
        process.wait()
    until = time.monotonic() + PATIENCE
    while any(is_there(pid) for pid in started):
        assert time.monotonic() < until
        time.sleep(0.05)
    assert status_of(Folder(out)).runs == ()


@exhaustive
@pytest.mark.parametrize(
    ("module", "name", "after", "merged_panels"),
    [(store, "write_table", 7, 0), (merged, "write_frame", 1, 1)],
    ids=["block", "panel"],
)
def test_a_full_disk_gets_a_sentence_and_what_was_done_is_kept(
    mine, run, tmp_path, monkeypatch, module, name, after, merged_panels
):
    assert run("simulate", mine, "--out", tmp_path / "whole")[0] == 0
    out = tmp_path / "full"
    written = []
    whole = getattr(module, name)

    def write(path, *rest, **options):
        if len(written) >= after:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        written.append(path)
        whole(path, *rest, **options)

    with monkeypatch.context() as patch:
        patch.setattr(module, name, write)
        code, said = run("simulate", mine, "--out", out)
    assert code == 2
    assert said.err.splitlines()[-1].endswith(": No space left on device.")
    assert "Traceback" not in said.err
    code, said = run("status", out, "--format", "json")
    done = sum(panel["done"] for panel in json.loads(said.out))
    assert done == (7 if name == "write_table" else N_BLOCKS)
    assert len(panels(out) if (out / "panels").is_dir() else []) == merged_panels
    assert list((out / "runs").iterdir()) == []
    assert run("simulate", mine, "--out", out)[0] == 0
    assert panels(out) == panels(tmp_path / "whole")
    assert list((out / "blocks").iterdir()) == []


SMALL = TEXT.replace("horizon = 1000", "horizon = 30").replace("replications = 250", "replications = 60")


@pytest.fixture
def small(mine, run, tmp_path):
    """A folder that was played to the end, and what is in it."""
    mine.write_text(SMALL)
    out = tmp_path / "out"
    assert run("simulate", mine, "--out", out, "--choices")[0] == 0
    return out


def files(out):
    kinds = ("panels", "choices", "blocks", "runs")
    return {path.relative_to(out): path.read_bytes() for kind in kinds for path in (out / kind).glob("*")}


@exhaustive
@pytest.mark.parametrize("name", ["plan.json", "runs", "blocks", "choices", "seconds", "panels", "summary.csv"])
def test_a_disk_that_is_full_in_any_phase_gets_a_sentence(mine, run, small, monkeypatch, name):
    expected = files(small)
    (small / "plan.json").unlink()
    for folder in ("panels", "choices", "seconds"):
        for path in (small / folder).iterdir():
            path.unlink()
    whole = storage.part_file

    def full(folder):
        # A name of a file is not known yet where it is written: plan.json and summary.csv share a folder.
        is_here = folder == (small / name if "." not in name else small)
        if is_here and (name != "summary.csv" or ((small / "panels").is_dir() and any((small / "panels").iterdir()))):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))
        return whole(folder)

    with monkeypatch.context() as patch:
        patch.setattr(storage, "part_file", full)
        patch.setattr("bandstrap.cli.simulate.check_folder", lambda *_, **__: None)
        code, said = run("simulate", mine, "--out", small, "--choices")
    assert "Traceback" not in said.err
    # What a run is at is told on the side: it goes on without.
    assert code == (0 if name == "runs" else 2)
    assert code == 0 or said.err.splitlines()[-1].endswith(": No space left on device.")
    assert run("simulate", mine, "--out", small, "--choices")[0] == 0
    assert files(small) == expected


def merge(plans, out):
    """Merge all panels."""
    store = Folder(out).store()
    for plan in plans:
        Folder(out).merge(plan, store)


@exhaustive
def test_a_merge_that_is_killed_at_any_step_loses_nothing(mine, run, small, tmp_path, monkeypatch):
    expected = files(small)
    before = tmp_path / "before"  # the panels once more, as blocks that are not yet merged
    with monkeypatch.context() as patch:
        patch.setattr(Folder, "merge", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run("simulate", mine, "--out", before, "--choices")
    experiment = read_experiment(mine)
    plans = [plan_panel(panel, experiment, 0, choices=True) for panel in experiment.panels]
    whole = {"replace": Path.replace, "unlink": Path.unlink}
    for step in range(200):
        out = tmp_path / f"out{step}"
        shutil.copytree(before, out)
        done = []

        def killed(name, done=done, step=step):
            def go(file, *rest, **options):
                if len(done) >= step:
                    raise KeyboardInterrupt
                done.append(file)
                return whole[name](file, *rest, **options)

            return go

        is_killed = False
        with monkeypatch.context() as patch:
            for name in whole:
                patch.setattr(Path, name, killed(name))
            try:
                merge(plans, out)
            except KeyboardInterrupt:
                is_killed = True
        store = Folder(out).store()
        assert all(store.load(piece) is not None for plan in plans for block in plan for piece in block.cut())
        merge(plans, out)
        left = files(out)
        parts = [path for path in left if path.name.endswith(".part")]  # of what was killed while it was written
        assert {path: data for path, data in left.items() if path not in parts} == expected
        if not is_killed:
            break
    assert step > 2 * 2 * 3


def test_a_folder_that_was_moved_or_is_a_link_goes_on(mine, run, small, tmp_path):
    expected = files(small)
    moved = small.rename(tmp_path / "moved")
    link = tmp_path / "link"
    link.symlink_to(moved)
    next((moved / "panels").iterdir()).unlink()
    assert run("simulate", mine, "--out", link, "--choices")[0] == 0
    assert files(moved) == expected
    assert run("status", link)[1].out.splitlines()[-1] == "complete"


def test_panels_swapped_with_each_other_are_found_all_the_same(mine, run, small):
    before = run("results", small, "--format", "csv")[1].out
    one, two = (small / "panels").iterdir()
    data = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(data)
    assert run("results", small, "--format", "csv")[1].out == before


def test_a_block_swapped_with_another_is_played_again(mine, run, small, tmp_path, monkeypatch):
    expected = files(small)
    out = tmp_path / "again"
    with monkeypatch.context() as patch:
        patch.setattr(Folder, "merge", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run("simulate", mine, "--out", out, "--choices")
    one, two, three, *_ = sorted((out / "blocks").iterdir())
    data = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(data)
    three.write_bytes(three.read_bytes()[:100])
    assert run("simulate", mine, "--out", out, "--choices")[0] == 0
    assert files(out) == expected


def test_a_plan_of_a_newer_version_is_not_replaced(mine, run, small):
    content = json.loads((small / "plan.json").read_text())
    newer = storage.seal(json.dumps(content | {"format": 2, "more": 1, "seal": storage.NO_SEAL}).encode())
    (small / "plan.json").write_bytes(newer)
    for command in (("status", small), ("results", small), ("simulate", mine, "--out", small)):
        code, said = run(*command)
        assert code == 2
        assert "was written by a newer version of bandstrap, in format 2; this one reads 1" in said.err
    assert (small / "plan.json").read_bytes() == newer


@pytest.mark.filterwarnings("ignore::bandstrap.errors.SlowWarning")
def test_what_fails_is_named_and_the_rest_is_finished_and_shown(mine, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bad = tmp_path / "bad.py"
    bad.write_text(
        "class Bad:\n    def __init__(self, n_arms, rng=None):\n        self.n = 0\n"
        "    def select(self):\n        self.n += 1\n"
        "        if self.n > 20:\n            raise ValueError('no idea what to do')\n        return 0\n"
        "    def update(self, arm, reward):\n        pass\n"
    )
    mine.write_text(
        'title = "t"\nhorizon = 40\nreplications = 2\n'
        '[[panels]]\nname = "good"\nenvironment = "gaussian"\ncurves = [{ label = "x", policy = "ucb1" }]\n'
        '[[panels]]\nname = "bad"\nenvironment = "gaussian"\ncurves = [{ label = "y", policy = "bad.py:Bad" }]\n'
    )
    code, said = run("simulate", mine, "--out", "out")
    assert code == 1
    assert "good" in said.out
    assert "1 of 2 panels are not complete: bad" in said.err
    assert "no idea what to do" in said.err.splitlines()[-1]
    assert "good" in Path("out/summary.csv").read_text()
    assert run("results", "out")[1].out == said.out  # the same table, which names the panel
    code, said = run("status", "out", "--format", "json")
    assert [(row["done"], row["failed"]) for row in json.loads(said.out)] == [(1, 0), (0, 1)]
    bad.write_text(bad.read_text().replace("raise ValueError('no idea what to do')", "return 1"))
    code, said = run("simulate", mine, "--out", "out")
    assert code == 0
    assert "1 of 2 panels differ or are new" in said.err  # a policy's own file was edited
    assert run("status", "out")[1].out.splitlines()[-1] == "complete"


def test_where_there_are_no_locks_a_run_is_alive_while_it_is_heard_of(small, monkeypatch):
    class NoLocks:
        LOCK_EX = LOCK_NB = 0

        def flock(self, *_):
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(runs, "fcntl", NoLocks())
    folder = Folder(small)
    with runs.Run(folder.runs, 1) as going:
        going.say()
        assert len(status_of(folder).runs) == 1
        (file,) = folder.runs.glob("*.json")
        os.utime(file, (time.time() - 100, time.time() - 100))
        assert status_of(folder).runs == ()
        os.utime(file, (time.time() + 100, time.time() + 100))  # a clock that went backwards since
        assert len(status_of(folder).runs) == 1
    assert list(folder.runs.iterdir()) == []


def test_parts_that_a_killed_run_left_are_removed_by_the_next(mine, run, small):
    left = [small / folder / ".bandstrap-0.part" for folder in ("panels", "choices")]
    for part in left:
        part.write_bytes(b"half")
    next((small / "panels").glob("*.parquet")).unlink()
    for path in (small / "choices").glob("*.parquet"):
        path.unlink()
    storage.remove_orphans.cache_clear()  # as in a process of its own
    assert run("simulate", mine, "--out", small, "--choices")[0] == 0
    assert not any(part.exists() for part in left)


# --- while a run goes on ------------------------------------------------------------------------------------------------


@pytest.fixture
def at_block(monkeypatch):
    """Have something done, once, before some block is played."""

    def at(number, act):
        seen = []
        whole = playing.run_blocks

        def play(blocks):
            seen.append(blocks)
            if len(seen) == number:
                act()
            return whole(blocks)

        monkeypatch.setattr(playing, "run_blocks", play)
        return seen

    return at


def blocks_of(out):
    return sorted((out / "blocks").glob("*.parquet"))


def test_panels_are_merged_while_others_are_played(mine, run, small, tmp_path, at_block):
    out = tmp_path / "again"
    merged_before_the_last = []

    def look():
        until = time.monotonic() + PATIENCE
        while not (out / "panels").is_dir() or not list((out / "panels").glob("*.parquet")) or len(blocks_of(out)) > 4:
            assert time.monotonic() < until
            time.sleep(0.01)
        merged_before_the_last.extend(blocks_of(out))

    at_block(6, look)  # each panel is three groups of two
    assert run("simulate", mine, "--out", out, "--choices", "--jobs", 1)[0] == 0
    assert len(merged_before_the_last) <= 4  # those of the second panel alone
    assert files(out) == files(small)


@pytest.mark.skipif(storage.fcntl is None, reason="there are no locks")
def test_who_stops_a_run_does_not_wait_for_another_that_merges(mine, run, small, tmp_path, at_block):
    out = tmp_path / "again"
    out.mkdir()

    def stop():
        raise KeyboardInterrupt

    at_block(6, stop)  # when the first panel is complete, and waits to be merged
    other = os.open(out, os.O_RDONLY)
    storage.fcntl.flock(other, storage.fcntl.LOCK_EX)
    release = threading.Timer(PATIENCE, os.close, [other])
    release.start()
    with pytest.raises(KeyboardInterrupt):
        run("simulate", mine, "--out", out, "--choices", "--jobs", 1)
    assert release.is_alive()
    assert not (out / "panels").exists()
    release.cancel()
    os.close(other)
    assert run("simulate", mine, "--out", out, "--choices")[0] == 0
    assert files(out) == files(small)


def test_a_merge_that_fails_while_others_are_played_is_made_up_for(mine, run, small, tmp_path, monkeypatch):
    failed = []
    whole = Folder.merge

    def merge(folder, plan, *rest):
        if plan.name not in failed:
            failed.append(plan.name)
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return whole(folder, plan, *rest)

    monkeypatch.setattr(Folder, "merge", merge)
    assert run("simulate", mine, "--out", tmp_path / "again", "--choices")[0] == 0
    assert len(failed) == 2
    assert files(tmp_path / "again") == files(small)


def test_blocks_deleted_while_a_run_goes_on_are_played_again(mine, run, small, tmp_path, at_block):
    out = tmp_path / "again"
    removed = []

    def remove():
        removed.extend(blocks_of(out)[:3])
        for file in removed:
            file.unlink()

    at_block(3, remove)
    assert run("simulate", mine, "--out", out, "--choices", "--jobs", 1)[0] == 0
    assert removed
    assert files(out) == files(small)


def test_a_folder_removed_while_a_run_goes_on_is_filled_again(mine, run, small, tmp_path, at_block):
    out = tmp_path / "again"
    at_block(5, lambda: shutil.rmtree(out))
    code, said = run("simulate", mine, "--out", out, "--choices", "--jobs", 1)
    assert "Traceback" not in said.err
    # What was just being written there may fail, in a sentence; the same command goes on.
    assert code in (0, 2)
    assert code == 0 or run("simulate", mine, "--out", out, "--choices")[0] == 0
    assert files(out) == files(small)
    assert run("status", out)[1].out.splitlines()[-1] == "complete"


@exhaustive
def test_two_runs_with_different_files_share_a_folder(mine, run, small, tmp_path, at_block):
    expected = files(small)
    other = tmp_path / "other.toml"
    other.write_text(SMALL.replace("n = [2, 3]", "n = [3, 4]").replace("replications = 60", "replications = 50"))
    out = tmp_path / "again"
    command = [sys.executable, "-m", "bandstrap", "simulate", str(other), "--out", str(out), "--choices"]
    codes = []
    at_block(2, lambda: codes.append(subprocess.run(command, capture_output=True, check=False).returncode))
    assert run("simulate", mine, "--out", out, "--choices", "--jobs", 1)[0] == 0
    assert codes == [0]
    assert json.loads(run("status", out, "--format", "json")[1].out)[1]["panel"] == "a-n=4"  # the plan of the later one
    assert run("status", out)[1].out.splitlines()[-1] == "complete"
    left = files(out)
    assert {path: left[path] for path in expected} == expected
    assert {path.parts[0] for path in left} == {"panels", "choices"}  # no block is left, nor a run


def test_data_edited_between_runs_are_new_data_and_during_a_run_are_not_seen(
    mine, run, tmp_path, monkeypatch, at_block
):
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data.csv"
    first, second = ("arm,reward\n" + "".join(f"{i % 2},{v}\n" for i, v in enumerate(rewards)) for rewards in
                     ([1, 2, 3, 4], [5, 2, 3, 4]))  # fmt: skip
    mine.write_text(
        'title = "t"\nhorizon = 30\nreplications = 60\n[[panels]]\nname = "a"\n'
        'environment = "empirical:data.csv,arm=arm,reward=reward"\ncurves = [{ label = "UCB", policy = "ucb1" }]\n'
    )
    data.write_text(first)
    at_block(2, lambda: data.write_text(second))
    assert run("simulate", mine, "--out", "edited", "--jobs", 1)[0] == 0
    data.write_text(first)
    assert run("simulate", mine, "--out", "out")[0] == 0
    found = run("results", "out", "--format", "csv")[1].out
    assert run("results", "edited", "--format", "csv")[1].out == found
    data.write_text(second)
    code, said = run("simulate", mine, "--out", "out")
    assert code == 0
    assert "1 of 1 panels differ or are new" in said.err
    assert run("results", "out", "--format", "csv")[1].out != found
    data.unlink()
    assert run("results", "out")[0] == 0
    code, said = run("simulate", mine, "--out", "out")
    assert (code, said.err.count("\n")) == (2, 1)


def test_a_disk_that_is_full_while_the_picture_is_drawn_gets_a_sentence(mine, small, tmp_path, monkeypatch, capsys):
    from bandstrap.cli import commands
    from bandstrap.plots import style

    def full(figure, path):
        with storage.whole_file(path) as part:
            part.write_bytes(b"half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(part))

    monkeypatch.undo()
    monkeypatch.setattr(style, "save_figure", full)
    monkeypatch.setattr(sys, "argv", ["bandstrap", "simulate", str(mine), "--out", str(small), "--choices"])
    expected = files(small)
    assert commands.run() == 2
    said = capsys.readouterr().err
    assert said.splitlines()[-1] == f"error: {small / 'panels.png'}: No space left on device."
    assert files(small) == expected
    assert not list(small.glob(".*")) + list(small.glob("panels.png"))


# Whoever may pass over permissions, as root may, gives up all such rights.
ORDINARY = """
import ctypes, os, sys
if os.geteuid() == 0:
    header, nothing = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert ctypes.CDLL(None).capset(header, nothing) == 0
from bandstrap.cli import commands
for words in {commands!r}:
    sys.argv = ["bandstrap", *words]
    print("exit", commands.run(), flush=True)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="rights are given up as on Linux")
def test_a_folder_that_is_read_only_is_read_and_not_run(mine, run, small):
    expected = files(small)
    table = run("results", small, "--format", "csv")[1].out
    folders = [small, *(path for path in small.iterdir() if path.is_dir())]
    commands = [
        ["status", str(small)],
        ["results", str(small), "--format", "csv"],
        ["simulate", str(mine), "--out", str(small), "--choices"],
    ]
    for folder in folders:
        folder.chmod(0o555)
    try:
        done = subprocess.run(
            [sys.executable, "-c", ORDINARY.format(commands=commands)], capture_output=True, text=True, check=False
        )
    finally:
        for folder in folders:
            folder.chmod(0o755)
    shown, read, refused, _ = done.stdout.split("exit ")
    assert shown.endswith("complete\n")
    assert read == f"0\n{table}"
    assert (refused, done.stdout[-2:]) == ("0\n", "2\n")
    assert done.stderr.count("\n") == 1
    assert "'out' parameter of bandstrap simulate must be a folder that can be written to" in done.stderr
    assert files(small) == expected


# --- blocks of another size ---------------------------------------------------------------------------------------------


@exhaustive
@pytest.mark.parametrize("sizes", [(7, 64), (7, 1), (64, 7), (1, 25)])
def test_a_run_goes_on_with_blocks_of_another_size(mine, run, small, tmp_path, monkeypatch, sizes):
    expected, table = files(small), run("results", small, "--curves", "--format", "csv")[1].out
    out, rest = tmp_path / "again", SMALL
    played = []
    whole = playing.run_blocks

    def play(blocks):
        if size == sizes[0] and len(played) >= 20 // size + 2:
            raise KeyboardInterrupt
        played.extend(blocks)
        return whole(blocks)

    monkeypatch.setattr(playing, "run_blocks", play)
    size = sizes[0]
    mine.write_text(f"block_size = {size}\n{rest}")
    with pytest.raises(KeyboardInterrupt):
        run("simulate", mine, "--out", out, "--choices", "--jobs", 1)
    size = sizes[1]
    there = {(kept["environment"], kept["policy"], r) for path in blocks_of(out)
             for kept in [read_about(path.read_bytes())["block"]] for r in range(kept["first"], kept["last"])}  # fmt: skip
    assert there
    mine.write_text(f"block_size = {size}\n{rest}")
    Folder(out).begin(planned_as(mine))
    pieces = [
        {(about["environment"], about["policy"], r) for r in range(about["first"], about["last"])}
        for panel in Folder(out).read().panels
        for curve in panel.curves
        for about in curve.points[0].pieces()
    ]
    done = sum(piece <= there for piece in pieces)
    rows = json.loads(run("status", out, "--format", "json")[1].out)
    assert (sum(row["done"] for row in rows), sum(row["blocks"] for row in rows)) == (done, len(pieces))
    assert "belong to another file" not in run("status", out)[1].err
    played.clear()
    assert run("simulate", mine, "--out", out, "--choices", "--jobs", 1)[0] == 0
    assert len(played) == len(pieces) - done
    assert files(out) == expected  # and no block is left
    assert run("results", out, "--curves", "--format", "csv")[1].out == table


def planned_as(file):
    experiment = read_experiment(file)
    plans = [plan_panel(panel, experiment, 0, choices=True) for panel in experiment.panels]
    return planned(experiment.title, 0, ["simulate", str(file), "--choices"], plans)


def test_choices_deleted_while_a_run_goes_on_are_played_again(mine, run, small, tmp_path, at_block):
    out = tmp_path / "again"
    removed = []

    def remove():
        removed.extend((out / "choices").glob("*.parquet"))
        for file in removed:
            file.unlink()

    at_block(3, remove)
    assert run("simulate", mine, "--out", out, "--choices", "--jobs", 1)[0] == 0
    assert removed
    assert files(out) == files(small)

"""Processes on one folder at once, killed or short of disk: in the end the numbers are those of an undisturbed run."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bandstrap.experiments import merged, store
from bandstrap.experiments.folder import Folder
from bandstrap.experiments.status import status_of

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
    until = time.monotonic() + 60
    while any(is_there(pid) for pid in started):
        assert time.monotonic() < until
        time.sleep(0.05)
    assert status_of(Folder(out)).runs == ()


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

"""Runs that say what they are at: seen while they live, and known to be dead however they ended."""

import json
import os
import subprocess
import sys
import time

import pytest

from bandstrap.experiments import runs as module
from bandstrap.experiments.runs import Run, words_of


def test_a_run_is_seen_while_it_lasts_and_leaves_nothing(tmp_path):
    with Run(tmp_path / "runs", 3) as run:
        run.begins("one")
        run.begins("two")
        run.ends("one", 500)
        run.say()
        (word,) = words_of(tmp_path / "runs")
        assert (word.running, word.decisions, word.workers, word.process) == (("two",), 500, 3, os.getpid())
        assert word.lives
    assert list((tmp_path / "runs").iterdir()) == []


def test_what_failed_is_told_after_the_run_and_until_the_next(tmp_path):
    with Run(tmp_path, 1) as run:
        run.begins("one")
        run.begins("two")
        run.fails("one", "because")
    (word,) = words_of(tmp_path)
    assert (word.lives, word.failed, word.running) == (False, {"one": "because"}, ())
    with Run(tmp_path, 1):
        assert [word.failed for word in words_of(tmp_path)] == [{}]
    assert list(tmp_path.iterdir()) == []


def test_a_run_speaks_by_itself(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BEAT", 0.01)
    with Run(tmp_path, 1) as run:
        run.begins("one")
        until = time.monotonic() + 300
        while [word.running for word in words_of(tmp_path)] != [("one",)]:
            assert time.monotonic() < until
            time.sleep(0.01)


KILLED = """
import os, sys
from pathlib import Path
from bandstrap.experiments.runs import Run
run = Run(Path(sys.argv[1]), 1)
run.__enter__()
run.begins("one")
run.say()
print("ready", flush=True)
sys.stdin.read()
"""


def test_a_killed_run_is_dead_at_once_and_another_machines_after_a_minute(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout.readline() == b"ready\n"
        assert [word.lives for word in words_of(tmp_path)] == [True]
        process.kill()
        process.wait()
        assert [(word.lives, word.running) for word in words_of(tmp_path)] == [(False, ("one",))]
    finally:
        process.kill()
        process.communicate()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "fcntl", None)  # a system without locks
        assert [word.lives for word in words_of(tmp_path)] == [True]
        patch.setattr(module, "SILENCE", 0.0)
        assert [word.lives for word in words_of(tmp_path)] == [False]
    with Run(tmp_path, 1):
        assert len(list(tmp_path.glob("*.json"))) == 1  # what was left behind is gone


def test_what_is_no_word_of_a_run_is_passed_over(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"host": "x"}))
    (tmp_path / "b.json").write_bytes(b"\x00")
    assert list(words_of(tmp_path)) == []
    assert list(words_of(tmp_path / "nowhere")) == []


def test_a_run_goes_on_where_nothing_can_be_said(tmp_path, monkeypatch):
    with Run(tmp_path, 1) as run:
        monkeypatch.setattr(module, "write_bytes", lambda *_, **__: (_ for _ in ()).throw(OSError(28, "No space left")))
        run.begins("one")
        run.say()
        run.ends("one", 3)

"""The command as a process of its own; what it says is tested in one process, which is faster."""

import json
import subprocess
import sys

import pytest


def run(*arguments, stdin=None):
    return subprocess.run(
        [sys.executable, "-m", "bandstrap", *map(str, arguments)], capture_output=True, text=True, input=stdin
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["paper", "8"], "error: The 'FIGURE' parameter"),
        (["simulate", "--policy", "nope"], "error: unknown policy 'nope'"),
        (["bound", "missing.csv", "--column", "y"], "error: missing.csv is not a file."),
    ],
)
def test_a_process_refuses_without_a_traceback(arguments, message):
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1


def test_a_process_reads_a_pipe_and_writes_nothing_but_its_answer():
    done = run("bound", "-", "--column", "y", "--format", "json", stdin="y\n1\n2\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)[0]["n"] == 2

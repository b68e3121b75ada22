"""The command as a process of its own; what it says is tested in one process, which is faster."""

import json
import os
import shlex
import subprocess
import sys

from sampling import telling


def run(*arguments, stdin=None):
    return subprocess.run(
        [sys.executable, "-m", "bandstrap", *map(str, arguments)], capture_output=True, text=True, input=stdin
    )


@telling(
    ("arguments", "message"),
    [
        (["paper", "8"], "error: The 'FIGURE' parameter"),
        (["simulate", "--policy", "nope"], "error: unknown policy 'nope'"),
        (["bound", "missing.csv", "--column", "y"], "error: missing.csv is not a file."),
    ],
    lambda arguments, message: arguments[0] == "bound",
)
def test_a_process_refuses_without_a_traceback(arguments, message):
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1


def test_a_process_reads_a_pipe_and_writes_nothing_but_its_answer():
    done = run("bound", "-", "--column", "y", "--method", "student_t", "--format", "json", stdin="y\n1\n2\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)[0]["n"] == 2


def shell(command, **environment):
    """A command line with its redirections; ``bandstrap`` is this one."""
    bandstrap = f"{shlex.quote(sys.executable)} -m bandstrap"
    script = command.replace("bandstrap", bandstrap, 1)
    return subprocess.run(["bash", "-c", script], capture_output=True, env=os.environ | environment)  # noqa: S607


@telling(
    ("command", "code", "out", "err"),
    [
        ("bandstrap bound - --column y <&-", 2, b"", b"error: standard input is closed.\n"),
        ("bandstrap paper 8 2>&-", 2, b"", b""),
        ("bandstrap list weights >&-", 0, b"", b""),
        ("bandstrap list policies | true; exit ${PIPESTATUS[0]}", 1, b"", b""),
        ("bandstrap bound - --column y --format csv <<< $'y\n1' | true; exit ${PIPESTATUS[0]}", 1, b"", b""),
        ("bandstrap list weights > /dev/full", 2, b"", b"error: No space left on device.\n"),
    ],
    lambda command, *_: "list weights" in command or "<&-" in command,
)
def test_streams_that_are_closed_or_full_are_no_traceback(command, code, out, err):
    done = shell(command)
    assert (done.returncode, done.stdout, done.stderr) == (code, out, err)


def test_where_output_is_ascii_letters_are_written_out_and_data_are_kept():
    text = "g,y\näβ,1\näβ,2\n"
    ascii_only = {"PYTHONIOENCODING": "ascii"}
    table = shell(f"bandstrap bound - --column y --by g --method student_t <<< '{text}'", **ascii_only)
    assert (table.returncode, table.stderr) == (0, b"")
    assert b"\\xe4\\u03b2" in table.stdout
    data = shell(f"bandstrap bound - --column y --by g --format csv <<< '{text}'", **ascii_only)
    assert "\näβ,2," in data.stdout.decode()


def test_it_works_without_docstrings():
    done = subprocess.run([sys.executable, "-OO", "-m", "bandstrap", "list", "policies"], capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"ucb1" in done.stdout

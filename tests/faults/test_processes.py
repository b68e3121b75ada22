"""The command line, stopped at random times and run again: the files in the end are those of a run that nobody stopped.

By default a few stops of small runs. ``BANDSTRAP_STOPS=51 BANDSTRAP_BLOCKS=10000`` makes a campaign of it.
"""

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from sampling import exhaustive

pytestmark = [
    exhaustive,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals of Unix-like systems"),
]

psutil = pytest.importorskip("psutil")  # comes with dask's workers
N_STOPS = int(os.environ.get("BANDSTRAP_STOPS", "3"))
N_BLOCKS = int(os.environ.get("BANDSTRAP_BLOCKS", "40"))
# Seconds after which a process hangs; far more than any needs, on a machine that does much else.
PATIENCE = 600 + N_BLOCKS / 10
# Seconds before a stop at most: a run goes on where the last one was stopped, so stops come at any stage all the same.
LATEST = 10
# Of the processor, once it has been asked to stop: how long that takes depends on what else the machine does.
SECONDS_TO_STOP = 20

EXPERIMENT = """
title = "many short games"
horizon = 10
replications = {replications}

[[panels]]
name = "a"
environment = "gaussian:n_arms=3"
curves = [{{ label = "UCB", policy = "ucb1" }}, {{ label = "TS", policy = "gaussian_ts" }}]
"""


def simulate_file(folder):
    file = folder / "mine.toml"
    file.write_text(EXPERIMENT.format(replications=25 * N_BLOCKS // 2))
    return ["simulate", file]


def league(folder):
    worlds = ("Gaussian", "beta", "Gaussian, sigma x 3", "truncated normal")
    chosen = [option for world in worlds for option in ("--environment", world)]
    policies = ["--policy", "UCB1", "--policy", "uniform"]
    return ["league", *chosen, *policies, "--horizon", 20, "--replications", max(25 * N_BLOCKS // 8, 25)]


def paper(folder):
    return ["paper", 6, "--replications", max(4, min(400, N_BLOCKS // 10))]


# What each writes that differs between two runs: times it took.
TIMES = {"league.html", "report.html"}


def start(arguments, *more, **environment):
    """The command as a process, with signals as a terminal's foreground has them."""
    return subprocess.Popen(
        [sys.executable, "-m", "bandstrap", *map(str, [*arguments, *more])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def finish(arguments, out):
    """Run undisturbed; gives the time it took."""
    begun = time.monotonic()
    with ends(start(arguments, "--out", out)) as process:
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    return time.monotonic() - begun


@contextmanager
def ends(process):
    """See to it that a process does not outlive a test that fails."""
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def contents(out):
    """Every file but those that tell the time or who is at it; of those that tell the seconds they took, the names."""
    files = [
        path for path in out.rglob("*") if path.is_file() and path.name not in TIMES and path.parent.name != "runs"
    ]
    return {path.relative_to(out): path.parent.name in ("blocks", "seconds") or path.read_bytes() for path in files}


def is_ready(process):
    """Whether a process handles signals yet; while Python itself is loaded, it dies of them as any other does."""
    try:
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    except OSError:
        return False
    caught = next((int(line.split()[1], 16) for line in lines if line.startswith("SigCgt:")), 0)
    return bool(caught >> (signal.SIGTERM - 1) & 1)


def seconds_of(process):
    """Seconds of the processor that a process has taken so far."""
    try:
        taken = psutil.Process(process.pid).cpu_times()
    except psutil.Error:  # it has ended
        return 0.0
    return taken.user + taken.system


def seconds_of_the_ended():
    """Those of all processes that were started here and have ended."""
    taken = resource.getrusage(resource.RUSAGE_CHILDREN)
    return taken.ru_utime + taken.ru_stime


def stop(process, number, times=1):
    """Send a signal; gives the exit code, of a process that ends soon and leaves no traceback."""
    was_ready, spent = is_ready(process), seconds_of(process)
    for _ in range(times):
        process.send_signal(number)
        time.sleep(0.005 if times > 1 else 0)
    before = seconds_of_the_ended()
    with ends(process):
        _, errors = process.communicate(timeout=PATIENCE)
    if number == signal.SIGKILL:
        return process.returncode
    assert seconds_of_the_ended() - before - spent < SECONDS_TO_STOP
    if was_ready:
        assert process.returncode in (0, 128 + number), errors
        assert "Traceback" not in errors
        assert "stopped\n" in errors or process.returncode == 0
    else:  # before anything of ours was loaded, or after it had ended
        assert process.returncode in (0, 1, -number, 128 + number), errors
    return process.returncode


@pytest.mark.parametrize("command", [simulate_file, league, paper])
def test_stopped_at_random_times_the_files_are_the_same_in_the_end(command, tmp_path):
    rng = random.Random(f"{command.__name__} {N_STOPS}")  # noqa: S311 - no secret
    arguments = command(tmp_path)
    seconds = finish(arguments, tmp_path / "whole")
    expected = contents(tmp_path / "whole")
    out = tmp_path / "stopped"
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
    first = (simulate_file, league, paper).index(command)
    parts_of_killed = 0
    codes = []
    for i in range(N_STOPS // 3):
        number = signals[(first + i) % 3]
        process = start(arguments, "--out", out)
        time.sleep(rng.uniform(0, min(0.9 * seconds, LATEST)))
        codes.append(stop(process, number, times=rng.choice([1, 1, 3])))
        parts = len(list(out.rglob("*.part")))
        if number == signal.SIGKILL:
            parts_of_killed = max(parts_of_killed, parts)
        assert parts <= parts_of_killed  # only who is killed leaves any
        if codes[-1] == 0:  # it was done already
            assert contents(out) == expected
            shutil.rmtree(out)
    finish(arguments, out)
    assert {name: content for name, content in contents(out).items() if name.suffix != ".part"} == expected
    # Read with pytest -s, or in a campaign's log.
    sys.stdout.write(f"{command.__name__}: {seconds:.1f} s undisturbed, {len(expected)} files, exit codes {codes}\n")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_process_that_compiles_or_plays_stops_at_once(tmp_path, number, code):
    """In a new folder for compiled code there is nothing yet, and compiling takes longer than two seconds."""
    arguments = ["simulate", "--policy", "ucb1", "--replications", 10**7, "--horizon", 10]
    with ends(start(arguments, NUMBA_CACHE_DIR=str(tmp_path))) as process:
        line = process.stderr.readline()  # what it says when it takes longer than two seconds
        before, spent = seconds_of_the_ended(), seconds_of(process)
        process.send_signal(number)
        _, errors = process.communicate(timeout=PATIENCE)
    assert "of 10000000 replications after" in line
    assert seconds_of_the_ended() - before - spent < SECONDS_TO_STOP
    assert process.returncode == code, errors
    assert errors.endswith("stopped\n")
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    "arguments",
    [
        ["coverage", "--distribution", "normal", "--sample-size", "12", "--replications", "1000000"],
        ["simulate", "--policy", "ucb1", "--replications", "10000000", "--horizon", "10"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_three_fast_interrupts_are_one(arguments):
    process = start(arguments)
    while not is_ready(process):
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(2)
    assert stop(process, signal.SIGINT, times=3) == 130

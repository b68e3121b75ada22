"""Threads, processes, a cluster of dask's, loky and MPI: the same bytes from each, and a sentence when one fails."""

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from bandstrap import UCB1, simulate
from bandstrap.engine.work import executors, workers
from bandstrap.engine.work.dispatch import TaskCall, WorkerError
from bandstrap.engine.work.executors import worker_count
from bandstrap.engine.work.pool import Unfinished, finish
from bandstrap.engine.work.workers import Processes
from bandstrap.environments import Gaussian
from bandstrap.errors import InvalidInput
from pieces import (
    Notes,
    Squares,
    Sum,
    count_prepared,
    killed_always,
    odd_error,
    odd_result,
    squares,
)
from sampling import exhaustive, telling

distributed = pytest.importorskip("distributed")
psutil = pytest.importorskip("psutil")  # comes with it
pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals of Unix-like systems"),
    pytest.mark.filterwarnings("default"),  # those of dask
]
PATIENCE = 300  # seconds after which something hangs
MPIEXEC = shutil.which("mpiexec") or shutil.which("mpiexec", path=str(Path(sys.executable).parent))

TEXT = """
title = "t"
horizon = 60
replications = 70
block_size = {size}
[[panels]]
name = "a"
environment = "gaussian:n_arms={{n}}"
grid = {{ n = [2, 3] }}
curves = [{{ label = "UCB", policy = "ucb1" }}, {{ label = "mine", policy = "mine.py:Mine" }}]
"""
# A policy in a file of one's own, some of whose games go wrong while the folder beside it says so.
MINE = """
import os, signal
from pathlib import Path

TROUBLE = Path(__file__).parent / "trouble"

class Mine:
    def __init__(self, n_arms):
        self.n_arms, self.n = n_arms, 0

    def select(self):
        if self.n == 30 and TROUBLE.exists():  # later than it is played to get ready
            what = TROUBLE.read_text()
            if what != "always":
                TROUBLE.rename(TROUBLE.with_name("done"))
            if what == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            raise ZeroDivisionError("trouble")
        return self.n % self.n_arms

    def update(self, arm, reward):
        self.n += 1
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with files of experiments, which differ in the size of blocks alone."""
    folder = tmp_path_factory.mktemp("executors")
    (folder / "mine.py").write_text(MINE)
    for size in (1, 7, 25, 64):
        (folder / f"{size}.toml").write_text(TEXT.format(size=size))
    return folder


@pytest.fixture
def run(monkeypatch, capsys, place, tmp_path):
    """``bandstrap simulate`` in this process: exit code, standard error, and the bytes of results."""
    from bandstrap.cli import commands

    monkeypatch.setattr("bandstrap.cli.simulate.draw", lambda *_: None)  # which takes longest

    def go(size, *options, out=None):
        out = out or tmp_path / "out"
        monkeypatch.setattr(
            sys, "argv", ["bandstrap", "simulate", str(place / f"{size}.toml"), "--out", str(out), *options]
        )
        code = commands.run()
        return code, capsys.readouterr().err, results(out)

    def results(out):
        if not (out / "plan.json").exists():
            return None
        monkeypatch.setattr(sys, "argv", ["bandstrap", "results", str(out), "--format", "csv"])
        commands.run()
        files = sorted((out / "panels").glob("*")) if (out / "panels").exists() else []
        return capsys.readouterr().out, {path.name: path.read_bytes() for path in files}

    return go


@pytest.fixture
def whole(run, tmp_path, place):
    """What an undisturbed run gives."""
    if not hasattr(Kept, "whole"):
        code, errors, Kept.whole = run(25, "--jobs", "2", out=tmp_path / "whole")
        assert code == 0, errors
        assert len(Kept.whole[0].splitlines()) == 5
        assert len(Kept.whole[1]) == 2
    return Kept.whole


class Kept:
    """What is found once."""


@pytest.fixture(scope="module")
def cluster():
    """Four worker processes of dask's."""
    with distributed.LocalCluster(
        n_workers=4, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", silence_logs=50
    ) as made:
        yield made


@pytest.fixture
def trouble(place):
    """Have a game of the policy go wrong; gives the file that is there once it has."""
    file = place / "trouble"

    def make(kind):
        file.write_text(kind)
        return place / "done"

    yield make
    file.unlink(missing_ok=True)
    (place / "done").unlink(missing_ok=True)


# --- the same bytes -----------------------------------------------------------------------------------------------------


@telling("size", [1, 7, 64], [7])
def test_same_bytes_for_threads_and_any_size_of_block(run, whole, size):
    assert run(size, "--jobs", "3")[::2] == (0, whole)


@exhaustive
@pytest.mark.parametrize("size", [1, 7, 64])
def test_same_bytes_for_a_cluster_of_four_processes(run, whole, size, cluster):
    assert run(size, "--executor", "dask", "--scheduler", cluster.scheduler_address)[::2] == (0, whole)


@exhaustive
def test_same_bytes_when_a_worker_of_a_cluster_is_killed(run, whole, cluster, trouble):
    was_killed = trouble("kill")
    assert run(7, "--executor", "dask", "--scheduler", cluster.scheduler_address)[::2] == (0, whole)
    assert was_killed.exists()


@exhaustive
def test_same_bytes_for_processes_of_which_one_is_killed(run, whole, trouble):
    was_killed = trouble("kill")
    code, errors, found = run(7, "--executor", "process", "--jobs", "2")
    assert (code, found) == (0, whole), errors
    assert was_killed.exists()


@exhaustive
def test_same_bytes_for_a_run_that_was_killed_three_times(run, whole, place, tmp_path):
    rng = random.Random(5)  # noqa: S311 - no secret
    out = tmp_path / "out"
    command = [sys.executable, "-m", "bandstrap", "simulate", str(place / "1.toml"), "--out", str(out), "--jobs", "1"]
    for _ in range(3):
        blocks = out / "blocks"
        n = (len(list(blocks.glob("*"))) if blocks.exists() else 0) + rng.randint(1, 40)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + PATIENCE
        while process.poll() is None and not (blocks.exists() and len(list(blocks.glob("*"))) >= n):
            assert time.monotonic() < until
            time.sleep(0.01)
        process.kill()
        assert process.wait() == -signal.SIGKILL
    assert run(1, "--jobs", "2", out=out)[::2] == (0, whole)


@exhaustive
def test_same_numbers_by_loky():
    loky = pytest.importorskip("joblib.externals.loky")
    options = {"horizon": 50, "replications": 30, "seed": 3, "progress": False}
    expected = simulate(UCB1(), Gaussian([0, 1]), **options)
    executor = loky.get_reusable_executor(max_workers=1)
    try:
        found = simulate(UCB1(), Gaussian([0, 1]), executor=executor, block_size=7, **options)
    finally:
        executor.shutdown()
    assert found.regret.tobytes() == expected.regret.tobytes()


@exhaustive
@pytest.mark.skipif(MPIEXEC is None, reason="no MPI is installed")
def test_same_bytes_for_ranks_of_mpi(run, whole, place, tmp_path):
    pytest.importorskip("mpi4py")
    out = tmp_path / "out"
    command = [str(MPIEXEC), "-n", "3", sys.executable, "-m", "mpi4py.futures", "-m", "bandstrap", "simulate"]
    more = [str(place / "7.toml"), "--out", str(out), "--executor", "mpi"]
    subprocess.run([*command, *more], check=True, timeout=PATIENCE, capture_output=True)
    assert run(7, out=out)[::2] == (0, whole)


# --- work that fails ----------------------------------------------------------------------------------------------------


def test_an_error_in_one_block_is_got_over(run, whole, trouble):
    was_raised = trouble("once")
    assert run(7, "--jobs", "1")[::2] == (0, whole)
    assert was_raised.exists()


@exhaustive
@pytest.mark.parametrize("kind", ["thread", "dask"])
def test_a_policy_that_always_fails_is_given_up_and_the_rest_is_done(run, whole, trouble, cluster, kind):
    trouble("always")
    options = ["--executor", kind, *(["--scheduler", cluster.scheduler_address] if kind == "dask" else ["--jobs", "2"])]
    code, errors, found = run(64, *options)
    assert code == 1
    assert "4 tasks were given up: 4 of " in errors
    assert "trouble" in errors
    assert "Traceback" not in errors
    shown, panels = found
    assert [line for line in shown.splitlines() if ",UCB," in line] == [
        line for line in whole[0].splitlines() if ",UCB," in line
    ]
    assert not panels
    trouble("once").with_name("trouble").unlink()
    assert run(64, *options)[::2] == (0, whole)


def total(n, run=squares, store=None, executor=None, folder="", **options):
    whole = Sum(n, str(folder))
    record = Squares()
    try:
        finish([whole], run, executor=executor, store=store, records={whole: record}, progress=False, **options)
    finally:
        total.found = record.found
    return record.found


def all_squares(n, *but):
    return {i: i**2 for i in range(n) if i not in but}


def test_three_tries_then_it_is_given_up_piece_by_piece():
    calls = []

    def fragile(pieces):
        calls.append([(piece.i, piece.folder) for piece in pieces])
        if any((piece.i, piece.folder) == (1, "b") for piece in pieces):
            raise ZeroDivisionError("one")
        return squares(pieces)

    wholes, notes, found = [Sum(2, "a"), Sum(2, "b")], Notes(), {}
    says = r"^1 task was given up: 1 of number 1 \(ZeroDivisionError: one\)\. Everything else is saved; "
    with pytest.raises(Unfinished, match=says) as seen:
        finish(wholes, fragile, executor=ThreadPoolExecutor(1), store=notes, records=found, progress=False)
    assert [record.found for record in found.values()] == [all_squares(2), all_squares(2, 1)]
    assert notes.failed == [(1, "one")]
    assert [(piece.i, type(error)) for piece, error in seen.value.failed] == [(1, ZeroDivisionError)]
    together, alone = [[(i, "a"), (i, "b")] for i in range(2)], [[(1, "a")], [(1, "b")], [(1, "b")]]
    assert sorted(calls) == sorted([*together, *alone])


def test_a_users_mistake_is_tried_once_and_without_a_place_to_note_it_raised():
    calls = []

    def mistaken(pieces):
        calls.append([piece.i for piece in pieces])
        if pieces[0].i == 1:
            raise InvalidInput("no such thing.")
        return squares(pieces)

    with pytest.raises(Unfinished, match="no such thing"):
        total(3, mistaken, Notes(), ThreadPoolExecutor(1))
    assert calls.count([1]) == 1
    with pytest.raises(InvalidInput, match="no such thing"):
        total(3, mistaken, None, ThreadPoolExecutor(1))


def test_a_disk_that_is_full_ends_it():
    class Full(Notes):
        def save(self, piece, outcome):
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        total(50, store=Full(), executor=ThreadPoolExecutor(2))


def test_what_cannot_be_prepared_is_given_up_alone():
    def prepare(piece):
        if piece.needs == "bad":
            raise ZeroDivisionError("cannot be compiled")

    wholes = [Sum(3, needs="bad"), Sum(4, needs="good")]
    with pytest.raises(Unfinished, match=r"cannot be compiled") as seen:
        finish(wholes, squares, prepare=prepare, store=Notes(), records=(found := {}), progress=False)
    assert len(seen.value.failed) == 3
    assert found[wholes[1]].found == all_squares(4)


def test_who_cannot_be_prepared_leaves_others_with_the_same_code_alone():
    def prepare(piece):
        if piece.folder == "bad":
            raise ZeroDivisionError("c = 0")

    # The same code in other worlds.
    bad, good = Sum(3, "bad", "code", "one"), Sum(4, "good", "code", "two")
    with pytest.raises(Unfinished, match=r"c = 0") as seen:
        finish([bad, good], squares, prepare=prepare, store=Notes(), records=(found := {}), progress=False)
    assert {piece.folder for piece, _ in seen.value.failed} == {"bad"}
    assert found[good].found == all_squares(4)


@pytest.mark.parametrize("error", [RuntimeError("backend shutdown"), SystemExit(0)], ids=repr)
def test_errors_of_work_that_look_like_others_are_its_own(error):
    def odd(pieces):
        if pieces[0].i == 1:
            raise error
        return squares(pieces)

    with pytest.raises(Unfinished, match=r"1 of number 1 \((RuntimeError: backend shutdown|SystemExit: 0)\)") as seen:
        total(4, odd, Notes(), ThreadPoolExecutor(1))
    assert total.found == all_squares(4, 1)
    assert [kept.__traceback__ for _, kept in seen.value.failed] == [None]  # or it would hold what was played


def test_much_work_that_kills_workers_does_not_end_the_rest():
    class Renewed(Executor):
        """Breaks by every number below 20, and is as good as new."""

        renews_itself, _max_workers = True, 8

        def submit(self, fn, /, *args, **kwargs):
            future: Future = Future()
            if isinstance(fn, TaskCall) and fn.pieces[0].i < 20:
                future.set_exception(BrokenExecutor("it was killed"))
            else:
                future.set_result(fn(*args, **kwargs))
            return future

    with pytest.raises(Unfinished) as seen:
        total(60, store=Notes(), executor=Renewed())
    assert sorted(piece.i for piece, _ in seen.value.failed) == list(range(20))
    assert total.found == all_squares(60, *range(20))


# --- executors that fail ------------------------------------------------------------------------------------------------


class Unreliable(Executor):
    """Fails to take every third call, and loses every fifth that it took."""

    _max_workers = 2

    def __init__(self):
        self.n = 0

    def submit(self, fn, /, *args, **kwargs):
        self.n += 1
        if self.n % 3 == 0:
            raise ConnectionError("nobody there")
        future: Future = Future()
        if self.n % 5 == 0:
            future.cancel()
            future.set_running_or_notify_cancel()
        else:
            future.set_result(fn(*args, **kwargs))
        return future


def test_calls_that_are_not_taken_or_cancelled_by_others_are_tried_again():
    assert total(40, executor=Unreliable()) == all_squares(40)


def check_the_one_that_kills_is_given_up(executor, folder):
    """Those that were in flight with it are done, and the same workers go on."""
    notes = Notes()
    with pytest.raises(Unfinished, match=r"1 of number 2 .*(terminated abruptly|has died, killed)"):
        total(6, killed_always, notes, executor, folder)
    assert total.found == all_squares(6, 2)
    assert len(notes.failed) == 1
    assert len(list(folder.glob("killed-*-2"))) == 3


@exhaustive
def test_processes_renew_themselves(tmp_path):
    with Processes(1) as pool:
        check_the_one_that_kills_is_given_up(pool, tmp_path)
        with pytest.raises(WorkerError, match="Odd: this and that"):
            total(1, odd_error, None, pool)
        with pytest.raises(TypeError, match="pickle"):
            total(1, odd_result, None, pool)
        whole = Sum(20, str(tmp_path), needs="kernel")
        finish([whole], squares, prepare=count_prepared, executor=pool, progress=False)
    prepared = list(tmp_path.glob("prepared-kernel-*"))
    assert {file.read_text() for file in prepared} == {"x"}  # once in each process, this one among them
    assert str(os.getpid()) in {file.name.rpartition("-")[2] for file in prepared}
    assert len(prepared) == 2


@exhaustive
def test_processes_that_are_interrupted_end_at_once():
    pool = Processes(1)
    assert pool.submit(os.getpid).result() != os.getpid()
    pool.submit(time.sleep, 10 * PATIENCE)
    (process,) = pool._context.processes
    pool.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert not process.is_alive()


@exhaustive
def test_work_that_kills_workers_of_a_cluster_is_given_up(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)  # else dask itself tries each thrice more
    with distributed.Client(cluster, set_as_default=False) as client:
        check_the_one_that_kills_is_given_up(client.get_executor(), tmp_path)


def test_processes_that_never_begin_are_told_in_a_sentence(monkeypatch):
    class Broken(Executor):
        renews_itself, _max_workers = True, 1

        def submit(self, fn, /, *args, **kwargs):
            future: Future = Future()
            future.set_exception(BrokenExecutor("at once"))
            return future

    with pytest.raises(BrokenExecutor, match=r"A worker of the executor has died, .* is kept\."):
        total(1000, store=Notes(), executor=Broken())


@pytest.fixture
def small():
    """A scheduler with no worker, and a client, in threads of this process."""
    with (
        distributed.LocalCluster(
            n_workers=0, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield cluster, client


@exhaustive
def test_workers_that_come_late_are_waited_for_but_not_for_ever(small, monkeypatch):
    cluster, client = small
    executor = client.get_executor()
    assert worker_count(executor) == 0
    monkeypatch.setattr(executors, "LOOK", 0.1)
    monkeypatch.setattr(executors, "NO_WORKERS", 0.5)
    with pytest.raises(BrokenExecutor, match=r"There has been no worker for 0 s\. Finished work is kept\."):
        total(5, executor=executor)
    monkeypatch.setattr(executors, "NO_WORKERS", PATIENCE)
    timer = threading.Timer(0.3, cluster.scale, [1])
    timer.start()
    assert total(5, executor=executor) == all_squares(5)
    assert worker_count(executor) == 2
    with ThreadPoolExecutor(2) as two:  # runs on one cluster
        found = [run.result() for run in [two.submit(finish_sum, executor, n) for n in (7, 7)]]
    assert found == [all_squares(7)] * 2


def finish_sum(executor, n):
    whole = Sum(n)
    return finish([whole], squares, executor=executor, progress=False)[whole].found


@exhaustive
def test_a_scheduler_that_goes_is_told_in_a_sentence(small):
    cluster, client = small
    cluster.scale(1)

    class Last(Notes):
        def save(self, piece, outcome):
            if piece.i == 3:
                cluster.close()

    with pytest.raises(BrokenExecutor, match=r"The connection to the dask scheduler is lost\. Finished work is kept\."):
        total(500, store=Last(), executor=client.get_executor())
    assert len(total.found) >= 3


@exhaustive
def test_workers_with_other_code_are_refused(run, tmp_path):
    (tmp_path / "bandstrap.py").write_text("__path__ = []; __version__ = '0.0.1'")
    with distributed.LocalCluster(
        n_workers=0, processes=True, dashboard_address="127.0.0.1:0", silence_logs=50
    ) as other:
        command = [sys.executable, "-m", "distributed.cli.dask_worker", other.scheduler_address, "--no-nanny"]
        worker = subprocess.Popen(
            [*command, "--nthreads", "1", "--no-dashboard"],
            env=os.environ | {"PYTHONPATH": str(tmp_path)},
            stderr=subprocess.DEVNULL,
        )
        try:
            other.wait_for_workers(1, timeout=PATIENCE)
            code, errors, _ = run(7, "--executor", "dask", "--scheduler", other.scheduler_address)
        finally:
            worker.kill()
            worker.wait()
    assert code == 2
    assert "has no bandstrap, or another version of it (No module named" in errors
    assert "Traceback" not in errors


@exhaustive
def test_a_scheduler_that_is_not_there(run, monkeypatch):
    monkeypatch.setattr("bandstrap.engine.work.workers.SECONDS_TO_ANSWER", 0.5)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and nobody listens
        for address in (f"tcp://127.0.0.1:{nobody.getsockname()[1]}", "nowhere", "tcp://"):
            code, errors, _ = run(7, "--executor", "dask", "--scheduler", address)
            assert code == 2
            assert (
                f"must be the address of a dask scheduler that answers, such as tcp://10.0.0.1:8786. Got {address!r}"
                in errors
            )
    said = run(7, "--scheduler", "tcp://127.0.0.1:1")[1]
    assert "must be given with the executor 'dask' alone. Got 'tcp://127.0.0.1:1' instead." in said
    assert (
        "must be left out with a scheduler, which has its own workers"
        in run(7, "--executor", "dask", "--scheduler", "tcp://127.0.0.1:1", "--jobs", "2")[1]
    )


@pytest.mark.parametrize(("kind", "module"), [("dask", "distributed"), ("mpi", "mpi4py")])
def test_what_is_not_installed_is_said_with_the_remedy(run, monkeypatch, kind, module):
    monkeypatch.setitem(sys.modules, module, None)
    code, errors, _ = run(7, "--executor", kind)
    assert code == 2
    assert f"bandstrap simulate with the executor {kind!r} needs {module}: pip install 'bandstrap[{kind}]'." in errors


@exhaustive
@pytest.mark.parametrize(
    ("when", "how"), [("starting", signal.SIGINT), ("working", signal.SIGINT), ("working", signal.SIGKILL)]
)
def test_no_process_outlives_a_run_that_is_stopped(tmp_path, place, when, how):
    (tmp_path / "long.toml").write_text(TEXT.format(size=1).replace("horizon = 60", "horizon = 50000"))
    shutil.copy(place / "mine.py", tmp_path)
    out, options = tmp_path / "out", ["--executor", "dask", "--jobs", "1"]
    process = psutil.Popen(
        [sys.executable, "-m", "bandstrap", "simulate", str(tmp_path / "long.toml"), "--out", str(out), *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        until = time.monotonic() + PATIENCE
        # One child keeps track of what is to be cleaned up, the other is the worker.
        while not list(out.glob("blocks/*.parquet")) if when == "working" else len(process.children()) < 2:
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < until
            time.sleep(0.05)
        children = process.children(recursive=True)
        assert children
        if when == "working":
            sockets = [socket for each in (process, *children) for socket in each.net_connections("inet")]
            assert {socket.laddr.ip for socket in sockets if socket.status == psutil.CONN_LISTEN} == {"127.0.0.1"}
        if how == signal.SIGINT:  # as a terminal does
            os.killpg(process.pid, how)
        else:
            process.kill()
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == (130 if how == signal.SIGINT else -how), errors
        if how == signal.SIGINT:
            assert errors.endswith("stopped\n")
        assert "Traceback" not in errors
        assert "distributed" not in errors  # a line of dask's log
        assert not psutil.wait_procs(children, PATIENCE)[1]
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_an_interrupt_waits_for_workers_that_are_being_started(monkeypatch):
    """One that its parent left before telling it what to do would print a traceback after "stopped"."""
    closed, being_started = [], threading.Event()

    class Cluster:
        def close(self, timeout):
            closed.append(timeout)

    def started_slowly(self):
        being_started.set()
        time.sleep(0.5)
        return Cluster()

    def connecting(connect):
        with contextlib.suppress(Exception):  # there is nothing to connect to
            connect()

    def interrupted(connect):
        threading.Thread(target=connecting, args=[connect], daemon=True).start()
        assert being_started.wait(PATIENCE)
        raise KeyboardInterrupt

    monkeypatch.setattr(workers.Dask, "_start_cluster", started_slowly)
    monkeypatch.setattr(workers, "answered", interrupted)
    with pytest.raises(KeyboardInterrupt), workers.Dask(None, 1, "test"):
        pass
    assert closed

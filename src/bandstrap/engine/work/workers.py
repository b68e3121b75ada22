"""Executors by name: threads, processes, a cluster of dask's, or ranks of MPI."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import parent_process, resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from types import TracebackType
from typing import Any, Literal, get_args

from bandstrap.basics.extras import need
from bandstrap.basics.sources import Code, code_here
from bandstrap.engine.work.dispatch import UnfitWorker, check_code
from bandstrap.engine.work.executors import check_executor
from bandstrap.engine.work.interrupts import Outcome, answered
from bandstrap.engine.work.progress import tell
from bandstrap.errors import InvalidInput, check_choice, check_count, requirement

# Kinds of workers that can be asked for by name.
ExecutorName = Literal["thread", "process", "dask", "mpi"]
# Seconds in which a scheduler must answer.
SECONDS_TO_ANSWER = 20
# What a worker of dask's is asked for: not by a function of ours, which may not be there.
ITS_CODE = "tuple(__import__('importlib').import_module('bandstrap.basics.sources').code_here())"

Ended = type[BaseException] | None


class Threads(ThreadPoolExecutor):
    """Threads that nobody waits for once something has gone wrong: they have been called off."""

    def __exit__(self, kind: Ended, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.shutdown(wait=kind is None, cancel_futures=True)


class Spawning(SpawnContext):
    """Processes that are not forked, because compiled code and its threads do not survive that; all are remembered."""

    def __init__(self) -> None:
        super().__init__()
        self.processes: list[SpawnProcess] = []

    def Process(self, *arguments: Any, **named: Any) -> SpawnProcess:  # type: ignore[override]  # noqa: N802
        """A process that has not been started yet."""
        self.processes.append(super().Process(*arguments, **named))
        return self.processes[-1]


class Processes(Executor):
    """Processes of which one may be killed: the others go with it, and new ones take what comes next."""

    renews_itself = True

    def __init__(self, n: int) -> None:
        start_tracker()
        self._max_workers = n
        self._pool = self._new_pool()

    def _new_pool(self) -> ProcessPoolExecutor:
        self._context = Spawning()
        return ProcessPoolExecutor(self._max_workers, mp_context=self._context, initializer=begin)

    def submit(self, call: Callable[..., Outcome], /, *arguments: object, **named: object) -> Future[Outcome]:
        """Hand out a call."""
        with no_interrupts():  # it may start a process
            try:
                return self._pool.submit(call, *arguments, **named)
            except BrokenExecutor:
                self._pool.shutdown(wait=True)
                self._pool = self._new_pool()
                return self._pool.submit(call, *arguments, **named)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more work."""
        self._pool.shutdown(wait=wait, cancel_futures=cancel_futures)

    def __exit__(self, kind: Ended, error: BaseException | None, traceback: TracebackType | None) -> None:
        if kind is not None and issubclass(kind, KeyboardInterrupt):  # what was to be waited for has been
            for process in self._context.processes:
                if process.is_alive():
                    process.terminate()
        self.shutdown(wait=True, cancel_futures=True)  # nothing new is begun once something has gone wrong


@contextlib.contextmanager
def no_interrupts() -> Iterator[None]:
    """Threads and processes that are begun in the context never hear Ctrl-C, not even before they can say so themselves.

    A terminal sends it to all processes, and one that is still loading Python would answer with a traceback. This thread
    hears it, if no other does, when the context ends.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def start_tracker() -> None:
    """Start the process that removes what other processes leave behind, such as locks; it shall do so without a warning.

    Which comes whenever a command is stopped twice. Started later, by what needs it, it would also undo ``no_interrupts``.
    """
    if os.name == "posix":
        before = list(sys.warnoptions)  # which it is given
        sys.warnoptions.append("ignore::UserWarning:multiprocessing.resource_tracker")
        try:
            resource_tracker.ensure_running()
        finally:
            sys.warnoptions[:] = before


def begin() -> None:
    """Be ready for work in a process of its own.

    A terminal sends Ctrl-C to all processes; the one that handed out the work decides what becomes of it. If that one is
    killed, nobody is left to hand out work.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()


def end_with_parent() -> None:
    """End this process once the one that started it has ended."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def dask_setup(worker: object) -> None:
    """Be ready for work in a worker of dask's that was started here, and that ends with its parent by itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class Dask(Executor):
    """The workers of a dask scheduler, or some on this machine; they are sought, or started, when the context begins."""

    def __init__(self, scheduler: str | None, n: int, command: str) -> None:
        self._scheduler, self._n, self._command = scheduler, n, command
        self._cluster: Any = None
        self._client: Any = None
        self._executor: Any = None
        # Whether no worker is being started here.
        self._is_settled = threading.Event()
        self._is_settled.set()

    def __enter__(self) -> Dask:
        tell("looking for the scheduler" if self._scheduler else "starting workers")
        try:
            answered(self._connect)
            if self._scheduler is not None:
                answered(self._check_workers)
        except BaseException:
            # A worker that is started, and not yet told what to do when this process ends, says so with a traceback.
            self._is_settled.wait()
            self.shutdown()
            raise
        self._executor = self._client.get_executor()
        return self

    def _start_cluster(self) -> Any:
        """Workers on this machine."""
        from distributed import LocalCluster

        start_tracker()
        options: Any = {"silence_logs": logging.CRITICAL, "preload": [__name__]}
        with no_interrupts():
            # Its pages are for this machine alone, without pictures. Work whose worker dies is tried again by ``pool.py``.
            return LocalCluster(
                n_workers=self._n,
                threads_per_worker=1,
                processes=True,
                dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False, "allowed_failures": 0},
                **options,
            )

    def _connect(self) -> None:
        from distributed import Client
        from distributed.comm import parse_address, parse_host_port

        for name in list(logging.root.manager.loggerDict):
            if name.partition(".")[0] in {"distributed", "tornado", "asyncio"}:
                # What matters is told by whoever waits for the outcomes.
                logging.getLogger(name).setLevel(logging.CRITICAL)
        if self._scheduler is None:
            self._is_settled.clear()
            try:
                self._cluster = self._start_cluster()
            finally:
                self._is_settled.set()
        where = self._scheduler if self._cluster is None else self._cluster
        try:
            if self._scheduler is not None:
                parse_host_port(parse_address(self._scheduler)[1])  # which a client would try for a long time
            self._client = Client(where, timeout=SECONDS_TO_ANSWER, set_as_default=False)
        except Exception as error:
            rule = "the address of a dask scheduler that answers, such as tcp://10.0.0.1:8786"
            raise requirement("scheduler", self._command, rule, f"{self._scheduler!r} ({error})") from error

    def _check_workers(self) -> None:
        """Refuse workers that have other code, or none; those that come later are found out by their first work."""
        for worker, found in self._client.run(eval, ITS_CODE, on_error="return").items():
            if isinstance(found, tuple):
                check_code(code_here(), Code(*found), worker)
            else:
                raise UnfitWorker(
                    f"The dask worker at {worker} has no bandstrap, or another version of it ({found}): install "
                    f"{code_here().said} there."
                )

    def submit(self, call: Callable[..., Outcome], /, *arguments: object, **named: object) -> Future[Outcome]:
        """Hand out a call."""
        return self._executor.submit(call, *arguments, **named)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the scheduler; workers that were started here end."""
        for each in (self._client, self._cluster):
            if each is not None:
                with contextlib.suppress(Exception):  # what is gone needs no closing
                    each.close(timeout=SECONDS_TO_ANSWER)


class Ranks(Executor):
    """The ranks of MPI beside this one, or, outside of ``mpiexec``, some that are started on this machine."""

    def __init__(self, n: int | None) -> None:
        self._n = n
        self._pool: Any = None

    def __enter__(self) -> Ranks:
        try:
            from mpi4py.futures import MPIPoolExecutor

            self._pool = MPIPoolExecutor(max_workers=self._n, main=False)
            self._max_workers = answered(lambda: self._pool.num_workers)
        except (ImportError, RuntimeError) as error:
            raise InvalidInput(f"MPI does not work here: {error}.") from error
        return self

    def submit(self, call: Callable[..., Outcome], /, *arguments: object, **named: object) -> Future[Outcome]:
        """Hand out a call."""
        return self._pool.submit(call, *arguments, **named)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more work."""
        if self._pool is not None:
            self._pool.shutdown(wait=wait, cancel_futures=cancel_futures)

    def __exit__(self, kind: Ended, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.shutdown(wait=True, cancel_futures=True)


def workers(jobs: int | None, owner: str, kind: ExecutorName = "thread", scheduler: str | None = None) -> Executor:
    """Start as many workers of a kind as were asked for, by default one per core; a context in which they live."""
    check_choice(kind, "executor", owner, get_args(ExecutorName))
    n = os.cpu_count() or 1 if jobs is None else check_count(jobs, "jobs", owner)
    if scheduler is not None and kind != "dask":
        raise requirement("scheduler", owner, "given with the executor 'dask' alone", repr(scheduler))
    if scheduler is not None and jobs is not None:
        raise requirement("jobs", owner, "left out with a scheduler, which has its own workers", jobs)
    if kind == "thread":
        return Threads(n)
    if kind == "process":
        return Processes(n)
    need(f"{owner} with the executor {kind!r}", {"dask": "distributed", "mpi": "mpi4py"}[kind])
    return Dask(scheduler, n, owner) if kind == "dask" else Ranks(jobs)


@contextlib.contextmanager
def at_work(
    executor: Executor | ExecutorName | None, owner: str, *, jobs: int | None = None, scheduler: str | None = None
) -> Iterator[Executor]:
    """Workers while the context lasts: those of an executor that was lent, or else of a kind, by default threads."""
    if executor is None or isinstance(executor, str):
        with workers(jobs, owner, executor or "thread", scheduler) as pool:
            yield pool
        return
    check_executor(executor, owner)
    for name, given in (("jobs", jobs), ("scheduler", scheduler)):
        if given is not None:
            raise requirement(name, owner, "left out with an executor that has its own workers", repr(given))
    yield executor

"""What a command works with: threads or processes."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context, parent_process
from types import TracebackType
from typing import Annotated

import typer

from bandstrap.errors import check_choice, check_count

EXECUTORS = ("thread", "process")
Jobs = Annotated[int | None, typer.Option(help="Threads or processes; all cores by default.")]
ExecutorName = Annotated[
    str, typer.Option("--executor", help="thread or process: processes are for policies in plain Python.")
]


class Threads(ThreadPoolExecutor):
    """Threads that nobody waits for once something has gone wrong: they have been called off."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.shutdown(wait=kind is None, cancel_futures=True)


class Processes(ProcessPoolExecutor):
    """Processes that begin nothing new once something has gone wrong."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.shutdown(wait=True, cancel_futures=True)


def begin(files: object) -> None:
    """Be ready for work in a process of its own, in which the user's own files are loaded by now.

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


def workers(jobs: int | None, command: str, kind: str = "thread") -> Executor:
    """As many threads or processes as were asked for, by default one per core."""
    check_choice(kind, "executor", command, EXECUTORS)
    n = os.cpu_count() or 1 if jobs is None else check_count(jobs, "jobs", command)
    if kind == "thread":
        return Threads(n)
    from bandstrap.policies.own_file import LoadedFiles

    # Not forked: compiled code and its threads do not survive that.
    return Processes(n, mp_context=get_context("spawn"), initializer=begin, initargs=(LoadedFiles(),))

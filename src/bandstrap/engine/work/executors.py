"""Executors: how many workers they have, and whether one of them, or the work it was given, is to blame for an error."""

from __future__ import annotations

import os
import time
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, cast

from bandstrap.engine.work.dispatch import UnfitWorker, WorkerError, causes, nothing
from bandstrap.engine.work.interrupts import Event, in_own_thread
from bandstrap.errors import InvalidInput, requirement

# Pools that break one after another, with nothing done in between, before it is said that none will do.
MOST_BREAKS = 10
# Seconds in which a pool that has broken so often does a task of nothing, if it can.
SECONDS_TO_ANSWER = 60.0
# Seconds between two looks at how many workers there are, and after which nobody waits for a first one any longer.
LOOK = 2.0
NO_WORKERS = 300.0


class WorkersDied(WorkerError):
    """Workers of dask died while they had a task, which may be to blame or only have been there."""


class Workers:
    """The workers of an executor, which may come and go, and die.

    Parameters
    ----------
    executor
        Whose they are; ``None`` for threads of our own.
    events
        Where a future is put that has counted them; see :meth:`take_in`.
    """

    def __init__(self, executor: Executor | None, events: SimpleQueue[Event]) -> None:
        self._executor, self._events = executor, events
        try:
            self.count = worker_count(executor)
        except Exception:  # noqa: BLE001 - of a scheduler that is gone: whoever hands out work will be told
            self.count = 0
        self._n_breaks = 0
        # A look at how many there are, when that last was, and when there last were any.
        self._looking: Future[int] | None = None
        self._looked = self._seen = time.monotonic()

    @property
    def are_threads(self) -> bool:
        """True if they are threads of this process, which can be called off."""
        return self._executor is None or isinstance(self._executor, ThreadPoolExecutor)

    def look(self, *, are_wanted: bool) -> None:
        """Count them now and then, if they come and go; where there are none and they are wanted, wait only so long."""
        if dask_client(self._executor) is None:
            return
        now = time.monotonic()
        if self.count > 0 or not are_wanted:
            self._seen = now
        elif now - self._seen > NO_WORKERS:
            raise BrokenExecutor(f"There has been no worker for {NO_WORKERS:.0f} s. Finished work is kept.")
        if self._looking is None and now - self._looked > LOOK:
            self._looking = in_own_thread(worker_count, self._executor)
            self._looking.add_done_callback(self._events.put)

    def take_in(self, event: object) -> None:
        """Note how many there are, if that is what has been found out."""
        if self._looking is not None and event is self._looking:
            self.count = 0 if self._looking.exception() is not None else self._looking.result()
            self._looking, self._looked = None, time.monotonic()

    def have_worked(self) -> None:
        """Something was done: what breaks from now on is counted anew."""
        self._n_breaks = 0

    def check(self, error: BaseException, *, is_last: bool) -> None:
        """Raise what they, and not the work they were given, fail by.

        All that is in flight fails by one break, which is counted with the last of it.
        """
        client = dask_client(self._executor)
        if isinstance(error, UnfitWorker):
            raise error
        if client is not None and client.status != "running":
            raise BrokenExecutor("The connection to the dask scheduler is lost. Finished work is kept.") from error
        if isinstance(error, BrokenExecutor):
            self._n_breaks += is_last
            renews = getattr(self._executor, "renews_itself", False)
            if renews and self._n_breaks > MOST_BREAKS and can_work(self._executor):
                self._n_breaks = 0  # the work is to blame, and will be given up
            if not renews or self._n_breaks > MOST_BREAKS:
                raise type(error)(
                    "A worker of the executor has died, killed or short of memory. Finished work is kept."
                ) from error


def check_executor(executor: object, owner: str) -> None:
    """Refuse what cannot be handed work."""
    if executor is not None and (isinstance(executor, type) or not callable(getattr(executor, "submit", None))):
        raise requirement("executor", owner, "a concurrent.futures.Executor", repr(executor))


def worker_count(executor: Executor | None) -> int:
    """Number of workers that an executor has now; of one that does not tell, one for each core is assumed.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> worker_count(ThreadPoolExecutor(3))
    3
    """
    client = dask_client(executor)
    if client is not None:
        return sum(client.ncores().values())
    for name in ("_max_workers", "num_workers"):  # of Python's own executors, and of mpi4py's
        n_workers = getattr(executor, name, None)
        if isinstance(n_workers, int) and n_workers > 0:
            return n_workers
    return os.cpu_count() or 1


def can_work(executor: Executor | None) -> bool:
    """Return whether an executor does work that harms nobody."""
    try:
        cast("Executor", executor).submit(nothing, None).result(timeout=SECONDS_TO_ANSWER)
    except Exception:  # noqa: BLE001 - whatever keeps it from that
        return False
    return True


def dask_client(executor: Executor | None) -> Any:
    """The client of dask that is behind an executor, if one is; its workers come and go."""
    client = getattr(executor, "_client", None)
    return client if hasattr(client, "ncores") else None


def refusal_in(error: BaseException) -> BaseException:
    """The sentence about a user's mistake that an error was raised from, if there is one; else the error itself."""
    if type(error).__name__ == "KilledWorker":  # dask's, which need not be there; its text differs from task to task
        return WorkersDied("every worker of dask that was given it has died, killed or short of memory")
    return next((cause for cause in causes(error) if isinstance(cause, InvalidInput)), error)

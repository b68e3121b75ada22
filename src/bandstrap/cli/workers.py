"""The threads a command works with."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

from bandstrap.errors import check_count


class Workers(ThreadPoolExecutor):
    """Threads that nobody waits for once something has gone wrong: they have been called off."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.shutdown(wait=kind is None, cancel_futures=True)


def workers(jobs: int | None, command: str) -> Workers:
    """As many threads as were asked for, by default one per core."""
    return Workers(os.cpu_count() or 1 if jobs is None else check_count(jobs, "jobs", command))

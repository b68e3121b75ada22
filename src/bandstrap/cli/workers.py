"""The threads a command works with."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

from bandstrap.errors import check_count


def workers(jobs: int | None, command: str) -> ThreadPoolExecutor:
    """As many threads as were asked for, by default one per core."""
    return ThreadPoolExecutor(os.cpu_count() or 1 if jobs is None else check_count(jobs, "jobs", command))

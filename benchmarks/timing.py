"""The best time of several calls."""

import time
from collections.abc import Callable


def best_time(run: Callable[[], object], seconds: float = 1.0) -> float:
    """Shortest of the calls that fit into ``seconds``, at least three, after one call to warm up."""
    run()
    times = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)

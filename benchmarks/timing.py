"""The best time of several calls."""

import time
from collections.abc import Callable


def best_time(run: Callable[[], object], seconds: float = 1.0, clock: Callable[[], float] = time.perf_counter) -> float:
    """Shortest of the calls that fit into ``seconds``, at least three, after one call to warm up.

    By default by the clock on the wall; what one thread does is better told by ``time.thread_time``, in which
    others who use the machine do not count.
    """
    run()
    times = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = clock()
        run()
        times.append(clock() - start)
    return min(times)

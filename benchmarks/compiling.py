"""Compiling: processor seconds before the first round of each policy, from nothing and from the disk cache.

A process of its own for each figure, forked from one that has imported numba, which takes half a second by itself.
"""

import statistics
import tempfile
import time
from multiprocessing import get_context

import numba

from bandstrap.engine.blocks import warm, warm_policy
from bandstrap.environments import Beta, LinearBandit
from bandstrap.league.plan import plan_league
from bandstrap.league.spec import read_league
from bandstrap.policies import LINEAR_POLICIES, POLICIES
from benchmarks.timing import report

COLD, MEDIAN, LOADED, LEAGUE = 8.0, 3.0, 0.3, 60.0  # goals, in seconds


def in_a_fork(run, *arguments) -> float:
    """Processor seconds of a call in a process of its own."""
    with get_context("fork").Pool(1) as pool:
        return pool.apply(spent, (run, *arguments))


def spent(run, folder: str, *arguments) -> float:
    """Processor seconds of a call, with compiled code in a folder."""
    numba.config.CACHE_DIR = folder
    start = time.process_time()
    run(*arguments)
    return time.process_time() - start


def warm_default(name: str) -> None:
    """Compile or load a policy at its defaults."""
    if name in POLICIES:
        warm_policy(POLICIES[name](), Beta())
    else:
        options = {"check_range": False} if name == "linear_phe" else {}
        warm_policy(LINEAR_POLICIES[name](**options), LinearBandit(3, n_actions=5))


def warm_league() -> None:
    """Compile what a league needs."""
    for match in plan_league(read_league(), 2000, 2, 0):
        if match.block is not None:
            warm(match.block)


def main() -> None:
    print("Compiling")
    numba.njit(lambda x: x + 1)(1)  # what numba sets up once
    colds = []
    for name in [*POLICIES, *LINEAR_POLICIES]:
        with tempfile.TemporaryDirectory() as folder:
            cold, loaded = in_a_fork(warm_default, folder, name), in_a_fork(warm_default, folder, name)
        colds.append(cold)
        report(
            f"compile {name}: from nothing, and from disk", f"{cold:.1f} s, {loaded:.2f} s", f"goal: {COLD}, {LOADED}"
        )
    report("compile a policy: the median", f"{statistics.median(colds):.1f} s", f"goal: {MEDIAN}")
    with tempfile.TemporaryDirectory() as folder:
        report("compile the whole league", f"{in_a_fork(warm_league, folder):.0f} s", f"goal: {LEAGUE:.0f}")

"""Compiling: processor seconds before the first round of each policy, from nothing and from the disk cache.

A process of its own for each figure, forked from one that has imported numba, which takes half a second by itself.
"""

import tempfile
import time
from collections.abc import Iterator
from multiprocessing import get_context

import numba

from bandstrap import BootstrappedUCB, LinearBootstrappedUCB
from bandstrap.engine.simulator.blocks import warm, warm_policy
from bandstrap.environments import Beta, LinearBandit
from bandstrap.league.plan import plan_league
from bandstrap.league.spec import read_league
from bandstrap.policies import LINEAR_POLICIES, POLICIES
from benchmarks.document import Row, Table, median_row

COLD, MEDIAN, LOADED, LEAGUE = 8.0, 3.0, 0.3, 60.0  # goals, in seconds
# Beside every policy at its defaults.
FORMS = {
    "bootstrapped_ucb exact": (BootstrappedUCB, {"quantile": "exact"}),
    "bootstrapped_ucb streaming": (BootstrappedUCB, {"quantile": "streaming"}),
    "linear_bootstrapped_ucb streaming": (LinearBootstrappedUCB, {"quantile": "streaming"}),
}
LINEAR = LinearBandit(3, n_actions=5)


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


def warm_form(name: str) -> None:
    """Compile or load a policy."""
    if name in FORMS:
        policy, options = FORMS[name]
        warm_policy(policy(**options), Beta() if policy is BootstrappedUCB else LINEAR)
    elif name in POLICIES:
        warm_policy(POLICIES[name](), Beta())
    else:
        options = {"check_range": False} if name == "linear_phe" else {}
        warm_policy(LINEAR_POLICIES[name](**options), LINEAR)


def warm_league() -> None:
    """Compile what a league needs."""
    for match in plan_league(read_league(), 2000, 2, 0):
        if match.block is not None:
            warm(match.block)


def tables() -> Iterator[Table]:
    """From nothing, and from disk."""
    numba.njit(lambda x: x + 1)(1)  # what numba sets up once
    cold, loaded = [], []
    for name in [*POLICIES, *FORMS, *LINEAR_POLICIES]:
        with tempfile.TemporaryDirectory() as folder:
            cold.append(Row(name, in_a_fork(warm_form, folder, name), "s", COLD))
            loaded.append(Row(name, in_a_fork(warm_form, folder, name), "s", LOADED))
    with tempfile.TemporaryDirectory() as folder:
        league = Row("every policy of the league", in_a_fork(warm_league, folder), "s", LEAGUE)
    middle = median_row("the median", cold, MEDIAN)
    yield Table("How long does a policy take to compile? (processor seconds)", [*cold, middle, league])
    yield Table("How long does a policy take to load once it is compiled? (processor seconds)", loaded)

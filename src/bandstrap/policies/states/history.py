"""Memory of a policy that resamples: every reward of an arm."""

from __future__ import annotations

import mmap
import platform
import sys
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.engine.simulator.tape import LONGEST_TAPE
from bandstrap.engine.work.memory import WORD
from bandstrap.policies.states.fields import Counts, History, Order

# What lets a process ask for more addresses than there is memory; Python has a name for it from 3.13 on.
HAS_USUAL_FLAGS = sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64")
ON_CREDIT: int = getattr(mmap, "MAP_NORESERVE", 0x4000 if HAS_USUAL_FLAGS else 0)


class State(NamedTuple):
    """Pulls and rewards of each arm, and the order that breaks ties."""

    order: Order
    pulls: Counts
    history: History


def room(n_rows: int, capacity: int) -> Floats:
    """Zeros, one row per arm, of which only those that are written take memory.

    NumPy asks the system for huge pages, two mebibytes for the first reward of an arm. Where rows are long and many these
    would be too much, and small pages are asked for instead, of which the system has to keep none ready.
    """
    small_pages = getattr(mmap, "MADV_NOHUGEPAGE", None)
    if n_rows * capacity <= LONGEST_TAPE or small_pages is None:
        return np.zeros((n_rows, capacity))
    try:
        pages = mmap.mmap(-1, WORD * n_rows * capacity, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | ON_CREDIT)
        pages.madvise(small_pages)
    except (OSError, OverflowError) as error:
        raise MemoryError(f"no room for {n_rows} rows of {capacity} numbers") from error
    return np.frombuffer(pages).reshape(n_rows, capacity)


def no_rewards(n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
    """The state before the first reward, with room for ``capacity`` of them per arm."""
    return State(order, np.zeros(n_arms, dtype=np.int64), room(n_arms, capacity))


def learn(params: object, state: State, arm: int, reward: float, round_: int, rng: np.random.Generator) -> None:
    """Keep the reward."""
    state.history[arm][state.pulls[arm]] = reward
    state.pulls[arm] += 1

"""Memory that a computation needs and memory that is free, known before it begins."""

from __future__ import annotations

import contextlib
import math
import mmap
import os
import threading
from collections.abc import Callable, Iterator, Sized
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from bandstrap.basics.arrays import AnyArray
from bandstrap.errors import requirement

WORD = 8  # bytes per number
# Limits of processes; only Unix-like systems have them.
resource: Any = import_module("resource") if os.name == "posix" else None
PROCESS = Path("/proc/self")
CONTROL_GROUPS = Path("/sys/fs/cgroup")
# This much is always there: it is not worth the files that the system would have to be asked.
SMALL = 2**24
# Of the memory that there is, what is left to games that are played at the same time.
SHARE = 0.75
# Seconds between two looks of who waits for memory.
TICK = 0.2


# --- what is needed -----------------------------------------------------------------------------------------------------


def bytes_of_tape(
    n_arms: int, horizon: int, n_features: int = 0, *, is_late: bool = False, n_at_hand: int | None = None
) -> int:
    """Bytes that one replication holds at a time.

    The rewards, as many again that a policy may remember, what is chosen in each round and its number, and, where
    actions have ``n_features`` features that change from round to round, these and their means. Where rewards are
    late, also when each arrives, in what order, how many by each round, and the rewards themselves. Without a reward
    table there are ``n_at_hand`` numbers of it, thrice while the next ones are drawn, the rewards that a policy has
    seen, and the features of actions whose rewards are late.

    >>> bytes_of_tape(5, 2000), bytes_of_tape(1000, 10**6, n_at_hand=10**6)
    (192000, 56000000)
    """
    of_actions = n_arms * (n_features + 1) if n_features else 0
    of_arrivals = 5 if is_late else 0
    if n_at_hand is not None:
        return WORD * (3 * n_at_hand + horizon * (4 + of_arrivals + (n_features if is_late else 0)))
    return WORD * horizon * (2 * n_arms + 2 + of_actions + of_arrivals)


class Startable(Protocol):
    """A policy, which a state can be had of."""

    def start(self, size: int, capacity: int, rng: np.random.Generator, /) -> object:
        """A new state."""


def bytes_of_state(policy: Startable, size: int, capacity: int) -> int:
    """Bytes of the arrays that a policy starts with, without starting it: some have a number for each reward."""
    one, two = (bytes_in(policy.start(size, room, np.random.default_rng(0))) for room in (1, 2))
    return one + (capacity - 1) * (two - one)


def bytes_in(state: object) -> int:
    """Bytes of the arrays in a state, be they in tuples inside it."""
    return sum(array.nbytes for array in arrays_in(state))


def bytes_held(policy: Startable, size: int, capacity: int, n_probed: int) -> int:
    """Bytes that those arrays come to hold in a game of ``capacity`` rewards, be they of all arms together.

    Of rows that are mapped page by page only what is written is held: the rewards, and at either end of a row a page that
    is not full. Which these are is seen in a start with room for ``n_probed`` rewards of each arm, enough to map rows.
    """
    arrays = [*arrays_in(policy.start(size, n_probed, np.random.default_rng(0)))]
    mapped = [array for array in arrays if is_mapped(array)]
    written = sum(2 * mmap.PAGESIZE * len(array) + WORD * capacity for array in mapped)
    return (
        bytes_of_state(policy, size, capacity) - sum(array.nbytes // n_probed * capacity for array in mapped) + written
    )


def arrays_in(state: object) -> Iterator[AnyArray]:
    """The arrays in a state, be they in tuples inside it."""
    if isinstance(state, tuple):
        for part in state:
            yield from arrays_in(part)
    elif isinstance(state, np.ndarray):
        yield state


def is_mapped(array: object) -> bool:
    """Return whether an array is a view of pages that were mapped."""
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, memoryview) and isinstance(array.obj, mmap.mmap)


def bytes_of_result(
    n_policies: int, replications: int, n_checkpoints: int, n_arms: int, bytes_of_choices: int = 0
) -> int:
    """Bytes of the regret at checkpoints and the pulls of each arm, of all replications, and of the choices of each.

    Twice: as they were played, block by block, and put together.
    """
    return 2 * n_policies * replications * (WORD * (n_checkpoints + n_arms) + bytes_of_choices)


# --- what there is ------------------------------------------------------------------------------------------------------


def usable_memory() -> float:
    """Bytes of memory that this process could have; infinite where the system does not say.

    The least of what the machine has, what the control groups allow that the process is in, and what its own limits leave.
    """
    return min(memory_of_machine(), *memory_of_groups(), *memory_within_limits(), math.inf)


def memory_of_machine() -> float:
    """Bytes of memory in the machine."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # not a Unix-like system
        return math.inf


def memory_of_groups() -> Iterator[float]:
    """Bytes that the control groups of this process may have, and those around them, in both versions of the system."""
    for line in lines_of(PROCESS / "cgroup"):
        _, controllers, name = line.split(":", 2)
        if not controllers:
            top, file = CONTROL_GROUPS, "memory.max"
        elif "memory" in controllers.split(","):
            top, file = CONTROL_GROUPS / "memory", "memory.limit_in_bytes"
        else:
            continue
        group = top / name.lstrip("/")
        for folder in (group, *group.parents):
            if folder.is_relative_to(top):
                yield from (float(text) for text in lines_of(folder / file) if text.isdecimal())  # or "max"


def memory_within_limits() -> Iterator[float]:
    """Bytes that the limits of this process leave: those of its address space and of its data."""
    if resource is None:
        return
    used = next(iter(lines_of(PROCESS / "statm")), "0 0 0 0 0 0 0").split()  # in pages
    for name, field in (("RLIMIT_AS", 0), ("RLIMIT_DATA", 5)):
        limit = resource.getrlimit(getattr(resource, name))[0]
        if limit != resource.RLIM_INFINITY:
            yield max(0.0, limit - int(used[field]) * resource.getpagesize())


def lines_of(path: Path) -> list[str]:
    """The lines of a file of the system; none where it is not there."""
    try:
        return path.read_text().split("\n")[:-1]
    except (OSError, ValueError):
        return []


# --- the check ----------------------------------------------------------------------------------------------------------


def check_memory(needed: int, parameter: str, owner: str, received: int) -> None:
    """Refuse what would need more memory than there is, which must never be tried."""
    if needed <= SMALL:
        return
    there = usable_memory()
    if needed > there:
        rule = f"small enough for the {gigabytes(there)} of memory available"
        raise requirement(parameter, owner, rule, f"{digits(received)}, which takes {gigabytes(needed)},")


def check_room(policy: Startable, size: int, capacity: int, n_probed: int) -> None:
    """Refuse a horizon for which a policy would hold more memory than there is, or ask for more than it may."""
    needed = bytes_of_state(policy, size, capacity)
    # A limit on addresses or data counts what is asked for, be it never written.
    is_allowed = needed <= min([*memory_within_limits(), math.inf])
    if needed > usable_memory() >= bytes_of_state(policy, size, n_probed) and is_allowed:
        needed = bytes_held(policy, size, capacity, n_probed)
    check_memory(needed, "horizon", "simulate", capacity)


class Room:
    """Memory that the threads of this process share: who needs much waits until the others have left enough of it.

    Who is alone does not wait: what one needs alone was checked before.
    """

    def __init__(self) -> None:
        self._taken = 0
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def taken(self, needed: int, tick: Callable[[], None]) -> Iterator[None]:
        """Hold so many bytes while the context lasts; ``tick`` is called now and then while there are not enough."""
        needed = needed if needed > SMALL else 0
        if needed:
            there = SHARE * usable_memory()
            with self._changed:
                while self._taken and self._taken + needed > there:
                    self._changed.wait(TICK)
                    tick()
                self._taken += needed
        try:
            yield
        finally:
            if needed:
                with self._changed:
                    self._taken -= needed
                    self._changed.notify_all()


def length(values: object) -> int:
    """Number of values, be they a range longer than Python's ``len`` can tell; 0 of what has no length.

    >>> length(range(10**30)) == 10**30, length([1, 2]), length(3)
    (True, 2, 0)
    """
    if isinstance(values, range):
        return (values[-1] - values[0]) // values.step + 1 if values else 0
    try:
        return len(values) if isinstance(values, Sized) else 0
    except TypeError:  # also of an array without axes
        return 0


def gigabytes(number: float) -> str:
    """Bytes as a text of three digits, be they beyond the largest float.

    >>> gigabytes(25_300_000_000), gigabytes(8 * 10**400)
    ('25.3 GB', '8.00e+391 GB')
    """
    return f"{Decimal(number) / 10**9:.3g} GB"


def digits(count: int) -> str:
    """A count as a text: to three digits where it has more than anybody reads."""
    return str(count) if abs(count) < 10**20 else f"{Decimal(count):.3g}"

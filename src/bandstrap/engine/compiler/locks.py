"""One process compiles and the others wait for it: locks beside the files of compiled code.

Many processes of one machine may need the same code at once, none of which is on the disk: the workers of a cluster when a
run begins. One of them compiles it, as the system takes back a lock however its holder ends, and the others load it.
Where there are no locks every process compiles by itself, which gives the same code and takes longer.

How long a thread has compiled is counted, so that it is not taken for the time of the work that the code was needed for.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from bandstrap.basics.storage import fcntl

# Seconds between two looks whether another process has finished, and after which it is not waited for any longer.
LOOK = 0.1
LONGEST = 120.0

_here = threading.local()


@contextlib.contextmanager
def taking_turns() -> Iterator[None]:
    """While the context lasts, what this thread compiles is compiled by no other process meanwhile."""
    outer: dict[Path, int] | None = getattr(_here, "held", None)
    _here.held = {} if outer is None else outer
    try:
        yield
    finally:
        if outer is None:
            for file in list(_here.held):  # it could not be compiled
                end_turn(file)
            _here.held = None


def take_turn(file: Path) -> bool:
    """Have the right to compile what a file is to hold; whether somebody had it first, and the file may be there by now."""
    held: dict[Path, int] | None = getattr(_here, "held", None)
    if held is None or fcntl is None or file in held:
        return False
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(lock_of(file), os.O_CREAT | os.O_RDWR, 0o666)
    except OSError:  # nothing can be kept there
        return False
    has_waited = False
    until = time.monotonic() + LONGEST
    while time.monotonic() < until:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            has_waited = True
            time.sleep(LOOK)
        except OSError:  # a file system without locks
            break
        else:
            held[file] = descriptor
            return has_waited
    os.close(descriptor)
    return has_waited


def end_turn(file: Path) -> None:
    """Let others have their turn, be the file there now or not."""
    held: dict[Path, int] | None = getattr(_here, "held", None)
    if held is not None and file in held:
        # Who waits for a lock that is removed gets it all the same, looks for the file, and finds it.
        with contextlib.suppress(OSError):
            lock_of(file).unlink(missing_ok=True)
        os.close(held.pop(file))


def lock_of(file: Path) -> Path:
    """Path of the lock of a file."""
    return file.with_name(f".{file.name}.lock")


def seconds_compiling() -> float:
    """Processor seconds that this thread has spent so far on compiling functions, or on loading them."""
    return getattr(_here, "seconds", 0.0)


def count_compiling(seconds: float) -> None:
    """Count processor seconds of this thread as spent on compiling."""
    _here.seconds = seconds_compiling() + seconds

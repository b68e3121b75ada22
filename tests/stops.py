"""A user who presses Ctrl-C."""

import signal
from contextlib import contextmanager

import pytest

from bandstrap.engine.work.pool import Loop


@contextmanager
def python_handles(number=signal.SIGINT):
    """Have Python's own handler of a signal, which those who run tests side by side take away."""
    before = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(number, before)


@contextmanager
def interrupted_after(n_blocks, times=1):
    """Press Ctrl-C when so many blocks are done."""
    seen = []
    put = Loop._put

    def press(self, part, outcome):
        put(self, part, outcome)
        seen.append(part)
        if len(seen) == n_blocks:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)

    with pytest.MonkeyPatch.context() as patch, python_handles():
        patch.setattr(Loop, "_put", press)
        yield

"""Ctrl-C and SIGTERM while work is done: the one place that handles signals.

A signal that raises wherever the program happens to be may leave a lock taken or a list half-changed. So, while work is
handed out, a signal is an event among others: :func:`listening` turns it into one, the loop (``pool.py``) takes it from
the queue that outcomes come by, winds up, and only then is the signal passed on to what would have handled it.

Only a signal that would raise ``KeyboardInterrupt`` is taken over. One that is ignored (``nohup``, a background job of a
shell) stays ignored, a handler of the program that called us stays in charge, and ``SIGTERM`` ends a program as ever
unless the program itself (the command line does) asked for a :class:`Quit`. Python runs handlers in the main thread
alone, so work handed out by any other thread is not interrupted by signals. On Windows, where ``SIGTERM`` is never sent by
others, Ctrl-C works the same.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from types import FrameType
from typing import Any, NoReturn, TypeVar

# SIGINT comes last: handlers are put back in this order, and it is the one that may come more than once.
SIGNALS: tuple[int, ...] = (signal.SIGTERM, signal.SIGINT)
# How often to look up from waiting. A signal may come just before the wait begins, or reach another thread: nothing then
# ends the wait, and Python runs the handler when it looks up.
TICK = 0.2
# A second signal that comes sooner than this is taken for the first, by an impatient hand: we are on the way out already.
GRACE = 1.0

# What a loop waits for: the number of a signal, or a future that has ended.
Event = int | Future[Any]
Outcome = TypeVar("Outcome")


class Quit:
    """A handler for a program of its own: the first signal raises ``KeyboardInterrupt``, a later one ends the process.

    >>> Quit().exit_code
    130
    """

    def __init__(self) -> None:
        self._number: int = signal.SIGINT
        self._since: float | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        if self._since is None:
            self._number, self._since = number, time.monotonic()
            sys.unraisablehook = self._hear_again
            raise KeyboardInterrupt
        if time.monotonic() - self._since > GRACE:
            leave(self.exit_code)

    def _hear_again(self, unraisable: Any) -> None:
        """The interrupt came to nothing, raised in a finalizer or a callback of the garbage collector: once more, later.

        Whatever else fails there, on the way out, concerns nobody.
        """
        if unraisable.exc_type is KeyboardInterrupt:
            self._since = None
            _thread.start_new_thread(self._repeat, ())  # without the locks of threads, which may be taken right here

    def _repeat(self) -> None:
        time.sleep(TICK)
        signal.raise_signal(self._number)

    def install(self) -> None:
        """Handle ``SIGINT`` and ``SIGTERM`` from now on, unless they are ignored or handled by someone else."""
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
                    signal.signal(number, self)

    def retire(self) -> None:
        """Everything is done: there is nothing left to stop, and a late signal is ignored."""
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if signal.getsignal(number) is self:
                    signal.signal(number, signal.SIG_IGN)

    @property
    def exit_code(self) -> int:
        """Exit code of a program that was stopped: 130 after ``SIGINT``, 143 after ``SIGTERM``."""
        return 128 + self._number


def leave(code: int) -> NoReturn:
    """End the process now, whatever other threads are at: a compiler, or a long game, cannot be called off."""
    for output in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or never there
            output.flush()
    os._exit(code)


@contextlib.contextmanager
def listening(tell: Callable[[int], None]) -> Iterator[None]:
    """While the context lasts, tell of signals instead of raising; the first is passed on when it ends.

    ``tell`` is called with the signal's number, between any two steps of the main thread: it should do no more than put it
    somewhere.
    """
    taken: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        taken = {number: handler for number in SIGNALS if would_raise(handler := signal.getsignal(number))}
    ear = SignalListener(tell)
    try:
        for number in taken:
            signal.signal(number, ear)
        yield
    finally:
        for number, handler in taken.items():
            signal.signal(number, handler)
        if ear.heard:
            taken[ear.heard[0]](ear.heard[0], None)
            raise KeyboardInterrupt  # where a loop around this one has been told, and did not raise


class SignalListener:
    """The handler of signals while work is handed out."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        self.heard: list[int] = []
        self._tell = tell

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Remember a signal, and tell of it."""
        self.heard.append(number)
        self._tell(number)


def would_raise(handler: object) -> bool:
    """Return whether a handler would raise ``KeyboardInterrupt``, now or, if it is that of a loop around ours, at its
    end.
    """
    return handler is signal.default_int_handler or isinstance(handler, Quit | SignalListener)


def next_event(events: queue.SimpleQueue[Event], *, wait: bool) -> Event | None:
    """The next event; ``None`` if there is none yet, and if we do wait, none within a tick."""
    try:
        return events.get(timeout=TICK) if wait else events.get_nowait()
    except queue.Empty:
        return None


class CalledOff(BaseException):
    """Work is no longer wanted."""


class Flag:
    """Up or not; with no lock, since a signal's handler may raise it while the same thread does."""

    up = False


class Task:
    """Work that tells how far it is and can be called off, as long as it is done in this process.

    In another process, where it arrives as a copy, it is done to its end.
    """

    def __init__(self, called_off: Flag | None = None) -> None:
        self.called_off = called_off if called_off is not None else Flag()
        self.done = 0

    def __reduce__(self) -> tuple[type[Task], tuple[()]]:
        return Task, ()

    def __call__(self, function: Callable[..., Outcome], *arguments: object) -> Outcome:
        """Call a function, which may call :func:`step`, unless it is called off before it begins."""
        outer = getattr(_here, "task", None)
        _here.task = self
        try:
            step(0)
            return function(*arguments)
        finally:
            _here.task = outer


_here = threading.local()


def step(count: int = 1) -> None:
    """Say, in the midst of work, that a part of it is done; raises ``CalledOff`` if the rest is no longer wanted."""
    task: Task | None = getattr(_here, "task", None)
    if task is not None:
        task.done += count
        if task.called_off.up:
            raise CalledOff


def in_own_thread(function: Callable[..., Outcome], *arguments: object) -> Future[Outcome]:
    """Begin a call in a thread of its own, which ends with the program if not before."""
    future: Future[Outcome] = Future()

    def run() -> None:
        try:
            future.set_result(function(*arguments))
        except BaseException as error:  # noqa: BLE001 - it is raised where the outcome is asked for
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def answered(function: Callable[..., Outcome], *arguments: object, tick: Callable[[], None] = lambda: None) -> Outcome:
    """Call a function that may take long, such as one that compiles, and answer signals meanwhile.

    After a signal the call goes on in its thread, and nobody waits for it. ``tick`` is called now and then.
    """
    if threading.current_thread() is not threading.main_thread():
        step(0)
        return function(*arguments)
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    with listening(events.put):
        future = in_own_thread(function, *arguments)
        future.add_done_callback(events.put)
        while True:
            event = next_event(events, wait=True)
            if event is future:
                return future.result()
            if event is not None:
                raise KeyboardInterrupt
            tick()

"""Progress of a run: a bar on standard error where that is a terminal, else a line now and then."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Protocol

from bandstrap.basics.text import shortened, visible

# Work that takes less than this many seconds is not spoken of, unless on a terminal.
PATIENCE = 2.0
# A log hears something at least this often, in seconds, even before a tenth is done.
SILENCE = 60.0
# Seconds between two looks of a bar.
REDRAW = 0.1
# Characters of a notice.
LONGEST_NOTICE = 2000
# Bytes of memory that are worth a word before a run begins.
LARGE = 2**30


class Show(Protocol):
    """Shows how far it is."""

    def __call__(self, more: int, doing: str = "", found: int = 0) -> None:
        """So much more is done, of which some was ``found`` to have been done before and says nothing about the speed.

        ``doing`` says what is being waited for, where that is worth saying.
        """


def is_terminal() -> bool:
    """Return whether someone looks at standard error."""
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # closed, before or since
        return False


def write(text: str) -> None:
    """Write to standard error, if anything can be written there: nobody's work is lost for want of a listener."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(text)
        sys.stderr.flush()


@contextlib.contextmanager
def progress_bar(total: int, *, shown: bool, of: str = "replications") -> Iterator[Show]:
    """Show how much of ``total`` is done: a bar on a terminal where rich is installed, else :class:`Lines`."""
    if not shown or not total:
        yield lambda more, doing="", found=0: None
        return
    if not is_terminal() or find_spec("rich") is None:
        yield Lines(total, of)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn(of),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[doing]}"),
    )
    tell("", shown=True)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(of, total=total, rate="", doing="")
        start = drawn = time.monotonic()
        done = fresh = 0

        def show(more: int, doing: str = "", found: int = 0) -> None:
            nonlocal drawn, done, fresh
            done, fresh, now = done + more, fresh + more - found, time.monotonic()
            if now - drawn >= REDRAW:
                drawn = now
                rate = f"{fresh / (now - start):.{0 if fresh > now - start else 1}f}/s" if fresh else ""
                bar.update(task, completed=done, rate=rate, doing=visible(doing))

        yield show
        bar.update(task, completed=done)


class Lines:
    """Lines for a log: one once it is clear that it takes long, then one at every tenth and at least one every minute.

    No two follow each other at once, however fast the tenths go by, but for the last.
    """

    def __init__(self, total: int, of: str) -> None:
        self._total, self._of = total, of
        self._start = self._told = time.monotonic()
        self._done = self._fresh = 0
        self._tenth: int | None = None  # the last one told of; none while nothing was said

    def __call__(self, more: int, doing: str = "", found: int = 0) -> None:
        """So much more is done; see :class:`Show`."""
        self._done += more
        self._fresh += more - found
        done, tenth, now = self._done, 10 * self._done // self._total, time.monotonic()
        silence, elapsed = now - self._told, now - self._start
        is_news = tenth != self._tenth and (silence >= PATIENCE or (done == self._total and self._tenth is not None))
        if not is_news and silence < SILENCE:
            return
        self._tenth, self._told = tenth, now
        rest = self._total - done
        left = f", about {elapsed * rest / self._fresh:.0f} s left" if self._fresh and rest else ""
        about = f"; {visible(doing)}" if doing else ""
        write(f"{done} of {self._total} {self._of} after {elapsed:.0f} s{left}{about}\n")


def notice(message: str, *, shown: bool = True) -> None:
    """Write one line to standard error, fit to be shown."""
    if shown:
        write(shortened(visible(message), LONGEST_NOTICE) + "\n")


def tell(message: str, *, shown: bool = True) -> None:
    """Show on a terminal what is being waited for, in place of the text before."""
    if shown and is_terminal():
        write(f"\r{visible(message):<70}\r")


def announce_memory(needed: int, *, shown: bool) -> None:
    """Show on a terminal how much memory a run will need, if it is much."""
    if shown and needed > LARGE and is_terminal():
        from bandstrap.engine.work.memory import (
            gigabytes,  # not with this module, by which a command says that it loads
        )

        write(f"this takes about {gigabytes(needed)} of memory\n")


@contextlib.contextmanager
def announced(message: str, *, after: float) -> Iterator[None]:
    """Say on a terminal what is being waited for, once it takes longer than so many seconds."""
    if not is_terminal():
        yield
        return
    was_said = threading.Event()

    def say() -> None:
        was_said.set()
        tell(message)

    timer = threading.Timer(after, say)
    timer.daemon = True  # a program that ends does not wait for it
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if was_said.is_set():
            tell(" " * len(message))

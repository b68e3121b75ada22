"""How far it is: a bar on standard error where that is a terminal, else a line now and then."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import Protocol

from bandstrap.text import visible

# Work that takes less than this many seconds is not spoken of, unless on a terminal.
PATIENCE = 2.0
# Seconds between two looks of a bar.
REDRAW = 0.1


class Show(Protocol):
    """Shows how far it is."""

    def __call__(self, more: int, doing: str = "") -> None:
        """So much more is done; ``doing`` says what is being waited for, where that is worth saying."""
        ...


def is_terminal() -> bool:
    """Whether someone looks at standard error."""
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
    """Show how much of ``total`` is done: a bar with rate and time left on a terminal, else :class:`Lines`."""
    if not shown or not total:
        yield lambda more, doing="": None
        return
    if not is_terminal():
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
        done = 0

        def show(more: int, doing: str = "") -> None:
            nonlocal drawn, done
            done, now = done + more, time.monotonic()
            if now - drawn >= REDRAW:
                drawn = now
                bar.update(
                    task, completed=done, rate=f"{done / (now - start):.0f}/s" if done else "", doing=visible(doing)
                )

        yield show
        bar.update(task, completed=done)


class Lines:
    """Lines for a log: one once it is clear that it takes long, then one at every tenth."""

    def __init__(self, total: int, of: str) -> None:
        self._total, self._of = total, of
        self._start = time.monotonic()
        self._done = 0
        self._tenth: int | None = None  # the last one told of; none while nothing was said

    def __call__(self, more: int, doing: str = "") -> None:
        """So much more is done."""
        self._done += more
        done = self._done
        tenth = 10 * done // self._total
        if tenth == self._tenth:
            return
        elapsed = time.monotonic() - self._start
        if elapsed < PATIENCE:
            return
        self._tenth = tenth
        left = f", about {elapsed * (self._total - done) / done:.0f} s left" if 0 < done < self._total else ""
        about = f"; {visible(doing)}" if doing else ""
        write(f"{done} of {self._total} {self._of} after {elapsed:.0f} s{left}{about}\n")


def tell(message: str, *, shown: bool = True) -> None:
    """On a terminal, say what is being waited for, in place of what was said before."""
    if shown and is_terminal():
        write(f"\r{visible(message):<70}\r")

"""A progress bar on standard error, where that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(total: int, *, shown: bool) -> Iterator[Callable[[int], None]]:
    """A bar with rate and time left on standard error; silent where that is not a terminal."""
    if not shown or not sys.stderr.isatty():
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("replications"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("play", total=total, rate="")

        def advance(count: int) -> None:
            bar.advance(task, count)
            elapsed = bar.tasks[0].elapsed or 0.0
            if elapsed > 0:
                bar.update(task, rate=f"{bar.tasks[0].completed / elapsed:.0f}/s")

        yield advance


def tell(message: str, *, shown: bool) -> None:
    """On a terminal, say what is being waited for, in place of what was said before."""
    if shown and sys.stderr.isatty():
        sys.stderr.write(f"\r{message:<70}\r")

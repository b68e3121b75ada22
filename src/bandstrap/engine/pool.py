"""The one loop that gets work done: on any executor, kept as soon as it is done, and stopped in good order."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Any, Protocol, TypeVar

from bandstrap.engine.progress import progress_bar
from bandstrap.errors import requirement


class Work(Protocol):
    """A piece of work."""

    @property
    def work(self) -> int:
        """How much it is, for the progress bar."""
        ...

    @property
    def group(self) -> Hashable:
        """What it shares with others that are best done together."""
        ...

    @property
    def about(self) -> dict[str, Any]:
        """Everything its outcome depends on."""
        ...


Piece = TypeVar("Piece", bound=Work)


class StoreLike(Protocol):
    """Where finished work is kept."""

    def load(self, piece: Any) -> Any:
        """The outcome of a piece of work; ``None`` if it is not there."""
        ...

    def save(self, piece: Any, outcome: Any) -> None:
        """Keep its outcome."""
        ...


# At most this many pieces of work are done together.
MOST_TOGETHER = 8
# Groups handed out for each worker: one to do, and one to begin at once.
IN_FLIGHT = 2


def finish(
    pieces: Iterable[Piece],
    run: Callable[[Sequence[Piece]], list[Any]],
    *,
    prepare: Callable[[Sequence[Piece]], None] = lambda pieces: None,
    executor: Executor | None = None,
    store: StoreLike | None = None,
    progress: bool = True,
    done: dict[Piece, Any] | None = None,
) -> dict[Piece, Any]:
    """The outcome of each piece of work, from the store or done now.

    Parameters
    ----------
    pieces
        The work; pieces that are equal in all that matters are done once.
    run
        Does several pieces of one group.
    prepare
        Called first, with all that must be done.
    executor
        Any ``concurrent.futures.Executor``; by default threads, one per core.
    store
        Where finished work is looked for and kept.
    progress
        Show a progress bar on standard error, where that is a terminal.
    done
        Filled with what is done, even if the work is stopped half-way.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C. What was finished is in ``done`` and in the store; no worker goes on.
    """
    check_executor(executor, "bandstrap")
    done = {} if done is None else done
    wanted = list(pieces)
    twins: dict[Hashable, list[Piece]] = {}
    for piece in wanted:
        twins.setdefault(id(piece) if store is None else repr(piece.about), []).append(piece)
    missing = []
    for same in twins.values():
        outcome = None if store is None else store.load(same[0])
        if outcome is None:
            missing.append(same[0])
        else:
            done |= dict.fromkeys(same, outcome)
    prepare(missing)
    leaders = {same[0]: same for same in twins.values()}
    with progress_bar(sum(piece.work for piece in missing), shown=progress and bool(missing)) as advance:

        def keep(group: Sequence[Piece], outcomes: list[Any]) -> None:
            for piece, outcome in zip(group, outcomes, strict=True):
                if store is not None:
                    store.save(piece, outcome)
                done.update(dict.fromkeys(leaders[piece], outcome))
            advance(sum(piece.work for piece in group))

        run_groups(grouped(missing), run, executor, keep)
    return {piece: done[piece] for piece in wanted}


def check_executor(executor: Any, owner: str) -> None:
    """Refuse what cannot be handed work."""
    if executor is not None and (isinstance(executor, type) or not callable(getattr(executor, "submit", None))):
        raise requirement("executor", owner, "a concurrent.futures.Executor", repr(executor))


def grouped(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    """Pieces of work in groups that are done together, in the order in which each begins."""
    groups: dict[Hashable, list[Piece]] = {}
    for piece in pieces:
        groups.setdefault(piece.group, []).append(piece)
    for members in groups.values():
        for start in range(0, len(members), MOST_TOGETHER):
            yield members[start : start + MOST_TOGETHER]


def run_groups(
    groups: Iterator[list[Piece]],
    run: Callable[[Sequence[Piece]], list[Any]],
    executor: Executor | None,
    keep: Callable[[Sequence[Piece], list[Any]], None],
) -> None:
    """Hand groups out, few at a time; whatever ends it, what was finished is kept and what had not begun is not begun."""
    n_workers = getattr(executor, "_max_workers", None) or os.cpu_count() or 1
    pool = executor if executor is not None else ThreadPoolExecutor(n_workers)
    waiting: dict[Future[list[Any]], list[Piece]] = {}
    try:
        while True:
            for group in islice(groups, IN_FLIGHT * n_workers - len(waiting)):
                waiting[pool.submit(run, group)] = group
            if not waiting:
                return
            finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in finished:
                group = waiting.pop(future)
                keep(group, future.result())
    except BaseException:
        for future, group in waiting.items():
            if not future.cancel() and future.exception() is None:  # waits for what has begun
                keep(group, future.result())
        raise
    finally:
        if executor is None:
            pool.shutdown(wait=True, cancel_futures=True)

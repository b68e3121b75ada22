"""The one loop that gets work done: on any executor, kept as soon as it is done, and stopped in good order.

Work is cut into pieces only when they are asked for, and few are in flight, so that memory and the cost of a piece do not
depend on how many there are. Everything that happens (an outcome, a policy that has been compiled, a signal) comes by one
queue, in turn.
"""

from __future__ import annotations

import math
import os
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from itertools import zip_longest
from queue import SimpleQueue
from typing import Any, NamedTuple, NoReturn, Protocol, TypeVar

from bandstrap.engine.interrupts import GRACE, Flag, Task, in_own_thread, listening, next_event, step
from bandstrap.engine.progress import Show, progress_bar
from bandstrap.errors import InvalidInput, requirement


class Work(Protocol):
    """Work, or a piece of it."""

    @property
    def work(self) -> int:
        """How much it is, for the progress bar."""
        ...

    @property
    def group(self) -> Hashable:
        """What it shares with others that are best done together."""
        ...

    @property
    def race(self) -> Hashable:
        """What it shares with others whose pieces may be of one group."""
        ...

    @property
    def needs(self) -> Hashable:
        """What must be prepared first, once for all that need the same; ``None`` if nothing."""
        ...

    @property
    def label(self) -> str:
        """What to call it while it is prepared."""
        ...

    @property
    def about(self) -> dict[str, Any]:
        """Everything its outcome depends on."""
        ...

    def cut(self) -> Iterator[Any]:
        """Its pieces, each made when it is asked for."""
        ...

    def record(self) -> Record:
        """Where the outcomes of its pieces are put together."""
        ...


class Record(Protocol):
    """Outcomes of pieces, put together."""

    def put(self, piece: Any, outcome: Any) -> None:
        """Add the outcome of a piece."""
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


class Part(NamedTuple):
    """A piece, and the work it was cut from."""

    whole: Any
    piece: Any


# At most this many pieces of work are done together.
MOST_TOGETHER = 8
# Groups handed out for each worker: one to do, and one to begin at once.
IN_FLIGHT = 2


def finish(
    wholes: Iterable[Piece],
    run: Callable[[Sequence[Any]], list[Any]],
    *,
    prepare: Callable[[Any], None] = lambda piece: None,
    executor: Executor | None = None,
    store: StoreLike | None = None,
    progress: bool = True,
    cut: Callable[[Piece], Iterable[Any]] = lambda whole: whole.cut(),
    records: dict[Piece, Any] | None = None,
) -> dict[Piece, Any]:
    """The record of each work, its pieces from the store or done now.

    Parameters
    ----------
    wholes
        The work; with a store, works that are equal in all that matters are done once.
    run
        Does several pieces of one group.
    prepare
        Called with a piece before any that needs the same is done, in a thread of its own.
    executor
        Any ``concurrent.futures.Executor``; by default threads, one per core.
    store
        Where finished work is looked for and kept.
    progress
        Show how far it is on standard error.
    cut
        Pieces of a work, if not those it makes itself.
    records
        Where outcomes are put, so that they are there even if the work is stopped half-way.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C. What was finished is in the records and in the store. Work that goes on in threads of this process
        is called off between two steps; what goes on elsewhere is waited for, unless there is a second Ctrl-C.
    """
    check_executor(executor, "bandstrap")
    records = {} if records is None else records
    leaders: dict[Hashable, Piece] = {}
    for whole in wholes:
        leader = leaders.setdefault(id(whole) if store is None else repr(whole.about), whole)
        if whole not in records:
            records[whole] = records[leader] if leader in records else leader.record()
    todo = list(leaders.values())
    with progress_bar(sum(whole.work for whole in todo), shown=progress) as show:
        Loop(run, prepare, executor, store, records, show).work_on(groups_of(todo, cut))
    return records


def check_executor(executor: Any, owner: str) -> None:
    """Refuse what cannot be handed work."""
    if executor is not None and (isinstance(executor, type) or not callable(getattr(executor, "submit", None))):
        raise requirement("executor", owner, "a concurrent.futures.Executor", repr(executor))


def groups_of(wholes: Iterable[Piece], cut: Callable[[Piece], Iterable[Any]]) -> Iterator[list[Part]]:
    """Pieces in groups that are done together, race by race; each is cut when its turn comes."""
    races: dict[Hashable, list[Piece]] = {}
    for whole in wholes:
        races.setdefault(whole.race, []).append(whole)
    for race in races.values():
        for rank in zip_longest(*(parts_of(whole, cut) for whole in race)):
            groups: dict[Hashable, list[Part]] = {}
            for part in rank:
                if part is not None:
                    groups.setdefault(part.piece.group, []).append(part)
            for members in groups.values():
                for start in range(0, len(members), MOST_TOGETHER):
                    yield members[start : start + MOST_TOGETHER]


def parts_of(whole: Piece, cut: Callable[[Piece], Iterable[Any]]) -> Iterator[Part]:
    """The pieces of a work, which they remember."""
    return (Part(whole, piece) for piece in cut(whole))


class Loop:
    """Hands groups out, few at a time; whatever ends it, what was finished is kept and what had not begun is not begun."""

    def __init__(
        self,
        run: Callable[[Sequence[Any]], list[Any]],
        prepare: Callable[[Any], None],
        executor: Executor | None,
        store: StoreLike | None,
        records: dict[Any, Any],
        show: Show,
    ) -> None:
        self._run, self._prepare, self._store, self._records, self._show = run, prepare, store, records, show
        n_workers = getattr(executor, "_max_workers", None) or os.cpu_count() or 1
        self._room = IN_FLIGHT * n_workers
        self._lent = executor
        self._n_workers = n_workers
        self._events: SimpleQueue[Any] = SimpleQueue()
        self._called_off = Flag()
        # What is in flight, and how far it is.
        self._waiting: dict[Future[list[Any]], tuple[list[Part], Task]] = {}
        # A group that waits for pieces to be prepared, the first of them since some time.
        self._held: list[Part] = []
        self._unprepared: deque[Any] = deque()
        self._preparing: Future[None] | None = None
        self._since = 0.0
        self._prepared: set[Hashable] = {None}
        self._done = self._shown = self._found = 0

    def work_on(self, groups: Iterator[list[Part]]) -> None:
        """Do all groups."""
        with listening(self._hear):
            pool = self._lent if self._lent is not None else ThreadPoolExecutor(self._n_workers)
            try:
                self._go_round(groups, pool)
            except BaseException:
                self._wind_up()
                raise
            finally:
                if self._lent is None:
                    pool.shutdown(wait=not self._waiting, cancel_futures=True)

    def _hear(self, number: int) -> None:
        """A signal: the loop will know before it hears of anything that was called off, and no further step is begun."""
        self._events.put(number)
        self._called_off.up = True

    def _go_round(self, groups: Iterator[list[Part]], pool: Executor) -> None:
        is_last = False
        while True:
            is_full = is_last or bool(self._held) or len(self._waiting) >= self._room
            if is_last and not self._held and not self._waiting:
                return
            event = next_event(self._events, wait=is_full)
            if isinstance(event, int):
                raise KeyboardInterrupt
            if self._preparing is not None and event is self._preparing:
                self._preparing.result()
                self._prepared.add(self._unprepared.popleft().needs)
                self._preparing = None
            elif event in self._waiting:
                self._take(event)
            step(0)  # this may be work within work, and no longer wanted
            if not is_full:
                group = next(groups, None)
                is_last = group is None
                self._held = self._missing(group or [])
                self._unprepared = deque({p.piece.needs: p.piece for p in self._held if not self._is_ready(p)}.values())
            self._go_on(pool)
            self._tell()

    def _is_ready(self, part: Part) -> bool:
        return part.piece.needs in self._prepared

    def _missing(self, group: list[Part]) -> list[Part]:
        """What the store does not have; the rest is taken from there."""
        missing = []
        for part in group:
            outcome = None if self._store is None else self._store.load(part.piece)
            if outcome is None:
                missing.append(part)
            else:
                self._put(part, outcome)
                self._found += part.piece.work
        return missing

    def _go_on(self, pool: Executor) -> None:
        """Prepare what the held group lacks, one piece at a time, or else hand it out."""
        if not self._held or self._preparing is not None:
            return
        if self._unprepared:
            self._since = time.monotonic()
            self._preparing = in_own_thread(self._prepare, self._unprepared[0])
            self._preparing.add_done_callback(self._events.put)
            return
        task = Task(self._called_off)
        try:
            future = pool.submit(task, self._run, [part.piece for part in self._held])
        except RuntimeError as error:
            refuse_executor(error)
        self._waiting[future] = self._held, task
        self._held = []
        future.add_done_callback(self._events.put)

    def _take(self, future: Future[list[Any]]) -> None:
        """Keep the outcome of a group that has ended."""
        group, _ = self._waiting.pop(future)
        try:
            outcomes = future.result()
        except (BrokenExecutor, CancelledError) as error:
            refuse_executor(error)
        except Exception as error:
            note = getattr(self._store, "fail", None)
            if note is not None:
                for part in group:
                    note(part.piece, error)
            raise
        self._keep(group, outcomes)

    def _keep(self, group: list[Part], outcomes: list[Any]) -> None:
        for part, outcome in zip(group, outcomes, strict=True):
            if self._store is not None:
                self._store.save(part.piece, outcome)
            self._put(part, outcome)

    def _put(self, part: Part, outcome: Any) -> None:
        self._records[part.whole].put(part.piece, outcome)
        self._done += part.piece.work

    def _wind_up(self) -> None:
        """Call off what can be, wait for the rest unless there is another signal, and keep what was finished."""
        self._called_off.up = True
        for future in [future for future in self._waiting if future.cancel()]:
            del self._waiting[future]
        # Threads have been called off. If a step of theirs takes long, they end after it and nobody waits for that.
        is_threads = self._lent is None or isinstance(self._lent, ThreadPoolExecutor)
        until = time.monotonic() + (GRACE if is_threads else math.inf)
        is_patient = True
        while self._waiting and is_patient:
            event = next_event(self._events, wait=True)
            is_patient = not isinstance(event, int) and time.monotonic() < until
            ended = [future for future in self._waiting if future.done()]
            for future in ended:
                group, _ = self._waiting.pop(future)
                if not future.cancelled() and future.exception() is None:
                    self._keep(group, future.result())

    def _tell(self) -> None:
        """Show how far it is."""
        doing = ""
        if self._preparing is not None:
            label, seconds = self._unprepared[0].label, time.monotonic() - self._since
            doing = f"preparing {label}"
            if seconds > 1:  # it was not on the disk
                doing = f"compiling {label}, {seconds:.0f} s so far (ten seconds or so, the first time only)"
        done = self._done + sum(task.done for _, task in self._waiting.values())
        self._show(done - self._shown, doing, self._found)
        self._shown, self._found = done, 0


def refuse_executor(error: BaseException) -> NoReturn:
    """Say in a sentence that an executor does no more work, if that is what an error is about."""
    if isinstance(error, BrokenExecutor):
        message = "A worker of the executor has died, killed or short of memory. What was finished before is kept."
        raise type(error)(message) from error
    if isinstance(error, CancelledError) or "shutdown" in str(error):
        raise InvalidInput("The executor has been shut down: it takes no more work.") from error
    raise error

"""The one loop that gets work done: on any executor, kept as soon as it is done, and stopped in good order.

Work is split into tasks only when they are asked for, and few are in flight, so that memory and the cost of a task do not
depend on how many there are. Everything that happens (an outcome, a policy that has been compiled, a signal) comes by one
queue, in turn.

What fails is tried again, on whatever worker is free: tasks that failed together one by one, and those that were in flight
when a worker took a whole pool with it one at a time, so that they can harm nobody but themselves. What fails three times
is given up, and the rest is done.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import Any, TypeVar

from bandstrap.basics.text import shortened
from bandstrap.engine.work.ahead import Ahead
from bandstrap.engine.work.dispatch import TaskCall, as_errors, causes, in_words, nothing
from bandstrap.engine.work.executors import Workers, WorkersDied, check_executor, refusal_in
from bandstrap.engine.work.interrupts import GRACE, Event, Flag, Task, in_own_thread, listening, next_event, step
from bandstrap.engine.work.progress import Show, progress_bar
from bandstrap.engine.work.tasks import Outcomes, Preparer, Runner, StoreLike, TaskPart, Work, groups_of
from bandstrap.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Group:
    """Parts to be done together, and how often that has failed."""

    parts: list[TaskPart]
    failures: int = 0
    # It was in flight when a worker took the whole pool with it: nothing else is, while it is tried again.
    is_suspect: bool = False


# Groups handed out for each worker: one to do, and one to begin at once.
IN_FLIGHT = 2
# Seconds after which what is prepared is taken not to have been on the disk, and neither what comes later.
SLOW = 2.0
# How often a task is tried.
TRIES = 3
# Reasons that are told of work that was given up, and characters of each.
MOST_REASONS = 5
LONGEST_REASON = 300

Whole = TypeVar("Whole", bound=Work)


class Unfinished(RuntimeError):
    """Some work was given up, the rest is done; ``failed`` has the tasks, each with its last error.

    ``results`` has what :func:`bandstrap.experiments.run` found of the rest.
    """

    results: object = None

    def __init__(self, failed: Sequence[tuple[Work, BaseException]]) -> None:
        self.failed = list(failed)
        counts: dict[str, int] = {}
        for piece, error in self.failed:
            reason = f"{piece.label} ({in_words(error)})"
            counts[reason] = counts.get(reason, 0) + 1
        reasons = [f"{count} of {shortened(reason, LONGEST_REASON)}" for reason, count in counts.items()]
        if len(reasons) > MOST_REASONS:
            reasons[MOST_REASONS:] = [f"{len(reasons) - MOST_REASONS} more"]
        pieces = "task was" if len(self.failed) == 1 else "tasks were"
        super().__init__(
            f"{len(self.failed)} {pieces} given up: {'; '.join(reasons)}. Everything else is saved; the next run "
            "tries these again."
        )


def finish(
    wholes: Iterable[Whole],
    run: Runner,
    *,
    prepare: Preparer = nothing,
    executor: Executor | None = None,
    store: StoreLike | None = None,
    progress: bool = True,
    records: dict[Whole, Any] | None = None,
) -> dict[Whole, Any]:
    """The record of each work, its tasks from the store or done now.

    Parameters
    ----------
    wholes
        The work; with a store, works that are equal in all that matters are done once.
    run
        Does several tasks of one group.
    prepare
        Called with a task before any that needs the same is done: here, in a thread of its own, and once in every other
        process that does such work.
    executor
        Any ``concurrent.futures.Executor``; by default threads, one per core.
    store
        Where finished work is looked for and kept.
    progress
        Show how far it is on standard error.
    records
        Where outcomes are put, so that they are there even if the work is stopped half-way.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C. What was finished is in the records and in the store. Work that goes on in threads of this process
        is called off between two steps; what goes on elsewhere is waited for, unless there is a second Ctrl-C.
    Unfinished
        Some tasks failed three times, or are a user's mistake, and the store has been told; all others are done. Without
        such a store the error itself is raised, at once.
    """
    check_executor(executor, "bandstrap")
    records = {} if records is None else records
    leaders: dict[Hashable, Whole] = {}
    for whole in wholes:
        leader = leaders.setdefault(id(whole) if store is None else repr(whole.about), whole)
        if whole not in records:
            records[whole] = records[leader] if leader in records else leader.record()
    todo = list(leaders.values())
    with progress_bar(sum(whole.work for whole in todo), shown=progress) as show:
        Loop(run, prepare, executor, store, records, show, todo).work_on(groups_of(todo))
    return records


def player_of(part: TaskPart) -> Hashable:
    """Player whose code is prepared for a part: others that need the same code may play, or be played against,
    otherwise.
    """
    return part.piece.needs, part.piece.label, part.whole.race


class Loop:
    """Hands groups out, few at a time; whatever ends it, what was finished is kept and what had not begun is not begun."""

    def __init__(
        self,
        run: Runner,
        prepare: Preparer,
        executor: Executor | None,
        store: StoreLike | None,
        records: Mapping[Any, Outcomes],
        show: Show,
        todo: Sequence[Work],
    ) -> None:
        self._run, self._prepare, self._store, self._records, self._show = run, prepare, store, records, show
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._lent, self._workers = executor, Workers(executor, self._events)
        self._called_off, self._todo, self._ahead = Flag(), todo, Ahead(prepare)
        # What is in flight, and how far it is.
        self._waiting: dict[Future[list[Any]], tuple[Group, Task]] = {}
        # What is to be tried again, and how much of that or in flight is suspected to break pools.
        self._again: deque[Group] = deque()
        self._n_suspects = 0
        self._failed: list[tuple[Work, BaseException]] = []
        # A group that waits for tasks to be prepared, the first of them since some time.
        self._held: Group | None = None
        self._unprepared: deque[TaskPart] = deque()
        self._preparing: Future[None] | None = None
        self._since = 0.0
        self._prepared: set[Hashable] = {None}
        self._unfit: dict[Hashable, Exception] = {}
        self._done = self._shown = self._found = 0

    def work_on(self, groups: Iterator[list[TaskPart]]) -> None:
        """Do all groups."""
        with listening(self._hear):
            pool = self._lent if self._lent is not None else ThreadPoolExecutor(self._workers.count)
            try:
                self._go_round(groups, pool)
            except BaseException:
                self._wind_up()
                raise
            finally:
                self._ahead.end()
                if self._lent is None:
                    pool.shutdown(wait=not self._waiting, cancel_futures=True)
        if self._failed:
            raise Unfinished(self._failed)

    def _hear(self, number: int) -> None:
        """A signal: the loop will know before it hears of anything that was called off, and no further step is begun."""
        self._events.put(number)
        self._called_off.up = True

    def _go_round(self, groups: Iterator[list[TaskPart]], pool: Executor) -> None:
        is_last = False
        while True:
            has_next = bool(self._again) or not is_last
            if not has_next and self._held is None and not self._waiting:
                return
            is_full = not has_next or self._held is not None or len(self._waiting) >= self._room
            event = next_event(self._events, wait=is_full)
            if isinstance(event, int):
                raise KeyboardInterrupt
            if event is not None:
                self._take_in(event)
            step(0)  # this may be work within work, and no longer wanted
            if not is_full:
                group = self._again.popleft() if self._again else self._next_of(groups)
                is_last = is_last or group is None
                self._hold(group)
            self._go_on(pool)
            self._look_ahead()
            self._workers.look(are_wanted=bool(self._waiting))
            self._tell()

    @property
    def _room(self) -> int:
        """Number of groups that may be in flight."""
        return 1 if self._n_suspects else IN_FLIGHT * max(self._workers.count, 1)

    def _take_in(self, event: object) -> None:
        """Take in the outcome of a future that has ended."""
        if event in self._waiting:
            self._take(event)
        elif self._preparing is not None and event is self._preparing:
            ended, self._preparing = self._preparing, None
            part = self._unprepared.popleft()
            try:
                ended.result()
                self._prepared.add(part.piece.needs)
            except Exception as error:
                if not self._notes_failures:
                    raise
                self._unfit[player_of(part)] = error
        else:
            self._workers.take_in(event)

    def _next_of(self, groups: Iterator[list[TaskPart]]) -> Group | None:
        """The next group, without what the store has of it; ``None`` if there are no more."""
        group = next(groups, None)
        return None if group is None else Group(self._missing(group))

    def _hold(self, group: Group | None) -> None:
        """Have a group be the next to be handed out, once all that it needs is prepared."""
        if group is not None and group.parts:
            self._held = group
            lacking = {player_of(part): part for part in group.parts if not self._is_ready(part)}
            self._unprepared = deque(lacking.values())

    def _is_ready(self, part: TaskPart) -> bool:
        return part.piece.needs in self._prepared or player_of(part) in self._unfit

    def _missing(self, group: list[TaskPart]) -> list[TaskPart]:
        """Tasks that the store lacks; the others are loaded."""
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
        """Prepare what the held group lacks, one task at a time, or else hand it out."""
        if self._held is None or self._preparing is not None:
            return
        while self._unprepared and self._unprepared[0].piece.needs in self._prepared:  # with another's
            self._unprepared.popleft()
        if self._unprepared:
            self._since = time.monotonic()
            self._preparing = in_own_thread(as_errors, self._prepare, self._unprepared[0].piece)
            self._preparing.add_done_callback(self._events.put)
            return
        group, self._held = self._held, None
        for part in group.parts:
            if player_of(part) in self._unfit:
                self._give_up(part, self._unfit[player_of(part)])
        group = replace(group, parts=[part for part in group.parts if player_of(part) not in self._unfit])
        if group.parts:
            self._hand_out(group, pool)

    def _look_ahead(self) -> None:
        """If a core is idle and nothing seems to be compiled, have another process compile what is next."""
        if (
            self._preparing is not None
            and time.monotonic() - self._since > SLOW
            and self._workers.are_threads
            and self._workers.count > 1
        ):
            # Those of the group at hand from the last one on: the two meet half-way, and neither waits for the other.
            now, *soon = (part.piece for part in self._unprepared)
            self._ahead.begin([*reversed(soon), *self._todo], known={*self._prepared, now.needs})

    def _hand_out(self, group: Group, pool: Executor) -> None:
        task = Task(self._called_off)
        try:
            future = pool.submit(TaskCall(task, self._run, self._prepare, [part.piece for part in group.parts]))
        except Exception as error:
            self._n_suspects -= group.is_suspect
            if "shutdown" in str(error) and isinstance(error, RuntimeError):
                raise InvalidInput("The executor has been shut down: it takes no more work.") from error
            self._try_again(group, error)
            return
        self._waiting[future] = group, task
        future.add_done_callback(self._events.put)

    def _take(self, future: Future[list[Any]]) -> None:
        """Keep the outcome of a group that has ended, or see to it that it is tried again."""
        group, _ = self._waiting.pop(future)
        self._n_suspects -= group.is_suspect
        try:
            outcomes = future.result()
        except Exception as error:  # noqa: BLE001 - it may be anybody's
            self._try_again(group, error)
            return
        self._workers.have_worked()
        self._keep(group, outcomes)

    def _try_again(self, group: Group, error: BaseException) -> None:
        """Put a group that failed back among those to be done, in single tasks, unless that is of no use."""
        error = refusal_in(error)
        self._workers.check(error, is_last=not self._waiting)
        is_break = isinstance(error, BrokenExecutor | WorkersDied)
        # A user's mistake is the same each time; but of tasks that failed together it may be the mistake of one.
        is_hopeless = isinstance(error, InvalidInput) and len(group.parts) == 1
        for part in group.parts:
            if is_hopeless or group.failures + 1 >= TRIES:
                self._give_up(part, error)
            else:
                self._again.append(Group([part], group.failures + 1, is_break))
                self._n_suspects += is_break

    @property
    def _notes_failures(self) -> bool:
        return callable(getattr(self._store, "fail", None))

    def _give_up(self, part: TaskPart, error: BaseException) -> None:
        """Note that a task is not done, or raise why if there is nowhere to note it."""
        if not self._notes_failures:
            raise error
        self._store.fail(part.piece, error)  # type: ignore[union-attr]  # it has just been looked for
        for each in causes(error):
            each.__traceback__ = None  # whose frames hold the rewards of a game
        self._failed.append((part.piece, error))

    def _keep(self, group: Group, outcomes: list[Any]) -> None:
        for part, outcome in zip(group.parts, outcomes, strict=True):
            if self._store is not None:
                self._store.save(part.piece, outcome)
            self._put(part, outcome)

    def _put(self, part: TaskPart, outcome: object) -> None:
        self._records[part.whole].put(part.piece, outcome)
        self._done += part.piece.work

    def _wind_up(self) -> None:
        """Call off what can be, wait for the rest unless there is another signal, and keep what was finished."""
        self._called_off.up = True
        for future in [future for future in self._waiting if future.cancel()]:
            del self._waiting[future]
        # Threads have been called off. If a step of theirs takes long, they end after it and nobody waits for that.
        begun = time.monotonic()
        until = begun + (GRACE if self._workers.are_threads else math.inf)
        is_patient = True
        while self._waiting and is_patient:
            event = next_event(self._events, wait=True)
            is_second = isinstance(event, int) and time.monotonic() - begun > GRACE
            is_patient = not is_second and time.monotonic() < until
            ended = [future for future in self._waiting if future.done()]
            for future in ended:
                group, _ = self._waiting.pop(future)
                if not future.cancelled() and future.exception() is None:
                    with contextlib.suppress(OSError):  # the disk is full, perhaps: what ends this will say so
                        self._keep(group, future.result())

    def _tell(self) -> None:
        """Show how far it is."""
        doing = ""
        if self._workers.count == 0:
            doing = "waiting for workers"
        if self._preparing is not None:
            label, seconds = self._unprepared[0].piece.label, time.monotonic() - self._since
            doing = f"preparing {label}"
            if seconds > 1:  # it was not on the disk
                doing = f"compiling {label}, {seconds:.0f} s so far (ten seconds or so, the first time only)"
        done = self._done + sum(task.done for _, task in self._waiting.values())
        self._show(done - self._shown, doing, self._found)
        self._shown, self._found = done, 0

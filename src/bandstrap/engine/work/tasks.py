"""Work, and the tasks it is cut into: what the loop (``pool.py``) asks of them, and which are done together."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple, Protocol

# At most this many tasks are done together.
MOST_TOGETHER = 8
# What does several tasks of one group, and what prepares for one; each kind of work has tasks and outcomes of its own.
Runner = Callable[[Sequence[Any]], list[Any]]
Preparer = Callable[[Any], None]


class Work(Protocol):
    """Work, or a task of it."""

    @property
    def work(self) -> int:
        """Amount of work, for the progress bar."""

    @property
    def group(self) -> Hashable:
        """Key shared by tasks that are best done together."""

    @property
    def race(self) -> Hashable:
        """Key shared by tasks whose parts may be in one group."""

    @property
    def needs(self) -> Hashable:
        """Preparation that it needs, done once for all tasks that need the same; ``None`` if nothing."""

    @property
    def label(self) -> str:
        """Name to show while it is prepared."""

    @property
    def about(self) -> Mapping[str, object]:
        """Everything its outcome depends on."""

    def cut(self) -> Iterator[Work]:
        """Its tasks, each made when it is asked for."""

    def record(self) -> Outcomes:
        """Record in which the outcomes of its tasks are put together."""


class Outcomes(Protocol):
    """Outcomes of tasks, put together."""

    def put(self, piece: Any, outcome: Any) -> None:
        """Add the outcome of a task."""


class StoreLike(Protocol):
    """Store of finished work.

    One that has a method ``fail(piece, error)``, too, is told of tasks that are given up, and the rest is done.
    """

    def load(self, piece: Any) -> Any:
        """The outcome of a task; ``None`` if it is not there."""

    def save(self, piece: Any, outcome: Any) -> None:
        """Keep its outcome."""


class TaskPart(NamedTuple):
    """A task, and the work it was cut from."""

    whole: Work
    piece: Work


def groups_of(wholes: Iterable[Work]) -> Iterator[list[TaskPart]]:
    """Tasks in groups that are done together, race by race; each is cut when its turn comes."""
    races: dict[Hashable, list[Work]] = {}
    for whole in wholes:
        races.setdefault(whole.race, []).append(whole)
    for race in races.values():
        for rank in zip_longest(*(parts_of(whole) for whole in race)):
            groups: dict[Hashable, list[TaskPart]] = {}
            for part in rank:
                if part is not None:
                    groups.setdefault(part.piece.group, []).append(part)
            for members in groups.values():
                for start in range(0, len(members), MOST_TOGETHER):
                    yield members[start : start + MOST_TOGETHER]


def parts_of(whole: Work) -> Iterator[TaskPart]:
    """The tasks of a work, which they remember."""
    return (TaskPart(whole, piece) for piece in whole.cut())

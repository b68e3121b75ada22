"""Work on its way to a worker, which may be a process on another machine: what it brings along, and being ready for it.

A process that is handed work knows nothing of the one that hands it out. So work brings along, ahead of itself, what must
be there before it can be unpacked (the user's own files), and which code it is meant for: other code might play other
numbers. It is unpacked where an error is the error of that work alone; while it is fetched, one would end the worker.
"""

from __future__ import annotations

import pickle
import platform
import sys
import threading
import uuid
import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

from bandstrap.basics.sources import Code, code_here
from bandstrap.engine.work.interrupts import Outcome, Task
from bandstrap.engine.work.tasks import Preparer, Runner, Work
from bandstrap.errors import InvalidInput

# What goes ahead of all work: unpickling it makes a process ready to unpickle the rest. Whoever has something adds it.
AHEAD: list[object] = []


class UnfitWorker(InvalidInput):
    """A worker cannot do any of the work, or would do it otherwise than it is done here."""


class WorkerError(RuntimeError):
    """An error of a worker that could not be sent as it was, in words."""


def nothing(piece: object) -> None:
    """Prepare a task that needs nothing."""


def as_errors(function: Callable[..., Outcome], *arguments: object) -> Outcome:
    """Call a function of somebody else, which may ask Python to exit: that is an error of this work alone."""
    try:
        return function(*arguments)
    except SystemExit as error:
        raise WorkerError(f"SystemExit: {error.code}") from error


class TaskCall:
    """Tasks to be done, here or in another process.

    Parameters
    ----------
    task
        Tells how far it is, and calls it off, as long as it is done in this process.
    run
        Does several tasks of one group.
    prepare
        Called with a task, by another process that has not yet done one with the same needs, before it is done.
    pieces
        What to do.
    """

    def __init__(
        self,
        task: Task,
        run: Runner,
        prepare: Preparer,
        pieces: Sequence[Work],
    ) -> None:
        self.task, self.run, self.prepare, self.pieces = task, run, prepare, pieces

    def __call__(self) -> list[Any]:
        """Do it in this process, where all is prepared."""
        return as_errors(self.task, self.run, self.pieces)

    def __reduce__(self) -> tuple[type[RemoteTaskCall], tuple[Code, bytes, bytes]]:
        # Dask and loky, once they are loaded, send what a notebook defines by its value, and so do we.
        by_value = sys.modules.get("cloudpickle")
        dumps: Callable[[object], bytes] = pickle.dumps if by_value is None else by_value.dumps
        try:
            content = dumps((self.run, self.prepare, list(self.pieces)))
        except Exception as error:
            raise InvalidInput(
                f"{self.pieces[0].label} cannot be sent to another process ({in_words(error)}): classes and functions "
                "must be defined at the top of a module, or played in threads."
            ) from error
        return RemoteTaskCall, (code_here(), pickle.dumps(AHEAD), content)

    def __dask_tokenize__(self) -> str:
        # Work is never taken for work that was handed out before, be it by another run or in an earlier try.
        return uuid.uuid4().hex


class RemoteTaskCall:
    """Tasks sent to another process; see :class:`TaskCall`."""

    def __init__(self, code: Code, ahead: bytes, content: bytes) -> None:
        self.code, self.ahead, self.content = code, ahead, content

    def __reduce__(self) -> tuple[type[RemoteTaskCall], tuple[Code, bytes, bytes]]:
        return RemoteTaskCall, (self.code, self.ahead, self.content)

    def __call__(self) -> list[Any]:
        """Do it, once this process has all it takes."""
        try:
            check_code(self.code, code_here())
            run, prepare, pieces = unpacked(self.ahead, self.content)
            for piece in pieces:
                make_ready(prepare, piece)
            return as_errors(Task(), run, pieces)
        except Exception as error:
            sent = sendable(error)
            if sent is error:
                raise
            raise sent from error


def check_code(wanted: Code, found: Code, where: str = "") -> None:
    """Refuse to do work with other code than that of the process that hands it out."""
    if wanted != found:
        said = "other files of the same version" if wanted.said == found.said else found.said
        raise UnfitWorker(
            f"A worker on {where or platform.node()} has {said}, where {wanted.said} hands out the work: its numbers could "
            "differ. Install the same versions on both, and run this again: finished work is kept."
        )


def unpacked(ahead: bytes, content: bytes) -> tuple[Runner, Preparer, list[Work]]:
    """The function, what prepares for it, and the tasks; here is all they name."""
    pickle.loads(ahead)  # noqa: S301 - from the process that hands out work, as all that is done here
    try:
        return pickle.loads(content)  # noqa: S301
    except (ImportError, AttributeError) as error:
        raise UnfitWorker(
            f"A worker on {platform.node()} lacks what the work needs ({in_words(error)}): your own files must exist "
            "there under the same path, unchanged since the run began."
        ) from error


_ready: set[Hashable] = {None}
_turns: dict[Hashable, threading.Lock] = {}


def make_ready(prepare: Preparer, piece: Work) -> None:
    """Prepare for a task, once in this process; who needs the same waits, and nobody else."""
    needs = piece.needs
    if needs in _ready:
        return
    with _turns.setdefault(needs, threading.Lock()):
        if needs not in _ready:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # who hands out the work has told them
                as_errors(prepare, piece)
            _ready.add(needs)


def sendable(error: Exception) -> Exception:
    """An error that arrives where it is sent: one that cannot be unpickled there would be taken for the worker's death.

    No error is left a cause of itself (``raise error from error``): dask would look for its first cause for ever.
    """
    *_, first = causes(error, lambda cause: cause.__cause__)
    if first.__cause__ is not None:
        first.__cause__ = None
    try:
        if type(pickle.loads(pickle.dumps(error))) is type(error):  # noqa: S301 - our own bytes
            return error
    except Exception:  # noqa: BLE001, S110 - whatever its class does
        pass
    return WorkerError(in_words(error))


def causes(
    error: BaseException,
    next_of: Callable[[BaseException], BaseException | None] = lambda error: error.__cause__ or error.__context__,
) -> Iterator[BaseException]:
    """An error, what it was raised from, and so on, each once.

    >>> inner, outer = ValueError("in"), KeyError("out")
    >>> outer.__cause__, inner.__cause__ = inner, outer
    >>> list(causes(outer))
    [KeyError('out'), ValueError('in')]
    """
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = next_of(cause)


def in_words(error: BaseException) -> str:
    """An error in one line."""
    text = " ".join(str(error).split()).rstrip(".")
    return text if isinstance(error, InvalidInput | WorkerError) else f"{type(error).__name__}: {text}".rstrip(": ")

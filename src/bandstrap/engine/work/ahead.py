"""Compiling ahead: another process compiles what is needed later, while this one compiles what is needed first.

Numba compiles one function at a time in each process. Both keep what they compile on the disk, where locks see to it that
nothing is compiled twice (``compiler/locks.py``). Whatever goes wrong there is found again, and told, here.
"""

from __future__ import annotations

import contextlib
import pickle
import subprocess
import sys
import threading
from collections.abc import Collection, Hashable, Iterable, Sequence

from bandstrap.basics.storage import fcntl
from bandstrap.engine.work.dispatch import TaskCall
from bandstrap.engine.work.interrupts import Task
from bandstrap.engine.work.tasks import Preparer, Work


def no_outcomes(_: Sequence[Work]) -> list[object]:
    """Outcomes of tasks that are prepared and not done."""
    return []


class Ahead:
    """The other process, once it is asked for.

    Not one of ``multiprocessing``, which would run a user's program once more unless it is written for that.

    Parameters
    ----------
    prepare
        Prepares a task, or a whole one.
    """

    def __init__(self, prepare: Preparer) -> None:
        self._prepare = prepare
        self._has_begun = False
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self, work: Iterable[Work], known: Collection[Hashable]) -> None:
        """Have prepared, in turn, what some work needs and is not ``known``; called again, nothing."""
        if self._has_begun or fcntl is None or not sys.executable:
            return
        self._has_begun = True
        first: dict[Hashable, Work] = {}
        for piece in work:
            if piece.needs not in known:
                first.setdefault(piece.needs, piece)
        errands = []
        for piece in first.values():
            with contextlib.suppress(Exception):  # it cannot be sent
                errands.append(pickle.dumps(TaskCall(Task(), no_outcomes, self._prepare, [piece])))
        if errands:
            command = [sys.executable, "-m", "bandstrap.engine.work.ahead"]
            quiet = subprocess.DEVNULL
            with contextlib.suppress(OSError):  # no more processes
                self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet)  # noqa: S603
                threading.Thread(target=self._tell, args=(self._process, errands), daemon=True).start()

    def _tell(self, process: subprocess.Popen[bytes], errands: Sequence[bytes]) -> None:
        """Hand the process its work, which it reads when it is ready."""
        with contextlib.suppress(OSError):  # it has ended
            process.communicate(pickle.dumps(errands))

    def end(self) -> None:
        """End it: nobody needs what it has not finished."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()


def main() -> None:
    """Prepare what standard input holds, as far as it can be."""
    for errand in pickle.load(sys.stdin.buffer):  # noqa: S301 - from the process that started this one
        with contextlib.suppress(Exception):
            pickle.loads(errand)()  # noqa: S301


if __name__ == "__main__":
    main()

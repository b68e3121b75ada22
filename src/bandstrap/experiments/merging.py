"""Panels put into files of their own while others are still played, so that small blocks do not pile up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait
from queue import SimpleQueue
from types import TracebackType

from bandstrap.engine.work.interrupts import GRACE, CalledOff, Flag, Task, in_own_thread
from bandstrap.experiments.folder import Folder
from bandstrap.experiments.lanes import digest
from bandstrap.experiments.plan import AnyBlock, Blocks


class Merging:
    """A context in which every panel is merged as soon as all of it is there, in a thread of its own.

    The thread sees the folder as another process would, with a store of its own. What it cannot merge, because the disk
    is full, say, is no loss: the blocks are there, and who wants the panel merges it, and learns why that fails. When the
    context ends, all panels that were complete are merged; if it ends by an error, that at which the thread is, is left.
    ``waiting`` is called while another process merges the same folder.
    """

    def __init__(
        self,
        folder: Folder,
        plans: Iterable[Blocks],
        missing: Iterable[AnyBlock],
        waiting: Callable[[], None] = lambda: None,
    ) -> None:
        self._folder, self._waiting = folder, waiting
        self.store = folder.store()
        lacking = {digest(block.about) for block in missing}
        # The panels that lack a block, each with all that it lacks.
        self._panels: dict[str, list[tuple[Blocks, set[str]]]] = {}
        for plan in plans:
            keys = {digest(block.about) for block in plan} & lacking
            for key in keys:
                self._panels.setdefault(key, []).append((plan, keys))
        self._complete: SimpleQueue[Blocks | None] = SimpleQueue()
        self._called_off = Flag()
        self._ended: Future[None]

    def __enter__(self) -> Merging:
        self._ended = in_own_thread(self._merge_all)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._called_off.up = error is not None
        self._complete.put(None)
        if error is None:
            self._ended.result()
        else:  # it may be waiting for another process that merges; and it may be left at any step, as by a kill
            wait([self._ended], timeout=GRACE)

    def done(self, block: AnyBlock) -> None:
        """All of a block is in the store."""
        key = digest(block.about)
        for plan, lacking in self._panels.pop(key, ()):
            lacking.discard(key)
            if not lacking:
                self._complete.put(plan)

    def _merge_all(self) -> None:
        task = Task(self._called_off)
        while (plan := self._complete.get()) is not None:
            try:
                task(self._folder.merge, plan, self.store, self._waiting)
            except CalledOff:
                return
            except Exception:  # noqa: BLE001, S112 - whoever wants the panel will learn
                continue

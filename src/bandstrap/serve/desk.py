"""Group commit: calls about one experiment wait in a queue, and one thread commits what has gathered, together.

A call is answered after its commit, never before. While one transaction waits for the disk, the calls of the next gather,
so that many connections share the cost of one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from bandstrap.live import Decision, Experiment, StoreError
from bandstrap.live.elsewhere import DecisionElsewhere, Importer
from bandstrap.policies.contextual.contextual_policy import Context
from bandstrap.serve import limits
from bandstrap.serve.forced import add_forced
from bandstrap.serve.problems import Problem

W = TypeVar("W")
R = TypeVar("R")
LOG = logging.getLogger("bandstrap.serve")


class DecisionWish(NamedTuple):
    """A decision that is asked for; ``available`` and ``actions`` are tuples, which calls are grouped by."""

    unit: str | None
    key: str | None
    available: tuple[str, ...] | None
    actions: tuple[tuple[float, ...], ...] | None
    defer: bool
    context: Context | None = None


class RewardWish(NamedTuple):
    """A reward to be stored."""

    decision: str
    value: float
    key: str | None


# A decision made elsewhere, from weights of a version.
ImportWish = DecisionElsewhere


class ForcedWish(NamedTuple):
    """An arm that was served without a draw, because the service did not answer."""

    key: str
    unit: str | None
    arm: str


class WaitingCall(NamedTuple):
    """Wishes of one request, and where their answers are waited for."""

    kind: str
    wishes: Sequence[Any]
    answer: asyncio.Future[list[Any]]


class Desk:
    """One experiment, its queue, and the thread that commits.

    Parameters
    ----------
    experiment
        The experiment.
    on_commit
        Told the number of calls, their kind and the seconds that a commit took.
    """

    def __init__(self, experiment: Experiment, on_commit: Callable[[int, str, float], None] = lambda *_: None) -> None:
        self.experiment = experiment
        self.caught_up_at = time.monotonic()
        self._importer = Importer(experiment)
        self._on_commit = on_commit
        self._queue: queue.SimpleQueue[WaitingCall | None] = queue.SimpleQueue()
        self._is_open = True
        self._thread = threading.Thread(target=self._work, name=f"commits of {experiment.name}", daemon=True)
        self._thread.start()

    # --- asked by the event loop ------------------------------------------------------------------------------------------

    async def decide(self, wishes: Sequence[DecisionWish]) -> list[Decision | Exception]:
        """Decisions, stored; a refusal in the place of one that is refused."""
        return await self._put("decide", wishes)

    async def reward(self, wishes: Sequence[RewardWish]) -> list[str | Exception]:
        """Outcome of each reward: stored, duplicate or late; or a refusal."""
        return await self._put("reward", wishes)

    async def activate(self, ids: Sequence[str]) -> list[bool | Exception]:
        """Return whether each decision counts for the first time; or a refusal."""
        return await self._put("activate", ids)

    async def import_(self, wishes: Sequence[ImportWish]) -> list[Decision | Exception]:
        """Decisions made elsewhere, as they are stored; or a refusal."""
        return await self._put("import", wishes)

    async def force(self, wishes: Sequence[ForcedWish]) -> list[str | Exception]:
        """Outcome of each arm served by force: forced, or duplicate if that is known; or a refusal."""
        return await self._put("force", wishes)

    async def _put(self, kind: str, wishes: Sequence[Any]) -> list[Any]:
        if not self._is_open or self._queue.qsize() >= limits.QUEUE:
            why = f"More than {limits.QUEUE} calls wait to be stored." if self._is_open else "The service ends."
            raise Problem(503, why, retry_after=1)
        answer: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        self._queue.put(WaitingCall(kind, wishes, answer))
        return await answer

    def lag(self) -> float:
        """Seconds since the experiment was brought up to date, in intervals of ``refresh``."""
        return (time.monotonic() - self.caught_up_at) / max(self.experiment.definition.refresh, 1.0)

    def close(self) -> None:
        """Commit what was accepted, then end."""
        self._is_open = False
        self._queue.put(None)
        self._thread.join()

    # --- the thread that commits ------------------------------------------------------------------------------------------

    def _work(self) -> None:
        patience = max(self.experiment.definition.refresh, 0.1)
        kinds: dict[str, Callable[[Sequence[Any]], list[Any]]] = {
            "decide": self._decide,
            "import": self._import,
            "force": self._force,
            "activate": self._activate,
            "reward": self._reward,
        }
        is_open = True
        while is_open:
            calls: list[WaitingCall] = []
            with contextlib.suppress(queue.Empty):
                call = self._queue.get(timeout=patience)
                n_wishes = 0
                while True:
                    is_open = call is not None
                    if call is None:
                        break
                    calls.append(call)
                    n_wishes += len(call.wishes)
                    if n_wishes >= limits.BATCH:
                        break
                    call = self._queue.get_nowait()
            for kind, commit in kinds.items():
                self._commit(kind, commit, [call for call in calls if call.kind == kind])
            if not calls or time.monotonic() - self.caught_up_at >= patience:
                self._catch_up()

    def _catch_up(self) -> None:
        """Learn what is due; a failure is told by :meth:`lag`, and is tried again."""
        try:
            self.experiment.refresh()
            self.caught_up_at = time.monotonic()
        except StoreError:
            pass
        except Exception:  # the thread must go on for all whom it serves
            LOG.exception("The experiment could not be brought up to date")

    def _commit(self, kind: str, commit: Callable[[Sequence[Any]], list[Any]], calls: Sequence[WaitingCall]) -> None:
        """Commit calls of one kind together, and answer each."""
        if not calls:
            return
        began = time.perf_counter()
        wishes = [wish for call in calls for wish in call.wishes]
        try:
            answers = commit(wishes)
        except Exception as error:  # noqa: BLE001 - one call must not end the thread that serves all
            answers = [error] * len(wishes)
        self._on_commit(len(wishes), kind, time.perf_counter() - began)
        parts, start = [], 0
        for call in calls:
            parts.append((call.answer, answers[start : start + len(call.wishes)]))
            start += len(call.wishes)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            calls[0].answer.get_loop().call_soon_threadsafe(give, parts)

    def _decide(self, wishes: Sequence[DecisionWish]) -> list[Decision | Exception]:
        answers: dict[int, Decision | Exception] = {}
        groups: dict[tuple[object, bool, bool, bool], list[int]] = {}
        for i, wish in enumerate(wishes):
            kind = (wish.available, wish.actions is None, wish.context is None, wish.defer)
            groups.setdefault(kind, []).append(i)
        for (available, without_actions, without_context, defer), places in groups.items():

            def decide(part: Sequence[int]) -> list[Decision]:
                return self.experiment.decide_many(
                    [wishes[i].unit for i in part],
                    keys=[wishes[i].key for i in part],
                    available=available,  # type: ignore[arg-type]  # noqa: B023 - called before the next turn
                    actions=None if without_actions else [wishes[i].actions for i in part],  # type: ignore[misc]  # noqa: B023
                    contexts=None if without_context else [wishes[i].context for i in part],  # type: ignore[misc]  # noqa: B023
                    defer=defer,  # noqa: B023
                )

            answers |= zip(places, one_by_one(decide, places), strict=True)
        return [answers[i] for i in range(len(wishes))]

    def _reward(self, wishes: Sequence[RewardWish]) -> list[Any]:
        return one_by_one(self.experiment.reward_many, wishes)

    def _import(self, wishes: Sequence[ImportWish]) -> list[Any]:
        return one_by_one(self._importer.add, wishes)

    def _force(self, wishes: Sequence[ForcedWish]) -> list[Any]:
        return one_by_one(lambda part: add_forced(self.experiment, part), wishes)

    def _activate(self, ids: Sequence[str]) -> list[Any]:
        return [one_by_one(lambda part: [self.experiment.activate(part[0])], [id_])[0] for id_ in ids]


def one_by_one(call: Callable[[Sequence[W]], Sequence[R]], wishes: Sequence[W]) -> list[R | Exception]:
    """Results of a call on several requests at once; if it refuses them together, they are tried one by one.

    So they are where it fails: of what one caller asks, others must not hear.
    """
    try:
        return list(call(wishes))
    except StoreError as failure:
        return [failure] * len(wishes)
    except Exception as refusal:  # noqa: BLE001 - it is answered, or told in the log, by whoever asked for this one
        if len(wishes) == 1:
            return [refusal]
        half = len(wishes) // 2
        return one_by_one(call, wishes[:half]) + one_by_one(call, wishes[half:])


def give(parts: Sequence[tuple[asyncio.Future[list[Any]], list[Any]]]) -> None:
    """Answer calls, but for those whose callers have gone."""
    for answer, value in parts:
        if not answer.done():
            answer.set_result(value)

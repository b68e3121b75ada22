"""Ask a service for decisions from Python, through failures of the network and of the service.

A call is repeated under the same idempotency key, so that it is stored once. Where no answer comes in time, ``decide`` can
fall back to an arm of the caller's choice, and reports it once the service answers again. Needs httpx:
``pip install 'bandstrap[client]'``.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Generator, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Generic, NamedTuple, Self, TypeVar
from urllib.parse import quote

from bandstrap.basics.extras import need

need("bandstrap.client", "httpx")  # before it is imported below

import httpx  # noqa: E402

from bandstrap.errors import InvalidInput, brief, check_count, check_number, requirement  # noqa: E402

# Answers that another try may change: too many requests, not available.
PASSING = (429, 500, 502, 503, 504)
# Answers to a request that could be stored at no time.
UNFIT = (400, 413, 422)
# Seconds between two tries, at first and at most.
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0
# Fallbacks that are kept until they can be reported, and of one report.
MOST_FALLBACKS, REPORTED = 10_000, 100

# What calls give: a decision, the word of an outcome, a flag and a number.
D = TypeVar("D")
W = TypeVar("W")
F = TypeVar("F")
N = TypeVar("N")
# What a call does: posts (path, body) and is sent the answer or the error, or waits so many seconds.
Steps = Generator["Posting | float", "httpx.Response | httpx.TransportError | None", Any]


class ServiceError(OSError):
    """The service did not answer, or could not store. The outcome of the call is unknown: repeat it with its key."""


class UnfitRequest(InvalidInput):
    """The service refuses the call; repeating it does not help."""


class ServedDecision(NamedTuple):
    """A decision of the service.

    ``source`` is that of :class:`bandstrap.live.Decision`, or ``"fallback"`` if the service did not answer in time. Then
    the arm is the caller's, ``id`` is empty and the rest ``None``.
    """

    id: str
    arm: str | int
    key: str
    source: str
    propensity: float | None = None
    version: int | None = None
    unit: str | None = None


class Posting(NamedTuple):
    """A request; ``content`` is JSON."""

    path: str
    content: str


class Calls(ABC, Generic[D, W, F, N]):
    """Calls of both clients, which give a decision, an outcome, a flag or a number: at once, or to be awaited.

    A call is a generator of steps; :class:`Client` and :class:`AsyncClient` take them each in its own way.
    """

    def __init__(self, attempts: int, owner: str) -> None:
        self.attempts = check_count(attempts, "attempts", owner)
        self._fallbacks: dict[str, deque[dict[str, object]]] = {}

    @abstractmethod
    def _take(self, steps: Steps) -> Any:
        """Take all steps of a call; the result of the call."""

    @property
    def unreported(self) -> int:
        """Fallbacks that the service does not know yet."""
        return sum(map(len, self._fallbacks.values()))

    def decide(
        self,
        experiment: str,
        unit: str | None = None,
        *,
        key: str | None = None,
        available: Sequence[str] | None = None,
        actions: Sequence[Sequence[float]] | None = None,
        context: Mapping[str, Any] | None = None,
        defer: bool = False,
        fallback_arm: str | None = None,
    ) -> D:
        """Ask for a decision; after the last try give ``fallback_arm``, if there is one, instead of raising.

        A fallback is not a random draw: it has no propensity, nothing is learned from it, and it cannot be rewarded. It is
        reported to the service after the next answered decision, or by :meth:`report`, and counts as forced.
        """
        wish = {
            "unit": unit,
            "key": key or uuid.uuid4().hex,
            "available": available if available is None or isinstance(available, str) else list(available),
            "actions": None if actions is None else [list(map(float, action)) for action in actions],
            "context": None if context is None else dict(context),
            "defer": defer,
        }
        decision: D = self._take(self._decide(experiment, given(wish), fallback_arm))
        return decision

    def reward(
        self,
        experiment: str,
        value: float,
        *,
        decision: str | None = None,
        unit: str | None = None,
        key: str | None = None,
    ) -> W:
        """Send a reward of a decision, or of a unit's last one: stored, duplicate or late.

        If only the answer to a try was lost, the next try is a duplicate; ``"duplicate"`` then means that the reward is
        stored.
        """
        if (decision is None) == (unit is None):
            raise InvalidInput("A reward needs 'decision' or 'unit', not both.")
        if decision == "":
            raise InvalidInput("A fallback takes no reward: its arm was not drawn, and nothing is learned from it.")
        wish = {"decision": decision, "unit": unit, "value": check_number(value, "value", "reward"), "key": key}
        outcome: W = self._take(self._ask(experiment, "rewards", given(wish), "outcome"))
        return outcome

    def activate(self, experiment: str, decision: str) -> F:
        """Activate a deferred decision; returns True the first time."""
        route = f"decisions/{quoted(decision, 'decision')}/activate"
        is_first: F = self._take(self._ask(experiment, route, None, "first"))
        return is_first

    def report(self, experiment: str) -> N:
        """Report fallbacks now; returns the number that could not be reported."""
        n_left: N = self._take(self._report(experiment))
        return n_left

    # --- steps ----------------------------------------------------------------------------------------------------------

    def _decide(self, experiment: str, wish: dict[str, Any], fallback_arm: str | None) -> Steps:
        try:
            found = yield from self._post(experiment, "decisions", wish)
        except ServiceError:
            if fallback_arm is None:
                raise
            kept, unit = self._fallbacks.setdefault(experiment, deque(maxlen=MOST_FALLBACKS)), wish.get("unit")
            kept.append({"key": wish["key"], "unit": unit, "arm": fallback_arm, "forced": True})
            return ServedDecision("", fallback_arm, wish["key"], "fallback", unit=unit)
        yield from self._report(experiment)
        return ServedDecision(**{name: found[name] for name in ServedDecision._fields})

    def _report(self, experiment: str) -> Steps:
        """Report fallbacks, the oldest first; those that cannot be reported now are kept.

        One that the service never takes, such as one with a key that is too long, is forgotten: others would wait for it.
        """
        kept, size = self._fallbacks.get(experiment), REPORTED
        while kept:
            # Taken out before they are sent: another thread or task may report at the same time.
            part: list[dict[str, object]] = []
            with suppress(IndexError):
                while len(part) < size:
                    part.append(kept.popleft())
            is_over = False
            try:
                yield from self._post(experiment, "imports", part, attempts=1)
                is_over = True
            except UnfitRequest:
                is_over = len(part) == 1
                size = REPORTED if is_over else 1
            except (ServiceError, InvalidInput):
                break
            finally:
                if not is_over:
                    kept.extendleft(reversed(part))
        return self.unreported

    def _ask(self, experiment: str, route: str, body: object, name: str) -> Steps:
        """Ask for one part of an answer."""
        found = yield from self._post(experiment, route, body)
        return found[name]

    def _post(self, experiment: str, route: str, body: object, attempts: int | None = None) -> Steps:
        """Ask until there is an answer, or the last try has failed."""
        problem, attempts = "", attempts or self.attempts
        posting = Posting(f"/experiments/{quoted(experiment, 'experiment')}/{route}", written(body))
        for attempt in range(attempts):
            wait = min(FIRST_WAIT * 2.0 ** min(attempt, 30), LONGEST_WAIT)
            answer = yield posting
            if isinstance(answer, httpx.Response):
                if answer.is_success:
                    try:
                        return answer.json()
                    except ValueError:  # somebody else answered in the place of the service
                        problem = f"HTTP status {answer.status_code} without JSON."
                else:
                    problem = detail_of(answer)
                    if answer.status_code not in PASSING:
                        raise (UnfitRequest if answer.status_code in UNFIT else InvalidInput)(problem)
                    wait = max(wait, seconds_of(answer.headers.get("Retry-After", "")))
            else:
                problem = str(answer) or type(answer).__name__
            if attempt + 1 == attempts or wait > LONGEST_WAIT:
                break
            yield wait
        tries = "1 try" if attempt == 0 else f"{attempt + 1} tries"
        raise ServiceError(f"The service did not answer after {tries}: {problem}")


class Client(Calls[ServedDecision, str, bool, int]):
    """A service, asked about its experiments.

    Parameters
    ----------
    address
        The service's, such as ``"http://127.0.0.1:8000"``.
    token
        Token printed by ``bandstrap token create``.
    timeout
        Time limit of one try in seconds; 2 by default.
    attempts
        Number of tries before a call is given up; 4 by default. Between two tries it waits .1, .2, .4, ... seconds, at most
        5, or as long as the service asks for; if that is more than 5 seconds, the call is given up at once.
    transport
        Transport of httpx, for tests.
    """

    def __init__(
        self,
        address: str,
        token: str,
        *,
        timeout: float = 2.0,
        attempts: int = 4,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        super().__init__(attempts, "Client")
        self._http = httpx.Client(**connected(address, token, timeout, "Client"), transport=transport)

    def _take(self, steps: Steps) -> Any:
        sent: httpx.Response | httpx.TransportError | None = None
        while True:
            try:
                step = steps.send(sent)
            except StopIteration as end:
                return end.value
            sent = None
            if isinstance(step, Posting):
                try:
                    sent = self._http.post(step.path, content=step.content)
                except httpx.TransportError as error:
                    sent = error
            else:
                time.sleep(step)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClient(Calls[Awaitable[ServedDecision], Awaitable[str], Awaitable[bool], Awaitable[int]]):
    """The same for asyncio, with the methods of :class:`Client`, each to be awaited.

    Parameters
    ----------
    address, token, timeout, attempts, transport
        As for :class:`Client`.
    """

    def __init__(
        self,
        address: str,
        token: str,
        *,
        timeout: float = 2.0,
        attempts: int = 4,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(attempts, "AsyncClient")
        self._http = httpx.AsyncClient(**connected(address, token, timeout, "AsyncClient"), transport=transport)

    async def _take(self, steps: Steps) -> Any:
        sent: httpx.Response | httpx.TransportError | None = None
        while True:
            try:
                step = steps.send(sent)
            except StopIteration as end:
                return end.value
            sent = None
            if isinstance(step, Posting):
                try:
                    sent = await self._http.post(step.path, content=step.content)
                except httpx.TransportError as error:
                    sent = error
            else:
                await asyncio.sleep(step)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def given(wish: Mapping[str, object]) -> dict[str, Any]:
    """The members of a request that are not left out."""
    return {name: value for name, value in wish.items() if value is not None}


def quoted(name: object, parameter: str) -> str:
    """A name as a part of a path."""
    if not isinstance(name, str):
        raise requirement(parameter, "Client", "a text", brief(name))
    return quote(name, safe="", errors="replace")


def written(body: object) -> str:
    """A body as JSON; numbers of NumPy are numbers."""
    try:
        return json.dumps(body, allow_nan=False, default=lambda value: value.item())
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise InvalidInput(f"The call cannot be sent, because it is not JSON: {error}.") from None


def connected(address: str, token: str, timeout: float, owner: str) -> dict[str, Any]:
    """Options of httpx."""
    return {
        "base_url": address,
        "headers": {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        "timeout": check_number(timeout, "timeout", owner, above=0),
    }


def detail_of(answer: httpx.Response) -> str:
    """Message of a service about a call that it refuses."""
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP status {answer.status_code}."


def seconds_of(retry_after: str) -> float:
    """Seconds that a header asks to wait; a date, which proxies send, is no number of them."""
    return float(retry_after) if retry_after.isdecimal() else 0.0

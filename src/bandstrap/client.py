"""Ask a service for decisions from Python, through failures of the network and of the service.

A call is repeated under the same idempotency key, so that it is stored once. Where no answer comes in time, ``decide`` can
fall back to an arm of the caller's choice, and reports it once the service answers again. Needs httpx:
``pip install 'bandstrap[client]'``.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import quote

import httpx

from bandstrap.errors import InvalidInput, check_count, check_number

# Answers that another try may change: too many requests, not available.
PASSING = (429, 500, 502, 503, 504)
# Seconds between two tries, at first and at most.
FIRST_WAIT, LONGEST_WAIT = 0.1, 5.0
# Fallbacks that are kept until they can be reported, and of one report.
MOST_FALLBACKS, REPORTED = 10_000, 100

# What a call does: posts (path, body) and is sent the answer or the error, or waits so many seconds.
Steps = Generator["Posting | float", "httpx.Response | httpx.TransportError | None", Any]


class ServiceError(OSError):
    """The service did not answer, or could not store; whether the call took place is not known: repeat it with its key."""


class ServedDecision(NamedTuple):
    """A decision of the service.

    ``source`` is that of :class:`bandstrap.live.Decision`, or ``"fallback"``: the service did not answer in time, the arm
    is the caller's, ``id`` is empty and the rest ``None``.
    """

    id: str
    arm: str | int
    key: str
    source: str
    propensity: float | None = None
    version: int | None = None
    unit: str | None = None


class Posting(NamedTuple):
    """A request."""

    path: str
    body: object


class Calls:
    """Steps that both clients share; :class:`Client` and :class:`AsyncClient` take the steps each in its own way."""

    def __init__(self, attempts: int, owner: str) -> None:
        self.attempts = check_count(attempts, "attempts", owner)
        self._fallbacks: dict[str, deque[dict[str, object]]] = {}

    @property
    def unreported(self) -> int:
        """Fallbacks that the service does not know yet."""
        return sum(map(len, self._fallbacks.values()))

    def _decide(
        self,
        experiment: str,
        unit: str | None,
        key: str | None,
        available: Sequence[str] | None,
        context: Mapping[str, Any] | None,
        defer: bool,
        fallback_arm: str | None,
    ) -> Steps:
        wish = {
            "unit": unit,
            "key": key or uuid.uuid4().hex,
            "available": None if available is None else list(available),
            "context": None if context is None else dict(context),
            "defer": defer,
        }
        body = {name: value for name, value in wish.items() if value is not None}
        try:
            found = yield from self._post(experiment, "decisions", body)
        except ServiceError:
            if fallback_arm is None:
                raise
            kept = self._fallbacks.setdefault(experiment, deque(maxlen=MOST_FALLBACKS))
            kept.append({"key": body["key"], "unit": unit, "arm": fallback_arm, "forced": True})
            return ServedDecision("", fallback_arm, str(body["key"]), "fallback", unit=unit)
        yield from self._report(experiment)
        return ServedDecision(**{name: found[name] for name in ServedDecision._fields})

    def _report(self, experiment: str) -> Steps:
        """Report fallbacks, the oldest first; those that cannot be reported now are kept."""
        kept = self._fallbacks.get(experiment)
        while kept:
            # Taken out before they are sent: another thread or task may report at the same time.
            part: list[dict[str, object]] = []
            with suppress(IndexError):
                while len(part) < REPORTED:
                    part.append(kept.popleft())
            is_reported = False
            try:
                yield from self._post(experiment, "imports", part, attempts=1)
                is_reported = True
            except (ServiceError, InvalidInput):
                return
            finally:
                if not is_reported:
                    kept.extendleft(reversed(part))

    def _reward(self, experiment: str, value: float, decision: str | None, unit: str | None, key: str | None) -> Steps:
        if (decision is None) == (unit is None):
            raise InvalidInput("A reward needs 'decision' or 'unit', not both.")
        if decision == "":
            raise InvalidInput("A fallback has no reward: nobody drew its arm, and nothing is learned of it.")
        wish = {"decision": decision, "unit": unit, "value": check_number(value, "value", "reward"), "key": key}
        body = {name: given for name, given in wish.items() if given is not None}
        found = yield from self._post(experiment, "rewards", body)
        return str(found["outcome"])

    def _activate(self, experiment: str, decision: str) -> Steps:
        found = yield from self._post(experiment, f"decisions/{quote(decision, safe='')}/activate", None)
        return bool(found["first"])

    def _post(self, experiment: str, route: str, body: object, attempts: int | None = None) -> Steps:
        """Ask until there is an answer, or the last try has failed."""
        problem, attempts = "", attempts or self.attempts
        for attempt in range(attempts):
            wait = min(FIRST_WAIT * 2.0 ** min(attempt, 30), LONGEST_WAIT)
            answer = yield Posting(f"/experiments/{quote(experiment, safe='')}/{route}", body)
            if isinstance(answer, httpx.Response):
                if answer.is_success:
                    try:
                        return answer.json()
                    except ValueError:  # somebody else answered in the place of the service
                        problem = f"HTTP status {answer.status_code} without JSON."
                else:
                    problem = detail_of(answer)
                    if answer.status_code not in PASSING:
                        raise InvalidInput(problem)
                    wait = max(wait, seconds_of(answer.headers.get("Retry-After", "")))
            else:
                problem = str(answer) or type(answer).__name__
            if attempt + 1 < attempts:
                yield wait
        raise ServiceError(f"The service did not answer after {attempts} tries: {problem}")


class Client(Calls):
    """A service, asked about its experiments.

    Parameters
    ----------
    address
        The service's, such as ``"http://127.0.0.1:8000"``.
    token
        What ``bandstrap token create`` printed.
    timeout
        Seconds that one try may take; 2 by default.
    attempts
        How often a call is tried before it is given up; 4 by default. Between two tries it waits .1, .2, .4, ... seconds,
        at most 5, or as long as the service asks for.
    transport
        One of httpx, for tests.
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

    def decide(
        self,
        experiment: str,
        unit: str | None = None,
        *,
        key: str | None = None,
        available: Sequence[str] | None = None,
        context: Mapping[str, Any] | None = None,
        defer: bool = False,
        fallback_arm: str | None = None,
    ) -> ServedDecision:
        """Ask for a decision; after the last try give ``fallback_arm``, if there is one, instead of raising.

        A fallback is drawn by nobody: it has no propensity, nothing is learned of it, and it cannot be rewarded. The
        service is told of it after the next decision that it answers, or by :meth:`report`, and counts it as forced.
        """
        found: ServedDecision = self._take(self._decide(experiment, unit, key, available, context, defer, fallback_arm))
        return found

    def reward(
        self,
        experiment: str,
        value: float,
        *,
        decision: str | None = None,
        unit: str | None = None,
        key: str | None = None,
    ) -> str:
        """Send a reward of a decision, or of a unit's last one: stored, duplicate or late.

        A try whose answer was lost may have been stored: the next one is then a duplicate of it, and ``"duplicate"`` says
        that the reward is there.
        """
        return str(self._take(self._reward(experiment, value, decision, unit, key)))

    def activate(self, experiment: str, decision: str) -> bool:
        """Let a deferred decision count; True the first time."""
        return bool(self._take(self._activate(experiment, decision)))

    def report(self, experiment: str) -> int:
        """Report fallbacks now; how many are left that could not be."""
        self._take(self._report(experiment))
        return self.unreported

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
                    sent = self._http.post(step.path, json=step.body)
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


class AsyncClient(Calls):
    """The same for asyncio: see :class:`Client`, whose methods it has, each to be awaited.

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

    async def decide(
        self,
        experiment: str,
        unit: str | None = None,
        *,
        key: str | None = None,
        available: Sequence[str] | None = None,
        context: Mapping[str, Any] | None = None,
        defer: bool = False,
        fallback_arm: str | None = None,
    ) -> ServedDecision:
        """Ask for a decision, as :meth:`Client.decide` does."""
        found: ServedDecision = await self._take(
            self._decide(experiment, unit, key, available, context, defer, fallback_arm)
        )
        return found

    async def reward(
        self,
        experiment: str,
        value: float,
        *,
        decision: str | None = None,
        unit: str | None = None,
        key: str | None = None,
    ) -> str:
        """Send a reward, as :meth:`Client.reward` does."""
        return str(await self._take(self._reward(experiment, value, decision, unit, key)))

    async def activate(self, experiment: str, decision: str) -> bool:
        """Activate a deferred decision, as :meth:`Client.activate` does."""
        return bool(await self._take(self._activate(experiment, decision)))

    async def report(self, experiment: str) -> int:
        """Report fallbacks, as :meth:`Client.report` does."""
        await self._take(self._report(experiment))
        return self.unreported

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
                    sent = await self._http.post(step.path, json=step.body)
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


def connected(address: str, token: str, timeout: float, owner: str) -> dict[str, Any]:
    """Options of httpx."""
    return {
        "base_url": address,
        "headers": {"Authorization": f"Bearer {token}"},
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

"""Ask a service for decisions from Python, through failures of the network and of the service.

A call is repeated under the same idempotency key, so that it is stored once. Where no answer comes in time, ``decide`` can
fall back to an arm of the caller's choice. Needs httpx: ``pip install 'bandstrap[client]'``.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self

import httpx

from bandstrap.errors import InvalidInput, check_count, check_number

# Answers that another try may change: too many requests, not available.
PASSING = (429, 500, 502, 503, 504)


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


class Client:
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
        or as long as the service asks for.
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
        self.attempts = check_count(attempts, "attempts", "Client")
        self._http = httpx.Client(
            base_url=address,
            headers={"Authorization": f"Bearer {token}"},
            timeout=check_number(timeout, "timeout", "Client", above=0),
            transport=transport,
        )

    def decide(
        self,
        experiment: str,
        unit: str | None = None,
        *,
        key: str | None = None,
        available: Sequence[str] | None = None,
        defer: bool = False,
        fallback_arm: str | None = None,
    ) -> ServedDecision:
        """Ask for a decision; after the last try give ``fallback_arm``, if there is one, instead of raising.

        A fallback is drawn by nobody: it has no propensity, is not stored, and must not be rewarded.
        """
        wish = {"unit": unit, "key": key or uuid.uuid4().hex, "available": available, "defer": defer}
        body = {name: value for name, value in wish.items() if value is not None}
        try:
            found = self._post(experiment, "decisions", body)
        except ServiceError:
            if fallback_arm is None:
                raise
            return ServedDecision("", fallback_arm, str(body["key"]), "fallback", unit=unit)
        return ServedDecision(**{name: found[name] for name in ServedDecision._fields})

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
        if (decision is None) == (unit is None):
            raise InvalidInput("A reward needs 'decision' or 'unit', not both.")
        wish = {"decision": decision, "unit": unit, "value": check_number(value, "value", "reward"), "key": key}
        body = {name: given for name, given in wish.items() if given is not None}
        return str(self._post(experiment, "rewards", body)["outcome"])

    def activate(self, experiment: str, decision: str) -> bool:
        """Let a deferred decision count; True the first time."""
        return bool(self._post(experiment, f"decisions/{decision}/activate", None)["first"])

    def _post(self, experiment: str, route: str, body: object) -> Any:
        """Ask until there is an answer, or the last try has failed."""
        problem = ""
        for attempt in range(self.attempts):
            wait = 0.1 * 2**attempt
            try:
                answer = self._http.post(f"/experiments/{experiment}/{route}", json=body)
            except httpx.TransportError as error:
                problem = str(error) or type(error).__name__
            else:
                if answer.is_success:
                    return answer.json()
                problem = detail_of(answer)
                if answer.status_code not in PASSING:
                    raise InvalidInput(problem)
                wait = max(wait, float(answer.headers.get("Retry-After", 0)))
            if attempt + 1 < self.attempts:
                time.sleep(wait)
        raise ServiceError(f"The service did not answer after {self.attempts} tries: {problem}")

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def detail_of(answer: httpx.Response) -> str:
    """What a service says about a call that it refuses."""
    try:
        return str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP status {answer.status_code}."

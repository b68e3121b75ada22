"""Access: bearer tokens, known for a few seconds, and limits for each."""

from __future__ import annotations

import asyncio
import hmac
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import NamedTuple

from bandstrap.live import StoreError
from bandstrap.live.store import Store
from bandstrap.serve import limits
from bandstrap.serve.problems import Problem
from bandstrap.serve.tokens import Scope, Token, find_token, hashed, is_valid, note_use, parse_token

# Tokens that are remembered; more begin anew.
MOST_KNOWN = 10_000


class Known(NamedTuple):
    """A token that was found valid, the hash of its secret, and when, by this process's clock."""

    token: Token
    hash: str
    at: float


class Bucket:
    """Requests that a token may still make: ``RATE`` more each second, up to ``BURST``."""

    def __init__(self) -> None:
        self.left, self.at = limits.BURST, time.monotonic()

    def take(self) -> float:
        """Take one; the seconds to wait if there is none."""
        now = time.monotonic()
        self.left = min(limits.BURST, self.left + (now - self.at) * limits.RATE)
        self.at = now
        if self.left < 1:
            return (1 - self.left) / limits.RATE
        self.left -= 1
        return 0.0


class Access:
    """Tokens of one database."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, Known] = {}
        self._buckets: dict[str, Bucket] = {}
        self._noted: dict[str, float] = {}
        self._lock = threading.Lock()

    async def check(
        self, authorization: str | None, scopes: Sequence[Scope], any_experiment: bool, experiment: str | None
    ) -> Token:
        """Find whose token it is; refuse one that is missing, unknown, over, revoked, or for something else.

        With ``any_experiment`` the caller sees to it that a token for one experiment is used for that one only.
        """
        kind, _, text = (authorization or "").partition(" ")
        parsed = parse_token(text.strip()) if kind.lower() == "bearer" else None
        if parsed is None:
            raise Problem(HTTPStatus.UNAUTHORIZED, "A token is needed: 'Authorization: Bearer bandstrap_...'.")
        token = await self._token(*parsed)
        if token is None:
            raise Problem(HTTPStatus.UNAUTHORIZED, "The token is unknown, revoked or expired.")
        if not any(token.may(scope, token.experiment if any_experiment else experiment) for scope in scopes):
            raise Problem(HTTPStatus.FORBIDDEN, refusal(token, scopes))
        wait = self._buckets.setdefault(token.id, Bucket()).take()
        if wait > 0:
            sentence = f"A token may ask {limits.RATE:g} times per second."
            raise Problem(HTTPStatus.TOO_MANY_REQUESTS, sentence, retry_after=int(wait) + 1)
        return token

    async def _token(self, id_: str, secret: str) -> Token | None:
        known, now = self._known.get(id_), time.monotonic()
        if known is not None and now - known.at < limits.REVOCATION and hmac.compare_digest(known.hash, hashed(secret)):
            return known.token
        return await asyncio.to_thread(self._look_up, id_, secret)

    def _look_up(self, id_: str, secret: str) -> Token | None:
        token, now = find_token(self._store, id_)
        with self._lock:
            if token is None or not is_valid(token, secret, now):
                return None
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            began = time.monotonic()
            self._known[id_] = Known(token, hashed(secret), began)
            is_noted = began - self._noted.get(id_, -limits.LAST_USED) < limits.LAST_USED
            self._noted[id_] = began
        if not is_noted:
            with suppress(StoreError):  # a database that cannot be written may be read
                note_use(self._store, [id_])
        return token


def refusal(token: Token, scopes: Sequence[Scope]) -> str:
    """Reason why a token does not allow a call; it does not reveal whether another experiment exists."""
    if token.scope not in (*scopes, "admin"):
        needed = " or ".join(repr(scope) for scope in scopes)
        return f"The token has the scope {token.scope!r}; this call needs {needed}."
    return "The token is for another experiment."

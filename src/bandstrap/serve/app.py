"""The service: routes over experiments of one database."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as AsgiScope

from bandstrap import __version__
from bandstrap.errors import InvalidInput
from bandstrap.live import StoreError
from bandstrap.serve import board, decisions, experiments, limits, ofrep, problems
from bandstrap.serve.asking import SLASH, StrictRequest, check, keep_slashes, refused
from bandstrap.serve.hub import Hub, ServiceOptions
from bandstrap.serve.problems import Problem

LOG = logging.getLogger("bandstrap.serve")
TOKENS = "As 'bandstrap token create' prints it; 'admin' allows every call."
LIMITS = (
    f"At most {limits.BODY} bytes of a request, which take at most {limits.ARRIVAL:.0f} seconds to arrive,"
    f" {limits.ITEMS} items of a list or arms,"
    f" {limits.RATE:.0f} requests per second of one token on average and {limits.BURST:.0f} at once (429),"
    f" and {limits.QUEUE} calls that wait to be stored for one experiment (503). Retry-After says when to try again."
)
# Sent with every answer.
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; img-src 'self' data:; style-src 'self'; script-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
}
LENGTHS = {b"content-length", b"transfer-encoding"}
ENCODED_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


class Guard:
    """Around the application: refuses bodies that are too long or have two lengths, and hosts that are not served.

    Adds ``HEADERS`` to answers.

    Parameters
    ----------
    app
        The application.
    hosts
        Allowed host names, with ``*.example.org`` for a domain; empty: any. ``/healthz`` is served under any name.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str] = ()) -> None:
        self.app, self.hosts = app, tuple(host.lower().strip("[]") for host in hosts)

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        keep_slashes(scope)
        left = limits.BODY
        began = time.perf_counter()

        async def counted() -> Message:
            nonlocal left
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Problem(HTTPStatus.BAD_REQUEST, "The request did not arrive.")
            left -= len(message.get("body", b""))
            if left < 0:
                raise Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A request may have {limits.BODY} bytes.")
            return message

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                there = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(pair for pair in ENCODED_HEADERS if pair[0] not in there)]
                hub = getattr(scope["app"].state, "hub", None)
                if hub is not None:
                    hub.metrics.note_request(kind_of(scope), message["status"], time.perf_counter() - began)
            await send(message)

        try:
            if {name for name, _ in scope["headers"]} >= LENGTHS:
                raise Problem(HTTPStatus.BAD_REQUEST, "A request must have one length: Content-Length, or chunks.")
            if self.hosts and not self.serves(scope):
                raise Problem(
                    HTTPStatus.BAD_REQUEST, "This host name is not served: --allowed-host lists the allowed names."
                )
            await self.app(scope, counted, with_headers)
        except Problem as problem:  # where the next request would begin may not be known
            response = problem.response()
            response.headers["Connection"] = "close"
            await response(scope, receive, with_headers)

    def serves(self, scope: AsgiScope) -> bool:
        """Return whether a request is for a host that is served."""
        header = next((value for name, value in scope["headers"] if name == b"host"), b"")
        try:
            host = urlsplit("//" + header.decode("latin-1")).hostname or ""
        except ValueError:
            host = ""
        if scope["path"] == "/healthz":
            return True
        return any(host == each or (each[0] == "*" and host.endswith(each[1:])) for each in self.hosts)


class Express:
    """Shortcut for the most frequent calls, which need only a part of FastAPI's work."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] == "http" and scope["method"] == "POST":
            parts = scope["path"].split("/")
            handle = decisions.EXPRESS.get(parts[-1]) if len(parts) == 4 and parts[1] == "experiments" else None
            if handle is not None and parts[2]:
                name = parts[2].replace(SLASH, "/")
                scope["path_params"] = {"name": name}
                request = StrictRequest(scope, receive)
                try:
                    await check(request, handle.permission, name)  # type: ignore[attr-defined]
                    response = await handle(request)
                except (Problem, InvalidInput, StoreError) as error:
                    response = refused(error).response()
                except Exception as failure:
                    LOG.exception("A call failed")
                    response = await problems.on_failure(request, failure)
                await response(scope, receive, send)
                return
        await self.app(scope, receive, send)


class Service(FastAPI):
    """Application behind :class:`Guard` and :class:`Express`."""

    front: ASGIApp

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document, with tokens and refusals."""
        found = super().openapi()
        parts = found["components"]
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer", "description": TOKENS}}
        parts["schemas"]["Problem"] = problems.SCHEMA
        return found

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        scope["app"] = self
        await (self.front if scope["type"] == "http" else super().__call__)(scope, receive, send)

    def put_in_front(self, options: ServiceOptions) -> None:
        """Put the guard and the shortcut in front of FastAPI."""
        front: ASGIApp = Express(super().__call__)
        if options.cors_origins:
            front = CORSMiddleware(
                front,
                allow_origins=list(options.cors_origins),
                allow_methods=["GET", "POST"],
                allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "If-None-Match"],
                expose_headers=["ETag", "Retry-After"],
            )
        self.front = Guard(front, options.allowed_hosts)


def kind_of(scope: AsgiScope) -> str:
    """The kind of a request, from a small set."""
    parts = scope["path"].split("/")
    if len(parts) == 4 and parts[1] == "experiments" and parts[3] in decisions.EXPRESS:
        return str(parts[3])
    return {"ofrep": "ofrep", "ui": "board"}.get(parts[1] if len(parts) > 1 else "", "other")  # "*" has no parts


def make_app(options: ServiceOptions) -> FastAPI:
    """Make the application over one database.

    Parameters
    ----------
    options
        The database and the settings of the service.
    """
    hub = Hub(options)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await asyncio.to_thread(hub.open)
        try:
            yield
        finally:
            await asyncio.to_thread(hub.close)

    app = Service(
        title="bandstrap",
        version=__version__,
        description=LIMITS,
        lifespan=lifespan,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # to where the Host header says, without TLS, and with the token
    )
    app.state.hub = hub
    for part in (decisions.routes, experiments.routes, ofrep.routes, board.routes):
        app.include_router(part)
    for kind, handler in (
        (Problem, problems.on_problem),
        (HTTPException, problems.on_http_error),
        (RequestValidationError, problems.on_wrong_shape),
        (InvalidInput, on_refusal),
        (StoreError, on_refusal),
        (Exception, problems.on_failure),
    ):
        app.add_exception_handler(kind, handler)
    app.put_in_front(options)
    return app


async def on_refusal(_: Request, error: Exception) -> JSONResponse:
    """Turn refusals of the library, and errors of the database, into answers."""
    return refused(error).response()


def from_environment() -> FastAPI:
    """Make the application as ``bandstrap serve`` told its worker processes."""
    import os

    return make_app(ServiceOptions(**json.loads(os.environ["BANDSTRAP_SERVE"])))

"""The service: routes over experiments of one database."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
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
# Sent with every answer.
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; img-src 'self' data:; style-src 'self'; script-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
}
ENCODED_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]


class Guard:
    """Around the application: bodies that are too long are refused, and every answer has the headers of ``HEADERS``."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

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
            await self.app(scope, counted, with_headers)
        except Problem as problem:
            await problem.response()(scope, receive, with_headers)


class Express:
    """Shortcut before the routes for calls that come by the thousand: FastAPI would do more for each than they need."""

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
    """Application with :class:`Guard` and :class:`Express` before all else, unless others have to look at a call first."""

    front: ASGIApp | None = None

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if self.front is None or scope["type"] != "http":
            await super().__call__(scope, receive, send)
        else:
            scope["app"] = self
            await self.front(scope, receive, send)

    def put_in_front(self) -> None:
        """Let calls meet the guard and the shortcut before FastAPI."""
        self.front = Guard(Express(super().__call__))


def kind_of(scope: AsgiScope) -> str:
    """The kind of a request, of which there are few, whatever is asked for."""
    parts = scope["path"].split("/")
    if len(parts) == 4 and parts[1] == "experiments" and parts[3] in decisions.EXPRESS:
        return str(parts[3])
    return {"ofrep": "ofrep", "ui": "board"}.get(parts[1] if len(parts) > 1 else "", "other")  # "*" has no parts


def make_app(options: ServiceOptions) -> FastAPI:
    """Make the application over one database.

    Parameters
    ----------
    options
        The database and what the service allows.
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
        title="bandstrap", version=__version__, lifespan=lifespan, openapi_url=None, docs_url=None, redoc_url=None
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
    if not (options.cors_origins or options.allowed_hosts):
        app.put_in_front()
        return app
    app.add_middleware(Express)
    if options.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(options.cors_origins),
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "If-None-Match"],
            expose_headers=["ETag", "Retry-After"],
        )
    if options.allowed_hosts:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(options.allowed_hosts))
    app.add_middleware(Guard)
    return app


async def on_refusal(_: Request, error: Exception) -> JSONResponse:
    """Answer with what the library refuses, or the database."""
    return refused(error).response()


def from_environment() -> FastAPI:
    """Make the application as ``bandstrap serve`` told its worker processes."""
    import os

    return make_app(ServiceOptions(**json.loads(os.environ["BANDSTRAP_SERVE"])))

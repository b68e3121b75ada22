"""The service: routes over experiments of one database."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Header, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as AsgiScope

from bandstrap import __version__
from bandstrap.errors import InvalidInput
from bandstrap.live import Decision, StoreError
from bandstrap.serve import limits, problems
from bandstrap.serve.desk import DecisionWish, Desk, RewardWish
from bandstrap.serve.hub import Hub, ServiceOptions
from bandstrap.serve.problems import Problem
from bandstrap.serve.shapes import (
    ArmRequest,
    ChangeRequest,
    DecisionRequest,
    ExperimentRequest,
    RewardRequest,
)
from bandstrap.serve.tokens import Scope, Token

# Sent with every answer.
HEADERS = {
    "X-Content-Type-ServiceOptions": "nosniff",
    "X-Frame-ServiceOptions": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; img-src 'self' data:; style-src 'self'; script-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
}


# --- requests -----------------------------------------------------------------------------------------------------------


class StrictRequest(Request):
    """A request whose JSON has one meaning."""

    async def json(self) -> Any:
        """The body, read once."""
        if not hasattr(self, "_json"):
            self._json = problems.read_json(await self.body())
        return self._json


class StrictRoute(APIRoute):
    """A route that reads its requests strictly."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        """Handle a request after it was wrapped."""
        handle = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return strictly


class Guard:
    """Around the application: bodies that are too long are refused, and every answer has the headers of ``HEADERS``."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        left = limits.BODY

        async def counted() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"A request may have {limits.BODY} bytes.")
            return message

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                there = {name.lower() for name, _ in message["headers"]}
                new = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *(pair for pair in new if pair[0] not in there)]
            await send(message)

        try:
            await self.app(scope, counted, with_headers)
        except Problem as problem:
            await problem.response()(scope, receive, with_headers)


# --- who asks -----------------------------------------------------------------------------------------------------------


def hub_of(request: Request) -> Hub:
    """The hub of the application."""
    hub: Hub = request.app.state.hub
    return hub


def allowed(scope: Scope) -> Any:
    """A dependency: the token must allow this, for the experiment in the path if there is one."""

    async def check(request: Request, authorization: Annotated[str | None, Header()] = None) -> Token:
        return await hub_of(request).access.check(authorization, scope, request.path_params.get("name"))

    return Depends(check)


async def desk_of(request: Request, name: str) -> Desk:
    """The desk of the experiment in the path."""
    return await hub_of(request).desk(name)


DeskOf = Annotated[Desk, Depends(desk_of)]
Idempotency = Annotated[str | None, Header(alias="Idempotency-Key", min_length=1, max_length=500)]
routes = APIRouter(route_class=StrictRoute)


# --- decisions and rewards ----------------------------------------------------------------------------------------------


def wish_of(request: DecisionRequest, key: str | None = None) -> DecisionWish:
    """What is asked for, in a form that can be grouped; the header's key must be the body's."""
    if key is not None and request.key not in (None, key):
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "'key' and the Idempotency-Key header must be the same.")
    return DecisionWish(
        request.unit,
        request.key or key,
        None if request.available is None else tuple(request.available),
        None if request.actions is None else tuple(map(tuple, request.actions)),
        request.defer,
    )


@routes.post("/experiments/{name}/decisions", dependencies=[allowed("decide")])
async def decide(
    request: Request, name: str, desk: DeskOf, body: DecisionRequest | list[DecisionRequest], key: Idempotency = None
) -> Response:
    """Decide what to serve; a list of requests gives a list, in which a refusal is a problem."""
    if isinstance(body, list):
        check_items(body)
        answers = await desk.decide([wish_of(item) for item in body])
    else:
        answers = await desk.decide([wish_of(body, key)])
    for answer in answers:
        if isinstance(answer, Decision):
            hub_of(request).count_decision(name, answer)
    if isinstance(body, list):
        return JSONResponse(
            [refused(answer).body() if isinstance(answer, Exception) else shown(answer) for answer in answers]
        )
    (answer,) = answers
    if isinstance(answer, Exception):
        raise refused(answer)
    return JSONResponse(shown(answer))


@routes.post("/experiments/{name}/decisions/{id}/activate", dependencies=[allowed("decide")])
async def activate(desk: DeskOf, id: str) -> dict[str, bool]:  # noqa: A002 - the path's name
    """Let a deferred decision count; ``first`` says whether it did not before."""
    (answer,) = await desk.activate([id])
    if isinstance(answer, Exception):
        raise refused(answer)
    return {"first": answer}


@routes.post("/experiments/{name}/rewards", dependencies=[allowed("reward")])
async def reward(request: Request, name: str, desk: DeskOf, body: RewardRequest | list[RewardRequest]) -> Response:
    """Store rewards; one outcome per item: stored, duplicate or late, or a problem."""
    items = body if isinstance(body, list) else [body]
    check_items(items)
    wishes: list[RewardWish | Problem] = []
    units = sorted({item.unit for item in items if item.unit is not None})
    found = await hub_of(request).last_decisions(name, units) if units else {}
    for item in items:
        if (item.decision is None) == (item.unit is None):
            wishes.append(Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "A reward needs 'decision' or 'unit', not both."))
            continue
        decision = item.decision if item.decision is not None else found[str(item.unit)]
        wishes.append(decision if isinstance(decision, Problem) else RewardWish(decision, item.value, item.key))
    answers = iter(await desk.reward([wish for wish in wishes if isinstance(wish, RewardWish)]))
    outcomes: list[Any] = [next(answers) if isinstance(wish, RewardWish) else wish for wish in wishes]
    for outcome in outcomes:
        word = "refused" if isinstance(outcome, Exception) else outcome
        hub_of(request).metrics.rewards.labels(name, word).inc()
    if not isinstance(body, list):
        (outcome,) = outcomes
        if isinstance(outcome, Exception):
            raise refused(outcome)
        return JSONResponse({"outcome": outcome})
    return JSONResponse(
        [refused(outcome).body() if isinstance(outcome, Exception) else {"outcome": outcome} for outcome in outcomes]
    )


def check_items(items: Sequence[object]) -> None:
    """Refuse a list that is empty or too long."""
    if not 0 < len(items) <= limits.ITEMS:
        sentence = f"A list must have 1 to {limits.ITEMS} items. Got {len(items)} instead."
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, sentence)


def shown(decision: Decision) -> dict[str, object]:
    """A decision as JSON."""
    return decision._asdict()


def refused(error: Exception) -> Problem:
    """The problem that an error is."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, InvalidInput):
        is_unknown = "the id of a decision" in str(error)
        return Problem(HTTPStatus.NOT_FOUND if is_unknown else HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
    if isinstance(error, StoreError):
        return Problem(HTTPStatus.SERVICE_UNAVAILABLE, str(error), retry_after=1)
    raise error


# --- experiments --------------------------------------------------------------------------------------------------------


@routes.post("/experiments", dependencies=[allowed("admin")], status_code=HTTPStatus.CREATED)
async def create(request: Request, body: ExperimentRequest) -> dict[str, Any]:
    """Create an experiment, or find that it exists with the same settings."""
    return await hub_of(request).create(body.model_dump(exclude_none=True))


@routes.get("/experiments", dependencies=[allowed("read")])
async def experiments(request: Request) -> list[dict[str, Any]]:
    """All experiments."""
    return await hub_of(request).summaries()


@routes.get("/experiments/{name}", dependencies=[allowed("read")])
async def status(request: Request, name: str) -> dict[str, Any]:
    """Say how an experiment stands: arms, rewards, lift, changes."""
    return await hub_of(request).read(name, lambda experiment: experiment.status().to_dict())


@routes.patch("/experiments/{name}", dependencies=[allowed("admin")])
async def change(request: Request, name: str, body: ChangeRequest) -> dict[str, int]:
    """Change settings."""
    settings = body.model_dump(exclude_none=True)
    return await hub_of(request).change(name, lambda experiment, actor: experiment.change(actor=actor, **settings))


@routes.put("/experiments/{name}/arms/{arm}", dependencies=[allowed("admin")])
async def put_arm(request: Request, name: str, arm: str, body: ArmRequest | None = None) -> dict[str, int]:
    """Add an arm, or pause or resume one that is there."""
    wanted = "active" if body is None else body.state
    return await hub_of(request).set_arm(name, arm, wanted)


@routes.delete("/experiments/{name}/arms/{arm}", dependencies=[allowed("admin")])
async def retire_arm(request: Request, name: str, arm: str) -> dict[str, int]:
    """Stop serving an arm for good."""
    return await hub_of(request).change(name, lambda experiment, actor: experiment.retire(arm, actor=actor))


@routes.get("/experiments/{name}/log", dependencies=[allowed("read")])
async def log(request: Request, name: str, after: Annotated[int, Query(ge=0, le=2**53)] = 0) -> dict[str, Any]:
    """Show entries of the log after a version, at most ``LOG`` of them."""
    return await hub_of(request).log(name, after)


# --- the service itself -------------------------------------------------------------------------------------------------


@routes.get("/healthz")
async def healthz() -> dict[str, str]:
    """Say that the process answers."""
    return {"status": "ok", "version": __version__}


@routes.get("/readyz")
async def readyz(request: Request) -> dict[str, str]:
    """Say whether the store can be written and processing keeps up."""
    await hub_of(request).check_ready()
    return {"status": "ready"}


@routes.get("/metrics", dependencies=[allowed("read")])
async def metrics(request: Request) -> Response:
    """Metrics for Prometheus."""
    body, media_type = hub_of(request).metrics.render()
    return Response(body, media_type=media_type)


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

    app = FastAPI(title="bandstrap", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None, debug=False)
    app.state.hub = hub
    from bandstrap.serve import board, ofrep

    for part in (routes, ofrep.routes, board.routes):
        app.include_router(part)
    for kind, handler in (
        (Problem, problems.on_problem),
        (HTTPException, problems.on_http_error),
        (RequestValidationError, problems.on_wrong_shape),
        (InvalidInput, on_refusal),
        (StoreError, on_refusal),
    ):
        app.add_exception_handler(kind, handler)
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

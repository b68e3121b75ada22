"""Decisions, rewards, and decisions that were made elsewhere.

These are the calls that come by the thousand. They read their requests themselves: what FastAPI does for each request takes
longer than to decide. It still documents them, and :class:`bandstrap.serve.app.Express` calls them without it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import Any, TypeVar

from fastapi import APIRouter, Request, Response
from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from bandstrap.live import Decision
from bandstrap.live.erasure import ERASED
from bandstrap.serve import limits
from bandstrap.serve.asking import StrictRoute, allowed, check_items, hub_of, refused
from bandstrap.serve.desk import LOG, DecisionWish, ForcedWish, ImportWish, RewardWish
from bandstrap.serve.problems import FAILED, Problem, first_mistake
from bandstrap.serve.shapes import DecisionRequest, ImportRequest, RewardRequest, StrictShape

S = TypeVar("S", bound=StrictShape)
routes = APIRouter(route_class=StrictRoute)
HEADER = "Idempotency-Key"
KEY_IN_HEADER = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "description": "The same as 'key' of the body, which is one object then.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 500},
}


def takes(shape: type[S]) -> dict[str, Any]:
    """OpenAPI entry of a route that takes one object of a shape, or a list of them."""
    one = shape.model_json_schema()
    several = {"type": "array", "items": one, "minItems": 1, "maxItems": limits.ITEMS}
    return {
        "openapi_extra": {
            "requestBody": {"required": True, "content": {"application/json": {"schema": {"anyOf": [one, several]}}}},
            "parameters": [KEY_IN_HEADER],
        }
    }


ADAPTERS: dict[type[StrictShape], TypeAdapter[Any]] = {
    DecisionRequest: TypeAdapter(DecisionRequest | list[DecisionRequest]),
    RewardRequest: TypeAdapter(RewardRequest | list[RewardRequest]),
    ImportRequest: TypeAdapter(ImportRequest | list[ImportRequest]),
}


async def read(request: Request, shape: type[S]) -> tuple[list[S], bool]:
    """The items of a request, and whether they were a list; the header's key is that of the one item."""
    body = await request.json()
    is_list = isinstance(body, list)
    if is_list:
        check_items(body)
    keys = request.headers.getlist(HEADER)
    if keys:
        body = with_key(body, keys)
    try:
        found = ADAPTERS[shape].validate_python(body, strict=True)
    except ValidationError as error:
        kind = "list" if is_list else shape.__name__
        told = [mistake for mistake in error.errors() if str(mistake["loc"][0]).startswith(kind)] or error.errors()
        mistake = told[0] | {"loc": told[0]["loc"][1:]}
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, first_mistake(mistake)) from None
    return found if is_list else [found], is_list


def with_key(body: object, keys: Sequence[str]) -> dict[str, Any]:
    """A body with the key of its header; beyond ASCII, callers encode headers in several ways."""
    if not isinstance(body, dict):
        rule = "is for one object; items of a list have keys"
    elif len(set(keys)) > 1 or body.get("key") not in (None, keys[0]):
        rule = "must be the same as 'key'"
    elif not keys[0].isascii():
        rule = "must be ASCII; other keys are sent as 'key'"
    else:
        return body | {"key": keys[0]}
    raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"The {HEADER} header {rule}.")


class JsonAnswer(Response):
    """Answer of a call that comes by the thousand: JSON, and no headers but those that it needs."""

    def __init__(self, content: object) -> None:
        self.body = to_json(content)
        self.background = None

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Send it."""
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(self.body))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


def answered(answers: Sequence[Any], show: Callable[[Any], Any], *, is_list: bool) -> Response:
    """An answer for each item, in which a refusal is a problem; one item that is refused is a problem itself."""
    if is_list:
        return JsonAnswer([problem_of(answer) if isinstance(answer, Exception) else show(answer) for answer in answers])
    (answer,) = answers
    if isinstance(answer, Exception):
        raise refused(answer)
    return JsonAnswer(show(answer))


def problem_of(answer: Exception) -> dict[str, object]:
    """The problem of one item; the others of its list were stored, so that a failure must not take their answers away."""
    try:
        return refused(answer).body()
    except Exception:  # noqa: BLE001 - it is told in the log
        LOG.exception("A call failed")
        return Problem(HTTPStatus.INTERNAL_SERVER_ERROR, FAILED).body()


@routes.post("/experiments/{name:name}/decisions", **takes(DecisionRequest))
@allowed("decide")
async def decide(request: Request) -> Response:
    """Decide what to serve; a list of requests gives a list, in which a refusal is a problem."""
    items, is_list = await read(request, DecisionRequest)
    name, hub = request.path_params["name"], hub_of(request)
    desk = await hub.desk(name)
    hide = hub.options.hide
    wishes = [
        DecisionWish(
            hide(item.unit),
            hide(item.key),
            None if item.available is None else tuple(item.available),
            None if item.actions is None else tuple(map(tuple, item.actions)),
            item.defer,
            item.context,
        )
        for item in items
    ]
    answers = await desk.decide(wishes)
    shown: list[Any] = []
    for item, answer in zip(items, answers, strict=True):
        if isinstance(answer, Decision):
            hub.count_decision(name, answer)
            # Who asks knows unit and key; what is stored may be hashes of them.
            # A key that is stored with another unit has that one; the name of an erased one is not told.
            is_other = answer.unit != hide(item.unit) and not (answer.unit or "").startswith(ERASED)
            unit = answer.unit if is_other else item.unit
            answer = answer._replace(unit=unit, key=item.key or answer.key)
        shown.append(answer)
    return answered(shown, Decision._asdict, is_list=is_list)


@routes.post("/experiments/{name:name}/decisions/{decision}/activate")
@allowed("decide")
async def activate(request: Request, name: str, decision: str) -> dict[str, bool]:
    """Let a deferred decision count; ``first`` says whether it did not before."""
    desk = await hub_of(request).desk(name)
    (answer,) = await desk.activate([decision])
    if isinstance(answer, Exception):
        raise refused(answer)
    return {"first": answer}


@routes.post("/experiments/{name:name}/rewards", **takes(RewardRequest))
@allowed("reward")
async def reward(request: Request) -> Response:
    """Store rewards; one outcome per item: stored, duplicate or late, or a problem."""
    items, is_list = await read(request, RewardRequest)
    name, hub = request.path_params["name"], hub_of(request)
    desk = await hub.desk(name)
    units = sorted({str(hub.options.hide(item.unit)) for item in items if item.unit is not None})
    found = await hub.last_decisions(desk, units) if units else {}
    wishes: list[RewardWish | Problem] = []
    for item in items:
        if (item.decision is None) == (item.unit is None):
            wishes.append(Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "A reward needs 'decision' or 'unit', not both."))
            continue
        decision = item.decision if item.decision is not None else found[str(hub.options.hide(item.unit))]
        key = hub.options.hide(item.key)
        wishes.append(decision if isinstance(decision, Problem) else RewardWish(decision, item.value, key))
    outcomes = await asked(desk.reward, RewardWish, wishes)
    hub.count_outcomes(hub.metrics.rewards, name, outcomes)
    return answered(outcomes, lambda outcome: {"outcome": outcome}, is_list=is_list)


@routes.post("/experiments/{name:name}/imports", **takes(ImportRequest))
@allowed("decide")
async def import_(request: Request) -> Response:
    """Store decisions that were made elsewhere from published weights, or by force; one outcome per item."""
    items, is_list = await read(request, ImportRequest)
    name, hub = request.path_params["name"], hub_of(request)
    desk = await hub.desk(name)
    wishes: list[Any] = []
    for item in items:
        key, unit = str(hub.options.hide(item.key)), hub.options.hide(item.unit)
        if item.forced == (item.version is not None):
            sentence = "An import needs the 'version' of its weights, or 'forced': true."
            wishes.append(Problem(HTTPStatus.UNPROCESSABLE_ENTITY, sentence))
        elif item.forced:
            wishes.append(ForcedWish(key, unit, item.arm))
        else:
            wishes.append(ImportWish(key, unit, item.arm, item.version or 0))
    imported = await asked(desk.import_, ImportWish, wishes)
    outcomes = await asked(desk.force, ForcedWish, imported)
    for outcome in imported:
        if isinstance(outcome, Decision):
            hub.count_decision(name, outcome)
    hub.count_outcomes(hub.metrics.forced, name, [outcome for outcome in outcomes if isinstance(outcome, str)])
    return answered(outcomes, shown_import, is_list=is_list)


def shown_import(outcome: Decision | str) -> dict[str, Any]:
    """Outcome of a decision made elsewhere."""
    if isinstance(outcome, str):
        return {"outcome": outcome}
    return {"outcome": "stored", "id": outcome.id, "source": outcome.source, "propensity": outcome.propensity}


async def asked(
    ask: Callable[[Sequence[Any]], Awaitable[list[Any]]], kind: type[tuple[Any, ...]], wishes: Sequence[Any]
) -> list[Any]:
    """Wishes of a kind replaced by their answers; others stay."""
    mine = [wish for wish in wishes if isinstance(wish, kind)]
    answers = iter(await ask(mine)) if mine else iter(())
    return [next(answers) if isinstance(wish, kind) else wish for wish in wishes]


# Calls that need nothing of FastAPI, by the last part of their path.
EXPRESS: dict[str, Callable[[Request], Awaitable[Response]]] = {
    "decisions": decide,
    "rewards": reward,
    "imports": import_,
}

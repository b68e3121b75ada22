"""OpenFeature's remote evaluation protocol, OFREP 0.3: a flag is an experiment, and a variant an arm.

``targetingKey`` is both unit and key, so that a unit keeps its arm; of the other attributes, those that a contextual policy
declares are its context. A single evaluation counts: what it gives is shown.
Bulk evaluation asks for all flags, shown or not, so that its decisions are deferred until a flag is evaluated by itself.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import JSONResponse

from bandstrap.errors import InvalidInput
from bandstrap.live import Decision, StoreError
from bandstrap.serve.asking import StrictRoute, allowed, hub_of, refused, tagged
from bandstrap.serve.desk import DecisionWish, Desk
from bandstrap.serve.hub import Hub
from bandstrap.serve.problems import Problem

routes = APIRouter(prefix="/ofrep/v1/evaluate", route_class=StrictRoute)
KEY = {"type": "string", "minLength": 1, "maxLength": 500, "description": "Unit and key."}
CONTEXT = {"type": "object", "required": ["targetingKey"], "properties": {"targetingKey": KEY}}
BODY = {"type": "object", "required": ["context"], "properties": {"context": CONTEXT}}
DESCRIBED = {"requestBody": {"required": True, "content": {"application/json": {"schema": BODY}}}}


@routes.post("/flags/{name:name}", openapi_extra=DESCRIBED)
@allowed("decide")
async def evaluate(request: Request, name: str) -> Response:
    """Evaluate one flag: decide, and let the decision count."""
    hub = hub_of(request)
    try:
        unit, context = await read(request)
        desk = await hub.desk(name)
    except (Problem, InvalidInput, StoreError) as error:
        return failure(name, refused(error))
    (decision,) = await desk.decide([wish_of(desk, unit, context, defer=False)])
    if isinstance(decision, Exception):
        return failure(name, refused(decision))
    if decision.deferred:
        (activated,) = await desk.activate([decision.id])
        if isinstance(activated, Exception):  # it would not count, although it is shown
            return failure(name, refused(activated))
    hub.count_decision(name, decision)
    return JSONResponse(flag(name, decision))


@routes.post("/flags", openapi_extra=DESCRIBED)
@allowed("decide", any_experiment=True)
async def evaluate_all(request: Request, if_none_match: Annotated[str | None, Header()] = None) -> Response:
    """Evaluate all flags that the token opens; their decisions are deferred."""
    hub = hub_of(request)
    only = request.state.token.experiment
    try:
        unit, context = await read(request)
    except Problem as problem:
        return failure(None, problem)
    names = [only] if only is not None else await hub.names()
    answers = await asyncio.gather(*(evaluated(hub, name, unit, context) for name in names))
    return tagged({"flags": list(answers)}, if_none_match)


async def evaluated(hub: Hub, name: str, unit: str | None, attributes: dict[str, Any]) -> dict[str, Any]:
    """A flag of a bulk evaluation, deferred; or why it cannot be evaluated."""
    try:
        desk = await hub.desk(name)
        (answer,) = await desk.decide([wish_of(desk, unit, attributes, defer=True)])
    except (Problem, InvalidInput, StoreError) as error:
        answer = error
    return failed(name, refused(answer)) if isinstance(answer, Exception) else flag(name, answer)


def wish_of(desk: Desk, unit: str | None, attributes: dict[str, Any], *, defer: bool) -> DecisionWish:
    """Request that an evaluation stands for; applications send attributes that no policy declares, which are left
    out.
    """
    fields = desk.experiment.context_fields
    context = None if fields is None else {name: attributes[name] for name in fields if name in attributes}
    return DecisionWish(unit, unit, None, None, defer, context)


class Unfit(Problem):
    """A request that cannot be evaluated, and the code of the protocol for it."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(HTTPStatus.BAD_REQUEST, sentence)
        self.code = code


async def read(request: Request) -> tuple[str, dict[str, Any]]:
    """The targeting key of an evaluation, as it is stored, and all of its context."""
    try:
        body = await request.json()
    except Problem as problem:
        if problem.status != HTTPStatus.BAD_REQUEST:
            raise
        raise Unfit("PARSE_ERROR", problem.sentence) from None
    context = body.get("context") if isinstance(body, dict) else None
    if not isinstance(context, dict):
        raise Unfit("INVALID_CONTEXT", "An evaluation needs a 'context', which is an object.")
    unit = context.get("targetingKey")
    if not isinstance(unit, str) or not 0 < len(unit.encode(errors="replace")) <= 500:
        sentence = "The context needs a 'targetingKey', a text of 1 to 500 bytes."
        raise Unfit("TARGETING_KEY_MISSING" if unit is None else "INVALID_CONTEXT", sentence)
    return str(hub_of(request).options.hide(unit)), context


def flag(key: str, decision: Decision) -> dict[str, Any]:
    """A decision as a flag."""
    reason = {"policy": "SPLIT", "holdout": "SPLIT", "shadow": "STATIC", "shipped": "STATIC"}[decision.source]
    metadata = {"decision": decision.id, "propensity": decision.propensity, "version": decision.version}
    return {
        "key": key,
        "value": str(decision.arm),
        "variant": str(decision.arm),
        "reason": reason,
        "metadata": metadata | {"source": decision.source, "deferred": decision.deferred},
    }


def failed(key: str | None, problem: Problem) -> dict[str, Any]:
    """A refusal as the protocol has it."""
    code = "GENERAL"
    if isinstance(problem, Unfit):
        code = problem.code
    elif problem.status == HTTPStatus.NOT_FOUND:
        code = "FLAG_NOT_FOUND"
    elif problem.status == HTTPStatus.UNPROCESSABLE_ENTITY and "'context'" in problem.sentence:
        code = "INVALID_CONTEXT"
    return ({} if key is None else {"key": key}) | {"errorCode": code, "errorDetails": problem.sentence}


def failure(key: str | None, problem: Problem) -> Response:
    """The answer to an evaluation that is refused."""
    status = HTTPStatus.BAD_REQUEST if problem.status == HTTPStatus.UNPROCESSABLE_ENTITY else problem.status
    return JSONResponse(failed(key, problem), status, problem.fields())

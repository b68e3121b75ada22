"""OpenFeature's remote evaluation protocol, OFREP 0.3: a flag is an experiment, and a variant an arm.

``targetingKey`` is both unit and key, so that a unit keeps its arm. A single evaluation counts: what it gives is shown.
Bulk evaluation asks for all flags, shown or not, so that its decisions are deferred until a flag is evaluated by itself.
"""

from __future__ import annotations

import hashlib
import json
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import JSONResponse

from bandstrap.live import Decision
from bandstrap.serve.app import StrictRoute, hub_of, refused
from bandstrap.serve.desk import DecisionWish
from bandstrap.serve.problems import Problem

routes = APIRouter(prefix="/ofrep/v1/evaluate", route_class=StrictRoute)
Authorization = Annotated[str | None, Header()]


@routes.post("/flags/{key}")
async def evaluate(request: Request, key: str, authorization: Authorization = None) -> Response:
    """Evaluate one flag: decide, and let the decision count."""
    hub = hub_of(request)
    await hub.access.check(authorization, "decide", key)
    try:
        unit = unit_of(await request.json())
        desk = await hub.desk(key)
    except Problem as problem:
        return failure(key, problem)
    (decision,) = await desk.decide([DecisionWish(unit, unit, None, None, False)])
    if isinstance(decision, Exception):
        return failure(key, refused(decision))
    if decision.deferred:
        await desk.activate([decision.id])
    hub.count_decision(key, decision)
    return JSONResponse(flag(key, decision))


@routes.post("/flags")
async def evaluate_all(
    request: Request, authorization: Authorization = None, if_none_match: Annotated[str | None, Header()] = None
) -> Response:
    """Evaluate all flags that the token opens; their decisions are deferred."""
    hub = hub_of(request)
    token = await hub.access.check(authorization, "decide", None, any_experiment=True)
    try:
        unit = unit_of(await request.json())
    except Problem as problem:
        return failure(None, problem)
    names = [token.experiment] if token.experiment is not None else await hub.names()
    flags: list[dict[str, Any]] = []
    for name in names:
        try:
            desk = await hub.desk(name)
            (answer,) = await desk.decide([DecisionWish(unit, unit, None, None, True)])
        except Problem as problem:
            answer = problem
        flags.append(flag(name, answer) if isinstance(answer, Decision) else failed(name, refused(answer)))
    body = {"flags": flags}
    tag = '"' + hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:32] + '"'
    if if_none_match == tag:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers={"ETag": tag})
    return JSONResponse(body, headers={"ETag": tag})


def unit_of(body: Any) -> str:
    """The targeting key of an evaluation."""
    context = body.get("context") if isinstance(body, dict) else None
    if not isinstance(context, dict):
        raise Problem(HTTPStatus.BAD_REQUEST, "An evaluation needs a 'context', which is an object.")
    unit = context.get("targetingKey")
    if not isinstance(unit, str) or not 0 < len(unit.encode(errors="replace")) <= 500:
        raise Problem(HTTPStatus.BAD_REQUEST, "The context needs a 'targetingKey', a text of 1 to 500 bytes.")
    return unit


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
    codes = {HTTPStatus.NOT_FOUND: "FLAG_NOT_FOUND", HTTPStatus.BAD_REQUEST: "INVALID_CONTEXT"}
    code = codes.get(HTTPStatus(problem.status), "GENERAL")
    if "targetingKey" in problem.sentence:
        code = "TARGETING_KEY_MISSING"
    elif "JSON" in problem.sentence:
        code = "PARSE_ERROR"
    return ({} if key is None else {"key": key}) | {"errorCode": code, "errorDetails": problem.sentence}


def failure(key: str | None, problem: Problem) -> Response:
    """The answer to an evaluation that is refused."""
    status = HTTPStatus.BAD_REQUEST if problem.status == HTTPStatus.UNPROCESSABLE_ENTITY else problem.status
    return JSONResponse(failed(key, problem), status, problem.fields())

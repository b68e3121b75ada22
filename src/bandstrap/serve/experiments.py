"""Experiments: created, changed, and read; and the service's own state."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response

from bandstrap import __version__
from bandstrap.errors import InvalidInput
from bandstrap.live.elsewhere import published_weights
from bandstrap.serve.asking import StrictRoute, allowed, hub_of, tagged
from bandstrap.serve.shapes import ArmRequest, ChangeRequest, ExperimentRequest, FinishRequest, SettingsRequest
from bandstrap.serve.tokens import SCOPES

routes = APIRouter(route_class=StrictRoute)


def actor_of(request: Request) -> str:
    """Author of a change, for the audit trail: the id of the token, which is no secret."""
    return f"token {request.state.token.id}"


@routes.post("/experiments", status_code=201)
@allowed("admin")
async def create(request: Request, body: ExperimentRequest) -> dict[str, Any]:
    """Create an experiment, or find that it exists with the same settings."""
    return await hub_of(request).create(body.model_dump(exclude_unset=True), actor_of(request))


@routes.put("/experiments/{name:name}", status_code=201)
@allowed("admin")
async def put(request: Request, name: str, body: SettingsRequest) -> dict[str, Any]:
    """Create the experiment of this name, or find that it exists with the same settings."""
    return await hub_of(request).create({"name": name} | body.model_dump(exclude_unset=True), actor_of(request))


@routes.get("/experiments")
@allowed("read")
async def experiments(request: Request) -> list[dict[str, Any]]:
    """All experiments."""
    return await hub_of(request).summaries()


@routes.get("/experiments/{name:name}")
@allowed("read")
async def status(request: Request, name: str) -> dict[str, Any]:
    """Say how an experiment stands: arms, rewards, lift, changes."""
    found = await hub_of(request).status(name)
    return found.to_dict() | {"forced": await hub_of(request).forced(name)}


@routes.patch("/experiments/{name:name}")
@allowed("admin")
async def change(request: Request, name: str, body: ChangeRequest) -> dict[str, float]:
    """Change settings; those left out stay, and ``control`` may be null."""
    settings, actor = body.model_dump(exclude_unset=True), actor_of(request)
    return await hub_of(request).change(name, lambda experiment: experiment.change(actor=actor, **settings))


@routes.post("/experiments/{name:name}/finish")
@allowed("admin")
async def finish(request: Request, name: str, body: FinishRequest) -> dict[str, float]:
    """Serve one arm to all from now on, but for a holdout; ``PATCH`` with mode ``live`` lets the policy decide again."""
    actor = actor_of(request)
    return await hub_of(request).change(
        name, lambda experiment: experiment.finish(body.arm, holdout=body.holdout, actor=actor)
    )


@routes.delete("/experiments/{name:name}")
@allowed("admin")
async def archive(request: Request, name: str) -> dict[str, float]:
    """Decide no more; all that is stored stays, and ``PATCH`` with the mode ``live`` brings the experiment back."""
    actor = actor_of(request)
    return await hub_of(request).change(name, lambda experiment: experiment.archive(actor=actor))


@routes.put("/experiments/{name:name}/arms/{arm:name}")
@allowed("admin")
async def put_arm(request: Request, name: str, arm: str, body: ArmRequest | None = None) -> dict[str, float]:
    """Add an arm, or pause or resume one that is there."""
    wanted = "active" if body is None else body.state
    return await hub_of(request).set_arm(name, arm, wanted, actor_of(request))


@routes.delete("/experiments/{name:name}/arms/{arm:name}")
@allowed("admin")
async def retire_arm(request: Request, name: str, arm: str) -> dict[str, float]:
    """Stop serving an arm for good."""
    actor = actor_of(request)
    return await hub_of(request).change(name, lambda experiment: experiment.retire(arm, actor=actor))


@routes.get("/experiments/{name:name}/weights")
@allowed("read", "decide")
async def weights(request: Request, name: str, if_none_match: Annotated[str | None, Header()] = None) -> Response:
    """Hand out the weights of this moment, with an ETag.

    Those who may decide get ``salt`` besides, from which they decide as the service does; it tells which key gets which
    arm, so that those who may only read do not.
    """
    hub = hub_of(request)
    found = await hub.read(name, published_weights)
    if request.state.token.scope == "read":
        del found["salt"]
    elif hub.options.privacy_key is not None:
        raise InvalidInput("This service stores hashes of keys, which give other arms than the keys themselves.")
    return tagged(found, if_none_match)


@routes.get("/experiments/{name:name}/readout")
@allowed("read")
async def readout(request: Request, name: str) -> dict[str, Any]:
    """Say who won, how sure that is, when to stop, and what was gained; valid whenever one asks."""
    found = await hub_of(request).readout(name)
    return found.to_dict()


@routes.get("/experiments/{name:name}/log")
@allowed("read")
async def log(request: Request, name: str, after: Annotated[int, Query(ge=0, le=2**53)] = 0) -> dict[str, Any]:
    """Show entries of the log after a version, at most ``LOG`` of them."""
    return await hub_of(request).log(name, after)


# --- the service itself -------------------------------------------------------------------------------------------------


@routes.get("/healthz")
@allowed()
async def healthz() -> dict[str, str]:
    """Say that the process answers; the only call without a token."""
    return {"status": "ok", "version": __version__}


@routes.get("/readyz")
@allowed(*SCOPES, any_experiment=True)
async def readyz(request: Request) -> dict[str, str]:
    """Say whether the store can be written and processing keeps up."""
    await hub_of(request).check_ready()
    return {"status": "ready"}


@routes.get("/metrics")
@allowed("read")
async def metrics(request: Request) -> Response:
    """Metrics for Prometheus."""
    body, media_type = await hub_of(request).rendered_metrics()
    return Response(body, media_type=media_type)


@routes.get("/openapi.json", include_in_schema=False)
@allowed(*SCOPES, any_experiment=True)
async def openapi(request: Request) -> dict[str, Any]:
    """The OpenAPI document."""
    found: dict[str, Any] = request.app.openapi()
    return found

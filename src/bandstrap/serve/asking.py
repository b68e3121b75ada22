"""Shared parts of all routes: strict reading of requests, the caller, and errors as problems."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import unquote

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.convertors import Convertor, register_url_convertor
from starlette.types import Scope as AsgiScope

from bandstrap.errors import InvalidInput
from bandstrap.live import StoreError
from bandstrap.serve import limits, problems
from bandstrap.serve.problems import Problem
from bandstrap.serve.tokens import Scope

if TYPE_CHECKING:
    from bandstrap.serve.hub import Hub

# How the OpenAPI document names any other answer than success.
REFUSAL = {
    "description": "Refused, or failed; 'detail' says why in one sentence.",
    "content": {problems.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
# In the place of a slash inside a name, until the path is taken apart; no name has this character.
SLASH = "\0"


class StrictRequest(Request):
    """A request whose JSON has one meaning."""

    async def json(self) -> Any:
        """The body, read once."""
        if not hasattr(self, "_json"):
            self._json = problems.read_json(await self.body())
        return self._json


class StrictRoute(APIRoute):
    """A route that reads its requests strictly, and nothing of them for those whom it does not serve."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        scopes = cast(Any, endpoint).permission.scopes  # a route that does not say who may ask is an error
        described = {"security": [{"token": [scope]} for scope in scopes]} | (options.get("openapi_extra") or {})
        super().__init__(path, endpoint, **options | {"openapi_extra": described, "responses": {"default": REFUSAL}})

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        """Handle a request after it was wrapped."""
        handle = super().get_route_handler()
        permission: Permission = cast(Any, self.endpoint).permission

        async def strictly(request: Request) -> Response:
            await check(request, permission, request.path_params.get("name"))
            # Whatever curl and others call it, a body is JSON.
            headers = [pair for pair in request.scope["headers"] if pair[0] != b"content-type"]
            scope = {**request.scope, "headers": [*headers, (b"content-type", b"application/json")]}
            return await handle(StrictRequest(scope, request.receive))

        return strictly


class Permission(NamedTuple):
    """Scopes of the tokens that a route is for, none: for everybody; and whether the route sees to experiments itself."""

    scopes: tuple[Scope, ...]
    any_experiment: bool


def allowed(*scopes: Scope, any_experiment: bool = False) -> Callable[[Any], Any]:
    """Let a route be for tokens of these scopes, of the experiment in the path if there is one; ``admin`` may do all."""

    def marked(endpoint: Any) -> Any:
        endpoint.permission = Permission(scopes, any_experiment)
        return endpoint

    return marked


async def check(request: Request, permission: Permission, experiment: str | None) -> None:
    """Refuse a request without a token that permits it; ``request.state.token`` is the token."""
    if permission.scopes:
        header = request.headers.get("authorization")
        request.state.token = await hub_of(request).access.check(header, *permission, experiment)


def hub_of(request: Request) -> Hub:
    """The hub of the application."""
    hub: Hub = request.app.state.hub
    return hub


# --- names with a slash -------------------------------------------------------------------------------------------------


class NameConvertor(Convertor[str]):
    """A name in a path, which may have a slash, written as ``%2F``."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        """The name."""
        return value.replace(SLASH, "/")

    def to_string(self, value: str) -> str:
        """The part of a path."""
        return value.replace("/", SLASH)


register_url_convertor("name", NameConvertor())


def keep_slashes(scope: AsgiScope) -> None:
    """Let slashes inside names be told from those between parts of the path."""
    raw = scope.get("raw_path") or b""
    if b"%2f" in raw.lower() and SLASH not in scope["path"]:
        scope["path"] = unquote(re.sub("%2f", SLASH, raw.decode("ascii", "replace"), flags=re.IGNORECASE))


def tagged(body: object, if_none_match: str | None) -> Response:
    """An answer with an ETag, empty where it is the one that is known."""
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    tag = f'"{hashlib.sha256(text).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    # A proxy that compresses answers makes the tag W/"..."; there may be several, of which none has a comma.
    if {tag, "*"} & {known.strip().removeprefix("W/") for known in (if_none_match or "").split(",")}:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    return Response(text, media_type="application/json", headers=headers)


# --- answers ------------------------------------------------------------------------------------------------------------


def check_items(items: Sequence[object]) -> None:
    """Refuse a list that is empty or too long."""
    if not 0 < len(items) <= limits.ITEMS:
        sentence = f"A list must have 1 to {limits.ITEMS} items. Got {len(items)} instead."
        raise Problem(HTTPStatus.UNPROCESSABLE_ENTITY, sentence)


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

"""Refusals as ``application/problem+json`` (RFC 9457), and JSON that is taken in one meaning only."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from bandstrap.basics.text import shortened, visible

MEDIA_TYPE = "application/problem+json"
MEMBERS = {"type": "string", "title": "string", "status": "integer", "detail": "string"}
SCHEMA = {
    "type": "object",
    "description": "A problem of RFC 9457.",
    "required": list(MEMBERS),
    "properties": {name: {"type": kind} for name, kind in MEMBERS.items()},
}
FAILED = "The service failed; its log says why."


class Problem(HTTPException):
    """A refusal: the HTTP status, one sentence, and the seconds after which to try again."""

    def __init__(self, status: int, sentence: str, *, retry_after: int | None = None) -> None:
        super().__init__(status, sentence)
        self.status, self.sentence, self.retry_after = status, shortened(visible(sentence), 2000), retry_after

    def body(self) -> dict[str, object]:
        """The members of the problem, as RFC 9457 names them."""
        return {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.sentence,
        }

    def fields(self) -> dict[str, str]:
        """Headers that say when to try again and how to authenticate."""
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return headers | ({"WWW-Authenticate": "Bearer"} if self.status == HTTPStatus.UNAUTHORIZED else {})

    def response(self) -> JSONResponse:
        """The problem as an answer."""
        return JSONResponse(self.body(), self.status, self.fields(), media_type=MEDIA_TYPE)


async def on_problem(_: Request, problem: Exception) -> JSONResponse:
    """Answer with a problem that was raised."""
    if not isinstance(problem, Problem):
        raise problem
    return problem.response()


async def on_http_error(_: Request, error: Exception) -> JSONResponse:
    """Answer with what the framework refuses: an unknown path, another method."""
    if not isinstance(error, HTTPException):
        raise error
    response = Problem(error.status_code, str(error.detail) + ".").response()
    response.headers.update(error.headers or {})
    return response


async def on_failure(_: Request, error: Exception) -> JSONResponse:
    """Answer where the service failed; what happened is in its log, not in the answer."""
    return Problem(HTTPStatus.INTERNAL_SERVER_ERROR, FAILED).response()


async def on_wrong_shape(_: Request, error: Exception) -> JSONResponse:
    """Answer to a request that is not of the documented shape with the first thing that is wrong."""
    if not isinstance(error, RequestValidationError):
        raise error
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, first_mistake(error.errors()[0])).response()


def first_mistake(mistake: Mapping[str, Any]) -> str:
    """A sentence from what pydantic says about one place of a request."""
    place = ".".join(str(part) for part in mistake["loc"] if part not in ("body", "query", "path"))
    said = str(mistake["msg"]).rstrip(".")
    return f"{place}: {said}." if place else f"{said}."


# --- JSON ---------------------------------------------------------------------------------------------------------------


def read_json(text: bytes) -> Any:
    """A JSON text as a value; NaN, infinities, names given twice and brackets nested too deep for Python are refused.

    >>> read_json(b'{"value": 1.5}')
    {'value': 1.5}
    """
    try:
        return STRICT.decode(text.decode(json.detect_encoding(text), "surrogatepass"))
    except RecursionError:
        raise Problem(HTTPStatus.BAD_REQUEST, "The JSON text is nested too deep.") from None
    except ValueError as error:
        raise Problem(HTTPStatus.BAD_REQUEST, f"The body is not the JSON that is expected: {error}.") from None


def refuse_constant(word: str) -> float:
    """Refuse NaN and Infinity, which are not JSON."""
    raise ValueError(f"{word} is not a JSON number")


def finite(text: str) -> float:
    """A number; one that is too large for a float is refused."""
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{shortened(text, 40)} is too large")
    return number


def without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, in which each name stands once."""
    found = dict(pairs)
    if len(found) < len(pairs):
        double = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"{shortened(double, 40)!r} is given twice")
    return found


# Made once: json.loads would make one for each text.
STRICT = json.JSONDecoder(parse_constant=refuse_constant, parse_float=finite, object_pairs_hook=without_doubles)

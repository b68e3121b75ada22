"""The board: experiments of a database as pages that bring themselves up to date. It only reads."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs, quote

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from markupsafe import Markup

from bandstrap.errors import InvalidInput
from bandstrap.evidence.table import MOST_ARMS
from bandstrap.live import StoreError
from bandstrap.live.report import show_time
from bandstrap.pages import render_page
from bandstrap.serve.asking import hub_of, refused
from bandstrap.serve.hub import Hub
from bandstrap.serve.problems import Problem

COOKIE = "bandstrap_board"
# Arms of one row.
MOST_WEIGHTS = 6
# The last line of the style that all pages share.
PAGE_STYLE_END = "figure { break-inside: avoid; } }"


class PageRoute(APIRoute):
    """A route whose refusals are pages."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        """Handle a request."""
        handle = super().get_route_handler()

        async def shown(request: Request) -> Response:
            try:
                return await handle(request)
            except (Problem, InvalidInput, StoreError) as error:
                return trouble(refused(error))

        return shown


routes = APIRouter(prefix="/ui", route_class=PageRoute, default_response_class=HTMLResponse, include_in_schema=False)


@routes.get("/board.js")
async def script() -> Response:
    """The one script: it asks for the page again."""
    text = (files("bandstrap.serve") / "board.js").read_text(encoding="utf-8")
    return Response(text, media_type="text/javascript")


@routes.get("")
async def home() -> Response:
    """Lead to the overview."""
    return RedirectResponse("/ui/")


@routes.get("/")
async def overview(request: Request) -> Response:
    """All experiments."""
    token = await entry(request, None)
    names = await hub_of(request).names() if token is None else [token]
    rows = [row_of(name, await hub_of(request).report(summary, hub_of(request), name)) for name in names]
    is_open = getattr(request.app.state, "is_open", False)
    return page("board.html.j2", rows=rows, can_leave=not is_open, most_arms=MOST_ARMS)


@routes.get("/experiments/{name:name}")
async def experiment(request: Request, name: str) -> Response:
    """One experiment."""
    await entry(request, name)
    return html(await hub_of(request).report(hub_of(request).kept_page, name, render_experiment))


@routes.post("/logout")
async def logout(request: Request) -> Response:
    """Forget the token."""
    check_site(request)
    answer = RedirectResponse("/ui/", HTTPStatus.SEE_OTHER)
    answer.delete_cookie(COOKIE, path="/ui")
    return answer


@routes.post("/login")
async def login(request: Request) -> Response:
    """Keep a token in a cookie that no script can read."""
    check_site(request)
    given = parse_qs((await request.body()).decode(errors="replace")).get("token", [""])[0].strip()
    await hub_of(request).access.check(f"Bearer {given}", ("read",), True, None)
    answer = RedirectResponse("/ui/", HTTPStatus.SEE_OTHER)
    is_secure = request.url.scheme == "https"
    answer.set_cookie(COOKIE, given, httponly=True, samesite="strict", secure=is_secure, path="/ui", max_age=86_400)
    return answer


# --- who looks, at what -------------------------------------------------------------------------------------------------


def check_site(request: Request) -> None:
    """Refuse a form of another site's page, which could sign people in as somebody else, or out."""
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        raise Problem(HTTPStatus.FORBIDDEN, "Another site's page cannot sign anybody in or out.")


async def entry(request: Request, name: str | None) -> str | None:
    """Let those in who may read; the one experiment that a token is for, ``None`` for all."""
    if getattr(request.app.state, "is_open", False):
        return None
    header = f"Bearer {request.cookies.get(COOKIE, '')}"
    token = await hub_of(request).access.check(header, ("read",), name is None, name)
    return token.experiment


def summary(hub: Hub, name: str) -> dict[str, Any] | str:
    """An experiment in one row, or a sentence why it cannot be shown."""
    try:
        status, found, _ = hub.told(name)
    except (InvalidInput, StoreError) as error:
        return str(error)
    weights = [(arm.label, arm.weight) for arm in status.arms if arm.weight]
    return {
        "mode": status.mode,
        "policy": status.policy.partition(":")[0],
        "created": show_time(status.created_at).partition(" ")[0],
        "decisions": sum(status.decisions.values()),
        "rewards": status.rewards,
        "pending": status.pending,
        "weights": sorted(weights, key=lambda pair: -pair[1])[:MOST_WEIGHTS],
        "n_more": max(len(weights) - MOST_WEIGHTS, 0),
        "verdict": None if found is None else found.sentence,
        "word": None if found is None else found.word,
    }


def render_experiment(hub: Hub, name: str) -> str:
    """The page of an experiment: the evidence, then the rest of its status."""
    # Where nobody looks, nothing that draws is read.
    from bandstrap.live.page import render_status_page
    from bandstrap.readout.page import render_readout_page

    status, found, _ = hub.told(name)
    served: dict[str, Any] = {"script": "/ui/board.js", "home": "/ui/"}
    if found is not None:
        page = render_readout_page(found, name)
        body = re.sub("<h1>.*?</h1>", "", between(page, "<main>", "</main>"), count=1, flags=re.DOTALL)
        style = between(page, "<style>", "</style>").rpartition(PAGE_STYLE_END)[2]
        heading = '<h2 id="readout">Readout</h2>'
        served["evidence"] = {"body": Markup(heading + body), "style": Markup(style)}  # noqa: S704 - a page of ours
    n_forced = sum(count for count in hub.told_forced(name).values())
    return render_status_page(status, forced=n_forced, **served)


def between(text: str, start: str, end: str) -> str:
    """Text between two tags."""
    return text.partition(start)[2].rpartition(end)[0]


def row_of(name: str, found: dict[str, Any] | str) -> dict[str, Any]:
    """A row of the overview; ``trouble`` says why there is nothing to show."""
    address = f"/ui/experiments/{quote(name, safe='')}"
    return {"name": name, "address": address} | ({"trouble": found} if isinstance(found, str) else found)


# --- pages --------------------------------------------------------------------------------------------------------------


def page(template: str, *, status: int = HTTPStatus.OK, **content: object) -> HTMLResponse:
    """A page of the board."""
    filters = {"count": "{:,}".format, "share": "{:.1%}".format}
    return html(
        render_page("bandstrap.serve", template, filters=filters, script="/ui/board.js", **content), status=status
    )


def trouble(problem: Problem) -> Response:
    """A problem as a page; who is not known is asked for a token."""
    is_unknown = problem.status == HTTPStatus.UNAUTHORIZED
    return page("trouble.html.j2", status=problem.status, sentence=problem.sentence, asks_for_token=is_unknown)


def html(text: str, *, status: int = HTTPStatus.OK) -> HTMLResponse:
    """A page whose own style, and no other, is allowed by its policy."""
    styles = re.findall("<style>(.*?)</style>", text, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() for style in styles]
    allowed = " ".join(["'self'", *(f"'sha256-{digest}'" for digest in hashes)])
    policy = (
        f"default-src 'none'; img-src 'self' data:; style-src {allowed}; script-src 'self'; connect-src 'self';"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    return HTMLResponse(text, status, {"Content-Security-Policy": policy})


def make_board(hub: Hub, *, hosts: tuple[str, ...] = ("localhost", "127.0.0.1", "[::1]")) -> FastAPI:
    """Make the board as an application of its own: without tokens, for this machine alone.

    Pages from elsewhere cannot reach it by a name of theirs that leads to this machine: ``hosts`` are the only ones.
    """
    from contextlib import asynccontextmanager

    from bandstrap.serve.app import Guard

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> Any:
        yield
        hub.close()

    options: dict[str, Any] = {"docs_url": None, "redoc_url": None, "openapi_url": None, "redirect_slashes": False}
    app = FastAPI(title="bandstrap board", lifespan=lifespan, **options)
    app.state.hub, app.state.is_open = hub, True
    app.include_router(routes)
    app.add_api_route("/", lambda: RedirectResponse("/ui/"), include_in_schema=False)
    app.add_middleware(Guard, hosts=hosts)
    return app

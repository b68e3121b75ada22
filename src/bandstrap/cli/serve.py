"""``bandstrap serve``, ``bandstrap board`` and ``bandstrap token``: experiments over HTTP."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import json
import os
import re
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bandstrap.basics.extras import need
from bandstrap.cli.live import Target, Timeout, as_duration
from bandstrap.cli.options import DurabilityName, ScopeName
from bandstrap.cli.terminal import Commands, complain, print_table, say
from bandstrap.errors import brief, check_count, requirement

if TYPE_CHECKING:
    from bandstrap.live.store import Store

TOKEN_HELP = "Create, list or revoke tokens of the service."  # noqa: S105 - no password
token = typer.Typer(name="token", cls=Commands, no_args_is_help=True, rich_markup_mode=None, help=TOKEN_HELP)
STORE = typer.Option(help="SQLite file, or the address postgresql://user@host/database.")
Host = Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 accepts connections from other machines.")]
HOST = r"\*|(\*\.)?[\w.-]+|\[[0-9A-Fa-f:.]+\]"
ORIGIN = r"\*|https?://[\w.:\[\]-]+"
Port = Annotated[int, typer.Option(help="Port to listen at.")]


def serve(
    store: Annotated[str, STORE],
    host: Host = "127.0.0.1",
    port: Port = 8000,
    workers: Annotated[int, typer.Option(help="Number of processes, with PostgreSQL only.")] = 1,
    durability: Annotated[
        DurabilityName, typer.Option(help="Safety of an SQLite file, as for 'live create'.")
    ] = "full",
    timeout: Timeout = None,
    allowed_host: Annotated[
        list[str] | None, typer.Option(help="Host name under which the service answers; may be repeated; default: any.")
    ] = None,
    cors_origin: Annotated[
        list[str] | None, typer.Option(help="Origin whose pages may call the service; may be repeated; default: none.")
    ] = None,
    alert_url: Annotated[
        str | None, typer.Option(help="Address that alerts are posted to as JSON; default: none.")
    ] = None,
    retain: Annotated[
        str | None, typer.Option(help="Time after which units and keys are erased, such as 180d; default: never.")
    ] = None,
    privacy_key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File with a secret: units and keys are stored as hashes under it."),
    ] = None,
    allow_code: Annotated[
        bool, typer.Option("--allow-code", help="Run policies in Python files that the database names.")
    ] = False,
) -> None:
    """Serve decisions and take rewards over HTTP, with tokens; the board is at /ui/."""
    need_extra("bandstrap serve")
    from bandstrap.live.database import TIMEOUT
    from bandstrap.live.settings import check_duration
    from bandstrap.live.store import Store, is_server
    from bandstrap.serve.alerts import check_address
    from bandstrap.serve.hub import ServiceOptions

    check_count(workers, "workers", "bandstrap serve")
    if workers > 1 and not is_server(store):
        raise requirement("workers", "bandstrap serve", "1 with SQLite", workers)
    options = ServiceOptions(
        store,
        durability=durability,
        timeout=check_duration(as_duration(timeout) or TIMEOUT, "timeout", "bandstrap serve", positive=True),
        allow_code=allow_code,
        allowed_hosts=checked(allowed_host, "allowed_host", HOST, "a host name, or *.example.org"),
        cors_origins=checked(cors_origin, "cors_origin", ORIGIN, "an origin such as https://shop.example.org"),
        alert_url=alert_url,
        retain=None if retain is None else check_duration(retain, "retain", "bandstrap serve", positive=True),
        privacy_key=None if privacy_key is None else read_secret(privacy_key),
    )
    if alert_url is not None:
        check_address(alert_url)
    with (
        listening(host, port, "bandstrap serve") as (bound, address),
        shared_metrics(workers),
        environment(BANDSTRAP_SERVE=json.dumps(dataclasses.asdict(options))),
    ):
        Store.open(store, create=True, timeout=options.timeout).close()  # what is wrong with it is told here, once
        complain(f"serve: {address}, with the board at /ui/ (Ctrl-C ends it)")
        run("bandstrap.serve.app:from_environment", bound, factory=True, workers=workers, timeout_graceful_shutdown=30)


def board(target: Target, port: Port = 8001) -> None:
    """Watch experiments in a browser on this machine; nothing can be changed, and no token is needed."""
    need_extra("bandstrap board")
    from bandstrap.serve.board import make_board
    from bandstrap.serve.hub import Hub, ServiceOptions

    hub = Hub(ServiceOptions(target))
    hub.open(create=False)
    with listening("127.0.0.1", port, "bandstrap board") as (bound, address):
        complain(f"board: {address}/ui/ (Ctrl-C ends it)")
        run(make_board(hub), bound)


def need_extra(command: str) -> None:
    """Refuse where the packages of the service are not installed."""
    need(command, "fastapi", "uvicorn", "prometheus_client")


def read_secret(path: Path, owner: str = "bandstrap serve") -> str:
    """The secret in a file, which must be long enough that nobody guesses it."""
    try:
        secret = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise requirement("privacy_key", owner, "a file of text that can be read", type(error).__name__) from None
    if len(secret) < 32:
        rule = "a file with 32 characters or more, as 'openssl rand -hex 32' makes them"
        raise requirement("privacy_key", owner, rule, f"{len(secret)} characters")
    return secret


def checked(given: list[str] | None, parameter: str, pattern: str, rule: str) -> tuple[str, ...]:
    """Names that all have the form of a pattern."""
    for name in given or ():
        if not re.fullmatch(pattern, name):
            raise requirement(parameter, "bandstrap serve", rule, brief(name))
    return tuple(given or ())


@contextlib.contextmanager
def listening(host: str, port: int, owner: str) -> Iterator[tuple[socket.socket, str]]:
    """A socket that is bound to an address, and the address as a browser takes it."""
    if not 0 <= port < 1 << 16:
        raise requirement("port", owner, "a number from 0 to 65535", port)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, place = min(found, key=lambda each: each[0] != socket.AF_INET)
        bound = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError):
        raise requirement("host", owner, "the name or the address of this machine", brief(host)) from None
    with bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections take this over: the head of an answer must not wait until the caller confirms what came before it.
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            bound.bind(place)
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                raise requirement("host", owner, "the name or the address of this machine", brief(host)) from None
            rule = "a free port" if error.errno == errno.EADDRINUSE else "one that this user may open"
            raise requirement("port", owner, rule, port) from None
        name = f"[{host}]" if family == socket.AF_INET6 else host
        yield bound, f"http://{name}:{bound.getsockname()[1]}"


def run(app: Any, bound: socket.socket, **options: Any) -> None:
    """Serve an application until it is told to end."""
    import uvicorn

    from bandstrap.serve.connections import PatientProtocol

    options |= {"http": PatientProtocol, "access_log": False, "server_header": False, "log_level": "warning"}
    uvicorn.run(app, fd=bound.fileno(), **options)


@contextlib.contextmanager
def environment(**variables: str) -> Iterator[None]:
    """Set variables for the worker processes, and take them back."""
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            os.environ.pop(name, None)


@contextlib.contextmanager
def shared_metrics(workers: int) -> Iterator[None]:
    """A folder in which several processes put their metrics together."""
    if workers == 1:
        yield
        return
    with tempfile.TemporaryDirectory() as folder, environment(PROMETHEUS_MULTIPROC_DIR=folder):
        yield


# --- tokens -------------------------------------------------------------------------------------------------------------


def opened(store: str) -> Store:
    """The database, which must be there."""
    from bandstrap.live.store import Store

    return Store.open(store)


@token.command()
def create(
    store: Annotated[str, STORE],
    scope: Annotated[ScopeName, typer.Option(help="Calls that the token allows; admin allows all.")],
    experiment: Annotated[
        str | None, typer.Option(help="The only experiment that the token gives access to; default: all experiments.")
    ] = None,
    expires: Annotated[
        str | None, typer.Option(help="Time until the token expires, such as 90d; default: never.")
    ] = None,
) -> None:
    """Create a token, and print it; it is shown only once."""
    from bandstrap.live.settings import check_duration
    from bandstrap.serve.tokens import create_token

    owner = "bandstrap token create"
    lifetime = None if expires is None else check_duration(expires, "expires", owner, positive=True)
    with opened(store) as database:
        say(create_token(database, scope, experiment, lifetime))


@token.command("list")
def list_all(store: Annotated[str, STORE]) -> None:
    """List tokens: ids, scopes, when they were created, expire and were last used."""
    from bandstrap.live.report import show_time
    from bandstrap.serve.tokens import list_tokens

    def when(seconds: float | None) -> str:
        return "-" if seconds is None else show_time(seconds)

    with opened(store) as database:
        found = list_tokens(database)
    columns = ("id", "scope", "experiment", "created", "expires", "last used", "revoked")
    rows = [
        (
            row.id,
            row.scope,
            row.experiment or "all",
            *map(when, (row.created_at, row.expires_at, row.used_at, row.revoked_at)),
        )
        for row in found
    ]
    if rows:
        print_table(columns, rows)
    else:
        say("no tokens")


@token.command()
def revoke(
    store: Annotated[str, STORE], token_id: Annotated[str, typer.Argument(metavar="ID", help="Id of a token.")]
) -> None:
    """Revoke a token; services refuse it within five seconds."""
    from bandstrap.serve.tokens import revoke_token

    with opened(store) as database:
        revoke_token(database, token_id)
    say(f"revoked: {token_id}")

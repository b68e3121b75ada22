"""Tokens: who may do what. Only hashes are stored, in a table of their own beside the experiments."""
# ruff: noqa: S608 - statements are put together from columns of this file; whatever comes from outside is a parameter

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Literal, NamedTuple, get_args

from bandstrap.errors import InvalidInput, brief, check_choice, requirement
from bandstrap.live.database import Database, reading, writing
from bandstrap.live.settings import check_text

# What a token allows: to ask for decisions, to send rewards, to read, or everything.
Scope = Literal["decide", "reward", "read", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
PREFIX = "bandstrap"
# Bytes of a secret, 256 bits: a plain hash of so many random bits cannot be inverted.
SECRET = 32

TABLE = """CREATE TABLE IF NOT EXISTS serve_token (
    id TEXT PRIMARY KEY,
    hash TEXT NOT NULL,
    scope TEXT NOT NULL,
    experiment TEXT,
    created_at DOUBLE PRECISION NOT NULL,
    expires_at DOUBLE PRECISION,
    revoked_at DOUBLE PRECISION,
    used_at DOUBLE PRECISION
)"""


class Token(NamedTuple):
    """A token as it is stored; of the secret only the SHA-256 hash is.

    ``experiment`` is the only one that it opens, ``None`` for all. Times are seconds since 1970, by the database's clock.
    """

    id: str
    hash: str
    scope: str
    experiment: str | None
    created_at: float
    expires_at: float | None
    revoked_at: float | None
    used_at: float | None

    def may(self, scope: Scope, experiment: str | None) -> bool:
        """Return whether it allows a call about an experiment, ``None`` for one about all of them."""
        return self.scope in (scope, "admin") and self.experiment in (None, experiment)


COLUMNS = ", ".join(Token._fields)


@writing
def create_token(database: Database, scope: str, experiment: str | None = None, lifetime: float | None = None) -> str:
    """Store a new token, and give it: it is shown this once."""
    check_choice(scope, "scope", "create_token", SCOPES)
    if experiment is not None:
        check_text(experiment, "experiment", "create_token")
        if not database._ask("SELECT 1 FROM live_experiment WHERE name = ?", experiment):
            raise requirement("experiment", "create_token", "the name of an experiment", brief(experiment))
    id_, secret = secrets.token_hex(8), secrets.token_urlsafe(SECRET)
    ends = "NULL" if lifetime is None else f"{database.now} + ?"
    database._ask(TABLE)
    database._ask(
        "INSERT INTO serve_token (id, hash, scope, experiment, created_at, expires_at)"
        f" VALUES (?, ?, ?, ?, {database.now}, {ends})",
        id_,
        hashed(secret),
        scope,
        experiment,
        *([] if lifetime is None else [lifetime]),
    )
    return f"{PREFIX}_{id_}_{secret}"


@reading
def find_token(database: Database, id_: str) -> tuple[Token | None, float]:
    """The token with an id, and the time by the database's clock."""
    ((now,),) = database._ask(f"SELECT {database.now}")
    rows = database._ask(f"SELECT {COLUMNS} FROM serve_token WHERE id = ?", id_)
    return next((Token(*row) for row in rows), None), now


@reading
def list_tokens(database: Database) -> list[Token]:
    """All tokens, the oldest first."""
    rows = database._ask(f"SELECT {COLUMNS} FROM serve_token ORDER BY created_at, id")
    return [Token(*row) for row in rows]


@writing
def revoke_token(database: Database, id_: str) -> None:
    """Refuse a token from now on; services that know it do so within seconds."""
    found = database._ask(
        f"UPDATE serve_token SET revoked_at = {database.now} WHERE id = ? AND revoked_at IS NULL RETURNING id", id_
    )
    if not found:
        raise InvalidInput(f"There is no active token {brief(id_)}; 'bandstrap token list' shows all.")


@writing
def note_use(database: Database, ids: list[str]) -> None:
    """Store that tokens are in use."""
    database._ask_rows(
        f"UPDATE serve_token SET used_at = {database.now} WHERE id IN (SELECT id FROM r)",
        {"id": "text"},
        [(id_,) for id_ in ids],
    )


def parse_token(text: str) -> tuple[str, str] | None:
    """The id and the secret of a token; ``None`` for what is none.

    >>> parse_token("bandstrap_00ff_secret")
    ('00ff', 'secret')
    >>> parse_token("secret") is None
    True
    """
    prefix, _, rest = text.partition("_")
    id_, _, secret = rest.partition("_")
    return (id_, secret) if prefix == PREFIX and id_ and secret and text.isascii() and len(text) < 200 else None


def hashed(secret: str) -> str:
    """Hash that is stored of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def is_valid(token: Token | None, secret: str, now: float) -> bool:
    """Return whether a secret is that of the token, which is neither revoked nor over; unknown ones take as long."""
    is_same = hmac.compare_digest(hashed(secret), "" if token is None else token.hash)
    if token is None or not is_same or token.revoked_at is not None:
        return False
    return token.expires_at is None or now < token.expires_at

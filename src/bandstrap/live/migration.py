"""Migration of tables to the next version: the part that is computed row by row, beside the SQL scripts.

Each function runs in the transaction of its script, after it; a database without experiments has nothing to bring.
"""
# ruff: noqa: S608 - statements are put together from parts of this package; whatever comes from outside is a parameter

from __future__ import annotations

from typing import TYPE_CHECKING

from bandstrap.live.chain import first_link, hash_of, new_identity, next_link
from bandstrap.live.rows import SHARED, LogEntry

if TYPE_CHECKING:
    from bandstrap.live.database import Database

# Rows that are copied at once.
PAGE = 20_000


def migrate(database: Database, version: int) -> None:
    """Compute what the tables of ``version`` have beyond those before."""
    if version == 2:
        number_decisions(database)
        chain_logs(database)
        for table in ("pending", "reward", "activation", "learned", "decision"):
            database._ask(f"DROP TABLE live_{table}_1")


def number_decisions(database: Database) -> None:
    """Give each decision a number, in the order of times, and each text that decisions share a hash."""
    names = (
        "id, experiment, key, unit, version, source, arm, proposed, propensity, weights, available, context, deferred"
    )
    columns = [*names.split(", "), "build", "decided_at"]
    places = [columns.index(name) for name in SHARED]
    kinds = dict.fromkeys(columns, "text") | dict.fromkeys(("experiment", "version", "arm", "proposed"), "int8")
    kinds |= dict.fromkeys(SHARED, "int8") | {"propensity": "float8", "deferred": "bool", "decided_at": "float8"}
    known: set[int] = set()
    last: tuple[object, ...] = (-1, 0.0, "")
    while page := database._ask(
        f"SELECT {', '.join(columns)} FROM live_decision_1 WHERE (experiment, decided_at, id) > (?, ?, ?)"
        " ORDER BY experiment, decided_at, id LIMIT ?",
        *last,
        PAGE,
    ):
        texts: dict[int, str] = {}
        rows = []
        for row in page:
            copy = list(row)
            own_weights = row[places[0]] if row[columns.index("context")] is not None else None
            for place in places if own_weights is None else places[1:]:
                if row[place] is not None:
                    copy[place] = hash_of(row[place])
                    texts[copy[place]] = row[place]
            if own_weights is not None:
                copy[places[0]] = None
            rows.append((*copy, own_weights))
        database._ask_rows(
            "INSERT INTO live_text (hash, body) SELECT hash, body FROM r",
            {"hash": "int8", "body": "text"},
            [(hash_, text) for hash_, text in texts.items() if hash_ not in known],
        )
        known |= texts.keys()
        every = ", ".join([*columns, "own_weights"])
        database._ask_rows(
            f"INSERT INTO live_decision ({every}) SELECT {every} FROM r", kinds | {"own_weights": "text"}, rows
        )
        last = tuple(page[-1][columns.index(name)] for name in ("experiment", "decided_at", "id"))
    # A row of no decision, in a database that lost some, stops this: the column takes no NULL.
    joined = "FROM live_{0}_1 t LEFT JOIN live_decision d ON d.id = t.decision"
    database._ask(f"INSERT INTO live_activation (decision, at) SELECT d.number, t.at {joined.format('activation')}")
    for table, names in (("reward", "key, value, received_at, late"), ("pending", "due")):
        database._ask(
            f"INSERT INTO live_{table} (decision, experiment, {names})"
            f" SELECT d.number, t.experiment, {', '.join(f't.{name}' for name in names.split(', '))}"
            f" {joined.format(table)} ORDER BY t.id"
        )


def chain_logs(database: Database) -> None:
    """Give each experiment an identity, and each entry of its log a link."""
    for experiment, *about in database._ask("SELECT id, name, definition, created_by FROM live_experiment"):
        identity = new_identity(*about)
        database._ask("UPDATE live_experiment SET identity = ? WHERE id = ?", identity, experiment)
        link, last = first_link(identity), 0
        while page := database._ask(
            "SELECT l.seq, l.kind, l.decision, l.arm, l.reward, c.kind, c.body, d.context, d.number, l.at"
            " FROM live_learned_1 l LEFT JOIN live_decision d ON d.id = l.decision"
            " LEFT JOIN live_change c ON l.kind = 'change' AND c.experiment = l.experiment AND c.seq = l.seq"
            " WHERE l.experiment = ? AND l.seq > ? ORDER BY l.seq LIMIT ?",
            experiment,
            last,
            PAGE,
        ):
            copies = []
            for *fields, number, at in page:
                entry = LogEntry(*fields)
                link = next_link(link, entry)
                copies.append((entry.seq, entry.kind, number, entry.arm, entry.reward, at, link))
            database._ask_rows(
                "INSERT INTO live_learned (experiment, seq, kind, decision, arm, reward, at, link)"
                " SELECT ?, seq, kind, decision, arm, reward, at, link FROM r",
                {
                    "seq": "int8",
                    "kind": "text",
                    "decision": "int8",
                    "arm": "int8",
                    "reward": "float8",
                    "at": "float8",
                    "link": "int8",
                },
                copies,
                experiment,
            )
            last = page[-1][0]

"""What brings tables from one version to the next beside the scripts of SQL: what has to be computed row by row.

Each function runs in the transaction of its script, after it; a database without experiments has nothing to bring.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bandstrap.live.chain import first_link, new_identity, next_link
from bandstrap.live.rows import LogEntry

if TYPE_CHECKING:
    from bandstrap.live.database import Database

# Entries that are copied at once.
PAGE = 20_000


def migrate(database: Database, version: int) -> None:
    """Compute what the tables of ``version`` have beyond those before."""
    if version == 2:
        chain_logs(database)


def chain_logs(database: Database) -> None:
    """Give each experiment an identity, and each entry of its log a link."""
    for experiment, *about in database._ask("SELECT id, name, definition, created_by FROM live_experiment"):
        identity = new_identity(*about)
        database._ask("UPDATE live_experiment SET identity = ? WHERE id = ?", identity, experiment)
        link, last = first_link(identity), 0
        while page := database._ask(
            "SELECT l.seq, l.kind, l.decision, l.arm, l.reward, c.kind, c.body, d.context, l.at FROM live_learned_1 l"
            " LEFT JOIN live_change c ON l.kind = 'change' AND c.experiment = l.experiment AND c.seq = l.seq"
            " LEFT JOIN live_decision d ON d.id = l.decision"
            " WHERE l.experiment = ? AND l.seq > ? ORDER BY l.seq LIMIT ?",
            experiment,
            last,
            PAGE,
        ):
            copies = []
            for *fields, at in page:
                link, entry = next_link(link, LogEntry(*fields)), fields[:5]
                copies.append((*entry, at, link))
            database._ask_rows(
                "INSERT INTO live_learned (experiment, seq, kind, decision, arm, reward, at, link)"
                " SELECT ?, seq, kind, decision, arm, reward, at, link FROM r",
                {
                    "seq": "int8",
                    "kind": "text",
                    "decision": "text",
                    "arm": "int8",
                    "reward": "float8",
                    "at": "float8",
                    "link": "int8",
                },
                copies,
                experiment,
            )
            last = page[-1][0]
    database._ask("DROP TABLE live_learned_1")

"""Arms that were served by force, because the service did not answer: kept and counted, and nothing is learned of them.

Nobody drew them, so that they have no propensity. A decision that the service did store under the same key, while its
answer was lost, was not what was served: it is voided, whichever arm it has.
"""
# ruff: noqa: S608 - statements are put together from columns of this file; whatever comes from outside is a parameter

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bandstrap.errors import brief, requirement
from bandstrap.live import Experiment
from bandstrap.live.database import Database, reading, writing
from bandstrap.live.elsewhere import void_all
from bandstrap.live.erasure import has_forced
from bandstrap.live.settings import check_text
from bandstrap.live.weights import decision_id

if TYPE_CHECKING:
    from bandstrap.serve.desk import ForcedWish

OWNER = "import"
TABLE = """CREATE TABLE IF NOT EXISTS serve_forced (
    id TEXT PRIMARY KEY,
    experiment INTEGER NOT NULL,
    key TEXT NOT NULL,
    unit TEXT,
    arm TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL
)"""
INDEX = "CREATE INDEX IF NOT EXISTS serve_forced_unit ON serve_forced (experiment, unit, at)"
COLUMNS = {"id": "text", "key": "text", "unit": "text", "arm": "text"}


def add_forced(experiment: Experiment, wishes: Sequence[ForcedWish]) -> list[str]:
    """Keep what was served by force: ``"forced"``, or ``"duplicate"`` where that is known."""
    rows = []
    for wish in wishes:
        if wish.arm not in experiment.state.arms:
            raise requirement("arm", OWNER, f"one of the arms {experiment.state.arms[:20]}", brief(wish.arm))
        key = check_text(wish.key, "key", OWNER)
        unit = None if wish.unit is None else check_text(wish.unit, "unit", OWNER)
        rows.append((decision_id(experiment.name, key), key, unit, wish.arm))
    stored = experiment.store.decisions(experiment.row.id, [row[0] for row in rows])
    # Of whichever arm: to keep those whose arm happened to be served would favour it.
    instead = dict.fromkeys(decision.id for decision in stored if decision is not None)
    if instead:
        void_all(experiment, list(instead), "service: an arm was served by force")
    new = insert(experiment.store, experiment.row.id, rows)
    return ["forced" if row[0] in new else "duplicate" for row in rows]


@writing
def insert(database: Database, experiment: int, rows: Sequence[tuple[object, ...]]) -> set[str]:
    """Store rows; the ids of those that are new."""
    found = database._ask_rows(
        f"INSERT INTO serve_forced (experiment, {', '.join(COLUMNS)}, at)"
        f" SELECT ?, {', '.join(COLUMNS)}, {database.now} FROM r WHERE true ON CONFLICT (id) DO NOTHING RETURNING id",
        COLUMNS,
        {row[0]: row for row in rows}.values(),
        experiment,
    )
    return {id_ for (id_,) in found}


@reading
def count_forced(database: Database, experiment: int) -> dict[str, int]:
    """Count of forced servings per arm; nothing where the service never ran."""
    if not has_forced(database):
        return {}
    rows = database._ask("SELECT arm, count(*) FROM serve_forced WHERE experiment = ? GROUP BY arm", experiment)
    return dict(rows)

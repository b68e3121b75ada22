"""Alerts: what people should be told of at once, posted to an address, each kind at most once a day.

They are looked for every minute in the same readout that the board shows; none is a test of its own. The database keeps
what was posted: processes that share it post an alert once, also one that is started anew.
"""
# ruff: noqa: S608 - statements are put together from parts of this package; whatever comes from outside is a parameter

from __future__ import annotations

import json
import logging
import math
import urllib.request
from collections.abc import Callable, Iterator
from http.client import HTTPException
from typing import NamedTuple
from urllib.parse import urlsplit

from bandstrap.errors import requirement
from bandstrap.evidence import Readout
from bandstrap.live.database import Database, reading, writing
from bandstrap.live.status import Status

LOG = logging.getLogger("bandstrap.serve")
# Seconds between two alerts of one kind about one experiment, and between two looks.
PAUSE = 86_400.0
EVERY = 60.0
# Seconds that the address may take.
TIMEOUT = 10.0
# Decisions of one day after which rewards are missed, of an experiment or of one arm, and how old they must be, in seconds,
# where no window says when a reward must have come.
FEWEST = 100
PATIENCE = 3600.0
# Entropy of the weights, of that of even ones, below which hardly anything else is served.
COLLAPSED = 0.1

TABLE = """CREATE TABLE IF NOT EXISTS serve_alert (
    experiment TEXT NOT NULL,
    kind TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (experiment, kind)
)"""


class Alert(NamedTuple):
    """Alert that is posted: experiment, which kind, a sentence, and when in seconds since 1970."""

    experiment: str
    kind: str
    sentence: str
    at: float


def find_alerts(
    status: Status, readout: Readout | None, entropy: float | None, now: float, are_due: Callable[[int | None], bool]
) -> Iterator[Alert]:
    """Find the alerts of an experiment; ``are_due`` tells whether rewards of an arm, or of any, should be there."""

    def alert(kind: str, sentence: str) -> Alert:
        return Alert(status.name, kind, sentence, now)

    n_decisions = sum(status.decisions.values())
    if n_decisions >= FEWEST and status.rewards == 0 and are_due(None):
        yield alert("no_rewards", f"{n_decisions} decisions, but no rewards.")
    if status.rewards:
        for place, arm in enumerate(status.arms):
            if arm.state != "retired" and arm.decisions >= FEWEST and arm.n_rewards == 0 and are_due(place):
                sentence = f"The arm {arm.label!r} was served {arm.decisions} times, and has no reward; others have."
                yield alert(f"arm_without_rewards {arm.label}", sentence)
    if entropy is not None and entropy < COLLAPSED:
        sentence = (
            f"The entropy of the weights is {entropy:.1%} of that of equal weights: almost only one arm is served."
        )
        yield alert("entropy_collapse", sentence)
    if readout is None:
        return
    for kind, health in (("missing_rewards", readout.missing), ("sample_ratio_mismatch", readout.traffic)):
        if not health.healthy:
            what = "rewards that are missing" if kind == "missing_rewards" else "decisions that were shown"
            yield alert(
                kind,
                f"The {what} depend on the arm: of {health.arm!r} {health.found} where {health.expected:.0f} were expected "
                f"(e-value {math.exp(min(health.log_evidence, 700)):.3g}).",
            )
    if readout.word in ("ship", "equivalent", "harm"):
        yield alert(f"verdict {readout.word} {readout.arm}", readout.sentence)


@reading
def are_rewards_due(database: Database, experiment: int, window: float | None, arm: int | None) -> bool:
    """Return whether enough decisions of a day, of an arm or of all, are so old that they should have rewards."""
    age = PATIENCE if window is None else window
    rows = database._ask(
        f"SELECT count(*) FROM (SELECT 1 FROM live_decision WHERE experiment = ? AND (arm = ? OR ?)"
        f" AND decided_at > {database.now} - ? AND decided_at <= {database.now} - ? LIMIT {FEWEST}) found",
        experiment,
        -1 if arm is None else arm,
        arm is None,
        age + PAUSE,
        age,
    )
    return bool(rows[0][0] >= FEWEST)


def check_address(address: str) -> None:
    """Refuse what alerts cannot be posted to."""
    if urlsplit(address).scheme not in ("http", "https") or not urlsplit(address).hostname:
        raise requirement("alert_url", "bandstrap serve", "an address that begins with http:// or https://", "another")


def tell(database: Database, address: str, alert: Alert) -> bool:
    """Post an alert, unless its like was posted within a day; whether it was. What fails is posted at the next look."""
    if not claim(database, alert):
        return False
    body = alert._asdict() | {"kind": alert.kind.partition(" ")[0]}
    request = urllib.request.Request(  # noqa: S310 - the scheme was checked
        address, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT):  # noqa: S310
            return True
    except (OSError, HTTPException) as error:  # the address may hold a secret, which is not logged
        LOG.warning("An alert (%s of %r) could not be posted: %s", alert.kind, alert.experiment, type(error).__name__)
        give_back(database, alert)
        return False


@writing
def claim(database: Database, alert: Alert) -> bool:
    """Note that an alert is posted now, unless its like was within a day; whether it was noted."""
    rows = database._ask(
        f"INSERT INTO serve_alert (experiment, kind, at) VALUES (?, ?, {database.now})"
        " ON CONFLICT (experiment, kind) DO UPDATE SET at = excluded.at WHERE serve_alert.at <= excluded.at - ?"
        " RETURNING at",
        alert.experiment,
        alert.kind,
        PAUSE,
    )
    return bool(rows)


@writing
def give_back(database: Database, alert: Alert) -> None:
    """Let an alert be posted again."""
    database._ask("DELETE FROM serve_alert WHERE experiment = ? AND kind = ?", alert.experiment, alert.kind)

"""The same calls lead to the same decisions in SQLite and in PostgreSQL."""

import numpy as np
import psycopg

from bandstrap import live
from live.checkout import ARMS, at


def scenario(target):
    """Decisions, outcomes and the log of calls of every kind, with the database's clock set by hand."""
    options = {"policy": "gaussian_ts", "arms": ARMS, "seed": 9, "refresh": 0, "burn_in": 3, "draws": 100}
    rules = {"window": "1m", "aggregate": "sum", "default_reward": 0.25, "holdout": 0.1, "control": "red"}
    experiment = live.create(target, "either", **options | rules)
    rng = np.random.default_rng(6)
    seen, waiting = [], []
    for number in range(60):
        at(experiment, 1000 + 5 * number)
        defer = bool(number % 7 == 0)
        decision = experiment.decide(unit=f"u{number % 40}", key=f"k{number}", defer=defer)
        seen.append(decision._replace(decided_at=round(decision.decided_at, 3)))
        waiting.append(decision)
        if defer and number % 2:
            seen.append(experiment.activate(decision.id))
        chosen = waiting[int(rng.integers(len(waiting)))]
        key = f"{rng.integers(2)}"
        seen.append(experiment.reward(chosen.id, float(rng.normal()), key=key))
        if number == 20:
            experiment.add_arm("teal", actor="ann")
        if number == 30:
            experiment.pause("green", actor="ann")
        if number == 40:
            experiment.change(floor=0.1, holdout=0.2, actor="ann")
        if number == 45:
            experiment.void(waiting[3].id, actor="ann")
        if number == 50:
            experiment.retire("blue", actor="ann")
    at(experiment, 9999)
    seen.append(experiment.refresh())
    # Links begin with an identity that is random.
    seen += [entry._replace(link=0) for entry in experiment.store.entries(experiment.row.id, 0, 1000)]
    seen += [(change.seq, change.actor, change.kind) for change in experiment.store.changes(experiment.row.id)]
    seen.append(experiment.state.rewards)
    report = live.open(target, "either").replay()
    assert report.is_identical, report.first
    seen.append(str(report))
    outcomes = {what for what in seen if isinstance(what, str)}
    assert {"stored", "duplicate", "late"} <= outcomes
    return seen


def test_the_same_calls_lead_to_the_same_decisions(either, tmp_path):
    assert scenario(either) == scenario(tmp_path / "reference.db")


def test_a_server_database_without_an_encoding_is_as_good(postgres):
    """SQL_ASCII: the server takes bytes as they are, and would give bytes back."""
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as connection:
        connection.execute("CREATE DATABASE plain ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    told = {"policy": "ucb1", "arms": ["röt", "grün"], "seed": 7}
    with live.create(postgres.url("plain"), "größe", **told) as experiment:
        decision = experiment.decide(unit="ü \u2028 😀", key="\x1f é")
        assert experiment.reward(decision.id, 1.0, key="ß") == "stored"
        assert experiment.replay().is_identical
        assert experiment.status().arms[0].label == "röt"
    assert live.names(postgres.url("plain")) == ["größe"]

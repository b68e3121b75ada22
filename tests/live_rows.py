"""Rows for tests of live experiments' stores."""

import itertools

from bandstrap.live.rows import DecisionRow, NewReward
from bandstrap.live.settle import Settle

ARRIVAL = Settle(None, "first", None)
SUM = Settle(60.0, "sum", None)
numbers = itertools.count()


def decision(number, **fields):
    plain = {
        "id": f"{number:032x}",
        "key": f"key {number}",
        "unit": None,
        "version": 0,
        "source": "policy",
        "arm": number % 3,
        "proposed": None,
        "propensity": 1 / 3,
        "weights": "[0.5, 0.5]",
        "available": None,
        "context": None,
        "deferred": False,
        "build": "b",
    }
    return DecisionRow(**plain | fields)


def new_experiment(store):
    return store.create_experiment(f"experiment {next(numbers)}", "{}", "me").id


def set_clock(store, clock):
    """Let the database's clock stand still at a time."""
    store.now = f"CAST({clock!r} AS DOUBLE PRECISION)"


def log(store, experiment):
    return [(e.seq, e.kind, e.decision, e.arm, e.reward) for e in store.entries(experiment, 0, 10**6)]


def add(store, experiment, *numbers, settle=ARRIVAL, **fields):
    return [row.id for row in store.add_decisions(experiment, [decision(n, **fields) for n in numbers], settle)]


def reward(store, experiment, *ids, settle=ARRIVAL):
    return store.add_rewards(experiment, [NewReward(id_, "", 1.0) for id_ in ids], settle)

"""Two workers in one process, statement by statement, in an order that a seed decides: the same seed, the same history.

Each worker is a thread with a connection of its own, and runs only when it has the turn, for one statement. One that waits
for a lock gives its turn away; a server is asked who waits. The database's clock counts turns. Now and then a worker
crashes before or after a statement: its connection is gone, and it repeats its call.
"""

import random
import threading
import time
from types import SimpleNamespace

import psycopg
import pytest

from bandstrap import live
from bandstrap.errors import InvalidInput
from bandstrap.live import fold, sqlite
from bandstrap.live.weights import decision_id
from live.history import Call
from live.workers import PATIENCE, plain, value_of

CLOCK = ":clock:"
WAITING = "SELECT pg_blocking_pids(%s) <> '{}'"


class Crash(BaseException):
    """The end of a worker, whose connection is gone."""


class Over(BaseException):
    """The end of a worker, because another one has failed."""


class Turns:
    """Who runs: one thread at a time, drawn from those that can."""

    def __init__(self, seed, server=None, crashes=0.0):
        self.rng = random.Random(f"turns {seed}")  # noqa: S311 - no secret
        self.crashes = crashes
        self.changed = threading.Condition()
        self.states = {}  # by number of a worker: ready, running, waiting (for a lock) or done
        self.failures = []
        self.clock = 1000.0
        self.order = []  # pairs of a worker and the statement it ran
        self.server = None if server is None else psycopg.connect(server, autocommit=True)
        self.backends = {}

    def take(self, worker):
        """Wait for the turn of this worker."""
        with self.changed:
            self.states[worker] = "ready"
            self.changed.notify_all()
            assert self.changed.wait_for(lambda: self.failures or self.states[worker] == "running", PATIENCE)
            if self.failures:
                raise Over

    def ask_in_turn(self, worker, store):
        """Let every statement of a store be one turn."""
        ask, store.now = store._ask, f"CAST({CLOCK} AS DOUBLE PRECISION)"

        def in_turn(statement, *parameters):
            self.take(worker)
            if self.server is not None:
                self.backends[worker] = store._connection.info.backend_pid
            self.order.append((worker, statement.split("\n")[0][:60]))
            fate = self.rng.random()
            if fate < self.crashes / 2:
                raise Crash
            rows = ask(statement.replace(CLOCK, repr(self.clock)), *parameters)
            if fate < self.crashes:
                raise Crash
            return rows

        store._ask = in_turn

    def give_away(self, _seconds):
        """What a thread does instead of sleeping: somebody else has the database locked."""
        self.take(int(threading.current_thread().name))

    def run(self, *works):
        """Run the works of all workers to their ends."""

        def body(worker, work):
            try:
                work()
            except BaseException as failure:  # noqa: BLE001 - told by whoever runs them
                self.failures.append(failure)
            with self.changed:
                self.states[worker] = "done"
                self.changed.notify_all()

        threads = [
            threading.Thread(target=body, args=(number, work), name=str(number), daemon=True)
            for number, work in enumerate(works)
        ]
        self.states = dict.fromkeys(range(len(works)), "running")
        for thread in threads:
            thread.start()
        with self.changed:
            while not self.failures and set(self.states.values()) != {"done"}:
                self._settle()
                ready = sorted(worker for worker, state in self.states.items() if state == "ready")
                if ready and not self.failures:
                    self.clock += 1.0
                    self.states[self.rng.choice(ready)] = "running"
                    self.changed.notify_all()
            self.changed.notify_all()
        for thread in threads:  # one left behind would keep its store locked, for which the next fork would wait
            thread.join(PATIENCE)
        if self.server is not None:
            self.server.close()
        if self.failures:
            raise self.failures[0]

    def _settle(self):
        """Wait until every worker is ready, or waits for a lock, or is done."""
        deadline = time.monotonic() + PATIENCE
        while True:
            for worker, state in self.states.items():
                if state == "waiting" and not self._is_blocked(worker):
                    self.states[worker] = "running"
            if "running" not in self.states.values():
                if "ready" in self.states.values() or "waiting" not in self.states.values():
                    return
                self.changed.wait(0.01)  # a deadlock, which the server ends
            elif not self.changed.wait(0.02):
                for worker, state in self.states.items():
                    if state == "running" and self._is_blocked(worker):
                        self.states[worker] = "waiting"
            assert time.monotonic() < deadline, self.order[-5:]

    def _is_blocked(self, worker):
        if self.server is None or worker not in self.backends:
            return False
        ((is_blocked,),) = self.server.execute(WAITING, [self.backends[worker]]).fetchall()
        return is_blocked


class Scripted:
    """A worker whose calls are drawn from a seed; two of them share keys, decisions and rewards."""

    def __init__(self, turns, number, experiment, seed, n_calls):
        self.turns, self.name, self.experiment = turns, f"worker{number}", experiment
        self.rng = random.Random(f"{seed} {number}")  # noqa: S311 - no secret
        self.n_calls = n_calls
        self.history = []
        self.known = []  # ids of decisions

    def work(self):
        for number in range(self.n_calls):
            self.call(*self.draw(number))

    def draw(self, number):
        """A method and its arguments."""
        rng, own = self.rng, f"{self.name}-{number}"
        kind = rng.random()
        if kind < 0.4 or not self.known:
            keys = [rng.choice([own, f"shared-{rng.randrange(6)}"]), f"{own}-b"][: rng.choice([1, 2])]
            return "decide_many", {"keys": keys, "units": keys, "defer": rng.random() < 0.2}
        if kind < 0.7:
            ids = rng.sample(self.known, min(len(self.known), 2))
            key = rng.choice([None, "again"])
            return "reward_many", {"rewards": [[id_, value_of(id_, self.name), key] for id_ in ids]}
        if kind < 0.8:
            return "activate", {"decision": rng.choice(self.known)}
        if kind < 0.9:
            return "refresh", {}
        return rng.choice(["pause", "resume"]), {"arm": "c", "actor": own}

    def call(self, method, arguments):
        """Make a call, again and again if it crashes."""
        while True:
            began = len(self.turns.order)
            try:
                result = plain(getattr(self.experiment, method)(**arguments))
            except InvalidInput as refusal:
                result = {"refused": str(refusal)}
            except Crash:
                self.history.append(Call(self.name, method, arguments, None, began))
                if "actor" in arguments:  # the change may have been made, and undone by the other: it is another one
                    arguments = arguments | {"actor": arguments["actor"] + "-again"}
                continue
            break
        self.history.append(Call(self.name, method, arguments, result, began, len(self.turns.order)))
        if method == "decide_many":
            self.known += [decision_id(self.experiment.name, key) for key in arguments["keys"]]


def interleave(target, seed, settings, *, n_calls=12, crashes=0.02):
    """Let two workers decide, reward, activate, refresh and change; gives their history and the order of statements."""
    server = target if str(target).startswith("postgresql") else None
    turns = Turns(seed, server, crashes)
    live.create(target, "shop", **settings).close()
    options = {"timeout": 4 * PATIENCE, "durability": "normal"}
    experiments = [live.open(target, "shop", **options) for _ in range(2)]
    workers = [Scripted(turns, number, opened, seed, n_calls) for number, opened in enumerate(experiments)]
    for number, opened in enumerate(experiments):
        turns.ask_in_turn(number, opened.store)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite, "time", SimpleNamespace(monotonic=time.monotonic, sleep=turns.give_away))
        patch.setattr(fold, "FEWEST_ENTRIES", 4)  # snapshots with most refreshes
        turns.run(*(worker.work for worker in workers))
    for opened in experiments:
        opened.close()
    return [call for worker in workers for call in worker.history], turns.order

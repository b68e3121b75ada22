"""What is run below the shim: workers whose every write is recorded, and calls of which one write after another fails."""

import errno
import os
import random
import sys
from contextlib import suppress
from pathlib import Path

from bandstrap import live
from bandstrap.live import fold, sqlite
from bandstrap.live.sqlite import SqliteStore
from live.disks import Shim
from live.workers import SHOP, Worker, noted, step

NORMAL = {"refresh": 0, "draws": 20}


def checkpoint_often(synchronous=None):
    """Let the log of a file be copied into the file every few transactions."""
    opened = SqliteStore._new_connection

    def connect(store):
        connection = opened(store)
        if synchronous is not None:
            connection.execute(f"PRAGMA synchronous = {synchronous}")
        return connection

    SqliteStore._new_connection = connect
    sqlite.TRANSACTIONS = 12
    fold.FEWEST_ENTRIES = 10


def record(folder, trace, seed, n_steps, synchronous=None):
    """Two workers at work on a new database, to the end, with every write on record."""
    folder = Path(folder).resolve()
    checkpoint_often(synchronous)
    Shim(folder, trace)
    live.create(folder / "live.db", "shop", **SHOP | NORMAL).close()
    children = []
    for number in range(2):
        child = os.fork()
        if child == 0:
            path = folder / f"worker{number}.diary"
            with suppress(BaseException), noted(path):
                work(folder / "live.db", path, random.Random(f"{seed} {number}"), int(n_steps))  # noqa: S311
                os._exit(0)
            os._exit(1)
        children.append(child)
    for child in children:
        _, status = os.waitpid(child, 0)
        assert status == 0, [file.read_text() for file in folder.glob("*.failure")]
    live.backup(folder / "live.db", folder / "copy.db")


def work(target, path, rng, n_steps):
    for number in range(n_steps):
        if number % max(1, n_steps // 3) == 0:  # by a new connection; the last to close one empties the log
            worker = Worker(live.open(target, "shop"), path)
        step(worker, rng)
        if rng.random() < 0.1:
            worker.change(rng.choice(["pause", "resume"]), "c")
        if number % max(1, n_steps // 3) == n_steps // 3 - 1:
            worker.experiment.close()


FAULTS = {
    "EIO": {"error": errno.EIO},
    "ENOSPC": {"error": errno.ENOSPC},
    "short": {"error": errno.ENOSPC, "short": True},
}


def fail(folder, trace, fault, times, first, stride):
    """Calls of every kind, of which one write or sync to the disk after another fails; the same object goes on.

    Prints how many calls failed with a sentence, and how many writes and syncs were tried.
    """
    folder = Path(folder).resolve()
    checkpoint_often()
    shim = Shim(folder, trace)
    path = folder / "worker.diary"
    told = tried = 0
    experiment = live.create(folder / "live.db", "shop", **SHOP | NORMAL)
    worker = Worker(experiment, path)
    number = int(first)
    while True:
        shim.fail(number, int(times), **FAULTS[fault])
        try:
            experiment.close()  # so that opening is among what fails
            for call in CALLS:
                call(worker)
        except live.StoreError as error:
            told += str(error).endswith(".")
        is_over = shim.count() < number
        shim.fail(0, 0, 0)
        worker.repeat()
        tried += 1
        if is_over:
            break
        number += int(stride)
    experiment.close()
    sys.stdout.write(f"{told} {tried}\n")


CALLS = (
    lambda worker: worker.decide(2),
    lambda worker: worker.decide(defer=True),
    lambda worker: worker.reward(worker.owed[-3:]),
    lambda worker: worker.call("activate", decision=worker.unshown[-1]),
    lambda worker: worker.call("refresh"),
    lambda worker: worker.change("pause", "c"),
    lambda worker: worker.change("resume", "c"),
    lambda worker: worker.decide(2),
)


def lock(folder, trace, ignored):
    """A transaction that is open while another process decides; both are told what came of it."""
    folder = Path(folder).resolve()
    shim = Shim(folder, trace)
    live.create(folder / "live.db", "shop", **SHOP | NORMAL).close()
    shim.ignore_locks(ignored == "ignored")
    waiting, ready = os.pipe()
    begun, go = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(begun, 1)  # the other one is about to commit
        with live.open(folder / "live.db", "shop", timeout=0.2) as experiment, suppress(live.StoreError):
            Worker(experiment, folder / "second.diary").decide(3)
        os.write(ready, b"x")
        os._exit(0)
    with live.open(folder / "live.db", "shop", timeout=300) as experiment:
        worker = Worker(experiment, folder / "first.diary")
        worker.decide(3)
        ask = experiment.store._ask

        def slowly(statement, *parameters):
            if statement == "COMMIT" and go_on:
                os.write(go_on.pop(), b"x")
                os.read(waiting, 1)
            return ask(statement, *parameters)

        go_on = [go]
        experiment.store._ask = slowly
        with suppress(live.StoreError):
            worker.decide(3)
        assert not go_on
    os.waitpid(child, 0)


if __name__ == "__main__":
    {"record": record, "fail": fail, "lock": lock}[sys.argv[1]](*sys.argv[2:])

"""Several processes decide at once, each behind the others; rewards arrive in another order, twice, or never."""

import os
import sys
import traceback

import numpy as np
import pytest

from bandstrap import live
from sampling import exhaustive

ARMS = ["red", "green", "blue"]
WORKERS, BATCHES, AT_ONCE = 4, 50, 50  # 10,000 decisions


def work(experiment, number):
    """Decide in batches, look at the log now and then, and reward decisions late, out of order, some twice or never."""
    rng = np.random.default_rng(number)
    waiting, rewarded = [], 0
    for batch in range(BATCHES):
        keys = [f"{number} {batch} {i}" for i in range(AT_ONCE)]
        # The last keys of a batch are those of another worker's, too: who comes first decides.
        keys[-2:] = [f"shared {batch} {i}" for i in range(2)]
        waiting += [decision.id for decision in experiment.decide_many(keys=keys)]
        rng.shuffle(waiting)
        arrived, waiting = waiting[:40], waiting[40:]
        outcomes = experiment.reward_many([(id_, float(rng.normal())) for id_ in arrived])
        again = experiment.reward_many([(id_, 9.0) for id_ in arrived[:5]])
        assert set(again) == {"duplicate"}
        rewarded += outcomes.count("stored")
        if rng.random() < 0.3:
            experiment.refresh()
        if number == 0 and batch == BATCHES // 2:
            experiment.pause("blue")
        if number == 1 and batch == 3 * BATCHES // 4:
            experiment.change(floor=0.1, burn_in=3)
    return rewarded


def in_children(job):
    """Run ``job(number)`` in as many children as there are workers; the numbers that they give."""
    children = []
    for number in range(WORKERS):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(writing, str(job(number)).encode())
                os._exit(0)
            except BaseException:  # noqa: BLE001 - the parent is to see it
                traceback.print_exc(file=sys.__stderr__)
            finally:
                os._exit(1)
        os.close(writing)
        children.append((child, reading))
    found = []
    for child, reading in children:
        with os.fdopen(reading) as pipe:
            text = pipe.read()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        found.append(int(text))
    return found


@exhaustive
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of a fork beside threads
def test_four_workers_lose_nothing_and_replay_identically(target):
    options = {"policy": "gaussian_ts", "arms": ARMS, "burn_in": 10, "draws": 30, "seed": 3, "durability": "normal"}
    experiment = live.create(target, "workers", refresh="1h", **options)
    stored = in_children(lambda number: work(experiment, number))
    fresh = live.open(target, "workers")
    version = fresh.refresh()
    counts = fresh.store.counts(fresh.row.id)
    n_shared = 2 * BATCHES
    assert counts.decisions == WORKERS * BATCHES * AT_ONCE - (WORKERS - 1) * n_shared
    assert counts.rewards == sum(stored)
    assert counts.learned == sum(stored) == version - 2
    assert counts.pending == counts.late == 0
    report = fresh.replay()
    assert report.is_identical, report.first
    assert report.decisions == counts.decisions
    assert report.versions > 50
    assert sum(fresh.state.rewards) == sum(stored)

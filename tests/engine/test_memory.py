import math
import subprocess
import sys
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from bandstrap import UCB1, simulate
from bandstrap.engine.simulator.feedback import Feedback
from bandstrap.engine.work import memory
from bandstrap.engine.work.memory import bytes_of_result, bytes_of_tape, check_memory
from bandstrap.environments import Gaussian, LinearBandit
from bandstrap.errors import InvalidInput


@pytest.mark.parametrize(
    ("environment", "features"),
    [(Gaussian(n_arms=3), 0), (LinearBandit(4, n_actions=3), 0), (LinearBandit(4, n_actions=3, contextual=True), 4)],
    ids=lambda value: str(value),
)
def test_no_tape_takes_more_than_said(environment, features):
    held = sum(part.nbytes for part in environment.tape(500, np.random.default_rng(0)))
    said = bytes_of_tape(environment.n_arms, 500, features)
    assert held <= said <= 4 * held


def test_nothing_that_is_late_takes_more_than_said():
    feedback, horizon = Feedback(delay="geom:p=0.1", lost=0.1), 100_000
    feedback.arrivals(10, 0, 0)  # what is made once
    tracemalloc.start()
    feedback.arrivals(horizon, 0, 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    tape = 2 * 8 * horizon  # the least there is beside: an arm, and what is chosen
    assert peak <= bytes_of_tape(1, horizon, is_late=True) - tape


def test_sizes_beyond_all_machine_integers_are_counted():
    assert bytes_of_tape(5, 10**30) == 96 * 10**30
    assert bytes_of_result(2, 10**20, 200, 5) == 2 * 3280 * 10**20


def test_what_is_not_there_is_refused_with_both_numbers(monkeypatch):
    monkeypatch.setattr(memory, "usable_memory", lambda: 16e9)
    check_memory(16 * 10**9, "horizon", "simulate", 10**8)
    with pytest.raises(InvalidInput) as refusal:
        check_memory(96 * 10**9, "horizon", "simulate", 10**9)
    assert str(refusal.value) == (
        "The 'horizon' parameter of simulate must be small enough for the 16 GB of memory available. "
        "Got 1000000000, which takes 96 GB, instead."
    )
    with pytest.raises(InvalidInput, match=r"Got 1\.00e\+6000, which takes 8\.00e\+5991 GB, instead\.$"):
        check_memory(8 * 10**6000, "horizon", "simulate", 10**6000)


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """A system that tells nothing, but for the files that a test puts there: a folder of the process, one of groups."""
    monkeypatch.setattr(memory, "memory_of_machine", lambda: math.inf)
    monkeypatch.setattr(memory, "resource", None)
    for name in ("PROCESS", "CONTROL_GROUPS"):
        monkeypatch.setattr(memory, name, tmp_path / name)
        (tmp_path / name).mkdir()
    return tmp_path


def test_a_machine_that_does_not_say_has_no_end_of_memory(monkeypatch):
    monkeypatch.delattr("os.sysconf")
    assert memory.memory_of_machine() == math.inf


@pytest.mark.usefixtures("bare")
def test_where_the_system_tells_nothing_nothing_is_refused():
    assert memory.usable_memory() == math.inf
    check_memory(10**30, "horizon", "simulate", 10**29)


def group(folder, file, text):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text(f"{text}\n")


@pytest.mark.parametrize(
    ("lines", "top", "file"),
    [
        ("0::/a/b\n", "", "memory.max"),
        ("5:cpu:/x\n4:memory,hugetlb:/a/b\n0::/\n", "memory", "memory.limit_in_bytes"),
    ],
    ids=["version 2", "version 1"],
)
def test_the_least_of_all_groups_counts(bare, lines, top, file):
    (bare / "PROCESS" / "cgroup").write_text(lines)
    groups = bare / "CONTROL_GROUPS" / top
    assert memory.usable_memory() == math.inf  # a container sees the name of its group, but not the folder
    group(groups, file, 8 * 10**9)
    assert memory.usable_memory() == 8e9
    group(groups / "a" / "b", file, "max")
    assert memory.usable_memory() == 8e9
    group(groups / "a", file, 3 * 10**9)
    assert memory.usable_memory() == 3e9
    group(groups / "a" / "b", file, 10**9)
    assert memory.usable_memory() == 1e9


LIMITED = """
import resource
from bandstrap.engine.work.memory import usable_memory
from bandstrap import UCB1, simulate
from bandstrap.environments import Gaussian
resource.setrlimit(getattr(resource, "{}"), (4 * 10**9,) * 2)
print(usable_memory())
try:
    simulate(UCB1(), Gaussian(), horizon=2 * 10**8, replications=1, seed=0)
except ValueError as error:
    print(error)
"""


@pytest.mark.parametrize("limit", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_the_limits_of_a_process_count_less_what_it_has_taken(limit):
    done = subprocess.run(
        [sys.executable, "-c", LIMITED.format(limit)], capture_output=True, text=True, check=True, timeout=300
    )
    left, refusal = done.stdout.splitlines()
    assert 1e9 < float(left) < 4e9 - 1e6
    assert refusal.endswith("Got 200000000, which takes 6.43 GB, instead.")


def test_small_needs_do_not_ask_the_system(monkeypatch):
    monkeypatch.setattr(memory, "usable_memory", lambda: pytest.fail("asked"))
    check_memory(memory.SMALL, "horizon", "simulate", 10)


class Crowded(Gaussian):
    """Rewards that count how many games draw at the same time, for so long that others come in between if they can."""

    def __init__(self, seconds):
        super().__init__([0.0, 1.0])
        self.now, self.most, self.lock = 0, 0, threading.Lock()
        self.seconds, self.is_crowded = seconds, threading.Event()

    def tape(self, horizon, rng):
        if horizon < 20_000:  # a few rounds, before anything is played
            return super().tape(horizon, rng)
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
            if self.most > 1:
                self.is_crowded.set()
        self.is_crowded.wait(self.seconds)
        with self.lock:
            self.now -= 1
        return super().tape(horizon, rng)


@pytest.mark.parametrize(("megabytes", "alone"), [(100, False), (2, True)])
def test_threads_wait_for_memory(monkeypatch, megabytes, alone):
    # A game of 20,000 rounds holds 960 kB, and three quarters of 2 MB are too little for two.
    world = Crowded(seconds=0.02 if alone else 10)
    monkeypatch.setattr(memory, "SMALL", 10_000)
    monkeypatch.setattr(memory, "usable_memory", lambda: 1e6 * megabytes)
    sizes = {"horizon": 20_000, "replications": 12, "seed": 1, "block_size": 1, "progress": False}
    with ThreadPoolExecutor(4) as pool:
        result = simulate(UCB1(), world, executor=pool, **sizes)
    assert (world.most == 1) == alone
    np.testing.assert_array_equal(result.regret, simulate(UCB1(), Gaussian([0.0, 1.0]), **sizes).regret)


def test_who_waits_for_memory_can_be_called_off(monkeypatch):
    monkeypatch.setattr(memory, "usable_memory", lambda: 1e9)
    room = memory.Room()

    def tick():
        raise KeyboardInterrupt

    with room.taken(10**10, tick):  # alone, it is not waited for
        with pytest.raises(KeyboardInterrupt), room.taken(10**8, tick):
            pytest.fail("there is no room")
        with room.taken(memory.SMALL, tick):
            pass
    with room.taken(7 * 10**8, tick):  # nothing is held any more
        pass

"""Compiling ahead: in another process, in order, whatever can be sent, and not when it is of no use."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from bandstrap.engine.work import ahead, pool
from bandstrap.engine.work.ahead import Ahead
from pieces import Sum, note_prepared, squares

TESTS = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    """Another process finds ``pieces`` as this one does."""
    monkeypatch.setenv("PYTHONPATH", ":".join([str(TESTS), *sys.path]))


def started(wholes):
    return Ahead(note_prepared, wholes)


def noted(folder):
    """What has been prepared, in order."""
    return [path.read_text() for path in sorted(folder.iterdir())]


def wait_for(condition):
    until = time.monotonic() + 300
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)
    assert condition()


@dataclass(frozen=True)
class Unsendable(Sum):
    def __reduce__(self):
        raise TypeError


def test_what_is_not_known_is_prepared_once_in_the_order_in_which_it_is_needed(tmp_path):
    needs = ["known", "a", None, "b", "a", "c"]
    work = [Sum(1, str(tmp_path), need) for need in needs]
    other = started([Unsendable(1, str(tmp_path), "lost"), *work])
    other.begin({None, "known"})
    wait_for(lambda: len(noted(tmp_path)) == 3)
    other.begin(set())
    assert other._process.wait() == 0
    other.end()
    assert noted(tmp_path) == ["a", "b", "c"]


def test_one_that_fails_does_not_keep_others_from_being_prepared(tmp_path):
    other = started([Sum(1, str(tmp_path / "none"), "a"), Sum(1, str(tmp_path), "b")])
    other.begin({None})
    assert other._process.wait() == 0
    assert noted(tmp_path) == ["b"]


@pytest.mark.parametrize("change", [(ahead, "fcntl", None), (sys, "executable", "")])
def test_without_locks_or_an_interpreter_there_is_none(tmp_path, monkeypatch, change):
    monkeypatch.setattr(*change)
    other = started([Sum(1, str(tmp_path), "a")])
    other.begin({None})
    other.end()
    assert other._process is None
    assert noted(tmp_path) == []


def test_nothing_to_prepare_starts_nothing(tmp_path):
    other = started([Sum(1, str(tmp_path), "a")])
    other.begin({None, "a"})
    other.end()
    assert other._process is None


@pytest.mark.parametrize(("jobs", "slow", "begins"), [(2, 0.0, True), (1, 0.0, False), (2, 60.0, False)])
def test_the_loop_begins_it_when_something_takes_long_and_ends_it(tmp_path, monkeypatch, jobs, slow, begins):
    asked, ended = [], []
    monkeypatch.setattr(Ahead, "begin", lambda self, known: asked.append(known))
    monkeypatch.setattr(Ahead, "end", lambda self: ended.append(True))
    monkeypatch.setattr(pool, "SLOW", slow)
    with ThreadPoolExecutor(jobs) as executor:
        pool.finish(
            [Sum(2, needs="a"), Sum(2, needs="b", race="another")],
            squares,
            prepare=lambda piece: wait_for(lambda: asked) if begins else time.sleep(0.5),
            executor=executor,
            progress=False,
        )
    assert bool(asked) == begins
    assert all("a" in known and "b" not in known for known in asked[:1])
    assert ended == [True]

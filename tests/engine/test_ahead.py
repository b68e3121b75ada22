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
    other = Ahead(note_prepared)
    other.begin([Unsendable(1, str(tmp_path), "lost"), *work], {None, "known"})
    wait_for(lambda: len(noted(tmp_path)) == 3)
    other.begin(work, set())
    assert other._process.wait() == 0
    other.end()
    assert noted(tmp_path) == ["a", "b", "c"]


def test_one_that_fails_does_not_keep_others_from_being_prepared(tmp_path):
    other = Ahead(note_prepared)
    other.begin([Sum(1, str(tmp_path / "none"), "a"), Sum(1, str(tmp_path), "b")], {None})
    assert other._process.wait() == 0
    assert noted(tmp_path) == ["b"]


@pytest.mark.parametrize("change", [(ahead, "fcntl", None), (sys, "executable", "")])
def test_without_locks_or_an_interpreter_there_is_none(tmp_path, monkeypatch, change):
    monkeypatch.setattr(*change)
    other = Ahead(note_prepared)
    other.begin([Sum(1, str(tmp_path), "a")], {None})
    other.end()
    assert other._process is None
    assert noted(tmp_path) == []


def test_nothing_to_prepare_starts_nothing(tmp_path):
    other = Ahead(note_prepared)
    other.begin([Sum(1, str(tmp_path), "a")], {None, "a"})
    other.end()
    assert other._process is None


def of_loop(works, monkeypatch, jobs, slow, prepare):
    """What the loop has prepared ahead, and what is known then; how often it ends the other process."""
    asked, ended = [], []
    monkeypatch.setattr(Ahead, "begin", lambda self, work, known: asked.append(([w.needs for w in work], known)))
    monkeypatch.setattr(Ahead, "end", lambda self: ended.append(True))
    monkeypatch.setattr(pool, "SLOW", slow)
    with ThreadPoolExecutor(jobs) as executor:
        pool.finish(works, squares, prepare=lambda piece: prepare(asked), executor=executor, progress=False)
    assert ended == [True]
    return asked


@pytest.mark.parametrize(("jobs", "slow"), [(1, 0.0), (2, 60.0)])
def test_the_loop_does_not_begin_it_without_a_free_core_or_while_all_is_fast(monkeypatch, jobs, slow):
    assert not of_loop([Sum(2, needs="a"), Sum(2, needs="b")], monkeypatch, jobs, slow, lambda asked: time.sleep(0.5))


def test_the_loop_begins_with_the_last_of_those_that_are_played_together(monkeypatch):
    works = [Sum(2, needs=need) for need in "abc"] + [Sum(2, needs=need, race="another") for need in "de"]
    asked = of_loop(works, monkeypatch, 2, 0.0, lambda asked: wait_for(lambda: asked))
    assert asked[0] == ([*"cb", *"abcde"], {None, "a"})

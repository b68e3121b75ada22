"""Lines for a log, a bar for a terminal, nothing where nothing can be written."""

import io
import re
import sys
import time

import pytest

from bandstrap.engine.work import progress
from bandstrap.engine.work.pool import finish
from bandstrap.engine.work.progress import Lines, announce_memory, announced, is_terminal, progress_bar, tell, write


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is told."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_short_work_is_not_spoken_of(clock, capsys):
    show = Lines(100, "replications")
    for _ in range(100):
        clock[0] += 0.0199
        show(1)
    assert capsys.readouterr() == ("", "")


def test_long_work_has_a_line_at_the_start_and_one_at_every_tenth(clock, capsys):
    show = Lines(1000, "replications")
    clock[0] += 1
    show(0, "preparing ucb1")
    clock[0] += 2
    show(0, "compiling ucb1")
    show(0, "compiling ucb1")
    for _ in range(1000):
        clock[0] += 0.1
        show(1)
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert lines[0] == "0 of 1000 replications after 3 s; compiling ucb1"
    assert lines[1] == "100 of 1000 replications after 13 s, about 117 s left"
    assert lines[-1] == "1000 of 1000 replications after 103 s"
    assert len(lines) == 11


def test_tenths_that_go_by_fast_are_not_all_spoken_of(clock, capsys):
    show = Lines(1000, "replications")
    clock[0] += 2
    for _ in range(1000):
        clock[0] += 0.005
        show(1)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("1 of 1000 replications after 2 s")
    assert lines[-1] == "1000 of 1000 replications after 7 s"
    assert len(lines) == 4


def test_slow_work_is_heard_of_every_minute(clock, capsys):
    show = Lines(100, "replications")
    for _ in range(190):
        clock[0] += 1
        show(0, "waiting")
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" after ")[1] for line in lines] == [f"{s} s; waiting" for s in (2, 62, 122, 182)]


def test_what_was_done_before_says_nothing_about_the_time_left(clock, capsys):
    show = Lines(100, "replications")
    show(80, found=80)
    clock[0] += 10
    show(2)
    assert capsys.readouterr().err == "82 of 100 replications after 10 s, about 90 s left\n"
    clock[0] += 10
    show(8, found=8)
    assert capsys.readouterr().err == "90 of 100 replications after 20 s, about 100 s left\n"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_sees_what_is_compiled_and_how_long_it_has_taken(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")

    class Slow:
        work, group, race, needs, label, about = 1, 0, 0, "compiler", "slow_policy", {}

        def cut(self):
            yield self

        def record(self):
            return self

        def put(self, piece, outcome):
            pass

    said = re.compile(r"compiling slow_policy, \d+ s so far \(ten seconds or so, the first time only\)")

    def prepare(piece):
        until = time.monotonic() + 300
        while not said.search(screen.getvalue()) and time.monotonic() < until:
            time.sleep(0.05)

    finish([Slow()], lambda pieces: [None], prepare=prepare)
    seen = screen.getvalue()
    assert "preparing slow_policy" in seen
    assert said.search(seen)
    assert "1/1" in seen


def test_a_terminal_is_told_what_is_waited_for_once_it_takes_long(monkeypatch, capsys):
    with announced("compiling", after=0.0):
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")  # nobody looks
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with announced("compiling", after=30.0):
        pass
    assert screen.getvalue() == ""
    with pytest.raises(OverflowError), announced("compiling", after=0.0):
        time.sleep(0.05) or int(float("inf"))
    said, gone = screen.getvalue().split("compiling")
    assert said == "\r"
    assert gone.strip() == ""  # and wiped out again


def test_a_run_that_takes_much_memory_says_so_on_a_terminal(monkeypatch, capsys):
    announce_memory(3 * 10**9, shown=True)
    assert capsys.readouterr() == ("", "")  # nobody looks
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    announce_memory(3 * 10**9, shown=False)
    announce_memory(10**8, shown=True)
    assert screen.getvalue() == ""
    announce_memory(3 * 10**9, shown=True)
    assert screen.getvalue() == "this takes about 3 GB of memory\n"


@pytest.mark.parametrize("stream", [None, io.StringIO()], ids=["none", "closed"])
def test_nothing_is_lost_where_nothing_can_be_written(monkeypatch, clock, stream):
    if stream is not None:
        stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    assert not is_terminal()
    write("x")
    tell("x")
    announce_memory(3 * 10**9, shown=True)
    with progress_bar(10, shown=True) as show:
        clock[0] += 5
        show(5)


def test_no_work_and_unwanted_progress_are_silent(capsys, clock):
    for total, shown in ((0, True), (10, False)):
        with progress_bar(total, shown=shown) as show:
            clock[0] += 10
            show(5)
    assert capsys.readouterr() == ("", "")

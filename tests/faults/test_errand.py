"""What work brings along to another process, and how that gets ready for it; in one process, as if it were another."""

import contextlib
import copyreg
import pickle
import sys
import threading

import pytest

from bandstrap.basics.sources import Code, code_here
from bandstrap.engine.compiler.locks import end_turn, lock_of, take_turn, taking_turns
from bandstrap.engine.simulator.own_file import load_file
from bandstrap.engine.work import dispatch as errand
from bandstrap.engine.work.dispatch import RemoteTaskCall, TaskCall, UnfitWorker, WorkerError, nothing
from bandstrap.engine.work.interrupts import Task
from bandstrap.errors import InvalidInput
from pieces import Number, Odd, count_prepared, odd_error, squares

PATIENCE = 300


def sent(run, pieces, prepare=nothing):
    """Work as it arrives elsewhere."""
    return pickle.loads(pickle.dumps(TaskCall(Task(), run, prepare, pieces)))  # noqa: S301 - our own bytes


def test_it_is_done_where_it_arrives():
    parcel = sent(squares, [Number(3), Number(4)])
    assert isinstance(parcel, RemoteTaskCall)
    assert parcel() == pickle.loads(pickle.dumps(parcel))() == [9, 16]  # noqa: S301 - our own bytes


def test_a_process_gets_ready_once_for_all_that_need_the_same(tmp_path):
    for i in range(3):
        pieces = [Number(i, str(tmp_path), needs=f"{tmp_path.name}-{need}") for need in "ab"]
        assert sent(squares, pieces, count_prepared)() == [i**2, i**2]
    prepared = list(tmp_path.glob("prepared-*"))
    assert len(prepared) == 2
    assert {file.read_text() for file in prepared} == {"x"}


def from_itself(pieces):
    first, second = ZeroDivisionError("one"), ValueError("two")
    first.__cause__ = second
    raise second from first


def divided(pieces):
    return [1 / 0 for _ in pieces]


@pytest.fixture
def plainly_sent(monkeypatch):
    """Errors are sent as Python does it: what dask brings along teaches those that are there how to arrive."""
    monkeypatch.delitem(copyreg.dispatch_table, Odd, raising=False)


@pytest.mark.parametrize(("run", "n_causes"), [(odd_error, 1), (from_itself, 1), (divided, 0)])
@pytest.mark.usefixtures("plainly_sent")
def test_the_causes_of_an_error_come_to_an_end(run, n_causes):
    """Dask follows them, in the worker."""
    with pytest.raises(Exception, match=r"that|two|zero") as seen:
        sent(run, [Number(1)])()
    error, found = seen.value, 0
    while error.__cause__ is not None and found < 10:
        error, found = error.__cause__, found + 1
    assert found == n_causes


def test_who_needs_something_else_does_not_wait(tmp_path):
    begun, end = threading.Event(), threading.Event()

    def long(piece):
        begun.set()
        assert end.wait(PATIENCE)

    first = threading.Thread(target=errand.make_ready, args=(long, Number(0, needs=f"{tmp_path}-long")))
    first.start()
    try:
        assert begun.wait(PATIENCE)
        errand.make_ready(nothing, Number(0, needs=f"{tmp_path}-short"))
        second = threading.Thread(target=errand.make_ready, args=(pytest.fail, Number(0, needs=f"{tmp_path}-long")))
        second.start()
        second.join(0.1)
        assert second.is_alive()
    finally:
        end.set()
        first.join()
    second.join(PATIENCE)
    assert not second.is_alive()


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (
            Code("bandstrap 0.0.1 (numpy 1)", "a"),
            r"A worker on .* has bandstrap .*, where bandstrap 0\.0\.1 \(numpy 1\) ",
        ),
        (Code(code_here().said, "a"), r"A worker on .* has other files of the same version, where bandstrap "),
    ],
)
def test_other_code_is_refused(code, says):
    parcel = sent(squares, [Number(3)])
    with pytest.raises(UnfitWorker, match=says):
        RemoteTaskCall(code, parcel.ahead, parcel.content)()


def test_ones_own_files_come_first_and_an_edited_one_is_missed(tmp_path, monkeypatch):
    file = tmp_path / "mine.py"
    file.write_text("class Piece:\n    label, needs, i = 'mine', None, 5\n")
    module = load_file(file)
    parcel = sent(squares, [module.Piece()])
    monkeypatch.delitem(sys.modules, module.__name__)  # as in a process that has not loaded it
    assert parcel() == [25]
    monkeypatch.delitem(sys.modules, module.__name__)
    file.write_text("class Piece:\n    label, needs, i = 'mine', None, 6\n")
    with pytest.raises(UnfitWorker, match=r"lacks what the work needs .*same path, unchanged since the run began\."):
        parcel()
    file.unlink()
    with pytest.raises(UnfitWorker, match=r"lacks what the work needs"):
        parcel()


def test_what_cannot_be_sent_is_refused_in_a_sentence():
    lock = threading.Lock()  # which dask and loky, once they are loaded, cannot send either
    with pytest.raises(InvalidInput, match=r"number 3 cannot be sent to another process .* played in threads\."):
        pickle.dumps(TaskCall(Task(), lambda pieces: [lock], nothing, [Number(3)]))


@pytest.mark.usefixtures("plainly_sent")
def test_an_error_that_would_not_arrive_is_told_in_words():
    with pytest.raises(WorkerError, match=r"^Odd: this and that$"):
        sent(odd_error, [Number(3)])()


def test_every_errand_is_another_to_dask():
    one = TaskCall(Task(), squares, nothing, [Number(3)])
    assert one.__dask_tokenize__() != one.__dask_tokenize__()


# --- one compiles, the others wait --------------------------------------------------------------------------------------


def test_one_compiles_and_the_others_wait_for_it(tmp_path):
    file = tmp_path / "code.nbc"
    taken, end = threading.Event(), threading.Event()
    found = []

    def compile_it():
        with taking_turns():
            found.append(take_turn(file))
            taken.set()
            assert end.wait(PATIENCE)
            file.touch()
            end_turn(file)

    def load_it():
        with taking_turns():
            found.append(take_turn(file) and file.exists())

    first = threading.Thread(target=compile_it)
    first.start()
    assert taken.wait(PATIENCE)
    second = threading.Thread(target=load_it)
    second.start()
    second.join(0.2)
    assert second.is_alive()
    end.set()
    first.join(PATIENCE)
    second.join(PATIENCE)
    assert found == [False, True]
    assert not lock_of(file).exists()


def test_who_cannot_compile_it_keeps_nobody_waiting(tmp_path):
    file = tmp_path / "code.nbc"
    with contextlib.suppress(ZeroDivisionError), taking_turns():
        assert not take_turn(file)
        raise ZeroDivisionError
    assert not lock_of(file).exists()
    with taking_turns():
        assert not take_turn(file)
        assert not take_turn(file)  # it is ours already
    assert not take_turn(file)  # who takes no turns waits for none

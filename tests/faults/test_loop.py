"""The loop over work, in one process: signals at any time, linear cost, flat memory, executors that fail."""

import gc
import os
import pickle
import random
import signal
import sys
import threading
import time
import tracemalloc
from collections import deque
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context

import pytest

from bandstrap.engine.work.dispatch import TaskCall
from bandstrap.engine.work.interrupts import GRACE, CalledOff, Quit, Task, answered, listening, step
from bandstrap.engine.work.pool import IN_FLIGHT, Loop, finish
from bandstrap.errors import InvalidInput
from pieces import Number
from pieces import Sum as Numbers
from sampling import each, exhaustive
from stops import python_handles

PATIENCE = 300  # seconds after which something hangs; no test passes or fails by how long it took


class Sum(Numbers):
    """The squares of the numbers below ``n``, of which only the sum is kept."""

    def record(self):
        return Total()


class Total:
    """A sum that keeps no part of it."""

    def __init__(self):
        self.total = self.count = 0

    def put(self, piece, outcome):
        assert outcome == piece.i**2
        self.total += outcome
        self.count += 1


def squares(pieces):
    step()
    return [piece.i**2 for piece in pieces]


class AtOnce(Executor):
    """Does everything at once, in this thread."""

    _max_workers = 2

    def submit(self, fn, /, *args, **kwargs):
        future: Future = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001 - as executors do
            future.set_exception(error)
        return future


def total(n, run=squares, **options):
    whole = Sum(n)
    return finish([whole], run, progress=False, **options)[whole].total


def square_sum(n):
    return sum(i**2 for i in range(n))


@pytest.fixture(autouse=True)
def handled():
    """Python's own handler of Ctrl-C, and the same handlers after as before."""
    with python_handles():
        before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
        yield
        assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


@each("n", [0, 1, 2, 100])
@each("executor", [None, AtOnce()], ids=["threads", "at once"])
def test_everything_is_done_once(n, executor):
    assert total(n, executor=executor) == square_sum(n)


def test_what_the_store_has_is_neither_prepared_nor_done():
    class Full:
        def load(self, piece):
            return piece.i**2

    whole = Sum(9, needs="compiler")
    found = finish([whole], pytest.fail, prepare=pytest.fail, store=Full(), progress=False)
    assert found[whole].total == square_sum(9)


def test_what_is_needed_is_prepared_once_and_before():
    prepared = []

    def run(pieces):
        assert all(piece.needs in prepared for piece in pieces)
        return squares(pieces)

    wholes = [Sum(5, needs="a"), Sum(7, needs="b"), Sum(6, race="other", needs="a")]
    finish(wholes, run, prepare=lambda piece: prepared.append(piece.needs), progress=False)
    assert prepared == ["a", "b"]


# --- signals ------------------------------------------------------------------------------------------------------------


def press(times=1, number=signal.SIGINT):
    for _ in range(times):
        os.kill(os.getpid(), number)


@contextmanager
def without_waiting():
    """What goes on until the context ends, which nobody shall wait for."""
    end, has_ended = threading.Event(), []

    def goes_on():
        end.wait(PATIENCE)
        has_ended.append(True)

    try:
        yield goes_on
        assert not has_ended
    finally:
        end.set()


@each("times", [1, 2, 3])
@each("executor", [None, AtOnce()], ids=["threads", "at once"])
def test_a_signal_ends_it_and_what_is_finished_is_there(executor, times):
    whole = Sum(10**9)
    record = Total()

    def run(pieces):
        if pieces[0].i == 20:
            press(times)
        return squares(pieces)

    with pytest.raises(KeyboardInterrupt):
        finish([whole], run, executor=executor, records={whole: record}, progress=False)
    assert 15 <= record.count < whole.n


def test_a_signal_calls_off_work_that_takes_long_between_two_steps():
    steps = []

    def run(pieces):
        press()
        while True:
            steps.append(pieces)
            time.sleep(0.01)
            step()

    with pytest.raises(KeyboardInterrupt):
        total(1, run)
    seen = len(steps)
    time.sleep(0.1)
    assert len(steps) <= seen + 1  # nobody goes on, once the step under way is done


def test_a_step_that_takes_long_is_not_waited_for_in_threads():
    def run(pieces, goes_on):
        press()
        goes_on()
        return squares(pieces)

    with without_waiting() as goes_on, pytest.raises(KeyboardInterrupt):
        total(1, lambda pieces: run(pieces, goes_on))


def test_another_executor_is_waited_for_unless_there_is_a_second_signal(monkeypatch):
    class Elsewhere(Executor):
        """Threads that cannot be called off, as processes cannot."""

        def __init__(self):
            self.pool = ThreadPoolExecutor(2)

        def submit(self, fn, /, *args, **kwargs):
            return self.pool.submit(TaskCall(Task(), fn.run, fn.prepare, fn.pieces))

    def run(pieces):
        if pieces[0].i == 0:
            press()
            press()  # by the same impatient hand
            time.sleep(2 * GRACE)  # longer than threads are waited for
        return squares(pieces)

    whole, record = Sum(1), Total()
    with pytest.raises(KeyboardInterrupt):
        finish([whole], run, executor=Elsewhere(), records={whole: record}, progress=False)
    assert record.count == 1

    winding_up, wind_up = threading.Event(), Loop._wind_up
    monkeypatch.setattr(Loop, "_wind_up", lambda loop: [winding_up.set(), wind_up(loop)])

    def stuck(pieces, goes_on):
        press()
        press()  # by the same impatient hand
        assert winding_up.wait(PATIENCE)
        time.sleep(1.5 * GRACE)
        press()
        goes_on()
        return squares(pieces)

    with without_waiting() as goes_on, pytest.raises(KeyboardInterrupt):
        total(1, lambda pieces: stuck(pieces, goes_on), executor=Elsewhere())


def test_a_compiler_is_not_waited_for():
    def prepare(goes_on):
        press()
        goes_on()

    with without_waiting() as goes_on, pytest.raises(KeyboardInterrupt):
        finish([Sum(5, needs="compiler")], squares, prepare=lambda piece: prepare(goes_on), progress=False)


@pytest.mark.parametrize("executor", [None, AtOnce()], ids=["threads", "at once"])
def test_a_signal_in_a_loop_within_a_loop_ends_both(executor):
    def outer(pieces):
        def inner(parts):
            if parts[0].i == 3:
                press()
            return squares(parts)

        total(10**9, inner, executor=executor)
        raise AssertionError("the inner loop ended by itself")

    with pytest.raises(KeyboardInterrupt):
        total(10**9, outer, executor=executor)


def test_an_ignored_signal_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:

        def run(pieces):
            press()
            return squares(pieces)

        assert total(20, run) == square_sum(20)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def test_a_handler_of_the_calling_program_stays_in_charge():
    seen = []
    signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:

        def run(pieces):
            press()
            return squares(pieces)

        assert total(20, run, executor=AtOnce()) == square_sum(20)
        assert len(seen) == 20
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def test_an_interrupt_that_comes_to_nothing_is_heard_again(monkeypatch):
    """One that is raised in a callback of the garbage collector goes no further than there."""
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    stops, pressed = Quit(), []

    def collecting(phase, info):
        if not pressed:
            pressed.append(phase)
            press()

    before = signal.getsignal(signal.SIGTERM)
    stops.install()
    gc.callbacks.append(collecting)
    try:
        gc.collect()
        with pytest.raises(KeyboardInterrupt):
            deque(iter(lambda: time.sleep(0.01), "never"), maxlen=0)
    finally:
        gc.callbacks.remove(collecting)
        signal.signal(signal.SIGTERM, before)
        signal.signal(signal.SIGINT, signal.default_int_handler)
    assert pressed == ["start"]
    assert stops.exit_code == 130


def test_sigterm_is_left_alone_unless_the_program_wants_to_quit_by_it(monkeypatch):
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)

    def handler_inside():
        with listening(lambda number: None):
            return signal.getsignal(signal.SIGTERM)

    assert handler_inside() is signal.getsignal(signal.SIGTERM)
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    stops = Quit()
    try:
        stops.install()
        assert handler_inside() is not stops

        def run(pieces):
            press(number=signal.SIGTERM)
            return squares(pieces)

        with pytest.raises(KeyboardInterrupt):
            total(10**9, run)
        assert stops.exit_code == 143
    finally:
        signal.signal(signal.SIGTERM, before)
        signal.signal(signal.SIGINT, signal.default_int_handler)


def test_another_thread_works_too():
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(total, 50).result() == square_sum(50)
        assert pool.submit(answered, lambda: 3).result() == 3


def test_a_long_call_is_answered():
    def long(goes_on):
        press()
        goes_on()

    with without_waiting() as goes_on, pytest.raises(KeyboardInterrupt):
        answered(long, goes_on)
    assert answered(sum, [1, 2]) == 3
    with pytest.raises(ZeroDivisionError):
        answered(lambda: 1 / 0)


def test_a_task_that_was_copied_is_never_called_off():
    task = Task()
    task.called_off.up = True
    with pytest.raises(CalledOff):
        task(squares, [Number(3)])
    assert pickle.loads(pickle.dumps(task))(squares, [Number(3)]) == [9]  # noqa: S301 - our own bytes


@exhaustive
def test_thousands_of_signals_at_any_time_hang_nothing():
    """A sender fires at the loop from when it begins until it ends; every run must end, by the first signal it hears."""
    rng = random.Random(12)  # noqa: S311 - no secret
    n_runs = int(os.environ.get("BANDSTRAP_STOPS", "3")) * 40
    sent = 0
    for _ in range(n_runs):
        n_signals, pause = rng.randint(1, 25), rng.uniform(0, 0.002)
        begun, over = threading.Event(), threading.Event()

        def fire(n_signals=n_signals, pause=pause, begun=begun, over=over):
            begun.wait()
            for _ in range(n_signals):
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(pause)
            over.set()

        sender = threading.Thread(target=fire, daemon=True)
        sender.start()
        ended = False
        while not over.is_set():  # a signal may come just before the loop listens, or just after
            try:
                begun.set()
                if not ended:
                    total(10**9, executor=rng.choice([None, AtOnce()]))
                over.wait(0.01)
            except KeyboardInterrupt:
                ended = True
        sender.join()
        sent += n_signals
    assert sent > 10 * n_runs


# --- executors that fail ------------------------------------------------------------------------------------------------


def test_an_error_reaches_the_caller_and_the_others_are_called_off():
    whole, record = Sum(10**9), Total()

    def run(pieces):
        if pieces[0].i == 30:
            raise ZeroDivisionError
        return squares(pieces)

    with pytest.raises(ZeroDivisionError):
        finish([whole], run, records={whole: record}, progress=False)
    assert 25 <= record.count < 100


def test_an_executor_that_was_shut_is_refused():
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(InvalidInput, match=r"The executor has been shut down: it takes no more work\."):
        total(3, executor=pool)


def die(pieces):
    os._exit(1)


@exhaustive
def test_a_worker_that_dies_is_told_in_a_sentence():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        with pytest.raises(BrokenExecutor, match=r"A worker of the executor has died, .* is kept\."):
            total(3, die, executor=pool)
        with pytest.raises(BrokenExecutor, match=r"A worker of the executor has died"):
            total(3, executor=pool)


# --- cost ---------------------------------------------------------------------------------------------------------------


def calls_of(n):
    """Calls of functions while ``n`` pieces are done."""
    count = 0

    def watch(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(watch)
    try:
        total(n, executor=AtOnce())
    finally:
        sys.setprofile(None)
    return count


def test_twice_the_pieces_cost_twice_the_calls():
    assert calls_of(1600) <= 2.05 * calls_of(800)


def peak_of(n):
    """Most bytes held while ``n`` pieces are done."""
    gc.collect()
    tracemalloc.start()
    try:
        total(n, executor=AtOnce())
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@exhaustive
def test_memory_does_not_depend_on_the_number_of_pieces():
    peak_of(100)
    few, many = peak_of(500), peak_of(5000)
    assert many < few + 20_000


def test_few_groups_are_in_flight():
    asked = []
    gate = threading.Event()

    class Watched(Sum):
        def cut(self):
            for piece in super().cut():
                asked.append(piece)
                yield piece

    def run(pieces):
        gate.wait(PATIENCE)
        return squares(pieces)

    threading.Timer(0.5, gate.set).start()
    whole = Watched(500)
    seen = []
    threading.Timer(0.4, lambda: seen.append(len(asked))).start()
    with ThreadPoolExecutor(2) as pool:
        finish([whole], run, executor=pool, progress=False)
    assert seen == [2 * IN_FLIGHT]

"""Garbage is collected seldom while something is compiled, and as before afterwards, whatever happens meanwhile."""

import gc
import threading
from contextlib import suppress

import pytest

from bandstrap import UCB1
from bandstrap.engine.compiler import collecting, machine
from bandstrap.engine.compiler.collecting import SELDOM, collecting_seldom
from sampling import each


@pytest.fixture(autouse=True)
def thresholds():
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@each(("before", "inside"), [(700, SELDOM), (0, 0), (SELDOM + 1, SELDOM + 1)])
def test_collections_are_seldom_inside_and_as_before_outside(before, inside):
    gc.set_threshold(before, 7, 8)
    with suppress(KeyboardInterrupt), collecting_seldom():
        assert gc.get_threshold() == (inside, 7, 8)
        with collecting_seldom():
            pass
        assert gc.get_threshold() == (inside, 7, 8)
        raise KeyboardInterrupt
    assert gc.get_threshold() == (before, 7, 8)


def test_the_last_of_several_threads_puts_it_back():
    gc.set_threshold(700, 7, 8)
    inside, done = threading.Event(), threading.Event()

    def compiling():
        with collecting_seldom():
            inside.set()
            done.wait()

    with collecting_seldom():
        thread = threading.Thread(target=compiling)
        thread.start()
        inside.wait()
    assert gc.get_threshold() == (SELDOM, 7, 8)
    done.set()
    thread.join()
    assert gc.get_threshold() == (700, 7, 8)


def test_a_collection_ends_an_abandoned_context_while_another_begins():
    """As a collection may come at any moment, it may come where the lock is held by the same thread."""
    gc.set_threshold(700, 7, 8)

    def abandon_and_collect():
        context = collecting_seldom()
        context.__enter__()
        context.itself = context  # so that a collection alone finds it
        del context
        with collecting._lock:
            gc.collect()

    thread = threading.Thread(target=abandon_and_collect, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    assert gc.get_threshold() == (700, 7, 8)


def test_a_live_policy_is_compiled_so(monkeypatch):
    gc.set_threshold(700, 7, 8)
    found = []
    compiled_hold = machine.compiled_hold
    monkeypatch.setattr(
        machine, "compiled_hold", lambda kernel: found.append(gc.get_threshold()) or compiled_hold(kernel)
    )
    UCB1(arms=2, rng=0, compiled=True)
    assert found == [(SELDOM, 7, 8)]
    assert gc.get_threshold() == (700, 7, 8)

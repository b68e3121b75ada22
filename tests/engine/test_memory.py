import math

import numpy as np
import pytest

from bandstrap.engine import memory
from bandstrap.engine.memory import bytes_of_result, bytes_of_tape, check_memory
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


def test_sizes_beyond_all_machine_integers_are_counted():
    assert bytes_of_tape(5, 10**30) == 96 * 10**30
    assert bytes_of_result(2, 10**20, 200, 5) == 3280 * 10**20


def test_what_the_machine_has_not_got_is_refused_with_both_numbers(monkeypatch):
    monkeypatch.setattr(memory, "memory_of_machine", lambda: 16e9)
    check_memory(16 * 10**9, "horizon", "simulate", 10**8)
    with pytest.raises(InvalidInput) as refusal:
        check_memory(96 * 10**9, "horizon", "simulate", 10**9)
    assert str(refusal.value) == (
        "The 'horizon' parameter of simulate must be small enough for the 16 GB of memory there are. "
        "Got 1000000000, which takes 96 GB, instead."
    )


def test_where_the_system_tells_nothing_nothing_is_refused(monkeypatch):
    monkeypatch.delattr("os.sysconf")
    assert memory.memory_of_machine() == math.inf
    check_memory(10**30, "horizon", "simulate", 10**29)

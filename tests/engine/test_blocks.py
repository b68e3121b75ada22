"""Tapes that do not fit are refused; means may change by round."""

import numpy as np
import pytest

from bandstrap import OFUL, UCB1, UniformRandom, simulate
from bandstrap.engine.simulator.tape import draw_tape
from bandstrap.errors import InvalidInput
from sampling import each


class World:
    """A user's environment: whatever the tape is made of."""

    n_arms = 3
    offers = ("arms",)
    support = (-np.inf, np.inf)
    label = "world"

    def __init__(self, tape):
        self._tape = tape

    def tape(self, horizon, rng):
        return self._tape(horizon, rng)


def normal(horizon, rng):
    return np.zeros(3), rng.normal(size=(3, horizon))


def changed(**parts):
    """A normal tape with means or rewards replaced by a function of both."""

    def tape(horizon, rng):
        means, rewards = normal(horizon, rng)
        means = parts.get("means", lambda m, r: m)(means, rewards)
        return means, parts.get("rewards", lambda m, r: r)(means, rewards)

    return tape


def with_nan(values):
    values.flat[1] = np.nan
    return values


@each(
    ("tape", "message"),
    [
        (changed(rewards=lambda m, r: r.T), r"'rewards' parameter of the environment world must be one row per arm"),
        (changed(rewards=lambda m, r: with_nan(r)), r"'rewards' parameter .* must be finite. Got nan at \(0, 1\)"),
        (
            changed(rewards=lambda m, r: r[:, :-1]),
            r"'rewards' parameter .* one row per arm, shape \(3, \d+\)\. Got shape",
        ),
        (changed(rewards=lambda m, r: np.full(r.shape, "a")), r"'tape' parameter .* made of numbers"),
        (changed(means=lambda m, r: with_nan(m)), r"'means' parameter .* must be finite. Got nan at \(1,\)"),
        (
            changed(means=lambda m, r: m[:2]),
            r"'means' parameter .* one per arm, shape \(3,\), or one per round and arm",
        ),
        (changed(means=lambda m, r: np.zeros((2, 3))), r"'means' parameter .* where they change\. Got shape \(2, 3\)"),
        (changed(means=lambda m, r: np.zeros((3, r.shape[1]))), r"'means' parameter .* where they change\. Got shape"),
        (lambda horizon, rng: np.zeros((3, horizon)), r"shape|pair"),
        (lambda horizon, rng: None, r"'tape' parameter .* a pair of means and rewards"),
    ],
)
def test_a_tape_that_does_not_fit_is_refused_in_a_sentence(tape, message):
    with pytest.raises(InvalidInput, match=message):
        simulate(UCB1(), World(tape), horizon=20, replications=2, seed=1, progress=False)


class WorldOfActions(World):
    offers = ("actions",)
    dimension = 2


@each("delay", [0, 3])
@each(
    ("shape", "by_round", "message"),
    [
        ((2, 3, 2), True, r"one set of actions per round, shape \(\d+, 3, features\)\. Got shape \(2, 3, 2\)"),
        ((20, 3, 2), False, r"one set of actions for all rounds, shape \(1, 3, features\)\. Got shape \(20, 3, 2\)"),
        ((1, 2, 2), False, r"shape \(1, 3, features\)\. Got shape \(1, 2, 2\)"),
        ((1, 3), False, r"shape \(1, 3, features\)\. Got shape \(1, 3\)"),
        (None, False, r"shape \(1, 3, features\)\. Got none"),
    ],
)
def test_actions_that_compiled_play_would_look_for_in_vain_are_refused(shape, by_round, message, delay):
    """Nobody checks there whether there are so many: it would play on with whatever comes next in memory."""

    def tape(horizon, rng):
        means, rewards = normal(horizon, rng)
        sets = [] if shape is None else [np.ones(shape)]
        return np.zeros((horizon, 3)) if by_round else means, rewards, *sets

    with pytest.raises(InvalidInput, match=rf"'actions' parameter of the environment world must be .*{message}"):
        simulate(OFUL(), WorldOfActions(tape), horizon=20, replications=2, seed=1, progress=False, delay=delay)


def test_whole_numbers_and_other_memory_orders_are_taken():
    world = World(lambda horizon, rng: ([0, 1, 2], np.asfortranarray(rng.integers(0, 5, (3, horizon)))))
    means, rewards = draw_tape(world, 10, np.random.default_rng(0))
    assert means.dtype == rewards.dtype == np.float64
    assert rewards.flags.c_contiguous


def test_means_that_change_by_round_are_met_and_charged_by_round():
    """Rewards without noise on means that swap half-way: regret is that of the round, rewards are those of the round."""

    def swapping(horizon, rng):
        means = np.zeros((horizon, 3))
        means[: horizon // 2, 0] = 1.0
        means[horizon // 2 :, 2] = 1.0
        return means, means.T

    result = simulate(
        [UniformRandom(), UCB1(sigma=1e-3)], World(swapping), horizon=200, replications=4, seed=1, progress=False
    )
    by_ucb = result.mean[1]
    places = {int(mark): value for mark, value in zip(result.checkpoints, by_ucb, strict=True)}
    assert places[100] <= 5  # it finds the first arm, and stays with it ...
    assert places[110] - places[100] >= 9  # ... when it has stopped paying
    assert 100 < result.mean[0, -1] < 170  # two of three arms are wrong, whenever

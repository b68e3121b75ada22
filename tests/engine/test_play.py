"""``play`` itself and the random streams, with a policy small enough to check by hand."""

from typing import NamedTuple

import numpy as np
import pytest

from bandstrap.engine.compiler.compiled import compiled
from bandstrap.engine.compiler.identity import identify
from bandstrap.engine.compiler.steps import highest_score, select, select_action
from bandstrap.engine.simulator.play import Game, compiled_play, loop, play
from bandstrap.engine.simulator.streams import ENVIRONMENT, POLICY, stream
from bandstrap.policies import LINEAR_POLICIES, MOSS, POLICIES, UCB1
from bandstrap.policies.linear.linear_bootstrapped_ucb import KERNELS as BOOTSTRAPPED
from sampling import each


class Pulls(NamedTuple):
    """A state of so many arms."""

    pulls: list[int]


class Recorder:
    """A kernel that pulls arms in a given order and notes what it is told."""

    def __init__(self, plan):
        self.plan = list(plan)
        self.told = []

    def choose(self, params, state, round_, rng):
        return self.plan[round_ - 1]

    def learn(self, params, state, arm, reward, round_, rng):
        self.told.append((arm, reward, round_))


def test_pull_number_i_of_an_arm_gets_entry_i_of_its_row():
    kernel = Recorder([None, None, 1, 0, 1, 1])
    tape = np.arange(12.0).reshape(2, 6)
    choices = np.full(6, -1)
    play(kernel, Game.begin(None, Pulls([0] * 2), tape, choices, 1), None)
    assert choices.tolist() == [0, 1, 1, 0, 1, 1]
    assert kernel.told == [(0, 0.0, 1), (1, 6.0, 2), (1, 7.0, 3), (0, 1.0, 4), (1, 8.0, 5), (1, 9.0, 6)]


@pytest.mark.parametrize("n_initial", [1, 2, 3])
def test_the_first_rounds_pull_the_arms_in_turn(n_initial):
    kernel = Recorder([0] * 20)
    choices = np.full(20, -1)
    play(kernel, Game.begin(None, Pulls([0] * 4), np.zeros((4, 20)), choices, n_initial), None)
    assert choices[: 4 * n_initial].tolist() == [0, 1, 2, 3] * n_initial
    assert choices[4 * n_initial :].tolist() == [0] * (20 - 4 * n_initial)


class Scores:
    choose = None

    def __init__(self, values):
        self.values = values

    def prepare(self, params, state, round_):
        return round_

    def score(self, params, state, arm, shared, rng):
        return self.values[arm]


class Order:
    def __init__(self, order):
        self.order = np.array(order)


@each(
    ("values", "order", "expected"),
    [
        ([1.0, 3.0, 2.0], [0, 1, 2], 1),
        ([1.0, 1.0, 1.0], [2, 0, 1], 2),
        ([1.0, 2.0, 2.0], [0, 2, 1], 2),
        ([-np.inf, -np.inf], [1, 0], 1),
        ([np.inf, np.inf], [1, 0], 1),
        ([5.0], [0], 0),
    ],
)
def test_highest_score_wins_and_the_order_breaks_ties(values, order, expected):
    assert highest_score(Scores(values), None, Order(order), 5, None, [0, 0]) == expected
    assert select(Scores(values), None, Order(order), 5, None, [0, 0]) == expected


def test_play_is_compiled_once_for_a_kernel_and_releases_the_gil():
    built = compiled(loop("arms", False), UCB1.kernel)
    assert built is compiled(loop("arms", False), UCB1.kernel)
    assert built is not compiled(loop("arms", False), MOSS.kernel)
    assert built.targetoptions.get("nogil") is True


def test_the_same_rounds_with_and_without_counting_references_are_two_to_the_cache():
    counting, borrows = loop("arms", False), loop("arms", False, borrows=True)
    assert borrows.__code__ is counting.__code__
    assert identify(borrows).digest != identify(counting).digest


def test_every_policy_has_a_kernel_that_scores_or_chooses():
    for cls in POLICIES.values():
        assert (cls.kernel.choose is None) == (cls.kernel.score is not None and cls.kernel.prepare is not None)


def test_where_means_change_by_round_rewards_are_those_of_the_round():
    tape = 100 + np.arange(18.0).reshape(3, 6)
    for run in (play, compiled_play):
        state = UCB1().start(3, 6, np.random.default_rng(0))
        choices = np.empty(6, dtype=np.int64)
        run(UCB1.kernel, Game.begin(UCB1().make_params(6), state, tape, choices, 1, True), np.random.default_rng(0))
        sums = np.bincount(choices, weights=tape[choices, np.arange(6)], minlength=3)
        np.testing.assert_array_equal(state.sums, sums)


def test_a_game_as_short_as_its_first_pulls_asks_for_no_choice():
    policy = UCB1()
    state = policy.start(3, 3, np.random.default_rng(0))
    choices = np.empty(3, dtype=np.int64)
    game = Game.begin(policy.make_params(3), state, np.ones((3, 3)), choices, 1)
    compiled_play(policy.kernel, game, np.random.default_rng(0))
    assert choices.tolist() == [0, 1, 2]
    assert state.pulls.tolist() == [1, 1, 1]


# --- linear bandits ---------------------------------------------------------------------------------------------------


class LinearRecorder:
    """A kernel that takes actions in a given order and notes what it is shown and told."""

    def __init__(self, plan):
        self.plan = list(plan)
        self.shown, self.told = [], []

    def choose(self, params, state, actions, round_, rng):
        self.shown.append((params, state, actions.tolist(), round_, rng))
        return self.plan[round_ - 1]

    def learn(self, params, state, x, reward, round_, rng):
        self.told.append((params, state, x.tolist(), reward, round_, rng))


@pytest.mark.parametrize("n_sets", [1, 6], ids=["fixed", "contextual"])
def test_actions_and_rewards_are_those_of_a_literal_loop(n_sets):
    plan = [1, 0, 1, 2, 1, 0]
    kernel = LinearRecorder(plan)
    sets = np.arange(n_sets * 3 * 2.0).reshape(n_sets, 3, 2)
    tape = 100 + np.arange(18.0).reshape(3, 6)
    choices = np.full(6, -1)
    play(kernel, Game.begin("params", "state", tape, choices, 0, n_sets > 1, sets), "rng")
    assert choices.tolist() == plan
    shown, told, pulls = [], [], [0, 0, 0]
    for t, arm in enumerate(plan):
        actions = sets[0] if n_sets == 1 else sets[t]
        shown.append(("params", "state", actions.tolist(), t + 1, "rng"))
        reward = tape[arm, pulls[arm]] if n_sets == 1 else tape[arm, t]
        pulls[arm] += 1
        told.append(("params", "state", actions[arm].tolist(), reward, t + 1, "rng"))
    assert kernel.shown == shown
    assert kernel.told == told


def test_a_choice_is_the_kernels_own():
    kernel = LinearRecorder([4])
    assert select_action(kernel, None, None, np.zeros((5, 1)), 1, None, [0, 0]) == 4


def test_linear_play_is_compiled_once_for_a_kernel_and_releases_the_gil():
    kernel = BOOTSTRAPPED["streaming"]
    assert compiled(loop("actions", False), kernel) is compiled(loop("actions", False), kernel)
    assert compiled(loop("actions", False), kernel) is not compiled(loop("actions", True), kernel)
    assert compiled(loop("actions", False), kernel).targetoptions.get("nogil") is True


def test_every_linear_policy_has_a_kernel_that_chooses():
    kernels = [cls().kernel for cls in LINEAR_POLICIES.values()]
    for kernel in [*kernels, *BOOTSTRAPPED.values()]:
        assert kernel.choose is not None
        assert kernel.score is kernel.prepare is None
    assert len({kernel.name for kernel in kernels}) == len(LINEAR_POLICIES)


# --- streams ----------------------------------------------------------------------------------------------------------


def test_streams_differ_by_seed_replication_and_purpose_and_are_the_same_again():
    keys = [(seed, replication, purpose) for seed in (0, 1, 2**70) for replication in (0, 1, 999) for purpose in (0, 1)]
    first = [stream(*key).integers(2**63, size=4).tolist() for key in keys]
    assert first == [stream(*key).integers(2**63, size=4).tolist() for key in keys]
    assert len({tuple(numbers) for numbers in first}) == len(keys)
    assert (ENVIRONMENT, POLICY) == (0, 1)


def test_streams_are_uncorrelated():
    # 45 pairs of 2000 numbers; six standard errors: 1e-7 together
    numbers = np.array([stream(5, r, p).standard_normal(2000) for r in range(5) for p in (ENVIRONMENT, POLICY)])
    assert np.abs(np.corrcoef(numbers) - np.eye(10)).max() < 6 / np.sqrt(2000)

"""The simulator against replications played as their definition says, on tape and without: every choice, all regret."""

from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bandstrap import OFUL, UCB1, EpsilonGreedy, GaussianTS, SubsampleDuels, simulate
from bandstrap.engine.simulator import tape
from bandstrap.engine.simulator.blocks import Block, play_blocks
from bandstrap.environments import (
    Arms,
    Empirical,
    Gaussian,
    LinearBandit,
    OwnPrizes,
    Poisson,
    ScaleMixture,
    SubWeibull,
    UnequalVariances,
)
from bandstrap.errors import SlowWarning
from naive.games import Endless, OnTape, game
from sampling import each


class Favourites:
    """A plain object: the arm with the highest sum, and now and then any."""

    def __init__(self, n_arms, rng):
        self.sums, self.rng = [0.0] * n_arms, rng

    def select(self):
        n_arms = len(self.sums)
        return int(self.rng.integers(n_arms)) if self.rng.random() < 0.3 else int(np.argmax(self.sums))

    def update(self, arm, reward):
        self.sums[arm] += reward


class Stubborn:
    """A plain object that pulls a single arm, the last: all others are never pulled."""

    def __init__(self, n_arms, rng):
        self.arm = n_arms - 1

    def select(self):
        return self.arm

    def update(self, arm, reward):
        assert arm == self.arm


class Drifting:
    """A world that has a tape alone, and means that change."""

    n_arms, offers, support, label = 3, ("arms",), (-np.inf, np.inf), "drifting"

    def tape(self, horizon, rng):
        means = rng.normal(size=(horizon, 3)).cumsum(axis=0)
        return means, means.T + rng.normal(size=(3, horizon))


def one_of_each(n_arms):
    """Worlds whose laws take one or two passes, reject draws, keep traits, come from SciPy or from data."""
    return [
        Gaussian(n_arms=n_arms),
        UnequalVariances(n_arms=n_arms),
        OwnPrizes(n_arms=n_arms),
        Poisson(n_arms=n_arms, mean_range=(5, 40)),
        ScaleMixture(n_arms=n_arms),
        SubWeibull(n_arms=n_arms),
        Arms([stats.gamma(0.5), stats.beta(0.3, 2), stats.nbinom(3, 0.2)] * n_arms),
        Empirical({arm: np.arange(arm + 2.0) for arm in range(n_arms)}),
        LinearBandit(2, n_actions=n_arms, noise="student_t:df=5"),
        LinearBandit(2, n_actions=n_arms, contextual=True),
        Drifting(),
    ]


PLAYERS = {
    "arms": [UCB1(), GaussianTS(), EpsilonGreedy(), SubsampleDuels(), Favourites, Stubborn],
    "actions": [OFUL()],
}


@contextmanager
def sizes_of_worlds(longest, at_hand, shortest):
    """Worlds are large, and rows short, from these sizes on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tape, "LONGEST_TAPE", longest)
        patch.setattr(tape, "AT_HAND", at_hand)
        patch.setattr(tape, "SHORTEST_ROW", shortest)
        yield


def expected(policy, environment, horizon, seed, replication, sizes, **feedback):
    """The game as it is defined, in a world that is on tape or not by the sizes given."""
    longest, at_hand, shortest = sizes
    n_numbers = environment.n_arms * (environment.dimension + 2 if getattr(environment, "contextual", False) else 1)
    if isinstance(environment, Drifting) or n_numbers * horizon <= longest:
        world = OnTape(environment, horizon, seed, replication)
    else:
        world = Endless(environment, seed, replication, max(at_hand // n_numbers, shortest))
    return game(policy, world, environment.n_arms, horizon, seed, replication, **feedback)


def compare(players, environment, horizon, seed, replications, sizes, block_size=None, **feedback):
    """Regret after each round, which shows every choice, and pulls are those of the definition, to the last bit."""
    with sizes_of_worlds(*sizes):
        result = simulate(
            players,
            environment,
            horizon=horizon,
            replications=replications,
            seed=seed,
            checkpoints=range(1, horizon + 1),
            progress=False,
            block_size=block_size,
            **feedback,
        )
    for p, policy in enumerate(players):
        for replication in range(replications):
            _, regret, pulls = expected(policy, environment, horizon, seed, replication, sizes, **feedback)
            assert result.regret[p, replication].tolist() == regret
            assert result.pulls[p, replication].tolist() == pulls


@given(
    which=st.integers(0, 10),
    n_arms=st.sampled_from([1, 2, 3, 7]),
    n_rounds=st.integers(1, 70),
    seed=st.sampled_from([0, 7, 2**64, 2**200 + 1]),
    sizes=st.tuples(st.sampled_from([0, 50, 300]), st.sampled_from([1, 14, 60]), st.sampled_from([2, 3, 5])),
    feedback=st.sampled_from(
        [{}, {"delay": 4}, {"batch": 5}, {"lost": 0.3}, {"delay": stats.geom(0.2), "batch": 3, "lost": 0.1}]
    ),
    order=st.randoms(use_true_random=False),
    block_size=st.sampled_from([None, 1, 2]),
)
@settings(max_examples=60)
@pytest.mark.filterwarnings(f"ignore::{SlowWarning.__module__}.{SlowWarning.__name__}")
def test_every_choice_and_all_regret(which, n_arms, n_rounds, seed, sizes, feedback, order, block_size):
    environment = one_of_each(n_arms)[which]
    players = [policy for kind in environment.offers for policy in PLAYERS[kind]]
    order.shuffle(players)
    # Each policy may begin with more than one pull of each arm.
    horizon = 2 * environment.n_arms + n_rounds
    compare(players[:3], environment, horizon, seed, 2, sizes, block_size, **feedback)


@each("n_arms", [1, 2])
@each("horizon", [29, 30, 31])
@each("feedback", [{}, {"delay": 4}], ids=["at once", "late"])
@pytest.mark.filterwarnings(f"ignore::{SlowWarning.__module__}.{SlowWarning.__name__}")
def test_rows_may_end_with_the_game(n_arms, horizon, feedback):
    """The stubborn one's row of 5 is used up with the last round, or one round before or after it."""
    players = [Stubborn, UCB1(), Favourites]
    compare(players, Gaussian(n_arms=n_arms), horizon, 3, 1, (0, 5, 5), **feedback)


def test_a_replication_is_the_same_alone_and_in_a_block():
    environment, marks = UnequalVariances(n_arms=3), np.arange(1, 61)
    with sizes_of_worlds(0, 12, 2):
        alone, among = (
            play_blocks([Block(policy, environment, 60, 0, first, 9, marks) for policy in players])
            for first, players in ((7, [UCB1(), EpsilonGreedy()]), (0, [GaussianTS(), EpsilonGreedy(), UCB1()]))
        )
    for one, other in ((alone[0], among[2]), (alone[1], among[1])):
        assert one.regret.tobytes() == other.regret[7:].tobytes()
        assert one.pulls.tobytes() == other.pulls[7:].tobytes()
    expected_regret = expected(UCB1(), environment, 60, 0, 7, (0, 12, 2))[1]
    assert alone[0].regret[0].tolist() == expected_regret

"""Plain objects are raced on the same tapes as policies, from fresh for each replication."""

import threading

import numpy as np
import pytest
from numba.core.errors import NumbaError

from bandstrap import GaussianTS, simulate
from bandstrap.environments import Gaussian
from bandstrap.errors import InvalidInput, SlowWarning
from sampling import each

WORLD = Gaussian([0.0, 0.5, 1.0])


def race(*policies, replications=5, **options):
    with pytest.warns(SlowWarning, match="is a plain object: it is played in Python, many times slower"):
        return simulate(policies, WORLD, horizon=50, replications=replications, seed=2, progress=False, **options)


class Turns:
    """Pulls arms in turn, and counts."""

    def __init__(self, n_arms=3):
        self.n_arms, self.rewards = n_arms, []

    def select(self):
        return len(self.rewards) % self.n_arms

    def update(self, arm, reward):
        assert arm == self.select()
        self.rewards.append(reward)


class Coin:
    """Draws an arm from a generator of its own."""

    def __init__(self, rng=None):
        self.rng = np.random.default_rng(rng)

    def select(self):
        return int(self.rng.integers(3))

    def update(self, arm, reward):
        pass


class Live:
    """A policy of ours, played by hand."""

    def __init__(self, n_arms, rng):
        self.policy = GaussianTS(arms=n_arms, rng=rng)

    def select(self):
        return self.policy.select()

    def update(self, arm, reward):
        self.policy.update(arm, reward)


def test_an_object_and_a_class_are_raced_from_fresh_for_each_replication():
    mine = Turns()
    result = race(mine, Turns)
    assert result.policies == ("Turns", "Turns #2")
    assert (result.pulls == [17, 17, 16]).all()
    assert mine.rewards == []


def test_it_meets_the_tapes_and_streams_that_policies_meet():
    """Our own policy behind plain methods, given the replication's generator, chooses as it does compiled."""
    result = race(Live, GaussianTS())
    assert result.pulls[0].tolist() == result.pulls[1].tolist()
    assert result.regret[0].tobytes() == result.regret[1].tobytes()


@pytest.mark.parametrize("policy", [Coin, Coin(3)], ids=["class", "object"])
def test_randomness_is_the_replications(policy):
    result = race(policy)
    again = race(policy, block_size=1)
    assert result.pulls.tobytes() == again.pulls.tobytes()
    assert len({tuple(row) for row in result.pulls[0].tolist()}) > 1  # replications differ


def test_reset_is_called_where_there_is_one():
    told = []

    class Resets(Turns):
        def reset(self, n_arms, rng):
            told.append((n_arms, isinstance(rng, np.random.Generator)))

        def __deepcopy__(self, memo):
            return Resets()

    race(Resets(), replications=2)
    assert told == [(3, True)] * 3  # once to try it


def test_a_label_of_its_own_is_shown():
    mine = Turns()
    mine.label = "in turn"
    assert race(mine).policies == ("in turn",)


@each("arm", [3, -1, 1.0, "a", None, True, np.nan])
def test_what_is_no_arm_is_refused(arm):
    mine = Turns()
    mine.select = lambda: arm
    with pytest.raises(InvalidInput, match=r"'arm' parameter of Turns.select must be an integer from 0 to 2. Got"):
        race(mine)


def test_what_cannot_be_copied_or_made_is_refused():
    mine = Turns()
    mine.lock = threading.Lock()
    with pytest.raises(InvalidInput, match=r"the policy Turns cannot be copied for each replication: .*lock"):
        race(mine)

    class Needs(Turns):
        def __init__(self, something):
            pass

    with pytest.raises(InvalidInput, match=r"the policy Needs cannot be made: .*something"):
        race(Needs)


def test_an_error_of_numba_in_an_object_is_its_own():
    class Compiled(Turns):
        def select(self):
            raise NumbaError("cannot determine the type of x")

    with pytest.raises(InvalidInput, match=r"Compiled fails in round 1: NumbaError in line .* the type of x\."):
        race(Compiled)


def test_half_of_the_two_methods_is_no_policy():
    class Selects:
        def select(self):
            return 0

    with pytest.raises(InvalidInput, match=r"must be policies, such as UCB1\(\)"):
        simulate(Selects(), WORLD, horizon=5, replications=1, seed=0)

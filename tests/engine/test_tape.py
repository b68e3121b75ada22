"""Worlds too large for a tape are played like small ones, on the same rewards for every policy, in little memory."""

import os
import tracemalloc
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bandstrap import OFUL, UCB1, EpsilonGreedy, GaussianTS, UniformRandom, simulate
from bandstrap.engine.simulator import tape
from bandstrap.engine.simulator.blocks import play_policy, warm_policy
from bandstrap.engine.simulator.feedback import Feedback
from bandstrap.engine.simulator.plain import PlainPolicy
from bandstrap.engine.simulator.simulate import check_horizon
from bandstrap.engine.simulator.streams import ENVIRONMENT, REWARDS, RewardStreams, stream
from bandstrap.engine.simulator.tape import LONGEST_TAPE, EndlessRounds, EndlessTape, Tape, numbers_at_hand, open_tape
from bandstrap.engine.work import interrupts, memory
from bandstrap.engine.work.memory import bytes_in, bytes_of_state, bytes_of_tape
from bandstrap.environments import ENVIRONMENTS, Arms, Bernoulli, Empirical, Gaussian, LinearBandit, UnequalVariances
from bandstrap.errors import InvalidInput
from bandstrap.policies import LINEAR_POLICIES, NPTS, POLICIES, SubsampleDuels
from bandstrap.policies.states import history
from naive import philox
from naive.tapes import whole_tape
from sampling import each, exhaustive, telling


@contextmanager
def without_tapes(row):
    """Rows of so many rewards in whatever world."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tape, "LONGEST_TAPE", 0)
        patch.setattr(tape, "row_length", lambda environment: row)
        yield


class Favourites:
    """A plain object: the arm with the highest sum, and now and then any."""

    def __init__(self, n_arms, rng):
        self.sums, self.rng = [0.0] * n_arms, rng

    def select(self):
        n_arms = len(self.sums)
        return int(self.rng.integers(n_arms)) if self.rng.random() < 0.5 else int(np.argmax(self.sums))

    def update(self, arm, reward):
        self.sums[arm] += reward


ARMS = UnequalVariances(n_arms=3)
ACTIONS = LinearBandit(2, n_actions=4)
CONTEXTS = LinearBandit(2, n_actions=4, contextual=True)
PLAYERS = {
    "arms": (UCB1(), ARMS),
    "arms of actions": (GaussianTS(), ACTIONS),
    "plain object": (PlainPolicy(Favourites), ARMS),
    "actions": (OFUL(), ACTIONS),
    "changing actions": (OFUL(), CONTEXTS),
}


def played(policy, environment, rewards, horizon, arrivals):
    """Choices and what is left of the policy's randomness."""
    rng, choices = np.random.default_rng(3), np.full(horizon, -1)
    play_policy(policy, policy.make_params(horizon), rewards, choices, rng, arrivals)
    return choices.tolist(), rewards.lost(choices).tolist(), rng.bit_generator.state


@pytest.mark.parametrize(("policy", "environment"), PLAYERS.values(), ids=PLAYERS)
@given(
    row=st.integers(2, 12),
    horizon=st.integers(3, 60),
    seed=st.integers(0, 2**70),
    feedback=st.sampled_from([None, Feedback(delay=3), Feedback("geom:p=0.2", batch=4, lost=0.3)]),
)
@settings(max_examples=25)
def test_a_world_without_a_tape_is_played_as_on_a_whole_one(policy, environment, row, horizon, seed, feedback):
    arrivals = None if feedback is None else feedback.arrivals(horizon, 1, 2)
    means, rewards, *sets = whole_tape(environment, horizon, seed, 2, row)
    expected = played(policy, environment, Tape(means, rewards, *sets), horizon, arrivals)
    with without_tapes(row):
        endless = open_tape(environment, horizon, seed, 2)
        assert isinstance(endless, EndlessTape | EndlessRounds)
        for _ in range(2):  # the second policy meets the same rewards
            assert played(policy, environment, endless, horizon, arrivals) == expected


def test_regret_and_pulls_are_those_of_the_whole_tape():
    class OnTape:
        """The world of every replication on tape."""

        n_arms, offers, support, label = ARMS.n_arms, ARMS.offers, ARMS.support, ARMS.label
        replications = iter(range(4))

        def tape(self, horizon, rng):
            return whole_tape(ARMS, horizon, 5, next(self.replications), 7)[:2]

    sizes = {"horizon": 200, "replications": 4, "seed": 5, "progress": False}
    policies = [UCB1(), GaussianTS()]
    with without_tapes(7):
        ours = simulate(policies, ARMS, **sizes)
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(1) as one:
        patch.setattr("bandstrap.engine.simulator.simulate.warm", lambda block: None)  # it takes a replication's turn
        theirs = simulate(policies, OnTape(), **sizes, executor=one)
    assert ours.regret.tobytes() == theirs.regret.tobytes()
    assert ours.pulls.tobytes() == theirs.pulls.tobytes()


# --- a world that really has no tape: the favourite arm is pulled through many rows -----------------------------------

LARGE, HORIZON = Bernoulli(np.linspace(0.1, 0.9, 1000)), 68_000
POLICIES_OF_LARGE = [EpsilonGreedy(), UniformRandom()]


def simulated(**how):
    return simulate(POLICIES_OF_LARGE, LARGE, horizon=HORIZON, replications=5, seed=2, progress=False, **how)


@pytest.fixture(scope="module")
def reference():
    return simulated()


def same(one, other):
    return one.regret.tobytes() == other.regret.tobytes() and one.pulls.tobytes() == other.pulls.tobytes()


@telling("block_size", [1, 3], [3])
def test_threads_and_block_sizes_change_nothing(reference, block_size):
    assert numbers_at_hand(LARGE, HORIZON) == 1000 * 1048
    assert reference.pulls.max() > 10 * 1048
    with ThreadPoolExecutor(3) as pool:
        assert same(reference, simulated(executor=pool, block_size=block_size))


@exhaustive
def test_processes_change_nothing(reference):
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert same(reference, simulated(executor=pool, block_size=2))


def test_company_changes_nothing(reference):
    alone = simulate(UniformRandom(), LARGE, horizon=HORIZON, replications=2, seed=2, progress=False)
    assert alone.regret[0].tobytes() == reference.regret[1, :2].tobytes()


@telling("delay", [0, 5], [0])
@pytest.mark.parametrize(
    ("policy", "environment", "n_features"),
    [(UniformRandom(), LARGE, 0), (OFUL(), LinearBandit(n_actions=100, contextual=True), 10)],
    ids=["arms", "changing actions"],
)
def test_it_takes_no_more_memory_than_said(policy, environment, n_features, delay):
    warm_policy(policy, environment, is_late=delay > 0)
    tracemalloc.start()
    simulate(policy, environment, horizon=HORIZON, replications=1, seed=2, progress=False, delay=delay)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    n_arms, at_hand = environment.n_arms, numbers_at_hand(environment, HORIZON)
    said = bytes_of_tape(n_arms, HORIZON, n_features, is_late=delay > 0, n_at_hand=at_hand)
    assert said / 4 < peak <= said < bytes_of_tape(n_arms, HORIZON, n_features) / 8


def test_very_many_arms_are_warmed_up_in_little_memory():
    tracemalloc.start()
    warm_policy(UCB1(), Gaussian(n_arms=9000))  # a tape of 9001 rounds would take 648 MB
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6


def test_a_long_game_is_called_off_in_its_midst():
    task = interrupts.Task()
    with without_tapes(5):
        endless = open_tape(ARMS, 1000, 0, 0)
        turned = []
        turn = endless.turn

        def turn_and_call_off(*how):
            turn(*how)
            turned.append(1)
            task.called_off.up = True

        endless.turn = turn_and_call_off
        with pytest.raises(interrupts.CalledOff):
            task(played, UCB1(), ARMS, endless, 1000, None)
    assert len(turned) == 1


# --- which worlds have no tape ----------------------------------------------------------------------------------------


def test_the_rule_is_the_number_of_rewards_alone():
    assert numbers_at_hand(Gaussian(n_arms=2**10), 2**16) is None
    assert numbers_at_hand(Gaussian(n_arms=2**10), 2**16 + 1) == 2**20
    assert numbers_at_hand(Gaussian(n_arms=10), LONGEST_TAPE) == 10 * 104_857
    assert numbers_at_hand(Gaussian(n_arms=10**6), 10**6) == 16 * 10**6
    # A reward, a mean and six features: 2^10 numbers per round.
    contexts = LinearBandit(6, n_actions=2**7, contextual=True)
    assert numbers_at_hand(contexts, 2**16) is None
    assert numbers_at_hand(contexts, 2**16 + 1) == 2**20


def test_without_a_tape_a_longer_game_meets_the_same_rewards():
    """And the means of a tape; ``UniformRandom`` chooses alike whatever it earns, ``UCB1`` by what it earned."""
    sizes = {"replications": 2, "seed": 3, "progress": False, "checkpoints": range(1, 51)}
    with without_tapes(5):
        short, long = (simulate(UCB1(), ARMS, horizon=horizon, **sizes) for horizon in (50, 90))
        blind = simulate(UniformRandom(), ARMS, horizon=50, **sizes)
    assert short.regret.tobytes() == np.ascontiguousarray(long.regret[..., :50]).tobytes()
    on_tape = [simulate(policy, ARMS, horizon=50, **sizes) for policy in (UCB1(), UniformRandom())]
    assert blind.regret.tobytes() == on_tape[1].regret.tobytes()
    assert short.regret.tobytes() != on_tape[0].regret.tobytes()


class OwnArms(Gaussian):
    def tape(self, horizon, rng):
        return super().tape(horizon, rng)


class OwnActions(LinearBandit):
    def tape(self, horizon, rng):
        return super().tape(horizon, rng)


class StandIn:
    """It passes on what it does not know, and has a tape of its own."""

    def __init__(self, environment):
        self.environment = environment

    def __getattr__(self, name):
        return getattr(self.environment, name)

    def tape(self, horizon, rng):
        means, rewards = self.environment.tape(horizon, rng)
        return means, rewards.round()


class Bare:
    n_arms = 3


def patched():
    environment = Gaussian()
    environment.tape = lambda horizon, rng: (np.zeros(5), np.zeros((5, horizon)))
    return environment


OF_OWN_TAPE = [OwnArms(), OwnActions(), OwnActions(contextual=True), StandIn(Gaussian()), Bare(), patched()]


@each("environment", OF_OWN_TAPE, ids=lambda environment: type(environment).__name__)
def test_what_can_only_be_drawn_whole_has_a_tape(environment):
    assert numbers_at_hand(environment, 10**9) is None


TOO_MUCH = r"'horizon' .* 4 GB of memory available. Got 1000000, which takes 8\.00 GB,"
REMEMBERING = ["empirical_kl_ucb", "giro", "npts", "rds", "robust_ucb", "subsample_duels", "weighted_bootstrap"]


def test_a_policy_that_asks_for_more_room_than_there_is_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "usable_memory", lambda: 4e9)
    world = Bernoulli(n_arms=1000)
    check_horizon(["ucb1"], [UCB1()], world, 10**6)
    # NumPy's own room may come in huge pages.
    monkeypatch.setattr(history, "room", lambda n_rows, capacity: np.zeros((n_rows, capacity)))
    with pytest.raises(InvalidInput, match=TOO_MUCH):
        check_horizon(["npts"], [NPTS()], world, 10**6)


@pytest.mark.skipif(history.ON_CREDIT == 0, reason="needs a system that lends addresses")
@pytest.mark.parametrize("name", REMEMBERING)
def test_a_policy_that_writes_little_of_its_room_is_played_with_little_memory(monkeypatch, name):
    monkeypatch.setattr(memory, "usable_memory", lambda: 2e9)
    policy, world = POLICIES[name](), Bernoulli(n_arms=1000)
    check_horizon([name], [policy], world, 10**6)
    before = resident()
    state = policy.start(1000, 10**6, np.random.default_rng(0))
    params, rng = policy.make_params(10**6), np.random.default_rng(0)
    for i in range(3000):
        policy.kernel.learn(params, state, i % 1000, 1.0, i + 1, rng)
    assert resident() - before < memory.bytes_held(policy, 1000, 10**6, LONGEST_TAPE // 1000 + 1) < 50e6
    # The limit of a process counts addresses.
    monkeypatch.setattr(memory, "memory_within_limits", lambda: [2e9])
    with pytest.raises(InvalidInput, match=r"which takes (8\.00|16\.0) GB"):
        check_horizon([name], [policy], world, 10**6)


def test_more_addresses_than_memory_can_be_asked_for():
    if history.ON_CREDIT:
        n_rows = int(memory.memory_of_machine() // (8 * 10**7)) + 1
        kept = history.room(n_rows, 2 * 10**7)
        kept[:, -1] = 1.0
        assert kept[0, 0] == 0


@each("name", [*POLICIES, *LINEAR_POLICIES])
def test_room_is_known_before_it_is_asked_for(name):
    policy = {**POLICIES, **LINEAR_POLICIES}[name]()
    assert bytes_of_state(policy, 3, 50) == bytes_in(policy.start(3, 50, np.random.default_rng(0))) > 0


# --- the rewards ------------------------------------------------------------------------------------------------------

WORLDS = [
    *(cls() for name, cls in sorted(ENVIRONMENTS.items()) if name not in ("arms", "empirical", "linear_bandit")),
    Arms([stats.norm(), stats.gamma(2)]),
    Empirical({"a": [1, 2, 3], "b": [0.5, 4]}),
    LinearBandit(3, n_actions=2),
    LinearBandit(3, n_actions=2, noise=stats.t(5), scale=2.0),
]


@each("environment", WORLDS, ids=lambda e: e.label[:30])
def test_an_arm_has_the_law_that_it_has_on_tape(environment):
    """In the same world, of the same traits, which only a tape drawn by the same generator shows.

    A right law fails with probability 1e-6 each. Of two arms with 4000 rewards, a mean that is off by a sixth of a standard
    deviation, or a scale by a fifth, is seen with probability 0.99.
    """
    means, rewards, *_ = environment.tape(4000, stream(3, 1, ENVIRONMENT))
    with without_tapes(4000):
        endless = open_tape(environment, 4000, 3, 1)
        endless.rewind()
    assert endless.means.tobytes() == means.tobytes()
    for arm in range(2):
        assert stats.ks_2samp(endless.rewards[arm], rewards[arm], method="asymp").pvalue > 1e-6


FURTHEST = 2**64 - 1


@each("row", [0, 1, 2**32, 2**53 + 1, FURTHEST])
@each("arm", [0, 1, 2**32 - 1, 2**53 + 1, FURTHEST])
def test_a_row_counts_from_its_own_place(arm, row):
    """The words are those of Philox at the counters said, so rows of a key share none until one has drawn 2^66."""
    key = np.random.SeedSequence(2**200, spawn_key=(3, REWARDS)).generate_state(2, np.uint64)
    found = RewardStreams(2**200, 3).row(arm, row).bit_generator.random_raw(9)
    assert found.tolist() == philox.words(2**192 * arm + 2**64 * row, key, 9)


LAWS = [
    lambda rng: rng.gamma(0.01, size=1000),
    lambda rng: rng.beta(0.1, 0.2, size=1000),
    lambda rng: rng.poisson(30.0, size=1000),
    lambda rng: stats.vonmises(0.5).rvs(size=1000, random_state=rng),
    lambda rng: stats.gengamma(2, 3).rvs(size=1000, random_state=rng),
    lambda rng: rng.permutation(1000),
]


@each("law", LAWS)
def test_laws_that_reject_what_they_draw_stay_far_from_the_next_row(law):
    """However often they do: a thousand numbers take a few thousand counters of 2^64."""
    rng = RewardStreams(1, 0).row(5, 7)
    law(rng)
    counter = rng.bit_generator.state["state"]["counter"].tolist()
    assert 100 < counter[0] < 5000
    assert counter[1:] == [7, 0, 5]


def test_a_law_may_jump_or_spawn():
    """What a law makes of its generator is its own, the same each time, and never that of another row."""
    streams = RewardStreams(1, 0)
    others = {
        int(word) for arm in range(4) for row in range(4) for word in streams.row(arm, row).bit_generator.random_raw(8)
    }
    for arm, row in ((0, 0), (2, 3)):
        made = []
        for _ in range(2):
            rng = RewardStreams(1, 0).row(arm, row)
            heads = [rng.bit_generator.jumped(n) for n in (1, 2)] + [
                g.bit_generator for g in (*rng.spawn(2), *rng.spawn(1))
            ]
            made.append([int(word) for head in heads for word in head.random_raw(8)])
        assert made[0] == made[1]
        assert len({*made[0]}) == 5 * 8
        assert others.isdisjoint(made[0])
        others |= {*made[0]}


def test_a_world_whose_law_spawns_can_be_large():
    class Spawning(Gaussian):
        def draw_noise(self, shape, rng):
            return np.stack([child.standard_normal(shape[1]) for child in rng.spawn(shape[0])])

    sizes = {"horizon": 60, "replications": 2, "seed": 1, "progress": False}
    with without_tapes(5):
        both = simulate([UniformRandom(), UCB1()], Spawning(), **sizes)
        alone = simulate(UCB1(), Spawning(), **sizes)
    assert both.regret[1].tobytes() == alone.regret[0].tobytes()


def test_rows_are_independent():
    """Of arms, rows, replications and seeds that are neighbours, each of 2000 numbers.

    Right ones fail with probability 1e-7, by six standard errors for each of 120 pairs, and by 1e-6 for the chi-square of
    all numbers together. A correlation of 0.16 in any pair is seen with probability 0.84; a shared row certainly.
    """
    places = [
        (seed, replication, arm, row) for seed in (4, 5) for replication in (0, 1) for arm in (0, 1) for row in (0, 1)
    ]
    rows = np.array([RewardStreams(*place[:2]).row(*place[2:]).random(2000) for place in places])
    assert np.abs(np.corrcoef(rows) - np.eye(16)).max() < 6 / np.sqrt(2000)
    # Firsts of rows, as an arm that is hardly pulled shows them: neighbours in a square of 20 x 20 cells.
    streams = RewardStreams(4, 0)
    firsts = np.array([streams.row(arm, 0).random() for arm in range(8000)])
    counts, *_ = np.histogram2d(firsts[::2], firsts[1::2], bins=20, range=((0, 1), (0, 1)))
    assert 1e-6 < stats.chisquare(counts.ravel()).pvalue < 1 - 1e-6


def test_a_law_whose_draws_overflow_is_refused_in_a_sentence():
    class Overflowing(Gaussian):
        def draw_noise(self, shape, rng):
            return np.full(shape, np.inf)

    with (
        without_tapes(5),
        pytest.raises(InvalidInput, match=r"cannot be played: a reward it drew is not a finite number"),
    ):
        simulate(UCB1(), Overflowing(), horizon=20, replications=1, seed=1, progress=False)


# --- room for what policies remember ----------------------------------------------------------------------------------


STATM = Path("/proc/self/statm")


def resident():
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not STATM.exists(), reason="needs a system that tells what a process holds")
def test_only_what_is_written_takes_memory():
    before = resident()
    kept = history.room(1000, 10**5)
    assert kept.shape == (1000, 10**5)
    kept[:, 0] = 1.0
    # Huge pages would be 800 MB, all of it.
    assert resident() - before < 50e6
    assert not kept[:, 1:3].any()


@pytest.mark.parametrize("has_small_pages", [True, False])
def test_room_of_small_pages_is_played_in_alike(monkeypatch, has_small_pages):
    sizes = {"horizon": 150, "replications": 2, "seed": 1, "progress": False}
    expected = simulate([NPTS(), SubsampleDuels()], Bernoulli(n_arms=3), **sizes)
    monkeypatch.setattr(history, "LONGEST_TAPE", 0)
    if not has_small_pages:
        monkeypatch.delattr(history.mmap, "MADV_NOHUGEPAGE", raising=False)
    assert same(expected, simulate([NPTS(), SubsampleDuels()], Bernoulli(n_arms=3), **sizes))


def test_room_that_the_system_refuses_is_no_memory():
    with pytest.raises(MemoryError):
        history.room(10**9, 10**9)

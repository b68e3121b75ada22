"""Late, batched and lost rewards: when they are learned, and that nothing but this is different."""

import pickle
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bandstrap import OFUL, UCB1, BootstrappedUCBPlus, GaussianTS, Result, simulate
from bandstrap.engine.simulator import blocks
from bandstrap.engine.simulator.feedback import AT_ONCE, Feedback
from bandstrap.engine.simulator.plain import play_plain
from bandstrap.engine.simulator.play import Game, compiled_play, play
from bandstrap.engine.simulator.streams import DELAY, ENVIRONMENT, LOSS, stream
from bandstrap.engine.simulator.tape import Tape
from bandstrap.environments import Gaussian, LinearBandit
from bandstrap.errors import InvalidInput, SlowWarning
from naive.feedback import play_with_dictionary
from sampling import each, exhaustive, telling

WORLD = Gaussian([0.0, 0.5, 1.0])
SIZES = {"horizon": 60, "replications": 4, "seed": 3, "progress": False}


class Scripted:
    """Takes the arms of a list in turn, and remembers after how many decisions it was told what."""

    def __init__(self, arms):
        self.arms, self.n_decisions, self.told = arms, 0, []

    def select(self):
        self.n_decisions += 1
        return self.arms[self.n_decisions - 1]

    def update(self, arm, reward):
        self.told.append((self.n_decisions, arm, reward))


# --- when a reward is learned ------------------------------------------------------------------------------------------


@st.composite
def games(draw):
    """Arms to be pulled, and how their rewards come."""
    horizon, n_arms = draw(st.integers(1, 40)), draw(st.integers(1, 4))
    arms = draw(st.lists(st.integers(0, n_arms - 1), min_size=horizon, max_size=horizon))
    delay = draw(st.one_of(st.integers(0, 50), st.sampled_from(["geom:p=0.2", "expon:scale=5", "pareto:b=0.2"])))
    feedback = Feedback(delay, draw(st.integers(1, 12)), draw(st.sampled_from([0.0, 0.3, 0.9])))
    return feedback, n_arms, arms, draw(st.integers(0, 5)), draw(st.booleans())


def naive_play(live, rewards, feedback, horizon, seed, replication):
    """The same game with a dictionary of arrivals; the law's draws are those of the stream of delays."""
    delays = [feedback.delay] * horizon
    if feedback._law is not None:
        delays = feedback._law.rvs(size=horizon, random_state=stream(seed, replication, DELAY))
    lost = stream(seed, replication, LOSS).random(horizon) < feedback.lost
    return play_with_dictionary(
        lambda t: live.select(),
        lambda decision, arm, reward: live.update(arm, reward),
        rewards,
        delays=delays,
        lost=lost,
        batch=feedback.batch,
    )


@given(games())
def test_rewards_are_learned_as_a_dictionary_of_arrivals_says(game):
    feedback, n_arms, arms, seed, by_round = game
    horizon = len(arms)
    tape = np.arange(n_arms * horizon).reshape(n_arms, horizon) * 0.5
    ours, naive, choices = Scripted(arms), Scripted(arms), np.empty(horizon, dtype=np.int64)
    means = np.zeros((horizon, n_arms) if by_round else n_arms)
    play_plain(ours, "scripted", Tape(means, tape), choices, feedback.arrivals(horizon, seed, 2))
    naive_play(naive, lambda t, arm, i: tape[arm, t - 1 if by_round else i], feedback, horizon, seed, 2)
    assert choices.tolist() == arms
    assert ours.told == naive.told


@given(games())
def test_compiled_play_chooses_as_a_live_policy_that_is_told_so(drawn):
    feedback, n_arms, arms, seed, by_round = drawn
    horizon = len(arms)
    tape = stream(seed, 0, ENVIRONMENT).normal(size=(n_arms, horizon))
    policy = GaussianTS()
    for by in (play, compiled_play):
        rng, choices = np.random.default_rng(seed), np.empty(horizon, dtype=np.int64)
        state = policy.start(n_arms, horizon, rng)
        arrivals = feedback.arrivals(horizon, seed, 2)
        how = {"by_round": by_round, "arrivals": arrivals}
        game = Game.begin(policy.make_params(horizon), state, tape, choices, policy.n_initial, **how)
        by(policy.kernel, game, rng)
        live = GaussianTS(arms=n_arms, rng=np.random.default_rng(seed))
        rewards = lambda t, arm, i: float(tape[arm, t - 1 if by_round else i])  # noqa: E731
        assert choices.tolist() == naive_play(live, rewards, feedback, horizon, seed, 2)


def test_a_delay_of_two_is_learned_before_the_third_decision_after():
    live = Scripted([0] * 6)
    choices = np.empty(6, dtype=np.int64)
    tape = Tape(np.zeros(1), np.arange(6.0)[None])
    play_plain(live, "", tape, choices, Feedback(delay=2).arrivals(6, 0, 0))
    # Told once 3 decisions were made, that is after the decision of round 3 = 1 + 2 and before the fourth.
    assert live.told == [(3, 0, 0.0), (4, 0, 1.0), (5, 0, 2.0), (6, 0, 3.0)]


def test_rewards_come_in_the_order_of_arrival_and_those_of_one_round_in_that_of_decisions():
    feedback = Feedback(delay=stats.randint(0, 6), batch=10)
    order, due = feedback.arrivals(50, 1, 0)
    delays = stats.randint(0, 6).rvs(size=50, random_state=stream(1, 0, DELAY))
    arrival = order + delays[order]
    assert sorted(zip(arrival, order, strict=True)) == list(zip(arrival, order, strict=True))
    assert (np.diff(due)[np.arange(2, 51) % 10 != 0] == 0).all()
    assert len(order) == due[-1] > 40


@pytest.mark.parametrize("delay", [60, 2**63 - 1, "randint:low=60,high=61", stats.uniform(59.5, 1e300)])
@telling(
    "policy", [UCB1(), BootstrappedUCBPlus()], lambda policy: policy.name == "ucb1", ids=lambda policy: policy.name
)
def test_a_delay_beyond_the_horizon_is_never_learned_and_arms_are_pulled_in_turn(policy, delay):
    result = simulate(policy, WORLD, **SIZES, delay=delay)
    assert (result.pulls == 20).all()


def test_draws_are_rounded_up():
    uneven = Feedback(delay=stats.uniform(0.25, 0.5)).arrivals(30, 0, 0)
    whole = Feedback(delay=1).arrivals(30, 0, 0)
    assert uneven.order.tolist() == whole.order.tolist()
    assert uneven.due.tolist() == whole.due.tolist()


def test_the_share_that_is_lost_is_the_one_asked_for():
    n = 100_000
    learned = len(Feedback(lost=0.1).arrivals(n, 5, 0).order)
    # Six standard deviations: a right share fails once in 5e8 seeds; 0.095 or 0.105 would be found.
    assert abs(learned / n - 0.9) < 6 * (0.09 / n) ** 0.5


# --- nothing else is different -----------------------------------------------------------------------------------------


def test_no_delay_is_the_game_as_it_was(monkeypatch):
    plain = simulate([UCB1(), BootstrappedUCBPlus()], WORLD, **SIZES)
    seen = []

    def watched(kernel, game, rng):
        seen.append(game.arrivals)
        compiled_play(kernel, game, rng)

    monkeypatch.setattr(blocks, "compiled_play", watched)
    explicit = simulate([UCB1(), BootstrappedUCBPlus()], WORLD, **SIZES, delay=0, batch=1, lost=0)
    assert explicit.regret.tobytes() == plain.regret.tobytes()
    assert explicit.environment == plain.environment == WORLD.label
    assert set(seen) == {None}


@telling(
    "policy",
    [UCB1(), BootstrappedUCBPlus(), GaussianTS()],
    lambda policy: policy.name != "bootstrapped_ucb_plus",  # which takes long to compile
    ids=lambda policy: policy.name,
)
def test_the_loop_for_late_rewards_plays_those_that_are_not_late_alike(policy):
    tape = np.random.default_rng(0).normal(size=(3, 80))
    found = []
    for arrivals in (None, AT_ONCE.arrivals(80, 0, 0)):
        rng, choices = np.random.default_rng(1), np.empty(80, dtype=np.int64)
        state, n = policy.start(3, 80, rng), policy.n_initial
        compiled_play(
            policy.kernel, Game.begin(policy.make_params(80), state, tape, choices, n, arrivals=arrivals), rng
        )
        found.append((choices.tolist(), rng.bit_generator.state))
    assert found[0] == found[1]


def test_delays_and_losses_are_the_same_for_all_policies_workers_and_blocks():
    late = {"delay": "geom:p=0.1", "batch": 3, "lost": 0.2}
    together = simulate([UCB1(), GaussianTS()], WORLD, **SIZES, **late)
    alone = simulate(GaussianTS(), WORLD, **SIZES, **late, block_size=1)
    with ThreadPoolExecutor(3) as executor:
        elsewhere = simulate([GaussianTS(), UCB1()], WORLD, **SIZES, **late, block_size=2, executor=executor)
    assert together.regret[1].tobytes() == alone.regret[0].tobytes() == elsewhere.regret[0].tobytes()
    assert together.regret[0].tobytes() == elsewhere.regret[1].tobytes()


def test_losses_do_not_depend_on_the_delay_nor_delays_on_losses():
    n = 400
    lost, late = (Feedback(**how).arrivals(n, 3, 1).order for how in ({"lost": 0.3}, {"delay": "geom:p=0.3"}))
    both = Feedback(delay="geom:p=0.3", lost=0.3).arrivals(n, 3, 1).order
    assert both.tolist() == [decision for decision in late.tolist() if decision in set(lost.tolist())]


def test_replications_and_seeds_have_delays_of_their_own():
    feedback = Feedback(delay="geom:p=0.3", lost=0.3)
    orders = [feedback.arrivals(50, seed, replication).order.tolist() for seed in (0, 1) for replication in (0, 1)]
    assert len({tuple(order) for order in orders}) == 4


def test_rewards_stay_those_of_the_pull_number():
    told = {}

    class Turns:
        """Pulls arms in turn, and keeps what it was told."""

        def __init__(self, n_arms):
            self.n_arms, self.t = n_arms, -1
            told.setdefault("last", []).append(self)
            self.rewards = {arm: [] for arm in range(n_arms)}

        def select(self):
            self.t += 1
            return self.t % self.n_arms

        def update(self, arm, reward):
            self.rewards[arm].append(reward)

    with pytest.warns(SlowWarning):
        simulate(Turns, WORLD, horizon=60, replications=1, seed=3, progress=False, delay=7)
    _, tape = WORLD.tape(60, stream(3, 0, ENVIRONMENT))
    played = told["last"][-1].rewards
    assert sum(map(len, played.values())) == 53
    for arm, rewards in played.items():
        assert rewards == tape[arm, : len(rewards)].tolist()


@exhaustive
def test_means_that_change_are_played_with_late_rewards_too():
    world = LinearBandit(2, n_actions=3, contextual=True)
    at_once, late = (simulate(OFUL(), world, **SIZES, delay=delay) for delay in (0, 20))
    assert at_once.regret.tobytes() != late.regret.tobytes()
    assert (np.diff(late.regret, axis=2) >= 0).all()


# --- names -------------------------------------------------------------------------------------------------------------


@each(
    ("how", "label"),
    [
        ({}, ""),
        ({"delay": 200}, "delay 200"),
        ({"delay": "200"}, "delay 200"),
        ({"delay": np.int64(3), "batch": np.int32(4)}, "delay 3, batch 4"),
        ({"delay": " poisson: mu = 200 "}, "delay poisson:mu=200"),
        ({"batch": 100, "lost": 0.1}, "batch 100, lost 0.1"),
        ({"delay": "randint:low=0,high=3", "lost": 0}, "delay randint:low=0,high=3"),
    ],
)
def test_a_label_says_what_is_different(how, label):
    feedback = Feedback(**how)
    assert feedback.label == label
    assert feedback.is_at_once == (label == "")
    assert pickle.loads(pickle.dumps(feedback)).label == label  # noqa: S301 - our own


def test_a_law_that_was_frozen_is_known_by_its_content():
    one, same, other = (Feedback(delay=law).label for law in (stats.geom(0.5), stats.geom(p=0.5), stats.geom(0.25)))
    assert one == same != other
    assert re.fullmatch(r"delay geom@[a-p]{8}", one)


def test_a_result_says_it_and_keeps_it(tmp_path):
    result = simulate(UCB1(), WORLD, **SIZES, delay=20, lost=0.1)
    assert result.environment == f"{WORLD.label}, delay 20, lost 0.1"
    assert "delay 20, lost 0.1" in repr(result)
    result.to_parquet(tmp_path / "late.parquet")
    assert Result.from_parquet(tmp_path / "late.parquet").environment == result.environment


# --- what is refused ---------------------------------------------------------------------------------------------------

ROUNDS = (
    "The 'delay' parameter of simulate must be a whole number of rounds, of at least 0, or a scipy.stats distribution"
)


@each(
    ("how", "sentence"),
    [
        ({"delay": -1}, f"{ROUNDS} of such numbers or its text, such as 'geom:p=0.005'. Got -1 instead."),
        ({"delay": 1.5}, f"{ROUNDS} .*Got 1.5 instead."),
        ({"delay": True}, f"{ROUNDS} .*Got True instead."),
        ({"delay": None}, f"{ROUNDS} .*Got None instead."),
        ({"delay": float("nan")}, f"{ROUNDS} .*Got nan instead."),
        ({"delay": np.timedelta64(3)}, f"{ROUNDS} .*instead."),
        ({"delay": [3, 4]}, f"{ROUNDS} .*instead."),
        ({"delay": "200 rounds"}, f"{ROUNDS} .*Got '200 rounds' instead."),
        ({"delay": "-3"}, f"{ROUNDS} .*Got '-3' instead."),
        ({"delay": "9" * 5000}, f"{ROUNDS} .*instead."),
        ({"delay": 10**5000}, r"must be an integer between 0 and 9223372036854775807. Got 1.00e\+5000 instead."),
        ({"delay": stats.geom}, f"{ROUNDS} .*instead."),
        ({"delay": stats.geom([0.1, 0.2])}, f"{ROUNDS} .*instead."),
        ({"delay": ""}, "is not of the form name:key=value"),
        ({"delay": "geom"}, "must be given with the parameters of geom .*Got 'geom' instead."),
        ({"delay": "geom:p=3"}, "must be given with parameters inside the range of geom. Got 'geom:p=3' instead."),
        ({"delay": "geom:q=3"}, "must be given with the parameters of geom .*Got 'geom:q=3' instead."),
        (
            {"delay": "normal:loc=200"},
            "must be a distribution of non-negative numbers. Got normal:loc=200, whose values begin at -inf, instead.",
        ),
        (
            {"delay": stats.poisson(3, loc=-1)},
            "of non-negative numbers. Got poisson@[a-p]{8}, whose values begin at -1,",
        ),
        ({"batch": 0}, "The 'batch' parameter of simulate must be an integer of at least 1. Got 0 instead."),
        ({"batch": 2.0}, "The 'batch' parameter of simulate must be an integer of at least 1. Got 2.0 instead."),
        (
            {"lost": 1},
            "The 'lost' parameter of simulate must be a number of at least 0 and less than 1. Got 1 instead.",
        ),
        ({"lost": -0.1}, "The 'lost' parameter .*Got -0.1 instead."),
        ({"lost": float("nan")}, "The 'lost' parameter .*Got nan instead."),
        ({"lost": "0.1"}, "The 'lost' parameter .*Got '0.1' instead."),
        ({"lost": True}, "The 'lost' parameter .*Got True instead."),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(how, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        simulate(UCB1(), WORLD, **SIZES, **how)


@pytest.mark.parametrize("wrong", [-2.0, float("nan")])
def test_a_law_whose_draws_are_not_what_it_says_is_refused_when_it_draws(wrong):
    class Odd(stats.rv_continuous):
        """Draws what is outside its support."""

        def _rvs(self, size=None, random_state=None):
            return np.full(size, wrong)

        def _cdf(self, x):
            return np.clip(x, 0, 1)

    law = Odd(a=0.0, b=1.0, name="odd")()
    with pytest.raises(InvalidInput, match=f"a distribution of non-negative numbers. Got a draw of {wrong:g} instead."):
        simulate(UCB1(), WORLD, **SIZES, delay=law)

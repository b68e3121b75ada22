"""Updates happen as a whole or not at all, whenever they are interrupted, and one thread at a time."""

import copy
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from bandstrap import UCB1
from bandstrap.policies import POLICIES
from bandstrap.policies.linear.linear_policy import LINEAR_POLICIES
from bandstrap.policies.online.journal import uses_generator
from bandstrap.policies.states.fields import declared_leaves
from contract.test_policies import ident
from policies.own_policies import Sorted
from sampling import POLICY_KINDS, each, telling

CASES = [
    *((name, {}) for name in sorted(POLICIES)),
    ("bootstrapped_ucb", {"quantile": "streaming", "n_resamples": 40}),
    ("bootstrapped_ucb", {"quantile": "resampled-literal", "n_resamples": 40}),
    ("bootstrapped_ucb", {"weights": "exponential"}),
    ("imed", {"divergence": "bounded", "upper": 1.0}),
    ("mbe", {"weights": "exponential"}),
    ("robust_ucb", {"estimator": "catoni"}),
    ("robust_ucb", {"estimator": "median-of-means"}),
    ("subsample_duels", {"sampler": "without-replacement"}),
]
# As machine code: with numbers alone, with rows of arms, of draws and of rewards, with draws in updates, with duels.
CASES += [
    ("ucb1", {"compiled": True}),
    ("bootstrapped_ucb", {"compiled": True}),
    ("bootstrapped_ucb", {"quantile": "streaming", "n_resamples": 40, "compiled": True}),
    ("giro", {"compiled": True}),
    ("bootstrapped_ts", {"compiled": True}),
    ("subsample_duels", {"sampler": "without-replacement", "compiled": True}),
]
SMALLER = {"bootstrapped_ts": {"n_replicates": 30}, "mars": {"alpha": 0.05}}
LINEAR_CASES = [
    *((name, {}) for name in sorted(LINEAR_POLICIES)),
    ("linear_bootstrapped_ucb", {"quantile": "streaming"}),
    ("linear_bootstrapped_ucb", {"quantile": "streaming", "compiled": True}),
    ("linear_bootstrapped_ucb", {"compiled": True}),
    ("linear_ts", {"compiled": True}),
]
# An update is interrupted at this many points, spread evenly over all of its steps.
MOST_POINTS = 16
ACTIONS = np.array([[1.0, 0.0], [0.6, 0.8], [-0.5, 0.5]])


# Compiled ones are those whose machine code other tests need as well.
TELLING = [
    *((name, {}) for name in POLICY_KINDS),
    ("bootstrapped_ucb", {"quantile": "streaming", "n_resamples": 40}),
    ("ucb1", {"compiled": True}),
    ("giro", {"compiled": True}),
    ("lin_ucb", {}),
    ("linear_bootstrapped_ucb", {"quantile": "streaming"}),
]
every_case = telling("case", CASES + LINEAR_CASES, TELLING.__contains__, ids=ident)


class Game:
    """A policy of either kind, played alike."""

    def __init__(self, case, n_rewards=0, seed=3):
        self.is_linear = case[0] in LINEAR_POLICIES
        options = SMALLER.get(case[0], {}) | case[1]
        make = (LINEAR_POLICIES if self.is_linear else POLICIES)[case[0]]
        self.policy = make(rng=seed, **options) if self.is_linear else make(arms=3, rng=seed, **options)
        rng = np.random.default_rng(1)
        for i in range(n_rewards):
            self.update(i % 3, float(rng.random()))

    def update(self, arm, reward):
        self.policy.update(ACTIONS[arm] if self.is_linear else arm, reward)

    def select(self):
        return self.policy.select(ACTIONS) if self.is_linear else self.policy.select()

    def twin(self):
        other = copy.copy(self)
        other.policy = self.policy.copy()
        return other


def known(policy) -> list:
    """All that a live policy knows, as bytes; what lies behind the last reward of an arm is not known."""
    state = policy._state
    facts = [policy.n_rewards, policy.rng.bit_generator.state]
    facts += [copy.deepcopy(getattr(policy, name, None)) for name in ("_turns", "_counts", "_means")]
    facts += [getattr(policy, "_is_ready", 0), policy.dimension if hasattr(policy, "dimension") else 0]
    if state is None:
        return facts
    counts = np.array(state.pulls) if hasattr(state, "pulls") else None
    if hasattr(state, "zeros"):  # which are counted, and not kept with the others
        counts = counts - state.ones - state.zeros
    for name, field, values in declared_leaves(state):
        if field.kind == "scratch":
            continue
        if field.learned == "added" and counts is not None:
            values = [row[:n].tobytes() for row, n in zip(values, counts, strict=False)]
        elif name in ("features", "means", "squares", "pulls") and hasattr(state, "known"):
            values = values[: state.known.size[0]]
        elif name in ("labels", "rewards") and hasattr(state, "observed"):
            values = values[: state.observed.size[0]]
        facts.append((name, pickle.dumps([np.asarray(v).tobytes() for v in values])))
    return facts


class Interrupt(BaseException):
    """What may come at any moment."""


def steps_of(call, at=(), package="bandstrap"):
    """Run a call and count its steps (of the interpreter, in the package); raise at those given."""
    n_steps, due = 0, list(at)

    def trace(frame, event, _argument):
        nonlocal n_steps
        if package not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            n_steps += 1
            if due and n_steps >= due[0]:
                due.pop(0)
                raise Interrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except Interrupt:
        # Tracing ends with an exception of the tracer's: a second one is for what comes after.
        pass
    finally:
        sys.settrace(before)
    return n_steps


def spread(n_steps, most=MOST_POINTS):
    return sorted({1 + i * n_steps // most for i in range(most)} | {n_steps - 1, n_steps})


def test_the_tracer_comes_to_every_step():
    """So that the tests below cannot pass because nothing was ever interrupted."""
    policy = UCB1(arms=2, rng=0)
    n_steps = steps_of(lambda: policy.update(0, 0.5))
    torn = 0
    for at in range(1, n_steps + 1):
        policy = UCB1(arms=2, rng=0)
        assert steps_of(lambda p=policy: p.update(0, 0.5), [at]) == at
        torn += policy.n_rewards == 0
    assert 100 < torn < n_steps  # before the entry is struck out there is nothing, after it everything


BATCH = ([1, 0, 1, 2], [0.25, 1.0, 0.5, 0.125])


def goes_on(game, rounds=3):
    """Choices of some more rounds, and all that is known after them."""
    choices = []
    for i in range(rounds):
        choices.append(int(game.select()))
        game.update(choices[-1], (i * 3 % 7) / 7)
    return choices, known(game.policy)


@every_case
@pytest.mark.parametrize(
    ("n_rewards", "observations"),
    [(0, (1, 0.25)), (40, BATCH), (48, (1, 0.25)), (95, BATCH)],
    ids=["first", "batch", "with room made", "first rewards full"],
)
def test_an_interrupted_update_is_there_or_is_not(case, n_rewards, observations):
    start = Game(case, n_rewards)
    before, after = start.twin(), start.twin()
    n_steps = steps_of(lambda: after.update(*observations))
    n_after = after.policy.n_rewards
    states = {False: known(before.policy), True: known(after.policy)}
    futures = {False: goes_on(before), True: goes_on(after)}
    n_happened = 0
    for at in spread(n_steps):
        game = start.twin()
        steps_of(lambda game=game: game.update(*observations), [at])
        game.policy._settle()  # as the next call would: only one that came before or after the update proper has to wait
        happened = game.policy.n_rewards == n_after
        n_happened += happened
        assert known(game.policy) == states[happened], at
        assert goes_on(game) == futures[happened], at
    assert n_happened < MOST_POINTS / 2


@every_case
def test_taking_back_may_be_interrupted_too(case, monkeypatch):
    start = Game(case, 20)
    before = known(start.policy)
    future = goes_on(start.twin())
    whole = start.twin()  # whose making counts for nothing
    n_steps = steps_of(lambda: whole.update(*BATCH))
    base = next(cls for cls in type(start.policy).__mro__ if "_take_back" in vars(cls))

    def torn():
        """A policy whose update was interrupted, and taking it back right after."""
        game = start.twin()
        with monkeypatch.context() as patch:
            patch.setattr(base, "_take_back", lambda _policy: None)
            steps_of(lambda: game.update(*BATCH), [3 * n_steps // 4])
        assert game.policy._undo is not None
        return game

    game = torn()
    n_back = steps_of(game.policy._settle)
    assert known(game.policy) == before
    for at in spread(n_back):
        game = torn()
        steps_of(game.policy._settle, [at])
        assert goes_on(game) == future, at
    assert known(torn().policy.copy()) == before
    again = copy.copy(game)
    again.policy = pickle.loads(pickle.dumps(torn().policy))  # noqa: S301 - our own
    assert goes_on(again) == future


@telling(
    "case",
    [case for case in CASES if case[0] not in ("subsample_duels", "rds")],
    [("ucb1", {}), ("giro", {"compiled": True}), ("studentized_ucb", {})],
    ids=ident,
)
def test_an_interrupted_choice_keeps_what_is_known_of_rewards(case):
    start = Game(case, 40)
    whole = start.twin()
    n_steps = steps_of(whole.select)

    def later(game):
        """Choices from here on with random numbers of their own: those drawn before the interrupt are gone."""
        game.policy.rng = np.random.default_rng(0)
        return goes_on(game, 4)[0]

    expected = later(start.twin())
    for at in spread(n_steps):
        game = start.twin()
        steps_of(game.select, [at])
        assert game.policy.n_rewards == 40
        assert later(game) == expected, at


@pytest.mark.parametrize("sampler", ["random-block", "without-replacement"])
def test_an_interrupted_duel_loses_no_reward(sampler):
    start = Game(("subsample_duels", {"sampler": sampler}), 40)
    field = "history" if sampler == "without-replacement" else "running"

    def rewards(game):
        rows = zip(getattr(game.policy._state, field), game.policy._state.pulls, strict=True)
        return [sorted(row[:n].tolist()) for row, n in rows]

    for at in spread(steps_of(start.twin().select), 100):
        game = start.twin()
        steps_of(game.select, [at])
        assert rewards(game) == rewards(start)
        assert len(goes_on(game)[0]) == 3


def test_a_call_out_of_an_update_is_refused_and_the_update_goes_on():
    class Called(UCB1):
        name = "called"

        def transform(self, reward):
            if reward == 0.75:  # as a signal handler might
                with pytest.raises(RuntimeError, match="during its own update"):
                    self.update(0, 0.5)
            return super().transform(reward)

    policy, twin = Called(arms=2, rng=0), UCB1(arms=2, rng=0)
    for either in (policy, twin):
        either.update([0, 1, 1], [0.25, 0.75, 0.5])
    assert known(policy) == known(twin)


def test_an_update_that_fails_half_way_is_taken_back():
    class Failing(UCB1):
        name = "failing"

        def transform(self, reward):
            if reward == 0.75:
                raise ZeroDivisionError
            return super().transform(reward)

    policy = Failing(arms=2, rng=0)
    before = known(policy)
    with pytest.raises(ZeroDivisionError):
        policy.update([0, 1, 1], [0.25, 0.75, 0.5])
    assert known(policy) == before


# --- threads ----------------------------------------------------------------------------------------------------------


@every_case
def test_threads_lose_no_reward(case):
    game = Game(case)
    n_threads, n_rounds = 4, 40
    gate = threading.Barrier(n_threads)

    def work(_thread):
        gate.wait()
        for i in range(n_rounds):
            game.update(int(game.select()), (i % 5) / 5)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(work, range(n_threads)))
    finally:
        sys.setswitchinterval(interval)
    assert game.policy.n_rewards == n_threads * n_rounds
    if hasattr(game.policy._state, "pulls"):
        assert sum(game.policy._state.pulls) == n_threads * n_rounds


def test_copies_have_locks_of_their_own():
    policy = UCB1(arms=2, rng=0)
    twins = [policy.copy(), copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))]  # noqa: S301 - our own
    with policy._lock, ThreadPoolExecutor(1) as pool:
        for twin in twins:
            pool.submit(twin.update, 0, 0.5).result(timeout=300)
    assert [twin.n_rewards for twin in twins] == [1, 1, 1]


def interrupt(policy, *observations):
    """Have an update interrupted when it comes to a reward of 0.25."""

    def transform(reward):
        if reward == 0.25:
            raise KeyboardInterrupt
        return reward

    policy.transform = transform
    with pytest.raises(KeyboardInterrupt):
        policy.update(*observations)


@telling("compiled", [False, True], [False])
@each("pulls", [5, 31, 32, 40])
def test_a_batch_that_is_interrupted_is_taken_back_however_many_rewards_an_arm_has(pulls, compiled):
    # Rows of the first 32 rewards rest once they are full, and others do not.
    policy = POLICIES["bootstrapped_ucb"](weights="exponential", arms=2, rng=0, compiled=compiled)
    policy.update([0, 1] * pulls, np.random.default_rng(0).random(2 * pulls))
    twin = policy.copy()
    interrupt(policy, [0, 1], [0.5, 0.25])
    for one in (policy, twin):
        one.update([0, 1], [0.75, 0.125])
    assert policy.to_dict() == twin.to_dict()


@telling("compiled", [False, True], [False])
def test_a_batch_is_taken_back_though_one_arm_made_room_before_another_had_its_turn(compiled):
    policy = Sorted(arms=2, rng=0, compiled=compiled)  # whose rows are one array, and grow together
    policy.update([0] * 16 + [1], np.linspace(0.0, 1.0, 17))
    twin = policy.copy()
    interrupt(policy, [0, 1, 1], [0.5, 0.75, 0.25])
    for one in (policy, twin):
        one.update([1, 0], [0.125, 0.875])
    assert policy.to_dict() == twin.to_dict()


def test_a_learn_that_only_hands_its_generator_on_draws_from_it():
    def handing_on(params, state, arm, reward, round_, rng):
        np.copyto(state, rng)

    def handing_on_behind_another(params, state, arm, reward, round_, rng):
        np.put(state, arm, rng)

    def ignoring(params, state, arm, reward, round_, rng):
        np.put(state, arm, reward)

    def drawing_for_each(params, state, arm, reward, round_, rng):
        state[:] = [rng.random() for _ in state]

    assert uses_generator(handing_on)
    assert uses_generator(handing_on_behind_another)
    assert uses_generator(drawing_for_each)
    assert not uses_generator(ignoring)

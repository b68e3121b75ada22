"""Policies whose functions fail: refused in one sentence, the same in plain, compiled, simulated and live play."""

import functools
import re

import numpy as np
import pytest

from bandstrap import LinearTS, LinUCB, live, simulate
from bandstrap.engine.compiler.refusals import PolicyFailure
from bandstrap.engine.simulator.own_file import load_file
from bandstrap.environments import Gaussian, LinearBandit
from bandstrap.errors import InvalidInput
from bandstrap.live.fold import read_snapshot, write_snapshot
from bandstrap.live.rows import Snapshot
from bandstrap.policies import LINEAR_POLICIES, POLICIES, Kernel
from sampling import each, exhaustive, telling

# Rewards of the five arms: the third, which fails, is known by its mean wherever only some arms are shown. Each has one
# when the policy first chooses, in the sixth round.
ARMS = ["0", "1", "2", "3", "4"]
REWARDS = [0.5, 0.5, 0.25, 0.5, 0.5]
WORLD = Gaussian(REWARDS, scale=1e-300)
# One file for all that can share a compiled kernel: ``kind`` says how it fails.
FILE = """
import math
from typing import NamedTuple

from bandstrap.policies import Kernel, Policy, moments


class Params(NamedTuple):
    kind: int
    zero: float


def prepare(params, state, round_):
    return 1.0 / params.zero if params.kind == 0 else round_


def score(params, state, arm, shared, rng):
    if state.means[arm] != 0.25:
        return 0.5 + params.zero * shared
    if params.kind == 1:
        return math.sqrt(-state.pulls[arm])
    if params.kind == 2:
        return math.log(params.zero)
    if params.kind == 3:
        return math.pow(params.zero - 2.0, 0.5)
    if params.kind == 4:
        return math.exp(1000.0 * state.pulls[arm])
    if params.kind == 5:
        return 1.0 / params.zero
    if params.kind == 6:
        return float(7 % (state.pulls[arm] - 1))
    if params.kind == 7:
        return math.nan
    if params.kind == 8:
        return math.inf - math.inf * (1.0 + params.zero)
    if params.kind == 9:
        return (params.zero - 1.0) ** 0.5
    if params.kind == 10:
        return state.means[arm + 7]
    if params.kind == 11:
        raise KeyError("no such arm")
    if params.kind == 12:
        return math.inf
    if params.kind == 13:
        return -math.inf
    return math.exp(-1e6)


def score_none(params, state, arm, shared, rng):
    if state.means[arm] == 0.25:
        return None
    return 0.5


def choose(params, state, round_, rng):
    if params.kind == 0:
        return len(state.pulls)
    if params.kind == 1:
        return -1
    return round_ // int(params.zero)


def choose_half(params, state, round_, rng):
    return 1.5


def choose_none(params, state, round_, rng):
    if params.zero > 0.0:
        return 0
    return None


class Broken(Policy):
    kernel = Kernel("broken", prepare=prepare, score=score, learn=moments.learn)

    def __init__(self, *, kind=0, **online):
        self.kind = kind
        super().__init__(**online)

    def make_params(self, horizon):
        return Params(self.kind, 0.0)


class ScoreNone(Broken):
    kernel = Kernel("score_none", prepare=prepare, score=score_none, learn=moments.learn)


class Choice(Broken):
    kernel = Kernel("choice", choose=choose, learn=moments.learn)


class HalfChoice(Broken):
    kernel = Kernel("half_choice", choose=choose_half, learn=moments.learn)


class NoChoice(Broken):
    kernel = Kernel("no_choice", choose=choose_none, learn=moments.learn)
"""
NUMBER = "must give a number for each arm, which may be inf or -inf. Got"
ARM = "must give an integer from 0 to 4. Got"
SENTENCES = {
    "Broken:kind=0": "'prepare' function of Broken must give what all arms share. Got a division by zero",
    "Broken:kind=1": f"'score' function of Broken {NUMBER} a math domain error for arm 2",
    "Broken:kind=2": f"'score' function of Broken {NUMBER} a math domain error for arm 2",
    "Broken:kind=3": f"'score' function of Broken {NUMBER} a math domain error for arm 2",
    "Broken:kind=4": f"'score' function of Broken {NUMBER} an overflow for arm 2",
    "Broken:kind=5": f"'score' function of Broken {NUMBER} a division by zero for arm 2",
    "Broken:kind=6": f"'score' function of Broken {NUMBER} a division by zero for arm 2",
    "Broken:kind=7": f"'score' function of Broken {NUMBER} no number for arm 2",
    "Broken:kind=8": f"'score' function of Broken {NUMBER} no number for arm 2",
    "Broken:kind=9": f"'score' function of Broken {NUMBER} no number for arm 2",  # complex in Python
    "Broken:kind=10": f"'score' function of Broken {NUMBER} an index out of bounds for arm 2",
    "Broken:kind=11": f"'score' function of Broken {NUMBER} KeyError: 'no such arm' for arm 2",
    "ScoreNone:kind=1": f"'score' function of ScoreNone {NUMBER} no number for arm 2",
    "Choice:kind=0": f"'choose' function of Choice {ARM} 5",
    "Choice:kind=1": f"'choose' function of Choice {ARM} -1",
    "Choice:kind=2": f"'choose' function of Choice {ARM} a division by zero",
    "HalfChoice:kind=0": f"'choose' function of HalfChoice {ARM} no number",
    "NoChoice:kind=0": f"'choose' function of NoChoice {ARM} no number",
}
NAN = "Broken:kind=7"


def sentence_of(call):
    return f"The {SENTENCES[call]} in round 6 instead."


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """The file with the policies; they are not to be found by name afterwards."""
    path = tmp_path_factory.mktemp("broken") / "broken.py"
    path.write_text(FILE)
    before = dict(POLICIES)
    yield path
    POLICIES.clear()
    POLICIES.update(before)


def maker(file, call):
    """A call of a policy of the file as a function of what makes it live."""
    name, _, kind = call.partition(":kind=")
    return functools.partial(getattr(load_file(file), name), kind=int(kind))


def known(policy):
    return {key: value for key, value in policy.to_dict().items() if key != "generator"}


def started(make, **options):
    policy = make(arms=ARMS, rng=0, **options)
    policy.update(ARMS, REWARDS)
    return policy


def begun(place, call):
    """A live experiment whose arms have one reward each; one decision waits for its own."""
    experiment = live.create(str(place / "live.db"), "broken", policy=call, arms=ARMS, seed=1, burn_in=0, refresh=0)
    decisions = [experiment.decide(key=f"k{i}") for i in range(40)]
    assert decisions[0].arm != "2"
    for decision in {decision.arm: decision for decision in decisions[1:]}.values():
        experiment.reward(decision.id, REWARDS[int(decision.arm)])
    experiment.refresh()
    assert experiment.state.rewards == [1] * 5
    return experiment, decisions[0]


@telling("call", SENTENCES, lambda call: call.startswith("Broken:"))
def test_the_sentence_is_the_same_in_plain_compiled_simulated_and_live_play(call, file, tmp_path):
    make = maker(file, call)
    said = {}
    for compiled in (False, True):
        policy = started(make, compiled=compiled)
        before = known(policy)
        for ask in (policy.select, policy.weights):
            with pytest.raises(PolicyFailure) as failure:
                ask()
            assert known(policy) == before
            said[compiled, ask.__name__] = str(failure.value)
    with pytest.raises(PolicyFailure) as failure:
        simulate(make(), WORLD, horizon=10, replications=1, seed=0)
    said["simulated"] = str(failure.value)
    experiment, _ = begun(tmp_path, f"{file}:{call}")
    with experiment:
        version = experiment.refresh()
        with pytest.raises(PolicyFailure) as failure:
            experiment.decide(key="k")
        said["live"] = str(failure.value)
        assert experiment.refresh() == version
        status = experiment.status()
        assert status.undecided_because == sentence_of(call)
        assert sentence_of(call) in str(status)
    assert said == dict.fromkeys(said, sentence_of(call))


def test_late_rewards_make_no_difference(file):
    with pytest.raises(PolicyFailure, match=f"^{re.escape(sentence_of(NAN))}$"):
        simulate(maker(file, NAN)(), WORLD, horizon=10, replications=1, seed=0, batch=2)


def test_a_live_experiment_goes_on_without_the_arm_that_has_no_index(file, tmp_path):
    experiment, waiting = begun(tmp_path, f"{file}:{NAN}")
    with experiment:
        with pytest.raises(PolicyFailure, match="for arm 2"):
            experiment.decide()
        assert experiment.reward(waiting.id, 0.75) == "stored"
        assert experiment.decide(available=["0", "1"]).arm in ("0", "1")
        experiment.pause("2")
        served = experiment.decide()
        assert served.arm != "2"
        assert served.weights["2"] == 0.0
        experiment.resume("2")
        experiment.change(holdout=0.5, control="2")
        arms = {decide_or_none(experiment, f"u{i}") for i in range(20)}
        assert arms == {"2", None}  # the holdout is served the control, and nobody else anything
        assert experiment.replay().is_identical


def test_a_table_shows_which_arm_has_no_index(file):
    for compiled in (False, True):
        indices = [row.index for row in started(maker(file, NAN), compiled=compiled).table()]
        assert [np.isnan(index) for index in indices] == [False, False, True, False, False]


@pytest.mark.parametrize(("kind", "arm"), [(12, "2"), (13, None), (14, None)])
def test_infinite_and_tiny_indices_are_numbers(kind, arm, file):
    make = maker(file, f"Broken:kind={kind}")
    chosen = {started(make).select(), started(make, compiled=True).select()}
    assert len(chosen) == 1
    assert chosen == {arm} if arm else "2" not in chosen
    simulate(make(), WORLD, horizon=10, replications=1, seed=0)


def decide_or_none(experiment, unit):
    try:
        return experiment.decide(unit, key=unit).arm
    except PolicyFailure:
        return None


# --- policies with files of their own ----------------------------------------------------------------------------------

BASE = """
import math
from typing import NamedTuple

import numpy as np

from bandstrap.policies import Kernel, Policy, jitable, moments


class Params(NamedTuple):
    zero: float


def prepare(params, state, round_):
    return round_


{functions}


class Broken(Policy):
    kernel = Kernel("broken", {kernel})

    def make_params(self, horizon):
        return Params(0.0)
"""
INDEX = "prepare=prepare, score=score, learn=moments.learn"


@pytest.fixture
def own(tmp_path):
    """Make a class of these functions and this kernel; the call finds it for a live experiment."""
    before = dict(POLICIES)

    def make(functions, kernel=INDEX):
        file = tmp_path / "broken.py"
        file.write_text(BASE.format(functions=functions, kernel=kernel))
        return load_file(file).Broken, f"{file}:Broken"

    yield make
    POLICIES.clear()
    POLICIES.update(before)


def score(index):
    return f"def score(params, state, arm, shared, rng):\n    return {index}\n"


# --- learning -----------------------------------------------------------------------------------------------------------

LEARN = """def score(params, state, arm, shared, rng):
    return state.means[arm]


def learn(params, state, arm, reward, round_, rng):
    moments.learn(params, state, arm, reward, round_, rng)
    state.squares[arm] += 1.0 / (reward - 0.75)


"""
OF_LEARNING = "prepare=prepare, score=score, learn=learn"
DRAWING = LEARN.replace("1.0 / (reward - 0.75)", "rng.random() / (reward - 0.75)")


def not_learned(arm, round_):
    got = f"Got a division by zero for arm {arm} in round {round_} instead."
    return f"The 'learn' function of Broken must take in every reward. {got}"


@exhaustive
@pytest.mark.parametrize("learn", [LEARN, DRAWING], ids=["exact", "drawing"])
def test_a_reward_that_cannot_be_learned_is_refused_everywhere_and_stops_no_live_experiment(learn, own, tmp_path):
    make, call = own(learn, OF_LEARNING)
    for compiled in (False, True):
        policy = started(make, compiled=compiled)
        before = policy.to_dict()
        with pytest.raises(PolicyFailure, match=f"^{not_learned(1, 7)}$"):
            policy.update(["0", "1", "0"], [0.5, 0.75, 0.25])
        assert policy.to_dict() == before
    with pytest.raises(PolicyFailure, match=f"^{not_learned(0, 1)}$"):
        simulate(make(), Gaussian([0.75] * 5, scale=1e-300), horizon=10, replications=1, seed=0)
    where = {"policy": call, "arms": ARMS, "seed": 1, "burn_in": 0, "refresh": 0}
    file = str(tmp_path / "live.db")
    with live.create(file, "broken", **where) as experiment:
        decisions = [experiment.decide(key=f"k{i}") for i in range(9)]
        values = [0.5, 0.25, 0.75, 0.5, 1.0, 0.75, 0.1, 0.2, 0.3]
        for decision, value in zip(decisions, values, strict=True):
            assert experiment.reward(decision.id, value) == "stored"
            if value >= 0.75:
                experiment.refresh()  # in other portions than whoever opens it; rewards of one come in any order
        state = experiment.state
        experiment.refresh()
        state = experiment.state
        kept = [(d.arm, v) for d, v in zip(decisions, values, strict=True) if v != 0.75]
        assert (state.version, state.unlearned, state.policy.n_rewards) == (9, 2, 7)
        assert state.rewards == [sum(arm == label for arm, _ in kept) for label in ARMS]
        status = experiment.status()
        assert (status.rewards, status.unlearned) == (9, 2)
        assert f"failed to learn: 2, the last: {not_learned(decisions[5].arm, 5)}" in str(status)
        assert experiment.decide().arm in ARMS
        assert experiment.replay().is_identical
        body = write_snapshot(state)
        snapshot = Snapshot(9, "", state.link, body, live.fold.checksum(body), 0.0)
        assert write_snapshot(read_snapshot(experiment.definition, snapshot)) == body
    with live.open(file, "broken", code=True) as again:
        assert write_snapshot(again.state) == body


# --- what is refused before anything is played ---------------------------------------------------------------------------

KERNEL = "The '{}' parameter of the kernel 'broken' must be a plain function of {}, in this order. Got {} instead."
LEARNED = "(params, state, arm, reward, round_, rng) or (params, state, features, reward, round_, rng)"
SCORED = "(params, state, arm, shared, rng)"
MISNAMED = {
    "learn(state, params, arm, reward, round_, rng)": ("learn", LEARNED),
    "learn(params, state, reward, arm, round_, rng)": ("learn", LEARNED),
    "learn(params, state, arm, reward, rng)": ("learn", LEARNED),
    "score(params, state, shared, arm, rng)": ("score", SCORED),
    "score(params, state, arm, shared)": ("score", SCORED),
    "score(p, s, a, b, c)": ("score", SCORED),
    "prepare(round_, params, state)": ("prepare", "(params, state, round_)"),
    "choose(params, state, rng, round_)": (
        "choose",
        "(params, state, round_, rng) or (params, state, actions, round_, rng)",
    ),
}


@each("given", MISNAMED)
def test_parameters_that_are_swapped_misnamed_or_missing_are_refused_when_a_kernel_is_made(given):
    part, wanted = MISNAMED[given]
    space = {}
    exec(f"def {given}: return 0.0", space)
    right = {
        "learn": lambda params, state, arm, reward, round_, rng: None,
        "prepare": lambda params, state, round_: 0.0,
        "score": lambda params, state, arm, shared, rng: 0.0,
    }
    functions = right | {part: space[part]}
    if part == "choose":
        functions = {"learn": right["learn"], "choose": space["choose"]}
    with pytest.raises(InvalidInput) as refusal:
        Kernel("broken", **functions)
    assert str(refusal.value) == KERNEL.format(part, wanted, given)


def test_underscores_around_names_do_not_count():
    Kernel(
        "fine",
        learn=lambda params, state, x, reward, _round, _: None,
        choose=lambda _params, state, actions, round, rng: 0,  # noqa: A006 - a user's name
    )


HELPERS = {
    "global": "def helper(x):\n    return x\n\n\n" + score("helper(0.5)"),
    "below": "@jitable\ndef between(x):\n    return helper(x)\n\n\ndef helper(x):\n    return x\n\n\n"
    + score("between(0.5)"),
    "enclosed": "def around():\n    def helper(x):\n        return x\n\n"
    "    def score(params, state, arm, shared, rng):\n        return helper(0.5)\n\n"
    "    return score\n\n\nscore = around()\n",
}


@pytest.mark.parametrize("functions", HELPERS.values(), ids=HELPERS)
def test_a_helper_without_a_mark_is_refused_in_every_way_when_the_policy_is_made(functions, own, tmp_path):
    make, call = own(functions)
    sentence = "^The function helper, which the 'score' function of Broken calls, must be marked with bandstrap."
    ways = (
        lambda: make(arms=ARMS),
        lambda: make(arms=ARMS, compiled=True),
        lambda: simulate(make(), WORLD, horizon=10, replications=1, seed=0),
        lambda: live.create(str(tmp_path / "live.db"), "broken", policy=call, arms=ARMS),
    )
    for way in ways:
        with pytest.raises(InvalidInput, match=sentence):
            way()


def test_names_that_are_not_called_and_marked_helpers_are_no_matter(own):
    functions = "def pulls(x):\n    return x\n\n\n@jitable\ndef helper(x):\n    return math.floor(x)\n\n\n" + score(
        "helper(0.5) + np.sqrt(state.pulls[arm]) - (arm != 2)"
    )
    make, _ = own(functions)
    assert started(make).select() == started(make, compiled=True).select() == "2"


def test_a_kernel_for_actions_is_no_kernel_for_arms(own):
    make, _ = own(
        "def choose(params, state, actions, round_, rng):\n    return 0\n", "choose=choose, learn=moments.learn"
    )
    with pytest.raises(
        InvalidInput, match=r"'kernel' parameter of Broken must be one with a function choose\(params, "
    ):
        make(arms=2)


# --- what is no failure ---------------------------------------------------------------------------------------------------


def test_an_error_that_is_not_of_the_kernel_is_left_as_it_is(own):
    make, _ = own("def score(params, state, arm, shared, rng):\n    raise TimeoutError('a signal')\n")
    with pytest.raises(TimeoutError):
        started(make).select()


# --- linear policies ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [LinUCB, LinearTS])
@telling("compiled", [False, True], [False], ids=["plain", "compiled"])
def test_an_action_without_a_number_is_never_chosen_in_silence(make, compiled):
    policy = make(dimension=2, rng=0, compiled=compiled)
    policy.update([[1.0, 0.0], [0.0, 1.0]], [0.5, 0.25])
    regression = policy._state.regression
    for values in (regression.theta, regression.target):
        values[0] = np.inf
    sentence = f"^The 'choose' function of {make.__name__} must compare numbers. Got no number for action 1 in round 3 "
    with np.errstate(invalid="ignore"), pytest.raises(PolicyFailure, match=sentence):
        policy.select([[1.0, 0.5], [0.0, 1.0], [0.0, 0.5]])


LINEAR = """
from typing import Any, NamedTuple

import numpy as np

from bandstrap import LinearPolicy
from bandstrap.policies import Kernel


class Params(NamedTuple):
    zero: float


class State(NamedTuple):
    sums: Any


def choose(params, state, actions, round_, rng):
    return {value}


def learn(params, state, features, reward, round_, rng):
    state.sums[0] += {learned}


class BrokenLinear(LinearPolicy):
    kernel = Kernel("broken_linear", choose=choose, learn=learn)

    def make_params(self, horizon):
        return Params(0.0)

    def make_state(self, dimension, capacity, rng):
        return State(np.zeros(1))
"""


@telling(
    ("value", "learned", "sentence"),
    [
        (
            "len(actions)",
            "reward",
            "'choose' function of BrokenLinear must give an integer from 0 to 2. Got 3 in round 1",
        ),
        ("-2", "reward", "'choose' function of BrokenLinear must give an integer from 0 to 2. Got -2 in round 1"),
        (
            "0",
            "1.0 / params.zero",
            "'learn' function of BrokenLinear must take in every reward. Got a division by zero ",
        ),
    ],
    lambda value, *_: value == "-2",
)
def test_linear_policies_of_ones_own_are_refused_likewise(value, learned, sentence, tmp_path):
    file = tmp_path / "linear.py"
    file.write_text(LINEAR.format(value=value, learned=learned))
    make = load_file(file).BrokenLinear
    actions = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]
    said = set()
    try:
        for compiled in (False, True):
            policy = make(dimension=2, rng=0, compiled=compiled)
            with pytest.raises(PolicyFailure) as failure:
                policy.update(actions[policy.select(actions)], 0.5)
            assert policy.n_rewards == 0
            said.add(str(failure.value))
        with pytest.raises(PolicyFailure) as failure:
            simulate(make(), LinearBandit(2, n_actions=3), horizon=5, replications=1, seed=0)
        said.add(str(failure.value))
    finally:
        LINEAR_POLICIES.pop("broken_linear", None)
    assert len(said) == 1
    assert sentence in said.pop()

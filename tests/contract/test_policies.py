"""What every policy keeps, over every entry of the registry and the forms of bootstrapped UCB."""

import ast
import copy
import json
import os
import shutil
import subprocess
import sys
import textwrap
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import bandstrap
import sampling
from bandstrap.basics.calls import parse_call
from bandstrap.engine.simulator.feedback import Feedback
from bandstrap.engine.simulator.play import Game, compiled_play, play
from bandstrap.engine.simulator.result import Result
from bandstrap.engine.simulator.simulate import simulate
from bandstrap.engine.simulator.streams import ENVIRONMENT, LOSS, POLICY, stream
from bandstrap.environments import Beta, Gaussian
from bandstrap.errors import InvalidInput
from bandstrap.policies import POLICIES, Policy
from naive.feedback import play_with_dictionary
from naive.tapes import fed_in_rows
from policies.declarations import check_declarations, facts, forget, in_form
from sampling import POLICY_KINDS, each, exhaustive, telling

MODES = ("resampled", "resampled-literal", "streaming", "exact")
WEIGHTS = ("rademacher", "gaussian", "efron", "exponential", "mammen")
SCHEDULES = ("1/(t+1)", "1/T^2", "1/(t log^tau t)", 0.05)
HORIZON = 130

DEFAULTS = [(name, {}) for name in sorted(POLICIES)]
MODE_CASES = [("bootstrapped_ucb", {"quantile": mode, "sigma": 0.3}) for mode in MODES]
OTHER_CASES = [
    ("giro", {"a": 0.3}),
    ("empirical_kl_ucb", {"upper": 1.5, "c": 3.0}),
    ("naive_bootstrapped_ucb", {"quantile": "exact"}),
    ("imed", {"divergence": "bounded", "upper": 1.5}),
    ("subsample_duels", {"sampler": "last-block", "forced_exploration": True}),
    ("subsample_duels", {"sampler": "without-replacement"}),
    ("rds", {"upper": 1.5}),
    ("mbe", {"weights": "exponential", "strength": 0.2}),
    ("bootstrapped_ts", {"prior": "drawn", "n_replicates": 60}),
    ("robust_ucb", {"estimator": "median-of-means", "epsilon": 0.5}),
    ("robust_ucb", {"estimator": "catoni", "moment": 0.05}),
    ("studentized_ucb", {"randomized": True}),
    ("studentized_ucb", {"proved": True, "consistent": True}),
    ("sign_flip_ucb", {"proved": True}),
    ("edgeworth_ucb", {"randomized": True}),
]
FORMS = (
    [
        ("bootstrapped_ucb", {"quantile": mode, "weights": weights, "n_resamples": 60})
        for mode in MODES
        for weights in WEIGHTS
    ]
    + [
        ("bootstrapped_ucb", {"quantile": mode, "interpolate": True, "weights": weights, "n_resamples": 60})
        for mode in ("resampled", "resampled-literal", "streaming")
        for weights in ("rademacher", "exponential")
    ]
    + [
        ("bootstrapped_ucb", {"quantile": mode, "correction": correction, "sigma": 0.2})
        for mode in ("resampled", "exact")
        for correction in ("theorem", "stated", "sharp", "none")
    ]
    + [
        ("bootstrapped_ucb", {"correction": correction, "phi": "sub_weibull", "beta": beta, "constant": 0.3})
        for correction in ("practical", "sharp")
        for beta in (0.5, 1.5, 2.0)
    ]
    + [
        (name, {"alpha": alpha, "horizon": HORIZON, "tau": 2.0})
        for name in ("ucb1", "bootstrapped_ucb", "naive_bootstrapped_ucb")
        for alpha in SCHEDULES
    ]
    + [("sign_flip_ucb", {"proved": True, "alpha": alpha, "horizon": HORIZON}) for alpha in ("1/T^2", 0.05)]
    + [
        ("kl_ucb", {"plus": True, "c": 3.0}),
        ("kl_ucb", {"divergence": "gaussian", "sigma": 0.3}),
        ("imed", {"divergence": "gaussian", "sigma": 0.3}),
        ("maillard_sampling", {"divergence": "bernoulli"}),
        ("moss", {"sigma": 0.3, "c": 4.0, "horizon": HORIZON}),
        ("light_tailed_ucb", {"sigma": 0.3, "exponent": 0.75, "beta": 0.25, "horizon": HORIZON}),
        ("rmm_ucb", {"alpha": "1/(t log^tau t)", "blocks": 1}),
        ("ucb_v", {"upper": 2.0, "c": 0.2}),
        ("epsilon_greedy", {"epsilon": 5.0, "decay": 1.0}),
        ("gaussian_ts_unknown_variance", {"a": -1.0}),
        ("studentized_ucb", {"exploration": 1.0, "borrowed": 5.0, "skew": 0.5, "caution": 2.0, "crowd": 0.5}),
        ("edgeworth_ucb", {"exploration": 1.0, "caution": 2.0}),
    ]
)
CASES = DEFAULTS + MODE_CASES + OTHER_CASES
DETERMINISTIC = [
    ("ucb1", {}),
    ("ucb1", {"sigma": 0.2, "alpha": 0.01}),
    ("empirical_kl_ucb", {}),
    ("kl_ucb", {}),
    ("kl_ucb", {"plus": True}),
    ("moss", {}),
    ("light_tailed_ucb", {}),
    ("ucb_v", {}),
    ("ucb_tuned", {}),
    ("imed", {}),
    ("imed", {"divergence": "gaussian"}),
    ("imed", {"divergence": "bounded"}),
    ("bootstrapped_ucb", {"quantile": "exact", "sigma": 0.3}),
    ("bootstrapped_ucb", {"quantile": "exact", "sigma": 0.3, "weights": "efron"}),
    ("bootstrapped_ucb", {"quantile": "exact", "correction": "sharp"}),
    ("robust_ucb", {"moment": 0.3}),
    ("robust_ucb", {"estimator": "median-of-means", "moment": 0.05}),
]


def ident(case: tuple[str, dict]) -> str:
    return " ".join([case[0], *(f"{key}={value}" for key, value in case[1].items())])


# What is compiled is tried for one policy of each kind, and for one that streams; the rest takes long to compile.
TELLING = [(name, {}) for name in POLICY_KINDS] + [case for case in MODE_CASES if case[1]["quantile"] == "streaming"]
OTHERS = [case for case in CASES if case not in TELLING]

every_policy = telling("name", sorted(POLICIES), POLICY_KINDS)
# For what the base class does for all: a policy that takes any reward, and one that keeps to a range.
either_policy = pytest.mark.parametrize("name", ["ucb1", "bernoulli_ts"])
every_case = telling("case", CASES, TELLING.__contains__, ids=ident)
# Tsallis-INF divides a loss by the probability of its draw, which depends on the other arms.
every_case_that_learns_of_each_arm_alone = sampling.either_way(
    [case for case in CASES if case[0] != "tsallis_inf"], TELLING, ident
)
every_form = telling("case", CASES + FORMS, TELLING.__contains__, ids=ident)
every_case_either_way = sampling.either_way(CASES, TELLING, ident)
every_form_either_way = sampling.either_way(CASES + FORMS, TELLING, ident)
# For what is quick, in plain Python.
each_case = each("case", CASES, ids=ident)
each_form = each("case", CASES + FORMS, ids=ident)
# A live policy in plain Python, and as machine code.
either_way = pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
BOUNDED = [case for case in DEFAULTS if np.isfinite(POLICIES[case[0]]().support[1])]


def make(case: tuple[str, dict], **more) -> Policy:
    return POLICIES[case[0]](**(case[1] | more))


def make_tape(n_arms: int = 3, horizon: int = HORIZON, seed: int = 0) -> np.ndarray:
    """Rewards in [0, 1] on a lattice of 2^-20, so that ``1 - y`` is exact; no ties to speak of."""
    rng = np.random.default_rng(seed)
    means = np.linspace(0.35, 0.6, n_arms)[:, None]
    return np.round(rng.beta(6 * means, 6 * (1 - means), (n_arms, horizon)) * 2**20) / 2**20


def played(
    policy: Policy, tape: np.ndarray, *, seed: int = 5, horizon: int = HORIZON, by=None, order=None, arrivals=None
):
    """Choices, final state and generator of ``play`` on a tape."""
    rng = np.random.default_rng(seed)
    state = policy.start(len(tape), horizon, rng)
    if order is not None:
        state.order[:] = order
    choices = np.full(horizon, -1)
    params = policy.make_params(horizon)
    game = Game.begin(params, state, tape, choices, policy.n_initial, arrivals=arrivals)
    (by or compiled_play)(policy.kernel, game, rng)
    return choices, state, rng


def play_online(
    policy: Policy, tape: np.ndarray, horizon: int = HORIZON, sign: float = 1.0, shift: float = 0.0
) -> list:
    """Choices of ``select`` and ``update`` on a tape; rewards are handed over as ``shift + sign y``."""
    pulls = dict.fromkeys(policy.arms, 0)
    rows = dict(zip(policy.arms, tape, strict=True))
    choices = []
    for _ in range(horizon):
        arm = policy.select()
        policy.update(arm, shift + sign * rows[arm][pulls[arm]])
        pulls[arm] += 1
        choices.append(arm)
    return choices


def arrays(state) -> dict[str, np.ndarray]:
    """The arrays of a state by name, those of tuples inside it and lists of the online object included."""
    found = {}
    for key, value in state._asdict().items():
        if isinstance(value, tuple):
            found |= arrays(value)
        elif isinstance(value, list) and value and isinstance(value[0], np.ndarray):  # rows with room of their own
            longest = max(map(len, value))
            found[key] = np.array([np.pad(row, (0, longest - len(row))) for row in value])
        else:
            found[key] = np.array(value, dtype=float)
    return found


def same_states(one, other) -> bool:
    """Equal bits in all arrays, except that one may have more room for rewards and that scratch is scratch."""
    for key, value in arrays(one).items():
        if key == "scratch":
            continue
        twin = arrays(other)[key]
        if value.size == twin.size == 0:
            continue
        if value.shape != twin.shape:  # what holds rewards may have more room
            width = min(value.shape[1], twin.shape[1])
            value, twin = value[:, :width], twin[:, :width]
        if value.tobytes() != twin.tobytes():
            return False
    return True


def snapshot(policy: Policy):
    """Everything a live policy knows, to be compared later; scratch is scratch."""
    inner = (
        "_state",
        "rng",
        "_lock",
        "_rows",
        "_machine",
    )  # the last three are means, and hold no numbers of their own
    known = {key: value for key, value in vars(policy).items() if key not in inner}
    return copy.deepcopy(
        (known, {k: v for k, v in arrays(policy._state).items() if k != "scratch"}, policy.rng.bit_generator.state)
    )


def same_snapshot(one, other) -> bool:
    same_arrays = one[1].keys() == other[1].keys() and all(
        one[1][key].shape == other[1][key].shape and one[1][key].tobytes() == other[1][key].tobytes() for key in one[1]
    )
    return same_arrays and one[0] == other[0] and one[2] == other[2]


# --- one formula, four ways: played on a tape or live, in plain Python or compiled --------------------------------------


@every_form_either_way
def test_online_choices_are_those_of_compiled_play_with_the_same_stream(case, compiled):
    tape = make_tape()
    choices, state, rng = played(make(case), tape)
    online = make(case, arms=len(tape), rng=np.random.default_rng(5), compiled=compiled)
    assert play_online(online, tape) == choices.tolist()
    assert same_states(online._state, state)
    assert online.rng.bit_generator.state == rng.bit_generator.state


@every_form
def test_compiled_play_is_plain_play_bit_for_bit(case):
    tape = make_tape(4, seed=1)
    compiled, compiled_state, compiled_rng = played(make(case), tape)
    plain, plain_state, plain_rng = played(make(case), tape, by=play)
    assert compiled.tolist() == plain.tolist()
    assert same_states(compiled_state, plain_state)
    assert compiled_rng.bit_generator.state == plain_rng.bit_generator.state


# --- late, batched and lost rewards -----------------------------------------------------------------------------------


LATE = Feedback(delay=7, batch=5, lost=0.2)


def played_late(policy: Policy, tape: np.ndarray, *, by=play, seed: int = 5):
    """Choices, final state and generator of ``play`` on a tape whose rewards are late."""
    choices, state, rng = played(policy, tape, by=by, seed=seed, arrivals=LATE.arrivals(HORIZON, seed, 0))
    return choices.tolist(), state, rng


def play_online_late(policy: Policy, tape: np.ndarray, seed: int = 5, horizon: int = HORIZON) -> list:
    """Choices of ``select`` and ``update`` with the same rewards late."""
    return play_with_dictionary(
        lambda t: policy.select(),
        lambda decision, arm, reward: policy.update(arm, reward),
        lambda t, arm, i: float(tape[arm, i]),
        delays=[LATE.delay] * horizon,
        lost=stream(seed, 0, LOSS).random(horizon) < LATE.lost,
        batch=LATE.batch,
    )


@every_form_either_way
def test_online_choices_are_those_of_play_when_rewards_are_late(case, compiled):
    tape = make_tape(4, seed=2)
    choices, state, rng = played_late(make(case), tape)
    online = make(case, arms=len(tape), rng=np.random.default_rng(5), compiled=compiled)
    assert play_online_late(online, tape) == choices
    assert same_states(online._state, state)
    assert online.rng.bit_generator.state == rng.bit_generator.state
    assert 0 < online.n_rewards < 0.95 * HORIZON


# Each has a loop of its own to compile; the other forms run as machine code above.
@telling("case", DEFAULTS, [("ucb1", {}), ("giro", {})], ids=ident)
def test_compiled_play_is_plain_play_bit_for_bit_when_rewards_are_late(case):
    tape = make_tape(4, seed=2)
    compiled, compiled_state, compiled_rng = played_late(make(case), tape, by=compiled_play)
    plain, plain_state, plain_rng = played_late(make(case), tape)
    assert compiled == plain
    assert same_states(compiled_state, plain_state)
    assert compiled_rng.bit_generator.state == plain_rng.bit_generator.state


@pytest.mark.parametrize("play_game", [played, played_late])
@telling("case", DEFAULTS, [("ucb1", {}), ("giro", {})], ids=ident)
def test_play_that_stops_for_more_rewards_is_play_on_the_whole_tape(case, play_game):
    tape = make_tape(4, seed=2)

    def in_rows(kernel, game, rng):
        def run(rows, bookmark):
            compiled_play(kernel, game._replace(tape=rows, bookmark=bookmark), rng)

        assert fed_in_rows(run, game.tape, game.choices.size) > 5

    found, state, rng = play_game(make(case), tape, by=in_rows)
    expected, expected_state, expected_rng = play_game(make(case), tape, by=compiled_play)
    np.testing.assert_array_equal(found, expected)
    assert same_states(state, expected_state)
    assert rng.bit_generator.state == expected_rng.bit_generator.state


@each_case
def test_a_policy_chooses_once_the_initial_rewards_of_every_arm_are_there(case):
    policy = make(case, arms=3, rng=0)
    for turn in range(policy.n_initial - 1):
        assert [policy.select() for _ in range(12)] == [0, 1, 2] * 4
        policy.update([0, 1, 2], [0.25 + turn / 64, 0.5 + turn / 32, 0.75])
    assert [policy.select() for _ in range(12)] == [0, 1, 2] * 4
    policy.update([0, 1], [0.375, 0.625])
    assert [policy.select() for _ in range(5)] == [0, 1, 2, 0, 1]  # arm 2 lacks one: those of its pulls may be lost
    policy.update(2, 0.875)
    handed = list(policy._turns.waiting)
    policy.select()
    assert policy._turns.waiting == handed


@every_case_either_way
@each("seed", [3, 4])
def test_rewards_with_many_ties_are_played_alike_too(case, seed, compiled):
    tape = np.round(make_tape(5, seed=seed))
    choices, state, _ = played(make(case), tape, seed=seed)
    online = make(case, arms=5, rng=np.random.default_rng(seed), compiled=compiled)
    assert play_online(online, tape) == choices.tolist()
    assert same_states(online._state, state)


@every_case
def test_a_longer_game_begins_like_a_shorter_one(case):
    tape = make_tape(3, 90)
    longer = played(make(case), tape, horizon=90)[0]
    shorter = played(make(case), tape, horizon=41)[0]
    assert longer[:41].tolist() == shorter.tolist()


def test_online_play_never_imports_the_compiler():
    code = """
        import sys
        from bandstrap.policies import POLICIES
        for policy in [make(arms=3, rng=0) for make in POLICIES.values()]:
            for i in range(40):
                policy.update(policy.select(), (i * 37 % 11) / 11)
        print({"numba", "matplotlib", "polars"} & set(sys.modules))
    """
    assert run(code) == "set()"


# --- how arms are handed out ------------------------------------------------------------------------------------------


@every_case
def test_every_arm_is_pulled_once_first(case):
    choices = played(make(case), make_tape(7))[0]
    assert choices[:7].tolist() == list(range(7))
    assert set(choices.tolist()) <= set(range(7))
    online = make(case, arms=list("abcdefg"), rng=1)
    assert play_online(online, make_tape(7), 7) == list("abcdefg")


@telling("case", DETERMINISTIC, lambda case: case[0] == "ucb1", ids=ident)
@each("seed", range(4))
def test_relabelling_arms_relabels_choices(case, seed):
    tape = make_tape(4, seed=seed)
    perm = np.random.default_rng(seed).permutation(4)
    order = np.array([2, 0, 3, 1])
    choices = played(make(case), tape, order=order)[0]
    relabelled = played(make(case), np.ascontiguousarray(tape[perm]), order=np.argsort(perm)[order])[0]
    assert perm[relabelled[4:]].tolist() == choices[4:].tolist()


@telling("case", DETERMINISTIC, lambda case: case[0] == "ucb1", ids=ident)
def test_ties_go_to_the_first_in_the_order_drawn_at_the_start(case):
    tape = np.full((4, 40), 0.5)
    for order in ([2, 0, 3, 1], [1, 3, 0, 2]):
        choices = played(make(case), tape, order=np.array(order), horizon=40)[0]
        assert choices[4:8].tolist() == order
    started = {played(make(case), tape, seed=seed, horizon=5)[0][4] for seed in range(40)}
    assert started == {0, 1, 2, 3}  # an arm is missing with probability 4 (3/4)^40 = 4e-5


@every_case_either_way
def test_one_arm_is_always_pulled(case, compiled):
    assert played(make(case), make_tape(1), horizon=50)[0].tolist() == [0] * 50
    online = make(case, arms=["only"], rng=0, compiled=compiled)
    assert play_online(online, make_tape(1), 30) == ["only"] * 30


@every_case_either_way
def test_a_thousand_arms(case, compiled):
    tape = make_tape(1000, 20)
    choices = played(make(case), tape, horizon=1015)[0]
    assert choices[:1000].tolist() == list(range(1000))
    assert ((choices >= 0) & (choices < 1000)).all()
    online = make(case, arms=1000, rng=np.random.default_rng(5), compiled=compiled)
    online.update(range(1000), tape[:, 0].tolist())
    assert online.select() == choices[1000]


@every_case_either_way
def test_late_rewards_hand_out_each_arm_once_first_and_never_crash(case, compiled):
    rng = np.random.default_rng(2)
    policy = make(case, arms=list("abcd"), rng=3, compiled=compiled)
    assert [policy.select() for _ in range(4)] == list("abcd")
    assert all(policy.select() in "abcd" for _ in range(5))  # nothing has come back yet
    policy.update("c", 0.5)
    assert policy.select() in "abcd"
    for arm in "dba":
        policy.update(arm, 0.25)
        assert policy.select() in "abcd"
    owed: list[str] = []
    for _ in range(60):
        owed += [policy.select() for _ in range(rng.integers(1, 5))]
        rng.shuffle(owed)
        late = [owed.pop() for _ in range(rng.integers(0, len(owed) + 1))]
        policy.update(late, rng.random(len(late)))
    assert sum(policy._state.pulls) == policy.n_rewards


@each_case
def test_a_reward_that_was_never_asked_for_is_taken_in(case):
    policy = make(case, arms=2, rng=0)
    policy.update(1, 0.5)
    assert policy.select() == 0
    policy.update(0, 0.25)
    policy.update([1, 1], [0.5, 0.75])
    assert list(policy._state.pulls) == [1, 3]


# --- the online object ------------------------------------------------------------------------------------------------


@every_case_either_way
def test_a_copy_goes_on_as_the_original_would(case, compiled):
    tape = make_tape(seed=2)
    policy = make(case, arms=3, rng=1, compiled=compiled)
    play_online(policy, tape, 40)
    twin = policy.copy()
    assert type(twin) is type(policy)
    before = snapshot(policy)
    rest = tape[:, 40:]
    ahead = play_online(twin, rest, 60)
    assert same_snapshot(snapshot(policy), before)
    assert play_online(policy, rest, 60) == ahead
    assert same_snapshot(snapshot(policy), snapshot(twin))


# --- saved and loaded -------------------------------------------------------------------------------------------------


def attributes(policy: Policy) -> dict:
    """What a live policy keeps beside its state and its generator."""
    return {key: value for key, value in vars(policy).items() if key not in ("_state", "rng", "_lock", "_rows")}


def written(policy: Policy) -> dict:
    """What is saved of a policy, through JSON as strict as can be; whether it is compiled is left out."""
    saved = json.loads(json.dumps(policy.to_dict(), allow_nan=False))
    del saved["compiled"]
    return saved


@every_form
def test_a_policy_that_was_saved_goes_on_as_it_would_have(case, tmp_path):
    tape = make_tape(seed=2)
    policy = make(case, arms=3, rng=1)
    play_online(policy, tape, 40)
    policy.save(tmp_path / "policy.json")
    twin = bandstrap.load(tmp_path / "policy.json")
    assert type(twin) is type(policy)
    assert twin.to_dict() == policy.to_dict()
    assert attributes(twin) == attributes(policy)
    rest = tape[:, 40:]
    assert play_online(twin, rest, 60) == play_online(policy, rest, 60)
    assert twin.to_dict() == policy.to_dict()


@every_case
def test_a_policy_that_was_saved_goes_on_as_machine_code_and_back(case):
    tape = make_tape(seed=2)
    plain, compiled = (make(case, arms=3, rng=1, compiled=flag) for flag in (False, True))
    for policy in (plain, compiled):
        play_online(policy, tape, 40)
    assert written(plain) == written(compiled)
    twins = [Policy.from_dict(plain.to_dict(), compiled=True), Policy.from_dict(compiled.to_dict(), compiled=False)]
    again = Policy.from_dict(compiled.to_dict())
    assert [policy.compiled for policy in (*twins, again)] == [True, False, True]
    rest = tape[:, 40:]
    expected = play_online(plain, rest, 60)
    for policy in (compiled, *twins, again):
        assert play_online(policy, rest, 60) == expected
        assert written(policy) == written(plain)


@every_case_either_way
def test_a_policy_whose_arms_came_and_went_is_saved_whenever(case, compiled):
    tape = make_tape(4, seed=6)
    policy = make(case, arms=["a", "b"], rng=1, compiled=compiled)
    rng = np.random.default_rng(0)
    for i in range(30):
        if i in (4, 12):
            policy.add_arm("c" if i == 4 else "d")
        if i == 20:
            policy.retire("a")
        twin = policy
        if rng.random() < 0.5:
            twin = Policy.from_dict(json.loads(json.dumps(policy.to_dict(), allow_nan=False)), compiled=False)
        arm = policy.select()
        if twin is not policy:
            assert twin.select() == arm
            assert written(twin) == written(policy)
            assert (twin.arms, twin.retired) == (policy.arms, policy.retired)
        policy.update(arm, tape["abcd".index(arm), i])


# --- what states declare ----------------------------------------------------------------------------------------------


@each_form
def test_every_field_of_a_state_says_what_it_is(case):
    check_declarations(lambda capacity: make(case).make_state(3, capacity, np.arange(3)))


@every_case_either_way
def test_a_choice_changes_no_fact_and_needs_nothing_that_is_not_saved(case, compiled):
    tape = make_tape(5, seed=7)
    for rewards in (tape, np.round(4 * tape) / 4):
        policy, forgetful = (make(case, arms=5, rng=3, compiled=compiled) for _ in range(2))
        rng = np.random.default_rng(0)
        for i in range(120):
            before = facts(policy._state)
            arm = policy.select()
            assert facts(policy._state) == before
            if rng.random() < 0.4:
                new = forgetful.start(5, 16, np.random.default_rng(0))
                forget(forgetful._state, in_form(new, compiled))
            assert forgetful.select() == arm
            for twin in (policy, forgetful):
                twin.update(arm, rewards[arm, i])
        assert written(forgetful) == written(policy)


GO_ON = """
    import sys
    from pathlib import Path
    import numpy as np
    import bandstrap
    tape = np.load(sys.argv[1])
    for path in sorted(Path(sys.argv[2]).glob("*.json")):
        policy = bandstrap.load(path)
        for i in range(40):
            policy.update(arm := policy.select(), tape[arm, i])
        policy.save(path)
"""


def test_a_policy_that_was_saved_goes_on_in_another_process(tmp_path):
    # Each is saved after every number of rewards that the first rounds give, and where rows are full.
    tape = make_tape(4, seed=3)
    np.save(tmp_path / "tape.npy", tape)
    expected = {}
    for number, case in enumerate(CASES):
        policy = make(case, arms=list(range(4)), rng=number)
        play_online(policy, tape, number % 7 if number % 2 else 60 + number)
        policy.save(tmp_path / f"{number}.json")
        for i in range(40):
            policy.update(arm := policy.select(), tape[arm, i])
        expected[number] = policy.to_dict()
    run(GO_ON, tmp_path / "tape.npy", tmp_path)
    for number, saved in expected.items():
        assert bandstrap.load(tmp_path / f"{number}.json").to_dict() == saved, CASES[number]


@every_case_either_way
def test_a_batch_of_rewards_equals_one_by_one(case, compiled):
    rng = np.random.default_rng(0)
    arms, rewards = rng.integers(0, 3, 50), rng.integers(0, 257, 50) / 256
    arms[:3] = range(3)
    single, whole, listed = (make(case, arms=3, rng=9, compiled=compiled) for _ in range(3))
    for arm, reward in zip(arms, rewards, strict=True):
        single.update(int(arm), float(reward))
    whole.update(arms, rewards)
    listed.update(tuple(arms.tolist()), rewards.tolist())
    assert same_snapshot(snapshot(single), snapshot(whole))
    assert same_snapshot(snapshot(single), snapshot(listed))
    assert [single.select() for _ in range(5)] == [whole.select() for _ in range(5)]


@each_case
def test_an_empty_batch_changes_nothing(case):
    policy = make(case, arms=2, rng=0)
    before = snapshot(policy)
    policy.update([], [])
    assert same_snapshot(snapshot(policy), before)


@every_case_either_way
def test_costs_in_the_min_direction_are_rewards_in_the_max_direction(case, compiled):
    tape = make_tape(seed=6)
    gains = make(case, arms=3, rng=4)
    costs = make(case, arms=3, rng=4, direction="min", compiled=compiled)
    low, high = gains.support
    shift = low + high if np.isfinite([low, high]).all() else 0.0
    assert play_online(costs, tape, 80, sign=-1.0, shift=shift) == play_online(gains, tape, 80)
    assert same_states(gains._state, costs._state)


def test_policies_leave_arms_and_rewards_to_the_base_class():
    """So that two policies stand for all in the refusals below."""
    shared = {"select", "update", "copy", "arms", "direction", "__repr__", "_need_arms"}
    shared |= {"weights", "add_arm", "retire", "table"}
    for cls in POLICIES.values():
        assert issubclass(cls, Policy)
        for ancestor in cls.__mro__[: cls.__mro__.index(Policy)]:
            assert not shared & set(vars(ancestor)), cls


BAD_REWARDS = [
    pytest.param(np.nan, r"reward.*finite number.*Got nan", id="nan"),
    pytest.param(np.inf, r"reward.*finite number.*Got inf", id="inf"),
    pytest.param(-np.inf, r"reward.*finite number.*Got -inf", id="minus inf"),
    pytest.param(None, r"reward.*finite number.*Got None", id="none"),
    pytest.param("high", r"reward.*finite number.*Got 'high'", id="text"),
    pytest.param(1j, r"reward.*finite number.*Got 1j", id="complex"),
    pytest.param(10**400, r"reward.*finite number.*Got inf", id="whole number beyond floats"),
    pytest.param(
        -2e150, r"reward.*must be (no larger than 1e\+150 in size|inside \[0, 1\]). Got -2e\+150", id="too large"
    ),
    pytest.param(
        10**151,
        r"reward.*must be (no larger than 1e\+150 in size|inside \[0, 1\]). Got 1e\+151",
        id="too large and whole",
    ),
]


@either_way
@either_policy
@each(("reward", "message"), BAD_REWARDS)
def test_a_reward_that_is_no_number_is_refused_with_nothing_changed(name, reward, message, compiled):
    policy = make((name, {}), arms=["a", "b"], rng=0, compiled=compiled)
    policy.update(["a", "b", "b"], [0.5, 0.25, 0.75])
    policy.select()
    before = snapshot(policy)
    with pytest.raises(InvalidInput, match=rf"{type(policy).__name__}\.update.*") as caught:
        policy.update("a", reward)
    assert caught.match(message)
    with pytest.raises(InvalidInput, match=message):
        policy.update(["b", "a"], [0.5, reward])  # the first of the batch is good
    assert same_snapshot(snapshot(policy), before)


@each("case", [case for case in DEFAULTS if case not in BOUNDED], ids=ident)
def test_the_largest_rewards_do_not_overflow(case):
    """Which NumPy would warn of, and so fail the test, and plain Python raise."""
    rng = np.random.default_rng(0)
    policy = make(case, arms=3, rng=0)
    for _ in range(120):
        policy.update(policy.select(), float(rng.choice([-1.0, 1.0, 0.3, -0.2, 0.7]) * policy.largest_reward))
    known = arrays(policy._state)
    facts = [known[name] for name in ("sums", "means", "squares") if name in known]
    assert all(np.isfinite(values).all() for values in facts)


@either_policy
@each(
    ("arm", "reward", "message"),
    [
        pytest.param("c", 0.5, r"'arm'.*one of \['a', 'b'\].*Got 'c'", id="unknown"),
        pytest.param(0, 0.5, r"'arm'.*one of \['a', 'b'\].*Got 0", id="number"),
        pytest.param(None, 0.5, r"'arm'.*one of \['a', 'b'\].*Got None", id="none"),
        pytest.param({}, 0.5, r"'arm'.*one of \['a', 'b'\].*Got \{\}", id="unhashable"),
        pytest.param((["a"],), 0.5, r"'arm'.*one of \['a', 'b'\]", id="tuple of a list"),
        pytest.param(["a", "c"], [0.5, 0.5], r"'arm'.*one of \['a', 'b'\].*Got 'c'", id="unknown in a batch"),
        pytest.param(["a", ["b"]], [0.5, 0.5], r"'arm'.*one of \['a', 'b'\].*Got \['b'\]", id="unhashable in a batch"),
        pytest.param(
            ["a", "b"], [0.5], r"'reward'.*of the same length as 'arm'.*Got 1 rewards for 2 arms", id="too few"
        ),
        pytest.param(
            ["a"], [0.5, 0.5], r"'reward'.*of the same length as 'arm'.*Got 2 rewards for 1 arms", id="too many"
        ),
        pytest.param(["a", "b"], 0.5, r"'(arm|reward)'.*Got", id="one reward for two arms"),
        pytest.param("a", [0.5, 0.5], r"'(arm|reward)'.*Got", id="two rewards for one arm"),
        pytest.param(["a", "b"], [[0.5], [0.5]], r"'reward'.*finite number", id="rewards of two axes"),
        pytest.param(["a", "b"], [[0.5], [0.5, 1.0]], r"'reward'.*finite number", id="ragged rewards"),
    ],
)
def test_an_unknown_arm_and_unequal_lengths_are_refused_with_nothing_changed(name, arm, reward, message):
    policy = make((name, {}), arms=["a", "b"], rng=0)
    policy.update(["a", "b", "b"], [0.5, 0.25, 0.75])
    policy.select()
    before = snapshot(policy)
    with pytest.raises(InvalidInput, match=message):
        policy.update(arm, reward)
    assert same_snapshot(snapshot(policy), before)


@each("case", BOUNDED, ids=ident)
def test_a_reward_outside_a_policys_range_is_refused_with_nothing_changed(case):
    policy = make(case, arms=["a", "b"], rng=0)
    policy.update(["a", "b"], [0.0, 1.0])
    before = snapshot(policy)
    outside = [1.0 + 2**-52, 7] + ([-1e-300] if np.isfinite(policy.support[0]) else [])
    for reward in outside:
        with pytest.raises(InvalidInput, match=r"'reward'.*must be inside \[.*1\]. Got"):
            policy.update("a", reward)
        with pytest.raises(InvalidInput, match=r"'reward'.*must be inside"):
            policy.update(["b", "a"], [0.5, reward])
    assert same_snapshot(snapshot(policy), before)


@each("name", sorted(POLICIES))
def test_rewards_may_be_any_kind_of_real_number(name):
    first, second = (make((name, {}), arms=2, rng=0) for _ in range(2))
    first.update([0, 1, 0, 1, 0], [1, True, np.float32(0.5), np.int8(0), np.bool_(False)])
    second.update([0, 1, 0, 1, 0], [1.0, 1.0, 0.5, 0.0, 0.0])
    assert same_snapshot(snapshot(first), snapshot(second))


@either_policy
def test_without_arms_a_policy_only_describes(name):
    policy = make((name, {}))
    for act in (policy.select, lambda: policy.update(0, 0.5)):
        with pytest.raises(InvalidInput, match=r"'arms' parameter of \w+ must be given to call \w+\(\). Got none"):
            act()
    for parameter, value in (("rng", 3), ("compiled", True)):
        with pytest.raises(InvalidInput, match=rf"'{parameter}'.*left out unless 'arms' is given. Got {value} instead"):
            make((name, {}), **{parameter: value})
    assert make((name, {}), compiled=False).label == name


@either_policy
@each("arms", [0, -2, True, 2.5, [], "abc", ["a", "a"], [["a"], ["b"]], {"a"}], ids=repr)
def test_arms_that_are_no_labels_are_refused(name, arms):
    with pytest.raises(
        InvalidInput, match=r"'arms' parameter of \w+ must be a positive number or a non-empty sequence"
    ):
        make((name, {}), arms=arms)


@either_policy
def test_arms_may_be_any_hashables(name):
    labels = [("x", 1), None, 3, "three", frozenset({2})]
    policy = make((name, {}), arms=labels, rng=0)
    assert play_online(policy, make_tape(5), 5) == labels
    assert policy.select() in labels
    assert make((name, {}), arms=np.int64(3), rng=0).arms == (0, 1, 2)


@either_policy
def test_a_wrong_direction_and_an_unknown_parameter_are_refused(name):
    with pytest.raises(InvalidInput, match=r"'direction'.*one of 'max', 'min'. Got 'up'"):
        make((name, {}), arms=2, direction="up")
    with pytest.raises(InvalidInput, match=r"sigmma"):
        make((name, {}), sigmma=2)


@each_case
def test_the_same_seed_plays_the_same_game_online(case):
    tape = make_tape()
    first, second = (play_online(make(case, arms=3, rng=11), tape, 60) for _ in range(2))
    assert first == second


# --- names ------------------------------------------------------------------------------------------------------------


def built_from_words(policy, registry):
    """What the label of a policy is a call of; its repr has the same settings."""
    call = parse_call(policy.label)
    assert call.name == policy.name
    twin = registry[call.name](**call.options)
    assert twin.settings() == policy.settings()
    assert twin.label == policy.label
    assert twin.make_params(HORIZON) == policy.make_params(HORIZON)
    again = eval(repr(policy), {cls.__name__: cls for cls in registry.values()})  # noqa: S307
    assert again.settings() == policy.settings()
    return twin


@each_form
def test_label_and_repr_build_the_policy_again(case):
    assert type(built_from_words(make(case), POLICIES)) is POLICIES[case[0]]


def test_a_label_keeps_every_digit_of_a_setting():
    policy = POLICIES["ucb1"](sigma=1.23456789)
    assert parse_call(policy.label).options["sigma"] == 1.23456789


@either_policy
def test_repr_of_a_live_policy_names_its_arms(name):
    policy = make((name, {}), arms=["a", "b"], rng=0)
    assert repr(policy) == f"{type(policy).__name__}(arms=['a', 'b'])"
    compiled = make((name, {}), arms=["a", "b"], rng=0, compiled=True)
    assert repr(compiled) == f"{type(policy).__name__}(arms=['a', 'b'], compiled=True)"
    assert compiled.label == policy.label == name
    assert compiled.settings() == policy.settings() == {}


# --- simulation -------------------------------------------------------------------------------------------------------


class Reference(NamedTuple):
    """Cases that were simulated together, and what came of it."""

    cases: list
    result: Result


@pytest.fixture(scope="module", params=[TELLING, pytest.param(OTHERS, marks=exhaustive)], ids=["telling", "others"])
def reference(request):
    return Reference(request.param, simulated(request.param))


def simulated(cases, **options):
    policies = {ident(case): make(case) for case in cases}
    return simulate(policies, Beta(n_arms=3), horizon=60, replications=15, seed=8, progress=False, **options)


def same_result(one, other) -> bool:
    return (
        one.policies == other.policies
        and one.regret.tobytes() == other.regret.tobytes()
        and one.pulls.tobytes() == other.pulls.tobytes()
        and one.replications.tolist() == other.replications.tolist()
    )


@pytest.mark.parametrize("block_size", [1, 3, 7])
@pytest.mark.parametrize("threads", [None, 1, 3])
def test_any_block_size_and_any_number_of_threads_give_the_same_bytes(reference, block_size, threads):
    if threads is None:
        assert same_result(reference.result, simulated(reference.cases, block_size=block_size))
        return
    with ThreadPoolExecutor(threads) as pool:
        assert same_result(reference.result, simulated(reference.cases, block_size=block_size, executor=pool))


@exhaustive
def test_processes_give_the_same_bytes(reference):
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for block_size in (1, 7):
            assert same_result(reference.result, simulated(reference.cases, block_size=block_size, executor=pool))


def test_a_policy_plays_the_same_alone_and_in_company(reference):
    found = reference.result
    assert list(found.policies) == [ident(case) for case in reference.cases]
    for place, case in enumerate(reference.cases):
        alone = simulate(make(case), Beta(n_arms=3), horizon=60, replications=4, seed=8, progress=False)
        assert found.regret[place, :4].tobytes() == alone.regret[0].tobytes(), case
        assert found.pulls[place, :4].tobytes() == alone.pulls[0].tobytes(), case


def test_a_simulated_replication_is_play_on_its_tape_and_stream(reference):
    found = reference.result
    means, tape = Beta(n_arms=3).tape(60, stream(8, 2, ENVIRONMENT))
    for place, case in enumerate(reference.cases):
        online = make(case, arms=3, rng=stream(8, 2, POLICY))
        choices = np.array(play_online(online, tape, 60))
        assert np.bincount(choices, minlength=3).tolist() == found.pulls[place, 2].tolist(), case
        regret = np.cumsum((means.max() - means)[choices])[found.checkpoints - 1]
        np.testing.assert_array_equal(found.regret[place, 2], regret, err_msg=str(case))


@each("case", BOUNDED, ids=ident)
def test_a_bounded_policy_is_not_let_into_an_unbounded_environment(case):
    with pytest.raises(
        InvalidInput, match=rf"'environment'.*rewards inside \[.*1\], the range of {case[0]}.*Got rewards"
    ):
        simulate(make(case), Gaussian(), horizon=50, replications=2, seed=0, progress=False)


# --- the disk cache ---------------------------------------------------------------------------------------------------


def run(code: str, *arguments: object, folder: Path | None = None, **environment: object) -> str:
    """What ``code`` prints in a fresh interpreter."""
    finished = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        env=os.environ | {name: str(value) for name, value in environment.items()},
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.strip()


COUNT_HITS = """
    import bandstrap
    from bandstrap.engine.simulator.blocks import warm_policy
    from bandstrap.engine.compiler.compiled import compiled
    from bandstrap.engine.simulator.play import loop
    from bandstrap.environments import Beta
    from bandstrap.policies import UCB1
    warm_policy(UCB1(), Beta())
    stats = compiled(loop("arms", False, UCB1.kernel.borrows), UCB1.kernel).stats
    print((bandstrap.__file__, sum(stats.cache_hits.values()), sum(stats.cache_misses.values())))
"""


@exhaustive
def test_a_second_process_hits_the_disk_cache_and_an_edited_source_misses_it(tmp_path):
    package = tmp_path / "sources" / "bandstrap"
    shutil.copytree(Path(bandstrap.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))

    def hits_and_misses():
        file, hits, misses = ast.literal_eval(
            run(COUNT_HITS, PYTHONPATH=package.parent, NUMBA_CACHE_DIR=tmp_path / "cache", PYTHONDONTWRITEBYTECODE=1)
        )
        assert Path(file).parent == package
        return hits, misses

    assert hits_and_misses() == (0, 1)
    assert hits_and_misses() == (1, 0)
    edited = package / "policies" / "ucb1.py"  # not the file of play, which numba stamps
    original = edited.read_text()
    edited.write_text(original.replace("state.sums[arm] / n + hoeffding", "state.sums[arm] / n + 2.0 * hoeffding", 1))
    assert edited.read_text() != original
    assert hits_and_misses() == (0, 1)

"""What every linear policy keeps, over every entry of the registry and the forms of each."""

import inspect
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import bandstrap
import sampling
from bandstrap.engine.simulator.feedback import Feedback
from bandstrap.engine.simulator.play import Game, compiled_play, play
from bandstrap.engine.simulator.simulate import simulate
from bandstrap.engine.simulator.streams import ENVIRONMENT, LOSS, POLICY, stream
from bandstrap.environments import ENVIRONMENTS, Gaussian, LinearBandit
from bandstrap.errors import InvalidInput
from bandstrap.policies import LINEAR_POLICIES, POLICIES, UCB1
from bandstrap.policies.linear import LinearPolicy
from contract.test_policies import built_from_words, ident, run, same_result, written
from naive.feedback import play_with_dictionary
from naive.tapes import fed_in_rows
from policies.declarations import check_declarations, facts, forget, in_form
from policies.linear.states import same_states, snapshot
from sampling import each, exhaustive, telling

# LinearReBoot can be played with new actions each round, though nobody should.
pytestmark = pytest.mark.filterwarnings("ignore:linear_reboot needs a fixed set of actions")

HORIZON = 70
MODES = ("resampled", "streaming")
RADII = ("theorem", "closed-form", "printed")
SCHEDULES = ("1/(t+1)", "1/T^2", "1/(t log^tau t)", 0.05)

DEFAULTS = [(name, {}) for name in sorted(LINEAR_POLICIES)]
CASES = [*DEFAULTS, ("linear_bootstrapped_ucb", {"quantile": "streaming"})]
FORMS = (
    [("oful", {"radius": radius, "theta_bound": 1.5, "sigma": 0.4, "ridge": 2.0}) for radius in RADII]
    + [
        ("linear_bootstrapped_ucb", {"quantile": mode, "radius": radius, "n_resamples": 13, "ridge": 0.2})
        for mode in MODES
        for radius in RADII
    ]
    + [("linear_ts", {"inflation": inflation}) for inflation in ("none", "paper", "agrawal-goyal")]
    + [("linear_ts", {"prior_scale": 3.0, "sigma": 0.5}), ("lin_ucb", {"width": 0.4}), ("lin_ucb", {"delta": 0.9})]
    + [("linear_phe", {"a": 1, "lower": -3.0, "upper": 4.0}), ("linear_reboot", {"omega": 0.3, "ridge": 5.0})]
    + [
        (name, {"alpha": alpha, "horizon": HORIZON, "tau": 2.0})
        for name in ("oful", "linear_ts", "linear_bootstrapped_ucb")
        for alpha in SCHEDULES
    ]
)


# A width in closed form, known actions whose rewards are perturbed, and replicates that stream.
TELLING = [("lin_ucb", {}), ("linear_phe", {}), ("linear_bootstrapped_ucb", {"quantile": "streaming"})]
OTHERS = [case for case in CASES if case not in TELLING]

each_policy = each("name", sorted(LINEAR_POLICIES))
every_case = telling("case", CASES, TELLING.__contains__, ids=ident)
every_form = telling("case", CASES + FORMS, TELLING.__contains__, ids=ident)
every_case_either_way = sampling.either_way(CASES, TELLING, ident)
# A live policy in plain Python, and as machine code.
either_way = pytest.mark.parametrize("compiled", [False, True], ids=["plain", "compiled"])
both_kinds = pytest.mark.parametrize("contextual", [False, True], ids=["fixed", "contextual"])


def make(case, **more):
    """The policy; perturbed history is let play with unbounded rewards."""
    free = {"check_range": False} if case[0] == "linear_phe" else {}
    return LINEAR_POLICIES[case[0]](**(free | case[1] | more))


def game(*, d=3, n_actions=6, horizon=HORIZON, contextual=False, seed=0):
    """Sets of actions and a tape of rewards."""
    rng = np.random.default_rng(seed)
    sets = rng.uniform(-1, 1, (horizon if contextual else 1, n_actions, d))
    means = sets @ rng.normal(size=d)
    return sets, np.ascontiguousarray(means.T + rng.normal(size=(n_actions, horizon)))


def played(policy, sets, tape, *, seed=5, horizon=HORIZON, by=compiled_play, arrivals=None):
    """Choices, final state and generator of ``play``."""
    rng = np.random.default_rng(seed)
    state = policy.start(sets.shape[2], horizon, rng)
    choices = np.full(horizon, -1)
    by_round = len(sets) > 1
    by(policy.kernel, Game.begin(policy.make_params(horizon), state, tape, choices, 0, by_round, sets, arrivals), rng)
    return choices.tolist(), state, rng


def play_online(policy, sets, tape, *, first=0, last=HORIZON, sign=1.0, shift=0.0, pulls=None):
    """Choices of ``select`` and ``update``; rewards are handed over as ``shift + sign y``."""
    fixed = len(sets) == 1
    pulls = np.zeros(len(tape), dtype=int) if pulls is None else pulls
    choices = []
    for t in range(first, last):
        actions = sets[0 if fixed else t]
        arm = policy.select(actions)
        policy.update(actions[arm], shift + sign * tape[arm, pulls[arm] if fixed else t])
        pulls[arm] += 1
        choices.append(arm)
    return choices


def assert_all_play_alike(case, sets, tape, horizon=HORIZON, seed=5):
    kept = sets.copy()
    compiled, state, rng = played(make(case), sets, tape, horizon=horizon, seed=seed)
    plain, plain_state, plain_rng = played(make(case), sets, tape, horizon=horizon, seed=seed, by=play)
    assert plain == compiled
    assert same_states(plain_state, state)
    assert rng.bit_generator.state == plain_rng.bit_generator.state
    for online in (make(case, rng=np.random.default_rng(seed), compiled=flag) for flag in (False, True)):
        assert play_online(online, sets, tape, last=horizon) == compiled
        assert same_states(online._state, state)
        assert rng.bit_generator.state == online.rng.bit_generator.state
        assert online.n_rewards == horizon
    assert sets.tobytes() == kept.tobytes()
    return compiled


# --- one formula, four ways -------------------------------------------------------------------------------------------


@both_kinds
@every_form
def test_online_plain_and_compiled_play_are_the_same_bits(case, contextual):
    sets, tape = game(contextual=contextual)
    choices = assert_all_play_alike(case, sets, tape)
    assert set(choices) <= set(range(6))
    if case[0] not in ("linear_phe", "linear_reboot"):  # which need not explore here, or only take new actions
        assert len(set(choices)) > 1


LATE = Feedback(delay=7, batch=5, lost=0.2)


def play_online_late(policy, sets, tape, seed=5):
    """Choices of ``select`` and ``update`` with late rewards."""
    fixed = len(sets) == 1

    def actions(t):
        return sets[0 if fixed else t - 1]

    return play_with_dictionary(
        lambda t: policy.select(actions(t)),
        lambda decision, arm, reward: policy.update(actions(decision)[arm], reward),
        lambda t, arm, i: float(tape[arm, i if fixed else t - 1]),
        delays=[LATE.delay] * HORIZON,
        lost=stream(seed, 0, LOSS).random(HORIZON) < LATE.lost,
        batch=LATE.batch,
    )


@pytest.mark.parametrize("is_late", [False, True], ids=["at once", "late"])
@every_case
def test_play_that_stops_for_more_rewards_is_play_on_the_whole_tape(case, is_late):
    sets, tape = game()
    arrivals = LATE.arrivals(HORIZON, 5, 0) if is_late else None

    def in_rows(kernel, game, rng):
        def run(rows, bookmark):
            compiled_play(kernel, game._replace(tape=rows, bookmark=bookmark), rng)

        assert fed_in_rows(run, game.tape, game.choices.size) > 5

    found, state, rng = played(make(case), sets, tape, by=in_rows, arrivals=arrivals)
    expected, expected_state, expected_rng = played(make(case), sets, tape, arrivals=arrivals)
    assert found == expected
    assert same_states(state, expected_state)
    assert rng.bit_generator.state == expected_rng.bit_generator.state


@both_kinds
@every_case
def test_online_plain_and_compiled_play_are_the_same_bits_when_rewards_are_late(case, contextual):
    sets, tape = game(contextual=contextual)
    arrivals = LATE.arrivals(HORIZON, 5, 0)
    compiled, plain = (played(make(case), sets, tape, by=by, arrivals=arrivals) for by in (compiled_play, play))
    for choices, state, rng in (compiled, plain):
        assert choices == compiled[0]
        assert same_states(state, compiled[1])
        assert rng.bit_generator.state == compiled[2].bit_generator.state
    for online in (make(case, rng=np.random.default_rng(5), compiled=flag) for flag in (False, True)):
        assert play_online_late(online, sets, tape) == compiled[0]
        assert same_states(online._state, compiled[1])
        assert online.rng.bit_generator.state == compiled[2].bit_generator.state
        assert 0 < online.n_rewards < 0.95 * HORIZON


@both_kinds
@every_case
@each("d", [1, 2, 12])
def test_any_number_of_features_is_played_alike(case, d, contextual):
    assert_all_play_alike(case, *game(d=d, horizon=40, contextual=contextual, seed=d), horizon=40)


@both_kinds
@every_case
def test_ties_repeated_actions_and_actions_of_nothing_are_played_alike(case, contextual):
    sets, tape = game(contextual=contextual, seed=3)
    sets, tape = np.round(sets), np.round(tape) + 0.0  # no -0, which online play would make 0
    sets[:, 1] = sets[:, 0]
    sets[:, 2] = 0.0
    choices = assert_all_play_alike(case, sets, tape)
    if case[0] != "linear_reboot":  # whose equal actions have draws of their own
        assert 1 not in choices  # the first of equals


@both_kinds
@every_case
def test_one_action_is_always_taken(case, contextual):
    choices = assert_all_play_alike(case, *game(n_actions=1, horizon=30, contextual=contextual), horizon=30)
    assert choices == [0] * 30


@every_case
def test_a_thousand_actions(case):
    choices = assert_all_play_alike(case, *game(n_actions=1000, horizon=12), horizon=12)
    assert all(0 <= arm < 1000 for arm in choices)
    if case[0] == "linear_reboot":  # one never taken comes first
        assert choices == list(range(12))


@every_case
def test_a_longer_game_begins_like_a_shorter_one(case):
    sets, tape = game()
    longer = played(make(case), sets, tape)[0]
    assert played(make(case), sets, tape, horizon=33)[0] == longer[:33]


@every_case
def test_many_pulls_of_few_actions_are_played_alike(case):
    """Binomial draws of large counts go another way; the check on drift comes at observation 1024."""
    horizon = 1100 if case[0] != "linear_bootstrapped_ucb" else 150
    sets, tape = game(d=2, n_actions=2, horizon=horizon)
    assert_all_play_alike(case, sets, tape, horizon=horizon)


def test_online_play_never_imports_the_compiler():
    code = """
        import sys
        from bandstrap.policies import LINEAR_POLICIES
        for policy in [make(rng=0) for make in LINEAR_POLICIES.values()]:
            for i in range(20):
                actions = [[i % 3, 1.0], [0.5, i % 2]]
                policy.update(actions[policy.select(actions)], (i * 37 % 11) / 11)
        print({"numba", "matplotlib", "polars"} & set(sys.modules))
    """
    assert run(code) == "set()"


# --- the online object ------------------------------------------------------------------------------------------------


@each("at", [0, 17, 40])
@every_form
def test_a_policy_that_was_saved_goes_on_as_it_would_have(case, at, tmp_path):
    sets, tape = game(contextual=True, seed=2)
    policy = make(case, rng=1)
    play_online(policy, sets, tape, last=at)
    policy.save(tmp_path / "policy.json")
    twin = bandstrap.load(tmp_path / "policy.json")
    assert type(twin) is type(policy)
    assert twin.to_dict() == policy.to_dict()
    last = at + 12
    assert play_online(twin, sets, tape, first=at, last=last) == play_online(policy, sets, tape, first=at, last=last)
    assert twin.to_dict() == policy.to_dict()


@every_case
@each("at", [0, 16, 40])
def test_a_policy_that_was_saved_goes_on_as_machine_code_and_back(case, at):
    sets, tape = game(contextual=True, seed=2)
    plain, compiled = (make(case, rng=1, compiled=flag) for flag in (False, True))
    for policy in (plain, compiled):
        play_online(policy, sets, tape, last=at)
    assert written(plain) == written(compiled)
    twins = [
        LinearPolicy.from_dict(plain.to_dict(), compiled=True),
        LinearPolicy.from_dict(compiled.to_dict(), compiled=False),
        LinearPolicy.from_dict(compiled.to_dict()),
    ]
    assert [policy.compiled for policy in twins] == [True, False, True]
    expected = play_online(plain, sets, tape, first=at, last=at + 12)
    for policy in (compiled, *twins):
        assert play_online(policy, sets, tape, first=at, last=at + 12) == expected
        assert written(policy) == written(plain)


@each("case", CASES + FORMS)
def test_every_field_of_a_state_says_what_it_is(case):
    check_declarations(lambda capacity: make(case).make_state(3, capacity, np.random.default_rng(0)))


@every_case_either_way
def test_a_choice_changes_no_fact_and_needs_nothing_that_is_not_saved(case, compiled):
    sets, tape = game(contextual=True, seed=4)
    policy, forgetful = (make(case, rng=3, compiled=compiled) for _ in range(2))
    rng = np.random.default_rng(0)
    for t in range(50):
        before = None if t == 0 else facts(policy._state)
        arm = policy.select(sets[t])
        assert before is None or facts(policy._state) == before
        if t > 0 and rng.random() < 0.4:
            forget(forgetful._state, in_form(forgetful.start(3, 16, np.random.default_rng(0)), compiled))
        assert forgetful.select(sets[t]) == arm
        for twin in (policy, forgetful):
            twin.update(sets[t][arm], tape[arm, t])
    assert written(forgetful) == written(policy)


@every_case_either_way
@each("at", [0, 15, 16, 17, 40])
def test_a_copy_goes_on_as_the_original_would(case, at, compiled):
    sets, tape = game(contextual=True, seed=2)
    policy = make(case, rng=1, compiled=compiled)
    play_online(policy, sets, tape, last=at)
    twin = policy.copy()
    assert type(twin) is type(policy)
    before = snapshot(policy)
    ahead = play_online(twin, sets, tape, first=at)
    assert snapshot(policy) == before
    assert play_online(policy, sets, tape, first=at) == ahead
    assert snapshot(policy) == snapshot(twin)


@every_case_either_way
def test_room_for_observations_grows_online(case, compiled):
    sets, tape = game(contextual=True, seed=4)
    policy = make(case, rng=1, compiled=compiled)
    sizes = []
    for t in range(HORIZON):
        play_online(policy, sets, tape, first=t, last=t + 1)
        parts = [getattr(policy._state, name) for name in ("known", "observed") if hasattr(policy._state, name)]
        sizes.append([len(part[-1]) for part in parts])
        assert all(part.size[0] == t + 1 for part in parts)  # every action is a new one
    assert sizes[15] == [16] * len(sizes[15])
    assert sizes[16] == [32] * len(sizes[15])
    assert sizes[-1] == [128] * len(sizes[15])
    assert same_states(policy._state, played(make(case), sets, tape, seed=1)[1])


@both_kinds
@every_case_either_way
def test_costs_in_the_min_direction_are_rewards_in_the_max_direction(case, contextual, compiled):
    sets, tape = game(contextual=contextual, seed=6)
    gains, costs = make(case, rng=4), make(case, rng=4, direction="min", compiled=compiled)
    assert play_online(costs, sets, tape, sign=-1.0) == play_online(gains, sets, tape)
    assert same_states(gains._state, costs._state)


def test_costs_of_a_bounded_policy_are_mirrored_inside_its_range():
    sets, tape = game(seed=6)
    tape = np.round(np.clip(tape, -1, 3) * 2**20) / 2**20
    gains, costs = (
        LINEAR_POLICIES["linear_phe"](lower=-1, upper=3, rng=4, direction=direction) for direction in ("max", "min")
    )
    assert play_online(costs, sets, tape, sign=-1.0, shift=2.0) == play_online(gains, sets, tape)
    assert same_states(gains._state, costs._state)


@every_case
def test_the_same_seed_plays_the_same_game_online(case):
    sets, tape = game()
    first, second = (play_online(make(case, rng=11), sets, tape) for _ in range(2))
    assert first == second


# --- names and words --------------------------------------------------------------------------------------------------


@each("case", CASES + FORMS)
def test_label_and_repr_build_the_policy_again(case):
    policy = make(case)
    twin = built_from_words(policy, LINEAR_POLICIES)
    assert same_states(*(p.start(3, 4, np.random.default_rng(0)) for p in (twin, policy)))


def test_the_registry_holds_every_linear_policy_and_nothing_else():
    assert sorted(LINEAR_POLICIES) == [
        "lin_ucb",
        "linear_bootstrapped_ucb",
        "linear_phe",
        "linear_reboot",
        "linear_ts",
        "oful",
    ]
    assert not set(LINEAR_POLICIES) & set(POLICIES)
    assert all(cls.plays == "actions" for cls in LINEAR_POLICIES.values())
    assert all(cls.plays == "arms" for cls in POLICIES.values())


@each_policy
def test_a_policy_is_exported_and_says_what_its_parameters_are(name):
    cls = LINEAR_POLICIES[name]
    assert getattr(bandstrap, cls.__name__) is cls
    assert cls.__name__ in bandstrap.__all__
    words = inspect.getdoc(cls)
    section = words.split("Parameters\n----------\n")[1].split("\n\n")[0]
    told = {
        word.strip() for line in section.splitlines() if line and not line.startswith(" ") for word in line.split(",")
    }
    assert told == {*cls.parameters(), "dimension", "rng", "direction", "compiled"}
    assert f">>> from bandstrap import {cls.__name__}\n" in words
    assert ".select(" in words.split("Examples\n--------\n")[1]
    assert "References\n----------\n" in words
    assert ".. math::" in words


# --- simulation -------------------------------------------------------------------------------------------------------

ENVIRONMENT_OF = {
    False: LinearBandit(4, n_actions=7),
    True: LinearBandit(4, n_actions=7, contextual=True),
}


def simulated(contextual, policies, **options):
    settings = {"horizon": 30, "replications": 7, "seed": 8, "progress": False} | options
    return simulate(policies, ENVIRONMENT_OF[contextual], **settings)


def policies_of(cases):
    return {ident(case): make(case) for case in cases}


@pytest.fixture(scope="module", params=[TELLING, pytest.param(OTHERS, marks=exhaustive)], ids=["telling", "others"])
def cases(request):
    return request.param


@pytest.fixture(scope="module", params=[False, True], ids=["fixed", "contextual"])
def reference(request, cases):
    return request.param, simulated(request.param, policies_of(cases))


@pytest.mark.parametrize("block_size", [1, 3])
@pytest.mark.parametrize("threads", [None, 1, 2])
def test_any_block_size_and_any_number_of_threads_give_the_same_bytes(reference, cases, block_size, threads):
    contextual, expected = reference
    if threads is None:
        assert same_result(expected, simulated(contextual, policies_of(cases), block_size=block_size))
        return
    with ThreadPoolExecutor(threads) as pool:
        found = simulated(contextual, policies_of(cases), block_size=block_size, executor=pool)
    assert same_result(expected, found)


def test_a_simulated_replication_is_online_play_on_its_tape_and_stream(reference, cases):
    contextual, expected = reference
    assert list(expected.policies) == [ident(case) for case in cases]
    means, tape, sets = ENVIRONMENT_OF[contextual].tape(30, stream(8, 2, ENVIRONMENT))
    means = np.broadcast_to(means, (30, 7))
    for place, case in enumerate(cases):
        choices = np.array(play_online(make(case, rng=stream(8, 2, POLICY)), sets, tape, last=30))
        assert np.bincount(choices, minlength=7).tolist() == expected.pulls[place, 2].tolist(), case
        lost = means.max(axis=1) - means[np.arange(30), choices]
        regret = np.cumsum(lost)[expected.checkpoints - 1]
        np.testing.assert_array_equal(expected.regret[place, 2], regret, err_msg=str(case))


@either_way
def test_a_live_policy_is_simulated_from_its_beginning_and_not_touched(reference, cases, compiled):
    contextual, expected = reference
    sets, tape = game(d=4)
    for place, case in enumerate(cases):
        policy = make(case, rng=3, compiled=compiled)
        play_online(policy, sets, tape, last=20)
        before = snapshot(policy)
        result = simulated(contextual, {ident(case): policy}, replications=2)
        assert snapshot(policy) == before, case
        assert result.regret[0].tobytes() == expected.regret[place, :2].tobytes(), case


@every_case
def test_a_game_of_one_round(case):
    for contextual in (False, True):
        result = simulated(contextual, make(case), horizon=1, replications=2)
        assert (result.pulls.sum(axis=2) == 1).all()


QUICK = {"horizon": 20, "replications": 2, "seed": 0, "progress": False}


@each(
    ("case", "environment"),
    [(case, "gaussian") for case in CASES]
    + [(CASES[0], name) for name in sorted(set(ENVIRONMENTS) - {"linear_bandit", "arms", "empirical", "gaussian"})],
    ids=lambda value: value if isinstance(value, str) else ident(value),
)
def test_a_linear_policy_is_not_let_into_an_environment_without_actions(case, environment):
    label = make(case).label
    with pytest.raises(InvalidInput) as caught:
        simulate(make(case), ENVIRONMENTS[environment](), **QUICK)
    assert str(caught.value) == (
        f"The 'environment' parameter of simulate must be one that offers actions, which {label} plays. "
        f"Got {environment} instead."
    )


@pytest.mark.parametrize("name", ["ucb1", "bootstrapped_ucb"])
def test_a_policy_of_arms_is_not_let_into_an_environment_whose_actions_change(name):
    with pytest.raises(
        InvalidInput, match=rf"'environment' parameter of simulate must be one that offers arms, which {name} plays"
    ):
        simulate(POLICIES[name](), ENVIRONMENT_OF[True], **QUICK)


def test_policies_of_arms_and_of_actions_play_side_by_side_where_both_can():
    mixed = {"arms": UCB1(), "actions": make(("oful", {}))}
    result = simulated(False, mixed)
    alone = simulated(False, {"actions": make(("oful", {}))})
    assert result.regret[1].tobytes() == alone.regret[0].tobytes()
    with pytest.raises(InvalidInput, match=r"offers actions, which actions plays"):
        simulate(mixed, Gaussian(), **QUICK)
    with pytest.raises(InvalidInput, match=r"offers arms, which arms plays"):
        simulated(True, mixed)


@each_policy
def test_costs_and_classes_are_refused(name):
    with pytest.raises(InvalidInput, match=r"'policies' parameter of simulate must be policies without arms and with"):
        simulated(False, [make((name, {}), direction="min")])
    with pytest.raises(InvalidInput, match=r"'policies' parameter of simulate must be policies, such as"):
        simulated(False, [LINEAR_POLICIES[name]])


def test_a_bounded_policy_is_not_let_into_an_unbounded_environment():
    with pytest.raises(InvalidInput, match=r"'environment'.*rewards inside \[0, 1\], the range of linear_phe. Got rew"):
        simulated(False, [LINEAR_POLICIES["linear_phe"]()])


@pytest.mark.parametrize("name", ["oful", "linear_ts", "linear_bootstrapped_ucb"])
def test_a_callable_error_probability_is_refused(name):
    with pytest.raises(InvalidInput, match=r"'alpha' parameter of \w+ must be a rule or a number in a simulation. Got"):
        simulated(False, [make((name, {"alpha": lambda t: 1 / t}))])


@every_case
def test_every_linear_policy_beats_uniform_play(case):
    """On the paper's problem in small; a mean over 20 replications, with the seed fixed.

    A policy that chooses at random has a ratio within 0.01 of 1: it would never pass.
    """
    environment = LinearBandit(2, n_actions=10)
    result = simulate(make(case), environment, horizon=300, replications=20, seed=3, progress=False)
    means = [environment.tape(1, stream(3, i, ENVIRONMENT))[0] for i in range(20)]
    uniform = 300 * np.mean([row.max() - row.mean() for row in means])
    assert result.mean[0, -1] < 0.7 * uniform

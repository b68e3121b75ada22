"""A choice among some of the arms is that of a policy which never had the others."""

import copy
import pickle

import numpy as np
import pytest

from bandstrap import UCB1, SubsampleDuels
from bandstrap.engine.compiler import steps
from bandstrap.errors import InvalidInput
from bandstrap.policies.states.duels import LEADER, ROUND, WAITING
from bandstrap.policies.states.fields import declared_leaves
from contract.test_policies import (
    CASES,
    TELLING,
    arrays,
    either_policy,
    every_case_either_way,
    every_case_that_learns_of_each_arm_alone,
    ident,
    make,
    make_tape,
    play_online,
)
from policies.own_policies import Sorted
from policies.test_journal import spread, steps_of
from sampling import COMPILED_KINDS, each, telling

N_ARMS = 5
MEANS = [-60.0, 0.0, 0.5, 0.25, -60.0]
# Some, one, all but one, and others than before.
SUBSETS = ([0, 3, 4], [2], [1, 2, 3, 4], [0, 1])


def scratch(state):
    """Names of what is written before it is read."""
    return {name for name, field, _ in declared_leaves(state) if field.kind == "scratch"}


def known(policy):
    """All that a policy knows, but for what is written before it is read."""
    inner = ("_state", "rng", "_lock", "_rows", "_machine")
    rest = {key: value for key, value in vars(policy).items() if key not in inner}
    state = {key: value.tobytes() for key, value in arrays(policy._state).items() if key not in scratch(policy._state)}
    return copy.deepcopy((rest, state, policy.rng.bit_generator.state))


def game(size=60, n_arms=N_ARMS, seed=4):
    """Arms and rewards; each arm has several, and their sums are exact."""
    rng = np.random.default_rng(seed)
    arms = np.concatenate([np.tile(np.arange(n_arms), 4), rng.integers(0, n_arms, size - 4 * n_arms)])
    tape = make_tape(n_arms, size, seed)
    return [(int(arm), float(tape[arm, i])) for i, arm in enumerate(arms)]


def told(case, observed, compiled=False):
    """A policy that was told of these; what it draws to learn one is drawn from a generator of its own."""
    policy = make(case, arms=N_ARMS, rng=7, compiled=compiled)
    for i, (arm, reward) in enumerate(observed):
        policy.rng = np.random.default_rng([1, i])
        policy.update(arm, reward)
    return policy


def choice_without_others(case, observed, order, arms, seed):
    """What a policy of ``arms`` alone chooses when it has been told of them what the other was told."""
    policy = make(case)
    rng = np.random.default_rng(0)
    state = policy.start(len(arms), len(observed), rng)
    state.order[:] = [arms.index(arm) for arm in order if arm in arms]
    if policy.name == "bootstrapped_ts" and policy.prior == "drawn":
        begun = policy.start(N_ARMS, len(observed), np.random.default_rng(7))
        state.sums[:], state.totals[:] = begun.sums[arms], begun.totals[arms]
    params = policy.make_params(None)
    for i, (arm, reward) in enumerate(observed):
        if arm in arms:
            policy.kernel.learn(params, state, arms.index(arm), reward, i + 1, np.random.default_rng([1, i]))
    chosen = steps.select(policy.kernel, params, state, len(observed) + 1, np.random.default_rng(seed), [0, 0])
    return arms[int(chosen)]


@every_case_either_way
def test_a_choice_among_some_is_that_of_a_policy_without_the_others(case, compiled):
    observed = game()
    policy = told(case, observed, compiled)
    order = list(policy._state.order)
    for seed in range(6):
        arms = SUBSETS[seed % len(SUBSETS)]
        asked = policy.copy()
        if seed % 2 and "contest" not in policy._state._fields:  # what was worked out for all arms is of no use
            asked.select()
            asked.select(available=[3, 1])
        asked.rng = np.random.default_rng(seed)
        assert asked.select(available=arms[::-1]) == choice_without_others(case, observed, order, arms, seed)


def spread_out(seed, arms, size):
    """Rewards of arms with scales of their own: what all have in common is not what some have. The best are not wild."""
    rng = np.random.default_rng(seed)
    scales = [8.0, 0.25, 0.5, 0.25, 6.0]
    return [(int(arm), MEANS[arm] + scales[arm] * float(rng.normal())) for arm in rng.choice(arms, size)]


scale_free = pytest.mark.parametrize("name", ["bootstrapped_ucb_plus", "studentized_ucb", "edgeworth_ucb"])


@scale_free
def test_what_was_worked_out_from_all_arms_does_not_serve_for_some(name):
    case = (name, {"exploration": 0.0})
    for seed in range(12):
        observed = list(enumerate(MEANS)) * 2 + spread_out(seed, [1, 2, 3, 0], 20)
        policy = told(case, observed)
        policy.select()
        alone = choice_without_others(case, observed, list(policy._state.order), [1, 2, 3], seed)
        assert policy.select(available=[1, 2, 3]) == alone


@scale_free
def test_what_was_worked_out_from_some_arms_does_not_serve_for_all(name):
    """The wild arms are heard of later."""
    case = (name, {"exploration": 0.0})
    for seed in range(4):
        observed = [(arm, 0.0) for arm in range(N_ARMS)] * 2 + spread_out(seed, [1, 2, 3, 0], 20)
        asked, quiet = told(case, observed), told(case, observed)
        for arm, reward in spread_out(seed + 1000, [0, 4, 1], 30):
            asked.select(available=[0, 4])
            assert asked.select() == quiet.select()
            asked.update(arm, reward)
            quiet.update(arm, reward)


@every_case_either_way
def test_all_arms_are_what_no_arms_mean(case, compiled):
    observed = game()
    one, other = told(case, observed, compiled), told(case, observed, compiled)
    for i in range(8):
        arm = one.select()
        assert other.select(available=np.random.default_rng(i).permutation(N_ARMS)) == arm
        one.update(arm, 0.5)
        other.update(arm, 0.5)
    assert known(one) == known(other)


@telling("case", CASES, lambda case: case in TELLING and case[0] in COMPILED_KINDS, ids=ident)
def test_machine_code_chooses_among_some_arms_as_plain_python_does(case):
    observed = game()
    plain, compiled = told(case, observed), told(case, observed, compiled=True)
    for i in range(24):
        available = [None, [0, 2, 3], [4, 1], [3]][i % 4]
        arm = plain.select(available=available)
        assert compiled.select(available=available) == arm
        if i % 3 == 0:
            plain.update(arm, i / 32)
            compiled.update(arm, i / 32)
    assert plain.rng.bit_generator.state == compiled.rng.bit_generator.state
    one, other = arrays(plain._state), arrays(compiled._state)
    for key in one.keys() - scratch(plain._state):
        width = min(one[key].shape[-1], other[key].shape[-1]) if one[key].ndim > 1 else None
        assert one[key][..., :width].tobytes() == other[key][..., :width].tobytes(), key


@every_case_that_learns_of_each_arm_alone
def test_a_choice_among_some_arms_changes_nothing_that_was_learned(case, compiled):
    """Two policies that learn the same, of which one is asked for some arms all the while, choose alike in the end."""
    observed = game()
    quiet, asked = told(case, observed, compiled), told(case, observed, compiled)
    for i in range(30):
        asked.select(available=[[0, 1, 2], [3, 4], [1, 4]][i % 3])
        arm, reward = i % N_ARMS, float(make_tape(N_ARMS, 40, 8)[i % N_ARMS, i])
        for policy in (quiet, asked):
            policy.rng = np.random.default_rng([2, i])
            policy.update(arm, reward)
    if "contest" in asked._state._fields:  # a round that is under way is one of the things that selecting does change
        asked._state.contest[:] = quiet._state.contest
    for seed in range(5):
        quiet.rng, asked.rng = np.random.default_rng(seed), np.random.default_rng(seed)
        assert quiet.copy().select() == asked.copy().select()


@pytest.mark.parametrize("case", [("ucb1", {}), ("bootstrapped_ucb_plus", {}), ("chk_ucb", {})], ids=str)
def test_arms_that_are_not_available_are_not_waited_for(case):
    policy = make(case, arms=list("abc"), rng=0)
    policy.update(["a", "b"] * 4, [0.5, 0.25] * 4)  # nothing of c
    assert policy.select() == "c"
    assert policy.select(available=["b", "a"]) in "ab"
    assert policy.select(available={"c"}) == "c"
    assert policy.weights(available=["b", "c"]) == {"a": 0.0, "b": 0.0, "c": 1.0}
    assert policy.weights(available=["a", "b"])["c"] == 0.0


def test_arms_are_handed_out_in_turn_among_the_available_ones():
    policy = UCB1(arms=list("abcd"), rng=0)
    assert [policy.select(available=["d", "b"]) for _ in range(4)] == ["b", "d", "b", "d"]
    assert [policy.select() for _ in range(6)] == ["a", "c", "a", "c", "a", "b"]


@either_policy
@each(
    ("available", "message"),
    [
        pytest.param(
            [], r"'available' parameter of \w+\.select must be a non-empty collection of labels.*Got \[\]", id="none"
        ),
        pytest.param(["a", "z"], r"'available'.*made of labels out of \['a', 'b', 'c'\]. Got 'z'", id="unknown"),
        pytest.param([["a"]], r"'available'.*made of labels out of.*Got \['a'\]", id="unhashable"),
        pytest.param(["a", "b", "a"], r"'available'.*made of different labels. Got \['a', 'b', 'a'\]", id="twice"),
        pytest.param("a", r"'available'.*a non-empty collection of labels of arms. Got 'a'", id="text"),
        pytest.param(3, r"'available'.*a non-empty collection of labels of arms. Got 3", id="number"),
    ],
)
def test_what_is_no_set_of_arms_is_refused_with_nothing_changed(name, available, message):
    policy = make((name, {}), arms=list("abc"), rng=0)
    policy.update(["a", "b", "c"], [0.5, 0.25, 0.75])
    before = known(policy)
    with pytest.raises(InvalidInput, match=message):
        policy.select(available=available)
    with pytest.raises(InvalidInput, match=message.replace("select", "weights")):
        policy.weights(available=available)
    assert known(policy) == before


def test_a_policy_of_ones_own_chooses_among_some_arms():
    """Whose state has a row of rewards for each arm, sorted."""
    policy = Sorted(arms=list("abc"), rng=0)
    policy.update(["a", "b", "c"] * 3, [9.0, 5.0, 0.0] * 3)
    assert policy.select() == "a"
    assert policy.select(available=["b", "c"]) == "b"
    assert policy.weights(50, available=["c", "b"]) == {"a": 0.0, "b": 1.0, "c": 0.0}


INTERRUPTED = [
    (("subsample_duels", {"sampler": "without-replacement"}), True),
    (("subsample_duels", {}), False),
    (("bootstrapped_ucb", {"quantile": "exact"}), True),
    (("sign_flip_ucb", {}), False),
    (("empirical_kl_ucb", {}), True),
    (("imed", {"divergence": "bounded", "upper": 1.0}), False),
]


@telling(("case", "compiled"), INTERRUPTED, lambda case, compiled: not compiled, ids=str)
def test_an_interrupted_choice_among_some_arms_leaves_no_half_of_what_it_worked_out(case, compiled):
    observed = game()
    start = told(case, observed, compiled)
    order, facts = list(start._state.order), known_facts(start)
    chosen = [choice_without_others(case, observed, order, arms, 3) for arms in ([0, 3, 4], [1, 2])]
    n_steps = steps_of(lambda: start.copy().select(available=[0, 3, 4]))
    for at in spread(n_steps, 40):
        policy = start.copy()
        steps_of(lambda policy=policy: policy.select(available=[0, 3, 4]), [at])
        policy._settle()
        assert known_facts(policy) == facts
        if "contest" in policy._state._fields:
            policy._state.contest[:] = [0, -1, 0]
        for arms, expected in zip(([0, 3, 4], [1, 2]), chosen, strict=True):
            policy.rng = np.random.default_rng(3)
            assert policy.copy().select(available=arms) == expected, at


def known_facts(policy):
    """What was learned; the rewards of an arm in any order."""
    found = [(name, values) for name, field, values in declared_leaves(policy._state) if field.kind == "fact"]
    if hasattr(policy._state, "history"):
        found.append(
            ("history", [sorted(row[:n]) for row, n in zip(policy._state.history, policy._state.pulls, strict=False)])
        )
    return pickle.dumps([(name, [np.asarray(row).tobytes() for row in values]) for name, values in found])


# --- rounds of duels ------------------------------------------------------------------------------------------------------


def in_a_round():
    """Arms 1 and 3 wait, 1 before 3; 4 leads."""
    policy = SubsampleDuels(arms=N_ARMS, rng=0)
    policy.update([*range(N_ARMS)] * 3 + [4], [0.5] * (3 * N_ARMS + 1))
    policy._state.queue[:2] = [3, 1]
    policy._state.contest[:] = [2, 4, 9]
    return policy


def test_who_waits_and_is_available_is_pulled_first():
    policy = in_a_round()
    assert policy.select(available=[0, 3, 4]) == 3  # 1 is passed over
    assert list(policy._state.contest) == [0, 4, 9]
    policy = in_a_round()
    assert policy.select(available=[1, 3]) == 1
    assert policy._state.contest[WAITING] == 1
    assert policy.select() == 3
    assert list(policy._state.contest) == [0, 4, 9]


def test_when_none_of_them_is_a_round_begins_among_the_available_ones():
    policy = in_a_round()
    assert policy.select(available=[0, 2]) in (0, 2)
    assert policy._state.contest[ROUND] == 10
    assert policy._state.contest[LEADER] in (0, 2)
    assert all(arm in (0, 2) for arm in policy._state.queue[: policy._state.contest[WAITING]])


def test_a_round_among_some_arms_goes_on():
    """All challengers of equal mean win a duel: the round hands out each once."""
    policy = SubsampleDuels(arms=N_ARMS, rng=0)
    policy.update([*range(N_ARMS)] * 3 + [4], [0.5] * (3 * N_ARMS + 1))
    assert sorted(policy.select(available=[1, 2, 4]) for _ in range(2)) == [1, 2]
    assert policy._state.contest[WAITING] == 0


def test_online_play_among_changing_arms_ends_well():
    """Each arm has its turn in every policy's own state, however the sets change."""
    tape = make_tape(4, 200, 3)
    for name in ("subsample_duels", "rds", "bootstrapped_ucb_plus", "sign_flip_ucb"):
        policy = make((name, {}), arms=4, rng=2)
        play_online(policy, tape, 20)
        rng = np.random.default_rng(0)
        for _ in range(80):
            available = rng.choice(4, rng.integers(1, 5), replace=False)
            arm = policy.select(available=available)
            assert arm in available
            policy.update(arm, float(rng.choice(tape[arm])))
        assert sum(policy._state.pulls) == policy.n_rewards == 100

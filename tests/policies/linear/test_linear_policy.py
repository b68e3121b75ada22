"""The online object of linear policies: what it takes, what it refuses, and that a refusal changes nothing."""

import pickle
import warnings
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap.errors import InvalidInput
from bandstrap.policies import LINEAR_POLICIES
from bandstrap.policies.linear import OFUL, LinearBootstrappedUCB, LinearPHE, LinearTS, LinUCB
from bandstrap.policies.linear.linear_policy import LARGEST_NUMBER
from policies.linear.states import flat, same_states, snapshot
from sampling import each

EVERY = [(name, {}) for name in sorted(LINEAR_POLICIES)] + [("linear_bootstrapped_ucb", {"quantile": "streaming"})]
every_policy = pytest.mark.parametrize("case", EVERY, ids=lambda case: " ".join([case[0], *case[1].values()]))
SENTENCE = r"(?s)^The '{}' parameter of {}\.{} must be .+\. Got .+ instead\.$"


def make(case, **more):
    small = {"n_resamples": 5} if case[0] == "linear_bootstrapped_ucb" else {}
    return LINEAR_POLICIES[case[0]](**(small | case[1] | {"rng": 0} | more))


def begun(case, **more):
    """A policy in the middle of its work, and what it knows."""
    policy = make(case, **more)
    policy.update([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [0.5, 0.25, 0.75])
    policy.select(np.eye(2))
    return policy, snapshot(policy)


NOT_ACTIONS = {
    "none": None,
    "number": 1.0,
    "vector": [1.0, 2.0],
    "empty": [],
    "no actions": np.empty((0, 2)),
    "no features": np.empty((3, 0)),
    "list of empty lists": [[], []],
    "three axes": np.ones((2, 2, 2)),
    "ragged": [[1.0, 2.0], [1.0]],
    "wrong number of features": [[1.0, 2.0, 3.0]],
    "one feature too few": [[1.0]],
    "nan": [[1.0, np.nan]],
    "inf": [[np.inf, 1.0]],
    "minus inf": [[1.0, 2.0], [3.0, -np.inf]],
    "none inside": [[None, 1.0]],
    "too large": [[1.0, 1.01 * LARGEST_NUMBER]],
    "too large below": [[1.0, -1.01 * LARGEST_NUMBER]],
    "whole number beyond floats": [[1, 10**400]],
    "text": "ab",
    "digits": [["1", "2"]],
    "bytes": [[b"1", b"2"]],
    "text among numbers": [[1.0, "2"]],
    "complex": [[1.0, 1j]],
    "complex array": np.ones((2, 2), dtype=complex),
    "complex objects": np.array([[1j, 1.0]], dtype=object),
    "dates": np.array([["2020-01-01", "2020-01-02"]], dtype="datetime64[D]"),
    "durations": np.array([[1, 2]], dtype="timedelta64[s]"),
    "mapping": {0: [1.0, 2.0]},
    "set": {1.0, 2.0},
    "object": object(),
}


@every_policy
@each("actions", NOT_ACTIONS.values(), ids=NOT_ACTIONS)
def test_actions_that_are_none_are_refused_with_nothing_changed(case, actions):
    policy, before = begun(case)
    with pytest.raises(InvalidInput, match=SENTENCE.format("actions", type(policy).__name__, "select")):
        policy.select(actions)
    assert snapshot(policy) == before
    fresh = make(case, dimension=2)
    before = snapshot(fresh)
    with pytest.raises(InvalidInput, match=SENTENCE.format("actions", type(policy).__name__, "select")):
        fresh.select(actions)
    assert snapshot(fresh) == before


@every_policy
@each("actions", NOT_ACTIONS.values(), ids=NOT_ACTIONS)
def test_a_batch_of_what_is_no_action_is_refused_with_nothing_changed(case, actions):
    policy, before = begun(case)
    with pytest.raises(InvalidInput, match=SENTENCE.format("action", type(policy).__name__, "update")):
        policy.update(actions, [0.5])
    assert snapshot(policy) == before


@every_policy
@each(
    "action",
    [None, 1.0, [], [[1.0, 2.0]], np.eye(2), [1.0], [1.0, 2.0, 3.0], [1.0, np.nan], "ab", ["1", "2"], [1.0, 1j]],
    ids=repr,
)
def test_what_is_no_action_is_refused_with_nothing_changed(case, action):
    policy, before = begun(case)
    with pytest.raises(InvalidInput, match=SENTENCE.format("action", type(policy).__name__, "update")):
        policy.update(action, 0.5)
    assert snapshot(policy) == before


NOT_REWARDS = {
    "nan": np.nan,
    "inf": np.inf,
    "minus inf": -np.inf,
    "none": None,
    "text": "high",
    "complex": 1j,
    "too large": 1.01 * LARGEST_NUMBER,
    "whole number beyond floats": 10**400,
    "decimal": Decimal("0.5"),
    "mapping": {},
    "array without axes": np.array(0.5),
}


@every_policy
@each("reward", NOT_REWARDS.values(), ids=NOT_REWARDS)
def test_a_reward_that_is_no_number_is_refused_with_nothing_changed(case, reward):
    options = {"check_range": False} if case[0] == "linear_phe" else {}
    policy, before = begun(case, **options)
    message = SENTENCE.format("reward", type(policy).__name__, "update")
    with pytest.raises(InvalidInput, match=message):
        policy.update([1.0, 0.0], reward)
    if reward is not NOT_REWARDS["array without axes"]:
        with pytest.raises(InvalidInput, match=message):
            policy.update(np.eye(2), [0.5, reward])  # the first of the batch is good
    assert snapshot(policy) == before
    fresh = make(case, **options)
    before = snapshot(fresh)
    with pytest.raises(InvalidInput, match=message):
        fresh.update([1.0, 0.0], reward)
    assert snapshot(fresh) == before
    assert fresh.dimension is None


@every_policy
@each(
    ("action", "reward"),
    [
        (np.eye(2), [0.5]),
        (np.eye(2)[:1], [0.5, 0.5]),
        (np.eye(2), []),
        (np.eye(2), [[0.5], [0.25]]),
        (np.eye(2), [[0.5], [0.25, 0.125]]),
    ],
    ids=["too few", "too many", "none", "two axes", "ragged"],
)
def test_rewards_that_do_not_fit_their_actions_are_refused_with_nothing_changed(case, action, reward):
    policy, before = begun(case)
    with pytest.raises(InvalidInput, match=SENTENCE.format("reward", type(policy).__name__, "update")):
        policy.update(action, reward)
    assert snapshot(policy) == before
    fresh = make(case)
    before = snapshot(fresh)
    with pytest.raises(InvalidInput, match=r"'reward'"):
        fresh.update(action, reward)
    assert snapshot(fresh) == before


def test_a_reward_outside_the_range_of_perturbed_history_is_refused():
    policy, before = begun(("linear_phe", {}))
    for reward in (1.0 + 2**-52, -1e-300, 7):
        with pytest.raises(InvalidInput, match=r"'reward' parameter of LinearPHE.update must be inside \[0, 1\]. Got"):
            policy.update(np.eye(2), [0.5, reward])
    assert snapshot(policy) == before
    LinearPHE(check_range=False).update([1.0], 7)
    LinearPHE(lower=-1, upper=8).update([1.0], 7)


@every_policy
def test_sentences_say_what_was_expected_and_what_came(case):
    policy, _ = begun(case)
    features = "must be made of 2 features per action. Got 1 instead."
    finite = f"must be made of finite numbers no larger than {LARGEST_NUMBER:g}. Got nan instead."
    for call, parameter, method, rest in [
        (lambda: policy.select([[1.0]]), "actions", "select", features),
        (lambda: policy.select([[np.nan, 1.0]]), "actions", "select", finite),
        (lambda: policy.update([0.5], 0.5), "action", "update", features),
        (lambda: policy.update([1.0, 0.0], None), "reward", "update", "must be a finite number. Got None instead."),
    ]:
        with pytest.raises(InvalidInput) as caught:
            call()
        assert str(caught.value) == f"The '{parameter}' parameter of {type(policy).__name__}.{method} {rest}"


# --- what is taken ----------------------------------------------------------------------------------------------------


@every_policy
def test_actions_may_be_any_kind_of_real_array(case):
    features = np.array([[1, 0], [0, 1], [2, 3], [1, 1]])
    read_only = features.astype(float)
    read_only.flags.writeable = False
    forms = [
        features.tolist(),
        [tuple(row) for row in features],
        features,
        features.astype(np.int8),
        features.astype(np.float32),
        np.asfortranarray(features, dtype=float),
        np.repeat(features.astype(float), 2, axis=0)[::2],
        np.flip(np.flip(features, 1).copy(), 1),
        [[Decimal(int(value)) for value in row] for row in features],
        read_only,
    ]
    rewards = [0.5, 0.25, 0.75, 1.0]
    policies = [make(case) for _ in forms]
    for policy, form in zip(policies, forms, strict=True):
        policy.select(form)
        policy.update(form, rewards)
        policy.select(form)
        policy.update(form[2], 0.25)
    assert len({policy.select(form) for policy, form in zip(policies, forms, strict=True)}) == 1
    for policy in policies[1:]:
        assert same_states(policy._state, policies[0]._state)
    assert (read_only == features).all()


@every_policy
def test_rewards_may_be_any_kind_of_real_number(case):
    first, second = make(case), make(case)
    first.update(np.ones((6, 1)), [1, True, np.float32(0.5), np.int8(0), np.bool_(False), np.float64(0.25)])
    second.update(np.ones((6, 1)), np.array([1.0, 1.0, 0.5, 0.0, 0.0, 0.25]))
    assert same_states(first._state, second._state)
    for reward in (1, True, np.uint8(1), np.float16(0.5), np.bool_(True)):
        first.update([1.0], reward)
        second.update([1.0], float(reward))
    assert same_states(first._state, second._state)
    assert first.select([[1.0], [0.5]]) == second.select([[1.0], [0.5]])


@every_policy
def test_a_batch_equals_one_by_one_and_the_callers_arrays_are_theirs(case):
    rng = np.random.default_rng(0)
    X, y = rng.integers(-1, 2, (50, 3)) / 2, rng.integers(0, 257, 50) / 256
    single, whole = make(case), make(case)
    for x, reward in zip(X, y, strict=True):
        mine = x.copy()
        single.update(mine, reward)
        mine[:] = 99.0  # what the caller does afterwards is no business of the policy
    batch, rewards = X.copy(), y.copy()
    whole.update(batch, rewards)
    batch[:], rewards[:] = 99.0, 99.0
    assert snapshot(single) == snapshot(whole)
    actions = X[:5].copy()
    assert [single.select(actions) for _ in range(3)] == [whole.select(actions) for _ in range(3)]
    assert (actions == X[:5]).all()


@every_policy
def test_late_rewards_and_sets_of_any_size(case):
    rng = np.random.default_rng(1)
    policy = make(case)
    owed = []
    for _ in range(25):
        for _ in range(rng.integers(1, 4)):
            actions = rng.normal(size=(rng.integers(1, 6), 2))
            place = policy.select(actions)
            assert type(place) is int
            assert 0 <= place < len(actions)
            owed.append(actions[place])
        rng.shuffle(owed)
        late = [owed.pop() for _ in range(rng.integers(1, len(owed) + 1))]
        policy.update(late, rng.random(len(late)))
    assert all(np.isfinite(array).all() for array in flat(policy._state).values())
    assert policy.n_rewards > 25


@every_policy
def test_a_reward_that_was_never_asked_for_sets_the_number_of_features(case):
    policy = make(case)
    assert policy.dimension is None
    policy.update([1.0, 2.0, 3.0], 0.5)
    assert policy.dimension == 3
    assert policy.n_rewards == 1
    with pytest.raises(InvalidInput, match=r"must be made of 3 features per action. Got 2 instead"):
        policy.select(np.eye(2))
    assert policy.select(np.eye(3)) in range(3)


@every_policy
@each("dimension", [0, -1, 2.0, True, "3", [3]], ids=repr)
def test_a_dimension_that_is_no_count_is_refused(case, dimension):
    with pytest.raises(InvalidInput, match=r"'dimension' parameter of \w+ must be an integer of at least 1. Got"):
        make(case, dimension=dimension)


@every_policy
def test_a_wrong_direction_and_an_unknown_parameter_are_refused(case):
    with pytest.raises(InvalidInput, match=r"'direction' parameter of \w+ must be one of 'max', 'min'. Got 'up'"):
        make(case, direction="up")
    with pytest.raises(InvalidInput, match=r"sigmma"):
        make(case, sigmma=2)
    with pytest.raises(InvalidInput, match=r"arms"):
        make(case, arms=3)


@every_policy
def test_a_pickled_policy_goes_on_as_the_original_would(case):
    rng = np.random.default_rng(2)
    policy, _ = begun(case)
    twin = pickle.loads(pickle.dumps(policy))  # noqa: S301
    assert snapshot(twin) == snapshot(policy)
    for _ in range(30):
        actions, reward = rng.normal(size=(4, 2)), rng.random()
        place = policy.select(actions)
        assert twin.select(actions) == place
        policy.update(actions[place], reward)
        twin.update(actions[place], reward)
    assert snapshot(twin) == snapshot(policy)


# --- an error probability of the user's -------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [OFUL, LinearTS, LinearBootstrappedUCB], ids=lambda c: c.__name__)
def test_a_callable_error_probability_is_asked_each_round_and_equals_the_rule(cls):
    asked = []

    def alpha(t):
        asked.append(t)
        return 1 / (t + 1)

    options = {"inflation": "paper"} if cls is LinearTS else {}
    own, rule = cls(alpha=alpha, rng=1, **options), cls(rng=1, **options)
    rng = np.random.default_rng(3)
    for _ in range(20):
        actions, reward = rng.normal(size=(4, 2)), rng.normal()
        place = own.select(actions)
        assert place == rule.select(actions)
        own.update(actions[place], reward)
        rule.update(actions[place], reward)
    assert sorted(set(asked)) == list(range(1, 21))
    assert same_states(own._state, rule._state)


@each("cls", [OFUL, LinearTS, LinearBootstrappedUCB], ids=lambda c: c.__name__)
@each("value", [0.0, 1.0, 2, np.nan, None, "often"], ids=repr)
def test_a_callable_that_gives_no_probability_is_refused_with_nothing_changed(cls, value):
    answers = iter([0.5, 0.5, value])
    policy = cls(alpha=lambda t: next(answers), rng=1)
    policy.select(np.eye(2))
    before = snapshot(policy)
    with pytest.raises(InvalidInput, match=rf"^The 'alpha' parameter of {cls.__name__} must be .* Got .* instead\.$"):
        policy.select(np.eye(2))
    assert snapshot(policy) == before


@pytest.mark.parametrize("cls", [OFUL, LinearTS, LinearBootstrappedUCB], ids=lambda c: c.__name__)
def test_a_schedule_that_needs_the_horizon_says_so_online(cls):
    with pytest.raises(InvalidInput, match=rf"'horizon' parameter of {cls.__name__} must be given for alpha='1/T\^2'"):
        cls(alpha="1/T^2").select(np.eye(2))
    assert cls(alpha="1/T^2", horizon=100, rng=0).select(np.eye(2)) in (0, 1)


# --- far from 1 -------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, len(EVERY) - 1),
    st.integers(1, 4),
    st.floats(-6, 6),
    st.integers(0, 2**32),
)
def test_numbers_of_any_size_up_to_the_largest_never_overflow(place, d, exponent, seed):
    rng = np.random.default_rng(seed)
    case = EVERY[place]
    options = {"check_range": False} if case[0] == "linear_phe" else {}
    policy = make(case, ridge=10**exponent, **options)
    sizes = [0.0, 1.0, -1.0, 1e-100, 1e-8, 1e8, 1e25, LARGEST_NUMBER, -LARGEST_NUMBER]
    actions = rng.choice(sizes, (4, d)) * rng.choice([1.0, 1 / 3, -0.7], (4, d))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for reward in rng.choice(sizes, 12):
            assert 0 <= policy.select(actions) < 4
            policy.update(actions[rng.integers(4)], reward)
        policy.select(actions)
    assert all(np.isfinite(array).all() for array in flat(policy._state).values())


@every_policy
def test_actions_of_nothing_and_ties_everywhere(case):
    policy = make(case)
    for _ in range(20):
        place = policy.select(np.zeros((3, 2)))
        assert place in range(3)
        policy.update(np.zeros(2), 0.5)
    assert all(np.isfinite(array).all() for array in flat(policy._state).values())
    assert policy._state.regression.theta == [0.0, 0.0]


def test_lin_ucb_prefers_nothing_it_has_not_seen_to_a_bad_action():
    policy = LinUCB(width=0.1)
    policy.update([1.0, 0.0], -5.0)
    assert policy.select([[1.0, 0.0], [0.0, 0.0]]) == 1

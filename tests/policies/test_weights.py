"""The probability of each arm now: exact where it can be, the law of ``select`` everywhere, and nothing changes."""

import copy
import itertools

import numpy as np
import pytest
from scipy import stats

from bandstrap import BootstrappedTS, EpsilonGreedy, LinearTS, MaillardSampling, MEDUnknownVariance, UniformRandom
from bandstrap.errors import InvalidInput
from contract import test_linear_policies as linear
from contract.test_policies import either_policy, either_way, every_case, every_case_either_way, every_form, make
from policies.own_policies import Fading, Sorted, UndeclaredFading
from policies.test_available import game, known, told
from sampling import each, telling

# Each comparison rejects equal laws with probability 1e-6.
SIGNIFICANCE = 1e-6
SLOW = {"quantile": "resampled-literal"}
ACTIONS = np.array([[1.0, 0.0], [0.8, 0.3], [0.1, 0.9], [0.6, 0.6]])


def close_game(n_arms=5, each=6, seed=2):
    """Arms that are nearly alike after a few rewards, so that chance decides."""
    rng = np.random.default_rng(seed)
    arms = np.tile(np.arange(n_arms), each)
    return [(int(arm), float(np.round((0.4 + 0.03 * arm + 0.5 * rng.random()) * 1024) / 1024)) for arm in arms]


def assert_same_shares(counts, others):
    """Two samples come from one law on a few things, by the chi-square test."""
    table = np.array([counts, others])
    table = table[:, table.sum(axis=0) > 0]
    few = table.sum(axis=0) < 10  # together, so that the approximation holds
    if few.any():
        table = np.column_stack([table[:, ~few], table[:, few].sum(axis=1)])
    if table.shape[1] > 1:
        assert stats.chi2_contingency(table, correction=False).pvalue > SIGNIFICANCE


# --- arms ---------------------------------------------------------------------------------------------------------------


@every_form
def test_a_choice_without_chance_has_probability_one(case):
    """And is one that no generator changes; any other draws numbers."""
    policy = told(case, game())
    chosen, drew = set(), []
    for seed in range(8):
        twin = policy.copy()
        twin.rng = np.random.default_rng(seed)
        chosen.add(twin.select())
        drew.append(twin.rng.bit_generator.state != np.random.default_rng(seed).bit_generator.state)
    assert len(set(drew)) == 1  # always or never
    weights = policy.weights(2)
    assert list(weights) == list(policy.arms)
    assert sum(weights.values()) == pytest.approx(1.0, abs=1e-15)
    if not drew[0]:
        assert weights == {arm: float(arm in chosen) for arm in policy.arms}


@every_case
def test_weights_are_the_law_of_select(case):
    """1,500 choices against 1,500: a share that is off by 0.15 is seen with probability 0.99 or more."""
    n = 60 if case[1].items() >= SLOW.items() else 1500
    policy = told(case, close_game())
    policy.rng = np.random.default_rng(11)
    among = [0, 2, 3, 4]
    weights = policy.weights(n, available=among, rng=5)
    assert weights[1] == 0.0
    counts = dict.fromkeys(policy.arms, 0)
    if set(weights.values()) == {0.0, 1.0}:
        n = 20
    is_under_way = "contest" in policy._state._fields  # a choice of duels is one of several in a round
    for _ in range(n):
        if is_under_way:
            state = copy.deepcopy(policy._state)
            counts[policy.select(available=among)] += 1
            policy._state.contest[:], policy._state.queue[:] = state.contest, state.queue
        else:
            counts[policy.select(available=among)] += 1
    if policy.exact_weights(policy._params, policy._part(among), policy.n_rewards + 1) is not None:
        assert_follow(counts, weights)
    else:
        assert_same_shares([n * share for share in weights.values()], list(counts.values()))


def assert_follow(counts, weights):
    """A sample has a law on a few things that is known."""
    shares = np.array([share for share in weights.values() if share > 0.0])
    found = np.array([counts[arm] for arm, share in weights.items() if share > 0.0])
    assert found.sum() == sum(counts.values())
    assert stats.chisquare(found, found.sum() * shares).pvalue > SIGNIFICANCE


@every_case_either_way
def test_weights_change_nothing_and_depend_on_state_and_generator_alone(case, compiled):
    policy = told(case, game(), compiled)
    policy.select()
    before, twin = known(policy), policy.copy()
    found = policy.weights(20, rng=3)
    part = policy.weights(20, available=[4, 1], rng=3)
    assert policy.weights(20) == policy.weights(20)  # of a copy of the policy's own generator
    assert known(policy) == before
    assert twin.weights(20, available=[1, 4], rng=np.random.default_rng(3)) == part
    assert twin.weights(20, rng=np.random.default_rng(3)) == found
    assert sum(part.values()) == pytest.approx(1.0, abs=1e-15)
    assert part[0] == part[2] == part[3] == 0.0


@every_case
def test_machine_code_weighs_as_plain_python_does(case):
    plain, compiled = told(case, game()), told(case, game(), compiled=True)
    for available in (None, [0, 1, 3]):
        assert plain.weights(15, available=available, rng=1) == compiled.weights(15, available=available, rng=1)


@every_case_either_way
def test_the_first_draw_is_the_next_choice(case, compiled):
    policy = told(case, close_game(), compiled)
    for available in (None, [0, 2, 4], [3]):
        weights = policy.weights(1, available=available)
        arm = policy.select(available=available)
        assert weights[arm] > 0.0
        if set(weights.values()) == {0.0, 1.0}:
            assert weights[arm] == 1.0


def test_choices_of_duels_are_independent_draws():
    """Were a queue kept from draw to draw, each round's winners would come out equally often, as often as pairs do."""
    policy = make(("rds", {}), arms=3, rng=0)
    policy.update([0, 1, 2] * 4 + [2] * 4, [0.5, 0.375, 0.5] * 4 + [0.5] * 4)  # 0 always wins against 2, and 1 seldom
    weights = policy.weights(4000)
    wins = np.mean([one_round(policy, seed) for seed in range(1000)])
    assert weights[2] == 0.0
    # In every round 0 wins, and 1 with probability p; the first that is pulled is 1 with probability p/2. The difference
    # has a standard error below 0.011; a queue that is kept would give p/(1 + p) instead.
    assert weights[1] == pytest.approx(wins / 2, abs=0.055)


def one_round(policy, seed):
    """Whether arm 1 wins its duel."""
    twin = policy.copy()
    twin.rng = np.random.default_rng(seed)
    first = twin.select()
    return first == 1 or (twin._state.contest[0] > 0)


@either_way
@each("name", ["ucb1", "chk_ucb", "gaussian_ts", "uniform_random"])
def test_the_arm_that_is_handed_out_next_has_probability_one(name, compiled):
    policy = make((name, {}), arms=list("abc"), rng=0, compiled=compiled)
    for t in range(3 * policy.n_initial):
        expected = "abc"[t % 3]
        assert policy.weights() == {arm: float(arm == expected) for arm in "abc"}
        assert policy.weights(available=["b", "c"])["a"] == 0.0
        assert policy.select() == expected
        policy.update(expected, 0.1 * t)


@each(
    "policy",
    [
        UniformRandom(arms=3, rng=0),
        EpsilonGreedy(arms=3, rng=0),
        EpsilonGreedy(arms=3, rng=0, epsilon=0.8, decay=0.2),
        EpsilonGreedy(arms=3, rng=0, epsilon=4.0, decay=0.0),
        MaillardSampling(arms=3, rng=0),
        MaillardSampling(arms=3, rng=0, divergence="bernoulli"),
        MEDUnknownVariance(arms=3, rng=0),
    ],
    ids=repr,
)
def test_formulas_agree_with_many_choices(policy):
    """30,000 of them: a share that is off by 0.03 is seen with probability 0.99 or more."""
    policy.update([0, 1, 2] * 5, [0.25, 0.5, 0.75, 0.5, 0.25, 0.0, 0.25, 0.75, 0.5, 0.0, 0.5, 0.5, 0.5, 0.25, 0.25])
    for available in ([0, 1, 2], [2, 0]):
        counts = dict.fromkeys(policy.arms, 0)
        for _ in range(30_000 // len(available)):
            counts[policy.select(available=available)] += 1
        assert_follow(counts, policy.weights(available=available))


def test_formulas_are_written_out_here():
    means = {"a": 0.25, "b": 0.75, "c": 0.5}
    observed = [arm for arm in means for _ in range(4)], [mean for mean in means.values() for _ in range(4)]
    greedy = EpsilonGreedy(arms=list(means), epsilon=0.5, decay=0.5, rng=0)
    greedy.update(*observed)
    rate = 0.5 * (3 / 13) ** 0.5
    assert greedy.weights() == pytest.approx({"a": rate / 3, "b": 1 - 2 * rate / 3, "c": rate / 3}, rel=1e-14)
    rate = 0.5 * (2 / 13) ** 0.5
    expected = {"a": rate / 2, "b": 0.0, "c": 1 - rate / 2}
    assert greedy.weights(available=["a", "c"]) == pytest.approx(expected, rel=1e-14)
    sampling = MaillardSampling(arms=list(means), sigma=0.5, rng=0)
    sampling.update(*observed)
    sizes = {arm: np.exp(-4 * (0.5 - mean) ** 2 / 0.5) for arm, mean in means.items() if arm != "b"}
    expected = {arm: size / sum(sizes.values()) for arm, size in sizes.items()} | {"b": 0.0}
    assert sampling.weights(available=["c", "a"]) == pytest.approx(expected, rel=1e-14)
    assert sampling.probabilities() == sampling.weights()
    assert UniformRandom(arms=4, rng=0).weights() == {0: 1.0, 1: 0.0, 2: 0.0, 3: 0.0}  # nothing was learned yet


@pytest.mark.parametrize("rounding", [1, 64])
def test_shares_of_replicates_are_counted(rounding):
    """All choices of a replicate for each of three arms, one after the other; rewards 0 and 1 make many ties."""
    policy = BootstrappedTS(arms=3, n_replicates=7, rng=1)
    rng = np.random.default_rng(3)
    policy.update([0, 1, 2] * 3, np.round(rng.random(9) * rounding) / rounding)
    state = policy._state
    means = [
        [(state.rewards[k] + y) / (state.pulls[k] + w) for y, w in zip(state.sums[k], state.totals[k], strict=True)]
        for k in range(3)
    ]
    wins = [0, 0, 0]
    for drawn in itertools.product(*means):
        wins[max(state.order, key=drawn.__getitem__)] += 1  # the first of equals
    weights = policy.weights()
    assert weights == pytest.approx({arm: n / 7**3 for arm, n in enumerate(wins)}, rel=1e-12)
    assert len({*weights.values()}) == 3


@either_policy
@each("draws", [0, -1, 2.5, "many", None, True], ids=repr)
def test_a_number_of_draws_that_is_none_is_refused(name, draws):
    policy = make((name, {}), arms=2, rng=0)
    with pytest.raises(InvalidInput, match=r"'draws' parameter of \w+\.weights must be"):
        policy.weights(draws)


@either_policy
def test_a_generator_that_is_none_is_refused(name):
    with pytest.raises(InvalidInput, match=r"'rng' parameter of \w+\.weights must be"):
        make((name, {}), arms=2, rng=0).weights(rng="dice")


def test_without_arms_there_are_no_weights():
    with pytest.raises(InvalidInput, match=r"given to call weights\(\)"):
        UniformRandom().weights()


@pytest.mark.parametrize("kind", [np.random.MT19937, np.random.Philox, np.random.SFC64, np.random.PCG64DXSM])
def test_any_kind_of_generator_is_known_to_have_been_used_or_not(kind):
    for name in ("ucb1", "gaussian_ts"):
        policy = make((name, {}), arms=3, rng=np.random.Generator(kind(3)))
        policy.update([0, 1, 2] * 3, [0.5, 0.25, 0.375] * 3)
        weights = policy.weights(400)
        assert (set(weights.values()) == {0.0, 1.0}) == (name == "ucb1")
        assert policy.weights(400) == weights


def test_chances_of_ones_own_policy_are_those_of_its_formula():
    policy = Sorted(arms=2, rng=0)
    policy.update([0, 1] * 3, [0.5, 0.75] * 3)
    # P(0.5 + U > 0.75 + V) = 0.75^2/2; five standard errors.
    assert policy.weights(4000)[0] == pytest.approx(0.28125, abs=0.036)


@either_way
@telling("own", [Fading, UndeclaredFading], [Fading])
def test_what_a_choice_changes_is_put_back_before_each_draw(own, compiled):
    policy = own(arms=2, rng=0, compiled=compiled)
    policy.update([0, 1], [0.5, 0.75])
    # Five standard errors; were it not put back, the share would be 1/4000 at most.
    assert policy.weights(4000)[0] == pytest.approx(0.5, abs=0.04)


# --- actions --------------------------------------------------------------------------------------------------------------


def told_linear(case, compiled=False):
    policy = linear.make(case, rng=3, compiled=compiled)
    size = 8 if case[0] == "linear_bootstrapped_ucb" else 30  # that one would be sure otherwise
    rng = np.random.default_rng(4)
    for _ in range(size):
        action = ACTIONS[rng.integers(len(ACTIONS))]
        policy.update(action, float(action @ [0.5, 0.45] + 0.3 * rng.normal()))
    return policy


@linear.every_case_either_way
def test_weights_of_actions_are_the_law_of_select(case, compiled):
    """300 choices against 300: a share that is off by 0.32 is seen with probability 0.99 or more."""
    if case == ("linear_bootstrapped_ucb", {}):  # few resamples, so that chance decides
        case = ("linear_bootstrapped_ucb", {"n_resamples": 4, "sigma": 0.01, "alpha": 0.2})
    policy = told_linear(case, compiled)
    before = policy.to_dict()
    weights = policy.weights(ACTIONS, 300, rng=4)
    assert policy.to_dict() == before
    assert weights.sum() == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_array_equal(policy.weights(ACTIONS, 300, rng=4), weights)
    counts = np.bincount([policy.select(ACTIONS) for _ in range(300)], minlength=len(ACTIONS))
    assert_same_shares(300 * weights, counts)
    if case[0] in ("oful", "lin_ucb") or case[1].get("quantile") == "streaming":
        assert sorted(weights) == [0.0, 0.0, 0.0, 1.0]
    else:
        assert (weights < 1.0).all()


@linear.every_case_either_way
def test_weights_before_the_first_reward(case, compiled):
    policy = linear.make(case, rng=3, compiled=compiled)
    weights = policy.weights(ACTIONS, 1)
    assert policy.dimension is None
    assert weights.sum() == 1.0
    if case[0] != "linear_bootstrapped_ucb":  # which begins its own generators anew
        assert weights[policy.select(ACTIONS)] == 1.0


def test_actions_at_random_are_equally_probable():
    policy = LinearTS(random_rounds=2, rng=0)
    for reward in (0.5, 1.0):
        assert policy.weights(ACTIONS).tolist() == [0.25] * 4
        policy.update(ACTIONS[0], reward)
    assert policy.weights(ACTIONS).tolist() != [0.25] * 4


def test_bad_actions_and_draws_are_refused():
    policy = LinearTS(rng=0)
    with pytest.raises(InvalidInput, match=r"'actions' parameter of LinearTS\.weights"):
        policy.weights([])
    with pytest.raises(InvalidInput, match=r"'draws' parameter of LinearTS\.weights"):
        policy.weights(ACTIONS, 0)

"""Linear bandits; z-tests allow six standard errors (2e-9 each), KS tests reject a right law with probability 1e-6.

Of 12,000 rewards they see, with probability 0.99, a mean that is off by 0.08 standard deviations and a spread that is
off by an eighth, of 1500 coordinates of theta by 0.22 and two fifths; of 3000 pairs, a correlation of 0.15.
"""

import math

import numpy as np
import pytest
from scipy import stats

from bandstrap import OFUL, UCB1, simulate
from bandstrap.basics.calls import parse_call
from bandstrap.engine.simulator.play import Game, play
from bandstrap.engine.simulator.streams import ENVIRONMENT, POLICY, stream
from bandstrap.environments import ENVIRONMENTS, LinearBandit
from bandstrap.errors import InvalidInput
from sampling import each

SIGNIFICANCE = 1e-6
THETA, ACTIONS = (1.0, -2.0), ((1.0, 0.0), (0.5, 0.5), (0.0, -1.0))
MEANS = [1.0, -0.5, 2.0]


def tape(environment, horizon=11, seed=0):
    return environment.tape(horizon, np.random.default_rng(seed))


# --- shapes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 4])
@pytest.mark.parametrize("n_actions", [1, 6])
def test_shapes_of_one_set_and_of_a_set_each_round(d, n_actions):
    means, rewards, sets = tape(LinearBandit(d, n_actions=n_actions))
    assert (means.shape, rewards.shape, sets.shape) == ((n_actions,), (n_actions, 11), (1, n_actions, d))
    means, rewards, sets = tape(LinearBandit(d, n_actions=n_actions, contextual=True))
    assert (means.shape, rewards.shape, sets.shape) == ((11, n_actions), (n_actions, 11), (11, n_actions, d))
    for array in (means, rewards, sets):
        assert array.dtype == np.float64
        assert array.flags.c_contiguous
        assert np.isfinite(array).all()


def test_the_default_is_the_papers_problem():
    environment = LinearBandit()
    assert (environment.dimension, environment.n_actions, environment.n_arms) == (10, 100, 100)
    assert environment.theta_scale**2 == pytest.approx(10)
    assert environment.feature_range == pytest.approx(1 / math.sqrt(10))
    assert (environment.noise, environment.scale, environment.contextual) == ("gaussian", 1.0, False)
    assert environment.support == (-np.inf, np.inf)
    assert LinearBandit(20).dimension == 20


def test_who_can_play():
    assert LinearBandit().offers == ("actions", "arms")
    assert LinearBandit(contextual=True).offers == ("actions",)


# --- laws -------------------------------------------------------------------------------------------------------------


def test_theta_is_normal_with_variance_ten_and_drawn_anew():
    """Read off the means of unit vectors, which are its coordinates."""
    environment = LinearBandit(actions=np.eye(3))
    thetas = np.array([tape(environment, 1, seed)[0] for seed in range(2000)])
    assert stats.kstest(thetas.ravel(), stats.norm(0, math.sqrt(10)).cdf).pvalue > SIGNIFICANCE
    assert np.abs(np.corrcoef(thetas.T) - np.eye(3)).max() < 6 / math.sqrt(2000)
    narrow = np.array([tape(LinearBandit(actions=np.eye(3), theta_scale=0.5), 1, s)[0] for s in range(500)])
    assert stats.kstest(narrow.ravel(), stats.norm(0, 0.5).cdf).pvalue > SIGNIFICANCE


@pytest.mark.parametrize("contextual", [False, True])
@pytest.mark.parametrize("options", [{}, {"feature_range": 2.0}], ids=str)
def test_features_are_uniform_in_their_range(contextual, options):
    sets = tape(LinearBandit(5, n_actions=400, contextual=contextual, **options), 10)[2]
    half = options.get("feature_range", 1 / math.sqrt(10))
    assert np.abs(sets).max() <= half
    law = stats.uniform(-half, 2 * half)
    assert stats.kstest(sets.ravel(), law.cdf).pvalue > SIGNIFICANCE
    if contextual:
        assert not np.array_equal(sets[0], sets[1])
    other = tape(LinearBandit(5, n_actions=400, contextual=contextual, **options), 10, seed=1)[2]
    assert not np.array_equal(sets, other)


LAWS = {
    "gaussian": ({}, stats.norm()),
    "scale": ({"scale": 3.0}, stats.norm(0, 3)),
    "own scale": ({"noise": "gaussian:scale=2"}, stats.norm(0, 2)),
    "both scales": ({"noise": "gaussian:scale=2", "scale": 3}, stats.norm(0, 6)),
    "student": ({"noise": "student_t:df=5"}, stats.t(5)),
    "logistic": ({"noise": "logistic"}, stats.logistic(0, 0.5)),
    "laplace": ({"noise": "laplace", "scale": 0.5}, stats.laplace(0, 0.5)),
    "truncated": ({"noise": "truncated_normal"}, stats.truncnorm(-1, 1)),
    "sub-weibull": ({"noise": "sub_weibull:beta=1.5"}, stats.dweibull(1.5)),
    "frozen": ({"noise": stats.uniform(-1, 2)}, stats.uniform(-1, 2)),
    "frozen scaled": ({"noise": stats.laplace(0, 2), "scale": 3}, stats.laplace(0, 6)),
    "frozen skew": ({"noise": stats.expon(-1)}, stats.expon(-1)),
    "frozen without variance": ({"noise": stats.t(1.5)}, stats.t(1.5)),
}


@each("contextual", [False, True], ids=["fixed", "contextual"])
@each("name", LAWS)
def test_noise_follows_its_law(name, contextual):
    options, law = LAWS[name]
    means, rewards, _ = tape(LinearBandit(3, n_actions=4, contextual=contextual, **options), 3000)
    noise = rewards - (means.T if contextual else means[:, None])
    assert stats.kstest(noise.ravel(), law.cdf).pvalue > SIGNIFICANCE
    assert np.abs(stats.spearmanr(noise.T).statistic - np.eye(4)).max() < 6 / math.sqrt(3000)
    assert abs(stats.spearmanr(noise[0, 1:], noise[0, :-1]).statistic) < 6 / math.sqrt(3000)


def test_means_are_inner_products_with_one_theta():
    means, _, sets = tape(LinearBandit(3, n_actions=50, contextual=True), 40)
    theta, residuals, rank, _ = np.linalg.lstsq(sets.reshape(-1, 3), means.ravel(), rcond=None)
    assert rank == 3
    assert residuals < 1e-20
    assert np.abs(theta).max() < 6 * math.sqrt(10)


# --- what is given ----------------------------------------------------------------------------------------------------


def test_given_theta_and_actions_are_kept():
    environment = LinearBandit(theta=THETA, actions=ACTIONS)
    assert (environment.dimension, environment.n_actions, environment.n_arms) == (2, 3, 3)
    for seed in range(3):
        means, _, sets = tape(environment, seed=seed)
        np.testing.assert_allclose(means, MEANS, rtol=1e-15)
        assert sets.tolist() == [[list(row) for row in ACTIONS]]
    sets = tape(environment)[2]
    sets[:] = 99.0  # of no consequence to the environment
    assert tape(environment)[2].max() == 1.0


def test_theta_alone_and_actions_alone():
    means, _, sets = tape(LinearBandit(theta=THETA, n_actions=5, contextual=True))
    np.testing.assert_allclose(means, sets @ THETA, rtol=1e-12, atol=1e-15)
    environment = LinearBandit(actions=np.array(ACTIONS, dtype=np.float32))
    assert tape(environment, seed=0)[0].tolist() != tape(environment, seed=1)[0].tolist()
    assert LinearBandit(2, n_actions=3, theta=np.array(THETA), actions=ACTIONS).dimension == 2


@each(
    "environment",
    [
        LinearBandit(),
        LinearBandit(3, n_actions=4, contextual=True, noise="student_t:df=5", scale=0.25),
        LinearBandit(theta_scale=0.5, feature_range=2.0),
        LinearBandit(theta=THETA),
        LinearBandit(theta=[2.5]),
        LinearBandit(actions=ACTIONS),
        LinearBandit(theta=[2.5], actions=[[1.0], [2.0]]),
        LinearBandit(theta=THETA, actions=[[0.5, 1.0]]),
    ],
    ids=lambda environment: environment.label,
)
def test_labels_build_the_environment_again(environment):
    call = parse_call(environment.label)
    twin = ENVIRONMENTS[call.name](**call.options)
    assert twin.label == environment.label
    for one, other in zip(tape(twin), tape(environment), strict=True):
        assert one.tobytes() == other.tobytes()
    assert repr(environment) == f"<LinearBandit {environment.label}>"


@pytest.mark.parametrize("contextual", [False, True])
def test_a_tape_is_the_same_again_and_another_with_another_seed(contextual):
    environment = LinearBandit(3, n_actions=4, contextual=contextual)
    first, again, other = tape(environment), tape(environment), tape(environment, seed=1)
    for one, two, three in zip(first, again, other, strict=True):
        assert one.tobytes() == two.tobytes()
        assert one.tobytes() != three.tobytes()


@pytest.mark.parametrize("contextual", [False, True])
def test_a_frozen_law_draws_from_the_stream_it_is_given(contextual):
    environment = LinearBandit(3, n_actions=4, contextual=contextual, noise=stats.norm(0, 2))
    np.random.seed(1)  # noqa: NPY002 - the stream of the world must not matter
    first = tape(environment)[1]
    np.random.seed(2)  # noqa: NPY002
    assert tape(environment)[1].tobytes() == first.tobytes()


# --- simulation -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("contextual", [False, True], ids=["fixed", "contextual"])
def test_the_regret_recorded_is_that_of_the_choices(contextual):
    environment = LinearBandit(3, n_actions=5, contextual=contextual)
    result = simulate(OFUL(), environment, horizon=60, replications=3, seed=4, progress=False, checkpoints=[1, 20, 60])
    for i in range(3):
        means, rewards, sets = environment.tape(60, stream(4, i, ENVIRONMENT))
        rng = stream(4, i, POLICY)
        policy = OFUL()
        state = policy.start(3, 60, rng)
        choices = np.empty(60, dtype=np.int64)
        play(policy.kernel, Game.begin(policy.make_params(60), state, rewards, choices, 0, contextual, sets), rng)
        regret, expected = 0.0, []
        for t, arm in enumerate(choices):
            mean = means[t] if contextual else means
            regret += mean.max() - mean[arm]
            expected.append(regret)
        np.testing.assert_allclose(result.regret[0, i], [expected[0], expected[19], expected[59]], rtol=1e-12)
        assert result.pulls[0, i].tolist() == np.bincount(choices, minlength=5).tolist()
    assert result.regret[0, :, -1].sum() > 0


def test_policies_of_arms_play_one_set_of_actions():
    environment = LinearBandit(theta=THETA, actions=ACTIONS)
    result = simulate(UCB1(), environment, horizon=50, replications=4, seed=0, progress=False)
    gaps = 2.0 - np.array(MEANS)
    np.testing.assert_allclose(result.regret[0, :, -1], result.pulls[0] @ gaps, rtol=1e-12)
    assert (result.pulls[0] >= 1).all()
    assert result.environment == environment.label


# --- refusals ---------------------------------------------------------------------------------------------------------

COUNT = "must be an integer of at least 1. Got"
POSITIVE = "must be a finite number greater than 0. Got"
VECTOR = "must be a non-empty sequence of finite numbers. Got"
MATRIX = "must be a non-empty matrix, one action per row, of finite numbers. Got"
AGREE = "must be the same as that of 'theta' and 'actions'. Got"
NOISE = "must be one of 'gaussian', .*'student_t', 'sub_weibull'. Got"


@each(
    ("options", "message"),
    [
        ({"dimension": 0}, f"'dimension' .* {COUNT} 0"),
        ({"dimension": 2.0}, f"'dimension' .* {COUNT} 2.0"),
        ({"n_actions": -1}, f"'n_actions' .* {COUNT} -1"),
        ({"n_actions": True}, f"'n_actions' .* {COUNT} True"),
        ({"theta": []}, f"'theta' .* {VECTOR}"),
        ({"theta": 3.0}, f"'theta' .* {VECTOR} 3.0"),
        ({"theta": [[1.0, 2.0]]}, f"'theta' .* {VECTOR}"),
        ({"theta": [1.0, math.nan]}, f"'theta' .* {VECTOR}"),
        ({"theta": [1.0, None]}, f"'theta' .* {VECTOR}"),
        ({"theta": "up"}, f"'theta' .* {VECTOR} 'up'"),
        ({"theta": ["1", "2"]}, f"'theta' .* {VECTOR}"),
        ({"theta": [1j, 2.0]}, f"'theta' .* {VECTOR}"),
        ({"theta": np.array([1j, 2.0])}, f"'theta' .* {VECTOR}"),
        ({"theta": [1, 10**400]}, f"'theta' .* {VECTOR}"),
        ({"actions": []}, f"'actions' .* {MATRIX}"),
        ({"actions": [[]]}, f"'actions' .* {MATRIX}"),
        ({"actions": [1.0, 2.0]}, f"'actions' .* {MATRIX}"),
        ({"actions": [[1.0], [2.0, 3.0]]}, f"'actions' .* {MATRIX}"),
        ({"actions": [[1.0, math.inf]]}, f"'actions' .* {MATRIX}"),
        ({"actions": np.ones((2, 2), dtype=complex)}, f"'actions' .* {MATRIX}"),
        ({"dimension": 3, "theta": THETA}, rf"'dimension' .* {AGREE} \[2, 3\]"),
        ({"theta": [1.0], "actions": ACTIONS}, rf"'dimension' .* {AGREE} \[1, 2\]"),
        ({"n_actions": 4, "actions": ACTIONS}, rf"'n_actions' .* {AGREE} \[3, 4\]"),
        ({"contextual": True, "actions": ACTIONS}, "'contextual' .* must be false when 'actions' are given. Got true"),
        ({"theta_scale": 0}, f"'theta_scale' .* {POSITIVE} 0"),
        ({"feature_range": -1}, f"'feature_range' .* {POSITIVE} -1"),
        ({"scale": math.inf}, f"'scale' .* {POSITIVE} inf"),
        ({"noise": None}, f"'noise' .* {NOISE} None"),
        ({"noise": "bernoulli"}, f"'noise' .* {NOISE} 'bernoulli'"),
        ({"noise": "linear_bandit"}, f"'noise' .* {NOISE} 'linear_bandit'"),
        ({"noise": 1.0}, f"'noise' .* {NOISE} 1.0"),
        ({"noise": stats.norm}, f"'noise' .* {NOISE}"),
        ({"noise": stats.t}, f"'noise' .* {NOISE}"),
        ({"noise": stats.expon()}, "'noise' .* must be a distribution with mean 0. Got mean 1"),
        ({"noise": stats.cauchy()}, "'noise' .* must be a distribution with mean 0. Got mean nan"),
        ({"noise": "gaussian:n_arms=3"}, "'noise' .* must be a distribution without 'n_arms', which is of arms. Got"),
        ({"theta": (1, 2), "theta_scale": 1}, "'theta_scale' .* must be left out when 'theta' is given. Got 1"),
        (
            {"actions": ((1, 2),), "feature_range": 1},
            "'feature_range' .* must be left out when 'actions' is given. Got",
        ),
        ({"theta": (True, 2)}, "'theta' .* must be a non-empty sequence of finite numbers. Got"),
        ({"theta": (1e101, 2)}, "'theta' .* must be no larger than 1e\\+100 in size. Got"),
        ({"scale": 1e101}, "'scale' .* must be no larger than 1e\\+100. Got"),
        ({"theta_scale": True}, "'theta_scale' .* must be a finite number greater than 0. Got"),
        ({"noise": stats.norm([0, 0], 1)}, f"'noise' .* {NOISE}"),
    ],
    ids=lambda value: value.split("'")[1] if isinstance(value, str) else "given",
)
def test_bad_parameters_are_refused_with_a_sentence(options, message):
    name, rest = message.split(" .* ", 1)
    with pytest.raises(InvalidInput, match=rf"(?s)^The {name} parameter of LinearBandit {rest}.* instead\.$"):
        LinearBandit(**options)


def test_bad_options_of_the_noise_are_those_of_its_law():
    with pytest.raises(InvalidInput, match=r"'df' parameter of StudentT must be a finite number greater than 0. Got 0"):
        LinearBandit(noise="student_t:df=0")
    with pytest.raises(InvalidInput, match=r"is not of the form"):
        LinearBandit(noise="gaussian:scale")

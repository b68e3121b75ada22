import tomllib
from importlib.resources import files

import numpy as np
import pytest
from scipy import stats

from bandstrap.environments import ENVIRONMENTS, UnequalVariances
from bandstrap.errors import InvalidInput
from bandstrap.league import read_league
from bandstrap.league.spec import asked, fill
from bandstrap.names import NAMED_ENVIRONMENTS, make
from bandstrap.policies import POLICIES
from sampling import each

LEAGUE = read_league()
SOUND = """
[[environments]]
name = "world"
call = "truncated_normal"
sigma = 0.54
lower = -2.0
upper = 2.0
moment = 0.3
raw_moment = 1.3
unit = "truncated_normal:scale=0.25,mean_range=(0.25,0.75)"

[[policies]]
name = "UCB1"
call = "ucb1:sigma={sigma}"
told = "sigma"
"""


def read(tmp_path, text):
    path = tmp_path / "league.toml"
    path.write_text(text)
    return read_league(path)


def test_every_policy_is_in_the_league():
    names = {policy.call.split(":")[0] for policy in LEAGUE.policies}
    assert names == set(POLICIES)
    calls = [policy.call for policy in LEAGUE.policies]
    for mode in ("quantile=exact", "quantile=streaming", "correction=sharp"):
        assert any(call.startswith("bootstrapped_ucb") and mode in call for call in calls)


def test_every_reward_law_is_in_the_league():
    named = {environment.call.split(":")[0] for environment in LEAGUE.environments}
    assert named == set(ENVIRONMENTS) - {"arms", "empirical", "linear_bandit"}


def sample(environment, replications=300, horizon=400):
    """Means of arms, and their rewards, one row per arm; where means change, those of each round."""
    world = make(environment.call, NAMED_ENVIRONMENTS, "environment")
    tapes = [world.tape(horizon, np.random.default_rng(seed)) for seed in range(replications)]
    means = np.concatenate([means.T if means.ndim == 2 else means[:, None] for means, _ in tapes])
    return means, np.concatenate([tape for _, tape in tapes])


@each("environment", LEAGUE.environments, ids=lambda e: e.name)
def test_truths_hold_and_none_is_idle_unless_the_name_says_so(environment):
    means, rewards = sample(environment, replications=40 if environment.name in ("fifty arms", "hundred arms") else 300)
    variance = (rewards - means).var()
    wrong = " x " in environment.name
    if isinstance(make(environment.call, NAMED_ENVIRONMENTS, "environment"), UnequalVariances):
        assert environment.sigma == max(UnequalVariances().scales)
    # Pooled over arms of all means, of which the largest variance counts; heavy tails leave a few per cent open.
    assert variance < 1.1 * environment.moment
    assert environment.sigma**2 > 0.9 * variance
    assert (means**2).max() < environment.raw_moment
    assert (rewards**2).mean() < environment.raw_moment
    if wrong:
        assert environment.sigma**2 == pytest.approx(9 * variance, rel=0.05)
    if environment.upper is not None:
        assert environment.lower <= rewards.min()
        assert rewards.max() <= environment.upper


def test_truths_are_the_formulas():
    truths = {environment.name: environment for environment in LEAGUE.environments}
    assert truths["truncated normal"].sigma == pytest.approx(stats.truncnorm(-1, 1).std(), abs=1e-4)
    assert truths["truncated, range x 2"].sigma == pytest.approx(3 * stats.truncnorm(-1, 1).std(), abs=3e-4)
    assert truths["rare Bernoulli"].sigma == pytest.approx(np.sqrt(0.8 / (2 * np.log(9))), abs=1e-4)
    assert truths["beta"].sigma == pytest.approx(stats.beta(4, 4).std(), abs=1e-5)
    assert truths["logistic"].sigma == pytest.approx(stats.logistic(scale=0.5).std(), abs=1e-4)
    for name, law in (("Laplace", stats.laplace()), ("t(3)", stats.t(3)), ("Weibull 1/2", stats.dweibull(0.5))):
        scale = make(truths[name].call, NAMED_ENVIRONMENTS, "environment").scale
        assert scale * law.std() == pytest.approx(truths[name].sigma, abs=1e-6)
    assert truths["lognormal"].sigma == pytest.approx(1.5 * stats.lognorm(0.83255461).std() / np.exp(0.83255461**2 / 2))
    assert truths["Poisson"].sigma == pytest.approx(stats.poisson(1.5).std(), abs=1e-4)
    assert truths["own prizes"].sigma == pytest.approx(20 * np.sqrt(0.85 / (2 * np.log(0.925 / 0.075))), abs=1e-4)
    assert truths["own prizes"].moment == pytest.approx(20**2 * stats.bernoulli(0.075).var())
    assert truths["own prizes"].raw_moment == pytest.approx(20**2 * 0.075)
    for environment in truths.values():
        if environment.name not in ("Bernoulli", "rare Bernoulli", "beta", "own prizes"):
            assert environment.moment == pytest.approx(environment.sigma**2, rel=1e-3)


@each(
    ("name", "prize", "p"),
    [
        *(("rare Bernoulli", 1.0, p) for p in (0.01, 0.05, 0.1)),
        *(("own prizes", prize, mean / prize) for prize in np.geomspace(2, 20, 5) for mean in (0.5, 1.0, 1.5)),
    ],
)
def test_the_scale_of_rare_rewards_is_sub_gaussian(name, prize, p):
    sigma = next(environment.sigma for environment in LEAGUE.environments if environment.name == name) / prize
    s = np.linspace(-40, 40, 4001)
    assert (np.log(p * np.exp(s * (1 - p)) + (1 - p) * np.exp(-s * p)) <= s**2 * sigma**2 / 2 + 1e-12).all()


def test_templates():
    assert asked("rds:upper={upper}") == ["upper"]
    assert fill("x:a={sigma},b={upper}", {"sigma": 0.1, "upper": 2.0}) == "x:a=0.1,b=2"


def test_a_part_of_the_league_by_name_and_by_call():
    part = LEAGUE.choose(
        ["t(3)", "beta"], ["UCB1", "ucb1:sigma={sigma},alpha=0.1", "moss:sigma=2", "npts:upper={upper}"]
    )
    assert [environment.name for environment in part.environments] == ["t(3)", "beta"]
    assert [(policy.name, policy.told) for policy in part.policies] == [
        ("UCB1", "sigma"),
        ("ucb1:sigma={sigma},alpha=0.1", "sigma"),
        ("moss:sigma=2", "as written"),
        ("npts:upper={upper}", "range"),
    ]
    assert LEAGUE.choose() == LEAGUE


def test_who_plays_beside_the_others_is_named_or_called_too():
    part = LEAGUE.choose(["beta"], ["UCB1"], ["RB-SDA", "moss:sigma=2", "UCB1", "RB-SDA"])
    assert [policy.name for policy in part.policies] == ["UCB1", "RB-SDA", "moss:sigma=2"]
    assert part.policies[1] in LEAGUE.policies
    assert LEAGUE.choose(also=["RB-SDA"]) == LEAGUE


@each(
    ("environments", "policies", "message"),
    [
        (["nope"], [], r"unknown environment 'nope' of the league; known are 'Gaussian', .*\.$"),
        ([], ["nope"], "unknown policy 'nope'; known are 'aim', 'bernoulli_ts', "),
        ([], ["oful"], "unknown policy 'oful'; known are"),
        ([], ["ucb1:sigma={width}"], "asks for more than one kind of truth, or for none of {sigma}, {lower}, "),
        ([], ["imed:sigma={sigma},upper={upper}"], "asks for more than one kind of truth"),
        ([], ["ucb1:direction=min"], "'direction' parameter of UCB1 must be left out of a simulation, which sets"),
        ([], ["ucb1:sigma=0"], "'sigma' parameter of UCB1 must be"),
        ([], ["ucb1:wings=2"], "UCB1 has no parameter 'wings'; it takes sigma"),
    ],
)
def test_strangers_are_refused(environments, policies, message):
    with pytest.raises(InvalidInput, match=message):
        LEAGUE.choose(environments, policies)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[[environments]]", "[environments", "league.toml is not a TOML file: "),
        ("sigma = 0.54", "", r"the key 'sigma' of environments\[0\] is missing"),
        ("sigma = 0.54", "sigma = -1", r"'environments\[0\].sigma': input should be greater than 0. Got -1 instead"),
        (
            "sigma = 0.54",
            "sigma = 0.54\nwings = 2",
            r"unknown key 'wings' of environments\[0\]; allowed are name, call, ",
        ),
        ('told = "sigma"', 'told = "all"', r"'policies\[0\].told': input should be 'nothing', 'sigma', .* Got 'all'"),
        (
            'told = "sigma"',
            'told = "sigma"\nshare = 2',
            r"'policies\[0\].share': input should be less than or equal to 1",
        ),
        ('told = "sigma"', 'told = "nothing"', "a policy with told = 'nothing' cannot ask for {sigma}"),
        ("{sigma}", "1", "a policy with told = 'sigma' must ask for {sigma}"),
        ("{sigma}", "{width}", r"unknown truth {width} in 'ucb1:sigma={width}'; known are {sigma}, "),
        ("{sigma}", "{sigma},wings=1", r"policies\[0\].call: UCB1 has no parameter 'wings'"),
        ("lower = -2.0", "", "an environment has both 'lower' and 'upper' or neither"),
        ("lower = -2.0", "lower = 2.0", "'lower' must be less than 'upper'"),
        ("lower = -2.0\nupper = 2.0", "", "'unit' needs 'lower' and 'upper'"),
        ("lower = -2.0", "lower = -1.0", r"environments\[0\]: rewards of 'truncated_normal' lie in \[-2, 2\], outside"),
        (
            "scale=0.25",
            "scale=0.2",
            r"environments\[0\]: .* is not 'truncated_normal' mapped from \[-2, 2\] to \[0, 1\]",
        ),
        ("mean_range=(0.25,0.75)", "n_arms=3", "is not 'truncated_normal' mapped"),
        ('call = "truncated_normal"', 'call = "nope"', r"environments\[0\]: unknown environment 'nope'; known are"),
        ('call = "truncated_normal"', 'call = "linear_bandit:contextual=true"', "offers no arms"),
        (
            "sigma = 0.54",
            "sigma = 0.54\ndelay = -1",
            r"environments\[0\]: The 'delay' parameter of the environment 'world'",
        ),
        ("sigma = 0.54", 'sigma = 0.54\ndelay = "200 rounds"', "such as 'geom:p=0.005'. Got '200 rounds' instead"),
        ("sigma = 0.54", "sigma = 0.54\nbatch = 0", "'batch' parameter of the environment 'world' must be .*Got 0"),
        ("sigma = 0.54", "sigma = 0.54\nlost = 1", "'lost' parameter of the environment 'world' must be .*Got 1"),
        ("sigma = 0.54", "sigma = 0.54\nbatch = 2.5", r"'environments\[0\].batch': .*Got 2.5"),
    ],
)
def test_a_mistake_in_the_file_is_told_in_one_sentence(tmp_path, old, new, message):
    assert old in SOUND
    with pytest.raises(InvalidInput, match=message) as raised:
        read(tmp_path, SOUND.replace(old, new))
    assert "league.toml" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_names_must_differ(tmp_path):
    league = tomllib.loads(SOUND)
    assert len(read(tmp_path, SOUND).policies) == len(league["policies"])
    twice = SOUND + SOUND[SOUND.index("[[policies]]") :]
    with pytest.raises(InvalidInput, match=r"the names of the policies must differ\. Got UCB1, UCB1 instead"):
        read(tmp_path, twice)


def test_the_file_comes_with_the_package():
    assert (files("bandstrap.league") / "league.toml").is_file()

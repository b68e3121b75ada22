"""Whether means of arms are normal when play ends."""

import numpy as np
import polars
import pytest
from scipy import stats

from bandstrap import UCB1, EpsilonGreedy
from bandstrap.environments import Gaussian
from bandstrap.errors import InvalidInput
from bandstrap.league import play_league, read_league
from bandstrap.league.stability import LEVEL, judge, standardised_means
from naive.games import OnTape, game

LEAGUE = read_league()


def verdicts(draw, n_tests=200, size=300):
    """How often a sample of standardised means is said not to be normal."""
    rng = np.random.default_rng(0)
    return np.mean([not judge("world", "policy", "nothing", draw(rng, size)).is_normal for _ in range(n_tests)])


def given_up(rng, size):
    """Means of an arm of 400 rewards, given up after 4 in one of four cases: where those 4 were bad."""
    first, rest = rng.normal(size=size), rng.normal(size=size)
    whole = np.sqrt(4 / 400) * first + np.sqrt(396 / 400) * rest
    return np.where(first < -0.674, first, whole)


def test_normal_means_are_called_normal_and_wrong_ones_not():
    # Of 200 tests at 0.01 more than 8 are rejected with a probability of 0.0003.
    assert verdicts(lambda rng, size: rng.normal(size=size)) <= 8 / 200
    # The power against what is wrong: an arm given up, a bias of 0.3, a scale of 1.3.
    assert verdicts(given_up) > 0.95
    assert verdicts(lambda rng, size: rng.normal(-0.3, 1, size)) > 0.95
    assert verdicts(lambda rng, size: rng.normal(0, 1.3, size)) > 0.3


def test_a_distance_that_is_said_to_be_found_is():
    # A normal distribution shifted by twice the quantile of (1 + d)/2 is at distance d. Found with 0.99, more than 9 of 200
    # are missed with a probability of 0.0001; a third of the distance mostly is.
    size = 300
    found = judge("world", "policy", "nothing", np.zeros(size)).surely_found
    for distance, low, high in ((found, 191 / 200, 1.0), (found / 3, 0.1, 0.6)):
        shift = 2 * stats.norm.ppf((1 + distance) / 2)
        assert low <= verdicts(lambda rng, size, shift=shift: rng.normal(shift, 1, size), size=size) <= high


def test_the_numbers_are_what_they_say():
    found = judge("world", "policy", "sigma", [-3.0, -1.0, 0.0, 2.0])
    assert (found.misses, found.bias, found.replications) == (0.5, -0.5, 4)
    assert found.misses_error == 0.25
    assert found.distance == pytest.approx(0.5 - 0.158655, abs=1e-6)  # at -1, where half of them are
    assert found.is_normal == (found.p_value >= LEVEL)


@pytest.mark.parametrize("policy", [UCB1(), EpsilonGreedy()], ids=lambda policy: policy.name)
def test_means_are_those_of_the_rewards_that_were_learned(policy):
    world, horizon, seed = Gaussian(means=(0.5, 0)), 40, 3
    games = [game(policy, OnTape(world, horizon, seed, r), 2, horizon, seed, r) for r in range(5)]
    pulls = np.array([pulls for *_, pulls in games])
    expected = []
    for r, (choices, *_) in enumerate(games):
        table, seen = OnTape(world, horizon, seed, r), []
        for arm in choices:
            if arm == 1:
                seen.append(table.reward(0, 1, len(seen)))
        expected.append(np.sqrt(len(seen)) * np.mean(seen) / 2.0)
    found = standardised_means(world, 2.0, horizon, seed, {"it": pulls, "fewer": pulls[:2]})
    assert found["it"] == pytest.approx(expected, rel=1e-12)
    assert found["fewer"] == pytest.approx(expected[:2], rel=1e-12)


def test_a_league_says_whose_means_are_normal(tmp_path):
    part = LEAGUE.choose(policies=["uniform", "epsilon-greedy"])
    league = part.model_copy(update={"environments": part.environments[:1]})
    found = play_league(league, tmp_path, horizon=300, replications=200, seed=1, progress=False)
    rows = {(row.environment, row.policy): row for row in found.stability}
    assert len(rows) == 4
    assert all(rows[name, "uniform"].is_normal for name in ("equal means", "unequal means"))
    assert not rows["equal means", "epsilon-greedy"].is_normal
    assert rows["equal means", "epsilon-greedy"].bias < -0.3
    assert {row.environment for row in found.standings} == {"Gaussian"}
    table = polars.read_parquet(tmp_path / "stability.parquet")
    assert table["distance"].to_list() == [row.distance for row in found.stability]
    page = (tmp_path / "league.html").read_text()
    assert (page.count("<td>not refuted</td>"), page.count("<td>no</td>")) == (3, 1)
    alone = play_league(LEAGUE.choose(["Gaussian"], ["uniform"]), tmp_path / "alone", horizon=20, replications=2)
    assert alone.stability == ()
    assert not (tmp_path / "alone" / "stability.parquet").exists()


def test_means_that_change_or_rewards_that_are_late_have_no_stability(tmp_path):
    text = """
[[environments]]
name = "world"
call = "gaussian"
sigma = 1.0
moment = 1.0
raw_moment = 2.0

[[stability]]
name = "changing"
call = "drifting:environment=gaussian,drift=swap"
sigma = 1.0
moment = 1.0
raw_moment = 2.0

[[policies]]
name = "UCB1"
call = "ucb1"
told = "nothing"
"""
    path = tmp_path / "league.toml"
    for wrong in (
        text,
        text.replace("drifting:environment=gaussian,drift=swap", "gaussian").replace(
            "2.0\n\n[[p", "2.0\ndelay = 3\n\n[[p"
        ),
    ):
        path.write_text(wrong)
        with pytest.raises(InvalidInput, match="stability needs constant means and rewards without delay"):
            read_league(path)


def test_environments_that_do_not_count_are_ranked_alone():
    assert [e.name for e in LEAGUE.environments if not e.overall] == [
        e.name
        for e in LEAGUE.environments
        if e.delay or e.batch > 1 or " x " in e.name or e.call.startswith("drifting")
    ]
    assert len(LEAGUE.counted) == 21
    assert len(LEAGUE.choose(["delay 200"]).counted) == 1

"""Small leagues of cheap policies."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars
import pytest

from bandstrap import Giro, simulate
from bandstrap.engine.simulator.blocks import BLOCK_SIZE
from bandstrap.environments import Gaussian, TruncatedNormal
from bandstrap.errors import InvalidInput
from bandstrap.experiments.folder import Folder
from bandstrap.experiments.folder_status import status_of
from bandstrap.experiments.tidy import Tidy
from bandstrap.league import play_league, read_league
from bandstrap.league.plan import plan_league
from bandstrap.plots.league import contrast, shade, show_multiple
from bandstrap.policies import UCB1, UCBTuned

LEAGUE = read_league()
SMALL = LEAGUE.choose(
    ["Gaussian", "truncated normal", "beta", "Gaussian, sigma x 3"],
    ["UCB1", "UCB-tuned", "uniform", "RB-SDA", "epsilon_greedy:epsilon=0.2"],
)
SIZES = {"horizon": 60, "replications": 12, "seed": 3, "progress": False}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("league")


@pytest.fixture(scope="module")
def result(folder):
    return play_league(SMALL, folder, **SIZES)


def test_regret_is_that_of_simulate(result):
    expected = simulate(UCB1(sigma=3), Gaussian(), horizon=60, replications=12, seed=3, progress=False)
    (found,) = [s for s in result.on("Gaussian, sigma x 3") if s.policy == "UCB1"]
    assert found.mean == pytest.approx(expected.final("ucb1:sigma=3").mean(), rel=1e-12)
    assert found.replications == 12
    assert found.told == "sigma"


def test_policies_of_the_unit_interval_play_mapped_rewards_with_regret_mapped_back(result):
    unit = TruncatedNormal(scale=0.25, mean_range=(0.25, 0.75))
    expected = simulate(UCBTuned(), unit, horizon=60, replications=12, seed=3, progress=False)
    (found,) = [s for s in result.on("truncated normal") if s.policy == "UCB-tuned"]
    assert found.mean == pytest.approx(4 * expected.final("ucb_tuned").mean(), rel=1e-12)


def test_who_needs_a_range_sits_out_without_one(result):
    assert result.sat_out == {
        ("Gaussian", "UCB-tuned"): "needs rewards in [0, 1]",
        ("Gaussian, sigma x 3", "UCB-tuned"): "needs rewards in [0, 1]",
    }
    assert result.absent("Gaussian") == {"needs rewards in [0, 1]": ["UCB-tuned"]}
    assert [row.policy for row in result.overall][-1] == "UCB-tuned"
    assert result.overall[-1].n_environments == 2


def test_what_nobody_told_is_the_reason_and_so_is_a_short_game():
    reasons = {
        (match.environment.name, match.policy.name): match.sits_out
        for match in plan_league(LEAGUE.choose(["Gaussian", "fifty arms"], ["NPTS", "CHK-UCB"]), 100, 4, 0)
    }
    assert reasons == {
        ("Gaussian", "NPTS"): "needs a range",
        ("fifty arms", "NPTS"): "needs a range",
        ("Gaussian", "CHK-UCB"): "",
        ("fifty arms", "CHK-UCB"): "needs 150 rounds",
    }


def test_the_whole_league_can_be_planned():
    matches = plan_league(LEAGUE, 2000, 200, 0)
    assert len(matches) == len(LEAGUE.environments + LEAGUE.stability) * len(LEAGUE.policies)
    for match in matches:
        assert (match.block is None) == bool(match.sits_out)
        if match.block is not None:
            assert match.block.last == round(match.policy.share * 200)
            assert all(block.work <= BLOCK_SIZE for block in match.block.cut())
    played = {match.policy.name for match in matches if match.block is not None}
    assert played == {policy.name for policy in LEAGUE.policies}
    giro = [match for match in matches if match.policy.call == Giro().label and match.block is not None]
    assert [match.environment.name for match in giro] == [e.name for e in LEAGUE.environments if e.upper is not None]
    assert {match.factor for match in giro} == {1.0, 4.0, 8.0, 20.0}


def test_a_share_of_the_replications(tmp_path):
    slow = SMALL.policies[0].model_copy(update={"share": 0.5})
    league = SMALL.model_copy(update={"environments": SMALL.environments[:1], "policies": (slow, SMALL.policies[2])})
    found = play_league(league, tmp_path, **SIZES)
    assert {s.policy: s.replications for s in found.standings} == {"UCB1": 6, "uniform": 12}


def test_finished_matches_are_not_played_again(result, folder, monkeypatch):
    monkeypatch.setattr(
        "bandstrap.experiments.runner.play_blocks", lambda blocks: pytest.fail(f"played {blocks} again")
    )
    pages = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert sorted(pages) == [
        "heatmap.png",
        "heatmap.svg",
        "league.html",
        "league.parquet",
        "overall.parquet",
        "plan.json",
    ]
    again = play_league(SMALL, folder, **SIZES)
    assert again.standings == result.standings
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == pages


def test_same_seed_same_bytes_for_any_number_of_threads(result, folder, tmp_path):
    with ThreadPoolExecutor(1) as executor:
        play_league(SMALL, tmp_path, **SIZES, executor=executor)
    for name in ("league.parquet", "overall.parquet", "heatmap.svg", "heatmap.png"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_the_table_has_a_row_per_match(result, folder):
    table = polars.read_parquet(folder / "league.parquet")
    assert table.height == len(SMALL.environments) * len(SMALL.policies)
    row = table.filter((polars.col("environment") == "beta") & (polars.col("policy") == "RB-SDA")).row(0, named=True)
    (standing,) = [s for s in result.on("beta") if s.policy == "RB-SDA"]
    assert row["mean"] == standing.mean
    assert (row["rank_low"], row["rank_high"]) == (standing.rank_interval.low, standing.rank_interval.high)
    assert (row["q99_low"], row["q99_high"]) == (standing.q99_interval.low, np.inf)
    absent = table.filter(polars.col("sat_out").is_not_null())
    assert absent["policy"].to_list() == ["UCB-tuned", "UCB-tuned"]
    assert absent["mean"].null_count() == 2
    assert not any("second" in column or "cost" in column for column in table.columns)


def test_the_second_table_has_a_row_per_policy_and_compares_it_with_the_first(result, folder):
    table = polars.read_parquet(folder / "overall.parquet")
    assert table["policy"].to_list() == [row.policy for row in result.overall]
    assert set(table["yardstick"]) == {SMALL.policies[0].name}
    for row, found in zip(result.overall, table.iter_rows(named=True), strict=True):
        assert (found["relative"], found["ratio"]) == (row.relative, row.beside.ratio)
        assert (found["ratio_low"], found["ratio_high"]) == (
            row.beside.ratio_interval.low,
            row.beside.ratio_interval.high,
        )
        assert found["n_environments"] == found["n_common"] == row.n_environments
        assert f"{show_multiple(row.beside.ratio_q99)} <span" in (folder / "league.html").read_text()


def test_a_policy_that_never_met_the_yardstick_has_no_comparison(tmp_path):
    league = LEAGUE.choose(["Gaussian", "beta"], ["UCB-tuned", "uniform"])
    part = league.model_copy(update={"environments": league.environments[:1]})
    found = play_league(part, tmp_path, **SIZES)
    assert [(row.policy, row.beside) for row in found.overall] == [("uniform", None)]
    assert polars.read_parquet(tmp_path / "overall.parquet").columns[0] == "policy"


def test_the_page_holds_everything(result, folder):
    page = (folder / "league.html").read_text()
    for name in [environment.name for environment in SMALL.environments] + [policy.name for policy in SMALL.policies]:
        assert name in page
    assert "http" not in page
    assert "needs rewards in [0, 1]" in page
    assert "sat out on some environments" in page
    assert all(show_multiple(s.relative) in page for s in result.standings)


def test_costs_are_microseconds_per_decision(result):
    standing = result.standings[0]
    seconds = result.seconds[standing.environment, standing.policy]
    assert result.cost([standing]) == pytest.approx(1e6 * seconds / (60 * 12))
    assert 0 < result.cost(result.of("UCB1")) < 1e4


def test_maps_have_the_overall_number_first_and_gaps(result):
    multiples = result.multiples("relative")
    assert multiples.shape == (5, 5)
    assert multiples[:, 0].tolist() == [row.relative for row in result.overall]
    assert np.isnan(multiples).sum() == 2
    assert (np.nanmin(multiples[:, 1:], axis=0) == 1).all()


def test_numbers_stand_out_on_every_shade():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#ffffff", "#767676") == pytest.approx(
        4.54, abs=0.01
    )  # the lightest grey that passes, as is well known
    multiples = [1, 1.2, 1.7, 2.4, 3.1, 4, 5, 6.5, 8, 10, 1000, np.inf, np.nan]
    assert all(contrast(*shade(multiple)) >= 4.5 for multiple in multiples)
    lightness = [contrast("#000000", shade(multiple)[0]) for multiple in multiples[:10]]
    assert lightness == sorted(lightness, reverse=True)
    assert [show_multiple(m) for m in (1, 9.994, 9.996, 123.4, np.inf, np.nan)] == [
        "1.00",
        "9.99",
        "10",
        "123",
        "∞",
        "-",
    ]


def test_a_league_nobody_can_play_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match=r"no policy can play: NPTS needs a range\."):
        play_league(LEAGUE.choose(["Gaussian"], ["NPTS"]), tmp_path, **SIZES)


@pytest.mark.parametrize(("name", "value"), [("horizon", 0), ("replications", 1), ("seed", -1), ("executor", 4)])
def test_bad_sizes_are_refused(tmp_path, name, value):
    with pytest.raises(InvalidInput, match=f"The '{name}' parameter of bandstrap.* must be an? (integer|concurrent)"):
        play_league(SMALL, tmp_path, **SIZES | {name: value})
    assert not list(tmp_path.iterdir())


def test_late_rewards_are_those_of_simulate_and_kept_apart_from_others_in_one_folder(tmp_path):
    (world,) = LEAGUE.choose(["Gaussian"]).environments
    changes = [{"delay": 20}, {"delay": "geom:p=0.1", "lost": 0.2}, {"batch": 30}]
    late = [world.model_copy(update={"name": f"late {i}", **change}) for i, change in enumerate(changes)]
    league = LEAGUE.choose(["Gaussian"], ["UCB1"]).model_copy(update={"environments": (world, *late)})
    result = play_league(league, tmp_path, **SIZES)
    for environment, change in zip(league.environments, [{}, *changes], strict=True):
        expected = simulate(UCB1(), Gaussian(), **SIZES, **change)
        (found,) = result.on(environment.name)
        assert found.mean == pytest.approx(expected.final("ucb1").mean(), rel=1e-12)
    assert len({found.mean for found in result.standings}) == 4
    page = (tmp_path / "league.html").read_text()
    assert "<code>gaussian, delay geom:p=0.1, lost 0.2</code>" in page
    assert "<code>gaussian</code>" in page


def test_a_leagues_folder_is_read_as_that_of_an_experiment(result, folder):
    home = Folder(folder)
    assert {(panel.missing, panel.failed) for panel in status_of(home).panels} == {(0, 0)}
    assert list(home.blocks.iterdir()) == []
    rows = [row for curve in Tidy(home.read(), home.store()).curves() for row in curve]
    found = {(row["panel"], row["curve"]): (row["mean"], row["standard_error"]) for row in rows}
    expected = {(one.environment, one.policy): (one.mean, one.standard_error) for one in result.standings}
    assert found.keys() == expected.keys()
    for key, numbers in expected.items():  # in units of the environment's own rewards
        assert found[key] == pytest.approx(numbers, rel=1e-12)

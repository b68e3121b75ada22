"""The same games asked through every door: Python, the command line, a file, a stored folder and the league."""

import csv
import json

import pytest

from bandstrap import experiments, simulate
from bandstrap.bounds import coverage
from bandstrap.engine.simulator.result import Statistics
from bandstrap.league import play_league, read_league
from bandstrap.league.plan import plan_match
from bandstrap.names import NAMED_ENVIRONMENTS, NAMED_POLICIES, make
from sampling import telling

NUMBERS = Statistics._fields
SEED = 3
# Environment, policies, horizon, replications, and when rewards are learned.
GAMES = {
    "two arms": ("gaussian:means=(0,1)", ["ucb1", "gaussian_ts:sigma=2"], 60, 7, {}),
    "discrete": ("bernoulli:n_arms=3", ["bernoulli_ts", "uniform_random"], 40, 20, {}),
    "one replication": ("gaussian", ["ucb1"], 30, 1, {}),
    "late": ("gaussian", ["ucb1"], 80, 5, {"delay": 10, "batch": 4, "lost": 0.25}),
    "of actions": ("linear_bandit:dimension=3,n_actions=6", ["oful", "ucb1"], 30, 4, {}),
    "heavy": ("student_t:df=2", ["edgeworth_ucb", "bootstrapped_ucb:quantile=exact"], 50, 30, {}),
}
BOUNDS = {"sign_flip": (9, 3), "student_t": (5, 10), "hoeffding:sigma=1": (4, 1)}


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bandstrap.cli.simulate.draw", lambda *_: None)  # which takes longest


@pytest.fixture
def ask(run):
    """What a command prints."""

    def go(*words):
        done = run(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return go


def of_csv(file):
    """The numbers of each curve, from a CSV file."""
    with open(file, newline="") as lines:  # noqa: PTH123
        return {row["curve"]: numbers_of(row) for row in csv.DictReader(lines)}


def numbers_of(row):
    return tuple(None if row[name] in ("", None) else float(row[name]) for name in NUMBERS)


def by_curve(rows):
    return {row["curve"]: numbers_of(row) for row in rows}


def file_of(environment, policies, horizon, replications, late):
    curves = "".join(f'[[panels.curves]]\nlabel = "{each}"\npolicy = "{each}"\n' for each in policies)
    feedback = "".join(f"{name} = {value}\n" for name, value in late.items())
    return (
        f'title = "t"\nseed = {SEED}\nhorizon = {horizon}\nreplications = {replications}\n'
        f'[[panels]]\nname = "a"\nenvironment = "{environment}"\n{feedback}{curves}'
    )


@telling("game", GAMES, ["two arms", "discrete", "one replication"])
def test_the_statistics_of_a_game_are_the_same_numbers_from_every_door(ask, game, tmp_path):
    environment, policies, horizon, replications, late = GAMES[game]
    sizes = {"horizon": horizon, "replications": replications, "seed": SEED}
    made = {each: make(each, NAMED_POLICIES, "policy") for each in policies}
    world = make(environment, NAMED_ENVIRONMENTS, "environment")
    result = simulate(made, world, **sizes, **late, progress=False)
    expected = {}
    for row in result.summary():
        error = None if replications == 1 else row["standard_error"]
        expected[row["policy"]] = numbers_of(row | {"standard_error": error})
    text = file_of(*GAMES[game])
    (tmp_path / "game.toml").write_text(text)

    words = [word for each in policies for word in ("--policy", each)]
    options = {"environment": environment, **sizes, **late}
    words += [word for name, value in options.items() for word in (f"--{name}", value)]
    ask("simulate", *words, "--out", "by-options")
    ask("simulate", "game.toml", "--out", "by-file")
    executor = "process" if game == "two arms" else "thread"  # processes take seconds to start
    doors = {
        "simulate --policy": of_csv("by-options/summary.csv"),
        "simulate FILE": of_csv("by-file/summary.csv"),
        "results --format json": by_curve(json.loads(ask("results", "by-options", "--format", "json"))),
        "results in Python": by_curve(experiments.results("by-file")),
        "run in Python": by_curve(experiments.run("game.toml", executor=executor, jobs=1, progress=False)),
    }
    for door, found in doors.items():
        assert {label.partition(":")[0]: numbers for label, numbers in found.items()} == {
            label.partition(":")[0]: numbers for label, numbers in expected.items()
        }, door
    with open("curves.csv", "w") as file:  # noqa: PTH123
        file.write(ask("results", "by-file", "--curves", "--format", "csv"))
    with open("curves.csv", newline="") as file:  # noqa: PTH123
        rows = list(csv.DictReader(file))
    for i, policy in enumerate(policies):
        mine = [row for row in rows if row["curve"] == policy]
        assert [int(row["round"]) for row in mine] == result.checkpoints.tolist()
        assert [float(row["mean"]) for row in mine] == result.mean[i].tolist()


@pytest.mark.parametrize("show", ["threshold", "miss rate"])
def test_a_panel_of_bounds_is_the_same_from_every_door(ask, show, tmp_path):
    curves = "".join(f'[[panels.curves]]\nlabel = "{each}"\nbound = "{each}"\n' for each in BOUNDS)
    (tmp_path / "bounds.toml").write_text(
        f'title = "t"\nseed = {SEED}\nreplications = 12\n[[panels]]\nname = "a"\nplot = "bounds"\nshow = "{show}"\n'
        f'distribution = "normal"\nsample_sizes = [2, 9]\n{curves}'
    )
    expected = {}
    for bound in BOUNDS:
        for row in coverage("normal", [2, 9], bounds=[bound], replications=12, seed=SEED):
            width = (row.mean_width, row.width_error, row.median_width)
            expected[bound, row.sample_size] = width if show == "threshold" else (row.miss_rate, None, None)
    ask("simulate", "bounds.toml", "--out", "out")
    with open("out/summary.csv", newline="") as file:  # noqa: PTH123
        summary = list(csv.DictReader(file))
    for rows in (summary, experiments.results("out"), experiments.run("bounds.toml", progress=False)):
        assert {(row["curve"], float(row["at"])): numbers_of(row)[:3] for row in rows} == expected


def test_the_league_has_the_same_statistics(tmp_path):
    league = read_league().choose(["Gaussian", "Bernoulli"], ["UCB1", "BUCB+", "Bernoulli TS"])
    found = play_league(league, tmp_path / "league", horizon=60, replications=20, seed=SEED, progress=False)
    rows = {(row["panel"], row["curve"]): row for row in experiments.results(tmp_path / "league")}
    assert len(found.standings) == len(rows) >= 4
    for standing in found.standings:
        numbers = tuple(getattr(standing, name) for name in NUMBERS)
        assert numbers_of(rows[standing.environment, standing.policy]) == numbers
        (environment,) = (each for each in league.environments if each.name == standing.environment)
        (policy,) = (each for each in league.policies if each.name == standing.policy)
        match = plan_match(environment, policy, 60, 20, SEED)
        played = simulate(
            match.block.policy,
            match.block.environment,
            horizon=60,
            replications=standing.replications,
            seed=SEED,
            progress=False,
        )
        assert numbers == pytest.approx([match.factor * number for number in list(played.summary()[0].values())[1:]])

import csv
import subprocess
import sys

import pytest

from bandstrap import OFUL, UCB1, Result, simulate
from bandstrap.environments import ENVIRONMENTS, Gaussian, LinearBandit
from bandstrap.policies import LINEAR_POLICIES, POLICIES


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "bandstrap", *map(str, arguments)], capture_output=True, text=True)


def test_simulate_prints_a_table_and_writes_three_files(tmp_path):
    out = tmp_path / "new" / "results"
    arguments = ("--policy", "ucb1:sigma=2", "--policy", "gaussian_ts", "--environment", "gaussian:means=(0,1)")
    sizes = ("--horizon", 50, "--replications", 6, "--seed", 3, "--jobs", 2)
    done = run("simulate", *arguments, *sizes, "--out", out)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in out.iterdir()) == ["regret.png", "result.parquet", "summary.csv"]
    expected = simulate(UCB1(sigma=2), Gaussian([0, 1]), horizon=50, replications=6, seed=3, progress=False)
    result = Result.from_parquet(out / "result.parquet")
    assert result.policies == ("ucb1:sigma=2", "gaussian_ts")
    assert (result.regret[0] == expected.regret[0]).all()
    with (out / "summary.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["policy", "mean", "standard_error", "median", "q95", "q99"]
    assert float(rows[0]["mean"]) == expected.summary()[0]["mean"]
    assert f"{float(rows[0]['mean']):.4g}" in done.stdout


@pytest.mark.parametrize(
    ("text", "environment"),
    [
        ("linear_bandit:dimension=3,n_actions=5", LinearBandit(3, n_actions=5)),
        ("linear_bandit:actions=((1,0),(0,1)),theta=(1,2)", LinearBandit(actions=[[1, 0], [0, 1]], theta=[1, 2])),
    ],
    ids=["drawn", "given"],
)
def test_linear_policies_play_beside_policies_of_arms(tmp_path, text, environment):
    arguments = ("--policy", "oful:radius=closed-form,ridge=0.5", "--policy", "ucb1", "--environment", text)
    done = run("simulate", *arguments, "--horizon", 40, "--replications", 3, "--seed", 2, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    result = Result.from_parquet(tmp_path / "result.parquet")
    assert result.policies == ("oful:radius=closed-form,ridge=0.5", "ucb1")
    assert result.environment == environment.label
    policy = OFUL(radius="closed-form", ridge=0.5)
    expected = simulate(policy, environment, horizon=40, replications=3, seed=2, progress=False)
    assert (result.regret[0] == expected.regret[0]).all()
    assert "oful:radius=closed-form,ridge=0.5" in done.stdout.replace("\n", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "needs a FILE or a --policy"),
        (["--policy", "nope"], "unknown policy 'nope'; known are 'ucb1', "),
        (["--policy", "ucb1:foo=1"], "cannot be made: got an unexpected keyword argument 'foo'"),
        (["--policy", "ucb1:sigma=0"], "'sigma' parameter of UCB1 must be a finite number greater than 0"),
        (["--policy", "ucb1:sigma="], "is not of the form key=value"),
        (["--policy", "ucb1", "--environment", "nope"], "unknown environment 'nope'; known are "),
        (["--policy", "ucb1", "--environment", "gaussian:scale=-1"], "'scale' parameter of Gaussian"),
        (["--policy", "ucb1", "--horizon", "4"], "'horizon' parameter of simulate must be at least 5"),
        (["--policy", "ucb1", "--replications", "0"], "'replications' parameter of simulate"),
        (["--policy", "ucb1", "--jobs", "0"], "'jobs' parameter of bandstrap simulate"),
        (["--policy", "oful"], "must be one that offers actions, which oful plays. Got gaussian instead"),
        (
            ["--policy", "ucb1", "--environment", "linear_bandit:contextual=true"],
            "must be one that offers arms, which ucb1 plays",
        ),
        (["--policy", "oful:arms=3"], "cannot be made: got an unexpected keyword argument 'arms'"),
        (
            ["--policy", "oful", "--environment", "linear_bandit:noise=nope"],
            "'noise' parameter of LinearBandit must be one of",
        ),
        (["--policy", "bernoulli_ts"], "with rewards inside [0, 1], the range of bernoulli_ts"),
    ],
)
def test_simulate_refuses_with_one_sentence_and_exit_code_2(arguments, message):
    done = run("simulate", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_list_shows_every_policy_and_environment_with_its_options():
    policies, environments = run("list", "policies").stdout, run("list", "environments").stdout
    assert all(name in policies for name in POLICIES | LINEAR_POLICIES)
    assert "theta_bound=0" in policies
    assert sum(" actions " in line for line in policies.splitlines()) >= len(LINEAR_POLICIES)
    assert all(name in environments for name in ENVIRONMENTS)
    assert "n_resamples=200" in policies
    assert "df=3, scale=1" in environments

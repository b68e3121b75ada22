import csv
import errno
import os
import stat

import numpy as np
import pytest

from bandstrap import OFUL, UCB1, GaussianTS, simulate
from bandstrap.environments import CONTEXTUAL_ENVIRONMENTS, ENVIRONMENTS, Empirical, Gaussian, LinearBandit
from bandstrap.experiments import results
from bandstrap.experiments import runner as module
from bandstrap.experiments.folder import Folder
from bandstrap.experiments.merged import read_lanes
from bandstrap.policies import LINEAR_POLICIES, POLICIES
from sampling import each, exhaustive


def regret_of(folder):
    """Regret of every curve of the one panel, from the file that it was merged into."""
    (file,) = (folder / "panels").iterdir()
    return np.array([lane.regret for lane in read_lanes(file)])


def test_simulate_prints_a_table_and_keeps_an_experiment_of_one_panel(run, tmp_path):
    out = tmp_path / "new" / "results"
    arguments = ("--policy", "ucb1:sigma=2", "--policy", "gaussian_ts", "--environment", "gaussian:means=(0,1)")
    sizes = ("--horizon", 50, "--replications", 6, "--seed", 3, "--jobs", 2)
    done = run("simulate", *arguments, *sizes, "--out", out)
    assert done.returncode == 0, done.stderr
    names = ["blocks", "panels", "panels.png", "panels.svg", "plan.json", "runs", "seconds", "summary.csv"]
    assert sorted(path.name for path in out.iterdir()) == names
    policies = [UCB1(sigma=2), GaussianTS()]
    expected = simulate(policies, Gaussian([0, 1]), horizon=50, replications=6, seed=3, progress=False)
    assert (regret_of(out) == expected.regret).all()
    with (out / "summary.csv").open() as file:
        rows = list(csv.DictReader(file))
    for row, summary in zip(rows, expected.summary(), strict=True):
        assert (row["curve"], row["policy"]) == (summary["policy"], summary["policy"])
        numbers = [name for name in summary if name != "policy"]
        assert [float(row[name]) for name in numbers] == [summary[name] for name in numbers]
        assert f"{summary['mean']:.4g}" in done.stdout
    # The folder is that of any experiment: what goes on with it, how far it is, and what it found.
    assert run("status", out).stdout.splitlines()[-1] == "complete"
    assert run("results", out).stdout == done.stdout
    assert run(*Folder(out).read().words, "--out", out).stdout == done.stdout


def test_policies_on_the_command_line_resume_and_show_what_was_played(run, tmp_path, monkeypatch):
    arguments = ("simulate", "--policy", "ucb1", "--policy", "gaussian_ts", "--horizon", 40, "--replications", 100)
    arguments += ("--jobs", 1, "--out", tmp_path / "out")
    done = []
    whole = module.run_blocks

    def stop(blocks):
        if len(done) >= 4:
            raise KeyboardInterrupt
        done.extend(blocks)
        return whole(blocks)

    with monkeypatch.context() as patch:
        patch.setattr(module, "run_blocks", stop)
        stopped = run(*arguments)
    assert (stopped.returncode, stopped.stderr) == (130, "stopped after 50 of 100 replications\nstopped\n")
    sizes = {"horizon": 40, "seed": 0, "progress": False}
    half = simulate([UCB1(), GaussianTS()], Gaussian(), replications=50, **sizes)
    assert all(f"{row['mean']:.4g}" in stopped.stdout for row in half.summary())
    assert "50 replications" in stopped.stdout
    assert "missing" in run("status", tmp_path / "out").stdout
    monkeypatch.setattr(module, "run_blocks", lambda blocks: (done.extend(blocks), whole(blocks))[1])
    assert run(*arguments).returncode == 0
    assert len(done) == 8
    expected = simulate([UCB1(), GaussianTS()], Gaussian(), replications=100, **sizes)
    assert (regret_of(tmp_path / "out") == expected.regret).all()


def test_the_same_policy_twice_is_numbered(run):
    done = run("simulate", "--policy", "ucb1", "--policy", "ucb1", "--horizon", 20, "--replications", 2)
    assert [line.split()[0] for line in done.stdout.splitlines()[-2:]] == ["ucb1", "ucb1"]
    assert "ucb1 #2" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "late", "label"),
    [
        (
            ["--delay", "20", "--batch", "10", "--lost", "0.1"],
            {"delay": 20, "batch": 10, "lost": 0.1},
            "delay 20, batch 10",
        ),
        (["--delay", "geom:p=0.05"], {"delay": "geom:p=0.05"}, "delay geom:p=0.05"),
    ],
    ids=["rounds", "law"],
)
def test_late_batched_and_lost_rewards(run, tmp_path, arguments, late, label):
    done = run("simulate", "--policy", "ucb1", *arguments, "--horizon", 60, "--replications", 3, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    expected = simulate(UCB1(), Gaussian(), horizon=60, replications=3, seed=0, progress=False, **late)
    assert regret_of(tmp_path).tobytes() == expected.regret.tobytes()
    assert expected.environment.startswith(f"gaussian, {label}")
    assert f"{expected.environment}: regret after 60 rounds" in " ".join(done.stdout.split())


@exhaustive
@pytest.mark.parametrize(
    ("text", "environment"),
    [
        ("linear_bandit:dimension=3,n_actions=5", LinearBandit(3, n_actions=5)),
        ("linear_bandit:actions=((1,0),(0,1)),theta=(1,2)", LinearBandit(actions=[[1, 0], [0, 1]], theta=[1, 2])),
    ],
    ids=["drawn", "given"],
)
def test_linear_policies_play_beside_policies_of_arms(run, tmp_path, text, environment):
    arguments = ("--policy", "oful:radius=closed-form,ridge=0.5", "--policy", "ucb1", "--environment", text)
    done = run("simulate", *arguments, "--horizon", 40, "--replications", 3, "--seed", 2, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    (panel,) = Folder(tmp_path).read().panels
    assert [curve.label for curve in panel.curves] == ["oful:radius=closed-form,ridge=0.5", "ucb1"]
    assert {point.about["environment"] for curve in panel.curves for point in curve.points} == {environment.label}
    policy = OFUL(radius="closed-form", ridge=0.5)
    expected = simulate(policy, environment, horizon=40, replications=3, seed=2, progress=False)
    assert (regret_of(tmp_path)[0] == expected.regret[0]).all()
    assert "oful:radius=closed-form,ridge=0.5" in done.stdout.replace("\n", "")


@each(
    ("arguments", "message"),
    [
        ([], "needs a FILE or a --policy"),
        (["--policy", "nope"], "unknown policy 'nope'; known are 'aim', 'bernoulli_ts', "),
        (["--policy", "Edgeworth"], "unknown policy 'Edgeworth'; did you mean 'edgeworth_ucb'?"),
        (["--policy", "ucb1:foo=1"], "error: UCB1 has no parameter 'foo'; it takes sigma, alpha, tau, horizon"),
        (["--policy", "ucb1:sigma=0"], "'sigma' parameter of UCB1 must be a finite number greater than 0"),
        (["--policy", "ucb1:sigma="], "is not of the form key=value"),
        (["--policy", "ucb1", "--environment", "nope"], "unknown environment 'nope'; known are "),
        (["--policy", "ucb1", "--environment", "gaussian:scale=-1"], "'scale' parameter of Gaussian"),
        (["--policy", "ucb1", "--horizon", "4"], "'horizon' parameter of simulate must be at least 5"),
        (
            ["--policy", "ucb1", "--replications", "0"],
            "'replications' parameter of bandstrap simulate must be an integer",
        ),
        (["--policy", "ucb1", "--jobs", "0"], "'jobs' parameter of bandstrap simulate"),
        (["--policy", "oful"], "must be one that offers actions, which oful plays. Got gaussian instead"),
        (
            ["--policy", "ucb1", "--environment", "linear_bandit:contextual=true"],
            "must be one that offers arms, which ucb1 plays",
        ),
        (["--policy", "oful:arms=3"], "'arms' parameter of OFUL must be left out of a simulation"),
        (
            ["--policy", "oful", "--environment", "linear_bandit:noise=nope"],
            "'noise' parameter of LinearBandit must be one of",
        ),
        (["--policy", "ucb1:sgima=2"], "UCB1 has no parameter 'sgima' (did you mean 'sigma'?); it takes sigma, "),
        (["--policy", "ucb1:sigma=1,sigma=2"], "'ucb1:sigma=1,sigma=2' has the option 'sigma' twice."),
        (["--policy", "ucb1:horizon=abc"], "'horizon' parameter of UCB1 must be an integer of at least 1. Got 'abc'"),
        (["--policy", "ucb1:horizon=0"], "'horizon' parameter of UCB1 must be an integer of at least 1. Got 0"),
        (["--policy", "kl_ucb:plus=maybe"], "'plus' parameter of KLUCB must be true or false"),
        (
            ["--policy", "ucb1:direction=min"],
            "of a simulation, which sets the arms and random numbers itself and maximises rewards. Got 'min' instead.",
        ),
        (["--policy", "oful:rng=3"], "'rng' parameter of OFUL must be left out of a simulation"),
        (["--policy", "ucb1", "--environment", "arms"], "unknown environment 'arms'; known are 'empirical', "),
        (["--policy", "ucb1", "--environment", "gaussian:means=(1,2),n_arms=5"], "must be the number of 'means', 2"),
        (["--policy", "ucb1", "--environment", "empirical:no.csv,arm=a,reward=b"], "error: no.csv is not a file."),
        (["--policy", "ucb1", "--environment", "empirical:no.csv,reward=b"], "empirical needs the parameter 'arm'; it"),
        (["--policy", "ucb1", "--horizon", "-5"], "'horizon' parameter of bandstrap simulate must be an integer of at"),
        (["--policy", "ucb1", "--horizon", str(10**13)], "GB of memory available. Got 10000000000000, which takes"),
        (
            ["--policy", "ucb1", "--replications", str(10**13)],
            "GB of memory available. Got 10000000000000, which takes",
        ),
        (
            ["--policy", "ucb1", "--seed", "-1"],
            "'seed' parameter of bandstrap simulate must be an integer of at least 0",
        ),
        (["--policy", "bernoulli_ts"], "with rewards inside [0, 1], the range of bernoulli_ts"),
        (
            ["--policy", "ucb1", "--delay", "-1"],
            "'delay' parameter of bandstrap simulate must be a whole number of rounds",
        ),
        (["--policy", "ucb1", "--delay", "200 rounds"], "such as 'geom:p=0.005'. Got '200 rounds' instead."),
        (
            ["--policy", "ucb1", "--delay", "geom"],
            "must be given with the parameters of geom (p; loc, scale). Got 'geom'",
        ),
        (
            ["--policy", "ucb1", "--batch", "0"],
            "'batch' parameter of bandstrap simulate must be an integer of at least 1",
        ),
        (
            ["--policy", "ucb1", "--lost", "1"],
            "'lost' parameter of bandstrap simulate must be a number of at least 0 and",
        ),
        (["--policy", "ucb1", "--lost", "nan"], "a number of at least 0 and less than 1. Got nan instead."),
    ],
)
def test_simulate_refuses_with_one_sentence_and_exit_code_2(run, arguments, message):
    done = run("simulate", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_list_shows_every_policy_and_environment_with_its_options(run):
    policies, environments = run("list", "policies").stdout, run("list", "environments").stdout
    assert all(name in policies for name in POLICIES | LINEAR_POLICIES)
    assert "theta_bound=0" in policies
    assert sum("plays: actions" in line for line in policies.splitlines()) >= len(LINEAR_POLICIES)
    rows = {line.split()[0] for line in environments.splitlines() if line[0] != " "}
    assert rows == set(ENVIRONMENTS | CONTEXTUAL_ENVIRONMENTS) - {"arms"}  # what a call can build
    assert "file, arm, reward, digest=None" in environments
    assert "n_arms=5, mean_range=(-1,1)" in environments
    assert "n_arms=5, mean_range=(0.25,0.75)" in environments
    assert "dimension=10, n_actions=100" in environments
    assert "``" not in policies + environments
    assert "n_resamples=200" in policies
    assert "df=3, scale=1" in environments


def test_simulate_plays_data_of_ones_own(run, tmp_path):
    path = tmp_path / "my clicks.csv"
    path.write_text("variant,revenue\nold,0\nnew,2.5\nold,1\nnew,-3\n")
    text = f"empirical:{path},arm=variant,reward=revenue"
    sizes = ("--horizon", 30, "--replications", 3, "--seed", 2)
    done = run("simulate", "--policy", "ucb1", "--environment", text, *sizes, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    environment = Empirical({"old": [0, 1], "new": [2.5, -3]})
    (row,) = results(tmp_path / "out")
    assert row["environment"] == f"empirical:file={path},arm=variant,reward=revenue,digest={environment.digest}"
    expected = simulate(UCB1(), environment, horizon=30, replications=3, seed=2, progress=False)
    assert (regret_of(tmp_path / "out") == expected.regret).all()
    path.write_text(path.read_text().replace("2.5", "2.6"))
    again = run("simulate", "--policy", "ucb1", "--environment", row["environment"], *sizes)
    assert again.returncode == 2
    assert "my clicks.csv was edited after" in again.stderr
    assert again.stderr.count("\n") == 1


TOML = """
title = "t"
horizon = 30
replications = 3
[[panels]]
name = "a"
environment = "gaussian"
curves = [{ label = "UCB", policy = "ucb1" }]
"""


@pytest.mark.parametrize("command", ["simulate", "simulate file", "paper", "league"])
@pytest.mark.parametrize("out", ["taken.csv", "taken.csv/deeper/still", "broken"])
def test_a_place_that_cannot_be_written_is_refused_before_any_work(run, tmp_path, monkeypatch, command, out):
    (tmp_path / "taken.csv").write_text("a\n1\n")
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    (tmp_path / "t.toml").write_text(TOML)
    arguments = {"simulate": ["simulate", "--policy", "ucb1"], "simulate file": ["simulate", str(tmp_path / "t.toml")]}

    def play(*_, **__):
        raise AssertionError("played")

    monkeypatch.setattr("bandstrap.experiments.runner.run_plans", play)
    monkeypatch.setattr("bandstrap.paper.reproduce.reproduce", play)
    monkeypatch.setattr("bandstrap.league.play_league", play)
    done = run(*arguments.get(command, [command]), "--out", tmp_path / out)
    assert done.returncode == 2
    said = done.stderr
    owner = f"bandstrap {command.split()[0]}"
    assert said.startswith(f"error: The 'out' parameter of {owner} must be a folder that can be written to, or a path")
    assert said.endswith(f"{tmp_path / out}, where {out.split('/')[0]} is no folder, instead.\n")


def test_a_refusal_makes_no_folder(run, tmp_path):
    for wrong in (["--horizon", 4], ["--horizon", 10**13], ["--seed", -1], ["--environment", "nope"]):
        assert run("simulate", "--policy", "ucb1", *wrong, "--out", tmp_path / "new").returncode == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["simulate", "--policy", "ucb1", "--out"],
        ["simulate", "t.toml", "--out"],
        ["paper", "6", "--out"],
        ["league", "--out"],
        ["coverage", "--distribution", "normal", "--sample-size", "9", "--plot"],
    ],
    ids=lambda value: " ".join(value[:2]),
)
def test_a_full_disk_is_found_before_any_play(run, tmp_path, monkeypatch, arguments):
    resource = pytest.importorskip("resource")
    (tmp_path / "t.toml").write_text(TOML)
    monkeypatch.chdir(tmp_path)
    name = "picture.png" if arguments[0] == "coverage" else "out"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        done = run(*arguments, name)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: The '{arguments[-1][2:]}' parameter of bandstrap {arguments[0]} must be a ")
    assert done.stderr.endswith(f"Got {name}, where {tmp_path} cannot be written to (File too large), instead.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["t.toml"]


def test_a_disk_that_fills_up_is_one_sentence_with_the_name_of_the_file_and_no_half_file(run, tmp_path, monkeypatch):
    def fsync(descriptor):
        if stat.S_ISREG(os.fstat(descriptor).st_mode) and os.pread(descriptor, 4, 0) == b"PAR1":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    done = run("simulate", "--policy", "ucb1", "--horizon", 30, "--replications", 2, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {tmp_path / 'out' / 'panels'}")
    assert done.stderr.endswith(": No space left on device.\n")
    assert list((tmp_path / "out" / "panels").iterdir()) == []


def test_a_picture_that_cannot_be_is_refused_before_any_work(run, tmp_path, monkeypatch):
    monkeypatch.setattr("bandstrap.bounds.coverage", lambda *_, **__: pytest.fail("measured"))
    (tmp_path / "taken.png").mkdir()
    sample = ("coverage", "--distribution", "normal", "--sample-size", 9, "--plot")
    for name, said in (("a.doc", "must end in one of"), ("taken.png", "where taken.png is no file, instead.")):
        done = run(*sample, tmp_path / name)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr

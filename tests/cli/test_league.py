import polars
import pytest


def test_league_prints_standings_and_fills_a_folder(run, tmp_path):
    out = tmp_path / "new" / "league"
    players = ("--policy", "UCB1", "--policy", "uniform_random", "--policy", "UCB-tuned")
    places = ("--environment", "beta", "--environment", "t(3)")
    done = run(
        "league", *players, *places, "--horizon", 40, "--replications", 6, "--seed", 1, "--jobs", 2, "--out", out
    )
    assert done.returncode == 0, done.stderr
    names = ["blocks", "heatmap.png", "heatmap.svg", "league.html", "league.parquet", "overall.parquet"]
    names += ["panels", "plan.json", "runs", "seconds"]
    assert sorted(path.name for path in out.iterdir()) == names
    table = polars.read_parquet(out / "league.parquet")
    assert set(table["policy"]) == {"UCB1", "uniform_random", "UCB-tuned"}
    assert "UCB-tuned" in done.stdout
    assert "1 of 2" in done.stdout
    assert "us per decision" in done.stdout
    best = table.filter((polars.col("environment") == "t(3)") & (polars.col("rank") == 1)).row(0, named=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("t(3)"))
    assert best["policy"] in line
    assert f"{best['mean']:.4g}" in line
    assert str(out / "league.html") in done.stdout.replace("\n", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--environment", "nope"], "unknown environment 'nope' of the league; known are 'Gaussian'"),
        (["--policy", "nope"], "unknown policy 'nope'; known are"),
        (["--policy", "ucb1:sigma={wings}"], "asks for more than one kind of truth, or for none of {sigma}"),
        (["--replications", "1"], "'replications' parameter of bandstrap league must be an integer of at least 2"),
        (["--horizon", "0"], "'horizon' parameter of bandstrap league must be an integer of at least 1"),
        (["--jobs", "0"], "'jobs' parameter of bandstrap league"),
        (["--policy", "giro", "--environment", "t(3)"], "no policy can play: giro needs rewards in [0, 1]"),
    ],
)
def test_league_refuses_with_one_sentence_and_exit_code_2(run, tmp_path, arguments, message):
    done = run("league", *arguments, "--out", tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_the_command_plays_it(run, tmp_path):
    arguments = ("--contexts", "--environment", "wheel .95", "--policy", "greedy", "--policy", "ShareUCB")
    done = run("league", *arguments, "--horizon", 30, "--replications", 2, "--jobs", 1, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert set(polars.read_parquet(tmp_path / "out" / "league.parquet")["policy"]) == {"greedy", "ShareUCB"}
    assert "--contexts" in (tmp_path / "out" / "plan.json").read_text()

"""A policy in a user's own file, in an experiment and in the league."""

from pathlib import Path

from bandstrap.experiments import runner as module
from bandstrap.policies import POLICIES
from engine import test_broken_policies as broken

MINE = (Path(__file__).parents[2] / "docs" / "mine.py").read_text()


def test_an_experiment_plays_a_file_beside_it_and_again_only_once_it_was_edited(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "mine.py").write_text(MINE)
    (folder / "study.toml").write_text(
        """
        title = "mine"
        horizon = 40
        replications = 4
        [[panels]]
        name = "a"
        environment = "gaussian"
        curves = [{ label = "mine", policy = "mine.py:Mine:c=1" }, { label = "UCB", policy = "ucb1" }]
        """
    )

    played = []
    whole = module.run_blocks
    monkeypatch.setattr(module, "run_blocks", lambda blocks: (played.extend(blocks), whole(blocks))[1])

    def race() -> str:
        finished = run("simulate", "study/study.toml", "--out", "found", "--jobs", "1")
        assert finished.returncode == 0, finished.stderr
        return finished.stdout

    first = race()
    assert len(played) == 2
    assert race() == first
    assert len(played) == 2
    (folder / "mine.py").write_text(
        MINE.replace("math.sqrt(shared / state.pulls[arm])", "math.sqrt(shared) / state.pulls[arm]")
    )
    second = race()
    assert [old == new for old, new in zip(first.splitlines(), second.splitlines(), strict=True)] == [
        True,
        True,
        False,
        True,
    ]
    assert len(played) == 3  # the block of UCB was not played again


def test_an_own_policy_plays_in_the_league_beside_others(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    options = ("--environment", "Gaussian", "--policy", "UCB1", "--also", "mine.py:Mine:c={sigma}")
    finished = run("league", *options, "--horizon", 40, "--replications", 4, "--jobs", 1, "--out", "league")
    assert finished.returncode == 0, finished.stderr
    rows = [line.split() for line in finished.stdout.splitlines()]
    assert ["mine.py:Mine:c={sigma}", "sigma"] in [row[:2] for row in rows]


def test_a_policy_without_an_index_is_told_by_round_and_arm_simulated_and_live(run, tmp_path):
    file = tmp_path / "broken.py"
    file.write_text(broken.FILE)
    call, database = f"{file}:{broken.NAN}", tmp_path / "live.db"
    means = ",".join(map(str, broken.REWARDS))
    world = f"gaussian:means=({means}),scale=1e-300"
    before = dict(POLICIES)
    try:
        raced = run("simulate", "--policy", call, "--environment", world, "--horizon", 10, "--replications", 1)
        experiment, _ = broken.begun(tmp_path, call)
        experiment.close()
        decided = run("live", "decide", database, "broken", "--allow-code")
        shown = run("live", "status", database, "broken", "--allow-code")
    finally:
        POLICIES.clear()
        POLICIES.update(before)
    for done in (raced, decided):
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.splitlines()[-1] == f"error: {broken.sentence_of(broken.NAN)}"
    assert shown.returncode == 0
    assert f"no decision of the policy is possible now: {broken.sentence_of(broken.NAN)}" in shown.stdout

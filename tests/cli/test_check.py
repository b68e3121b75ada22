"""``bandstrap init`` and ``bandstrap check``: an example, and what an experiment will cost before it is run."""

import json
import tomllib
from types import SimpleNamespace as Namespace

import numpy as np
import pytest

from bandstrap import EpsilonGreedy
from bandstrap.engine.simulator.blocks import Block, Played
from bandstrap.environments import Beta
from bandstrap.experiments import cost as module
from bandstrap.experiments.lanes import digest
from bandstrap.experiments.plan import BoundBlock, plan_panel
from bandstrap.experiments.runner import measure_block
from bandstrap.experiments.spec import read_experiment

TEXT = """
title = "My grid"
horizon = 5000
replications = 60
[[panels]]
name = "a"
environment = "gaussian:n_arms={n}"
grid = { n = [2, 3] }
curves = [{ label = "UCB", policy = "ucb1" }, { label = "TS", policy = "gaussian_ts", replications = 10 }]
[[panels]]
name = "c"
plot = "bounds"
distribution = "normal"
sample_sizes = [2, 9]
curves = [{ label = "flip", bound = "sign_flip" }]
"""


@pytest.fixture
def run(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(TEXT)
    return run


def test_the_example_is_written_once_checked_and_says_what_it_makes(run, tmp_path):
    done = run("init")
    assert (done.returncode, done.stdout) == (0, "wrote grid.toml; next: bandstrap check grid.toml\n")
    experiment = read_experiment(tmp_path / "grid.toml")
    assert [panel.name for panel in experiment.panels] == [
        "noise-law=gaussian-n_arms=2",
        "noise-law=gaussian-n_arms=10",
        "noise-law=logistic-n_arms=2",
        "noise-law=logistic-n_arms=10",
        "gap",
        "bounds",
    ]
    labels = ["UCB, sigma = 0.5", "UCB, sigma = 1", "bootstrapped UCB"]
    assert [curve.label for curve in experiment.panels[0].curves] == labels
    assert run("check", "grid.toml", "--no-timing").returncode == 0
    before = (tmp_path / "grid.toml").read_bytes()
    again = run("init", "grid.toml")
    assert again.returncode == 2
    assert "must be a file that does not exist yet. Got grid.toml" in again.stderr
    assert (tmp_path / "grid.toml").read_bytes() == before
    assert run("init", "other/mine.toml").returncode == 0
    assert (tmp_path / "other/mine.toml").read_bytes() == before


def test_what_is_commented_out_in_the_example_can_be_commented_in(run, tmp_path):
    run("init")
    text = (tmp_path / "grid.toml").read_text()
    for key in ("delay = 20", "batch = 100", "lost = 0.1"):
        assert f"# {key}" in text
        text = text.replace(f"# {key}", key)
    tomllib.loads(text)
    (tmp_path / "grid.toml").write_text(text)
    read_experiment(tmp_path / "grid.toml")


def test_the_cost_is_counted_and_nothing_is_run(run, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "play_blocks", lambda _: pytest.fail("played"))
    done = run("check", "mine.toml", "--no-timing", "--format", "json")
    assert done.returncode == 0
    a, b, c = json.loads(done.stdout)
    assert a == {
        "panel": "a-n=2",
        "curves": 2,
        "replications": 70,
        "decisions": 70 * 5000,
        "blocks": 3 + 1,
        "bytes": 8 * 70 * (200 + 2),
        "bytes_of_choices": 0,
        "core_seconds": None,
    }
    assert (b["panel"], b["bytes"]) == ("a-n=3", 8 * 70 * (200 + 3))
    assert (c["replications"], c["decisions"], c["blocks"]) == (120, 60 * 11, 2)
    shown = run("check", "mine.toml", "--no-timing").stdout
    assert "in all 700,660 decisions, about 0.000229 GB on the disk\n" in shown
    assert "core" not in shown.splitlines()[-1]
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


def test_times_are_those_of_a_short_replication_times_how_many_and_how_long(run, tmp_path, monkeypatch):
    played = []

    def play(blocks):
        played.extend(blocks)
        return [Played(None, None, 0.5) for _ in blocks]

    monkeypatch.setattr(module, "warm", lambda _: None)
    monkeypatch.setattr(module, "play_blocks", play)
    monkeypatch.setattr(module, "open_tape", lambda *_: None)  # no time that two policies would share
    a, b, c = json.loads(run("check", "mine.toml", "--format", "json").stdout)
    assert [a["core_seconds"], b["core_seconds"]] == pytest.approx([70 * 0.5 * 5000 / 2000] * 2, rel=1e-3)
    assert c["core_seconds"] > 0
    assert {(block.horizon, block.first, block.last) for block in played} == {(2000, 0, 1)}
    assert run("check", "mine.toml").stdout.splitlines()[-1].startswith("3 min of one core, ")


def test_the_time_foretold_is_about_that_of_playing(tmp_path):
    (tmp_path / "mine.toml").write_text(TEXT)
    experiment = read_experiment(tmp_path / "mine.toml")
    block = plan_panel(experiment.panels[0], experiment, 0).curves[0].blocks[0]
    expected = module.time_play(block)
    spent = sum(module.play_blocks([piece])[0].seconds for piece in block.cut())
    assert 0.2 < expected / spent < 5  # processors' time, which others on the machine disturb a little


def test_the_time_foretold_of_a_bound_is_about_that_of_measuring():
    """Though the first samples are bounded in plain Python, and the command is in the main thread."""
    block = BoundBlock("betting", "uniform", 20, 0.05, 4000, 0)
    expected = module.time_bound(block)
    spent = measure_block(block).seconds
    assert 0.2 < expected / spent < 5  # processors' time, which others on the machine disturb a little


def test_what_a_call_takes_is_not_foretold_of_every_sample(monkeypatch):
    def takes(block):
        return Namespace(seconds=0.2 + 0.001 * block.replications)

    monkeypatch.setattr(module, "measure_block", takes)
    block = BoundBlock("bca", "normal", 2000, 0.05, 200, 0)
    assert module.time_bound(block) == pytest.approx(takes(block).seconds)


def test_a_machine_of_one_core_is_told_so(run, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    monkeypatch.setattr(module, "seconds_of", lambda blocks, **_: {digest(block.about): 5.0 for block in blocks})
    *_, memory, time = run("check", "mine.toml").stdout.splitlines()
    assert memory.endswith(" of memory beside Python's own, with 1 worker")
    assert time == "30 s of one core"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"ucb1"', '"nope"', "mine.toml: panels[0] (n = 2).curves[0].policy: unknown policy 'nope'"),
        ("[2, 3]", "[2, 0]", "mine.toml: panels[0] (n = 0).environment: The 'n_arms' parameter of Gaussian"),
        ("title", "titel", "mine.toml: "),
        ("{n}", "{m}", "mine.toml: 'panels[0]': {n}, a name of the panel's grid, must stand in its environment"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(run, tmp_path, old, new, message):
    (tmp_path / "mine.toml").write_text(TEXT.replace(old, new))
    done = run("check", "mine.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert run("check", "nowhere.toml").stderr == "error: nowhere.toml cannot be read: No such file or directory.\n"


def test_rewards_that_policies_share_are_paid_for_once():
    """Drawing a hundred rewards per round costs far more than a simple choice among them."""
    environment, marks = Beta(n_arms=100), np.array([2000])

    def block(epsilon):
        return Block(EpsilonGreedy(epsilon=epsilon), environment, 2000, 0, 0, 1, marks)

    alone = sum(module.seconds_of([block(0.1)], progress=False).values())
    together = module.seconds_of([block(0.1 + 0.01 * i) for i in range(8)], progress=False)
    assert len(together) == 8
    assert sum(together.values()) < 4 * alone  # eight times, were it paid for by each


def test_choices_of_long_games_are_cut_small_or_refused(run, tmp_path, monkeypatch):
    text = (
        'title = "t"\nhorizon = {horizon}\nreplications = 30\nchoices = true\n[[panels]]\nname = "a"\n'
        'environment = "gaussian:n_arms=1000"\n'
        'curves = [{{ label = "x", policy = "ucb1:sigma={{s}}", grid = {{ s = {sigmas} }} }}]\n'
    )
    (tmp_path / "mine.toml").write_text(text.format(horizon=10**6, sigmas=[*range(1, 9)]))
    experiment = read_experiment(tmp_path / "mine.toml")
    block, *_ = plan_panel(experiment.panels[0], experiment, 0)
    assert (block.size, block.size * 10**6 * 2) == (8, 16_000_000)  # of two bytes per choice
    plain, *_ = plan_panel(experiment.panels[0], experiment, 0, choices=False)
    assert (plain.size, plain.about) == (25, block.about)
    plans = [plan_panel(experiment.panels[0], experiment, 0)]
    assert 0.5e9 < module.memory_of_driver(plans, 1) < 1.2e9
    monkeypatch.setattr("bandstrap.engine.work.memory.usable_memory", lambda: 0.4e9)
    for command in (("check", "mine.toml", "--no-timing"), ("simulate", "mine.toml", "--out", "out")):
        done = run(*command)
        assert (done.returncode, done.stdout) == (2, "")
        assert "'horizon' parameter of panels that keep every choice, with " in done.stderr
        assert "must be small enough for the 0.4 GB of memory available. Got 1000000, which takes" in done.stderr
    assert not (tmp_path / "out").exists()

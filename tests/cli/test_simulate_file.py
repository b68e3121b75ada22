"""``bandstrap simulate FILE.toml``: panels from a file, kept and resumed in a folder."""

import csv
import random

import pytest

from bandstrap import UCB1, simulate
from bandstrap.bounds import coverage
from bandstrap.environments import Empirical, Gaussian
from bandstrap.experiments import results
from bandstrap.experiments import runner as module
from bandstrap.experiments.folder import Folder
from bandstrap.experiments.folder_status import status_of
from sampling import each

TEXT = """
title = "My experiment"
horizon = 40
replications = 6
[[panels]]
name = "a"
environment = "gaussian:means=(1,0)"
curves = [{ label = "UCB", policy = "ucb1", published = 5 }, { label = "TS", policy = "gaussian_ts" }]
[[panels]]
name = "b"
plot = "sweep"
environment = "gaussian:means=({gap},0)"
sweep = { name = "gap", values = [0, 2] }
curves = [{ label = "UCB", policy = "ucb1", published = [[0, 0.5]] }]
[[panels]]
name = "c"
plot = "bounds"
distribution = "normal"
sample_sizes = [2, 9]
curves = [{ label = "flip", bound = "sign_flip" }]
"""
SHOWN = ["panel", "curve", "measure", "at", "mean", "s.e.", "median", "q90", "q95", "q99", "published"]


@pytest.fixture
def run(run, tmp_path, monkeypatch):
    """``bandstrap simulate`` beside ``mine.toml``: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(TEXT)

    def go(*arguments):
        done = run("simulate", *arguments)
        return done.returncode, done.stdout, done.stderr

    return go


def rows(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def test_without_a_folder_a_table_is_printed_and_nothing_is_left(run, tmp_path):
    code, out, err = run("mine.toml", "--seed", 3, "--jobs", 1)
    assert (code, err) == (0, "")
    assert out.splitlines()[0].strip() == "My experiment: 6 replications, seed 3"
    assert out.splitlines()[1].split() == SHOWN
    assert len(out.splitlines()) == 2 + 2 + 2 + 2
    expected = simulate(UCB1(), Gaussian([1, 0]), horizon=40, replications=6, seed=3, progress=False)
    assert f"{expected.summary()[0]['mean']:.4g}" in out
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


def test_with_a_folder_numbers_and_pictures_are_kept(run, tmp_path):
    code, out, err = run("mine.toml", "--seed", 3, "--out", "new/out", "--jobs", 2)
    assert (code, err) == (0, "wrote summary.csv, panels.png and panels.svg to new/out\n")
    folder = tmp_path / "new/out"
    names = ["blocks", "panels", "panels.png", "panels.svg", "plan.json", "runs", "seconds", "summary.csv"]
    assert sorted(path.name for path in folder.iterdir()) == names
    assert len(list((folder / "panels").iterdir())) == 3
    assert [*(folder / "blocks").iterdir(), *(folder / "runs").iterdir()] == []
    table = rows(folder / "summary.csv")
    assert list(table[0]) == list(results(folder).columns)
    assert [(row["panel"], row["curve"], float(row["at"])) for row in table] == [
        ("a", "UCB", 40),
        ("a", "TS", 40),
        ("b", "UCB", 0),
        ("b", "UCB", 2),
        ("c", "flip", 2),
        ("c", "flip", 9),
    ]
    assert [row["published"] for row in table] == ["5.0", "", "0.5", "", "", ""]
    expected = simulate(UCB1(), Gaussian([1, 0]), horizon=40, replications=6, seed=3, progress=False)
    assert float(table[0]["mean"]) == expected.summary()[0]["mean"]
    assert float(table[0]["standard_error"]) == expected.summary()[0]["standard_error"]
    (flip,) = coverage("normal", 9, bounds=["sign_flip"], replications=6, seed=3)
    assert (float(table[-1]["mean"]), float(table[-1]["standard_error"])) == (flip.mean_width, flip.width_error)
    assert table[-2]["mean"] == "inf"
    assert out == run("mine.toml", "--seed", 3)[1]


def test_a_second_run_computes_nothing_and_a_change_only_what_is_new(run, tmp_path, monkeypatch):
    done = []
    whole = module.run_blocks
    monkeypatch.setattr(module, "run_blocks", lambda blocks: (done.extend(blocks), whole(blocks))[1])
    first = run("mine.toml", "--out", "out", "--jobs", 1)
    assert len(done) == 6
    files = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*.*")}
    assert run("mine.toml", "--out", "out") == first
    assert len(done) == 6
    assert {path: path.read_bytes() for path in (tmp_path / "out").rglob("*.*")} == files
    (tmp_path / "mine.toml").write_text(TEXT.replace("gaussian_ts", "gaussian_ts:sigma=2"))
    assert run("mine.toml", "--out", "out")[0] == 0
    assert [block.policy.label for block in done[6:]] == ["gaussian_ts:sigma=2"]


def test_ctrl_c_is_one_word_and_keeps_what_is_done(run, tmp_path, monkeypatch):
    done = []
    whole = module.run_blocks

    def stop(blocks):
        if len(done) >= 3:
            raise KeyboardInterrupt
        done.extend(blocks)
        return whole(blocks)

    with monkeypatch.context() as patch:
        patch.setattr(module, "run_blocks", stop)
        assert run("mine.toml", "--out", "out", "--jobs", 1) == (130, "", "stopped\n")
    # In blocks, and in panels that were complete.
    assert sum(panel.done for panel in status_of(Folder(tmp_path / "out")).panels) >= 3
    assert run("mine.toml", "--out", "out")[:2] == run("mine.toml")[:2]


def test_damaged_panels_are_run_again_whatever_bit_was_flipped(run, tmp_path, monkeypatch):
    monkeypatch.setattr("bandstrap.plots.style.save_figure", lambda *_: None)  # which takes longest
    first = run("mine.toml", "--out", "out")
    table = (tmp_path / "out/summary.csv").read_bytes()
    files = sorted((tmp_path / "out/panels").iterdir())
    assert len(files) == 3
    before = [path.read_bytes() for path in files]
    rng = random.Random(0)  # noqa: S311 - no secret
    for _ in range(4):
        for path in files:
            data = bytearray(path.read_bytes())
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            path.write_bytes(data)
        (tmp_path / "out/summary.csv").unlink()
        code, out, err = run("mine.toml", "--out", "out")
        assert (code, out) == first[:2]
        assert err.splitlines()[:-1] == [
            f"out/panels/{path.name} is damaged; its part of this plan is run again" for path in files
        ]
        assert (tmp_path / "out/summary.csv").read_bytes() == table
        assert [path.read_bytes() for path in files] == before


def test_more_panels_than_anybody_could_tell_apart_are_not_drawn(run, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr("bandstrap.plots.style.save_figure", lambda _, path: (drawn.append(path.name), path.touch()))
    run("mine.toml", "--out", "out")
    assert drawn == ["panels.png", "panels.svg"]
    for limit in ("MOST_PANELS", "MOST_LABELS"):
        with monkeypatch.context() as patch:
            patch.setattr(f"bandstrap.cli.simulate.{limit}", 2)
            code, _, err = run("mine.toml", "--out", "out")
        assert code == 0
        assert err.startswith("wrote summary.csv to out; a picture shows at most ")
        assert len(drawn) == 2
        assert not list((tmp_path / "out").glob("panels.*"))  # nor is there an old one


def test_one_replication_is_shown_without_a_standard_error(run, tmp_path):
    (tmp_path / "mine.toml").write_text(TEXT.replace("replications = 6", "replications = 1"))
    assert run("mine.toml", "--out", "out")[0] == 0
    assert {row["standard_error"] for row in rows(tmp_path / "out/summary.csv")} == {""}


@each(
    "option",
    [
        ["--policy", "ucb1"],
        ["--environment", "gaussian"],
        ["--environment", ""],
        ["--horizon", "9"],
        ["--replications", "9"],
        ["--delay", "0"],
        ["--batch", "1"],
        ["--lost", "0"],
    ],
    ids=" ".join,
)
def test_what_the_file_says_cannot_be_given_again(run, option):
    taken = "policies, environment, horizon, replications, delay, batch and lost"
    assert run("mine.toml", *option) == (2, "", f"error: bandstrap simulate FILE takes {taken} from the file.\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.toml"], "missing.toml cannot be read: No such file or directory."),
        (["."], ". cannot be read: Is a directory."),
        (["mine.toml", "--jobs", "0"], "'jobs' parameter of bandstrap simulate"),
        (["mine.toml", "--seed", "-1"], "'seed' parameter of bandstrap simulate"),
        (["mine.toml", "--out", "mine.toml"], "Got mine.toml, where mine.toml is no folder, instead."),
        (["wrong.toml"], "wrong.toml: panels[0].curves[0].policy: unknown policy 'nope'; known are "),
        (
            ["linear.toml"],
            "linear.toml: panels[0].curves[0].policy: The 'environment' parameter of simulate must be one",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_get_one_sentence_and_exit_code_2(run, tmp_path, arguments, message):
    (tmp_path / "wrong.toml").write_text(TEXT.replace('"ucb1"', '"nope"', 1))
    (tmp_path / "linear.toml").write_text(TEXT.replace('"ucb1"', '"oful"', 1))
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["linear.toml", "mine.toml", "wrong.toml"]


def test_data_of_ones_own_are_played_and_played_again_when_they_change(run, tmp_path, monkeypatch):
    done = []
    whole = module.run_blocks
    monkeypatch.setattr(module, "run_blocks", lambda blocks: (done.extend(blocks), whole(blocks))[1])
    data = tmp_path / "my clicks.csv"
    data.write_text("variant,revenue\nold,0\nnew,2.5\nold,1\nnew,-3\n")
    call = "empirical:my clicks.csv,arm=variant,reward=revenue"
    (tmp_path / "mine.toml").write_text(
        f'title = "t"\nhorizon = 30\nreplications = 3\n[[panels]]\nname = "a"\nenvironment = "{call}"\n'
        'curves = [{ label = "UCB", policy = "ucb1" }]\n'
    )
    assert run("mine.toml", "--out", "out", "--jobs", 1)[0] == 0
    first = Empirical({"old": [0, 1], "new": [2.5, -3]})
    expected = simulate(UCB1(), first, horizon=30, replications=3, seed=0, progress=False)
    assert float(rows(tmp_path / "out/summary.csv")[0]["mean"]) == expected.summary()[0]["mean"]
    run("mine.toml", "--out", "out", "--jobs", 1)
    assert len(done) == 1
    data.write_text(data.read_text().replace("2.5", "8"))
    assert run("mine.toml", "--out", "out", "--jobs", 1)[0] == 0
    assert len(done) == 2
    second = Empirical({"old": [0, 1], "new": [8, -3]})
    expected = simulate(UCB1(), second, horizon=30, replications=3, seed=0, progress=False)
    assert float(rows(tmp_path / "out/summary.csv")[0]["mean"]) == expected.summary()[0]["mean"]

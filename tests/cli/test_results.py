"""``bandstrap status`` and ``bandstrap results``: how far a folder is, and what is in it."""

import csv
import io
import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import polars
import pytest

from bandstrap import UCB1, simulate
from bandstrap.environments import Gaussian
from bandstrap.errors import SlowWarning
from bandstrap.experiments import runner as module
from bandstrap.experiments.folder import Folder
from bandstrap.experiments.lanes import file_of
from bandstrap.experiments.merged import Merged
from bandstrap.experiments.runs import Run
from bandstrap.names import NAMED_ENVIRONMENTS, NAMED_POLICIES, make
from sampling import exhaustive, telling

TEXT = """
title = "My grid"
horizon = 40
replications = 60
[[panels]]
name = "a"
environment = "{law}:means=(1,0)"
grid = { law = ["gaussian", "logistic"] }
[[panels.curves]]
label = "UCB"
policy = "ucb1:sigma={sigma}"
grid = { sigma = [1, 0.5] }
[[panels.curves]]
label = "TS"
policy = "gaussian_ts"
published = 5
[[panels]]
name = "b"
plot = "sweep"
environment = "gaussian:means=({gap},0)"
sweep = { name = "gap", values = [0.5, 2] }
curves = [{ label = "UCB", policy = "ucb1", published = [[2, 7]] }]
[[panels]]
name = "c"
plot = "bounds"
distribution = "normal"
sample_sizes = [2, 9]
curves = [{ label = "flip", bound = "sign_flip" }]
""".replace("published = 5\n", "")
N_BLOCKS = 2 * 3 * 3 + 2 * 3 + 2


@pytest.fixture
def played(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bandstrap.cli.simulate.draw", lambda *_: None)  # which takes longest
    (tmp_path / "mine.toml").write_text(TEXT)
    assert run("simulate", "mine.toml", "--out", "out", "--seed", 3, "--jobs", 1).returncode == 0
    return tmp_path / "out"


def interrupted(run, monkeypatch, after):
    """Play in a folder, and stop after so many blocks."""
    done = []
    whole = module.run_blocks

    def stop(blocks):
        if len(done) >= after:
            raise KeyboardInterrupt
        done.extend(blocks)
        return whole(blocks)

    with monkeypatch.context() as patch:
        patch.setattr(module, "run_blocks", stop)
        assert run("simulate", "mine.toml", "--out", "out", "--seed", 3, "--jobs", 1).returncode == 130


def records(run, *arguments):
    done = run(*arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_results_are_one_tidy_table_with_a_column_for_what_is_varied(run, played):
    rows = records(run, "results", "out")
    assert len(rows) == 2 * 3 + 2 + 2
    assert list(rows[0]) == [
        "panel", "curve", "law", "sigma", "policy", "environment", "feedback", "horizon", "alpha", "seed",
        "measure", "axis", "at", "round", "replications", "mean", "standard_error", "median", "q90", "q95", "q99",
        "published",
    ]  # fmt: skip
    heads = [(row["panel"], row["curve"], row["law"], row["sigma"], row["axis"], row["at"]) for row in rows]
    assert heads[1] == ("a-law=gaussian", "UCB, sigma = 0.5", "gaussian", 0.5, "round", 40)
    assert heads[5] == ("a-law=logistic", "TS", "logistic", None, "round", 40)
    assert heads[7] == ("b", "UCB", None, None, "gap", 2)
    assert heads[9] == ("c", "flip", None, None, "sample size", 9)
    assert [row["published"] for row in rows[6:8]] == [None, 7]
    expected = simulate(UCB1(sigma=0.5), Gaussian([1, 0]), horizon=40, replications=60, seed=3, progress=False)
    assert rows[1]["mean"] == pytest.approx(expected.summary()[0]["mean"], rel=1e-12)
    assert rows[1]["standard_error"] == pytest.approx(expected.summary()[0]["standard_error"], rel=1e-12)
    assert rows[1]["median"] == pytest.approx(np.median(expected.final("ucb1:sigma=0.5")), rel=1e-12)
    assert rows[1]["replications"] == 60
    with (played / "summary.csv").open() as file:
        summary = list(csv.DictReader(file))
    finite = [row for row in rows if row["mean"] is not None]
    assert [row["mean"] for row in finite] == [float(row["mean"]) for row in summary if row["mean"] != "inf"]


def test_every_row_is_what_simulate_finds_for_what_it_says_was_played(run, played):
    rows = [row for row in records(run, "results", "out", "--curves") if row["measure"] == "regret"]
    games = {(row["policy"], row["environment"], row["horizon"], row["seed"], row["replications"]) for row in rows}
    assert len(games) == 2 * 3 + 2
    for policy, world, horizon, seed, n in games:
        sizes = {"horizon": horizon, "replications": n, "seed": seed, "progress": False}
        found = simulate(make(policy, NAMED_POLICIES, ""), make(world, NAMED_ENVIRONMENTS, ""), **sizes)
        mine = [row for row in rows if (row["policy"], row["environment"]) == (policy, world)]
        places = [row["at"] if row["axis"] == "round" else row["horizon"] for row in mine]
        regret = found.regret[0][:, np.searchsorted(found.checkpoints, places)]
        expected = {
            "mean": np.mean(regret, axis=0),
            "standard_error": np.std(regret, axis=0, ddof=1) / np.sqrt(n),
            "median": np.median(regret, axis=0),
            **{f"q{p}": np.sort(regret, axis=0)[-(-p * len(regret) // 100) - 1] for p in (90, 95, 99)},
        }
        for name, numbers in expected.items():
            assert [row[name] for row in mine] == pytest.approx(numbers.tolist(), rel=1e-12, abs=1e-12)


def test_choices_are_kept_on_request_and_read_back(run, played, tmp_path, monkeypatch):
    done = []
    whole = module.run_blocks
    monkeypatch.setattr(module, "run_blocks", lambda blocks: (done.extend(blocks), whole(blocks))[1])
    before = run("results", "out", "--curves", "--format", "csv").stdout
    files = {path.name: path.read_bytes() for path in (played / "panels").iterdir()}
    refused = run("results", "out", "--choices", "--out", "c.parquet")
    assert (refused.returncode, refused.stderr) == (2, "error: out was played without choices = true.\n")
    (tmp_path / "mine.toml").write_text(TEXT.replace('name = "a"', 'name = "a"\nchoices = true'))
    assert run("simulate", "mine.toml", "--out", "out", "--seed", 3, "--jobs", 1).returncode == 0
    assert len(done) == 2 * 3 * 3  # those of the panels a alone
    assert run("results", "out", "--curves", "--format", "csv").stdout == before
    assert {path.name: path.read_bytes() for path in (played / "panels").iterdir()} == files
    assert list((played / "blocks").iterdir()) == []
    assert len(list((played / "choices").iterdir())) == 2 * 3
    assert run("results", "out", "--choices", "--out", "c.parquet").returncode == 0
    frame = polars.read_parquet("c.parquet")
    assert frame.schema["choices"] == polars.List(polars.UInt8)
    assert frame.height == 6 * 60
    for policy, world in frame.select("policy", "environment").unique().iter_rows():
        found = simulate(
            make(policy, NAMED_POLICIES, ""), make(world, NAMED_ENVIRONMENTS, ""),
            horizon=40, replications=60, seed=3, progress=False, choices=True,
        )  # fmt: skip
        mine = frame.filter(policy=policy, environment=world)
        assert mine["replication"].to_list() == list(range(60))
        assert mine["choices"].to_list() == found.choices[0].tolist()
    lines = list(csv.DictReader(io.StringIO(run("results", "out", "--choices", "--format", "csv").stdout)))
    assert len(lines) == 6 * 60 * 40
    assert [int(line["arm"]) for line in lines] == frame["choices"].explode().to_list()
    assert [int(line["round"]) for line in lines[:41]] == [*range(1, 41), 1]
    done.clear()
    assert run("simulate", "mine.toml", "--out", "out", "--seed", 3, "--jobs", 1).returncode == 0
    assert run("simulate", "mine.toml", "--out", "out", "--seed", 3, "--jobs", 1, "--choices").returncode == 0
    assert len(done) == 2 * 3  # of the panel b
    (tmp_path / "mine.toml").write_text(TEXT)
    assert run("simulate", "mine.toml", "--out", "out", "--seed", 3, "--jobs", 1).returncode == 0
    assert len(done) == 2 * 3


def test_choices_that_are_missing_or_damaged_are_played_again(run, played, tmp_path, monkeypatch):
    done = []
    whole = module.run_blocks
    monkeypatch.setattr(module, "run_blocks", lambda blocks: (done.extend(blocks), whole(blocks))[1])
    command = ("simulate", "mine.toml", "--out", "out", "--seed", 3, "--jobs", 1, "--choices")
    assert run(*command).returncode == 0
    done.clear()
    one, two, *_ = sorted((played / "choices").iterdir())
    before = one.read_bytes(), two.read_bytes()
    one.unlink()
    two.write_bytes(before[1][:-1])
    assert sum(row["missing"] for row in records(run, "status", "out")) == 3
    said = run("results", "out", "--choices", "--out", "c.csv").stderr
    assert f"out/choices/{two.name} is damaged; bandstrap simulate mine.toml --seed 3 --choices --out out plays" in said
    assert "2 of 8 curves are not complete and left out" in said
    assert run(*command).returncode == 0
    assert len(done) == 6
    assert (one.read_bytes(), two.read_bytes()) == before


def test_of_equal_curves_one_that_keeps_choices_is_played(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bandstrap.cli.simulate.draw", lambda *_: None)
    panel = '[[panels]]\nname = "{}"\nenvironment = "gaussian"\ncurves = [{{ label = "x", policy = "ucb1" }}]\n'
    text = 'title = "t"\nhorizon = 20\nreplications = 2\n' + panel.format("a") + panel.format("b") + "choices = true\n"
    (tmp_path / "mine.toml").write_text(text)
    assert run("simulate", "mine.toml", "--out", "out").returncode == 0
    assert run("status", "out").stdout.splitlines()[-1] == "complete"


def test_every_form_of_the_table_has_the_same_numbers(run, played, tmp_path):
    shown = run("results", "out")
    assert shown.returncode == 0
    assert "a-law=gaussian" in shown.stdout
    rows = list(csv.DictReader(io.StringIO(run("results", "out", "--format", "csv").stdout)))
    assert run("results", "out", "--out", tmp_path / "t.csv").stdout == ""
    assert (tmp_path / "t.csv").read_text() == run("results", "out", "--format", "csv").stdout
    assert run("results", "out", "--out", tmp_path / "t.parquet").returncode == 0
    frame = polars.read_parquet(tmp_path / "t.parquet")
    assert frame.columns == list(rows[0])
    assert frame.schema["sigma"] == polars.Float64
    assert frame.schema["law"] == polars.String
    assert [str(mean) for mean in frame["mean"]] == [row["mean"] for row in rows]


def test_nothing_is_written_by_who_reads(run, played, monkeypatch):
    monkeypatch.setattr("bandstrap.basics.storage.part_file", lambda *_: pytest.fail("wrote something"))
    before = {path: path.stat().st_mtime_ns for path in [played, *played.rglob("*")]}
    for arguments in (("status", "out"), ("results", "out", "--curves", "--format", "csv")):
        assert run(*arguments).returncode == 0
    assert {path: path.stat().st_mtime_ns for path in [played, *played.rglob("*")]} == before


def test_curves_have_every_recorded_round(run, played):
    rows = records(run, "results", "out", "--curves")
    assert len(rows) == 2 * 3 * 40 + 2 + 2
    assert [row["at"] for row in rows[:40]] == list(range(1, 41))
    assert rows[39] == records(run, "results", "out")[0]


def test_results_are_read_without_the_file_and_in_another_place(run, played, tmp_path):
    before = run("results", "out").stdout
    (tmp_path / "mine.toml").unlink()
    shutil.move(played, tmp_path / "moved")
    assert run("results", "moved").stdout == before
    assert run("status", "moved").stdout.splitlines()[-1] == "complete"


def test_results_are_the_same_however_they_came_about(run, played, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "run_blocks", lambda blocks, whole=module.run_blocks: whole(blocks))
    first = run("results", "out", "--curves", "--format", "csv").stdout
    shutil.rmtree(played)
    for after in (1, 5, 9):
        interrupted(run, monkeypatch, after)
    assert run("simulate", "mine.toml", "--out", "out", "--seed", 3, "--jobs", 2).returncode == 0
    assert run("results", "out", "--curves", "--format", "csv").stdout == first


@exhaustive
def test_processes_find_the_same_as_threads(run, played, tmp_path):
    first = run("results", "out", "--curves", "--format", "csv").stdout
    files = sorted(path.read_bytes() for path in (played / "panels").iterdir())
    done = run("simulate", "mine.toml", "--out", "other", "--seed", 3, "--jobs", 1, "--executor", "process")
    assert done.returncode == 0, done.stderr
    assert run("results", "other", "--curves", "--format", "csv").stdout == first
    assert sorted(path.read_bytes() for path in (tmp_path / "other/panels").iterdir()) == files


@telling("size", [1, 7, 64], [7])
def test_any_size_of_blocks_gives_the_same_panels(run, played, tmp_path, size):
    first = run("results", "out", "--curves", "--format", "csv").stdout
    (tmp_path / "mine.toml").write_text(f"block_size = {size}\n{TEXT}")
    assert run("simulate", "mine.toml", "--out", "other", "--seed", 3, "--jobs", 2).returncode == 0
    assert run("results", "other", "--curves", "--format", "csv").stdout == first
    files = [
        sorted((path.name, path.read_bytes()) for path in Path(out, "panels").iterdir()) for out in ("out", "other")
    ]
    assert files[0] == files[1]
    blocks = sum(row["done"] for row in records(run, "status", "other"))
    assert blocks == 8 * -(-60 // size) + 2


@exhaustive
def test_a_worker_that_dies_gets_a_sentence_and_what_was_done_is_kept(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deadly.py").write_text(
        "import os\n\nclass Deadly:\n    def __init__(self, n_arms, rng=None):\n        self.n = 0\n"
        "    def select(self):\n        self.n += 1\n"
        "        if self.n > 20:\n            os._exit(1)\n        return 0\n"
        "    def update(self, arm, reward):\n        pass\n"
    )
    (tmp_path / "mine.toml").write_text(
        'title = "t"\nhorizon = 40\nreplications = 2\n'
        '[[panels]]\nname = "a"\nenvironment = "gaussian:means=(1,0)"\nhorizon = 15\n'
        'curves = [{ label = "lives", policy = "deadly.py:Deadly" }]\n'
        '[[panels]]\nname = "b"\nenvironment = "gaussian:means=(1,0)"\n'
        'curves = [{ label = "dies", policy = "deadly.py:Deadly" }]\n'
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowWarning)
        done = run("simulate", "mine.toml", "--out", "out", "--jobs", 1, "--executor", "process")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("error: 1 task was given up: 1 of")
    assert "Traceback" not in done.stderr
    rows = records(run, "status", "out")
    assert [row["done"] for row in rows] == [1, 0]
    assert [row["failed"] for row in rows] == [0, 1]


def test_status_of_a_folder_half_done(run, played, monkeypatch):
    shutil.rmtree(played)
    interrupted(run, monkeypatch, 4)
    rows = records(run, "status", "out")
    assert [row["panel"] for row in rows] == ["a-law=gaussian", "a-law=logistic", "b", "c"]
    assert [row["blocks"] for row in rows] == [9, 9, 6, 2]
    kept = len(list((played / "blocks").iterdir()))
    assert 4 <= kept < 9  # less than the first panel, which would be merged
    assert sum(row["done"] for row in rows) == kept
    assert sum(row["missing"] for row in rows) == N_BLOCKS - kept
    assert [row["running"] + row["failed"] for row in rows] == [0] * 4
    shown = run("status", "out").stdout
    assert "no run is in progress; bandstrap simulate mine.toml --seed 3 --out out resumes" in shown
    table = run("results", "out")
    assert (table.returncode, table.stdout) == (2, "")
    assert "8 of 8 curves are not complete and left out" in table.stderr
    assert table.stderr.endswith("error: out has no complete curve yet.\n")


def test_blocks_of_another_seed_are_counted_apart(run, played, monkeypatch):
    shutil.rmtree(played)
    interrupted(run, monkeypatch, 4)
    kept = len(list((played / "blocks").iterdir()))
    assert run("simulate", "mine.toml", "--out", "out", "--seed", 4, "--jobs", 1).returncode == 0
    done = run("status", "out")
    assert done.stdout.splitlines()[-1] == "complete"
    assert done.stderr.startswith(f"{kept} more in out/blocks belong to another file or seed")


def test_values_of_any_kind_have_a_column(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bandstrap.cli.simulate.draw", lambda *_: None)
    (tmp_path / "mine.toml").write_text(
        'title = "t"\nhorizon = 20\nreplications = 2\n'
        '[[panels]]\nname = "a"\nenvironment = "gaussian:means={at}"\ngrid = { at = [[0, 1], [0, 0.5, 1]] }\n'
        '[[panels.curves]]\nlabel = "x"\npolicy = "ucb1:sigma={sigma}"\ngrid = { sigma = [1, 1e300] }\n'
        '[[panels]]\nname = "b"\nenvironment = "{kind}"\ngrid = { kind = ["gaussian", "logistic"] }\n'
        '[[panels.curves]]\nlabel = "y"\npolicy = "ucb1:sigma={n}"\ngrid = { n = [2, 100000000000000000000000] }\n'
        '[[panels.curves]]\nlabel = "z"\npolicy = "{p}"\ngrid = { p = ["ucb1"] }\n'
    )
    done = run("simulate", "mine.toml", "--out", "out", "--jobs", 1)
    assert done.returncode == 0, done.stderr
    assert run("results", "out", "--out", "t.parquet").returncode == 0
    frame = polars.read_parquet("t.parquet")
    assert frame.columns[:7] == ["panel", "curve", "grid.at", "sigma", "kind", "n", "p"]
    assert frame["grid.at"].to_list() == ["(0,1)"] * 2 + ["(0,0.5,1)"] * 2 + [None] * 6
    assert frame["sigma"].to_list() == [1.0, 1e300] * 2 + [None] * 6
    assert frame["n"].to_list() == [None] * 4 + ["2", "1" + "0" * 23, None] * 2
    assert json.loads(run("results", "out", "--format", "json").stdout)[0]["grid.at"] == "(0,1)"


def test_status_tells_what_is_running_and_how_long_it_takes(run, played):
    shutil.rmtree(played / "panels")
    folder = Folder(played)
    keys = [about for panel in folder.read().panels for curve in panel.curves for point in curve.points
            for about in point.pieces()]  # fmt: skip
    with Run(folder.runs, 2) as going:
        going.begins(file_of(keys[0]))
        going.begins(file_of(keys[-1]))
        going.ends("something else", 10**9)
        going.say()
        rows = records(run, "status", "out")
        shown = run("status", "out").stdout
    assert [row["running"] for row in rows] == [1, 0, 0, 1]
    assert [row["missing"] for row in rows] == [8, 9, 6, 1]
    assert ", with 2 workers\n" in shown
    assert shown.splitlines()[-1] == "less than 1 s left, by the speed so far"


@pytest.mark.filterwarnings("ignore::bandstrap.errors.SlowWarning")
def test_status_tells_what_failed_and_why(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bandstrap.cli.simulate.draw", lambda *_: None)
    (tmp_path / "bad.py").write_text(
        "class Bad:\n    def __init__(self, n_arms, rng=None):\n        self.n = 0\n"
        "    def select(self):\n        self.n += 1\n"
        "        if self.n > 20:\n            raise ValueError('no idea what to do')\n        return 0\n"
        "    def update(self, arm, reward):\n        pass\n"
    )
    (tmp_path / "mine.toml").write_text(
        'title = "t"\nhorizon = 40\nreplications = 2\n[[panels]]\nname = "a"\nenvironment = "gaussian:means=(1,0)"\n'
        'curves = [{ label = "bad", policy = "bad.py:Bad" }]\n'
    )
    assert run("simulate", "mine.toml", "--out", "out", "--jobs", 1).returncode == 1
    (row,) = records(run, "status", "out")
    assert (row["done"], row["failed"], row["missing"]) == (0, 1, 0)
    assert "no idea what to do" in run("status", "out").stderr


def test_a_changed_plan_is_said_and_keeps_what_is_the_same(run, played, tmp_path, monkeypatch):
    done = []
    whole = module.run_blocks
    monkeypatch.setattr(module, "run_blocks", lambda blocks: (done.extend(blocks), whole(blocks))[1])
    (tmp_path / "mine.toml").write_text(TEXT.replace("sigma = [1, 0.5]", "sigma = [1, 0.5, 2]"))
    changed = run("simulate", "mine.toml", "--out", "out", "--seed", 3, "--jobs", 1)
    said = "out: the file, the seed or the code has changed since the folder was last used: 2 of 4 panels differ or are new"
    assert changed.stderr.startswith(f"{said}; unchanged parts are not run again\n")
    assert {block.policy.label for block in done} == {"ucb1:sigma=2"}
    assert len(done) == 2 * 3
    assert len(list((played / "panels").iterdir())) == 4  # the smaller panels are in the larger
    (tmp_path / "mine.toml").write_text(TEXT)
    again = run("simulate", "mine.toml", "--out", "out", "--seed", 3, "--jobs", 1)
    assert "2 of 4 panels differ" in again.stderr
    assert len(done) == 2 * 3
    (tmp_path / "mine.toml").write_text(TEXT.replace('"My grid"', '"My title"'))
    assert "has changed" not in run("simulate", "mine.toml", "--out", "out", "--seed", 3).stderr


def test_a_panel_deleted_by_hand_is_played_again_and_no_other(run, played, monkeypatch):
    before = run("results", "out", "--curves", "--format", "csv").stdout
    done = []
    whole = module.run_blocks
    monkeypatch.setattr(module, "run_blocks", lambda blocks: (done.extend(blocks), whole(blocks))[1])
    next((played / "panels").glob("b-*")).unlink()
    left = run("results", "out")
    assert "1 of 8 curves are not complete and left out, such as 'UCB' of the panel 'b'" in left.stderr
    assert run("simulate", "mine.toml", "--out", "out", "--seed", 3).returncode == 0
    assert len(done) == 6
    assert run("results", "out", "--curves", "--format", "csv").stdout == before


def test_status_reads_no_numbers_and_results_sees_what_is_wrong_with_them(run, played):
    file = next((played / "panels").glob("b-*"))
    data = bytearray(file.read_bytes())
    data[100] ^= 1
    file.write_bytes(data)
    assert run("status", "out").stdout.splitlines()[-1] == "complete"
    done = run("results", "out")
    assert f"out/panels/{file.name} is damaged" in done.stderr
    assert "1 of 8 curves are not complete and left out" in done.stderr


def test_a_damaged_panel_is_said(run, played):
    file = next((played / "panels").glob("b-*"))
    file.write_bytes(file.read_bytes()[:-1])
    done = run("results", "out")
    assert (
        f"{'out/panels/' + file.name} is damaged; bandstrap simulate mine.toml --seed 3 --out out plays again"
        in done.stderr
    )
    assert Merged(played / "panels").load({"first": 0, "last": 1}) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("status", "nowhere"), "nowhere has no plan.json: it is not a folder made by bandstrap simulate --out, paper"),
        (("results", "nowhere"), "nowhere has no plan.json"),
        (("results", "out", "--curves", "--choices"), "bandstrap results takes --curves or --choices, not both."),
        (("results", "out", "--choices"), "bandstrap results --choices needs --out FILE.parquet, --out FILE.csv or"),
        (("simulate", "mine.toml", "--choices"), "bandstrap simulate --choices needs --out, a folder to keep them in."),
        (("results", "out", "--format", "xml"), "'format' parameter of bandstrap results must be one of"),
        (("status", "out", "--format", "xml"), "'format' parameter of bandstrap status must be one of"),
        (("results", "out", "--out", "t.xlsx"), "must be a file that ends in .csv or .parquet. Got t.xlsx"),
    ],
)
def test_mistakes_get_one_sentence(run, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(TEXT)
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", [("simulate", "mine.toml"), ("league",), ("paper",)])
def test_the_words_for_executors_are_told(run, command):
    done = run(*command, "--executor", "x")
    assert (done.returncode, done.stdout) == (2, "")
    rule = "must be one of 'thread', 'process', 'dask', 'mpi'. Got 'x' instead."
    assert done.stderr == f"error: The 'executor' parameter of bandstrap {command[0]} {rule}\n"


def test_a_damaged_plan_gets_a_sentence_and_is_written_again(run, played):
    before = run("results", "out").stdout
    plan = played / "plan.json"
    whole = plan.read_bytes()
    for damage in (b"", whole[:-20], whole.replace(b"My grid", b"My grad"), b"{}"):
        plan.write_bytes(damage)
        done = run("status", "out")
        assert done.returncode == 2
        assert "plan.json is damaged, or of another version" in done.stderr
    assert run("simulate", "mine.toml", "--out", "out", "--seed", 3).returncode == 0
    assert plan.read_bytes() == whole
    assert run("results", "out").stdout == before

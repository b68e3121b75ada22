"""The study goes on where it was stopped, and gives the same bytes however it is run."""

import dataclasses
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bandstrap.basics.calls import parse_call
from bandstrap.basics.storage import Damaged
from bandstrap.bounds import BOUNDS, coverage
from bandstrap.experiments import results, status
from study import run as module
from study.plan import CALLS, FEW, MOST, SOME, Cell, plan
from study.run import FILE, measure_cell, read_study, run_study

ROOT = Path(__file__).parents[2]  # where the study is: it is no part of the package
CELLS = [
    Cell("fair coin", 4, 0.001, "upper", most=12),
    Cell("gamma(2)", 5, 0.05, "lower", most=12),
    Cell("revenue", 5, 0.05, "upper", most=12),
]


def run(folder, cells=CELLS, jobs=1):
    with ThreadPoolExecutor(jobs) as executor:
        run_study(cells, folder, executor=executor, progress=False)
    return (folder / FILE).read_bytes()


def test_bytes_do_not_depend_on_workers_and_finished_cells_are_not_run_again(tmp_path, monkeypatch):
    once = run(tmp_path / "one")
    assert run(tmp_path / "two", jobs=3) == once

    # A folder of which one panel was removed since, and one damaged: two are run.
    files = sorted((tmp_path / "two" / "panels").iterdir())
    assert len(files) == len(CELLS)
    files[0].unlink()
    files[1].write_bytes(files[1].read_bytes().replace(b'"misses": ', b'"misses": 1', 1))
    ran = []
    monkeypatch.setattr(module, "measure_cell", lambda cell: ran.append(cell) or measure_cell(cell))
    assert run(tmp_path / "two") == once
    assert len(ran) == 2


def test_a_folder_of_the_study_is_read_as_any_other(tmp_path):
    run(tmp_path)
    rows, _ = read_study(tmp_path / FILE)
    table = results(tmp_path)
    assert sum(panel.done for panel in status(tmp_path).panels) >= len(CELLS)
    found = {(row["panel"], row["curve"], row["alpha"], row["side"], row["at"]): row["mean"] for row in table}
    expected = {
        (row["law"], row["bound"], row["alpha"], row["side"], row["n"]): row["misses"] / row["samples"] for row in rows
    }
    assert found == expected


def test_a_damaged_file_is_not_read(tmp_path):
    whole = run(tmp_path, CELLS[:1])
    rows, about = read_study(tmp_path / FILE)
    assert about["command"] == "python -m study"
    assert about["seed"] == 2019
    assert [row["bound"] for row in rows] == [str(call) for call, _, _ in CELLS[0].entries()]
    (tmp_path / FILE).write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])
    with pytest.raises(Damaged):
        read_study(tmp_path / FILE)


def test_cells_are_known_by_all_they_depend_on():
    changes = ({"n": 6}, {"alpha": 0.01}, {"side": "upper"}, {"seed": 1}, {"most": 13}, {"law": "exponential"})
    others = [dataclasses.replace(CELLS[1], **change) for change in (*changes, {"of_scipy": True})]
    assert len({json.dumps(cell.about) for cell in (CELLS[1], *others)}) == len(others) + 1


def test_rows_are_those_of_the_lab():
    cell = Cell("gamma(2)", 5, 0.05, "lower", most=500)
    rows = {row["bound"]: row for row in measure_cell(cell, ("student_t", "hall:quantile=normal"))}
    for row in coverage("gamma:a=2", 5, bounds=list(rows), side="lower", replications=500, seed=cell.seed):
        found = rows[row.bound]
        assert (found["misses"], found["median_width"], found["widths"]) == (row.misses, row.median_width, 500)


def test_the_plan_has_every_bound_and_100000_samples_wherever_something_is_proved():
    assert {parse_call(text).name for text in CALLS} == set(BOUNDS)
    cells = plan()
    assert len(cells) == len(set(cells))
    assert Cell("fair coin", 4, 0.001, "upper") in cells
    entries = {str(call): samples for call, _, samples in Cell("normal", 10, 0.05, "upper").entries()}
    assert entries["sign_flip"] == entries["student_t"] == entries["bootstrap:correction=sharp"] == MOST
    assert (entries["bootstrap:correction=none"], entries["bca"]) == (SOME, FEW)
    skewed = {str(call): samples for call, _, samples in Cell("gamma(2)", 10, 0.05, "upper").entries()}
    assert (skewed["sign_flip"], skewed["sub_weibull"]) == (FEW, MOST)
    assert "betting" not in skewed


@pytest.mark.parametrize(
    ("module", "arguments", "sentence"),
    [
        ("study", ["--jobs", "0"], "The 'jobs' parameter of python -m study must be"),
        ("study.page", ["nowhere.parquet", "page.md"], "nowhere.parquet: No such file or directory."),
        ("study.page", [__file__, "page.md"], "is damaged: there is no checksum."),
    ],
)
def test_mistakes_are_sentences(tmp_path, module, arguments, sentence):
    command, env = [sys.executable, "-m", module, *arguments], os.environ | {"PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert sentence in ended.stderr
    assert "Traceback" not in ended.stderr
    assert list(tmp_path.iterdir()) == []

"""A reproduction: its files, that it goes on where it stopped, and that nothing is done twice."""

import json
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bandstrap.errors import InvalidInput
from bandstrap.experiments import run
from bandstrap.paper import reproduce as module
from bandstrap.paper.reproduce import reproduce
from bandstrap.plots import panels as plots

# Figure 6 with policies that compile in no time; the labels are those that claims ask for.
SMALL = """
title = "Figure 6: small"
horizon = 60
readings = ["Read <so> & so.", "\\u001b[31mnot obeyed"]
[[panels]]
name = "6a"
title = "(a)"
environment = "gaussian:means=(0.6,0.4)"
curves = [
    { label = "Bernoulli-TS", policy = "gaussian_ts" },
    { label = "UCB", policy = "ucb1" },
    { label = "naive bootstrap", policy = "ucb1:sigma=50" },
]
[[panels]]
name = "6b"
environment = "gaussian:means=(0.5,0)"
curves = [
    { label = "Jeffreys-TS", policy = "gaussian_ts" },
    { label = "UCB", policy = "ucb1" },
    { label = "naive bootstrap", policy = "ucb1:sigma=50" },
]
"""
FILES = ["blocks", "claims.json", "figures", "report.html"]


@pytest.fixture(autouse=True)
def small(tmp_path, monkeypatch):
    folder = tmp_path / "toml"
    folder.mkdir()
    (folder / "figure6.toml").write_text(SMALL)
    whole = module.paper_file
    monkeypatch.setattr(module, "paper_file", lambda name: folder / name if name == "figure6.toml" else whole(name))
    return folder / "figure6.toml"


@pytest.fixture
def count(monkeypatch):
    """How many blocks were run and pictures drawn."""
    done = {"blocks": 0, "pictures": 0}
    several, plot = run.run_blocks, plots.plot_panels

    def counted_blocks(blocks):
        done["blocks"] += len(blocks)
        return several(blocks)

    def counted_plot(*arguments):
        done["pictures"] += 1
        return plot(*arguments)

    monkeypatch.setattr(run, "run_blocks", counted_blocks)
    monkeypatch.setattr(plots, "plot_panels", counted_plot)
    return done


def go(out, jobs=1, **options):
    with ThreadPoolExecutor(jobs) as executor:
        given = {"seed": 3, "replications": 30, "executor": executor, "progress": False}
        return reproduce(["6"], out, **given | options)


def test_everything_is_written_and_nothing_else(tmp_path):
    found = go(tmp_path / "deep" / "out")
    out = tmp_path / "deep" / "out"
    assert sorted(path.name for path in out.iterdir()) == FILES
    assert sorted(path.name for path in (out / "figures").iterdir()) == ["figure6.key", "figure6.png", "figure6.svg"]
    assert len(list((out / "blocks").iterdir())) == 6 * 2
    assert (out / "figures/figure6.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (out / "figures/figure6.svg").read_text()
    assert not list(out.rglob("*.part"))
    content = json.loads((out / "claims.json").read_text())
    assert [one["name"] for one in content["claims"]] == ["theorem-4", "figure-6"]
    assert content["summary"] == found.summary
    assert "Read &lt;so&gt; &amp; so." in (out / "report.html").read_text()
    assert "<li>\\x1b[31mnot obeyed</li>" in (out / "report.html").read_text()
    assert [chapter.name for chapter in found.chapters] == ["figure6"]
    assert found.chapters[0].panels[0]["UCB"].values.shape == (30, 60)


def test_replications_are_a_share_of_each_curves(tmp_path):
    found = go(tmp_path, replications=4)
    assert found.replications == 4
    assert {len(curve.values) for panel in found.chapters[0].panels for curve in panel.curves} == {4}


def test_a_second_run_computes_nothing_and_draws_nothing(tmp_path, count):
    go(tmp_path / "out")
    files = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in (tmp_path / "out").rglob("*.*")}
    assert count == {"blocks": 12, "pictures": 1}
    go(tmp_path / "out", jobs=2)
    assert count == {"blocks": 12, "pictures": 1}
    for path, (content, changed) in files.items():
        assert path.read_bytes() == content
        assert path.stat().st_mtime_ns == changed or path.parent == tmp_path / "out"


def test_a_new_label_draws_and_computes_nothing(tmp_path, small, count):
    go(tmp_path / "out")
    before = (tmp_path / "out/figures/figure6.svg").read_bytes()
    small.write_text(SMALL.replace('title = "(a)"', 'title = "other"'))
    go(tmp_path / "out")
    assert count == {"blocks": 12, "pictures": 2}
    assert (tmp_path / "out/figures/figure6.svg").read_bytes() != before
    go(tmp_path / "out", seed=4)
    assert count == {"blocks": 24, "pictures": 3}
    go(tmp_path / "out")  # the blocks of both seeds are kept; the picture shows one
    assert count == {"blocks": 24, "pictures": 4}


@pytest.mark.parametrize("name", ["figure6.svg", "figure6.png", "figure6.key"])
def test_a_lost_picture_is_drawn_again(tmp_path, count, name):
    go(tmp_path / "out")
    before = {path: path.read_bytes() for path in (tmp_path / "out/figures").iterdir()}
    (tmp_path / "out/figures" / name).unlink()
    go(tmp_path / "out")
    assert count == {"blocks": 12, "pictures": 2}
    assert {path: path.read_bytes() for path in (tmp_path / "out/figures").iterdir()} == before


@pytest.mark.parametrize("name", ["figure6.svg", "figure6.png", "figure6.key"])
def test_a_picture_that_was_replaced_is_drawn_again(tmp_path, count, name):
    go(tmp_path / "out")
    path = tmp_path / "out/figures" / name
    before, report = path.read_bytes(), (tmp_path / "out/report.html").read_bytes()
    path.write_bytes(b"\xff<svg><script>alert(1)</script></svg>")
    go(tmp_path / "out")
    assert count["pictures"] == 2
    assert path.read_bytes() == before
    assert (tmp_path / "out/report.html").read_bytes() == report


def test_a_picture_half_redrawn_is_not_taken_for_the_old_one(tmp_path, monkeypatch):
    from bandstrap.plots import style

    go(tmp_path / "out")
    right = (tmp_path / "out/figures/figure6.svg").read_bytes()
    save = style.save_figure

    def stopped(figure, path):
        if path.suffix == ".png":
            raise KeyboardInterrupt
        save(figure, path)

    with monkeypatch.context() as patch:
        patch.setattr(style, "save_figure", stopped)
        with pytest.raises(KeyboardInterrupt):
            go(tmp_path / "out", seed=4)
    go(tmp_path / "out")
    assert (tmp_path / "out/figures/figure6.svg").read_bytes() == right


@pytest.mark.parametrize("replications", [2, 3])
def test_very_few_replications_give_json_without_nan(tmp_path, replications):
    go(tmp_path, replications=replications)
    text = (tmp_path / "claims.json").read_text()
    content = json.loads(text, parse_constant=lambda constant: pytest.fail(constant))
    assert [one["name"] for one in content["claims"]] == ["theorem-4", "figure-6"]
    assert all(one["numbers"] for one in content["claims"])


def test_figures_are_checked_and_taken_once(tmp_path):
    with pytest.raises(
        InvalidInput, match=r"'FIGURE' parameter of bandstrap paper must be one of '1', .*'7'\. Got '8'"
    ):
        reproduce(["6", "8"], tmp_path / "out", seed=3, replications=4)
    assert not (tmp_path / "out").exists()
    assert len(reproduce(["6", "6"], tmp_path, seed=3, replications=4, progress=False).chapters) == 1


def test_a_folder_that_cannot_be_is_known_before_anything_runs(tmp_path, count):
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OSError, match=r"File exists|Not a directory"):
            go(out)
    assert count == {"blocks": 0, "pictures": 0}


KILLED = """
import sys, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from bandstrap.experiments import run
from bandstrap.paper import reproduce as module
whole, several, done = module.paper_file, run.run_blocks, []
module.paper_file = lambda name: Path(sys.argv[1]) if name == "figure6.toml" else whole(name)
def slow(blocks):
    done.extend(blocks)
    if len(done) >= 6:
        print("half-way", flush=True)
        time.sleep(60)
    return several(blocks)
run.run_blocks = slow
module.reproduce(["6"], Path(sys.argv[2]), seed=3, replications=30, executor=ThreadPoolExecutor(1))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
def test_a_killed_run_goes_on_to_the_same_claims(tmp_path, small, count):
    out = tmp_path / "out"
    command = [sys.executable, "-c", KILLED, small, out]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "half-way\n"
            deadline = time.monotonic() + 20
            while not list(out.glob("blocks/[!.]*")) and time.monotonic() < deadline:
                time.sleep(0.02)
        finally:
            process.kill()
    assert not (out / "claims.json").exists()
    kept = len(list(out.glob("blocks/[!.]*")))
    assert kept > 0
    go(out)
    assert count["blocks"] == 12 - kept
    go(tmp_path / "undisturbed", jobs=2)
    for name in ("claims.json", "figures/figure6.svg", "figures/figure6.png"):
        assert (out / name).read_bytes() == (tmp_path / "undisturbed" / name).read_bytes()


def test_the_papers_files_are_where_they_are_looked_for(monkeypatch):
    monkeypatch.undo()
    for name in (*(f"figure{i}" for i in module.FIGURES), *module.EVIDENCE, "errata"):
        assert Path(module.paper_file(f"{name}.toml")).is_file()

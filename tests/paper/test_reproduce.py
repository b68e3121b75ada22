"""A reproduction: its files, that it goes on where it stopped, and that nothing is done twice."""

import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bandstrap.basics.storage import locked, write_text
from bandstrap.errors import InvalidInput
from bandstrap.experiments import runner
from bandstrap.paper import reproduce as module
from bandstrap.paper.reproduce import reproduce
from bandstrap.plots import panels as plots
from bandstrap.plots import small as small_plots
from bandstrap.plots import style
from paper.small import SMALL
from sampling import exhaustive, telling

# Another figure, on whose panel no claim rests.
OTHER = """
title = "Figure 4: small"
horizon = 40
[[panels]]
name = "other"
environment = "gaussian:means=(0.6,0.4)"
curves = [{ label = "UCB", policy = "ucb1" }]
"""
FILES = ["blocks", "claims.json", "figures", "panels", "plan.json", "report.html", "runs", "seconds"]
PICTURES = [
    "figure6-6a.svg",
    "figure6-6b.svg",
    "figure6-glance.svg",
    "figure6.key",
    "figure6.pdf",
    "figure6.png",
    "figure6.svg",
]


@pytest.fixture(autouse=True)
def small(tmp_path, monkeypatch):
    folder = tmp_path / "toml"
    folder.mkdir()
    (folder / "figure6.toml").write_text(SMALL)
    (folder / "figure4.toml").write_text(OTHER)
    whole = module.paper_file
    ours = ("figure4.toml", "figure6.toml")
    monkeypatch.setattr(module, "paper_file", lambda name: folder / name if name in ours else whole(name))
    monkeypatch.setattr(module, "CHAPTERS", ("figure4", "figure6"))  # reading the others takes time
    return folder / "figure6.toml"


@pytest.fixture
def count(monkeypatch):
    """How many blocks were run and pictures drawn."""
    done = {"blocks": 0, "pictures": 0}
    several, plot = runner.run_blocks, plots.plot_panels

    def counted_blocks(blocks):
        done["blocks"] += len(blocks)
        return several(blocks)

    def counted_plot(*arguments):
        done["pictures"] += 1
        return plot(*arguments)

    monkeypatch.setattr(runner, "run_blocks", counted_blocks)
    monkeypatch.setattr(plots, "plot_panels", counted_plot)
    return done


@pytest.fixture
def undrawn(monkeypatch):
    """Pictures of nothing: drawing takes longer than all else."""
    for home, name in ((plots, "plot_panels"), (small_plots, "plot_panel"), (small_plots, "plot_glance")):
        monkeypatch.setattr(home, name, lambda *arguments: None)
    monkeypatch.setattr(style, "save_figure", lambda figure, path: write_text(path, "<svg></svg>"))


def go(out, jobs=1, figures=("6",), **options):
    with ThreadPoolExecutor(jobs) as executor:
        given = {"seed": 3, "replications": 30, "executor": executor, "progress": False}
        return reproduce(figures, out, **given | options)


def pages(out):
    """What a folder says, to the byte."""
    return (out / "report.html").read_bytes(), (out / "claims.json").read_bytes()


def test_everything_is_written_and_nothing_else(tmp_path):
    found = go(tmp_path / "deep" / "out")
    out = tmp_path / "deep" / "out"
    assert sorted(path.name for path in out.iterdir()) == FILES
    assert sorted(path.name for path in (out / "figures").iterdir()) == PICTURES
    assert list((out / "blocks").iterdir()) == list((out / "runs").iterdir()) == []
    assert len(list((out / "panels").iterdir())) == len(found.chapters[0].panels)
    assert (out / "figures/figure6.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "figures/figure6.pdf").read_bytes().startswith(b"%PDF")
    assert "<svg" in (out / "figures/figure6.svg").read_text()
    assert not list(out.rglob("*.part"))
    content = json.loads((out / "claims.json").read_text())
    assert [one["name"] for one in content["claims"]] == ["end-points-6"]
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


@exhaustive
def test_pictures_drawn_side_by_side_have_the_same_bytes_and_are_drawn_once(tmp_path, monkeypatch, count):
    go(tmp_path / "one", figures=("4", "6"))
    monkeypatch.setattr(module, "MANY_CHAPTERS", 2)
    go(tmp_path / "two", jobs=2, figures=("4", "6"))
    assert count["pictures"] == 2  # none of the second folder by this process
    one, two = (
        {path.name: path.read_bytes() for path in (tmp_path / out / "figures").iterdir()} for out in ("one", "two")
    )
    assert one == two
    assert len(one) > len(PICTURES)


@exhaustive
def test_a_new_label_draws_and_computes_nothing(tmp_path, small, count):
    go(tmp_path / "out")
    before = (tmp_path / "out/figures/figure6.svg").read_bytes()
    small.write_text(SMALL.replace("(6a)", "other"))
    go(tmp_path / "out")
    assert count == {"blocks": 12, "pictures": 2}
    assert (tmp_path / "out/figures/figure6.svg").read_bytes() != before
    go(tmp_path / "out", seed=4)
    assert count == {"blocks": 24, "pictures": 3}
    go(tmp_path / "out")  # the blocks of both seeds are kept; the picture shows one
    assert count == {"blocks": 24, "pictures": 4}


@exhaustive
def test_a_picture_that_was_lost_or_replaced_is_drawn_again(tmp_path, count):
    out = tmp_path / "out"
    go(out)
    before, page = {path: path.read_bytes() for path in (out / "figures").iterdir()}, pages(out)
    for n_drawn, name in enumerate(["figure6.svg", "figure6.pdf", "figure6.key", "figure6-glance.svg"], start=2):
        (out / "figures" / name).unlink()
        (out / "figures/figure6-6b.svg").write_bytes(b"\xff<svg><script>alert(1)</script></svg>")
        go(out)
        assert count == {"blocks": 12, "pictures": n_drawn}
        assert {path: path.read_bytes() for path in (out / "figures").iterdir()} == before
        assert pages(out) == page


@telling("name", ["figure6.png", "figure6-6b.svg", "figure6.key"], ["figure6.png"])
@pytest.mark.usefixtures("undrawn")
def test_one_damaged_file_is_enough_to_draw_again(tmp_path, name):
    out = tmp_path / "out"
    go(out)
    before = (out / "figures" / name).read_bytes()
    (out / "figures" / name).write_bytes(b"\xff")
    go(out)
    assert (out / "figures" / name).read_bytes() == before


@exhaustive
def test_a_picture_half_redrawn_is_not_taken_for_the_old_one(tmp_path, monkeypatch):
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


# --- a folder that has more than was asked for ------------------------------------------------------------------------


@pytest.mark.usefixtures("undrawn")
def test_a_figure_run_again_keeps_the_others(tmp_path, count):
    out = tmp_path / "out"
    go(out, figures=("4", "6"))
    whole, blocks = pages(out), count["blocks"]
    for figures in (("6",), ("4",), ("6", "4")):
        found = go(out, figures=figures)
        assert pages(out) == whole
        assert [chapter.name for chapter in found.chapters] == ["figure4", "figure6"]
        assert found.kept == ", ".join(title for title in ("Figure 4", "Figure 6") if title[-1] not in figures)
        assert [claim.name for claim, _ in found.answers] == (["end-points-6"] if "6" in figures else [])
    assert count["blocks"] == blocks


@pytest.mark.usefixtures("undrawn")
def test_the_order_of_runs_does_not_matter(tmp_path, count):
    one, other = tmp_path / "one", tmp_path / "other"
    go(one, figures=("4",))
    go(one, figures=("6",))
    for name in ("panels", "seconds"):  # which remember the time they took
        shutil.copytree(one / name, other / name)
    blocks = count["blocks"]
    go(other, figures=("6",))
    go(other, figures=("4",))
    assert count["blocks"] == blocks
    assert pages(one) == pages(other)


@pytest.mark.parametrize("change", [{"seed": 4}, {"replications": 40}])
@pytest.mark.usefixtures("undrawn")
def test_what_was_run_otherwise_is_left_out_with_a_sentence_and_comes_back(tmp_path, count, change):
    out = tmp_path / "out"
    go(out, figures=("4", "6"))
    whole = pages(out)
    found = go(out, **change)
    assert [chapter.name for chapter in found.chapters] == ["figure6"]
    seed, replications = change.get("seed", 3), change.get("replications", 30)
    assert found.gaps == f"Not run here with seed {seed} and {replications} replications: Figure 4."
    assert found.gaps in (out / "report.html").read_text()
    blocks = count["blocks"]
    go(out)
    assert pages(out)[1] == whole[1]  # the time that fewer replications took is their share of that of more
    assert count["blocks"] == blocks


@pytest.mark.usefixtures("undrawn")
def test_a_chapter_with_a_lost_or_damaged_block_is_left_out_and_not_run(tmp_path, count):
    out = tmp_path / "out"
    go(out)
    six = set((out / "panels").iterdir())
    go(out, figures=("4",))
    blocks = count["blocks"]
    for block in set((out / "panels").iterdir()) - six:
        data = block.read_bytes()
        block.write_bytes(data[:-100] + bytes([data[-100] ^ 1]) + data[-99:])
        found = go(out)
        assert [chapter.name for chapter in found.chapters] == ["figure6"]
        block.unlink()
        assert [chapter.name for chapter in go(out).chapters] == ["figure6"]
        block.write_bytes(data)
    assert count["blocks"] == blocks
    assert [chapter.name for chapter in go(out).chapters] == ["figure4", "figure6"]


@pytest.mark.usefixtures("undrawn")
def test_files_of_another_version_are_replaced(tmp_path):
    out = tmp_path / "out"
    (out / "figures").mkdir(parents=True)
    (out / "blocks").mkdir()
    (out / "report.html").write_text("old")
    (out / "claims.json").write_bytes(b"\xff{")
    (out / "figures/figure6.key").write_text("old")
    (out / "blocks/0123.parquet").write_text("old")
    assert [chapter.name for chapter in go(out).chapters] == ["figure6"]
    json.loads((out / "claims.json").read_text())


@pytest.mark.usefixtures("undrawn")
def test_of_two_processes_the_later_report_has_the_blocks_of_both(tmp_path, monkeypatch):
    out = tmp_path / "out"
    go(tmp_path / "theirs", figures=("4",))
    out.mkdir()
    waiting, told = threading.Event(), module.tell
    monkeypatch.setattr(
        module, "tell", lambda text, **options: (waiting.set() if "waiting" in text else None, told(text, **options))
    )
    with ThreadPoolExecutor(1) as beside:
        with locked(out):  # another process reads what there is, before ours has written
            ours = beside.submit(go, out)
            assert waiting.wait(300)
            assert not (out / "report.html").exists()
            for name in ("panels", "seconds"):
                shutil.copytree(tmp_path / "theirs" / name, out / name)
        found = ours.result()
    assert [chapter.name for chapter in found.chapters] == ["figure4", "figure6"]


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("replications", [2, 3])
def test_very_few_replications_give_json_without_nan(tmp_path, replications):
    go(tmp_path, replications=replications)
    text = (tmp_path / "claims.json").read_text()
    content = json.loads(text, parse_constant=lambda constant: pytest.fail(constant))
    assert [one["name"] for one in content["claims"]] == ["end-points-6"]
    assert all(one["numbers"] for one in content["claims"])


def test_figures_are_checked_and_taken_once(tmp_path):
    with pytest.raises(
        InvalidInput, match=r"'FIGURE' parameter of bandstrap paper must be one of '1', .*'theorems', .*\. Got '8'"
    ):
        reproduce(["6", "8"], tmp_path / "out", seed=3, replications=4)
    assert not (tmp_path / "out").exists()
    assert len(reproduce(["6", "6"], tmp_path / "new", seed=3, replications=4, progress=False).chapters) == 1


@pytest.mark.parametrize(
    ("names", "asked"),
    [
        ([], (*(f"figure{name}" for name in module.FIGURES), *module.EVIDENCE)),
        ([*module.FIGURES], (*(f"figure{name}" for name in module.FIGURES), *module.EVIDENCE)),
        (["theorems"], module.EVIDENCE),
        (["theorem3", "2", "theorem1", "theorem3"], ("figure2", "theorem1", "theorem3")),
        (["theorems", "theorem1"], module.EVIDENCE),
    ],
    ids=str,
)
def test_theorems_are_run_without_figures(names, asked):
    assert module.chapters_asked(names) == asked


@exhaustive
def test_theorem_one_alone_is_refuted_in_a_moment(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHAPTERS", ("theorem1",))
    found = reproduce(["theorem1"], tmp_path / "out", seed=3, replications=4, progress=False)
    verdicts = {claim.name: finding.verdict for claim, finding in found.answers}
    assert verdicts == {
        "theorem-1": "not reproduced",
        "theorem-1-constant": "reproduced",
        "monte-carlo": "not reproduced",
    }


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
from bandstrap.experiments import runner
from bandstrap.paper import reproduce as module
whole, several, done = module.paper_file, runner.run_blocks, []
module.paper_file = lambda name: Path(sys.argv[1]) if name == "figure6.toml" else whole(name)
def slow(blocks):
    done.extend(blocks)
    if len(done) >= 6:
        print("half-way", flush=True)
        time.sleep(600)
    return several(blocks)
runner.run_blocks = slow
module.reproduce(["6"], Path(sys.argv[2]), seed=3, replications=30, executor=ThreadPoolExecutor(1))
"""


@exhaustive
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
def test_a_killed_run_goes_on_to_the_same_claims(tmp_path, small, count):
    out = tmp_path / "out"
    command = [sys.executable, "-c", KILLED, small, out]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "half-way\n"
            deadline = time.monotonic() + 300
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
    for name in ("claims.json", "figures/figure6.svg", "figures/figure6.png", "figures/figure6.pdf"):
        assert (out / name).read_bytes() == (tmp_path / "undisturbed" / name).read_bytes()


def test_the_papers_files_are_where_they_are_looked_for(monkeypatch):
    monkeypatch.undo()
    for name in (*module.CHAPTERS, "errata", "sentences"):
        assert Path(module.paper_file(f"{name}.toml")).is_file()

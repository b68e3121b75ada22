"""Run the paper: figures, claims, report; everything that was finished before is read from the store."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from bandstrap.basics.sources import digest_sources
from bandstrap.basics.storage import locked, write_text
from bandstrap.engine.work.executors import check_executor, worker_count
from bandstrap.engine.work.memory import check_memory
from bandstrap.engine.work.pool import Unfinished
from bandstrap.engine.work.progress import Show, announce_memory, progress_bar, tell
from bandstrap.engine.work.workers import Processes
from bandstrap.errors import check_choice
from bandstrap.experiments.folder import Folder, FolderStore, planned
from bandstrap.experiments.panels import PanelData, read_panel
from bandstrap.experiments.plan import PanelPlan, plan_panel
from bandstrap.experiments.runner import run_plans
from bandstrap.experiments.spec import ExperimentSpec, check_replications, read_experiment
from bandstrap.paper.claims import CLAIMS, DEPENDS, UNDECIDED, VERDICTS, Claim, Finding, examine
from bandstrap.paper.formulas import in_symbols, panel_in_symbols
from bandstrap.paper.report import short_title, write_report
from bandstrap.paper.sentences import read_sentences

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES = ("1", "2", "3", "4", "5", "6", "7")
# What claims need beside the figures.
EVIDENCE = ("theorem1", "miss_rates", "remark3", "theorem2", "theorem3", "theorem4", "close_races", "interpolation")
# What may be asked for by name: figures, parts of the evidence, and all of that.
PARTS = (*FIGURES, "theorems", *EVIDENCE)
# In the order of the report.
CHAPTERS = (*(f"figure{name}" for name in FIGURES), *EVIDENCE)
TITLE = "Bootstrapping Upper Confidence Bound, reproduced"
# Replications: the paper's, which those in the files are meant for, and those of a first look.
FULL, QUICK = 200, 20
# So many chapters to be drawn are worth processes of their own, which take seconds to begin.
MANY_CHAPTERS = 6

Plans = Sequence[PanelPlan]


@dataclass(frozen=True)
class Pictures:
    """Files of pictures: the whole figure (an SVG, PNG and PDF beside it), its panels one by one, all at a glance."""

    whole: Path
    panels: tuple[Path, ...]
    glance: Path

    @property
    def files(self) -> tuple[Path, ...]:
        """All of them."""
        return *(self.whole.with_suffix(kind) for kind in (".svg", ".png", ".pdf")), *self.panels, self.glance


@dataclass(frozen=True, eq=False)
class Chapter:
    """An experiment of the paper with its result and its pictures."""

    name: str
    experiment: ExperimentSpec
    panels: tuple[PanelData, ...]
    pictures: Pictures

    @property
    def seconds(self) -> float:
        """Core-seconds spent on it."""
        return sum(panel.seconds for panel in self.panels)


@dataclass(frozen=True, eq=False)
class Reproduction:
    """Everything the report shows: what was run into a folder with one seed and one number of replications.

    ``asked`` are the names of the chapters that were asked for; the others were run before and have been kept. Chapters
    that ``lack`` something were not run with this seed, these replications and this version of the code, or not to the
    end.
    """

    chapters: tuple[Chapter, ...]
    findings: tuple[tuple[Claim, Finding], ...]
    seed: int
    replications: int
    asked: tuple[str, ...] = CHAPTERS
    lack: tuple[ExperimentSpec, ...] = ()
    # What was given up in this run, if anything was.
    unfinished: Unfinished | None = None

    @property
    def unchecked(self) -> list[Claim]:
        """Claims on what was not run."""
        checked = {claim.name for claim, _ in self.findings}
        return [claim for claim in CLAIMS if claim.name not in checked]

    @property
    def answers(self) -> list[tuple[Claim, Finding]]:
        """Findings about the claims on the chapters that were asked for."""
        panels = {
            panel.panel.name for chapter in self.chapters if chapter.name in self.asked for panel in chapter.panels
        }
        return [(claim, finding) for claim, finding in self.findings if not panels.isdisjoint(claim.panels)]

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """Number of claims of the paper, and of ours, per verdict."""
        of = {
            whose: [finding.verdict for claim, finding in self.findings if claim.ours == ours]
            for whose, ours in (("paper", False), ("ours", True))
        }
        return {whose: {each: verdicts.count(each) for each in VERDICTS} for whose, verdicts in of.items()}

    @property
    def summary(self) -> str:
        """Number of claims of the paper, and of ours, per verdict, in one line."""
        texts = []
        for whose, counts in self.counts.items():
            total = sum(counts.values())
            parts = [
                f"{n} that depend{'s' * (n == 1)} on an unstated setting" if verdict == DEPENDS else f"{n} {verdict}"
                for verdict, n in counts.items()
                if n or verdict not in (DEPENDS, UNDECIDED)
            ]
            owner = "of the paper" if whose == "paper" else "of ours"
            if total or whose == "paper":
                texts.append(f"{total} claim{'s' * (total != 1)} {owner}: {', '.join(parts)}")
        unchecked = f"; {len(self.unchecked)} more not checked" if self.unchecked else ""
        return f"{'; '.join(texts)}{unchecked} (seed {self.seed}, {self.replications} replications)"

    @property
    def undecided(self) -> list[tuple[Claim, Finding]]:
        """Findings about undecided claims among those asked for."""
        return [(claim, finding) for claim, finding in self.answers if finding.verdict == UNDECIDED]

    @property
    def kept(self) -> str:
        """Titles of the chapters that were run before."""
        return ", ".join(short_title(one.experiment.title) for one in self.chapters if one.name not in self.asked)

    @property
    def caution(self) -> str:
        """Caution about few replications; empty if they are not few."""
        if self.replications >= FULL:
            return ""
        return (
            f"With fewer replications than the paper's {FULL} many checks have little power. If such a check finds "
            "nothing, its claim is undecided."
        )

    @property
    def gaps(self) -> str:
        """Missing chapters, in a sentence; empty if all are."""
        if not self.lack:
            return ""
        titles = ", ".join(short_title(experiment.title) for experiment in self.lack)
        return f"Not run here with seed {self.seed} and {self.replications} replications: {titles}."


def paper_file(name: str) -> Path:
    """A file of the paper's folder."""
    return Path(str(files("bandstrap.paper") / name))


def reproduce(
    figures: Sequence[str],
    out: Path,
    *,
    seed: int,
    replications: int,
    executor: Executor | None = None,
    progress: bool = True,
) -> Reproduction:
    """Run figures and claims into a folder; see ``bandstrap paper``.

    The report shows all that the folder has with this seed, these replications and this version of the code, whichever
    run it is from: the store's keys decide, so that the same blocks give the same report in any order of runs.
    """
    asked = chapters_asked(figures)
    experiments = {name: read_experiment(paper_file(f"{name}.toml")) for name in CHAPTERS}
    check_executor(executor, "bandstrap paper")
    share, folder = replications / FULL, Folder(out)
    needed = sum(check_replications(experiments[name].panels, experiments[name], share) for name in asked)
    check_memory(needed, "replications", "bandstrap paper", replications)
    announce_memory(needed, shown=progress)
    out.mkdir(parents=True, exist_ok=True)  # better to learn before hours of play that nothing can be written
    plans = {
        name: [plan_panel(panel, experiment, seed, share) for panel in experiment.panels]
        for name, experiment in experiments.items()
    }
    flat = [plan for name in asked for plan in plans[name]]
    words = ["paper", *figures, "--replications", str(replications), "--seed", str(seed)]
    known = {name: planned(TITLE, seed, words, plans[name]).panels for name in CHAPTERS}
    now = planned(TITLE, seed, words, flat)

    def waiting() -> None:
        tell("waiting for another process that writes its report", shown=progress)

    every = [panel for several in known.values() for panel in several]
    ran = run_plans(flat, folder, now, executor=executor, progress=progress, keep=every, waiting=waiting)
    # Of two processes that end together, the second finds the blocks of the first.
    with locked(out, waiting):
        jobs = min(worker_count(executor), os.cpu_count() or 1)
        chapters = finish_chapters(experiments, plans, ran.store, out / "figures", progress, jobs)
        tell("checking claims", shown=progress)
        evidence = {panel.panel.name: panel for chapter in chapters for panel in chapter.panels}
        there = {chapter.name for chapter in chapters}
        lack = tuple(experiment for name, experiment in experiments.items() if name not in there)
        reproduction = Reproduction(chapters, tuple(examine(evidence)), seed, replications, asked, lack, ran.unfinished)
        write_text(out / "claims.json", claims_as_json(reproduction))
        write_report(reproduction, errata(), read_sentences(), out / "report.html")
    tell("", shown=progress)
    return reproduction


def chapters_asked(names: Sequence[str]) -> tuple[str, ...]:
    """The chapters that figures and parts of the evidence are in; all of them for none, and for all figures."""
    given = {check_choice(name, "FIGURE", "bandstrap paper", PARTS) for name in names}
    if given >= set(FIGURES) or not given:
        given |= {*FIGURES, *EVIDENCE}
    if "theorems" in given:
        given |= {*EVIDENCE}
    return tuple(f"figure{name}" for name in FIGURES if name in given) + tuple(
        name for name in EVIDENCE if name in given
    )


def finish_chapters(
    experiments: Mapping[str, ExperimentSpec],
    plans: Mapping[str, Plans],
    store: FolderStore,
    folder: Path,
    progress: bool,
    jobs: int,
) -> tuple[Chapter, ...]:
    """The chapters that the store has all of, with their pictures, which so many processes draw."""
    chapters = []
    pictures = {name: pictures_of(name, experiment, folder) for name, experiment in experiments.items()}
    with progress_bar(sum(len(each.files) for each in pictures.values()), shown=progress, of="pictures") as show:
        for name, experiment in experiments.items():
            show(0, f"reading {name}")
            panels = [panel for plan in plans[name] if (panel := read_panel(plan, store)) is not None]
            if len(panels) < len(plans[name]):
                show(len(pictures[name].files), found=len(pictures[name].files))
            else:
                chapters.append(Chapter(name, experiment, tuple(panels), pictures[name]))
        draw_side_by_side(chapters, plans, jobs, show)
        for chapter in chapters:
            draw_chapter(chapter, plans[chapter.name], show)
    return tuple(chapters)


def pictures_of(name: str, experiment: ExperimentSpec, folder: Path) -> Pictures:
    """Files of the pictures of a chapter."""
    first = {panel.drawn_on: panel.name for panel in reversed(experiment.panels)}
    drawn = dict.fromkeys(panel.drawn_on for panel in experiment.panels)
    panels = tuple(folder / f"{name}-{first[axes]}.svg" for axes in drawn)
    return Pictures(folder / f"{name}.svg", panels, folder / f"{name}-glance.svg")


def draw_side_by_side(chapters: Sequence[Chapter], plans: Mapping[str, Plans], jobs: int, show: Show) -> None:
    """Draw chapters that have never been drawn in processes of their own, if they are many; matplotlib uses one core."""
    new = [chapter for chapter in chapters if not key_of(chapter).exists()]
    if jobs > 1 and len(new) >= MANY_CHAPTERS:
        with Processes(jobs) as pool:
            longest_first = sorted(new, key=lambda chapter: -len(chapter.panels))
            drawn = [pool.submit(draw_chapter, chapter, plans[chapter.name], unseen) for chapter in longest_first]
            for i, each in enumerate(as_completed(drawn)):
                each.result()
                show(0, f"drawing, {i + 1} of {len(drawn)} chapters")


def unseen(count: int, doing: str = "", found: int = 0) -> None:
    """Show nothing."""


def key_of(chapter: Chapter) -> Path:
    """The file that says what the pictures of a chapter were drawn from."""
    return chapter.pictures.whole.with_suffix(".key")


def draw_chapter(chapter: Chapter, plans: Plans, show: Show) -> None:
    """Draw a chapter, unless it has been drawn from the same numbers."""
    pictures = chapter.pictures
    drawn_from = key_of(chapter)
    drawn_by = [
        digest_sources(Path(str(files("bandstrap.plots")))),
        paper_file("formulas.py").read_text(encoding="utf-8"),
    ]
    about = [block.about for plan in plans for block in plan]
    shows = json.dumps([chapter.experiment.model_dump_json(), about, drawn_by])
    if read(drawn_from) == state(shows, pictures.files):
        show(len(pictures.files), found=len(pictures.files))
        return
    drawn_from.unlink(missing_ok=True)  # half-way, the pictures are those of neither state
    from bandstrap.plots.style import save_figure

    for figure, path in draw(chapter):
        save_figure(figure, path)
        show(1, f"drawing {chapter.name}")
    write_text(drawn_from, state(shows, pictures.files).decode())


def draw(chapter: Chapter) -> Iterator[tuple[Figure, Path]]:
    """The pictures of a chapter, with their files."""
    from bandstrap.plots.panels import plot_panels, shown_panels
    from bandstrap.plots.small import plot_glance, plot_panel

    pictures = chapter.pictures
    panels = [panel_in_symbols(panel) for panel in chapter.panels]
    whole = plot_panels(in_symbols(chapter.experiment.title), panels)
    for kind in (".svg", ".png", ".pdf"):
        yield whole, pictures.whole.with_suffix(kind)
    shown = shown_panels(panels)
    for panel, path in zip(shown, pictures.panels, strict=True):
        yield plot_panel(panel, shown), path
    yield plot_glance(shown), pictures.glance


def state(shows: str, pictures: Sequence[Path]) -> bytes:
    """Digest of what pictures show and of the pictures themselves: one that was replaced or damaged is drawn anew."""
    digest = hashlib.sha256(shows.encode())
    for path in pictures:
        digest.update(hashlib.sha256(read(path)).digest())
    return digest.hexdigest().encode()


def read(path: Path) -> bytes:
    """Content of a file; nothing if there is none."""
    return path.read_bytes() if path.is_file() else b""


def errata() -> list[dict[str, str]]:
    """The paper's misprints and how they are read here."""
    content: list[dict[str, str]] = tomllib.loads(paper_file("errata.toml").read_text(encoding="utf-8"))["errata"]
    return content


def claims_as_json(reproduction: Reproduction) -> str:
    """Every claim with verdict and numbers; nothing that differs between two runs with one seed."""
    content = {
        "seed": reproduction.seed,
        "replications": reproduction.replications,
        "summary": reproduction.summary,
        "counts": reproduction.counts,
        "claims": [
            {
                "name": claim.name,
                "ours": claim.ours,
                "section": claim.section,
                "where": claim.where,
                "says": claim.says,
                "verdict": finding.verdict,
                "setting": finding.setting,
                "hold": finding.hold,
                "statistic": finding.statistic,
                "error_rate": finding.power.error_rate,
                "detects": finding.power.detects,
                "power_reached": finding.power.reached,
                "numbers": [finite(dataclasses.asdict(number)) for number in finding.numbers],
            }
            for claim, finding in reproduction.findings
        ],
        "not_checked": [claim.name for claim in reproduction.unchecked],
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def finite(numbers: Mapping[str, object]) -> dict[str, object]:
    """Infinite numbers as null, which JSON has."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in numbers.items()
    }

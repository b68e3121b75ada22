"""Run the paper: figures, claims, report; everything that was finished before is read from the store."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from bandstrap.engine.memory import announce_memory, check_memory
from bandstrap.engine.progress import tell
from bandstrap.errors import check_choice
from bandstrap.experiments.plan import PanelPlan, plan_panel
from bandstrap.experiments.run import PanelData, run_experiments
from bandstrap.experiments.spec import Experiment, check_replications, read_experiment
from bandstrap.experiments.store import Store
from bandstrap.paper.claims import DEPENDS, NOT_REPRODUCED, REPRODUCED, Claim, Finding, examine
from bandstrap.paper.report import write_report
from bandstrap.storage import digest_sources, write_text

FIGURES = ("1", "2", "3", "4", "5", "6", "7")
# What claims need beside the figures.
EVIDENCE = ("miss_rates", "theorem3", "close_races")
# What the files' numbers of replications are meant for.
FULL = 200
QUICK = 20


@dataclass(frozen=True, eq=False)
class Chapter:
    """An experiment of the paper with its result and its picture."""

    name: str
    experiment: Experiment
    panels: tuple[PanelData, ...]
    picture: Path

    @property
    def seconds(self) -> float:
        """Core-seconds spent on it."""
        return sum(panel.seconds for panel in self.panels)


@dataclass(frozen=True, eq=False)
class Reproduction:
    """Everything the report shows."""

    chapters: tuple[Chapter, ...]
    findings: tuple[tuple[Claim, Finding], ...]
    seed: int
    replications: int

    @property
    def summary(self) -> str:
        """How many claims had which verdict, in one line."""
        verdicts = [finding.verdict for _, finding in self.findings]
        return (
            f"{len(verdicts)} claims: {verdicts.count(REPRODUCED)} reproduced, "
            f"{verdicts.count(DEPENDS)} that depend on an unstated setting, "
            f"{verdicts.count(NOT_REPRODUCED)} not reproduced (seed {self.seed}, {self.replications} replications)"
        )


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
    """Run figures and claims into a folder; see ``bandstrap paper``."""
    names = [check_choice(name, "FIGURE", "bandstrap paper", FIGURES) for name in dict.fromkeys(figures)] or [*FIGURES]
    wanted = [f"figure{name}" for name in names] + [*EVIDENCE] * (set(names) == set(FIGURES))
    experiments = {name: read_experiment(paper_file(f"{name}.toml")) for name in wanted}
    share = replications / FULL
    needed = sum(check_replications(each.panels, each, share) for each in experiments.values())
    check_memory(needed, "replications", "bandstrap paper", replications)
    announce_memory(needed, shown=progress)
    out.mkdir(parents=True, exist_ok=True)  # better to learn before hours of play that nothing can be written
    plans = {
        name: [plan_panel(panel, experiment, seed, share) for panel in experiment.panels]
        for name, experiment in experiments.items()
    }
    flat = [plan for several in plans.values() for plan in several]
    data = iter(run_experiments(flat, Store(out / "blocks"), executor=executor, progress=progress))
    chapters = tuple(
        finish_chapter(name, experiments[name], plans[name], data, out / "figures", progress) for name in experiments
    )
    tell("checking claims", shown=progress)
    evidence = {panel.panel.name: panel for chapter in chapters for panel in chapter.panels}
    reproduction = Reproduction(chapters, tuple(examine(evidence)), seed, replications)
    write_text(out / "claims.json", claims_as_json(reproduction))
    write_report(reproduction, errata(), out / "report.html")
    tell("", shown=progress)
    return reproduction


def finish_chapter(
    name: str,
    experiment: Experiment,
    plans: Sequence[PanelPlan],
    data: Iterator[PanelData],
    folder: Path,
    progress: bool,
) -> Chapter:
    """Take a chapter's panels off the data and draw them, unless they have been drawn from the same numbers."""
    panels = tuple(next(data) for _ in plans)
    picture = folder / f"{name}.svg"
    drawn_from = picture.with_suffix(".key")
    drawn_by = digest_sources(Path(str(files("bandstrap.plots"))))
    shows = json.dumps([experiment.model_dump_json(), [block.about for plan in plans for block in plan], drawn_by])
    pictures = (picture, picture.with_suffix(".png"))
    if read(drawn_from) != state(shows, pictures):
        from bandstrap.plots.panels import plot_panels
        from bandstrap.plots.style import save_figure

        tell(f"drawing {name}", shown=progress)
        drawn_from.unlink(missing_ok=True)  # half-way, the pictures are those of neither state
        figure = plot_panels(experiment.title, panels)
        for path in pictures:
            save_figure(figure, path)
        write_text(drawn_from, state(shows, pictures).decode())
    return Chapter(name, experiment, panels, picture)


def state(shows: str, pictures: Sequence[Path]) -> bytes:
    """Digest of what pictures show and of the pictures themselves: one that was replaced or damaged is drawn anew."""
    digest = hashlib.sha256(shows.encode())
    for path in pictures:
        digest.update(hashlib.sha256(read(path)).digest())
    return digest.hexdigest().encode()


def read(path: Path) -> bytes:
    """What a file holds; nothing if there is none."""
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
        "claims": [
            {
                "name": claim.name,
                "section": claim.section,
                "where": claim.where,
                "says": claim.says,
                "verdict": finding.verdict,
                "setting": finding.setting,
                "statistic": finding.statistic,
                "error_rate": finding.power.error_rate,
                "detects": finding.power.detects,
                "numbers": [finite(dataclasses.asdict(number)) for number in finding.numbers],
            }
            for claim, finding in reproduction.findings
        ],
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def finite(numbers: dict[str, Any]) -> dict[str, Any]:
    """Infinite numbers as null, which JSON has."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in numbers.items()
    }

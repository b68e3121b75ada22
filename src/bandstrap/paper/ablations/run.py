"""Run the ablations, and say what each change costs on the same rewards."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy.special import stdtrit

from bandstrap.basics.arrays import Floats
from bandstrap.basics.storage import write_text
from bandstrap.engine.work.memory import check_memory
from bandstrap.engine.work.progress import announce_memory, progress_bar, tell
from bandstrap.experiments.folder import Folder, planned
from bandstrap.experiments.panels import PanelData, read_panels
from bandstrap.experiments.plan import plan_panel
from bandstrap.experiments.runner import run_plans
from bandstrap.experiments.spec import check_replications, read_experiment
from bandstrap.pages import write_page
from bandstrap.paper.ablations.factorial import PICTURES, factorial
from bandstrap.paper.reproduce import FULL, Chapter, Pictures, draw_chapter, finite, paper_file, pictures_of

QUESTIONS = (
    "correction",
    "weights",
    "resamples",
    "interpolation",
    "delta",
    "schedule",
    "tails",
    "skew",
    "matters",
    "linear",
)
# Intervals hold the ratio with this probability each.
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Ratio:
    """Regret of a curve over that of the panel's first curve, which met the same rewards, with a confidence interval."""

    panel: str
    place: float | None
    curve: str
    ratio: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Ablation:
    """A question: its experiment with pictures, and what was found."""

    chapter: Chapter
    ratios: tuple[Ratio, ...]


def ablate(
    out: Path, *, seed: int, replications: int, executor: Executor | None = None, progress: bool = True
) -> tuple[Ablation, ...]:
    """Run every ablation into a folder, and write ``ablations.html`` and ``ablations.json``."""
    experiments = {name: read_experiment(paper_file(f"ablations/{name}.toml")) for name in QUESTIONS}
    experiments["factorial"] = factorial()
    share = replications / FULL
    needed = sum(check_replications(each.panels, each, share) for each in experiments.values())
    check_memory(needed, "replications", "bandstrap paper --ablations", replications)
    announce_memory(needed, shown=progress)
    plans = {
        name: [plan_panel(panel, experiment, seed, share) for panel in experiment.panels]
        for name, experiment in experiments.items()
    }
    flat = [plan for several in plans.values() for plan in several]
    home = Folder(out)
    words = ["paper", "--ablations", "--replications", str(replications), "--seed", str(seed)]
    ran = run_plans(flat, home, planned("Ablations", seed, words, flat), executor=executor, progress=progress)
    if ran.unfinished is not None:
        raise ran.unfinished
    data = iter(read_panels(flat, home))
    folder = out / "figures"
    found = []
    pictures = {name: pictures_of(name, experiments[name], folder) for name in QUESTIONS}
    with progress_bar(sum(len(each.files) for each in pictures.values()), shown=progress, of="pictures") as show:
        for name in QUESTIONS:
            chapter = Chapter(name, experiments[name], tuple(next(data) for _ in plans[name]), pictures[name])
            draw_chapter(chapter, plans[name], show)
            found.append(Ablation(chapter, ratios_of(chapter.panels)))
    panels = tuple(next(data) for _ in plans["factorial"])
    tell("drawing factorial", shown=progress)
    maps = draw_factorial(panels, folder)  # in place of pictures of the panels
    chapter = Chapter("factorial", experiments["factorial"], panels, Pictures(maps[0], maps, maps[0]))
    found.append(Ablation(chapter, ratios_of(panels, reference="practical, rademacher, B = 200")))
    write_text(out / "ablations.json", as_json(found, seed, replications))
    write_page(
        out / "ablations.html",
        "bandstrap.paper.ablations",
        "ablations.html.j2",
        ablations=found,
        seed=seed,
        confidence=CONFIDENCE,
    )
    tell("", shown=progress)
    return tuple(found)


def ratios_of(panels: Sequence[PanelData], reference: str | None = None) -> tuple[Ratio, ...]:
    """Ratios of all curves of regret to the first, or to the one named; at each swept value, or at the horizon."""
    ratios = []
    for panel in panels:
        if panel.panel.plot == "bounds":
            continue
        base = panel[reference] if reference else panel.curves[0]
        places = (None,) if panel.panel.sweep is None else tuple(float(place) for place in base.places)
        for curve in panel.curves:
            if curve is not base:
                ratios += [Ratio(panel.panel.title, p, curve.label, *ratio(curve.at(p), base.at(p))) for p in places]
    return tuple(ratios)


def ratio(first: Floats, second: Floats) -> tuple[float, float, float]:
    """Ratio of two means over the same replications, and a confidence interval for it.

    Fieller's: the ratios ``r`` for which the mean of ``first - r second`` is not told from 0. It is from 0 to infinity
    where the second mean itself is not told from 0.
    """
    n = min(first.size, second.size)
    one, other = first[:n], second[:n]
    a, b = float(one.mean()), float(other.mean())
    square = float(stdtrit(n - 1, 0.5 + CONFIDENCE / 2)) ** 2 / n
    covariance = np.cov(one, other)
    # (a - r b)^2 <= square Var(one - r other), a quadratic in r
    p = b * b - square * covariance[1, 1]
    q = a * b - square * covariance[0, 1]
    c = a * a - square * covariance[0, 0]
    value = a / b if b else math.nan
    if p <= 0:
        return value, 0.0, math.inf
    root = math.sqrt(max(q * q - p * c, 0.0))
    return value, float((q - root) / p), float((q + root) / p)


def draw_factorial(panels: Sequence[PanelData], folder: Path) -> tuple[Path, ...]:
    """Heat maps: regret as a multiple of the best of a column."""
    from bandstrap.plots.league import plot_heatmap
    from bandstrap.plots.style import save_figure

    paths = []
    for i, (name, policies) in enumerate(PICTURES.items()):
        regret = np.array([[panel[label].at().mean() for panel in panels] for label in policies])
        multiples = regret / regret.min(axis=0)
        overall = np.exp(np.log(multiples).mean(axis=1, keepdims=True))
        overall /= overall.min()
        columns = ["all (geometric mean)", *(panel.panel.title for panel in panels)]
        title = f"Regret as a multiple of the best: {name}"
        figure = plot_heatmap(title, [*policies], columns, np.concatenate([overall, multiples], axis=1))
        path = folder / f"factorial{i}.svg"
        save_figure(figure, path)
        paths.append(path)
    return tuple(paths)


def as_json(found: Sequence[Ablation], seed: int, replications: int) -> str:
    """All ratios; nothing that differs between two runs with one seed."""
    content = {
        "seed": seed,
        "replications": replications,
        "confidence": CONFIDENCE,
        "ablations": [
            {
                "name": each.chapter.name,
                "title": each.chapter.experiment.title,
                "ratios": [finite(asdict(one)) for one in each.ratios],
            }
            for each in found
        ],
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

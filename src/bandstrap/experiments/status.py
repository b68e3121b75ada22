"""How far an experiment in a folder is, without reading a number of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bandstrap.experiments.choices import Choices
from bandstrap.experiments.folder import About, Folder, Planned, PlannedPanel, decisions
from bandstrap.experiments.merged import Merged
from bandstrap.experiments.runs import Word, words_of
from bandstrap.experiments.store import file_of


@dataclass(frozen=True)
class PanelStatus:
    """Pieces of a panel, by what has become of them."""

    name: str
    done: int
    running: int
    failed: int
    missing: int
    # Decisions still to be made.
    decisions_left: int

    @property
    def total(self) -> int:
        """All its pieces."""
        return self.done + self.running + self.failed + self.missing


@dataclass(frozen=True)
class Status:
    """How far an experiment is."""

    planned: Planned
    panels: tuple[PanelStatus, ...]
    # The runs that are going on.
    runs: tuple[Word, ...]
    # Why pieces failed, each reason once.
    reasons: tuple[str, ...]
    # Blocks that belong to no panel: of another file or seed, or played by other code.
    n_strays: int

    @property
    def decisions_left(self) -> int:
        """Decisions still to be made."""
        return sum(panel.decisions_left for panel in self.panels)

    @property
    def seconds_left(self) -> float | None:
        """Seconds until all is done at the speed of the runs so far; ``None`` while that is not known."""
        if self.decisions_left == 0:
            return 0.0
        rate = sum(run.decisions / max(run.now - run.started, 1e-9) for run in self.runs)
        return self.decisions_left / rate if rate > 0 else None


def status_of(folder: Folder) -> Status:
    """Look at a folder: at the names of its blocks, the lanes of its panels, and what runs say they are at."""
    planned = folder.read()
    words = list(words_of(folder.runs))
    running = {key for word in words if word.lives for key in word.running}
    failed = {key: reason for word in words for key, reason in word.failed.items()}
    # Blocks first: one that is merged meanwhile is then found among the panels, which are looked at later.
    blocks = {file.name for file in folder.blocks.iterdir()} if folder.blocks.is_dir() else set()
    merged = Merged(folder.panels)
    choices = Choices(folder.choices)
    panels = []
    known: set[str] = set()
    reasons: dict[str, None] = {}
    for panel in planned.panels:
        counts = dict.fromkeys(("done", "running", "failed", "missing"), 0)
        left = 0
        for about, key, is_merged in pieces_of(panel, merged):
            known.add(key)
            if (is_merged or key in blocks) and (not panel.choices or choices.has(about)):
                counts["done"] += 1
                continue
            left += decisions(about)
            if key in running:
                counts["running"] += 1
            elif key in failed:
                counts["failed"] += 1
                reasons[failed[key]] = None
            else:
                counts["missing"] += 1
        panels.append(PanelStatus(panel.name, **counts, decisions_left=left))
    strays = {name for name in blocks - known if not name.startswith(".")}  # a block that is being written has a dot
    return Status(planned, tuple(panels), tuple(word for word in words if word.lives), tuple(reasons), len(strays))


def pieces_of(panel: PlannedPanel, merged: Merged) -> Iterator[tuple[About, str, bool]]:
    """What each piece of a panel is about, its file, and whether a complete panel has it."""
    for curve in panel.curves:
        for point in curve.points:
            is_whole = merged.find(point.about) is not None
            is_partly = is_whole or merged.has_some(point.about)
            for about in point.pieces():
                yield about, file_of(about), is_whole or (is_partly and merged.find(about) is not None)

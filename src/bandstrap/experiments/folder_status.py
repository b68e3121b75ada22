"""Progress of an experiment in a folder, without reading any result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bandstrap.basics.display import Display, Displayed
from bandstrap.basics.text import duration
from bandstrap.experiments.choices import ChoiceFiles
from bandstrap.experiments.folder import CurvePoint, Folder, Planned, PlannedPanel, decisions
from bandstrap.experiments.lanes import NAME, Listing, file_of, lane_of, name_of, names_in, span
from bandstrap.experiments.merged import Merged
from bandstrap.experiments.runs import Heartbeat, words_of

# Reasons of failures that are shown.
MOST_REASONS = 5


@dataclass(frozen=True)
class PanelStatus:
    """Tasks of a panel, by what has become of them."""

    name: str
    done: int
    running: int
    failed: int
    missing: int
    # Decisions still to be made.
    decisions_left: int

    @property
    def total(self) -> int:
        """All its tasks."""
        return self.done + self.running + self.failed + self.missing


@dataclass(frozen=True, repr=False)
class FolderStatus(Displayed):
    """Progress of an experiment; prints as ``bandstrap status`` shows it."""

    folder: Path
    planned: Planned
    panels: tuple[PanelStatus, ...]
    # The runs that are going on.
    runs: tuple[Heartbeat, ...]
    # Why tasks failed, each reason once.
    reasons: tuple[str, ...]
    # Blocks that belong to no panel: of another file or seed, or played by other code.
    n_strays: int

    def __repr__(self) -> str:
        return str(self)

    @property
    def decisions_left(self) -> int:
        """Decisions still to be made."""
        return sum(panel.decisions_left for panel in self.panels)

    @property
    def seconds_left(self) -> float | None:
        """Seconds until all is done, at the speed of the runs so far; ``None`` if unknown."""
        if self.decisions_left == 0:
            return 0.0
        rate = sum(run.decisions / max(run.now - run.started, 1e-9) for run in self.runs)
        return self.decisions_left / rate if rate > 0 else None

    @property
    def is_complete(self) -> bool:
        """True if nothing is left to be done."""
        return self.decisions_left == 0

    def rows(self) -> list[dict[str, str | int]]:
        """Blocks of each panel by state."""
        return [
            {
                "panel": panel.name,
                "done": panel.done,
                "running": panel.running,
                "failed": panel.failed,
                "missing": panel.missing,
                "blocks": panel.total,
            }
            for panel in self.panels
        ]

    def _display(self) -> Display:
        rows = self.rows()
        if len(rows) > 1:
            rows.append({"panel": "all", **{name: sum(int(row[name]) for row in rows) for name in list(rows[0])[1:]}})
        warnings = [f"failed: {reason}" for reason in self.reasons[:MOST_REASONS]]
        if self.n_strays:
            place = self.folder / "blocks"
            warnings.append(
                f"{self.n_strays} more in {place} belong to another file or seed, or were played by other code"
            )
        title = f"{self.planned.title}, seed {self.planned.seed}"
        return Display([title], {name: [row[name] for row in rows] for name in rows[0]}, self._outlook(), warnings)

    def _outlook(self) -> list[str]:
        """Activity and remaining time."""
        if self.is_complete:
            return ["complete"]
        if not self.runs:
            return [f"no run is in progress; {self.planned.command(self.folder)} resumes"]
        said = [
            f"running on {run.host}, process {run.process}, with {run.workers} worker{'s' * (run.workers != 1)}"
            for run in self.runs
        ]
        if self.seconds_left is not None:
            said.append(f"{duration(self.seconds_left)} left, by the speed so far")
        return said


def status_of(folder: Folder) -> FolderStatus:
    """Look at a folder: at the names of its blocks, the series of its panels, and what runs say they are at."""
    planned = folder.read()
    words = list(words_of(folder.runs))
    place = Places(folder, words)
    panels = tuple(place.status_of(panel) for panel in planned.panels)
    return FolderStatus(
        folder.path,
        planned,
        panels,
        tuple(word for word in words if word.lives),
        reasons=tuple(place.reasons),
        n_strays=place.count_strays(planned),
    )


def replications_there(folder: Folder, panel: PlannedPanel) -> int:
    """Number of replications, from the first on, that every curve of a panel has; a curve that wants fewer has all it
    wants.
    """
    place = Places(folder, [])
    return min(place.reach(point) for curve in panel.curves for point in curve.points)


class Places:
    """Places where a task may be: in a block of whatever size, in a complete panel, with a run; or a run has given it
    up.
    """

    def __init__(self, folder: Folder, words: Sequence[Heartbeat]) -> None:
        self._running = {key for word in words if word.lives for key in word.running}
        self._failed = {key: reason for word in words for key, reason in word.failed.items()}
        # Blocks first: one that is merged meanwhile is then found among the panels, which are looked at later.
        self._listing = Listing(folder.blocks)
        self._listing.look()
        self._names = names_in(folder.blocks)
        self._merged = Merged(folder.panels, checked=False)
        self._choices = ChoiceFiles(folder.choices)
        # Why tasks failed, each reason once.
        self.reasons: dict[str, None] = {}

    def status_of(self, panel: PlannedPanel) -> PanelStatus:
        """State of the tasks of a panel."""
        counts = dict.fromkeys(("done", "running", "failed", "missing"), 0)
        left = 0
        for curve in panel.curves:
            for point in curve.points:
                for n, kind in self._kinds_of(point, with_choices=panel.choices):
                    counts[kind] += 1
                    left += 0 if kind == "done" else n
        return PanelStatus(panel.name, **counts, decisions_left=left)

    def _kinds_of(self, point: CurvePoint, *, with_choices: bool) -> Iterator[tuple[int, str]]:
        """The decisions of each task of a point, and what has become of it."""
        is_played = "first" in point.about
        lane = lane_of(point.about)
        first, last = span(point.about)
        of_one = decisions(point.about) // (last - first)
        lanes = [(each.first, each.last) for each in self._merged.lanes(lane)]
        for start, end in point.spans():
            key = name_of(lane, start, end) if is_played else file_of(point.about)
            is_block = self._listing.cover(lane, start, end) is not None if is_played else key in self._names
            is_there = is_block or any(begin <= start and end <= stop for begin, stop in lanes)
            if is_there and (not with_choices or self._choices.has(lane, start, end)):
                kind = "done"
            elif key in self._running:
                kind = "running"
            elif key in self._failed:
                kind = "failed"
                self.reasons[self._failed[key]] = None
            else:
                kind = "missing"
            yield of_one * (end - start), kind

    def reach(self, point: CurvePoint) -> int:
        """Replications of a point that are there without a gap from the first on."""
        spans = zip(point.spans(), self._kinds_of(point, with_choices=False), strict=True)
        missing = (start for (start, _), (_, kind) in spans if kind != "done")
        return next(missing, point.about["last"])

    def count_strays(self, planned: Planned) -> int:
        """Blocks of which no point of a plan has anything."""
        spans: dict[str, list[tuple[int, int]]] = {}
        for panel in planned.panels:
            for curve in panel.curves:
                for point in curve.points:
                    spans.setdefault(lane_of(point.about)[:32], []).append(span(point.about))
        count = 0
        for name in self._names:
            found = NAME.match(name)
            lane, first, last = (found[1], int(found[2]), int(found[3])) if found else (name.partition(".")[0], 0, 1)
            is_wanted = any(first < end and start < last for start, end in spans.get(lane, ()))
            count += not is_wanted and not name.startswith(".")  # one that is being written has a dot
        return count

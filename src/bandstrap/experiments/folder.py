"""The folder of an experiment: what is to be run, what has been, and by whom it is being run.

``plan.json`` says, of every point of every curve, all that its numbers depend on. Whoever reads the folder looks for just
that, and needs neither the file it came from, nor the policies and data named there, nor the same version of the code.
``blocks`` has finished tasks, ``panels`` complete panels (see :mod:`bandstrap.experiments.merged`), ``runs`` what goes on.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from bandstrap.basics.storage import NO_SEAL, locked, read_sealed, seal, write_bytes
from bandstrap.basics.text import shortened
from bandstrap.engine.simulator.blocks import BLOCK_SIZE, Block, Played
from bandstrap.errors import InvalidInput
from bandstrap.experiments.choices import ChoiceFiles
from bandstrap.experiments.grid import GridSettings
from bandstrap.experiments.lanes import SeriesAbout, file_of, lane_of, span
from bandstrap.experiments.merged import Merged, pieces_of, put_together
from bandstrap.experiments.plan import AnyBlock, Blocks, PanelPlan, keeps_choices
from bandstrap.experiments.runs import Run
from bandstrap.experiments.store import WORTH_WAITING, BlockStore, Finished
from bandstrap.experiments.toml import Strict

# Characters of the reason that is noted of a task that failed.
LONGEST_REASON = 300

FORMAT: Literal[1] = 1


class CurvePoint(Strict):
    """A point of a curve, or all of one of regret against rounds."""

    at: float | None
    about: SeriesAbout
    block_size: int = BLOCK_SIZE

    def pieces(self) -> Iterator[SeriesAbout]:
        """Subject of each task that is played."""
        if "first" not in self.about:
            yield self.about
            return
        for first, last in self.spans():
            yield {**self.about, "first": first, "last": last}

    def spans(self) -> Iterator[tuple[int, int]]:
        """The first replication of each task, and the one after its last; a measurement is one."""
        first, last = span(self.about)
        return ((start, min(start + self.block_size, last)) for start in range(first, last, self.block_size))


class PlannedCurve(Strict):
    """A curve."""

    label: str
    settings: GridSettings
    published: float | tuple[tuple[float, float], ...] | None
    # What regret is multiplied by: more than 1 where rewards were mapped to [0, 1].
    factor: float = 1.0
    points: tuple[CurvePoint, ...]


class PlannedPanel(Strict):
    """A panel."""

    name: str
    title: str
    plot: Literal["regret", "sweep", "bounds"]
    show: str
    # What is on the axis: a round, what is swept, or a sample size.
    axis: str
    settings: GridSettings
    # Whether every choice is kept.
    choices: bool = False
    curves: tuple[PlannedCurve, ...]


class Planned(Strict):
    """An experiment as a folder has it."""

    format: Literal[1] = FORMAT
    title: str
    seed: int
    # The command that runs it, but for the folder.
    words: tuple[str, ...]
    panels: tuple[PlannedPanel, ...]

    def command(self, folder: Path) -> str:
        """Command that resumes it."""
        if not self.words:
            return "the same call of bandstrap.experiments.run"
        program = [] if self.words[0] == "python" else ["bandstrap"]
        return shlex.join([*program, *self.words, "--out", str(folder)])


class NewerPlan(InvalidInput):
    """A plan of a later version, which is not to be replaced."""


class Folder:
    """A folder of results."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.blocks, self.panels, self.runs = path / "blocks", path / "panels", path / "runs"
        self.choices = path / "choices"
        self.plan = path / "plan.json"

    def read(self) -> Planned:
        """Read the plan of what is to be run; a folder that has no plan, or a damaged one, is refused."""
        if not self.plan.is_file():
            raise InvalidInput(
                f"{self.path} has no plan.json: it is not a folder made by bandstrap simulate --out, paper or league. "
                "In one of an older version the same command writes it, and keeps each block that this version plays alike."
            )
        try:
            content = json.loads(read_sealed(self.plan))
            if content["format"] > FORMAT:
                raise NewerPlan(
                    f"{self.plan} was written by a newer version of bandstrap, in format {content['format']}; this one "
                    f"reads {FORMAT}. Use that version, or another folder."
                )
            content.pop("seal")
            return Planned.model_validate(content)
        except NewerPlan:
            raise
        except (ValueError, KeyError, AttributeError, TypeError, ValidationError):
            raise InvalidInput(
                f"{self.plan} is damaged, or of another version: the command that made {self.path}, such as bandstrap "
                f"simulate FILE --out {self.path}, writes it again, and keeps each block that this version plays alike."
            ) from None

    def begin(self, planned: Planned, keep: Collection[PlannedPanel] = ()) -> str:
        """Note what is to be run; what a plan that was there before says else, in a sentence.

        Of that plan the panels are kept that are in ``keep``.
        """
        self.runs.mkdir(parents=True, exist_ok=True)
        with locked(self.runs):  # by another run that begins now; one that merges holds the folder itself
            return self._begin(planned, keep)

    def _begin(self, planned: Planned, keep: Collection[PlannedPanel]) -> str:
        before: Planned | None = None
        try:
            before = self.read()
        except NewerPlan:
            raise
        except InvalidInput:  # none, or a damaged one
            pass
        if before is not None and keep:
            names = {panel.name for panel in planned.panels}
            also = (panel for panel in before.panels if panel.name not in names and panel in keep)
            planned = planned.model_copy(update={"panels": (*planned.panels, *also)})
        content = planned.model_dump(mode="json")
        if before is not None and before.model_dump(mode="json") == content:
            return ""
        write_bytes(self.plan, seal(json.dumps(content | {"seal": NO_SEAL}).encode()))
        return "" if before is None else difference(before, planned)

    def incomplete(self, panel: str) -> InvalidInput:
        """The refusal of a folder from which somebody removes what was just written."""
        return InvalidInput(f"blocks of the panel {panel!r} were removed from {self.path} meanwhile: run it again.")

    def store(self, run: Run | None = None) -> FolderStore:
        """Store of finished work in this folder."""
        return FolderStore(self, run)

    def merge(self, plan: Blocks, store: FolderStore, waiting: Callable[[], None] = lambda: None) -> bool:
        """Put a complete panel into one file, and remove its blocks; whether it was complete."""
        self.path.mkdir(parents=True, exist_ok=True)
        with locked(self.path, waiting):
            store.listing.look()
            files = [file for block in plan for file in store.files_of(block)]
            is_whole = store.merged.merge(plan, store.read)
            if not is_whole or not all(store.choices.merge(block) for block in plan if keeps_choices(block)):
                return False
            for file in files:
                file.unlink(missing_ok=True)
            store.listing.forget(*files)
        return True


class FolderStore(BlockStore):
    """Finished work of a folder: blocks, and the panels they were merged into."""

    def __init__(self, folder: Folder, run: Run | None) -> None:
        super().__init__(folder.blocks)
        self.merged = Merged(folder.panels)
        self.choices = ChoiceFiles(folder.choices)
        self._run = run

    def read(self, about: SeriesAbout) -> Finished | None:
        """Read what is there of a task; whoever merges writes the panel before it removes the blocks, so these come
        first.
        """
        return super().read(about) or self.merged.load(about)

    def whole(self, block: AnyBlock) -> Finished | None:
        """The outcome of a whole block; ``None`` if any task is missing."""
        return self.whole_of(block.about, pieces_of(block))

    def whole_of(self, about: SeriesAbout, pieces: Iterable[SeriesAbout]) -> Finished | None:
        """The same, of what a block and its tasks are about."""
        return self.merged.load(about) or put_together(pieces, self.read)

    def files_of(self, block: AnyBlock) -> list[Path]:
        """The files that a block is in, of whatever size its tasks are, when the folder was last looked at."""
        first, last = span(block.about)
        kept = self.listing.of(lane_of(block.about))
        return [self.path(block), *(each.file for each in kept if first <= each.first and each.last <= last)]

    def has(self, block: AnyBlock) -> bool:
        """Return whether all of a block is in complete panels, and its choices are there if they are wanted."""
        return self.merged.find(block.about) is not None and self._has_choices(block)

    def _has_choices(self, block: AnyBlock) -> bool:
        return not keeps_choices(block) or self.choices.is_whole(block.about)

    def load(self, block: AnyBlock) -> Finished | None:
        """Load what is there of a task; if nothing, it will be run now."""
        found = super().load(block) if self._has_choices(block) else None
        if found is None and self._run is not None:
            self._run.begins(file_of(block.about))
        return found

    def save(self, block: AnyBlock, finished: Finished) -> None:
        """Keep a finished task, its choices first: what has none is played again."""
        if isinstance(block, Block) and isinstance(finished, Played) and finished.choices is not None:
            self.choices.save(block, finished.choices, lasting=finished.seconds >= WORTH_WAITING)
        super().save(block, finished)
        if self._run is not None:
            self._run.ends(file_of(block.about), decisions(block.about))

    def fail(self, block: AnyBlock, error: BaseException) -> None:
        """Note that a task could not be run."""
        if self._run is not None:
            self._run.fails(file_of(block.about), shortened(str(error), LONGEST_REASON) or type(error).__name__)


def planned(title: str, seed: int, words: Sequence[str], plans: Iterable[PanelPlan]) -> Planned:
    """Plan and command of a folder."""
    return Planned(title=title, seed=seed, words=tuple(words), panels=tuple(planned_panel(plan) for plan in plans))


def planned_panel(plan: PanelPlan) -> PlannedPanel:
    """A panel, as a folder has it."""
    panel = plan.panel
    axes = {"regret": "round", "sweep": panel.sweep.name if panel.sweep is not None else "", "bounds": "sample size"}
    curves = tuple(
        PlannedCurve(
            label=each.curve.label,
            settings=each.curve.settings,
            published=each.curve.published,
            points=tuple(
                CurvePoint(at=at, about=block.about, block_size=getattr(block, "size", BLOCK_SIZE))
                for at, block in zip(each.places, each.blocks, strict=True)
            ),
        )
        for each in plan.curves
    )
    return PlannedPanel(
        name=panel.name,
        title=panel.title,
        plot=panel.plot,
        show=panel.show,
        axis=axes[panel.plot],
        settings=panel.settings,
        choices=any(keeps_choices(block) for block in plan),
        curves=curves,
    )


def decisions(about: SeriesAbout) -> int:
    """Number of decisions of a block; a measurement counts as its rewards."""
    first, last = span(about)
    return (last - first) * about["horizon"] if "horizon" in about else about["replications"] * about["sample_size"]


def difference(before: Planned, now: Planned) -> str:
    """Difference between two plans, in a sentence."""
    old, new = ({panel.name: points_of([panel]) for panel in each.panels} for each in (before, now))
    same = sum(old.get(name) == points for name, points in new.items())
    gone = sum(name not in new for name in old)
    changed = len(new) - same
    if changed == gone == 0:
        return ""
    parts = [f"{changed} of {len(new)} panels differ or are new" if changed else "no panel differs"]
    if gone:
        parts.append(f"{gone} {'is' if gone == 1 else 'are'} no longer asked for")
    return (
        f"the file, the seed or the code has changed since the folder was last used: {', and '.join(parts)}; "
        "unchanged parts are not run again"
    )


def points_of(panels: Iterable[PlannedPanel]) -> list[SeriesAbout]:
    """Points of all panels."""
    return [point.about for panel in panels for curve in panel.curves for point in curve.points]

"""``bandstrap status``: how far an experiment is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bandstrap.cli.files import Format
from bandstrap.cli.terminal import FORMATS, complain, print_table, say, write_records
from bandstrap.errors import check_choice

ResultsFolder = Annotated[
    Path, typer.Argument(help="The folder that bandstrap simulate --out, paper or league wrote to.")
]
# Reasons of failures that are shown.
MOST_REASONS = 5


def status(folder: ResultsFolder, format: Format = "table") -> None:  # noqa: A002 - the flag's name
    """Show how far the experiment in a folder is: blocks done, running, failed and missing of each panel, and time left.

    The numbers themselves are not read: a block that was damaged counts as done until a run comes across it.
    """
    from bandstrap.experiments import status as look

    check_choice(format, "format", "bandstrap status", FORMATS)
    found = look(folder)
    rows = [
        {
            "panel": panel.name,
            "done": panel.done,
            "running": panel.running,
            "failed": panel.failed,
            "missing": panel.missing,
            "blocks": panel.total,
        }
        for panel in found.panels
    ]
    if format != "table":
        write_records(rows, format)
        return
    if len(rows) > 1:
        total = {name: sum(row[name] for row in rows) for name in list(rows[0])[1:]}  # type: ignore[misc]
        rows.append({"panel": "all", **total})
    print_table(
        list(rows[0]), [list(row.values()) for row in rows], title=f"{found.planned.title}, seed {found.planned.seed}"
    )
    for reason in found.reasons[:MOST_REASONS]:
        complain(f"failed: {reason}")
    if found.n_strays:
        complain(
            f"{found.n_strays} more in {folder}/blocks belong to another file or seed, or were played by other code"
        )
    if found.decisions_left == 0:
        say("complete")
        return
    for run in found.runs:
        say(f"running on {run.host}, process {run.process}, with {run.workers} worker{'s' * (run.workers != 1)}")
    if not found.runs:
        say(f"no run is in progress; {found.planned.command(folder)} goes on")
    elif found.seconds_left is not None:
        say(f"{duration(found.seconds_left)} left, by the speed so far")


def duration(seconds: float) -> str:
    """Time in the unit that suits it.

    >>> duration(0.2), duration(40), duration(400), duration(40_000)
    ('less than 1 s', '40 s', '7 min', '11 h')
    """
    if 0 < seconds < 1:
        return "less than 1 s"
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"

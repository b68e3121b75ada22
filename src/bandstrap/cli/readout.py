"""``bandstrap readout``: who won, how sure, and when to stop, from a log of decisions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bandstrap.cli.logs import ARM_HELP, GivenLog, reads_log
from bandstrap.cli.options import DirectionName
from bandstrap.cli.terminal import print_display, say, say_wrapped, write_json
from bandstrap.errors import brief, requirement

if TYPE_CHECKING:
    from bandstrap.evidence import Readout

OWNER = "bandstrap readout"
ComparedControl = Annotated[str | None, typer.Option(help="Arm that the others are compared with. Default: the first.")]
EpsilonOption = Annotated[float | None, typer.Option(help="Difference of mean rewards that does not matter.")]
PageOption = Annotated[Path | None, typer.Option("--html", help="File for the readout as a page with a picture.")]


@dataclass(frozen=True, kw_only=True)
class ReadoutLog(GivenLog):
    """A log; ``--arm`` means the column of arms here."""

    arm_column: Annotated[str | None, typer.Option("--arm", "--arm-column", help=ARM_HELP)] = None


def check_page(path: Path | None, owner: str) -> None:
    """Refuse a page that cannot be written, or whose name is that of something else, such as the log or a database."""
    from bandstrap.basics.storage import check_file

    if path is not None:
        check_file(path, "html", owner)
        if path.suffix.lower() not in (".html", ".htm"):
            raise requirement("html", owner, "a file whose name ends in .html", brief(str(path)))


@reads_log
def readout(
    given: ReadoutLog,
    control: ComparedControl = None,
    epsilon: EpsilonOption = None,
    direction: Annotated[DirectionName | None, typer.Option(help="Direction in which rewards are better.")] = None,
    html: PageOption = None,
) -> None:
    """Say which arm won, how sure that is, and whether to stop, from a log of an adaptive policy.

    All intervals hold at all times, for any changes of the arms' probabilities and of the rewards. A log that a live
    experiment exported needs no further options. Without --low and --high, rewards are taken to lie between 0 and 1; larger
    ones are treated as revenue and capped.
    """
    from bandstrap.evidence import LogEvidence
    from bandstrap.evidence import readout as read

    check_page(html, OWNER)
    source = given.open()
    low, high = given.ends(source, OWNER) or (None, None)
    which: Any = direction or source.direction or "max"
    state = LogEvidence(source.labels, low=low, high=high, cap=given.cap, direction=which)
    for batch in source.batches():
        state.update(batch.arms, batch.rewards, batch.weights, active=batch.active, times=batch.times)
    found = read(state, given.alpha, control=source.control if control is None else control, epsilon=epsilon)
    tell(replace(found, notes=source.notes), given.format, html, source.name, calendar=source.has_times)


def tell(found: Readout, format: str, html: Path | None, title: str, *, calendar: bool) -> None:  # noqa: A002
    """Print a readout, and write its page."""
    from bandstrap.readout.page import write_readout_page

    if html is not None:
        write_readout_page(found, html, title, calendar=calendar)
    if format == "json":
        write_json(found.to_dict())
        return
    effects, values = found.displays()
    print_display(effects)
    say("")
    print_display(values)
    if html is not None:
        say_wrapped(f"Page: {html}")

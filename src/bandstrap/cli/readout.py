"""``bandstrap readout``: who won, how sure, and when to stop, from a log of decisions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bandstrap.cli.logs import ARM_HELP, GivenLog, reads_log
from bandstrap.cli.options import DirectionName
from bandstrap.cli.terminal import print_display, say, say_wrapped, write_json

if TYPE_CHECKING:
    from bandstrap.evidence import Readout

ComparedControl = Annotated[str | None, typer.Option(help="Arm that the others are compared with. Default: the first.")]
EpsilonOption = Annotated[float | None, typer.Option(help="Difference of mean rewards that does not matter.")]
PageOption = Annotated[Path | None, typer.Option("--html", help="File for the readout as a page with a picture.")]


@dataclass(frozen=True, kw_only=True)
class ReadoutLog(GivenLog):
    """A log; ``--arm`` means the column of arms here."""

    arm_column: Annotated[str | None, typer.Option("--arm", "--arm-column", help=ARM_HELP)] = None


@reads_log
def readout(
    given: ReadoutLog,
    control: ComparedControl = None,
    epsilon: EpsilonOption = None,
    direction: Annotated[DirectionName | None, typer.Option(help="Direction in which rewards are better.")] = None,
    html: PageOption = None,
) -> None:
    """Say which arm won, how sure that is, and whether to stop, from a log of an adaptive policy.

    All intervals hold at all times, however the probabilities of the arms and the rewards changed. A log that a live
    experiment exported needs no further options. Without --low and --high, rewards lie between 0 and 1; larger ones are
    revenue, and capped.
    """
    from bandstrap.basics.storage import check_file
    from bandstrap.evidence import LogEvidence
    from bandstrap.evidence import readout as read

    owner = "bandstrap readout"
    if html is not None:
        check_file(html, "html", owner)
    source = given.open()
    low, high = given.low, given.high
    if low is high is given.cap is None and source.range is not None:
        low, high = source.range
    rule: dict[str, Any] = {
        "low": low,
        "high": high,
        "cap": given.cap,
        "direction": direction or source.direction or "max",
    }
    state = LogEvidence(source.labels, **rule)
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

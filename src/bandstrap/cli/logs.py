"""The options with which commands read a log of decisions, and the reading."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bandstrap.cli.options import split_labels
from bandstrap.errors import InvalidInput

if TYPE_CHECKING:
    from bandstrap.readout.log import DecisionLog

LogArgument = Annotated[
    Path,
    typer.Argument(
        help="Log of decisions, in their order: exported by a live experiment, or another CSV or Parquet file."
    ),
]
RewardColumn = Annotated[str | None, typer.Option("--reward", help="Column of rewards; an empty one never came.")]
Propensity = Annotated[
    str | None,
    typer.Option(
        help="Probability of each arm, as red=COLUMN,green=NUMBER; or one column of lists in the order of --arms; "
        "or, with two arms, one column of the arm chosen."
    ),
]
ArmsOption = Annotated[
    list[str] | None, typer.Option(help="Labels of the arms, as in a,b,c. Default: those in the file.")
]
TimeColumn = Annotated[str | None, typer.Option("--time", help="Column of times, in seconds since 1970.")]
ActiveColumn = Annotated[str | None, typer.Option("--active", help="Column that says whether a decision was shown.")]
LogSeparator = Annotated[str | None, typer.Option("--separator", help="Separator of columns of a CSV file.")]
LowOption = Annotated[float | None, typer.Option(help="Lowest possible reward.")]
HighOption = Annotated[float | None, typer.Option(help="Highest possible reward.")]
CapOption = Annotated[float | None, typer.Option(help="Cap of rewards that are not negative, such as revenue.")]
AlphaOption = Annotated[float, typer.Option(help="Error probability of all intervals together.")]


def open_given(
    log: Path,
    arm: str | None,
    reward: str | None,
    propensity: str | None,
    arms: list[str] | None,
    time: str | None,
    active: str | None,
    separator: str | None,
) -> DecisionLog:
    """The log that options describe; without any, one that a live experiment exported."""
    from bandstrap.readout.log import LogColumns, open_log

    given = {"--arm-column": arm, "--reward": reward, "--propensity": propensity}
    more = {"--arms": arms, "--time": time, "--active": active, "--separator": separator}
    if not any(given.values()):
        for name, value in more.items():
            if value:
                raise InvalidInput(f"{name} needs {', '.join(given)}: a log of a live experiment has its own columns.")
        return open_log(log)
    for name, value in given.items():
        if value is None:
            raise InvalidInput(f"A log that was made elsewhere needs {', '.join(given)}; {name} is missing.")
    labels = split_labels(arms)
    columns = LogColumns(
        str(arm), str(reward), str(propensity), None if labels is None else tuple(labels), time, active, separator
    )
    return open_log(log, columns)

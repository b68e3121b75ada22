"""Argument and options shared by all commands that read a log of decisions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from bandstrap.cli.options import ScreenFormat, split_labels
from bandstrap.errors import InvalidInput

if TYPE_CHECKING:
    from bandstrap.readout.log import DecisionLog

AlphaOption = Annotated[float, typer.Option(help="Error probability of all intervals together.")]
ARM_HELP = "Column of the arms' labels."


@dataclass(frozen=True, kw_only=True)
class GivenLog:
    """A log, the columns of one that no live experiment exported, the range of its rewards, and how to tell of it."""

    log: Annotated[
        Path,
        typer.Argument(
            help="Log of decisions, in their order: exported by a live experiment, or another CSV or Parquet file."
        ),
    ]
    arm_column: Annotated[str | None, typer.Option("--arm-column", help=ARM_HELP)] = None
    reward: Annotated[
        str | None, typer.Option(help="Column of rewards; an empty cell is a reward that never came.")
    ] = None
    propensity: Annotated[
        str | None,
        typer.Option(
            help=(
                "Probability of each arm, as red=COLUMN,green=NUMBER. Or one column of lists in the order of --arms. "
                "Or, with two arms, one column with the probability of the chosen arm."
            )
        ),
    ] = None
    arms: Annotated[
        list[str] | None, typer.Option(help="Labels of the arms, as in a,b,c. Default: those in the file.")
    ] = None
    time: Annotated[str | None, typer.Option(help="Column of times, in seconds since 1970.")] = None
    active: Annotated[str | None, typer.Option(help="Column that is true if a decision was shown.")] = None
    separator: Annotated[str | None, typer.Option(help="Separator of columns of a CSV file.")] = None
    low: Annotated[float | None, typer.Option(help="Lowest possible reward.")] = None
    high: Annotated[float | None, typer.Option(help="Highest possible reward.")] = None
    cap: Annotated[float | None, typer.Option(help="Cap for non-negative rewards, such as revenue.")] = None
    alpha: AlphaOption = 0.05
    format: ScreenFormat = "table"

    def ends(self, source: DecisionLog, owner: str) -> tuple[float, float] | None:
        """The range of rewards that options give, or else that of the experiment; ``None`` with a cap or without either."""
        from bandstrap.evidence.table import check_range

        if self.low is None and self.high is None:
            return source.range if self.cap is None else None
        if self.cap is not None:
            raise InvalidInput("--cap takes the place of --low and --high.")
        if self.low is None or self.high is None:
            raise InvalidInput(f"{'--high' if self.low is None else '--low'} needs the other end of the range as well.")
        return check_range(self.low, self.high, owner)

    def open(self) -> DecisionLog:
        """The log that options describe; without any, one that a live experiment exported."""
        from bandstrap.readout.log import LogColumns, open_log

        given = {"--arm-column": self.arm_column, "--reward": self.reward, "--propensity": self.propensity}
        more = {"--arms": self.arms, "--time": self.time, "--active": self.active, "--separator": self.separator}
        if not any(given.values()):
            for name, value in more.items():
                if value:
                    raise InvalidInput(
                        f"{name} needs {', '.join(given)}: a log of a live experiment has its own columns."
                    )
            return open_log(self.log)
        for name, value in given.items():
            if value is None:
                raise InvalidInput(f"A log from elsewhere needs {', '.join(given)}; {name} is missing.")
        labels = split_labels(self.arms)
        columns = LogColumns(
            str(self.arm_column),
            str(self.reward),
            str(self.propensity),
            None if labels is None else tuple(labels),
            self.time,
            self.active,
            self.separator,
        )
        return open_log(self.log, columns)


def reads_log(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command that takes a :class:`GivenLog` first be called with its fields, as options after its own."""
    first, *own = inspect.signature(command, eval_str=True).parameters.values()
    given = first.annotation
    hints = get_type_hints(given, include_extras=True)
    parameters = [
        inspect.Parameter(
            each.name,
            first.kind,
            default=inspect.Parameter.empty if each.default is MISSING else each.default,
            annotation=hints[each.name],
        )
        for each in fields(given)
    ]
    taken = [parameters[0], *own, *parameters[1:]]

    @functools.wraps(command)
    def called(**values: Any) -> None:
        command(given(**{each.name: values.pop(each.name) for each in fields(given)}), **values)

    vars(called)["__signature__"] = inspect.Signature(taken)
    called.__annotations__ = {each.name: each.annotation for each in taken}
    return called

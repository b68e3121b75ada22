"""``bandstrap bound``: a confidence bound for each group of a CSV file."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from bandstrap.cli.terminal import FORMATS, complain, print_table, write_records
from bandstrap.engine.interrupts import answered
from bandstrap.errors import InvalidInput, check_choice, check_number, sample_mean


def bound(
    data: Annotated[Path, typer.Argument(help="CSV file with a header line; '-' reads standard input.")],
    column: Annotated[str, typer.Option(help="Column with the rewards.")],
    by: Annotated[
        str | None,
        typer.Option(
            help="Column that names the group of a row; without it, one group. The result keeps its name, or "
            "calls it 'group' where the result has a column of that name already."
        ),
    ] = None,
    alpha: Annotated[float, typer.Option(help="Error probability of each bound.")] = 0.05,
    method: Annotated[
        str, typer.Option(help="Bound, with options: sign_flip, bootstrap:correction=sharp,sigma=2, ...")
    ] = "sign_flip",
    side: Annotated[str, typer.Option(help="upper, lower or two-sided.")] = "upper",
    sigma: Annotated[float | None, typer.Option(help="Noise scale, for bounds that need it.")] = None,
    support: Annotated[
        tuple[float, float] | None, typer.Option(help="Lowest and highest possible reward, for bounds that need them.")
    ] = None,
    drop_missing: Annotated[
        bool, typer.Option("--drop-missing", help="Leave out rows without a reward instead of refusing the file.")
    ] = False,
    format: Annotated[str, typer.Option(help="table, json or csv.")] = "table",  # noqa: A002 - the flag's name
) -> None:
    """Bound the mean of a CSV column, group by group.

    Warnings about data that contradict the bound's assumption go to standard error.
    """
    from bandstrap.bounds import BOUNDS
    from bandstrap.bounds.assumptions import doubts
    from bandstrap.bounds.bound import SIDES, check_support
    from bandstrap.calls import parse_call
    from bandstrap.tables import read_groups

    call = parse_call(method)
    check_choice(call.name, "method", "bandstrap bound", BOUNDS)
    check_choice(format, "format", "bandstrap bound", FORMATS)
    check_choice(side, "side", "bandstrap bound", SIDES)
    check_number(alpha, "alpha", "bandstrap bound", above=0, below=1)
    options = dict(call.options)
    if sigma is not None:
        options["sigma"] = check_number(sigma, "sigma", "bandstrap bound", above=0)
    if support is not None:
        options["support"] = support
    if "support" in options:
        options["support"] = check_support(options["support"], "bandstrap bound")
    hint = "use --drop-missing to leave such rows out"
    groups = read_groups(data, column, by, drop_missing=drop_missing, hint=hint)

    # Under the name of one of the result's columns, groups would be overwritten.
    name = "group" if by is None or by in RESULT_COLUMNS else by

    def row_of(group: str, rewards: list[float]) -> dict[str, Any]:
        warnings = doubts(call.name, rewards, options)
        impossible = any("cannot be computed" in text for text in warnings)
        found = None if impossible else evaluate(BOUNDS[call.name].function, call.name, rewards, alpha, side, options)
        return {
            name: group,
            "n": len(rewards),
            "mean": float(sample_mean(np.array(rewards))),
            **ends(found, side),
            "width": found.width if found else math.nan,
            "assumption": found.holds_for if found else "",
            "warning": "; ".join(warnings),
        }

    rows = answered(lambda: [row_of(group, rewards) for group, rewards in groups.items()])
    if format == "table":
        columns = [key for key in rows[0] if key != "warning"]
        title = f"{call.name}, {side}, alpha = {alpha:g}"
        print_table(columns, [[row[key] for key in columns] for row in rows], title=title)
    else:
        write_records(rows, format)
    for row in rows:
        if row["warning"]:
            prefix = f"{row[name]}: " if by else ""
            complain(f"warning: {prefix}{row['warning']}.")


# The result's columns beside the group, whatever the side.
RESULT_COLUMNS = ("n", "mean", "bound", "lower", "upper", "width", "assumption", "warning")


def evaluate(
    function: Callable[..., Any], name: str, rewards: list[float], alpha: float, side: str, options: dict[str, Any]
) -> Any:
    """Call a bound; an option it does not have is the user's mistake."""
    try:
        return function(rewards, alpha, side=side, **options)
    except TypeError as error:
        raise InvalidInput(f"The bound {name} does not take these options: {error}.") from None


def ends(found: Any, side: str) -> dict[str, float]:
    """The bound's value, or both ends if two-sided."""
    if side != "two-sided":
        return {"bound": found.value if found else math.nan}
    return {"lower": found.lower if found else math.nan, "upper": found.upper if found else math.nan}

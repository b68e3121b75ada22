"""``bandstrap compare``: how far the mean of each group of a table is from that of one of them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from bandstrap.cli.bound import (
    END_COLUMNS,
    NO_GROUP,
    RESULT_COLUMNS,
    GroupBound,
    check_drawable,
    draw,
    rounded,
    said_by,
    together,
)
from bandstrap.cli.files import (
    Column,
    Data,
    Decimal,
    DropMissing,
    Encoding,
    Format,
    InOrder,
    Missing,
    Separator,
    check_plot,
    read,
)
from bandstrap.cli.terminal import FORMATS, complain, print_table, say, write_records
from bandstrap.engine.interrupts import answered
from bandstrap.errors import AssumptionWarning, check_choice, check_count, sample_mean
from bandstrap.text import ONE, shortened

OWNER = "bandstrap compare"
# The result's columns beside the group.
COLUMNS = (*RESULT_COLUMNS, "difference", "control", "control_mean")


def compare(
    data: Data,
    column: Column,
    by: Annotated[str, typer.Option(help="Column that names the group of a row.")],
    control: Annotated[str, typer.Option(help="The group that all others are compared with.")],
    alpha: Annotated[float, typer.Option(help="Error probability, below 0.5: 0.05 for a confidence of 95 %.")] = 0.05,
    method: Annotated[
        str,
        typer.Option(help="welch, permutation, bootstrap, bootstrap_t, betting, union:bound=clopper_pearson, ..."),
    ] = "welch",
    side: Annotated[str, typer.Option(help="upper, lower or two-sided.")] = "two-sided",
    support: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Lowest and highest possible reward of all groups, for methods that need them."),
    ] = None,
    simultaneous: Annotated[
        str | None,
        typer.Option(help="Let alpha hold for all groups together: bonferroni, or max with --method bootstrap."),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(help="Seed of what is drawn, and with which rows are shuffled for bounds that walk through them."),
    ] = 0,
    in_order: InOrder = False,
    separator: Separator = None,
    decimal: Decimal = ".",
    na: Missing = None,
    encoding: Encoding = None,
    drop_missing: DropMissing = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the differences with their bounds into this file (png, svg, pdf).")
    ] = None,
    format: Format = "table",  # noqa: A002 - the flag's name
) -> None:
    """Bound the mean of a column in each group minus its mean in the control.

    "proved" is the probability of a miss that is proved for data as the method assumes them; "assumption fails" stands
    where these data contradict that, and a warning on standard error says how. Without --simultaneous, alpha is that of
    each bound alone.
    """
    from bandstrap.bounds import BOUNDS, DIFFERENCES
    from bandstrap.bounds import compare as compare_groups
    from bandstrap.bounds.bound import SIDES, check_level, check_support
    from bandstrap.bounds.differences.compare import SIMULTANEOUS
    from bandstrap.bounds.differences.doubts import find_difference_doubts
    from bandstrap.calls import parse_call

    call = parse_call(method)
    check_choice(call.name, "method", OWNER, DIFFERENCES)
    check_choice(format, "format", OWNER, FORMATS)
    check_choice(side, "side", OWNER, SIDES)
    check_level(alpha, OWNER)
    check_count(seed, "seed", OWNER, at_least=0, at_most=None)
    if simultaneous is not None:
        check_choice(simultaneous, "simultaneous", OWNER, SIMULTANEOUS)
    check_plot(plot, OWNER)
    options: dict[str, Any] = dict(call.options)
    if DIFFERENCES[call.name].draws or simultaneous == "max":
        options.setdefault("rng", seed)
    if call.name == "union":
        check_choice(options.setdefault("bound", "betting"), "bound", OWNER, BOUNDS)
    if support is not None:
        options["support"] = check_support(support, OWNER)
    if BOUNDS[options["bound"]].walks if call.name == "union" else call.name == "betting":
        options.setdefault("seed", None if in_order else seed)
    groups = read(
        data,
        column,
        by,
        drop_missing=drop_missing,
        separator=separator,
        decimal=decimal,
        missing=na,
        encoding=encoding,
    )

    def found_bounds() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssumptionWarning)  # the notes say it
            return compare_groups(
                groups,
                control,
                alpha,
                method=call.name,
                side=cast("Any", side),
                simultaneous=cast("Any", simultaneous),
                **options,
            )

    comparison = answered(found_bounds)
    found = []
    for group, bound in comparison.bounds.items():
        names = group or NO_GROUP, control or NO_GROUP
        doubts = find_difference_doubts(
            call.name, groups[group], groups[control], options, names, in_order=options.get("seed") is None
        )
        found.append(
            GroupBound(
                group=group,
                n=groups[group].size,
                mean=float(bound.mean),
                bound=bound,
                warnings=[doubt.sentence for doubt in doubts] + said_by(bound),
                contradicted=bool(doubts) or bool(bound.excludes_all),
                method=call.name,
            )
        )
    if plot is not None:
        check_drawable(found)
    name = "group" if by in COLUMNS else by
    title = f"{call.name}, {side}, alpha = {alpha:g}"
    if simultaneous is not None:
        title += f" for all together ({simultaneous})"
    title += "".join(
        f", rows {order}" for order in dict.fromkeys(bound.order for bound in comparison.bounds.values()) if order
    )
    joint = together(found) if simultaneous is not None else None
    of_control = float(sample_mean(groups[control]))
    if format == "table":
        print_table(
            [name, "n", "mean", "difference", *END_COLUMNS[side], "width", "proved", "assumption"],
            [
                [
                    each.group,
                    each.n,
                    float(sample_mean(groups[each.group])),
                    each.mean,
                    *each.ends(side),
                    rounded(each.width),
                    each.proved,
                    each.holds_for,
                ]
                for each in found
            ],
            title=f"{title}; {shortened(control, ONE)}: n = {groups[control].size}, mean = {of_control:.6g}",
            digits=[each.digits for each in found],
        )
        if joint is not None:
            say(
                f"That any of the bounds misses has a probability of at most {joint:.4g}, by the sum of what is proved."
            )
    else:
        more = {"together": joint} if simultaneous is not None else {}
        write_records(
            [
                {name: each.group}
                | each.record(side)
                | {
                    "mean": float(sample_mean(groups[each.group])),
                    "difference": each.mean,
                    "control": control,
                    "control_mean": of_control,
                }
                | more
                for each in found
            ],
            format,
        )
    for each in found:
        if each.warnings:
            # Of both, since a sentence may be on either.
            pair = f"{each.group or NO_GROUP} minus {control or NO_GROUP}"
            complain(f"warning: {pair}: {'; '.join(each.warnings)}.")
    if plot is not None:
        draw(found, plot, title, f"{column} minus that of {control}")

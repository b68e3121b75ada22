"""``bandstrap bound``: a confidence bound for each group of a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

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
    read,
)
from bandstrap.cli.groups import (
    NO_GROUP,
    RESULT_COLUMNS,
    GroupBound,
    check_drawable,
    check_request,
    draw,
    how_read,
    title_of,
    warn_of,
    write_bounds,
)
from bandstrap.engine.interrupts import answered
from bandstrap.errors import check_choice, check_number

if TYPE_CHECKING:
    from bandstrap.bounds import GroupBounds

OWNER = "bandstrap bound"


def bound(
    data: Data,
    column: Column,
    by: Annotated[
        str | None,
        typer.Option(
            help="Column that names the group of a row; without it, one group. The result keeps its name, or "
            "calls it 'group' where the result has a column of that name already."
        ),
    ] = None,
    alpha: Annotated[
        float, typer.Option(help="Error probability of each bound, below 0.5: 0.05 for a confidence of 95 %.")
    ] = 0.05,
    method: Annotated[
        str,
        typer.Option(
            help="auto, which takes for each group what suits its rewards and says why, or a bound with options: "
            "sign_flip, bootstrap:correction=sharp,sigma=2, ..."
        ),
    ] = "auto",
    side: Annotated[str, typer.Option(help="upper, lower or two-sided.")] = "upper",
    simultaneous: Annotated[
        str | None,
        typer.Option(
            help="Let alpha hold for all groups together: bonferroni, or max with --method auto or bootstrap."
        ),
    ] = None,
    sigma: Annotated[
        float | None, typer.Option(help="Noise scale, for --method auto and for bounds that need it.")
    ] = None,
    support: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Lowest and highest possible reward, for --method auto and for bounds that need them."),
    ] = None,
    symmetric: Annotated[
        bool, typer.Option("--symmetric", help="State that rewards are symmetric about their mean, for --method auto.")
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(help="Seed of random orders and of draws. Default: derived from the data.", show_default=False),
    ] = None,
    in_order: InOrder = False,
    separator: Separator = None,
    decimal: Decimal = ".",
    na: Missing = None,
    encoding: Encoding = None,
    drop_missing: DropMissing = False,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the groups with their bounds into this file (png, svg, pdf).")
    ] = None,
    format: Format = "table",  # noqa: A002 - the flag's name
) -> None:
    """Bound the mean of a column, group by group.

    "proved" is the probability of a miss that is proved for data as the bound assumes them; "assumption fails" stands
    where these data contradict that, and a warning on standard error says how. Sequential bounds read the rows in several
    random orders; with --in-order they keep that of the file, and hold at all sample sizes together. Without
    --simultaneous, alpha is that of each bound alone.
    """
    from bandstrap.bounds import BOUNDS, bound_groups
    from bandstrap.bounds.bound import check_support, takes_seed, without_warnings
    from bandstrap.bounds.groups import AUTO
    from bandstrap.calls import parse_call

    call = parse_call(method)
    check_choice(call.name, "method", OWNER, (AUTO, *BOUNDS))
    check_request(OWNER, side=side, alpha=alpha, simultaneous=simultaneous, seed=seed, plot=plot, format=format)
    options = dict(call.options)
    if sigma is not None:
        options["sigma"] = check_number(sigma, "sigma", OWNER, above=0)
    if support is not None:
        options["support"] = support
    if "support" in options:
        options["support"] = check_support(options["support"], OWNER)
    if symmetric:
        options["symmetric"] = True
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
    is_max, is_auto = simultaneous == "max", call.name == AUTO
    options = how_read(
        options,
        seed,
        in_order=in_order,
        draws=is_max or is_auto or takes_seed(call.name),
        walks=not is_max and (is_auto or BOUNDS[call.name].walks),
    )

    def found_bounds() -> GroupBounds:
        with without_warnings():
            return bound_groups(
                groups,
                alpha,
                method=call.name,
                side=cast("Any", side),
                simultaneous=cast("Any", simultaneous),
                **options,
            )

    bounds = answered(found_bounds)
    found = [
        GroupBound(
            group=group,
            n=groups[group].size,
            mean=float(bound.mean),
            bound=bound,
            method=bound.name,
            reason=bounds.choices[group].reason if call.name == AUTO else None,
        )
        for group, bound in bounds.bounds.items()
    ]
    if plot is not None:
        check_drawable(found)
    # Under the name of one of the result's columns, groups would be overwritten.
    name = "group" if by is None or by in RESULT_COLUMNS else by
    title = title_of(found, call.name, side, alpha, simultaneous)
    write_bounds(found, name, side, format, title=title, joint=bounds.guarantee, is_joint=simultaneous is not None)
    warn_of(found, lambda each: (each.group or NO_GROUP) if by else "")
    if plot is not None:
        draw(found, plot, title, f"mean of {column}")

"""``bandstrap bound``: a confidence bound for each group of a table."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from bandstrap.cli.files import (
    ColumnOption,
    Data,
    Decimal,
    DropMissing,
    Encoding,
    Format,
    InOrder,
    Missing,
    OldMissing,
    Separator,
    read,
)
from bandstrap.cli.groups import check_request, find_and_tell, how_read
from bandstrap.cli.options import DataSeed, Plot, SideOption, SimultaneousName
from bandstrap.errors import check_choice, check_number

OWNER = "bandstrap bound"


def bound(
    data: Data,
    column: ColumnOption,
    by: Annotated[
        str | None,
        typer.Option(
            help=(
                "Column that names the group of a row; without it, one group. The result keeps this name, or uses "
                "'group' if it has another column of that name."
            )
        ),
    ] = None,
    alpha: Annotated[
        float, typer.Option(help="Error probability of each bound, below 0.5: 0.05 for a confidence of 95 %.")
    ] = 0.05,
    method: Annotated[
        str,
        typer.Option(
            help="The bound with its options, such as sign_flip or bootstrap:correction=sharp,sigma=2; see bandstrap list "
            "bounds. auto chooses for each group by the stated properties of the rewards, and gives the reason."
        ),
    ] = "auto",
    side: SideOption = "two-sided",
    simultaneous: Annotated[
        SimultaneousName | None,
        typer.Option(help="Make alpha hold for all groups together; max is for --method auto or bootstrap."),
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
    seed: DataSeed = None,
    in_order: InOrder = False,
    separator: Separator = None,
    decimal: Decimal = ".",
    missing: Missing = None,
    na: OldMissing = None,
    encoding: Encoding = None,
    drop_missing: DropMissing = False,
    plot: Plot = None,
    format: Format = "table",  # noqa: A002 - the flag's name
) -> None:
    """Bound the mean of a column, group by group.

    Bounds are two-sided, with half of alpha on each side, unless --side makes them one-sided. "proved" is the proved
    probability of a miss for data as the bound assumes them. "assumption fails" means that these data contradict the
    assumption; a warning on standard error says how. Sequential bounds read the rows in several random orders. With
    --in-order they keep the order of the file, and hold at all sample sizes together. Without --simultaneous, each bound
    has error probability alpha by itself.
    """
    from bandstrap.basics.calls import parse_call
    from bandstrap.bounds import BOUNDS, bound_groups
    from bandstrap.bounds.bound import check_support, takes_seed
    from bandstrap.bounds.shown import AUTO

    call = parse_call(method)
    check_choice(call.name, "method", OWNER, (AUTO, *BOUNDS))
    check_request(OWNER, alpha=alpha, seed=seed, plot=plot)
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
        missing=missing,
        old_missing=na,
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

    find = partial(bound_groups, groups, alpha, method=call.name, side=side, simultaneous=simultaneous, **options)
    find_and_tell(find, by, format, plot, f"mean of {column}")

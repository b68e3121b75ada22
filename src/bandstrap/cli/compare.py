"""``bandstrap compare``: how far the mean of each group of a table is from that of one of them."""

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
from bandstrap.errors import check_choice

OWNER = "bandstrap compare"


def compare(
    data: Data,
    column: ColumnOption,
    by: Annotated[str, typer.Option(help="Column that names the group of a row.")],
    control: Annotated[str, typer.Option(help="The group that all others are compared with.")],
    alpha: Annotated[float, typer.Option(help="Error probability, below 0.5: 0.05 for a confidence of 95 %.")] = 0.05,
    method: Annotated[
        str,
        typer.Option(
            help="The method with its options, such as permutation or union:bound=clopper_pearson; see bandstrap list "
            "differences."
        ),
    ] = "welch",
    side: SideOption = "two-sided",
    support: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Lowest and highest possible reward of all groups, for methods that need them."),
    ] = None,
    simultaneous: Annotated[
        SimultaneousName | None,
        typer.Option(help="Make alpha hold for all groups together; max is for --method bootstrap."),
    ] = None,
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
    """Bound the mean of a column in each group minus its mean in the control.

    Bounds are two-sided, with half of alpha on each side, unless --side makes them one-sided. "proved" is the proved
    probability of a miss for data as the method assumes them. "assumption fails" means that these data contradict the
    assumption; a warning on standard error says how. Without --simultaneous, each bound has error probability alpha by
    itself.
    """
    from bandstrap.basics.calls import parse_call
    from bandstrap.bounds import BOUNDS, DIFFERENCES
    from bandstrap.bounds import compare as compare_groups
    from bandstrap.bounds.bound import check_support, takes_seed

    call = parse_call(method)
    check_choice(call.name, "method", OWNER, DIFFERENCES)
    check_request(OWNER, alpha=alpha, seed=seed, plot=plot)
    options = dict(call.options)
    if call.name == "union":
        check_choice(options.setdefault("bound", "betting"), "bound", OWNER, BOUNDS)
    if support is not None:
        options["support"] = check_support(support, OWNER)
    of_union = options["bound"] if call.name == "union" else None
    options = how_read(
        options,
        seed,
        in_order=in_order,
        draws=simultaneous == "max" or (DIFFERENCES[call.name].draws if of_union is None else takes_seed(of_union)),
        walks=call.name == "betting" if of_union is None else BOUNDS[of_union].walks,
    )
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

    given = {"method": call.name, "side": side, "simultaneous": simultaneous, **options}
    find = partial(compare_groups, groups, control, alpha, **given)
    find_and_tell(find, by, format, plot, f"mean of {column} minus that of {control}")

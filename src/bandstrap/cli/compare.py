"""``bandstrap compare``: how far the mean of each group of a table is from that of one of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

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
from bandstrap.errors import check_choice, sample_mean
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
    from bandstrap.bounds.bound import check_support, takes_seed, without_warnings
    from bandstrap.calls import parse_call

    call = parse_call(method)
    check_choice(call.name, "method", OWNER, DIFFERENCES)
    check_request(OWNER, side=side, alpha=alpha, simultaneous=simultaneous, seed=seed, plot=plot, format=format)
    options: dict[str, Any] = dict(call.options)
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
        missing=na,
        encoding=encoding,
    )

    def found_bounds() -> Any:
        with without_warnings():
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
        found.append(
            GroupDifference(
                group=group,
                n=groups[group].size,
                mean=float(bound.mean),
                bound=bound,
                method=call.name,
                group_mean=float(sample_mean(groups[group])),
                control=control,
                control_mean=float(sample_mean(groups[control])),
            )
        )
    if plot is not None:
        check_drawable(found)
    name = "group" if by in COLUMNS else by
    title = title_of(found, call.name, side, alpha, simultaneous)
    of_control = f"n = {groups[control].size}, mean = {found[0].control_mean:.6g}"
    write_bounds(
        found,
        name,
        side,
        format,
        title=f"{title}; {shortened(control, ONE)}: {of_control}",
        joint=comparison.guarantee,
        is_joint=simultaneous is not None,
    )
    # Of both, since a sentence may be on either.
    warn_of(found, lambda each: f"{each.group or NO_GROUP} minus {control or NO_GROUP}")
    if plot is not None:
        draw(found, plot, title, f"mean of {column} minus that of {control}")


@dataclass(frozen=True, kw_only=True)
class GroupDifference(GroupBound):
    """A group with the bound on its mean minus that of the control; ``mean`` is the difference of the two."""

    group_mean: float
    control: str
    control_mean: float

    @property
    def means(self) -> dict[str, float]:
        """The columns of means."""
        return {"mean": self.group_mean, "difference": self.mean}

    def record(self, side: str) -> dict[str, Any]:
        """All of it, for machines."""
        of_control = {"control": self.control, "control_mean": self.control_mean}
        return super().record(side) | self.means | of_control

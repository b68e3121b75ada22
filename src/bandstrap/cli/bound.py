"""``bandstrap bound``: a confidence bound for each group of a table."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
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
    check_plot,
    read,
)
from bandstrap.cli.terminal import FORMATS, complain, print_table, write_records
from bandstrap.engine.interrupts import answered
from bandstrap.errors import AssumptionWarning, InvalidInput, check_choice, check_count, check_number, sample_mean

if TYPE_CHECKING:
    from bandstrap.bounds import Bound

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
        str, typer.Option(help="Bound, with options: sign_flip, bootstrap:correction=sharp,sigma=2, ...")
    ] = "sign_flip",
    side: Annotated[str, typer.Option(help="upper, lower or two-sided.")] = "upper",
    sigma: Annotated[float | None, typer.Option(help="Noise scale, for bounds that need it.")] = None,
    support: Annotated[
        tuple[float, float] | None, typer.Option(help="Lowest and highest possible reward, for bounds that need them.")
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Seed with which rows are shuffled, for bounds that walk through them.")
    ] = 0,
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
    where these data contradict that, and a warning on standard error says how. A bound that walks through the rows is
    given them in an order drawn with --seed, unless --in-order says that theirs has no meaning.
    """
    from bandstrap.bounds import BOUNDS
    from bandstrap.bounds.bound import SIDES, check_level, check_support
    from bandstrap.calls import parse_call

    call = parse_call(method)
    check_choice(call.name, "method", OWNER, BOUNDS)
    check_choice(format, "format", OWNER, FORMATS)
    check_choice(side, "side", OWNER, SIDES)
    check_level(alpha, OWNER)
    check_count(seed, "seed", OWNER, at_least=0, at_most=None)
    options = dict(call.options)
    if sigma is not None:
        options["sigma"] = check_number(sigma, "sigma", OWNER, above=0)
    if support is not None:
        options["support"] = support
    if "support" in options:
        options["support"] = check_support(options["support"], OWNER)
    check_plot(plot, OWNER)
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
    shuffle = None if in_order else seed
    found = answered(
        lambda: [
            bound_group(group, np.array(rewards), call.name, alpha, side, options, shuffle)
            for group, rewards in groups.items()
        ]
    )
    if plot is not None:
        check_drawable(found)
    # Under the name of one of the result's columns, groups would be overwritten.
    name = "group" if by is None or by in RESULT_COLUMNS else by
    title = f"{call.name}, {side}, alpha = {alpha:g}"
    orders = dict.fromkeys(each.bound.order for each in found if each.bound is not None and each.bound.order)
    title += "".join(f", rows {order}" for order in orders)
    if format == "table":
        print_table(
            [name, "n", "mean", *END_COLUMNS[side], "width", "proved", "assumption"],
            [
                [each.group, each.n, each.mean, *each.ends(side), rounded(each.width), each.proved, each.holds_for]
                for each in found
            ],
            title=title,
            digits=[each.digits for each in found],
        )
    else:
        write_records([{name: each.group} | each.record(side) for each in found], format)
    for each in found:
        if each.warnings:
            prefix = f"{each.group or 'rows without a group'}: " if by else ""
            complain(f"warning: {prefix}{'; '.join(each.warnings)}.")
    if plot is not None:
        draw(found, plot, title, column)


# The result's columns beside the group, whatever the side.
END_COLUMNS = {"upper": ("bound",), "lower": ("bound",), "two-sided": ("lower", "upper")}
RESULT_COLUMNS = ("n", "mean", "bound", "lower", "upper", "width", "guarantee", "order", "assumption", "warning")


@dataclasses.dataclass(frozen=True)
class GroupBound:
    """A group with its bound, or without one where its rewards rule that out; and what speaks against it."""

    group: str
    n: int
    mean: float
    bound: Bound | None
    warnings: list[str]
    contradicted: bool

    def ends(self, side: str) -> list[float]:
        """The bound's value, or both ends if two-sided."""
        if self.bound is None:
            return [math.nan] * len(END_COLUMNS[side])
        return [float(self.bound.lower), float(self.bound.upper)] if side == "two-sided" else [self.bound.value]

    @property
    def width(self) -> float:
        """The bound's width."""
        return float(self.bound.width) if self.bound is not None else math.nan

    @property
    def guarantee(self) -> float | None:
        """The miss probability that is proved, unless these data contradict the assumption or cannot show enough."""
        if self.bound is None or self.contradicted or self.bound.notes:
            return None
        return self.bound.guarantee

    @property
    def proved(self) -> str | None:
        """The same in words."""
        if self.contradicted:
            return "assumption fails"
        if self.bound is not None and self.bound.notes:
            return "not known"
        return None if self.guarantee is None else f"<= {self.guarantee:.4g}"

    @property
    def holds_for(self) -> str:
        """The assumption."""
        return self.bound.holds_for if self.bound is not None else ""

    @property
    def digits(self) -> int:
        """Digits that tell the mean from the bound: three of the width."""
        largest = max([abs(self.mean), *(abs(end) for end in self.ends("two-sided") if math.isfinite(end))])
        width = abs(self.width)
        if not (math.isfinite(width) and width > 0 and math.isfinite(largest)):
            return FEWEST_DIGITS
        return min(max(FEWEST_DIGITS, math.floor(math.log10(largest) - math.log10(width)) + 3), 17)

    def record(self, side: str) -> dict[str, Any]:
        """All of it, for machines."""
        return {
            "n": self.n,
            "mean": self.mean,
            **dict(zip(END_COLUMNS[side], self.ends(side), strict=True)),
            "width": self.width,
            "guarantee": self.guarantee,
            "order": self.bound.order if self.bound is not None else None,
            "assumption": self.holds_for,
            "warning": "; ".join(self.warnings),
        }


FEWEST_DIGITS = 4


def rounded(width: float) -> float:
    """A width needs no more digits than others, however many tell its ends apart."""
    return float(f"{width:.{FEWEST_DIGITS}g}")


def bound_group(
    group: str, rewards: Any, name: str, alpha: float, side: str, options: dict[str, Any], seed: int | None
) -> GroupBound:
    """Bound the mean of one group; its rewards are shuffled with the seed if their order matters and there is one."""
    from bandstrap.bounds import BOUNDS
    from bandstrap.bounds.assumptions import find_doubts
    from bandstrap.bounds.bound import is_walk, order_name, shuffled

    in_order = seed is None and "seed" not in options
    doubts = find_doubts(name, rewards, options, in_order=in_order)
    found = None
    if not any(doubt.refutes for doubt in doubts):
        function = BOUNDS[name].function
        if BOUNDS[name].walks:
            found = evaluate(function, name, rewards, alpha, side, {"seed": seed} | options)
        elif is_walk(name, options) and seed is not None:  # by its phi, which takes the order it is given
            found = evaluate(function, name, shuffled(rewards, seed), alpha, side, options)
            found = dataclasses.replace(found, order=order_name(seed))
        else:
            found = evaluate(function, name, rewards, alpha, side, options)
    notes = list(found.notes) if found is not None else []
    is_empty = found is not None and bool(found.excludes_all)
    return GroupBound(
        group=group,
        n=len(rewards),
        mean=float(sample_mean(rewards)),
        bound=found,
        warnings=[doubt.sentence for doubt in doubts] + notes,
        contradicted=bool(doubts) or is_empty,
    )


def evaluate(
    function: Callable[..., Any], name: str, rewards: Any, alpha: float, side: str, options: dict[str, Any]
) -> Any:
    """Call a bound; an option it does not have is the user's mistake."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssumptionWarning)  # the notes say it
            return function(rewards, alpha, side=side, **options)
    except TypeError as error:
        raise InvalidInput(f"The bound {name} does not take these options: {error}.") from None


def check_drawable(found: list[GroupBound]) -> None:
    """Refuse more groups, or larger numbers, than a picture holds."""
    from bandstrap.plots.groups import LARGEST_NUMBER, MOST_GROUPS

    if len(found) > MOST_GROUPS:
        raise InvalidInput(f"--plot draws at most {MOST_GROUPS} groups. Got {len(found)} instead.")
    for each in found:
        for number in (each.mean, *each.ends("two-sided")):
            if math.isfinite(number) and abs(number) > LARGEST_NUMBER:
                raise InvalidInput(f"--plot draws numbers up to {LARGEST_NUMBER:g}. Got {number:g} instead.")


def draw(found: list[GroupBound], path: Path, title: str, column: str) -> None:
    """Draw the groups into a file."""
    from bandstrap.plots.groups import Interval, plot_groups
    from bandstrap.plots.style import save_figure

    intervals = []
    for each in found:
        lower, upper = each.ends("two-sided")
        intervals.append(Interval(each.group, each.n, each.mean, lower, upper, each.contradicted))
    save_figure(plot_groups(intervals, title, f"mean of {column}"), path)
    complain(f"wrote {path}")

"""``bandstrap bound``: a confidence bound for each group of a table."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable
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
    check_plot,
    read,
)
from bandstrap.cli.terminal import FORMATS, complain, print_table, say, write_records
from bandstrap.engine.interrupts import answered
from bandstrap.errors import AssumptionWarning, InvalidInput, check_choice, check_count, check_number, sample_mean
from bandstrap.text import listed

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
        int,
        typer.Option(
            help="Seed with which rows are shuffled, for bounds that walk through them, and of --simultaneous max."
        ),
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
    given them in an order drawn with --seed, unless --in-order says that theirs has no meaning. Without --simultaneous,
    alpha is that of each bound alone.
    """
    from bandstrap.bounds import BOUNDS
    from bandstrap.bounds.bound import SIDES, check_level, check_support
    from bandstrap.bounds.differences.compare import SIMULTANEOUS
    from bandstrap.bounds.groups import AUTO
    from bandstrap.calls import parse_call

    call = parse_call(method)
    check_choice(call.name, "method", OWNER, (AUTO, *BOUNDS))
    if simultaneous is not None:
        check_choice(simultaneous, "simultaneous", OWNER, SIMULTANEOUS)
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
    if symmetric:
        options["symmetric"] = True
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
    if simultaneous == "max":
        options.setdefault("rng", seed)
        found = answered(lambda: bound_largest(groups, call.name, alpha, side, options))
    else:
        level = alpha / len(groups) if simultaneous == "bonferroni" else alpha
        found = answered(lambda: bound_each(groups, call.name, level, side, options, shuffle))
    if plot is not None:
        check_drawable(found)
    # Under the name of one of the result's columns, groups would be overwritten.
    name = "group" if by is None or by in RESULT_COLUMNS else by
    title = f"{call.name}, {side}, alpha = {alpha:g}"
    if simultaneous is not None:
        title += f" for all together ({simultaneous})"
    orders = dict.fromkeys(each.bound.order for each in found if each.bound is not None and each.bound.order)
    title += "".join(f", rows {order}" for order in orders)
    joint = together(found) if simultaneous is not None else None
    if format == "table":
        chosen = call.name == AUTO
        print_table(
            [name, "n", "mean", *END_COLUMNS[side], "width", *["method"] * chosen, "proved", "assumption"],
            [
                [
                    each.group,
                    each.n,
                    each.mean,
                    *each.ends(side),
                    rounded(each.width),
                    *[each.method] * chosen,
                    each.proved,
                    each.holds_for,
                ]
                for each in found
            ],
            title=title,
            digits=[each.digits for each in found],
        )
        for sentence in reasons(found) if chosen else []:
            say(sentence)
        if joint is not None:
            say(
                f"That any of the bounds misses has a probability of at most {joint:.4g}, by the sum of what is proved."
            )
    else:
        more = {"together": joint} if simultaneous is not None else {}
        write_records([{name: each.group} | each.record(side) | more for each in found], format)
    for each in found:
        if each.warnings:
            prefix = f"{each.group or NO_GROUP}: " if by else ""
            complain(f"warning: {prefix}{'; '.join(each.warnings)}.")
    if plot is not None:
        draw(found, plot, title, column)


# What rows without a group are called in sentences.
NO_GROUP = "rows without a group"
# The result's columns beside the group, whatever the side.
END_COLUMNS = {"upper": ("bound",), "lower": ("bound",), "two-sided": ("lower", "upper")}
RESULT_COLUMNS = (
    "n",
    "mean",
    "bound",
    "lower",
    "upper",
    "width",
    "guarantee",
    "order",
    "assumption",
    "method",
    "reason",
    "together",
    "warning",
)


@dataclasses.dataclass(frozen=True)
class GroupBound:
    """A group with its bound, or without one where its rewards rule that out; and what speaks against it."""

    group: str
    n: int
    mean: float
    bound: Bound | None
    warnings: list[str]
    contradicted: bool
    method: str = ""
    reason: str | None = None
    is_guess: bool = False

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
        if self.bound is None or self.contradicted or self.bound.notes or self.is_guess:
            return None
        return self.bound.guarantee

    @property
    def proved(self) -> str | None:
        """The same in words."""
        if self.contradicted:
            return "assumption fails"
        if self.bound is not None and (self.bound.notes or self.is_guess):
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
            "method": self.method,
            "reason": self.reason,
            "warning": "; ".join(self.warnings),
        }


FEWEST_DIGITS = 4


def rounded(width: float) -> float:
    """A width needs no more digits than others, however many tell its ends apart."""
    return float(f"{width:.{FEWEST_DIGITS}g}")


def bound_each(
    groups: dict[str, Any], name: str, level: float, side: str, options: dict[str, Any], seed: int | None
) -> list[GroupBound]:
    """Bound the mean of each group by the method asked for, or by what is chosen for it."""
    from bandstrap.bounds.groups import AUTO, choices_of

    choices = choices_of(groups, level, name, cast("Any", side), options)
    found = []
    for group, rewards in groups.items():
        choice = choices[group]
        each = bound_group(group, rewards, choice.method, level, side, dict(choice.options), seed)
        if name == AUTO:
            said = [] if choice.guess is None else [choice.guess]
            each = dataclasses.replace(
                each, warnings=each.warnings + said, reason=choice.reason, is_guess=choice.guess is not None
            )
        found.append(each)
    return found


def bound_largest(
    groups: dict[str, Any], name: str, alpha: float, side: str, options: dict[str, Any]
) -> list[GroupBound]:
    """Bounds on all means at the quantile of the largest multiplier sum."""
    from bandstrap.bounds import bound_groups
    from bandstrap.bounds.groups import AUTO

    found = bound_groups(groups, alpha, method=name, side=cast("Any", side), simultaneous="max", **options)
    return [
        GroupBound(
            group=group,
            n=groups[group].size,
            mean=float(bound.mean),
            bound=bound,
            warnings=said_by(bound),
            contradicted=False,
            method=bound.name,
            reason=found.choices[group].reason if name == AUTO else None,
        )
        for group, bound in found.bounds.items()
    ]


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
    return GroupBound(
        group=group,
        n=len(rewards),
        mean=float(sample_mean(rewards)),
        bound=found,
        warnings=[doubt.sentence for doubt in doubts] + ([] if found is None else said_by(found)),
        contradicted=bool(doubts) or (found is not None and bool(found.excludes_all)),
        method=name,
    )


def said_by(bound: Bound) -> list[str]:
    """What a bound says of itself: what the sample cannot show, and why it is infinite."""
    return list(bound.notes) + ([] if bound.why_infinite is None else [bound.why_infinite])


def together(found: list[GroupBound]) -> float | None:
    """What is proved of the probability that any bound misses, if each of them proves something."""
    from bandstrap.bounds.differences.difference import of_all

    return of_all(each.guarantee for each in found)


def reasons(found: list[GroupBound]) -> list[str]:
    """Why each group has the bound it has, one sentence for all that have the same."""
    groups: dict[tuple[str, str | None], list[str]] = {}
    for each in found:
        groups.setdefault((each.method, each.reason), []).append(each.group or NO_GROUP)
    if len(groups) == 1:
        return [f"{method} because {reason}." for method, reason in groups]
    return [f"{listed(names)}: {method} because {reason}." for (method, reason), names in groups.items()]


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

"""``bandstrap bound``: a confidence bound for each group of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
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
    title_of,
    warn_of,
    write_bounds,
)
from bandstrap.engine.interrupts import answered
from bandstrap.errors import check_choice, check_number, sample_mean

if TYPE_CHECKING:
    from bandstrap.bounds import Bound, Choice

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
    from bandstrap.bounds.bound import check_support
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
    title = title_of(found, call.name, side, alpha, simultaneous)
    write_bounds(found, name, side, format, title=title, is_joint=simultaneous is not None)
    warn_of(found, lambda each: (each.group or NO_GROUP) if by else "")
    if plot is not None:
        draw(found, plot, title, f"mean of {column}")


def bound_each(
    groups: dict[str, Any], name: str, level: float, side: str, options: dict[str, Any], seed: int | None
) -> list[GroupBound]:
    """Bound the mean of each group by the method asked for, or by what is chosen for it."""
    from bandstrap.bounds.groups import AUTO, choices_of

    choices = choices_of(groups, level, name, cast("Any", side), options)
    found = [bound_group(group, rewards, choices[group], level, side, seed) for group, rewards in groups.items()]
    if name != AUTO:
        return found
    return [replace(each, reason=choices[each.group].reason, guess=choices[each.group].guess) for each in found]


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
            method=bound.name,
            reason=found.choices[group].reason if name == AUTO else None,
        )
        for group, bound in found.bounds.items()
    ]


def bound_group(group: str, rewards: Any, choice: Choice, alpha: float, side: str, seed: int | None) -> GroupBound:
    """Bound the mean of one group, unless its rewards rule the bound out."""
    from bandstrap.bounds.assumptions import find_doubts

    in_order = seed is None and "seed" not in choice.options
    doubts = find_doubts(choice.method, rewards, choice.options, in_order=in_order)
    is_refuted = any(doubt.refutes for doubt in doubts)
    return GroupBound(
        group=group,
        n=len(rewards),
        mean=float(sample_mean(rewards)),
        bound=None if is_refuted else evaluate(choice, rewards, alpha, side, seed),
        doubts=doubts,
        method=choice.method,
    )


def evaluate(choice: Choice, rewards: Any, alpha: float, side: str, seed: int | None) -> Bound:
    """Call a bound; rewards are shuffled with the seed if their order matters and there is one."""
    from bandstrap.bounds import BOUNDS
    from bandstrap.bounds.bound import bound_by_name, is_walk, order_name, shuffled, without_warnings

    def call(rewards: Any, options: Mapping[str, Any]) -> Bound:
        with without_warnings():
            return bound_by_name(choice.method, rewards, alpha, cast("Any", side), options)

    if BOUNDS[choice.method].walks:
        return call(rewards, {"seed": seed} | dict(choice.options))
    if is_walk(choice.method, choice.options) and seed is not None:  # by its phi, which takes the order it is given
        return replace(call(shuffled(rewards, seed), choice.options), order=order_name(seed))
    return call(rewards, choice.options)

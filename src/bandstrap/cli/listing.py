"""``bandstrap list``: the names that other commands take."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Annotated, Literal

import typer

from bandstrap.basics.calls import Options, format_value
from bandstrap.basics.text import unmarked
from bandstrap.cli.options import Format
from bandstrap.cli.terminal import print_entries, write_records

ListedKind = Literal["policies", "environments", "bounds", "differences", "methods", "weights"]


def listing(
    kind: Annotated[ListedKind, typer.Argument(help="Names to list.")],
    format: Format = "table",  # noqa: A002 - the flag's name
) -> None:
    """List policies, environments, bounds, or the methods and weights of the bootstrap quantile.

    'bounds' are on one mean, 'differences' on the difference of two means. 'methods' and 'weights' are those of the
    bootstrap quantile. Options follow the name of an entry, as in ucb1:sigma=2.
    """
    records = entries(kind)
    if format == "table":
        print_entries(records)
    else:
        write_records(records, format)


def entries(kind: ListedKind) -> Sequence[dict[str, str]]:
    """A record for each name: what it is and what it takes, as text."""
    if kind == "policies":
        from bandstrap.policies import CONTEXTUAL_POLICIES, LINEAR_POLICIES, POLICIES

        return [
            {
                "name": name,
                "summary": first_line(policy),
                "plays": policy.plays,
                "options": describe(policy.parameters()),
            }
            for registry in (POLICIES, LINEAR_POLICIES, CONTEXTUAL_POLICIES)
            for name, policy in registry.items()
        ]
    if kind == "environments":
        from bandstrap.names import NAMED_ENVIRONMENTS

        return [
            {"name": name, "summary": first_line(cls), "options": describe(cls.call_parameters())}
            for name, cls in NAMED_ENVIRONMENTS.items()
        ]
    if kind == "bounds":
        from bandstrap.bounds import BOUNDS

        return [
            {
                "name": name,
                "summary": unmarked(entry.summary),
                "rewards": " and ".join(entry.assumes) or "any",
                "needs": ", ".join(entry.needs).replace("|", " or ") or "nothing",
            }
            for name, entry in BOUNDS.items()
        ]
    if kind == "differences":
        from bandstrap.bounds import DIFFERENCES

        return [{"name": name, "summary": unmarked(entry.summary)} for name, entry in DIFFERENCES.items()]
    from bandstrap.multipliers import METHODS, WEIGHTS

    return [{"name": name} for name in (METHODS if kind == "methods" else WEIGHTS)]


def first_line(thing: object) -> str:
    """First line of the docstring, without its markup; empty where Python was told to leave docstrings out (-OO)."""
    return unmarked((inspect.getdoc(thing) or "").partition("\n")[0])


def describe(options: Options) -> str:
    """Options as text; those without a default by name alone."""
    return ", ".join(
        name if value is inspect.Parameter.empty else f"{name}={format_value(value)}" for name, value in options.items()
    )

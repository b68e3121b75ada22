"""``bandstrap list``: what is available."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import typer

from bandstrap.calls import format_value
from bandstrap.cli.terminal import print_table
from bandstrap.errors import check_choice

KINDS = ("policies", "environments", "bounds", "differences", "methods", "weights")


def listing(kind: Annotated[str, typer.Argument(help=f"What to list: {', '.join(KINDS)}.")]) -> None:
    """List policies, environments, bounds on a mean or on a difference, or what the bootstrap quantile can do."""
    check_choice(kind, "kind", "bandstrap list", KINDS)
    if kind == "policies":
        from bandstrap.policies import LINEAR_POLICIES, POLICIES

        rows = [
            (name, policy.plays, describe(policy.parameters()), first_line(policy))
            for registry in (POLICIES, LINEAR_POLICIES)
            for name, policy in registry.items()
        ]
        print_table(("policy", "plays", "options and their defaults", "what it is"), rows)
    elif kind == "environments":
        from bandstrap.names import NAMED_ENVIRONMENTS

        print_table(
            ("environment", "options and their defaults", "what it is"),
            [(name, describe(cls.call_parameters()), first_line(cls)) for name, cls in NAMED_ENVIRONMENTS.items()],
        )
    elif kind == "bounds":
        from bandstrap.bounds import BOUNDS

        rows = [
            (
                name,
                " and ".join(entry.assumes) or "any",
                ", ".join(entry.needs).replace("|", " or ") or "nothing",
                entry.summary,
            )
            for name, entry in BOUNDS.items()
        ]
        print_table(("bound", "rewards", "needs", "what it is"), rows)
    elif kind == "differences":
        from bandstrap.bounds import DIFFERENCES

        print_table(("difference", "what it is"), [(name, entry.summary) for name, entry in DIFFERENCES.items()])
    else:
        from bandstrap.multipliers import METHODS, WEIGHTS

        print_table((kind,), [(name,) for name in (METHODS if kind == "methods" else WEIGHTS)])


def first_line(thing: Any) -> str:
    """First line of the docstring, without its markup; empty where Python was told to leave docstrings out (-OO)."""
    return (inspect.getdoc(thing) or "").partition("\n")[0].replace("``", "")


def describe(options: dict[str, Any]) -> str:
    """Options as text; those without a default by name alone."""
    return ", ".join(
        name if value is inspect.Parameter.empty else f"{name}={format_value(value)}" for name, value in options.items()
    )

"""``bandstrap list``: what there is."""

from __future__ import annotations

from typing import Annotated

import typer

from bandstrap.cli.terminal import print_table
from bandstrap.errors import check_choice


def listing(kind: Annotated[str, typer.Argument(help="What to list: bounds, methods or weights.")]) -> None:
    """List bounds, or the methods and weights of the bootstrap quantile."""
    check_choice(kind, "kind", "bandstrap list", ("bounds", "methods", "weights"))
    if kind == "bounds":
        from bandstrap.bounds import BOUNDS

        rows = [
            (name, entry.assumes, ", ".join(entry.needs).replace("|", " or ") or "nothing", entry.summary)
            for name, entry in BOUNDS.items()
        ]
        print_table(("bound", "rewards", "needs", "what it is"), rows)
        return
    from bandstrap.multipliers import METHODS, WEIGHTS

    print_table((kind,), [(name,) for name in (METHODS if kind == "methods" else WEIGHTS)])

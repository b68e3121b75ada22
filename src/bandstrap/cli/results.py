"""``bandstrap results``: the numbers of an experiment as one table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bandstrap.cli.files import Format
from bandstrap.cli.simulate import write_rows
from bandstrap.cli.status import Results
from bandstrap.cli.terminal import FORMATS, complain, print_table, write_records
from bandstrap.errors import InvalidInput, check_choice, requirement
from bandstrap.storage import check_file, write_bytes

KINDS = (".csv", ".parquet")


def results(
    folder: Results,
    format: Format = "table",  # noqa: A002 - the flag's name
    out: Annotated[
        Path | None, typer.Option(help="A file to write the table to, .csv or .parquet, instead.", show_default=False)
    ] = None,
    curves: Annotated[
        bool, typer.Option("--curves", help="Regret at every recorded round, not the last alone.")
    ] = False,
) -> None:
    """Show what the experiment in a folder found: a row for every panel, curve and place, a column for all that is varied.

    The same experiment with the same seed gives the same table, whoever played it and however often that was stopped.
    """
    check_choice(format, "format", "bandstrap results", FORMATS)
    if out is not None:
        if out.suffix.lower() not in KINDS:
            raise requirement("out", "bandstrap results", "a file that ends in .csv or .parquet", str(out))
        check_file(out, "out", "bandstrap results")
    from bandstrap.experiments.folder import Folder
    from bandstrap.experiments.tidy import tidy

    home = Folder(folder)
    planned = home.read()
    store = home.store()
    table = tidy(planned, store, every_round=curves)
    for file in store.merged.damaged:
        complain(f"{file} is damaged; {planned.command(folder)} plays again what it had")
    if table.incomplete:
        n = sum(len(panel.curves) for panel in planned.panels)
        panel, curve = table.incomplete[0]
        complain(
            f"{len(table.incomplete)} of {n} curves are not complete and left out, such as {curve!r} of the panel "
            f"{panel!r}; bandstrap status {folder} shows what is missing"
        )
    if not table.rows:
        raise InvalidInput(f"{folder} has no complete curve yet.")
    if out is not None and out.suffix.lower() == ".parquet":
        import io

        content = io.BytesIO()
        table.frame().write_parquet(content)
        write_bytes(out, content.getvalue())
    elif out is not None:
        write_rows(out, table.rows)
    elif format == "table":
        title = f"{planned.title}, seed {planned.seed}"
        print_table(table.columns, [[row[name] for name in table.columns] for row in table.rows], title=title)
    else:
        write_records(table.rows, format)

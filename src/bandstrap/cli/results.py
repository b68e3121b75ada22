"""``bandstrap results``: the numbers of an experiment as one table."""

from __future__ import annotations

import io
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bandstrap.basics.storage import check_file, whole_file
from bandstrap.cli.files import Format
from bandstrap.cli.status import ResultsFolder
from bandstrap.cli.terminal import FORMATS, complain, print_display, write_csv, write_records
from bandstrap.errors import InvalidInput, check_choice, requirement

if TYPE_CHECKING:
    from bandstrap.experiments.api import Results
    from bandstrap.experiments.folder import FolderStore, Planned

KINDS = (".csv", ".parquet")


def results(
    folder: ResultsFolder,
    format: Format = "table",  # noqa: A002 - the flag's name
    out: Annotated[
        Path | None,
        typer.Option(help="File to write the table to instead of printing it, .csv or .parquet.", show_default=False),
    ] = None,
    curves: Annotated[
        bool, typer.Option("--curves", help="Regret at every recorded round, not only at the last.")
    ] = False,
    choices: Annotated[
        bool,
        typer.Option(
            "--choices",
            help="Every choice of every replication instead, where they were kept: a row for each replication in .parquet, "
            "for each round in .csv.",
        ),
    ] = False,
    panel: Annotated[
        list[str] | None, typer.Option(help="A panel; all by default. May be given more than once.", show_default=False)
    ] = None,
) -> None:
    """Show the results of the experiment in a folder: a row per panel, curve and place, a column per varied setting.

    The same experiment with the same seed gives the same table, on any machine and after any number of interruptions.
    """
    check_choice(format, "format", "bandstrap results", FORMATS)
    if out is not None:
        if out.suffix.lower() not in KINDS:
            raise requirement("out", "bandstrap results", "a file that ends in .csv or .parquet", str(out))
        check_file(out, "out", "bandstrap results")
    if choices and curves:
        raise InvalidInput("bandstrap results takes --curves or --choices, not both.")
    if choices and out is None and format != "csv":
        raise InvalidInput("bandstrap results --choices needs --out FILE.parquet, --out FILE.csv or --format csv.")
    from bandstrap.experiments.api import chosen_panels
    from bandstrap.experiments.folder import Folder

    home = Folder(folder)
    planned = chosen_panels(home.read(), panel, "bandstrap results")
    store = home.store()
    if choices:
        write_choices(planned, store, folder, out)
    else:
        write_results(planned, store, folder, out, format, every_round=curves)


def write_results(
    planned: Planned,
    store: FolderStore,
    folder: Path,
    out: Path | None,
    format: str,  # noqa: A002 - the flag's name
    *,
    every_round: bool,
) -> None:
    """Write the table of what was found, one curve in memory at a time unless it is shown."""
    from bandstrap.experiments.api import Results
    from bandstrap.experiments.tidy import Tidy

    table = Tidy(planned, store, every_round=every_round)
    curves = table.curves()
    first = next(curves, None)
    if first is not None:
        rows = chain(first, chain.from_iterable(curves))
        if out is not None and out.suffix.lower() == ".parquet":
            table.write(out, chain([first], curves))
        elif out is not None:
            with whole_file(out) as part, part.open("w", encoding="utf-8", newline="") as file:
                write_csv(rows, file)
        elif format == "table":
            kept = tuple(rows)  # after which it is known what is incomplete
            print_results(Results(planned.title, planned.seed, tuple(table.columns), kept, tuple(table.incomplete)))
        else:
            write_records(rows, format)
    complain_of(planned, folder, store.merged.damaged, table.incomplete)
    if first is None:
        raise InvalidInput(f"{folder} has no complete curve yet.")


def print_results(found: Results) -> None:
    """Print what a reader needs of the rows; all of it is in the other forms."""
    if found.rows:
        print_display(found._display())


def write_choices(planned: Planned, store: FolderStore, folder: Path, out: Path | None) -> None:
    """Write all choices, some at a time."""
    from bandstrap.experiments.tidy import choices_table

    table = choices_table(planned, store)
    complain_of(planned, folder, store.choices.damaged, table.incomplete)
    if not table.points:
        kept = any(panel.choices for panel in planned.panels)
        reason = "has no curve with complete choices yet" if kept else "was played without choices = true"
        raise InvalidInput(f"{folder} {reason}.")
    if out is not None and out.suffix.lower() == ".parquet":
        table.write(out)
    elif out is not None:
        with whole_file(out) as part, part.open("w", encoding="utf-8", newline="") as file:
            file.writelines(table.lines())
    else:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")
        sys.stdout.writelines(table.lines())


def complain_of(planned: Planned, folder: Path, damaged: list[Path], incomplete: list[tuple[str, str]]) -> None:
    """Say what is damaged, and what is left out."""
    for file in damaged:
        complain(f"{file} is damaged; {planned.command(folder)} plays again what it had")
    if incomplete:
        n = sum(len(panel.curves) for panel in planned.panels)
        panel, curve = incomplete[0]
        complain(
            f"{len(incomplete)} of {n} curves are not complete and left out, such as {curve!r} of the panel "
            f"{panel!r}; bandstrap status {folder} shows what is missing"
        )

"""All subcommands, and what they end with."""

from __future__ import annotations

import warnings
from concurrent.futures import BrokenExecutor

import typer

from bandstrap import __version__
from bandstrap.basics.deprecation import OLD_NAME
from bandstrap.cli import (
    bound,
    check,
    compare,
    coverage,
    evaluate,
    init,
    league,
    listing,
    live,
    paper,
    readout,
    results,
    serve,
    simulate,
    status,
)
from bandstrap.cli.terminal import Commands, any_streams, complain
from bandstrap.engine.work.pool import Unfinished
from bandstrap.errors import AccuracyWarning, AssumptionWarning, InvalidInput

app = typer.Typer(
    name="bandstrap",
    cls=Commands,
    help="Multi-armed bandits with bootstrapped upper confidence bounds, and confidence bounds on a mean.",
    no_args_is_help=True,
    rich_markup_mode=None,  # sentences are wrapped at the width of the terminal, not in a third of it
    pretty_exceptions_enable=False,
)
app.command("bound")(bound.bound)
app.command("compare")(compare.compare)
app.command("coverage")(coverage.coverage)
app.command("readout")(readout.readout)
app.command("evaluate")(evaluate.evaluate)
app.command("init")(init.init)
app.command("check")(check.check)
app.command("simulate")(simulate.simulate)
app.command("status")(status.status)
app.command("results")(results.results)
app.command("paper")(paper.paper)
app.command("league")(league.league)
app.command("list")(listing.listing)
app.add_typer(live.app)
app.command("serve")(serve.serve)
app.command("board")(serve.board)
app.add_typer(serve.token)


def show_version(wanted: bool) -> None:
    """Print the version and stop."""
    if wanted:
        typer.echo(f"bandstrap {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False, "--version", callback=show_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    """Take the options that come before a subcommand."""


def run() -> int:
    """Run the command line, and give its exit code: 2 after a user's mistake, 1 if work was given up."""
    warnings.showwarning = lambda message, *_, **__: complain(f"warning: {message}")
    for kind in (AccuracyWarning, AssumptionWarning):
        warnings.simplefilter("once", kind)
    warnings.filterwarnings("once", OLD_NAME, DeprecationWarning)
    try:
        with any_streams():
            app(prog_name="bandstrap")
    except (InvalidInput, OSError, MemoryError, BrokenExecutor) as error:
        complain(f"error: {describe(error)}")
        return 2
    except Unfinished as error:
        complain(f"error: {error}")
        return 1
    except SystemExit as end:
        if end.code == 130:  # typer's way of passing Ctrl-C on
            raise KeyboardInterrupt from None
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    return 0


def describe(error: Exception) -> str:
    """One sentence for an error of ours, of the file system, of memory, or of a worker."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    if isinstance(error, MemoryError):
        return f"there is not enough memory: {str(error) or 'nothing more can be allocated'}."
    return str(error)

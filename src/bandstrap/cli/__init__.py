"""The ``bandstrap`` command: one file per subcommand.

A user's mistake ends with one sentence on standard error and exit code 2, never with a traceback.
"""

from __future__ import annotations

import sys
import warnings

import typer

from bandstrap import __version__
from bandstrap.cli import bound, coverage, league, listing, paper, simulate
from bandstrap.cli.terminal import complain
from bandstrap.errors import AccuracyWarning, InvalidInput

app = typer.Typer(
    name="bandstrap",
    help="Bootstrapped upper confidence bounds: bandits and bounds whose optimism is read off the data.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("bound")(bound.bound)
app.command("coverage")(coverage.coverage)
app.command("simulate")(simulate.simulate)
app.command("paper")(paper.paper)
app.command("league")(league.league)
app.command("list")(listing.listing)


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


def main() -> None:
    """Run the command line."""
    warnings.showwarning = lambda message, *_, **__: complain(f"warning: {message}")
    warnings.simplefilter("once", AccuracyWarning)
    try:
        app()
    except (InvalidInput, OSError, MemoryError) as error:
        complain(f"error: {describe(error)}")
        sys.exit(2)
    except KeyboardInterrupt:
        complain("stopped")
        sys.exit(130)
    except SystemExit as stop:
        if stop.code == 130:  # typer's way of passing Ctrl-C on, without a word
            complain("stopped")
        raise


def describe(error: Exception) -> str:
    """One sentence for an error of ours, of the file system, or of memory."""
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}."
    if isinstance(error, MemoryError):
        return f"there is not enough memory: {str(error) or 'nothing more can be allocated'}."
    return str(error)

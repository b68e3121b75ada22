"""The ``bandstrap`` command: one file per subcommand.

A user's mistake ends with one sentence on standard error and exit code 2, never with a traceback. Ctrl-C ends with exit
code 130, SIGTERM with 143; finished work is kept.
"""

from __future__ import annotations

import os
import sys

from bandstrap.basics.extras import MissingPackage, need
from bandstrap.engine.work.interrupts import Quit, leave
from bandstrap.engine.work.progress import tell, write

# Set by a shell that asks which words may follow on a command line.
COMPLETION = "_BANDSTRAP_COMPLETE"


def main() -> None:
    """Run the command line."""
    stops = Quit()
    stops.install()  # before anything that takes long to import
    try:
        if COMPLETION not in os.environ:  # a shell that asks what may follow shows what it asked for, not this
            tell("loading")
        code = start()
        stops.retire()
    except KeyboardInterrupt:
        write("stopped\n")
        leave(stops.exit_code)
    sys.exit(code)


def start() -> int:
    """Run the subcommands, unless the packages of the command line are missing."""
    try:
        need("The command bandstrap", "typer", "rich", "pydantic", "polars")
    except MissingPackage as error:
        write(f"error: {error}\n")
        return 2
    from bandstrap.cli.commands import run

    return run()

"""``bandstrap init``: an example of an experiment, to be changed."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from bandstrap.basics.storage import check_file, write_text
from bandstrap.cli.terminal import say
from bandstrap.errors import requirement


def init(
    file: Annotated[Path, typer.Argument(help="File to write; an existing file is never overwritten.")] = Path(
        "grid.toml"
    ),
) -> None:
    """Write a commented example of an experiment, for bandstrap simulate."""
    if os.path.lexists(file):
        raise requirement("FILE", "bandstrap init", "a file that does not exist yet", str(file))
    check_file(file, "FILE", "bandstrap init")
    write_text(file, (files("bandstrap.experiments") / "example.toml").read_text(encoding="utf-8"))
    say(f"wrote {file}; next: bandstrap check {file}")

"""``python -m distribution.lowest``: the tests that use most of every dependency, with the oldest versions allowed.

The bounds of pyproject.toml become pins, those of the extras too; what the dependencies need is as new as it may be.
"""

import re
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from distribution.__main__ import ROOT, SMOKE
from distribution.environment import EmptyEnvironment

# Compiled games and their cache (numba), laws (SciPy), tables (polars), experiments in TOML (pydantic), pages (Jinja),
# pictures (matplotlib), and the command line (typer, rich).
TELLING = [
    "tests/basics/test_tables.py",
    "tests/bounds/test_coverage.py",
    "tests/cli/test_commands.py",
    "tests/cli/test_text.py",
    "tests/cli/test_simulate_file.py",
    "tests/cli/test_results.py",
    "tests/engine/test_cache.py",
    "tests/engine/test_machine.py",
    "tests/engine/test_result.py",
    "tests/environments",
    "tests/experiments/test_spec.py",
    "tests/live/test_page.py",
    "tests/live/test_export.py",
    "tests/plots",
]


# Extras that are not tried: one needs an MPI library on the machine, the other makes pages and is not used at run time.
UNTRIED = {"mpi", "docs"}


def lowest(project: dict[str, Any]) -> list[str]:
    """A pin for each requirement of the package: ``numpy>=2.0`` becomes ``numpy==2.0``."""
    extras = [wanted for name, wanted in project["optional-dependencies"].items() if name not in UNTRIED]
    requirements = [*project["dependencies"], *(requirement for extra in extras for requirement in extra)]
    requirements = [requirement for requirement in requirements if not requirement.startswith("bandstrap[")]
    for requirement in requirements:
        if not re.fullmatch(r"[\w.-]+(\[[\w,]+\])?>=[\d.]+(,<[\d.]+)?", requirement):
            sys.exit(f"{requirement!r} in pyproject.toml must state one lower bound, as in 'numpy>=2.0'.")
    return [requirement.partition(",<")[0].replace(">=", "==") for requirement in requirements]


def main() -> None:
    """Install the lowest versions, and try them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = lowest(project)
    print("\n".join(pins), flush=True)
    with tempfile.TemporaryDirectory(prefix="bandstrap-lowest-") as name:
        environment = EmptyEnvironment(Path(name) / "venv")
        environment.install(ROOT, "pytest", "hypothesis", *pins)
        environment.run(SMOKE)
        environment.run("-m", "pytest", "-q", "-p", "no:cacheprovider", *TELLING, folder=ROOT)


if __name__ == "__main__":
    main()

"""Virtual environments with nothing in them but what is installed by name."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path


class EmptyEnvironment:
    """A new virtual environment, which sees neither this folder nor the compiled code of other installations."""

    def __init__(self, folder: Path, python: str = sys.executable) -> None:
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
        self.python = folder / "bin" / "python"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NUMBA", "MYPY"))}
        self.variables = kept | {"VIRTUAL_ENV": str(folder), "MPLBACKEND": "agg"}

    def install(self, *wanted: str | Path) -> None:
        """Install as a user would, by pip."""
        self.run("-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted)

    def run(self, *arguments: str | Path, folder: Path | None = None) -> None:
        """Run its Python, in an empty folder unless one is given; stop if it fails."""
        with tempfile.TemporaryDirectory() as empty:
            command = [str(self.python), *map(str, arguments)]
            done = subprocess.run(command, check=False, cwd=folder or empty, env=self.variables)
        if done.returncode:
            sys.exit(f"{' '.join(command)} failed.")

    def check_types(self, program: Path) -> None:
        """Stop unless a program passes mypy --strict with the packages of this environment; mypy itself is not in it."""
        command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--python-executable={self.python}"]
        done = subprocess.run([*command, str(program)], check=False, env=self.variables)
        if done.returncode:
            sys.exit(f"{program.name} does not pass mypy --strict with the package as it is installed.")

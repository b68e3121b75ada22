"""Without the packages of extras: what works, and what the rest says."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from bandstrap.basics.extras import EXTRAS, MissingPackage, need

ROOT = Path(__file__).parents[1]
# What pip calls a package that is imported under another name.
NAMES = {"prometheus_client": "prometheus-client", "psycopg": "psycopg[binary]"}


def test_core_works_without_the_packages_of_extras(tmp_path):
    command = [sys.executable, str(ROOT / "distribution" / "core.py"), *EXTRAS]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.splitlines()[-1] == "error: The command bandstrap needs typer: pip install 'bandstrap[cli]'."


def test_every_extra_brings_what_the_refusals_say():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for module, extra in EXTRAS.items():
        assert [wanted for wanted in extras[extra] if wanted.startswith(NAMES.get(module, module) + ">=")], module


def test_a_refusal_is_both_an_import_error_and_invalid_input(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingPackage, match=r"^A table needs polars: pip install 'bandstrap\[sim\]'\.$") as raised:
        need("A table", "matplotlib", "polars")
    assert isinstance(raised.value, ImportError)
    assert isinstance(raised.value, ValueError)

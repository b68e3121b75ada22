"""Without the packages of extras: what works, and what the rest says."""

import importlib
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


def test_pages_need_the_extra_plots_alone():
    refuse = "import sys; sys.modules.update(dict.fromkeys(('pydantic', 'polars', 'typer', 'rich')))"
    code = f"{refuse}\nimport bandstrap.live.page, bandstrap.plots.regret, bandstrap.plots.effects"
    subprocess.run([sys.executable, "-c", code], check=True)


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


def without(modules, *arguments, folder):
    """Result of the command line, or of an import, where packages cannot be imported."""
    code = f"import sys; sys.modules.update(dict.fromkeys({modules!r}))\n"
    code += f"sys.argv = ['bandstrap', *{arguments!r}]\nfrom bandstrap import cli; sys.exit(cli.start())"
    return subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, cwd=folder)


@pytest.mark.parametrize("command", [("paper", "2", "--quick"), ("league", "--policy", "UCB1")])
def test_a_command_that_needs_pictures_says_so_before_it_plays(command, tmp_path):
    done = without(["matplotlib", "jinja2"], *command, folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"error: bandstrap {command[0]} needs matplotlib: pip install 'bandstrap[plots]'.\n"
    assert list(tmp_path.iterdir()) == []


def test_an_experiment_without_matplotlib_is_kept_without_its_picture(tmp_path):
    race = ("simulate", "--policy", "ucb1", "--horizon", "20", "--replications", "2", "--jobs", "1", "--out", "race")
    done = without(["matplotlib"], *race, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith(
        "wrote summary.csv to race; a picture needs matplotlib: pip install 'bandstrap[plots]'.\n"
    )
    assert (tmp_path / "race" / "summary.csv").is_file()
    assert not (tmp_path / "race" / "panels.png").exists()


def test_the_client_without_httpx_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    monkeypatch.delitem(sys.modules, "bandstrap.client", raising=False)
    with pytest.raises(MissingPackage, match=r"^bandstrap\.client needs httpx: pip install 'bandstrap\[client\]'\.$"):
        importlib.import_module("bandstrap.client")

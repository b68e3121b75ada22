"""What the files of a release say of each other: version, date, Python versions, bounds of dependencies, commands."""

import re
import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CHANGES = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_changelog_and_citation_name_the_version_of_the_package():
    (first, *_), citation = re.findall(r"^## (\d\S*) - (\S+)$", CHANGES, re.M), (ROOT / "CITATION.cff").read_text()
    said = [re.search(rf"^{key}: (\S+)$", citation, re.M)[1] for key in ("version", "date-released")]
    assert PROJECT["project"]["version"] == first[0]
    assert list(first) == said


def test_badges_say_what_the_project_says():
    from docs.making.badges import BADGES, badge, facts

    assert {path.stem for path in BADGES.iterdir()} == facts().keys()
    for name, value in facts().items():
        assert (BADGES / f"{name}.svg").read_text(encoding="utf-8") == badge(name, value), (
            "python -m docs.making.badges"
        )


def test_what_has_changed_since_stands_above_the_releases():
    headings = re.findall(r"^## (.+)$", CHANGES, re.M)
    assert headings.index("Unreleased") == 0
    assert set(re.findall(r"^### (.+)$", CHANGES, re.M)) <= {"Added", "Changed", "Fixed", "Removed", "Stability"}


def test_python_versions_are_stated_once_each():
    listed = re.findall(r"Python :: 3\.(\d+)$", "\n".join(PROJECT["project"]["classifiers"]), re.M)
    assert [int(minor) for minor in listed] == list(range(int(listed[0]), int(listed[-1]) + 1))
    assert PROJECT["project"]["requires-python"] == f">=3.{listed[0]}"


def test_every_dependency_has_a_lower_bound_that_can_be_installed():
    # The function that make lowest takes its versions from; it refuses what it cannot turn into a pin.
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        module = runpy.run_path(str(ROOT / "distribution" / "lowest.py"))
    lowest = module["lowest"]
    assert [test for test in module["TELLING"] if not (ROOT / test).exists()] == []
    pins = lowest(PROJECT["project"])
    assert all(pin.count("==") == 1 for pin in pins)
    assert {pin.partition("==")[0] for pin in pins} >= {"numpy", "scipy", "numba", "psycopg[binary]"}
    with pytest.raises(SystemExit, match="must state one lower bound"):
        lowest({"dependencies": ["numpy"], "optional-dependencies": {}})


def test_every_dependency_says_why():
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    for line in lines:
        if re.search(r'"[\w.-]+(\[\w+\])?>=[\d.]+(,<[\d.]+)?"', line) and "requires-python" not in line:
            assert "#" in line, line


def test_make_help_and_contributing_name_every_target():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.search(r"^\.PHONY: (.*)$", makefile, re.M)[1].split()
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for target in set(targets) - {"help"}:
        assert re.search(rf'@echo "make {target} ', makefile), target
        assert f"`make {target}`" in contributing, target

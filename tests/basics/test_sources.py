"""What results depend on is found in the import graph, not in a list."""

import ast
import sys

import grimp
import pytest

import bandstrap.basics.sources as module
from bandstrap.basics.sources import code_digest, names_in, reachable, versions
from bandstrap.environments import ENVIRONMENTS
from bandstrap.experiments.plan import MEASURING
from bandstrap.policies import LINEAR_POLICIES, POLICIES

PLAYING = "bandstrap.engine.simulator.blocks"
ROOTS = sorted(
    {
        PLAYING,
        *MEASURING,
        *(cls.__module__ for registry in (POLICIES, LINEAR_POLICIES, ENVIRONMENTS) for cls in registry.values()),
    }
)
# What no number of a block can depend on.
SHOWN_ONLY = (
    "plots",
    "pages",
    "paper",
    "league",
    "study",
    "cli",
    "experiments",
    "engine.result",
    "engine.simulate",
    "storage",
)
# Formulas that a panel of bounds may show are numbers of its blocks.
MEASURED = {"experiments.curves"}


@pytest.fixture(scope="module")
def graph():
    return grimp.build_graph("bandstrap", exclude_type_checking_imports=True, cache_dir=None)


@pytest.mark.parametrize("root", ROOTS)
def test_what_a_module_reaches_is_what_the_import_graph_says(graph, root):
    """Grimp parses the sources on its own; like us it takes ``from a import b`` for an import of ``a.b`` if that is one."""
    expected, waiting = set(), [root]
    while waiting:
        name = waiting.pop()
        if name not in expected:
            expected.add(name)
            waiting += graph.find_modules_directly_imported_by(name)
    assert {source.name for source in reachable([root])} == expected


def test_no_block_depends_on_what_only_shows_it():
    reached = {source.name.removeprefix("bandstrap.") for source in reachable(ROOTS)}
    assert "errors" in reached
    assert {name for name in reached if name.startswith(SHOWN_ONLY)} == MEASURED


def test_a_policy_does_not_depend_on_another():
    assert "bandstrap.policies.moss" not in {source.name for source in reachable(["bandstrap.policies.giro"])}


@pytest.fixture
def edited(monkeypatch):
    """A digest computed as if some modules read otherwise."""
    read = module.read_module

    def digest(*modules, **contents):
        def read_edited(name, folder=None):
            source, imports = read(name, folder)
            content = contents.get(name.removeprefix("bandstrap.").replace(".", "_"))
            return (source if content is None else source._replace(content=content)), imports

        monkeypatch.setattr(module, "read_ours", read_edited)
        return code_digest.__wrapped__(*modules)

    return digest


@pytest.mark.parametrize("module_name", ["errors", "engine_play", "engine_twins", "policies_ucb1", "policies_schedule"])
def test_an_edit_to_what_plays_changes_the_digest(edited, module_name):
    roots = (PLAYING, "bandstrap.policies.ucb1")
    assert edited(*roots) == code_digest(*roots) != edited(*roots, **{module_name: b"edited"})


@pytest.mark.parametrize(
    "module_name", ["plots_regret", "cli_simulate", "policies_moss", "engine_result", "pages_page"]
)
def test_an_edit_to_what_does_not_play_changes_nothing(edited, module_name):
    roots = (PLAYING, "bandstrap.policies.ucb1")
    assert edited(*roots, **{module_name: b"edited"}) == code_digest(*roots)


@pytest.mark.parametrize("library", ["numpy", "numba", "scipy", "python"])
def test_the_versions_of_what_computes_belong_to_the_digest(monkeypatch, library):
    before = code_digest.__wrapped__(PLAYING)
    text = versions()
    assert f"{library} " in text
    monkeypatch.setattr(module, "versions", lambda: text.replace(f"{library} ", f"{library} 0."))
    assert code_digest.__wrapped__(PLAYING) != before


def test_what_only_type_checkers_import_is_left_out_and_what_they_do_not_see_or_comes_late_is_not():
    tree = ast.parse(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import one\nelse:\n    import two\n"
        "if typing.TYPE_CHECKING:\n    import one\nif not TYPE_CHECKING:\n    import hidden\n"
        "if not typing.TYPE_CHECKING:\n    import behind\nif two.here or typing.TYPE_CHECKING:\n    import either\n"
        "def f():\n    from . import three\n    from ..four import five\n"
    )
    assert list(names_in(tree, "top.pack")) == [
        "typing.TYPE_CHECKING",
        "typing",
        "two",
        "hidden",
        "behind",
        "either",
        "top.pack.three",
        "top.pack",
        "top.four.five",
        "top.four",
    ]


def test_modules_beside_a_file_come_first_and_libraries_are_left_out(tmp_path):
    (tmp_path / "beside.py").write_text("import numpy, json\nimport deeper.inner\n")
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "__init__.py").write_text("")
    (tmp_path / "deeper" / "inner.py").write_text("from deeper import sibling\n")
    (tmp_path / "deeper" / "sibling.py").write_text("")
    found = [source.name for source in reachable(["beside", "scipy", "nowhere_at_all"], tmp_path)]
    assert found == ["beside", "deeper", "deeper.inner", "deeper.sibling"]
    assert "beside" not in sys.modules

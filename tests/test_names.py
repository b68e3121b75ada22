"""The names of the package: what type checkers see, what is listed and what can be imported are the same."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import bandstrap
from bandstrap.policies import LINEAR_POLICIES, POLICIES
from sampling import each


def seen_by_type_checkers():
    """Names and the modules they are imported from, in the block that only type checkers read."""
    tree = ast.parse(Path(bandstrap.__file__).read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    found = []
    for node in block.body:
        if isinstance(node, ast.AnnAssign):
            found.append((ast.unparse(node.target), None))
        else:
            (alias,) = node.names
            assert alias.asname == alias.name  # else it is not exported
            found.append((alias.name, node.module))
    return found


def test_type_checkers_see_the_names_that_are_listed_each_once():
    names = [name for name, _ in seen_by_type_checkers()]
    assert sorted(names) == sorted(bandstrap.__all__) == dir(bandstrap)
    assert len(set(names)) == len(names)


@each(("name", "module"), seen_by_type_checkers())
def test_what_is_listed_can_be_imported_from_where_type_checkers_look(name, module):
    space = {}
    exec(f"from bandstrap import {name}", space)
    assert space[name] is getattr(bandstrap, name)
    if module == "bandstrap":
        assert space[name] is importlib.import_module(f"bandstrap.{name}")
    elif module is not None:
        assert space[name] is getattr(importlib.import_module(module), name)


def test_all_can_be_imported_at_once():
    space = {}
    exec("from bandstrap import *", space)
    assert set(bandstrap.__all__) == set(space) - {"__builtins__"}


def test_every_policy_and_what_policies_derive_from_is_a_name_of_the_package():
    classes = [*POLICIES.values(), *LINEAR_POLICIES.values()]
    assert {cls.__name__ for cls in classes} | {"Policy", "LinearPolicy"} <= set(bandstrap.__all__)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("Ubc1", "UCB1"),
        ("ucb1", "UCB1"),
        ("boudns", "bounds"),
        ("simulat", "simulate"),
        ("Invalidinput", "InvalidInput"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_nearest(wrong, right):
    with pytest.raises(AttributeError) as refusal:
        getattr(bandstrap, wrong)
    assert str(refusal.value) == f"module 'bandstrap' has no attribute {wrong!r}; did you mean {right!r}?"


@pytest.mark.parametrize("name", ["zzzzzz", "__wrapped__", "_x"])
def test_a_name_like_no_other_is_no_attribute(name):
    with pytest.raises(AttributeError, match=rf"^module 'bandstrap' has no attribute '{name}'$"):
        getattr(bandstrap, name)
    assert not hasattr(bandstrap, name)


def test_subpackages_are_there_after_importing_the_package_alone():
    code = (
        "import bandstrap as b; print(b.bounds.hoeffding, b.environments.Gaussian, b.errors.InvalidInput, b.policies)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_importing_the_package_imports_nothing_else():
    code = "import sys; before = {*sys.modules}; import bandstrap; print({*sys.modules} - before)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "{'bandstrap'}"

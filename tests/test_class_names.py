"""One name, one thing: no two classes or types of the package share a name."""

import ast
from collections import defaultdict
from pathlib import Path

import bandstrap

PACKAGE = Path(bandstrap.__file__).parent
# What every policy has, in a file of its own: its parameters, what it remembers, what all arms share in a round.
OF_EACH_POLICY = {"Params", "State", "Shared"}


def defined(tree):
    """Names of the classes, type aliases and type variables that a module defines."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name[0].isupper() and not name.isupper():
                yield name


def test_no_two_classes_share_a_name():
    places = defaultdict(list)
    for file in sorted(PACKAGE.rglob("*.py")):
        place = file.relative_to(PACKAGE).as_posix()
        for name in defined(ast.parse(file.read_text())):
            if not (name in OF_EACH_POLICY and place.startswith("policies/")):
                places[name].append(place)
    assert len(places) > 200
    assert {name: found for name, found in places.items() if len(found) > 1} == {}

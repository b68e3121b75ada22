"""Results are known by what computes them: words change nothing, a constant exactly what is computed with it."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bandstrap
import battery
from bandstrap.bounds.hoeffding import root_log
from bandstrap.engine.compiler import provenance
from bandstrap.engine.compiler.bytecode import digest_code, names_in
from bandstrap.engine.compiler.provenance import Reach, computed_by
from bandstrap.engine.simulator.blocks import code_of
from bandstrap.environments import Bernoulli, Gaussian
from bandstrap.policies import LINEAR_POLICIES, MOSS, POLICIES, UCB1, moss

PACKAGE = Path(bandstrap.__file__).parent
# Everything that is stored under a digest of code: blocks, measurements, machine code, snapshots.
KEYS = """
import gc, json, bandstrap
from bandstrap.engine.compiler.identity import identify
from bandstrap.engine.compiler.kernel import Entry, Kernel, compiled_as
from bandstrap.engine.simulator.blocks import code_of
from bandstrap.environments import ENVIRONMENTS, Gaussian, LinearBandit
from bandstrap.experiments.plan import code_of_bounds
from bandstrap.live.fold import this_build
from bandstrap.policies import LINEAR_POLICIES, POLICIES
world, linear = Gaussian(), LinearBandit()
keys = {"bounds": code_of_bounds()}
for name, cls in {**POLICIES, **LINEAR_POLICIES}.items():
    policy = cls()
    keys["block " + name] = code_of(policy, world if name in POLICIES else linear)
    keys["snapshot " + name] = this_build(policy).id
for thing in gc.get_objects():
    if isinstance(thing, Kernel):
        keys["kernel " + thing.name + thing.learn.__module__] = thing.identity.digest
    elif isinstance(thing, Entry):
        keys["entry " + thing.__qualname__] = identify(thing.function, body=compiled_as).digest
print(json.dumps(keys))
"""


def keys_of(folder):
    """What a copy of the package in this folder stores its results under."""
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run([sys.executable, "-c", KEYS], capture_output=True, text=True, env=environment, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(ran.stdout)


SENTENCE = re.compile(r"[a-z]+ [a-z]+ [a-z]+")


class Reworded(ast.NodeTransformer):
    """Every docstring another one, every sentence in a function another one, and all errors in other words."""

    depth = 0
    in_error = 0

    def visit_Raise(self, node):
        self.in_error += 1
        node = self.generic_visit(node)
        self.in_error -= 1
        return node

    def visit_FunctionDef(self, node):
        self.depth += 1
        node = self.generic_visit(node)
        self.depth -= 1
        if ast.get_docstring(node) is not None:
            node.body[0].value = ast.Constant("Another docstring.")
        return node

    def visit_ClassDef(self, node):
        depth, self.depth = self.depth, 0
        node = self.generic_visit(node)
        self.depth = depth
        if ast.get_docstring(node) is not None:
            node.body[0].value = ast.Constant("Another docstring, of a class.")
        return node

    def visit_Constant(self, node):
        if isinstance(node.value, str) and self.depth and (self.in_error or SENTENCE.search(node.value)):
            return ast.copy_location(ast.Constant(node.value + " in other words"), node)
        return node


def copied(folder, change):
    """A copy of the package, each of whose modules ``change(name, tree)`` may change; comments are lost on the way."""
    for file in PACKAGE.rglob("*.py"):
        place = folder / "bandstrap" / file.relative_to(PACKAGE)
        place.parent.mkdir(parents=True, exist_ok=True)
        text = file.read_text()
        changed = change(file.relative_to(PACKAGE).as_posix(), text)
        place.write_text(text if changed is None else changed)
    for file in PACKAGE.rglob("*.toml"):
        shutil.copy(file, folder / "bandstrap" / file.relative_to(PACKAGE))
    return folder


@pytest.fixture(scope="module")
def before():
    return keys_of(PACKAGE.parent)


def test_words_invalidate_nothing(before, tmp_path):
    """Every docstring, comment, error and sentence of the package is another one: no block, machine code or snapshot is."""
    after = keys_of(
        copied(tmp_path, lambda name, text: ast.unparse(Reworded().visit(ast.parse("# first line\n" + text))))
    )
    assert after == before
    assert len(before) > 2 * len(POLICIES) + 60


def replaced(place, old, new):
    def change(name, text):
        if name != place:
            return None
        assert text.count(old) == 1
        return text.replace(old, new)

    return change


def using(function):
    """The policies whose kernels call a function, by the identity that machine code has."""
    registry = {**POLICIES, **LINEAR_POLICIES}
    return {name for name, cls in registry.items() if function in cls().kernel.identity.functions}


@pytest.mark.parametrize(
    ("place", "old", "new", "function"),
    [
        ("policies/moss.py", "max(shared / n, 1.0)", "max(shared / n, 1.5)", moss.score),
        ("bounds/hoeffding.py", "math.sqrt(2.0 *", "math.sqrt(3.0 *", root_log),
    ],
)
def test_a_constant_of_a_kernel_invalidates_its_policies_alone(before, tmp_path, place, old, new, function):
    after = keys_of(copied(tmp_path, replaced(place, old, new)))
    assert before.keys() == after.keys()
    changed = {name for name in before if before[name] != after[name]}
    policies = using(function)
    assert len(policies) >= 1
    assert {name.split()[1] for name in changed if name.startswith("block")} == policies
    assert {name.split()[1] for name in changed if name.startswith("snapshot")} == policies
    assert ("bounds" in changed) == place.startswith("bounds")


def test_numbers_change_only_on_purpose():
    """The battery gives the numbers that were kept. If they are to be others: ``python tests/battery.py``."""
    kept = json.loads(battery.FILE.read_text())["numbers"]
    played = {name: (code, numbers) for name, code, numbers in battery.play()}
    found = {name: numbers for name, (_, numbers) in played.items()}
    assert found.keys() == kept.keys()
    provenance._known.clear()  # after all that was remembered on the way
    assert {name: code for name, (code, _) in played.items()} == battery.codes()
    assert [name for name in found if not np.allclose(found[name], kept[name]["numbers"], rtol=1e-8, atol=1e-12)] == []


def test_a_raised_integer_invalidates_the_part(monkeypatch):
    blocks, snapshots = code_of(UCB1(), Gaussian()), computed_by("live", UCB1)
    monkeypatch.setitem(provenance.PARTS, "simulator", provenance.PARTS["simulator"] + 1)
    assert code_of(UCB1(), Gaussian()) != blocks
    assert computed_by("live", UCB1) == snapshots


def test_policies_and_environments_are_told_apart():
    keys = {code_of(cls(), environment) for cls in (UCB1, MOSS) for environment in (Gaussian(), Bernoulli())}
    assert len(keys) == 4


def test_every_function_of_a_kernel_is_reached():
    """Numba's own way of finding them: what a kernel's identity covers, its computing digest covers too."""
    for cls in {**POLICIES, **LINEAR_POLICIES}.values():
        kernel = cls().kernel
        reached = set(Reach(kernel).functions.values())
        missing = {function.__qualname__ for function in kernel.identity.functions if function not in reached}
        assert {name for name in missing if not name.startswith(("checked", "of_"))} == set()


def one(x):
    """A docstring."""
    if x < 0:
        what = "this is" if x < -1 else "that is"
        raise ValueError(f"{what} negative: {x}")
    return x * 2.0


def same(x):
    # A comment.
    if x < 0:
        raise TypeError("no")
    return x * 2.0


def different(x):
    if x < 0:
        raise TypeError("no")
    return x * 2.5


def other_branch(x):
    if x > 0:
        raise TypeError("no")
    return x * 2.0


def swapped(x):
    if x < 0:
        return x * 2.0
    raise TypeError("no")


def test_what_leads_to_an_error_does_not_count_and_all_else_does():
    kept = digest_code(one.__code__)
    assert digest_code(same.__code__) == kept
    assert len({kept, *(digest_code(f.__code__) for f in (different, other_branch, swapped))}) == 4
    assert names_in(one.__code__).globals == frozenset()
    exact = {digest_code(f.__code__, is_exact=True) for f in (one, same, different, other_branch, swapped)}
    assert len(exact) == 5


def outer(values, flag):
    total = 0.0
    for value in values:
        total += value if flag else -value
        while total > 10:
            total /= 2
    return [total * value for value in values]


def outer_jumping_elsewhere(values, flag):
    total = 0.0
    for value in values:
        total += value if flag else -value
    while total > 10:
        total /= 2
    return [total * value for value in values]


def test_where_jumps_lead_counts():
    assert digest_code(outer.__code__) != digest_code(outer_jumping_elsewhere.__code__)

"""Twins: the code of a function, with twins under the names of the marked functions it calls."""

import sys
import types

import numba
import numpy as np
import pytest

from bandstrap.engine.compiler import kernel, twins
from bandstrap.engine.compiler.kernel import borrowing, inlined, jitable


@pytest.fixture(autouse=True)
def marks(monkeypatch):
    """What a test marks is forgotten afterwards."""
    monkeypatch.setattr(kernel, "_jitables", set(kernel._jitables))
    monkeypatch.setattr(kernel, "_inlined", set(kernel._inlined))
    monkeypatch.setattr(kernel, "_borrowing", set(kernel._borrowing))


def defined(source: str, **names) -> types.SimpleNamespace:
    space = {"__name__": __name__, "jitable": jitable, "inlined": inlined, "borrowing": borrowing, **names}
    exec(source, space)
    return types.SimpleNamespace(space=space, **{name: f for name, f in space.items() if callable(f)})


def compiled(function, replaced=None):
    return numba.njit(twins.twin(function, "tag", replaced))


STEPS = """
@{mark}
def step(x, by=1.0):
    return x + by
def outer(x):
    return step(x) + step(x, by=2.0)
"""


@pytest.mark.parametrize("mark", ["jitable", "inlined", "borrowing"])
def test_a_marked_function_is_called_by_name_with_its_defaults_and_all_stay_plain(mark):
    made = defined(STEPS.format(mark=mark))
    assert compiled(made.outer)(1.0) == made.outer(1.0) == 5.0
    assert made.space["step"] is made.step
    assert type(made.outer(1.0)) is float


def test_an_unmarked_function_is_not_taken():
    made = defined(STEPS.format(mark="staticmethod").replace("@staticmethod\n", ""))
    with pytest.raises(numba.TypingError, match="step"):
        compiled(made.outer)(1.0)


def test_a_name_bound_anew_is_followed():
    made = defined(STEPS.format(mark="jitable"))
    assert compiled(made.outer)(1.0) == 5.0
    exec("@jitable\ndef step(x, by=1.0):\n    return x * by", made.space)
    assert compiled(made.outer)(3.0) == made.outer(3.0) == 9.0


def test_a_function_in_a_module_of_ones_own_and_one_in_a_closure_are_found():
    made = defined("LIMIT = 4.0\n@jitable\ndef step(x):\n    return x + LIMIT\n")
    helper = types.ModuleType("helper")
    helper.step, helper.LIMIT = made.step, 4.0
    by_module = defined("def outer(x):\n    return helper.step(x) + helper.LIMIT", helper=helper)
    assert compiled(by_module.outer)(1.0) == 9.0
    in_a_closure = defined("def make(f):\n    def outer(x):\n        return f(x)\n    return outer").make(helper.step)
    assert compiled(in_a_closure)(1.0) == 5.0


def test_a_function_that_calls_itself():
    made = defined(
        "@jitable\ndef factorial(n):\n    if n < 2:\n        return 1\n    return n * factorial(n - 1)\n"
        "def outer(n):\n    return factorial(n)\n"
    )
    assert compiled(made.outer)(5) == 120


def test_a_replaced_function_is_replaced_in_the_functions_that_are_called_too():
    made = defined(
        "def generic(x):\n    return x\ndef between(x):\n    return generic(x) + generic(x)\n"
        "def outer(x):\n    return between(x)\n"
    )
    for factor in (2.0, 3.0):
        own = inlined(lambda x, factor=factor: factor * x)
        replaced = {made.generic: own, made.between: made.between}
        assert compiled(made.outer, replaced)(1.0) == 2 * factor
    assert made.outer(1.0) == 2.0


def test_twins_of_the_packages_own_functions_are_made_once():
    from bandstrap.policies.states.sums import learn

    made = defined(
        "def outer(params, state, arm, reward):\n    learn(params, state, arm, reward, 1, None)", learn=learn
    )
    first, second = (twins.twin(made.outer, "tag").__globals__["learn"] for _ in range(2))
    assert first is second is not learn


ROWS = """
@jitable
def first(row):
    return row[0]
@{mark}
def sum_of_firsts(pair):
    total = 0.0
    for k in range(len(pair[0])):
        row = pair[1][k]
        if row[1] > 0.0:
            total += first(pair[0][k]) + first(row)
    return total
def outer(pair):
    return sum_of_firsts(pair)
"""


def test_a_borrowing_function_and_what_it_calls_count_no_references():
    pair = np.arange(1.0, 7.0).reshape(3, 2), np.arange(7.0, 13.0).reshape(3, 2)
    counts = {}
    for mark in ("jitable", "borrowing"):
        made = compiled(defined(ROWS.format(mark=mark)).outer)
        before = [sys.getrefcount(array) for array in pair]
        assert made(pair) == 36.0
        assert [sys.getrefcount(array) for array in pair] == before
        counts[mark] = made.inspect_llvm(made.signatures[0]).count("call void @NRT_incref")
    assert counts["borrowing"] < counts["jitable"]


def test_a_borrowing_function_cannot_make_arrays():
    made = defined("@borrowing\ndef room(n):\n    return np.zeros(n).sum()\ndef outer(n):\n    return room(n)", np=np)
    with pytest.raises(numba.core.errors.NumbaError, match="zeros"):
        compiled(made.outer)(3)

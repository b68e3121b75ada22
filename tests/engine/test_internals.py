"""Names of numba that its documentation does not promise: all are in the table, and play goes on without them."""

import ast
import re
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import bandstrap
from bandstrap.engine.compiler import compiled, internals, machine, twins
from bandstrap.engine.compiler.internals import INTERNALS, WITHOUT
from bandstrap.engine.compiler.kernel import Kernel, borrowing
from bandstrap.engine.simulator.play import Game, compiled_play, play
from bandstrap.errors import CacheWarning
from bandstrap.policies import UCB1
from interpreter import printed
from sampling import telling

PACKAGE = Path(bandstrap.__file__).parent
COMPILER = PACKAGE / "engine" / "compiler"
# What numba's documentation describes.
DOCUMENTED = {
    "llvmlite.__version__",
    "numba.__version__",
    "numba.config",
    "numba.experimental.structref",
    "numba.extending.overload",
    "numba.njit",
    "numba.typeof",
    "numba.types",
}
DOCUMENTED_OPTIONS = {"boundscheck", "inline", "nogil"}
DOCUMENTED_ATTRIBUTES = {"key", "py_func"}


# --- the table --------------------------------------------------------------------------------------------------------


def imported(tree):
    """Local names of what is imported from numba and llvmlite, with the names they have there."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {(each.asname or each.name).partition(".")[0]: each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
    return {local: name for local, name in found.items() if name.partition(".")[0] in ("numba", "llvmlite")}


def dotted(node, known):
    """``numba.a.b`` for an expression that begins with an imported name."""
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value, known)
        return None if owner is None else f"{owner}.{node.attr}"
    return None


def used_by(source):
    """Names of numba that some source uses: those it imports, and those of objects that numba hands out."""
    tree = ast.parse(source)
    known = imported(tree)
    # The longest ones: numba.types.int64, not numba.types.
    nodes = [node for node in ast.walk(tree) if dotted(node, known)]
    inner = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    named = {dotted(node, known) for node in nodes if id(node) not in inner}
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and not dotted(node, known)}
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]  # whose methods numba may call
    attributes |= {node.name for each in classes for node in each.body if isinstance(node, ast.FunctionDef)}
    options = {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg is not None}
    keys = [key for node in ast.walk(tree) if isinstance(node, ast.Dict) for key in node.keys]
    options |= {key.value for key in keys if isinstance(key, ast.Constant)}
    return named, attributes, options


def owners(kind):
    """The objects that names in the table belong to: options of numba.njit, or all others."""
    found = {each.owner: internals.owner_of(each) for each in INTERNALS}
    return [owner for name, owner in found.items() if (name == internals.OPTIONS) == (kind == "options")]


OF_PYTHON = {name for kind in (str, dict, list, set, tuple, Path, type, NamedTuple) for name in dir(kind)}
OF_PYTHON |= {"__wrapped__", "_fields", "dtype", "loads"}  # of functools, named tuples, NumPy and pickle


def undeclared(source):
    """Names in some source that are neither documented nor in the table."""
    named, attributes, options = used_by(source)
    in_table = {each.name for each in INTERNALS}
    places = {f"{each.owner}.{each.name}" for each in INTERNALS} | {each.owner for each in INTERNALS}
    public = re.compile(
        "|".join(rf"{re.escape(name)}(\..*)?" for name in DOCUMENTED - {"numba.experimental.structref"})
    )
    missing = {name for name in named if not public.fullmatch(name) and name not in {*places, *DOCUMENTED}}
    of_numba = {name for owner in owners("objects") for name in dir(owner)} - OF_PYTHON
    missing |= (attributes & of_numba) - in_table - DOCUMENTED_ATTRIBUTES
    of_options = {name for owner in owners("options") for name in dir(owner)} - OF_PYTHON
    return missing | ((options & of_options) - in_table - DOCUMENTED_OPTIONS)


def test_every_name_that_is_not_documented_is_in_the_table():
    files = [file for file in COMPILER.glob("*.py") if file.name != "internals.py"]
    missing = {file.name: undeclared(file.read_text()) for file in files}
    assert {name: sorted(found) for name, found in missing.items() if found} == {}


def test_every_name_in_the_table_is_used_once_for_each_feature_and_is_there():
    sources = "".join(file.read_text() for file in COMPILER.glob("*.py") if file.name != "internals.py")
    for each in INTERNALS:
        assert re.search(rf"\b{each.name}\b", sources), each
        assert each.use
    assert len({each[:3] for each in INTERNALS}) == len(INTERNALS)
    assert {each.feature for each in INTERNALS} == WITHOUT.keys()
    assert internals.missing() == ()


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from numba.core.caching import _Cache", {"numba.core.caching._Cache"}),
        ("import numba\nnumba.core.config", {"numba.core.config"}),
        ("from numba.experimental import structref\nstructref.new", {"numba.experimental.structref.new"}),
        ("import numba\nnumba.njit(f)._compiler", {"_compiler"}),
        ("import numba\nnumba.njit(_dbg_optnone=True)", {"_dbg_optnone"}),
        ("import numba\nnumba.njit(**{'forceinline': True})", {"forceinline"}),
        ("import numba\nfrom numba import types\nnumba.njit(nogil=True)(types.int64)\nnumba.config.CACHE_DIR", set()),
    ],
)
def test_a_name_that_is_in_neither_would_be_found(source, found):
    source = source.replace("from numba.core.caching import _Cache", "from numba.core.caching import _Cache\n_Cache")
    assert undeclared(source) == found


def test_no_text_outside_the_compiler_names_numba_but_in_prose():
    """No ``type(error).__module__.startswith("numba.")``, and no module by name."""
    found = {}
    for file in PACKAGE.rglob("*.py"):
        tree = ast.parse(file.read_text())
        words = {
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        words = {word for word in words if re.fullmatch(r"(numba|llvmlite)(\.\S*)?", word)}
        if words and file.parent != COMPILER:
            found[file.relative_to(PACKAGE).as_posix()] = words
    assert found == {"basics/sources.py": {"numba"}}  # the versions that a result depends on


# --- without ----------------------------------------------------------------------------------------------------------


class Sums(NamedTuple):
    order: np.ndarray
    pulls: np.ndarray
    sums: np.ndarray


@borrowing
def learn_sum(params, state, arm, reward, round_, rng):
    state.pulls[arm] += 1
    state.sums[arm] += reward


@borrowing
def choose_mean(params, state, round_, rng):
    best = 0
    for arm in range(1, len(state.pulls)):
        if state.sums[arm] * state.pulls[best] > state.sums[best] * state.pulls[arm]:
            best = arm
    return best


BORROWS = Kernel("borrows", learn=learn_sum, choose=choose_mean)


def choices_of(by):
    choices = np.empty(40, dtype=np.int64)
    state = Sums(np.arange(3), np.zeros(3, dtype=np.int64), np.zeros(3))
    tape = np.random.default_rng(1).random((3, 40))
    by(BORROWS, Game.begin(None, state, tape, choices, 1), np.random.default_rng(0))
    return choices.tolist(), state.sums.tolist()


def live_choices(flag):
    policy, choices = UCB1(arms=3, rng=0, compiled=flag), []
    for reward in np.random.default_rng(0).random(25).tolist():
        choices.append(policy.select())
        policy.update(choices[-1], reward + choices[-1])
    return choices, policy


# The test below it goes without all of them at once.
@telling("feature", WITHOUT, ["handle"])
def test_play_goes_on_without_a_feature_with_one_warning_and_the_same_numbers(feature, monkeypatch, tmp_path):
    from numba import config

    for module, name in ((compiled, "_compiled"), (machine, "_holding"), (twins, "_ours")):
        monkeypatch.setattr(module, name, {})
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    is_there = internals.is_there
    monkeypatch.setattr(internals, "is_there", lambda each: each.feature != feature and is_there(each))
    internals.missing.cache_clear()
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = choices_of(compiled_play)
            live, policy = live_choices(True)
    finally:
        internals.missing.cache_clear()
    assert found == choices_of(play)
    assert live == live_choices(False)[0]
    (warning,) = told
    assert warning.category is CacheWarning
    assert WITHOUT[feature] in str(warning.message)
    assert bool(list(tmp_path.rglob("*.nbc"))) == (feature != "cache")
    assert isinstance(policy._machine._held, machine.Parts) == (feature == "handle")
    options = [made.targetoptions for made in twins._ours.values()]
    assert any("_nrt" in each for each in options) == (feature != "borrowing")
    assert any("no_cfunc_wrapper" in each for each in options) == (feature != "bare")


def test_play_goes_on_with_a_numba_that_has_none_of_the_names_it_does_not_need_itself(tmp_path):
    code = """
        import warnings
        import numba
        from numba.core.codegen import CPUCodegen, CPUCodeLibrary
        from numba.core.compiler import CompileResult
        from numba.core.cpu import CPUTargetOptions
        from numba.experimental import structref

        def forget(owner, *names):
            for each in getattr(owner, "__mro__", [owner]):
                for name in vars(each).keys() & set(names):
                    delattr(each, name)

        forget(CompileResult, "_rebuild", "_reduce")
        forget(CPUCodegen, "magic_tuple")
        forget(CPUCodeLibrary, "has_dynamic_globals")
        forget(structref, "register", "define_proxy")
        forget(CPUTargetOptions, "_nrt")

        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            from engine.test_internals import choices_of, compiled_play, live_choices
            print(choices_of(compiled_play)[0], live_choices(True)[0], sep="\\n")
        print([warning.category.__name__ for warning in told])
    """
    folder = Path(__file__).parents[1]
    found = printed(code, PYTHONPATH=f"{folder}:{PACKAGE.parent}", NUMBA_CACHE_DIR=tmp_path).splitlines()
    assert found == [str(choices_of(play)[0]), str(live_choices(False)[0]), "['CacheWarning']"]
    assert list(tmp_path.rglob("*.nbc")) == []

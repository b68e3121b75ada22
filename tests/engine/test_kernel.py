import ast
import importlib
import pkgutil
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtri

import bandstrap
import bandstrap.multipliers
from bandstrap.engine.compiler import kernel
from bandstrap.engine.compiler.kernel import Entry, entry, jitable
from bandstrap.multipliers.enumeration import extreme_batch
from bandstrap.multipliers.monte_carlo import sign_words, signed_sums_batch
from bandstrap.multipliers.saddlepoint import saddlepoint_batch
from bandstrap.multipliers.weights import LAWS
from interpreter import printed
from sampling import each, exhaustive, telling

PACKAGE = Path(bandstrap.__file__).parent
LEVELS = np.array([0.9, 0.5, 0.3, 0.05, 1e-3, 1e-6, 1e-12])


def centred(n: int) -> np.ndarray:
    """Rows ``(y - ybar)/n`` of several shapes: normal, heavy-tailed, skew, two-scale, many zeros, all zeros, lattice."""
    rng = np.random.default_rng(n)
    rows = np.stack(
        [
            rng.normal(size=n),
            rng.standard_t(2, size=n),
            rng.exponential(size=n),
            rng.normal(size=n) * np.where(rng.random(n) < 0.5, 1, 10),
            np.r_[np.zeros(n - 1), 1.0],
            np.zeros(n),
            rng.integers(0, 3, size=n).astype(float),
        ]
    )
    return (rows - rows.mean(axis=1, keepdims=True)) / n


def same_bits(one: np.ndarray, other: np.ndarray) -> bool:
    return one.tobytes() == other.tobytes()


@pytest.mark.parametrize("weights", LAWS)
@telling("n", [2, 9, 13, 14, 40, 300], [2, 40])
def test_plain_and_compiled_saddlepoints_are_the_same_bits(weights, n):
    terms = centred(n)
    if weights == "rademacher":
        terms = np.sort(np.abs(terms), axis=-1)
    outs = [np.empty((len(terms), LEVELS.size)) for _ in range(2)]
    for call, out in zip((saddlepoint_batch.plain, saddlepoint_batch.compiled), outs, strict=True):
        call(LAWS[weights], terms, LEVELS, -ndtri(LEVELS), out)
    assert np.isfinite(outs[0]).all()
    assert same_bits(*outs), np.abs(outs[0] - outs[1]).max()


@pytest.mark.parametrize("n", [2, 9, 13, 30, 60])
def test_plain_and_compiled_lists_from_the_top_are_the_same_bits(n):
    magnitudes = np.sort(np.abs(centred(n)), axis=-1)
    outs = [np.empty((len(magnitudes), LEVELS.size)) for _ in range(2)]
    for call, out in zip((extreme_batch.plain, extreme_batch.compiled), outs, strict=True):
        call(magnitudes, LEVELS, out)
    assert np.isfinite(outs[0]).any()
    assert same_bits(*outs)


@each("n", [1, 8, 13, 64, 100, 200])
def test_plain_and_compiled_signed_sums_are_the_same_bits(n):
    terms, words = np.random.default_rng(n).normal(size=n), sign_words(300, n, np.random.default_rng(1))
    outs = [np.full(300, np.nan) for _ in range(2)]
    for call, out in zip((signed_sums_batch.plain, signed_sums_batch.compiled), outs, strict=True):
        call(terms, words, out)
    assert np.isfinite(outs[0]).all()
    assert same_bits(*outs)


def test_every_entry_of_the_multipliers_is_compared_by_some_test():
    modules = [
        importlib.import_module(found.name)
        for found in pkgutil.iter_modules(bandstrap.multipliers.__path__, "bandstrap.multipliers.")
    ]
    entries = {value.__name__ for module in modules for value in vars(module).values() if isinstance(value, Entry)}
    tests = Path(__file__).parent.parent
    compared = "".join(p.read_text() for p in [Path(__file__), *tests.glob("multipliers/test_*.py")])
    assert {"saddlepoint_batch", "extreme_batch", "signed_sums_batch"} <= entries
    assert {name for name in entries if f"{name}.plain" not in compared or f"{name}.compiled" not in compared} == set()


def test_small_work_runs_plainly_until_something_is_compiled():
    def twice(x):
        return 2 * x

    door = Entry(twice, plain_work=10)
    calls = []
    door._compiled = None
    door.compiled = lambda *arguments: calls.append(arguments)  # stands for the compiler
    assert door(10, 4) == 8
    assert calls == []
    door(10.5, 4)
    assert calls == [(4,)]
    door._compiled = twice
    door(1, 5)
    assert calls == [(4,), (5,)]


def test_an_entry_keeps_the_name_and_words_of_its_function():
    @entry
    def shown(x):
        """What it says."""
        return x

    assert isinstance(shown, Entry)
    assert (shown.__name__, shown.__doc__) == ("shown", "What it says.")
    assert shown.plain(3) == 3


def test_a_marked_function_stays_a_plain_function():
    def plain(x):
        return x + 1

    assert not kernel.is_jitable(plain)
    try:
        assert jitable(plain) is plain
        assert kernel.is_jitable(plain)
        assert not kernel.is_inlined(plain)
    finally:
        kernel._jitables.remove(plain)


def test_importing_the_quantiles_imports_no_compiler_no_figures_no_tables():
    code = "import sys, bandstrap.multipliers; print({'numba', 'matplotlib', 'polars'} & set(sys.modules))"
    assert printed(code) == "set()"


@telling("weights", LAWS, ["rademacher"])
def test_a_small_request_does_not_import_the_compiler(weights):
    code = f"""
        import sys
        from bandstrap.multipliers import bootstrap_quantile
        sample = [0.1, 0.4, 2.0, 0.3, 0.5, 0.9, 1.4, 0.2, 0.8, 3.0]
        for method in ("auto", "saddlepoint", "monte-carlo"):
            bootstrap_quantile(sample, 0.05, weights="{weights}", method=method, seed=1)
        print("numba" in sys.modules)
    """
    assert printed(code) == "False"


def test_large_work_is_compiled():
    code = """
        import sys
        import numpy as np
        from bandstrap.multipliers import bootstrap_quantile
        bootstrap_quantile(np.arange(100.0), 0.05, method="monte-carlo", n_resamples=100_000, seed=1)
        print("numba" in sys.modules)
    """
    assert printed(code) == "True"


@pytest.fixture
def copied(tmp_path):
    """A copy of the package sources, and how to run code with it and a disk cache of its own."""
    root = tmp_path / "sources"
    shutil.copytree(PACKAGE, root / "bandstrap", ignore=shutil.ignore_patterns("__pycache__"))

    def run_copy(code: str) -> str:
        return printed(code, PYTHONPATH=root, NUMBA_CACHE_DIR=tmp_path / "cache", PYTHONDONTWRITEBYTECODE=1)

    return root / "bandstrap", run_copy


COUNT_HITS = """
    import numpy as np
    import bandstrap
    from bandstrap.multipliers.monte_carlo import signed_sums_batch, sign_words
    out = np.empty(10)
    signed_sums_batch.compiled(np.arange(5.0), sign_words(10, 5, np.random.default_rng(1)), out)
    stats = signed_sums_batch._compiled.stats
    print((bandstrap.__file__, sum(stats.cache_hits.values()), sum(stats.cache_misses.values())))
"""


@exhaustive
def test_the_disk_cache_hits_in_a_second_process_and_after_edits_that_compiled_code_cannot_see(copied):
    package, run_copy = copied

    def hits_and_misses():
        file, hits, misses = ast.literal_eval(run_copy(COUNT_HITS))
        assert Path(file).parent == package
        return hits, misses

    assert hits_and_misses() == (0, 1)
    assert hits_and_misses() == (1, 0)
    for name in ("errors.py", "plots/regret.py", "cli/simulate.py", "policies/ucb1.py"):
        edited = package / name
        edited.write_text(edited.read_text() + "EDITED = 1\n")
    (package / "added.py").write_text('"""A new module."""\n')
    assert hits_and_misses() == (1, 0)
    edited = package / "multipliers" / "monte_carlo.py"
    original = edited.read_text()
    edited.write_text("# everything moves down a line\n" + original)
    assert hits_and_misses() == (1, 0)
    edited.write_text(original.replace("min(start + 8,", "min(8 + start,"))  # in a function that the entry calls
    assert edited.read_text() != original
    assert hits_and_misses() == (0, 1)
    edited.write_text(original)
    assert hits_and_misses() == (1, 0)


def test_an_edit_to_a_called_function_in_another_file_reaches_compiled_code(copied):
    package, run_copy = copied
    helper = package / "helper.py"
    helper.write_text(
        "from bandstrap.engine.compiler.kernel import jitable\n@jitable\ndef step(x):\n    return x + 1.0\n"
    )
    (package / "door.py").write_text(
        "from bandstrap.engine.compiler.kernel import entry\nfrom bandstrap.helper import step\n"
        "@entry\ndef stepped(x):\n    return step(x)\n"
    )
    code = "from bandstrap.door import stepped; print(stepped.compiled(1.0), stepped.plain(1.0))"
    assert run_copy(code) == "2.0 2.0"
    helper.write_text(helper.read_text().replace("1.0", "2.0"))
    assert run_copy(code) == "3.0 3.0"


TWO_BODIES = """
from bandstrap.engine.compiler.kernel import compiled_body, entry
def step(x):
    return x + 1.0
@compiled_body(step)
def step_in_loops(x):
    return x + 2.0  # other than the plain body, to be told apart
@entry
def stepped(x):
    return step(x)
"""


def test_compiled_code_runs_the_compiled_body_and_plain_code_the_plain_one(copied):
    package, run_copy = copied
    (package / "early.py").write_text(TWO_BODIES)
    (package / "late.py").write_text(TWO_BODIES.replace("1.0", "10.0").replace("2.0", "20.0"))
    code = """
        from bandstrap import early
        found = [early.step(0.0), early.step_in_loops(0.0), early.stepped.plain(0.0), early.stepped.compiled(0.0)]
        from bandstrap import late  # marked after the first compilation
        print(found, late.stepped.plain(0.0), late.stepped.compiled(0.0))
    """
    assert run_copy(code) == "[1.0, 2.0, 1.0, 2.0] 10.0 20.0"


def test_a_compiled_body_is_remembered_and_both_stay_plain_functions(monkeypatch):
    monkeypatch.setattr(kernel, "_compiled_bodies", {})
    monkeypatch.setattr(kernel, "_jitables", set())

    def plain(x):
        return x

    def loops(x):
        return -x

    assert kernel.compiled_body(plain)(loops) is loops
    assert kernel._compiled_bodies == {plain: loops}
    assert kernel._jitables == {plain}
    assert (plain(3), loops(3)) == (3, -3)


def test_functions_marked_after_the_first_compilation_are_known_to_the_compiler(copied):
    package, run_copy = copied
    (package / "late.py").write_text(
        "from bandstrap.engine.compiler.kernel import entry, jitable\n@jitable\ndef step(x):\n    return x + 1.0\n"
        "@entry\ndef stepped(x):\n    return step(x)\n"
    )
    (package / "early.py").write_text(
        "from bandstrap.engine.compiler.kernel import entry\n@entry\ndef same(x):\n    return x\n"
    )
    code = """
        from bandstrap.early import same
        first = same.compiled(1.0)
        from bandstrap.late import stepped
        print(first, stepped.compiled(1.0))
    """
    assert run_copy(code) == "1.0 2.0"


@jitable
def inner(x):
    return x


@jitable
def aside(x):
    return x + 1.0


def aside_in_numpy(x):
    return np.add(x, inner(x))


@kernel.compiled_body(aside_in_numpy)
def aside_in_loops(x):
    return x + inner(x)


@jitable
def middle(x, times=2.0):
    return times * inner(x) + aside(x) + aside_in_numpy(x)


def outer(x):
    return middle(x)


def test_a_function_is_rebuilt_with_another_inside_plain_and_compiled():
    other = lambda x: 10.0 * x  # noqa: E731
    built = kernel.rebuilt(outer, {inner: other})
    assert (outer(1.0), built(1.0)) == (2 + 2 + 2, 20 + 2 + 11)
    assert Entry(built).compiled(1.0) == built(1.0)
    assert Entry(outer).compiled(1.0) == outer(1.0)
    assert built.__qualname__ != outer.__qualname__  # numba tells machine code from several processes apart by name
    assert kernel.rebuilt(outer, {}) is outer
    assert kernel.rebuilt(aside, {inner: other}) is aside


def test_functions_of_one_text_that_close_over_different_numbers_are_rebuilt_apart():
    built = [kernel.rebuilt(outer, {inner: lambda x, by=by: by * x}) for by in (1.0, 3.0)]
    assert [Entry(each).compiled(1.0) for each in built] == [each(1.0) for each in built] == [6.0, 12.0]

"""Compiled code on disk: what is damaged is compiled anew, and where nothing can be kept one warning says so."""

import importlib.util
import math
import os
import pickle
import resource
import shutil
import subprocess
import sys
import textwrap
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import config

import bandstrap
from bandstrap.engine.compiler import cache
from bandstrap.engine.compiler.identity import identify
from bandstrap.engine.compiler.locks import seconds_compiling
from bandstrap.errors import CacheWarning
from interpreter import printed
from sampling import exhaustive, telling

PACKAGE = Path(bandstrap.__file__).parent


@pytest.fixture
def function(tmp_path, monkeypatch):
    """A function in a file of its own."""
    path = tmp_path / "own" / "stepped.py"
    path.parent.mkdir()
    path.write_text("def stepped(x):\n    return x + 1.0\n")
    spec = importlib.util.spec_from_file_location("stepped", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "stepped", module)  # numba looks it up by name
    spec.loader.exec_module(module)
    return module.stepped


@pytest.fixture(autouse=True)
def place(monkeypatch, tmp_path):
    """A folder for compiled code that does not exist yet, in a process that has not warned yet."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_has_warned", False)
    return tmp_path / "cache"


def compiled(function):
    return cache.compile_cached(function, "stepped", function, identify(function))


def is_loaded(function, argument=1.0) -> bool:
    """Whether a fresh start loads from disk; what it computes is right in any case."""
    fresh = compiled(function)
    assert fresh(argument) == argument + 1
    hits, misses = (sum(counts.values()) for counts in (fresh.stats.cache_hits, fresh.stats.cache_misses))
    assert hits + misses == 1
    return hits == 1


def only_file(place) -> Path:
    files = [path for path in place.rglob("*") if path.is_file()]
    assert len(files) == 1
    return files[0]


def damages(good: bytes):
    """Bytes that are not ``good``: cut short, emptied, lengthened, one bit flipped anywhere, all changed."""
    yield from (good[:length] for length in (0, 1, 31, 32, 33, len(good) // 2, len(good) - 1))
    yield good + b"\0"
    yield bytes(len(good))
    rng = np.random.default_rng(0)
    for place in [0, 31, 32, len(good) - 1, *rng.integers(len(good), size=8)]:
        changed = bytearray(good)
        changed[place] ^= 1 << rng.integers(8)
        yield bytes(changed)


def test_a_damaged_file_is_never_unpickled_and_is_written_anew(function, place, monkeypatch):
    assert not is_loaded(function)
    assert is_loaded(function)
    path = only_file(place)
    good = path.read_bytes()
    unpickled = []
    monkeypatch.setattr(cache.pickle, "loads", lambda data: unpickled.append(data) or pickle._loads(data))
    for bad in damages(good):
        path.write_bytes(bad)
        assert not is_loaded(function)
        assert unpickled == []
        assert is_loaded(function)
        assert unpickled == [path.read_bytes()[32:]]
        unpickled.clear()


class Bomb:
    def __reduce__(self):
        return exec, ("raise SystemExit('executed')",)


def test_a_pickle_that_came_from_elsewhere_is_not_opened(function, place):
    assert not is_loaded(function)
    path = only_file(place)
    path.write_bytes(pickle.dumps(Bomb()))
    assert not is_loaded(function)
    assert is_loaded(function)


def test_machine_code_for_another_signature_processor_or_version_is_not_taken(function, place, monkeypatch):
    assert not is_loaded(function, 1.0)
    floats = only_file(place)
    assert not is_loaded(function, 1)
    (integers,) = set(floats.parent.iterdir()) - {floats}
    integers.write_bytes(floats.read_bytes())
    assert not is_loaded(function, 1)
    assert is_loaded(function, 1)
    old = floats.read_bytes()
    for name, version in (("numba", "0.1"), ("llvmlite", "0.1")):
        with monkeypatch.context() as other:
            other.setattr(getattr(cache, name), "__version__", version)
            assert not is_loaded(function, 1.0)
            (newest,) = [path for path in floats.parent.iterdir() if path not in (floats, integers)]
            newest.write_bytes(old)
            assert not is_loaded(function, 1.0)
            newest.unlink()
    assert is_loaded(function, 1.0)


def test_the_time_of_compiling_and_of_loading_is_counted(function):
    counted = []
    for _ in range(2):
        fresh, before, start = compiled(function), seconds_compiling(), time.thread_time()
        fresh(1.0)
        counted.append(seconds_compiling() - before)
        assert 0 < counted[-1] <= time.thread_time() - start
        again = seconds_compiling()
        fresh(2.0)
        assert seconds_compiling() == again
    assert counted[1] < counted[0]


def test_what_comes_after_a_failed_compilation_is_not_counted(function):
    def fail_and_compile():
        with pytest.raises(numba.TypingError):
            compiled(function)("a text")
        math.fsum(range(10**6))
        start = time.thread_time()
        compiled(function)(1.0)
        return time.thread_time() - start - seconds_compiling()

    with ThreadPoolExecutor(1) as pool:  # a thread that has compiled nothing
        assert pool.submit(fail_and_compile).result() >= 0


def test_two_classes_of_one_name_are_two_signatures(place, tmp_path):
    texts = []
    for folder in ("one", "two"):
        space = {"__name__": folder}
        exec("from collections import namedtuple\nPair = namedtuple('Pair', 'x y')", space)
        texts.append(cache.layout(cache.numba.typeof(space["Pair"](1.0, 2))))
    assert texts == ["one.Pair('x', 'y')(float64, int64)", "two.Pair('x', 'y')(float64, int64)"]
    assert cache.layout(cache.numba.typeof((1.0, (2,)))) == "builtins.tuple()(float64, builtins.tuple()(int64))"


def test_a_folder_removed_while_running_is_made_again(function, place):
    running = compiled(function)
    assert running(1.0) == 2.0
    shutil.rmtree(place)
    assert running(1) == 2  # compiled for another type
    assert not is_loaded(function, 1.0)
    assert is_loaded(function, 1.0)
    assert is_loaded(function, 1)


@pytest.mark.parametrize("where", ["a file", "below a file", "nowhere"])
def test_where_nothing_can_be_kept_it_is_compiled_with_one_warning(function, tmp_path, monkeypatch, where):
    (tmp_path / "file").write_text("kept")
    folder = {"a file": tmp_path / "file", "below a file": tmp_path / "file" / "x", "nowhere": "/dev/null/x"}[where]
    monkeypatch.setattr(config, "CACHE_DIR", str(folder))
    with pytest.warns(CacheWarning, match=r"^compiled code cannot be kept on disk \(.*: Not a directory\): .*") as told:
        assert not is_loaded(function, 1.0)
    assert len(told) == 1
    assert str(folder) in str(told[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not is_loaded(function, 1.0)
        assert not is_loaded(function, 1)
    assert (tmp_path / "file").read_text() == "kept"


def test_a_file_name_taken_by_a_folder_costs_only_the_cache(function, place):
    assert not is_loaded(function)
    path = only_file(place)
    path.unlink()
    path.mkdir()
    (path / "something").touch()
    with pytest.warns(CacheWarning, match="Is a directory"):
        assert not is_loaded(function)
    assert [found.name for found in path.parent.iterdir()] == [path.name]  # and nothing half-written is left


def test_beside_the_file_or_else_in_the_users_cache(function, tmp_path, monkeypatch):
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    beside = tmp_path / "own" / "__pycache__"
    shutil.rmtree(beside, ignore_errors=True)
    beside.touch()  # a folder that cannot be made
    assert not is_loaded(function)
    assert only_file(tmp_path / "home").suffix == ".nbc"
    assert is_loaded(function)
    beside.unlink()
    shutil.move(only_file(tmp_path / "home").parent, beside)
    shutil.rmtree(tmp_path / "home")
    (tmp_path / "home").touch()
    assert is_loaded(function)  # what came with a read-only installation


def test_a_function_without_a_file_is_compiled_in_silence():
    space = {"__name__": "cells"}
    exec("def stepped(x):\n    return x + 1.0\n", space)
    assert cache.cache_folders(space["stepped"]) == []
    assert not is_loaded(space["stepped"])
    assert not is_loaded(space["stepped"])


def test_a_few_old_versions_are_kept(function, place):
    names = []
    for version in range(cache.N_KEPT + 3):
        cache.compile_cached(function, "stepped", function, identify(function, version))(1.0)
        (new,) = {path.name for path in place.rglob("*.nbc")} - set(names)
        names.append(new)
        os.utime(next(place.rglob(new)), (version, version))
    assert sorted(path.name for path in place.rglob("*.nbc")) == sorted(names[-cache.N_KEPT - 1 :])


# --- processes --------------------------------------------------------------------------------------------------------


def start(code: str, limit: int | None = None, **environment: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {name: str(value) for name, value in environment.items()},
        preexec_fn=limit and (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))),
    )


def outcome(process: subprocess.Popen[str]) -> tuple[str, str]:
    out, error = process.communicate()
    assert process.returncode == 0, error
    return out, error


STEPPED = """
    from bandstrap.engine.compiler.kernel import Entry
    from stepped import stepped
    door = Entry(stepped)
    print(door.compiled(1.0), door.compiled(1), sum(door._compiled.stats.cache_hits.values()))
"""


@exhaustive
def test_processes_that_write_the_same_at_once(function, tmp_path):
    place = {"PYTHONPATH": tmp_path / "own", "NUMBA_CACHE_DIR": tmp_path / "cache"}
    for process in [start(STEPPED, **place) for _ in range(3)]:
        out, error = outcome(process)
        assert out.startswith("2.0 2.0 ")
        assert error == ""
    assert outcome(start(STEPPED, **place)) == ("2.0 2.0 2\n", "")
    assert len([path for path in (tmp_path / "cache").rglob("*") if path.is_file()]) == 2


def test_a_disk_that_is_full_costs_only_the_cache(function, tmp_path):
    place = {"PYTHONPATH": tmp_path / "own", "NUMBA_CACHE_DIR": tmp_path / "cache"}
    out, error = outcome(start(STEPPED, limit=1000, **place))
    assert out == "2.0 2.0 0\n"
    assert error.count("CacheWarning: compiled code cannot be kept on disk") == 1
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


@pytest.fixture
def read_only(tmp_path):
    """The environment of a process that can keep nothing beside its sources nor at home."""
    root = tmp_path / "sources"
    shutil.copytree(PACKAGE, root / "bandstrap", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [root / "bandstrap", *(root / "bandstrap").rglob("*/")]:
        (folder / "__pycache__").touch()
    nowhere = "/dev/null/x"
    return {"PYTHONPATH": root, "HOME": nowhere, "XDG_CACHE_HOME": nowhere, "NUMBA_CACHE_DIR": ""}


def test_a_library_on_a_read_only_disk_goes_on_past_the_call_that_compiles(read_only):
    code = """
        import sys, warnings
        import numpy as np
        import bandstrap
        sample = np.random.default_rng(0).normal(size=300)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = {float(bandstrap.bootstrap_quantile(sample, 0.05, method="monte-carlo", seed=1)) for _ in range(60)}
            bandstrap.bounds.betting(sample, 0.05, support=(-9, 9))
        print(bandstrap.__file__, "numba" in sys.modules, len(found), [warning.category.__name__ for warning in told])
    """
    out, _ = outcome(start(code, **read_only))
    assert out == f"{read_only['PYTHONPATH']}/bandstrap/__init__.py True 1 ['CacheWarning']\n"


@telling(
    "command",
    [
        "simulate --policy ucb1 --environment gaussian --replications 5 --horizon 50",
        "coverage --bound betting --distribution uniform --sample-size 20 --replications 2000",
    ],
    lambda command: command.startswith("simulate"),
    ids=lambda command: command.split()[0],
)
def test_a_command_on_a_read_only_disk_says_so_in_one_line(read_only, command):
    code = f"import sys, bandstrap.cli; sys.argv[1:] = {command.split()!r}; bandstrap.cli.main()"
    out, error = outcome(start(code, **read_only))
    assert out == outcome(start(code))[0]
    error = "\n" + error  # lines that tell what is being waited for may come before and after
    assert error.count("warning: ") == error.count("\nwarning: compiled code cannot be kept on disk (") == 1
    assert "Traceback" not in error


@exhaustive
def test_code_that_two_processes_compiled_is_told_apart_by_a_third(tmp_path):
    # One loop with another function inside, the same types and the same place in the order of compilation: all that numba
    # knows machine code by would be the same.
    (tmp_path / "looped.py").write_text(
        textwrap.dedent(
            """
            import math
            import sys
            from bandstrap.engine.compiler.cache import compile_cached
            from bandstrap.engine.compiler.identity import identify
            from bandstrap.engine.compiler.kernel import jitable
            from bandstrap.engine.compiler.twins import twin

            @jitable
            def hole(x):
                return x

            @jitable
            def between(x):
                total = hole(x)
                for i in range(int(x)):  # so long that it is called, not copied into its caller
                    total = math.sin(i + total) * math.exp(-abs(total)) + math.log1p(abs(total)) * math.cos(total) + hole(x)
                    total += math.sin(i - total) * math.exp(-abs(total)) - math.log1p(abs(total + 1.0)) * math.cos(total)
                    total += math.atan2(total, 2.0 + i) * math.tanh(total) + math.sqrt(abs(total)) * math.erf(total)
                    total += math.atan2(total, 3.0 + i) * math.sin(total) + math.lgamma(abs(total) + 1.0)
                return total

            def loop(x):
                return between(x) + between(x + 1.0) + between(x + 2.0)

            @jitable
            def once(x):
                return x + 1.0

            @jitable
            def twice(x):
                return 2.0 * x

            for name in sys.argv[1:]:
                inside = globals()[name]
                identity = identify(loop, inside)
                made = compile_cached(twin(loop, identity.digest, {hole: inside}), f"loop-{name}", loop, identity)
                print(made(10.0))
            """
        )
    )

    def run(*names):
        code = f"import sys; sys.argv[1:] = {list(names)!r}; import looped"
        return printed(code, PYTHONPATH=os.pathsep.join([str(tmp_path), *sys.path]), NUMBA_CACHE_DIR=tmp_path / "kept")

    once, twice = run("once"), run("twice")
    assert once != twice
    assert run("once", "twice").split() == [once, twice]
    assert run("twice", "once").split() == [twice, once]

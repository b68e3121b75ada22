"""Sources of code: a user's own modules with all they import, this package's as a whole, and versions of libraries.

A user's modules are found by following import statements, so that nothing can be forgotten. This package's functions are
known by what they do instead (``engine/compiler/provenance.py``).
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

# Same bytes are promised only for equal versions of these.
LIBRARIES = ("numpy", "numba", "scipy")
# The folder of this package.
PACKAGE = Path(__file__).parents[1]


class Source(NamedTuple):
    """A module's name, file and content."""

    name: str
    file: Path
    content: bytes


@functools.cache
def code_digest(*modules: str) -> str:
    """Digest of modules, of all they import but for this package and libraries, and of the libraries' versions."""
    digest = hashlib.sha256(versions().encode())
    for name in modules:  # a user's own file remembers its content when it was loaded, and its name changes with that
        digest.update(getattr(sys.modules.get(name), "__code_digest__", "").encode())
    for source in reachable(modules):
        digest.update(source.name.encode() + b"\0" + hashlib.sha256(source.content).digest())
    return digest.hexdigest()[:16]


class Code(NamedTuple):
    """The code of a process: what it is called, and a digest of all of it."""

    said: str
    digest: str


@functools.cache
def code_here() -> Code:
    """All sources of this package as they are now, and the versions below; who has the same computes the same.

    >>> code_here().said.startswith("bandstrap ")
    True
    """
    digest = hashlib.sha256(f"{versions()} {digest_sources(PACKAGE)}".encode())
    return Code(f"bandstrap {version('bandstrap')} ({versions()})", digest.hexdigest()[:16])


def digest_sources(root: Path, folders: Iterable[str] = (".",)) -> str:
    """Digest of the names and contents of all Python sources in some folders below ``root``."""
    digest = hashlib.sha256()
    for folder in folders:
        for name in sorted(path.relative_to(root).as_posix() for path in (root / folder).rglob("*.py")):
            digest.update(name.encode())
            digest.update((root / name).read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def versions() -> str:
    """Versions of Python and of the libraries that compute."""
    python = f"python {sys.version_info[0]}.{sys.version_info[1]}"
    return ", ".join([python, *(f"{name} {version(name)}" for name in LIBRARIES)])


def reachable(modules: Iterable[str], folder: Path | None = None) -> list[Source]:
    """Modules and all they import, directly or not, in the order of their names; libraries are left out.

    Modules in ``folder`` are found first, as a script finds those beside it.
    """
    found: dict[str, Source | None] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name], imports = read_module(name, folder)
            waiting += imports
    return sorted((source for source in found.values() if source is not None), key=lambda source: source.name)


def is_ours(name: str) -> bool:
    """Return whether a module belongs to this package."""
    return name.partition(".")[0] == "bandstrap"


def read_module(name: str, folder: Path | None = None) -> tuple[Source | None, tuple[str, ...]]:
    """The source of a module that is not a library's, and the modules it imports."""
    file = find_file(name, folder)
    if file is None:
        return None, ()
    source = Source(name, file, file.read_bytes())
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    return source, tuple(names_in(parse(source.content, file), package))


def parse(content: bytes, file: Path) -> ast.Module:
    """The syntax tree of a file; the error of one that is not Python names it, also where Python's own does not."""
    try:
        return ast.parse(content, str(file))
    except SyntaxError as error:
        error.filename = str(file)
        raise
    except ValueError as error:  # null bytes, in some versions of Python
        raise SyntaxError(str(error), (str(file), None, None, None)) from None


def find_file(name: str, folder: Path | None = None) -> Path | None:
    """The file of a module; ``None`` for what belongs to Python, this package or a library, and for what is no module."""
    if folder is not None:
        parts = name.split(".")
        for size in range(len(parts), 0, -1):
            beside = file_below(folder, parts[:size])
            if beside is not None:  # else it is something in that module, which must not be imported to find out
                return beside if size == len(parts) else None
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names or is_ours(name) or is_library(top):
        return None
    origin = find_origin(name)
    return None if origin is None or origin.suffix != ".py" else origin


@functools.cache
def is_library(top: str) -> bool:
    """Return whether a package is installed among the libraries: of this environment, a user, or one that it sees too."""
    origin = find_origin(top)
    folders = {Path(sysconfig.get_path(kind)) for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
    return origin is not None and any(
        parent in folders or parent.name in ("site-packages", "dist-packages") for parent in origin.parents
    )


def find_origin(name: str) -> Path | None:
    """The file Python would import a module from."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):  # missing, or something in a module
        return None
    return None if spec is None or spec.origin is None else Path(spec.origin)


def file_below(folder: Path, parts: Sequence[str]) -> Path | None:
    """The file of a package or module below a folder, by the parts of its name; of no parts, the folder's own."""
    place = folder.joinpath(*parts)
    files = (place / "__init__.py", place.with_name(f"{place.name}.py"))  # in the order in which Python looks
    return next((file for file in files if file.is_file()), None)


def is_type_checking(test: ast.expr) -> bool:
    """Return whether a condition holds for type checkers only: ``TYPE_CHECKING``, or that of ``typing`` under any
    name.
    """
    name = test.attr if isinstance(test, ast.Attribute) else test.id if isinstance(test, ast.Name) else ""
    return name == "TYPE_CHECKING"


def names_in(tree: ast.AST, package: str) -> Iterator[str]:
    """Names in import statements below a node, except those for type checkers.

    ``from a import b`` names ``a.b`` if that is a module, and ``a`` if it is something in ``a``.
    """
    if isinstance(tree, ast.If) and is_type_checking(tree.test):
        for branch in tree.orelse:
            yield from names_in(branch, package)
    elif isinstance(tree, ast.Import):
        yield from (alias.name for alias in tree.names)
    elif isinstance(tree, ast.ImportFrom):
        parents = package.split(".")
        parents = parents[: len(parents) - (tree.level - 1)] if tree.level else []
        base = ".".join([*parents, *([tree.module] if tree.module else [])])
        yield from (f"{base}.{alias.name}" for alias in tree.names)
        yield base
    else:
        for node in ast.iter_child_nodes(tree):
            if not isinstance(node, ast.expr):  # most nodes are, and no statement is inside one
                yield from names_in(node, package)

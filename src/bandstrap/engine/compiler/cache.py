"""Compiled functions on disk: a file for each identity and signature; importing this module imports numba.

Numba keeps one index per function, and unpickles all of it to look one signature up. With one index for ``play``, the
types of a policy in a user's own file would be looked up whenever any policy is played. Here there is no index: the name
of a file holds the identity of what was compiled and a digest of its signature, and the file holds nothing else.

Numba's form of compiled code is a pickle, the one exception to the rule that no file of ours is one. It stands behind a
SHA-256 of its bytes and of what they were compiled for, checked before anything is unpickled: what was cut short, changed
on the disk, or written for another signature, processor or version is dropped and compiled anew. The digest guards against
accidents; who can write to the folder can run code, as with Python's own ``__pycache__``.

Where nothing can be kept, functions are compiled by every process that needs them, and a warning says so once.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import os
import pickle
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.types import BaseTuple, StructRef

from bandstrap.engine.compiler.identity import Identity
from bandstrap.engine.compiler.internals import has
from bandstrap.engine.compiler.locks import count_compiling, end_turn, take_turn
from bandstrap.errors import CacheWarning

# Older versions of a function that are kept beside the one in use, so that going back to one costs nothing.
N_KEPT = 3

_has_warned = False


def compile_cached(
    function: Callable[..., Any],
    name: str,
    home: Callable[..., Any],
    identity: Identity,
    *,
    nogil: bool = True,
    boundscheck: bool = False,
) -> Any:
    """``function`` compiled, from the disk where possible; ``home`` is the function whose file says where on the disk.

    With ``nogil`` other threads go on while it runs; whether it has it must be clear from its name. With ``boundscheck`` an
    index beyond an array is an error, as in Python, and costs some time; whether it has it must be clear from its identity.
    """
    compiled = numba.njit(nogil=nogil, boundscheck=boundscheck)(function)
    if has("cache"):
        folders = cache_folders(home) if identity.is_lasting else []
        compiled._cache = IdentityCache(folders, name, identity.digest)  # numba.njit(cache=True) sets it too
    return compiled


def cache_folders(function: Callable[..., Any]) -> list[Path]:
    """Folders where compiled code of a function may be kept, as numba places it; none for a function that has no file.

    ``NUMBA_CACHE_DIR``, if it is set; else beside the function's file, and, where that cannot be written to, in the user's
    own cache. A function of the main program has none: its types cannot be found again by name in another program.
    """
    file = Path(inspect.getfile(function))
    if function.__module__ == "__main__" or not file.exists():
        return []
    parent = file.parent.absolute()
    own = f"{parent.name}_{hashlib.sha1(str(parent).encode(), usedforsecurity=False).hexdigest()}"
    if numba.config.CACHE_DIR:
        return [Path(numba.config.CACHE_DIR) / own]
    folders = [parent / "__pycache__"]
    with contextlib.suppress(RuntimeError):  # a user without a home
        home = "~/Library/Caches" if sys.platform == "darwin" else os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        folders.append(Path(home).expanduser() / "numba" / own)
    return folders


def layout(kind: Any) -> str:
    """A type in words, with the class of named tuples and their fields in order: its name alone may mean another class."""
    if isinstance(kind, StructRef):
        return f"{type(kind).__qualname__}({', '.join(layout(part) for part in kind.field_dict.values())})"
    if not isinstance(kind, BaseTuple):
        return str(kind)
    parts = ", ".join(layout(part) for part in kind)
    made = getattr(kind, "instance_class", tuple)
    return f"{made.__module__}.{made.__qualname__}{getattr(kind, 'fields', ())}({parts})"


class IdentityCache:
    """Cache that numba asks before it compiles a function and fills afterwards; files belong to one identity alone.

    Parameters
    ----------
    folders
        Where to look, and where to write: the first that can be written to is. There may be none.
    name, digest
        Name of what is compiled, and the digest of its identity.
    """

    def __init__(self, folders: list[Path], name: str, digest: str) -> None:
        self._folders = folders
        self._name = name
        self._digest = digest
        self._began = 0.0

    @property
    def cache_path(self) -> str | None:
        """The folder that is tried first."""
        return str(self._folders[0]) if self._folders else None

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Code compiled for a signature; ``None`` if nothing was, or if it is damaged."""
        self._began = time.thread_time()
        found = self._load(signature, target_context) if self._folders else None
        if found is not None:
            count_compiling(time.thread_time() - self._began)
        return found

    def _load(self, signature: Any, target_context: Any) -> Any:
        """Content on the disk, once nobody writes it."""
        target_context.refresh()
        purpose = self._purpose(signature, target_context.codegen())
        found = self._find(purpose, signature, target_context)
        if found is None and take_turn(self._paths(purpose)[0]):  # another process was at it
            found = self._find(purpose, signature, target_context)
        if found is not None:
            end_turn(self._paths(purpose)[0])
        return found

    def _find(self, purpose: bytes, signature: Any, target_context: Any) -> Any:
        """Content of a file for a signature."""
        from numba.core.compiler import CompileResult

        for path in self._paths(purpose):
            payload = read_sealed(path, purpose)
            if payload is None:
                continue
            with contextlib.suppress(Exception):  # a class it names may be gone; the remedy is to compile anew
                found = CompileResult._rebuild(target_context, *pickle.loads(payload))  # noqa: S301 - sealed
                if found.signature.args == signature:
                    return found
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep what was compiled, where a folder can be written to."""
        if self._folders and not result.library.has_dynamic_globals:
            self._save(signature, result)
        count_compiling(time.thread_time() - self._began)

    def _save(self, signature: Any, result: Any) -> None:
        """Write it to the first folder that can be written to."""
        from numba.core.serialize import dumps

        purpose, reasons = self._purpose(signature, result.codegen), []
        payload = dumps(result._reduce())
        for path in self._paths(purpose):
            try:
                write_whole(path, seal(payload, purpose) + payload)
            except OSError as error:
                reasons.append(f"{path.parent}: {error.strerror}")
            else:
                self._forget_old(path.parent)
                end_turn(self._paths(purpose)[0])
                return
        warn_once(reasons)

    def flush(self) -> None:
        """Forget everything that was compiled for this identity."""
        for folder in self._folders:
            for path in folder.glob(f"{self._name}-{self._digest}.*.nbc"):
                path.unlink(missing_ok=True)

    def _purpose(self, signature: Any, codegen: Any) -> bytes:
        """Everything machine code depends on beside its source, which the identity stands for."""
        versions = sys.version, numba.__version__, llvmlite.__version__
        parts = self._digest, [layout(kind) for kind in signature], codegen.magic_tuple(), versions
        return repr(parts).encode()

    def _paths(self, purpose: bytes) -> list[Path]:
        """Path of the file, existing or not, in each folder."""
        name = f"{self._name}-{self._digest}.{hashlib.sha256(purpose).hexdigest()[:16]}.nbc"
        return [folder / name for folder in self._folders]

    def _forget_old(self, folder: Path) -> None:
        """Remove all but the latest identities of this function."""
        latest: dict[str, float] = {}
        with contextlib.suppress(OSError):  # another process may be at it as well
            files = list(folder.glob(f"{self._name}-{'[0-9a-f]' * len(self._digest)}.*.nbc"))
            for path in files:
                identity = path.name.partition(".")[0]
                latest[identity] = max(latest.get(identity, 0.0), path.stat().st_mtime)
            kept = sorted(latest, key=lambda identity: latest[identity])[-N_KEPT - 1 :]
            for path in files:
                if path.name.partition(".")[0] not in kept:
                    path.unlink(missing_ok=True)


def seal(payload: bytes, purpose: bytes) -> bytes:
    """A SHA-256 of some bytes and of what they are for."""
    return hashlib.sha256(hashlib.sha256(purpose).digest() + payload).digest()


def read_sealed(path: Path, purpose: bytes) -> bytes | None:
    """Content of a file with a valid checksum; a file whose checksum does not match is removed."""
    try:
        content = path.read_bytes()
    except OSError:  # none there, or none that can be read
        return None
    length = hashlib.sha256().digest_size
    payload = content[length:]
    if content[:length] == seal(payload, purpose):
        return payload
    with contextlib.suppress(OSError):
        path.unlink()
    return None


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all.

    Not by ``storage.py``, which writes results: these would then depend on its source, as on all that ``play`` imports.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def warn_once(reasons: list[str]) -> None:
    """Say that compiled code is not kept, and why; once in a process."""
    global _has_warned
    if not _has_warned:
        _has_warned = True
        message = (
            f"compiled code cannot be kept on disk ({'; '.join(reasons)}): every process compiles its functions again. "
            "Set NUMBA_CACHE_DIR to a folder that can be written to."
        )
        warnings.warn(message, CacheWarning, stacklevel=2)

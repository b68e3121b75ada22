"""Compiled functions on disk: an index of its own for each identity; importing this module imports numba.

Numba keeps one index per function, and unpickles all of it to look one signature up. With one index for ``play``, the
types of a policy in a user's own file would be looked up whenever any policy is played. Here an index is found by the
identity of what was compiled, in the folder of the file it came from, and holds nothing else.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import (
    IndexDataCacheFile,
    InTreeCacheLocator,
    NullCache,
    UserProvidedCacheLocator,
    UserWideCacheLocator,
    _Cache,
)
from numba.core.compiler import CompileResult
from numba.core.types.containers import BaseTuple

from bandstrap.engine.identity import Identity

# Older versions of a function that are kept beside the one in use, so that going back to one costs nothing.
N_KEPT = 3


def compile_cached(function: Callable[..., Any], name: str, home: Callable[..., Any], identity: Identity) -> Any:
    """``function`` compiled, from the disk where possible; ``home`` is the function whose file says where on the disk."""
    compiled = numba.njit(nogil=True)(function)
    folder = cache_folder(home) if identity.is_lasting else None
    # numba.njit(cache=True) sets this too.
    compiled._cache = NullCache() if folder is None else IdentityCache(folder, name, identity.digest)
    return compiled


def cache_folder(function: Callable[..., Any]) -> Path | None:
    """Where numba would cache a function; ``None`` for one that has no file, or where no folder can be written.

    A function of the main program has none either: its types cannot be found again by name in another program.
    """
    if function.__module__ == "__main__":
        return None
    file = inspect.getfile(function)
    for kind in (UserProvidedCacheLocator, InTreeCacheLocator, UserWideCacheLocator):
        locator = kind.from_function(function, file)
        if locator is not None:
            return Path(locator.get_cache_path())
    return None


def layout(kind: Any) -> str:
    """A type with the fields of named tuples in their order: a class found by name may have had them in another."""
    if not isinstance(kind, BaseTuple):
        return str(kind)
    names = getattr(kind, "fields", ())
    return f"{names}({', '.join(layout(part) for part in kind)})"


class IdentityCache(_Cache):
    """Numba's cache of one function, with an index that belongs to one identity alone."""

    def __init__(self, folder: Path, name: str, digest: str) -> None:
        self._folder = folder
        self._name = name
        self._base = f"{name}-{digest}.py{sys.version_info[0]}{sys.version_info[1]}"
        self._file = IndexDataCacheFile(str(folder), self._base, digest)

    @property
    def cache_path(self) -> str:
        """The folder."""
        return str(self._folder)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """What was compiled for a signature; ``None`` if nothing was, or if it cannot be read."""
        target_context.refresh()
        try:
            found = self._file.load(self._key(signature, target_context.codegen()))
            return None if found is None else CompileResult._rebuild(target_context, *found)
        except Exception:  # noqa: BLE001 - whatever a damaged file raises, the remedy is to compile anew
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep what was compiled, where the folder can be written."""
        if result.library.has_dynamic_globals or any(not part.can_cache for part in result.lifted):
            return
        key, data = self._key(signature, result.codegen), result._reduce()
        try:
            try:
                self._file.save(key, data)
            except Exception:  # noqa: BLE001 - a damaged index, begun anew
                self.flush()
                self._file.save(key, data)
            self._forget_old()
        except OSError as error:
            warnings.warn(f"compiled code cannot be kept in {self._folder}: {error.strerror}.", stacklevel=2)

    def enable(self) -> None:
        """Is always on."""

    def disable(self) -> None:
        """Is always on."""

    def flush(self) -> None:
        """Forget everything."""
        self._file.flush()

    def _key(self, signature: Any, codegen: Any) -> Any:
        """Signature, layout and machine; the identity, which is in the file's name, covers the rest."""
        return signature, tuple(layout(kind) for kind in signature), codegen.magic_tuple()

    def _forget_old(self) -> None:
        """Remove all but the latest versions of this function."""
        digest_length = len("-") + 24
        pattern = f"{self._name}-{'[0-9a-f]' * 24}{self._base[len(self._name) + digest_length :]}.nbi"
        with contextlib.suppress(OSError):
            versions = sorted(self._folder.glob(pattern), key=lambda path: path.stat().st_mtime, reverse=True)
            for old in versions[N_KEPT + 1 :]:
                for part in self._folder.glob(f"{old.stem}.*.nbc"):
                    part.unlink(missing_ok=True)
                old.unlink(missing_ok=True)

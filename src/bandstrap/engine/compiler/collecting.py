"""Garbage collections put off while something is compiled: a sixth of the compiler's time went into them."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator

# New objects between two collections, 700 by Python's default. A compiler makes millions, few of which are garbage.
SELDOM = 50_000

# Reentrant, because a collection may end an abandoned context of this very thread while it is held.
_lock = threading.RLock()
_inside: set[object] = set()
_before = gc.get_threshold()


@contextlib.contextmanager
def collecting_seldom() -> Iterator[None]:
    """While the context lasts, in whichever threads, collect garbage less often; not at all if that was so before."""
    global _before
    context = object()
    with _lock:
        if not _inside:
            _before = gc.get_threshold()
            gc.set_threshold(max(_before[0], SELDOM) if _before[0] else 0, *_before[1:])
        _inside.add(context)
    try:
        yield
    finally:
        with _lock:
            _inside.discard(context)
            if not _inside:
                gc.set_threshold(*_before)

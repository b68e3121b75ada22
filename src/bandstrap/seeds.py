"""What may be given as randomness, ``rng=``, and the generator it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bandstrap.errors import brief, is_whole, requirement


def make_generator(rng: Any, owner: str) -> np.random.Generator:
    """The generator that ``rng`` is or starts: a generator itself is used as it is, and shared.

    Accepted are a NumPy generator, bit generator or seed sequence, a seed, several seeds, and ``None`` for fresh entropy.

    >>> make_generator(3, "UCB1").random() == np.random.default_rng(3).random()
    True
    """
    if is_seed(rng) or rng is None or isinstance(rng, np.random.Generator | np.random.BitGenerator):
        return np.random.default_rng(rng)
    if isinstance(rng, np.random.SeedSequence) or (
        isinstance(rng, Sequence | np.ndarray)
        and getattr(rng, "ndim", 1) == 1  # of lists, the items are looked at
        and not isinstance(rng, str | bytes | bytearray | memoryview)
        and all(map(is_seed, rng))
    ):
        return np.random.default_rng(rng)
    rule = "a NumPy generator, an integer of at least 0, a sequence of such integers, a SeedSequence or None"
    raise requirement("rng", owner, rule, brief(rng))


def is_seed(value: Any) -> bool:
    """Whether a value is a whole number of at least 0."""
    return bool(is_whole(value) and value >= 0)

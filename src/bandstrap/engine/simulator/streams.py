"""Random streams: one per replication and purpose, the same for any number of workers and any block size."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random.bit_generator import ISpawnableSeedSequence
from numpy.typing import NDArray

ENVIRONMENT, POLICY, DELAY, LOSS, REWARDS = range(5)


def stream(seed: int, replication: int, purpose: int) -> np.random.Generator:
    """The generator of one replication's environment or policy, or of its late and lost rewards.

    All policies of a replication start from the same policy stream and meet the same environment, delays and losses, so
    their differences are paired.
    """
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(replication, purpose))))


class RewardStreams:
    """The generators of a replication's rewards where these are not in a reward table: one for each arm and row.

    All are Philox with one key. Philox encrypts a counter of 256 bits, four numbers of 64 bits each time; row ``r``
    of arm ``a`` counts from ``2^192 a + 2^64 r``. It would have to draw ``2^66`` numbers to reach the next row:
    thousands of years, however often a distribution rejects what it draws. So no two rows ever share a number, each
    is there at once, whatever was drawn before, and what jumps ahead by ``2^128``, as ``jumped`` does, meets nobody
    either.
    """

    def __init__(self, seed: int, replication: int) -> None:
        self._root = np.random.SeedSequence(seed, spawn_key=(replication, REWARDS))
        self._key = self._root.generate_state(2, np.uint64)

    def row(self, arm: int, row: int) -> np.random.Generator:
        """The generator of a row of an arm's rewards."""
        seed: Any = RowSeed(self._root, self._key, arm, row)
        return np.random.Generator(np.random.Philox(seed, counter=np.array([0, row, 0, arm], dtype=np.uint64)))


class RowSeed(ISpawnableSeedSequence):
    """The seed of a row: the key of its replication, and children of its own for a distribution that spawns generators."""

    def __init__(self, root: np.random.SeedSequence, key: NDArray[np.unsignedinteger], arm: int, row: int) -> None:
        self._root, self._key, self._place = root, key, (arm, row)
        self._own: np.random.SeedSequence | None = None

    def generate_state(self, n_words: int, dtype: object = np.uint64) -> NDArray[np.unsignedinteger]:
        """The key."""
        return self._key

    def spawn(self, n_children: int) -> Any:
        """Seeds that no other row, and no other call, has."""
        if self._own is None:
            key = *self._root.spawn_key, *self._place
            self._own = np.random.SeedSequence(self._root.entropy, spawn_key=key)
        return self._own.spawn(n_children)

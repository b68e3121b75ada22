"""Random streams: one per replication and purpose, the same for any number of workers and any block size."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

ENVIRONMENT, POLICY, DELAY, LOSS, REWARDS = range(5)


def stream(seed: int, replication: int, purpose: int) -> np.random.Generator:
    """The generator of one replication's environment or policy, or of its late and lost rewards.

    All policies of a replication start from the same policy stream and meet the same environment, delays and losses, so
    that differences between them are paired.
    """
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(replication, purpose))))


def rewards_key(seed: int, replication: int) -> NDArray[Any]:
    """What all generators of a replication's rewards share, where these are not on tape."""
    return np.random.SeedSequence(seed, spawn_key=(replication, REWARDS)).generate_state(2, np.uint64)


def arm_stream(key: NDArray[Any], arm: int, row: int) -> np.random.Generator:
    """The generator of a row of an arm's rewards.

    Philox counts: generators of one key stand at counters so far apart that none reaches the next. So each is there at
    once, whatever was drawn before.
    """
    return np.random.Generator(np.random.Philox(key=key, counter=[0, row, arm, 0]))

"""Random streams: one per replication and purpose, the same for any number of workers and any block size."""

from __future__ import annotations

import numpy as np

ENVIRONMENT, POLICY, DELAY, LOSS = range(4)


def stream(seed: int, replication: int, purpose: int) -> np.random.Generator:
    """The generator of one replication's environment or policy, or of its late and lost rewards.

    All policies of a replication start from the same policy stream and meet the same environment, delays and losses, so
    that differences between them are paired.
    """
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(replication, purpose))))

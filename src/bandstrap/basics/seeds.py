"""Accepted forms of ``seed=``, the generators they stand for, and the seed derived from rewards."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.errors import brief, is_whole, requirement

Seed = int | Sequence[int] | np.random.SeedSequence | np.random.BitGenerator | np.random.Generator | None
# Keeps these seeds apart from whatever else rewards are hashed for.
DOMAIN = b"bandstrap: draws of a bound"


def make_generator(seed: Any, owner: str, parameter: str = "seed") -> np.random.Generator:
    """The generator that ``seed`` is or starts: a generator itself is used as it is, and shared.

    Accepted are a NumPy generator, bit generator or seed sequence, a seed, several seeds, and ``None`` for fresh entropy.

    >>> make_generator(3, "UCB1").random() == np.random.default_rng(3).random()
    True
    """
    if is_seed(seed) or seed is None or isinstance(seed, np.random.Generator | np.random.BitGenerator):
        return np.random.default_rng(seed)
    if isinstance(seed, np.random.SeedSequence) or (
        isinstance(seed, Sequence | np.ndarray)
        and getattr(seed, "ndim", 1) == 1  # of lists, the items are looked at
        and not isinstance(seed, str | bytes | bytearray | memoryview)
        and all(map(is_seed, seed))
    ):
        return np.random.default_rng(seed)
    rule = "a NumPy generator, an integer of at least 0, a sequence of such integers, a SeedSequence or None"
    raise requirement(parameter, owner, rule, brief(seed))


def is_seed(value: object) -> bool:
    """Return whether a value is a whole number of at least 0."""
    return bool(is_whole(value) and value >= 0)


def fixed_seed(seed: Seed, owner: str) -> int | None:
    """A seed that starts the same draws whenever it is used: a number as it is, or one that is drawn from a generator.

    ``None`` stays, see :func:`seed_of`.
    """
    return int(seed) if is_seed(seed) else drawn_seed(seed, owner)  # type: ignore[arg-type]


def drawn_seed(seed: Seed, owner: str) -> int | None:
    """One number drawn from ``seed``, from which all draws of a call start; ``None`` stays, see :func:`seed_of`."""
    return None if seed is None else int(make_generator(seed, owner).integers(2**63))


def seed_of(seed: int | None, *groups: Floats) -> int:
    """The seed of the draws for one sample, or for several groups together: the one given, or one derived from them.

    The derived seed is a BLAKE2b digest of the sorted rewards of each group. It depends neither on their order nor on
    what else is in a batch, and is the same if all signs are turned, so that a lower bound is an upper one mirrored.

    Notes
    -----
    A bound that draws proves ``P(miss) <= alpha`` over draws that are independent of the rewards. With one seed fixed for
    all samples that is not the rate at which samples are missed: the error of its draws is common to all of them.

    A derived seed makes the bound a function of the rewards, and its draws are not independent of them. What follows is
    proved of a random function in place of the digest (a random oracle), and assumed of BLAKE2b. Each distinct sample
    ``s`` has draws ``D_s`` of its own, independent of one another and of the rewards. Once the function is fixed,
    samples are missed with probability ``M = sum_s P(s) 1{D_s misses at s}``. Over functions, ``E M`` is the
    probability of a miss with independent draws, at most ``alpha``, and
    ``var M = sum_s P(s)^2 q_s (1 - q_s) <= alpha max_s P(s)`` with ``q_s = P(D_s misses at s)``. For continuous rewards
    every ``P(s)`` is 0, so that ``M <= alpha``.

    For discrete rewards ``P(s)`` is that of all samples with the same sorted rewards, or those with their signs turned.
    Few rewards of few values make few samples: there ``M`` may exceed ``alpha`` by some ``sqrt(alpha max_s P(s))``, as
    with any fixed seed. A seed that is drawn afresh, independent of the rewards, proves ``alpha`` always, and without
    the assumption. Bounds that read the rewards in random orders apply these to the order given and need no such care,
    see ``bandstrap.bounds.order``.

    Examples
    --------
    >>> first, second = np.array([0.5, -0.0, 2.0]), np.array([0.0, -0.5, -2.0])
    >>> seed_of(None, first) == seed_of(None, second) != seed_of(None, first, first)
    True
    >>> seed_of(7, first)
    7
    """
    if seed is not None:
        return seed
    ascending = [np.sort(group).astype("<f8") + 0.0 for group in groups]  # where -0 is 0
    turned = [0.0 - group[::-1] for group in ascending]
    sizes = np.array([len(groups), *(group.size for group in groups)], dtype="<u8").tobytes()
    either = (b"".join(group.tobytes() for group in way) for way in (ascending, turned))
    return int.from_bytes(hashlib.blake2b(DOMAIN + sizes + min(either), digest_size=16).digest(), "little")

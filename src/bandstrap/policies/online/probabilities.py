"""The probability of each arm or action now: exact if the choice draws no random number, else by drawing it many times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

# The unit in which probabilities are whole numbers.
WHOLE = 1 << 53


def in_whole_parts(weights: Sequence[float]) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Weights as probabilities that are whole multiples of ``2^-53``, so that their sum is 1 exactly.

    Where the piece of each ends on the line from 0 to ``2^53``, and the lengths of the pieces, times ``2^-53``.

    >>> in_whole_parts([1, 0, 3])[1]
    (0.25, 0.0, 0.75)
    """
    sums = list(accumulate(weights))
    ends = tuple(round(end / sums[-1] * WHOLE) for end in sums)
    return ends, tuple((end - start) / WHOLE for start, end in zip((0, *ends), ends, strict=False))


def copy_of(rng: np.random.Generator) -> np.random.Generator:
    """A generator that will draw the same numbers."""
    # The seed does not matter, but without one NumPy would ask the system for entropy, which takes longer.
    twin = np.random.Generator(type(rng.bit_generator)(0))
    twin.bit_generator.state = rng.bit_generator.state
    return twin


def is_same(one: object, other: Any) -> bool:
    """Return whether two states of generators are equal, the arrays in them included."""
    if isinstance(one, dict):
        return all(is_same(value, other[key]) for key, value in one.items())
    return np.array_equal(one, other) if isinstance(one, np.ndarray) else bool(one == other)


def by_drawing(
    select: Callable[[np.random.Generator], int], n: int, draws: int, rng: np.random.Generator, before: object = None
) -> list[float]:
    """Share of ``n`` things, each as often as it is chosen in ``draws`` choices.

    A choice that leaves the generator as it was cannot depend on it: all others would be the same, and one is enough.

    Parameters
    ----------
    select
        Makes a choice, each time from the same beginning.
    n, draws
        How many things there are, and how many choices to make.
    rng
        What choices are drawn from.
    before
        State of the generator before anything was drawn, if that was before this call.
    """
    before = rng.bit_generator.state if before is None else before
    counts = [0] * n
    first = select(rng)
    if is_same(before, rng.bit_generator.state):
        return [float(k == first) for k in range(n)]
    counts[first] += 1
    for _ in range(draws - 1):
        counts[select(rng)] += 1
    return [count / draws for count in counts]

"""The order in which a sequential bound reads a sample: as given, or several random ones.

A sequential bound reads rewards one by one. With ``in_order=True`` it reads them as given, and holds at all sample sizes
together. By default it reads the whole sample in several random orders, and averages the capital that each ends with.

That holds for a sample size fixed in advance. For independent rewards of one distribution, the capital of each order has a
mean of at most 1 at the true mean, and so has their average, whatever the orders are, as long as they do not depend on
the order given. A seed that is given does not; nor does one derived from the sorted rewards
(``bandstrap.basics.seeds.seed_of``): given these, all orders of the rewards are equally likely, and stay so when each is
rearranged by the same permutation. By Markov's inequality the average reaches ``1/alpha`` with probability at most
``alpha``. The largest capital on the way has no such mean, so that it cannot be averaged.

Where the order given is not random, as in a sorted file, the random orders are what makes the bound hold, over seeds.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bandstrap.basics.arrays import AnyArray, Floats
from bandstrap.basics.seeds import Seed, drawn_seed, is_seed, seed_of
from bandstrap.errors import InvalidInput, check_count, check_flag

# Of this many orders the ends of an interval differ between seeds by less than one per cent of its width, at 5 to 10,000
# rewards; more do not make it narrower. Of large samples fewer do.
MOST_ORDERS = 16
FEWEST_ORDERS = 2
# Rewards in all orders, of one sample by default, and of as many samples as are read at once.
MOST_READ = 1 << 21
# What ``Bound.order`` says.
AS_GIVEN = "as given"
# What the order in which rewards came adds to a guarantee; of a sample that is shuffled there is one size.
AT_ALL_SIZES = ", at all sample sizes together"


def order_name(seed: Seed, in_order: bool) -> str:
    """Text of ``Bound.order``.

    >>> order_name(None, True), order_name(7, False)
    ('as given', 'shuffled with seed 7')
    >>> order_name(None, False)
    'shuffled with a seed derived from the rewards'
    """
    if in_order:
        return AS_GIVEN
    if seed is None:
        return "shuffled with a seed derived from the rewards"
    return f"shuffled with seed {seed}" if is_seed(seed) else "shuffled with the generator given"


def check_order(seed: Seed, in_order: bool, owner: str) -> tuple[int | None, bool]:
    """The seed that draws start from, and whether rewards are read as given, which no seed goes with."""
    is_in_order = check_flag(in_order, "in_order", owner)
    if is_in_order and seed is not None:
        raise InvalidInput(
            f"The 'seed' and 'in_order' parameters of {owner} cannot both be given: nothing is shuffled."
        )
    return drawn_seed(seed, owner), is_in_order


def check_orders(n_orders: int | None, n: int, owner: str) -> int:
    """The number of orders in which ``n`` rewards are read, by default 16, and fewer from 131,073 rewards on.

    >>> [check_orders(None, n, "betting") for n in (10, 100_000, 10**6)]
    [16, 16, 2]
    """
    if n_orders is None:
        return max(FEWEST_ORDERS, min(MOST_ORDERS, MOST_READ // n))
    return check_count(n_orders, "n_orders", owner, at_most=10_000)


def order_seeds(seed: int | None, rewards: Floats) -> int | list[int]:
    """The seed of the orders of all samples of shape ``(..., n)``, or that of each, derived from its rewards."""
    if seed is not None:
        return seed
    return [seed_of(None, row) for row in rewards.reshape(-1, rewards.shape[-1])]


def read_in_orders(rows: Floats, n_orders: int, seeds: int | list[int]) -> Iterator[tuple[slice, Floats]]:
    """Samples of shape ``(rows, n)`` in random orders, of shape ``(some rows, n_orders, n)``, some rows at a time."""
    n = rows.shape[-1]
    if isinstance(seeds, list):
        for i, (row, seed) in enumerate(zip(rows, seeds, strict=True)):
            yield slice(i, i + 1), random_orders(row, n_orders, seed)[None]
        return
    places = random_orders(np.arange(n), n_orders, seeds)
    step = max(1, MOST_READ // places.size)
    for first in range(0, len(rows), step):
        some = slice(first, min(first + step, len(rows)))
        yield some, rows[some][:, places]


def random_orders(row: AnyArray, n_orders: int, seed: int | np.random.Generator) -> AnyArray:
    """One sample in random orders, one per row."""
    return np.random.default_rng(seed).permuted(np.tile(row, (n_orders, 1)), axis=1)

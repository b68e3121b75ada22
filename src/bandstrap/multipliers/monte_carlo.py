"""The paper's Monte Carlo quantile (definition D.1): an order statistic of ``B`` draws of ``X``.

Rademacher draws do not multiply: 8 rewards have 256 signed partial sums, tabulated once and then looked up with 8 random
bits at a time, 64 signs per random word.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import entry, jitable
from bandstrap.engine.work.memory import WORD
from bandstrap.multipliers.order_statistic import order_statistics
from bandstrap.multipliers.weights import RADEMACHER, draw_weights

# Weights held in memory at once when they are drawn as numbers.
MOST_WEIGHTS = 1 << 22


def bytes_of_draws(law: int, n: int, n_resamples: int) -> int:
    """Bytes that draws of ``n`` rewards take: the draws, once more in order, and the signs they are made with."""
    return WORD * n_resamples * (2 + (-(-n // 64) if law == RADEMACHER else 0))


def sign_words(n_resamples: int, n: int, rng: np.random.Generator) -> NDArray[np.uint64]:
    """Random words holding one sign per bit: shape ``(ceil(n / 64), n_resamples)``."""
    shape = (-(-n // 64), n_resamples)
    return rng.integers(0, 2**64 - 1, size=shape, dtype=np.uint64, endpoint=True)


@jitable
def tabulate_signs(terms: Floats, start: int, table: Floats) -> int:
    """Write the signed sums of up to 8 terms from ``start`` on into ``table``, minus where a bit is set; how many."""
    table[0] = 0.0
    size = 1
    for i in range(start, min(start + 8, terms.size)):
        for j in range(size):
            table[size + j] = table[j] - terms[i]
            table[j] += terms[i]
        size *= 2
    return size


@jitable
def signed_sums(terms: Floats, words: NDArray[np.uint64], out: Floats) -> None:
    """``out[b] = sum_i +-a_i`` with the signs of ``a_i`` in bit ``i % 64`` of ``words[i // 64, b]``."""
    out[:] = 0.0
    table = np.empty(256)
    for start in range(0, terms.size, 8):
        size = tabulate_signs(terms, start, table)
        word = words[start // 64]
        shift = np.uint64(start % 64)
        mask = np.uint64(size - 1)
        for b in range(out.size):
            out[b] += table[(word[b] >> shift) & mask]


@entry
def signed_sums_batch(terms: Floats, words: NDArray[np.uint64], out: Floats) -> None:
    """:func:`signed_sums`, compiled."""
    signed_sums(terms, words, out)


def draws(law: int, terms: Floats, n_resamples: int, rng: np.random.Generator) -> Floats:
    """``n_resamples`` draws of ``sum_i a_i w_i`` for one row of ``terms``."""
    out = np.empty(n_resamples)
    if law == RADEMACHER:
        signed_sums_batch(n_resamples * terms.size / 8, terms, sign_words(n_resamples, terms.size, rng), out)
        return out
    step = max(1, MOST_WEIGHTS // terms.size)
    for start in range(0, n_resamples, step):
        stop = min(start + step, n_resamples)
        out[start:stop] = draw_weights(law, stop - start, terms.size, rng) @ terms
    return out


def quantiles(law: int, terms: Floats, levels: Floats, n_resamples: int, rng: np.random.Generator) -> Floats:
    """Monte Carlo quantiles for each row of ``terms``: shape ``(rows, levels)``; one set of draws per row."""
    return np.stack([order_statistics(draws(law, row, n_resamples, rng), levels) for row in terms])

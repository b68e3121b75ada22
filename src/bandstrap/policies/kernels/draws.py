"""Random numbers in compiled loops, from the few generator methods that compile quickly."""

from __future__ import annotations

import math

import numpy as np

from bandstrap.basics.arrays import AnyArray, Floats, sum_in_order
from bandstrap.engine.compiler.kernel import compiled_body, inlined, jitable
from bandstrap.multipliers.monte_carlo import tabulate_signs
from bandstrap.multipliers.weights import (
    EFRON,
    EXPONENTIAL,
    GAUSSIAN,
    MAMMEN_HIGH,
    MAMMEN_LOW,
    MAMMEN_LOW_PROBABILITY,
    RADEMACHER,
)

# Random bits in one uniform number.
BITS = 52
# Fair coins tossed one by one; the heads of more are drawn at once.
MOST_TOSSED = 2 * BITS
# Fewer successes or failures than this are drawn one by one: log_factorial is not exact enough for a handful.
LEAST_AT_ONCE = 30
# The hat that ratio of uniforms needs for binomial, Poisson and hypergeometric distributions: Stadlober 1990.
HAT_SLOPE = math.sqrt(8.0 / math.e)
HAT_OFFSET = 3.0 - 2.0 * math.sqrt(3.0 / math.e)


@inlined
def random_index(size: int, rng: np.random.Generator) -> int:
    """One of ``0, ..., size - 1``."""
    return int(rng.random() * size)


@inlined
def gumbel(rng: np.random.Generator) -> float:
    """A standard Gumbel number; the largest of ``log w_i`` plus one each is at ``i`` with probability ``w_i/sum w``."""
    return -math.log(max(rng.standard_exponential(), 1e-300))


def shares(log_weights: list[float]) -> list[float]:
    """Weights over their sum, from logarithms of which the largest is near 0: what adding Gumbel numbers draws by."""
    weights = [math.exp(log_weight) for log_weight in log_weights]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


@jitable
def random_bits(rng: np.random.Generator) -> int:
    """``BITS`` random bits."""
    return int(rng.random() * 4503599627370496.0)  # 2^52


@jitable
def count_ones(bits: int) -> int:
    """Number of ones among up to 64 bits, added up in pairs, then fours, then eights."""
    bits -= (bits >> 1) & 0x5555555555555555
    bits = (bits & 0x3333333333333333) + ((bits >> 2) & 0x3333333333333333)
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0F
    bits += bits >> 8
    bits += bits >> 16
    return (bits + (bits >> 32)) & 127


@jitable
def log_factorial(n: float) -> float:
    """``log n!`` by Stirling's series, but for a constant; to 1e-9 from ``n = 7`` on."""
    x = n + 1.0
    inverse = 1.0 / (x * x)
    return (x - 0.5) * math.log(x) - x + (1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse / 1260.0)) / x


@jitable
def draw_heads(coins: int, rng: np.random.Generator) -> int:
    """The number of heads of fair coins: Bin(coins, 1/2). Many are drawn at once by ratio of uniforms.

    The generator's own method is not used, because what it draws depends on the versions of NumPy and numba.
    """
    heads = 0
    if coins <= MOST_TOSSED:
        while coins > 0:
            heads += count_ones(random_bits(rng) >> max(BITS - coins, 0))
            coins -= BITS
        return heads
    center = 0.5 * coins + 0.5
    width = HAT_SLOPE * math.sqrt(0.25 * coins + 0.5) + HAT_OFFSET
    highest = log_factorial(coins // 2) + log_factorial(coins - coins // 2)
    gain = -math.inf
    height = 1.0
    while 2.0 * math.log(height) > gain:
        height = 1.0 - rng.random()
        heads = math.floor(center + width * (rng.random() - 0.5) / height)
        gain = -math.inf
        if 0 <= heads <= coins:
            gain = highest - log_factorial(heads) - log_factorial(coins - heads)
    return heads


@jitable
def draw_successes(trials: int, p: float, rng: np.random.Generator) -> int:
    """A draw from Bin(trials, p): by ratio of uniforms where successes and failures are many, else trial by trial."""
    successes = 0
    if trials * min(p, 1.0 - p) < LEAST_AT_ONCE:
        for _ in range(trials):
            if rng.random() < p:
                successes += 1
        return successes
    center = trials * p + 0.5
    width = HAT_SLOPE * math.sqrt(trials * p * (1.0 - p) + 0.5) + HAT_OFFSET
    mode = math.floor((trials + 1) * p)
    highest = log_factorial(mode) + log_factorial(trials - mode)
    slope = math.log(p / (1.0 - p))
    gain = -math.inf
    height = 1.0
    while 2.0 * math.log(height) > gain:
        height = 1.0 - rng.random()
        successes = math.floor(center + width * (rng.random() - 0.5) / height)
        gain = -math.inf
        if 0 <= successes <= trials:
            gain = highest - log_factorial(successes) - log_factorial(trials - successes) + (successes - mode) * slope
    return successes


def sum_of_draws(rewards: Floats, n: int, n_draws: int, rng: np.random.Generator) -> float:
    """Sum of draws with replacement from the first ``n`` rewards; a uniform number gives two places.

    What is left of it below the first place is uniform again, and fine enough for a second: places are even to n^2/2^53.
    """
    values = np.asarray(rewards[:n])
    places = rng.random(n_draws // 2) * n
    first = places.astype(np.int64)
    pairs = values[first] + values[((places - first) * n).astype(np.int64)]
    total = sum_in_order(pairs)
    if n_draws % 2 == 1:
        total += float(values[int(rng.random() * n)])
    return total


@compiled_body(sum_of_draws)
def sum_of_draws_in_loops(rewards: Floats, n: int, n_draws: int, rng: np.random.Generator) -> float:
    """:func:`sum_of_draws` in loops, because compiled an array costs more than a few draws; loops take 40 times plain."""
    total = 0.0
    for _ in range(n_draws // 2):
        u = rng.random() * n
        place = int(u)
        total += rewards[place] + rewards[int((u - place) * n)]
    if n_draws % 2 == 1:
        total += rewards[int(rng.random() * n)]
    return total


@jitable
def draw_weight(law: int, rng: np.random.Generator) -> float:
    """One weight; Efron's multinomial is replaced by independent Poisson(1) counts, its limit."""
    if law == GAUSSIAN:
        return rng.standard_normal()
    if law == EXPONENTIAL:
        return rng.standard_exponential() - 1.0
    if law == EFRON:  # count the arrivals of a unit-rate process up to time 1
        count = 0
        time = rng.standard_exponential()
        while time < 1.0:
            count += 1
            time += rng.standard_exponential()
        return float(count)
    if law == RADEMACHER:
        return 1.0 if rng.random() < 0.5 else -1.0
    return MAMMEN_LOW if rng.random() < MAMMEN_LOW_PROBABILITY else MAMMEN_HIGH


@jitable
def add_weights(law: int, reward: float, sums: Floats, totals: Floats, rng: np.random.Generator) -> None:
    """Draw one weight per resample and add ``w reward`` to ``sums`` and ``w`` to ``totals``."""
    if law == RADEMACHER:
        start = 0
        while start < len(sums):
            bits = random_bits(rng)
            for j in range(min(BITS, len(sums) - start)):  # without a branch, and so several at a time when compiled
                is_minus = (bits >> j) & 1
                sums[start + j] += -reward if is_minus else reward
                totals[start + j] += -1.0 if is_minus else 1.0
            start += BITS
    else:
        for b in range(len(sums)):
            weight = draw_weight(law, rng)
            sums[b] += weight * reward
            totals[b] += weight


@jitable
def resampled_sums(law: int, a: Floats, out: Floats, rng: np.random.Generator) -> None:
    """Fresh draws of ``sum_i a_i w_i`` into ``out``, literally."""
    n = a.size
    n_draws = len(out)
    for b in range(n_draws):
        out[b] = 0.0
    if law == RADEMACHER:  # 8 rewards have 256 signed sums: look them up with 8 bits at a time
        table = np.empty(256)
        words = np.empty(n_draws, dtype=np.int64)
        left = 0
        for start in range(0, n, 8):
            size = tabulate_signs(a, start, table)
            if left < 8:
                for b in range(n_draws):
                    words[b] = random_bits(rng)
                left = BITS
            mask = size - 1
            for b in range(n_draws):
                out[b] += table[words[b] & mask]
                words[b] >>= 8
            left -= 8
    elif law == EFRON:
        for b in range(n_draws):
            total = 0.0
            for _ in range(n):
                total += a[int(rng.random() * n)]
            out[b] = total
    else:
        for b in range(n_draws):
            total = 0.0
            for i in range(n):
                total += draw_weight(law, rng) * a[i]
            out[b] = total


@inlined
def doubled_mean(n: int, total: float, signed: float, signs: float) -> float:
    """Mean of ``n`` rewards of sum ``total`` that count double or nothing, by weights ``1 + w`` with random signs ``w``.

    ``signed`` and ``signs`` are the sums of ``w y`` and of ``w``, as :func:`add_weights` keeps them.
    """
    return (total + signed) / (n + signs)


def exponential_sums(rewards: Floats, n: int, rng: np.random.Generator) -> tuple[float, float]:
    """``sum w_i y_i`` and ``sum w_i`` of the first ``n`` rewards with exponential weights.

    Their ratio is an average with Dirichlet(1, ..., 1) weights; a further entry joins by a further exponential.
    """
    weights = rng.standard_exponential(n)
    return sum_in_order(weights * rewards[:n]), sum_in_order(weights)


@compiled_body(exponential_sums)
def exponential_sums_in_loops(rewards: Floats, n: int, rng: np.random.Generator) -> tuple[float, float]:
    """:func:`exponential_sums` in loops, because compiled an array costs more than a few draws; plain loops 40 times."""
    weighted = 0.0
    total = 0.0
    for i in range(n):
        weight = rng.standard_exponential()
        weighted += weight * rewards[i]
        total += weight
    return weighted, total


@jitable
def shuffle_first(values: AnyArray, n: int, rng: np.random.Generator) -> None:
    """Put the first ``n`` values into random order."""
    for i in range(n - 1, 0, -1):
        j = int(rng.random() * (i + 1))
        values[i], values[j] = values[j], values[i]

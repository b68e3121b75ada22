"""The permutation bound: exact where two groups differ by a shift, by inverting the permutation test."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.basics.deprecation import renamed
from bandstrap.basics.seeds import Seed, drawn_seed, seed_of
from bandstrap.bounds.bound import OVER_DRAWS, Bound, Side, Threshold, check_level
from bandstrap.bounds.differences.assumptions import differ_in_spread
from bandstrap.bounds.differences.difference import build, check_groups, difference_of_means, register, scaled_pair
from bandstrap.bounds.resampling import MOST_NUMBERS, fewest_draws, is_beyond, upper_quantile, why_too_few
from bandstrap.engine.work.memory import WORD, check_memory
from bandstrap.errors import check_count, check_flag

# Up to this many ways to divide the rewards among the groups, each is looked at.
MOST_ENUMERATED = 200_000
# Bytes of bits that are drawn at once.
MOST_BYTES = 1 << 25
# Digits of the share of set bits; what it is off by in some 10^5 rewards is about what chance makes of it.
BINARY_DIGITS = 8
# Below this share, bits are set one by one.
SMALLEST_SHARE = 1 / 32
Bits = NDArray[np.uint8]


@register(reads_spread=True, draws=True)
@renamed(rng="seed")
def permutation(
    first: ArrayLike,
    second: ArrayLike,
    alpha: float,
    *,
    side: Side = "two-sided",
    n_permutations: int = 4999,
    seed: Seed = None,
    check: bool = True,
) -> Bound:
    r"""Exact bound on the shift between two groups, by inverting the permutation test of the difference of means.

    .. math:: U = \text{the } \lfloor \alpha N \rfloor \text{-th largest } \bar x_A - \bar y_B, \qquad |A| = |B| \ge 1

    over all subsets ``A`` of the first group and ``B`` of the second of the same size, with ``N = C(m + n, m)`` the number
    of ways to divide the rewards among groups of these sizes; infinite while ``alpha N < 1``.

    Parameters
    ----------
    first, second, alpha, side, check
        As in :func:`bandstrap.bounds.difference`.
    n_permutations
        Where ``N`` is above 200,000, as many divisions are drawn, and ``N`` is replaced by their number plus one.
    seed
        Seed or generator of the draws. By default it is derived from the rewards of both groups, for each pair of a batch
        by itself. A seed that is given serves all pairs of a batch: then they share the error of its draws.

    Returns
    -------
    Bound
        Never crossed. It may lie beyond the difference of the means, where very skewed groups are of very unequal size.

    See Also
    --------
    bandstrap.bounds.sign_flip : the same idea for one group, whose subsets are compared with none.

    Notes
    -----
    If the first group less a shift ``d`` has the distribution of the second, all divisions of ``x - d`` and ``y`` are
    as likely. One that exchanges ``A`` for ``B``, each of ``k`` rewards, changes the difference of means by ``(1/m +
    1/n) k (mean(y_B) - mean(x_A) + d)``: it is no larger than the one observed if and only if ``d <= mean(x_A) -
    mean(y_B)``. So the p-value of ``d`` is ``(1 + #{A, B : mean(x_A) - mean(y_B) >= d})/N``, which falls with ``d``,
    and the shifts it does not reject end where the formula says. Ends are rounded outwards by more than their sums
    may have lost: no tie is on the wrong side.

    *Drawn divisions.* Let ``B`` divisions be drawn independently of the rewards, and all equally likely. At the true shift
    the division observed is as likely as any other, so that it and those drawn are exchangeable, which the one observed is
    counted among. The p-value ``(1 + #{b : mean(x_A_b) - mean(y_B_b) >= d})/(B + 1)`` is then at most ``alpha`` with
    probability at most ``alpha``, over rewards and draws together [2]_. This is what ``guarantee`` says of drawn divisions,
    and a ``seed`` that is drawn afresh for each pair has it.

    One set of divisions that is fixed for all samples has not, unless it is a group: its error, of some
    ``sqrt(alpha/B)``, is the same in all of them. Hence the default: a seed derived from the rewards of each group, so
    that rewards divided in another way have other draws. The bound is then a function of the rewards alone. It has the
    guarantee as far as a hash behaves like a random function; ``bandstrap.basics.seeds.seed_of`` says what follows from
    that, for rewards of few values, too.

    Groups that differ in more than a shift, such as 0 and 1 at different rates, are outside of the proof.

    Examples
    --------
    >>> from bandstrap.bounds import difference
    >>> difference([5, 7, 8, 9], [1, 2, 4], 0.1, method="permutation", side="lower").value
    3.0

    References
    ----------
    .. [1] Pitman. Significance tests which may be applied to samples from any populations. JRSS Supplement 4, 1937.
    .. [2] Hemerik, Goeman. Exact testing with random permutations. TEST 27, 2018: why a drawn set is exact, and a fixed one
       that is no group is not.
    """
    x, y = check_groups(first, second, "permutation", side)
    alpha = check_level(alpha, "permutation")
    check_count(n_permutations, "n_permutations", "permutation")
    check_memory(4 * WORD * n_permutations, "n_permutations", "permutation", n_permutations)
    drawn_from = drawn_seed(seed, "permutation")
    m, n = x.shape[-1], y.shape[-1]
    mean = difference_of_means(x, y, "permutation")
    is_counted = n_divisions(m, n) <= MOST_ENUMERATED
    scaled_x, scaled_y, exponents = scaled_pair(np.sort(x, axis=-1), np.sort(y, axis=-1))
    pairs = list(zip(scaled_x.reshape(-1, m), scaled_y.reshape(-1, n), strict=True))
    # What sums of so many rewards of at most 1 may lose to rounding, as means.
    rounding = (min(m, n) + 2 if is_counted else m + n + 4) * 2.0**-52

    level = alpha / 2 if side == "two-sided" else alpha
    largest = {sign: np.empty(len(pairs)) for sign in (1.0, -1.0)}
    if is_counted:
        blocks = counted_differences(pairs)
    elif drawn_from is not None:
        blocks = drawn_differences(pairs, n_permutations, drawn_from)
    else:
        blocks = derived_differences(pairs, n_permutations, list(zip(x.reshape(-1, m), y.reshape(-1, n), strict=True)))
    for block, shifts in blocks:
        for sign, ends in largest.items():  # the same divisions for both sides
            # One that exchanges nothing rejects no shift, on either side.
            ends[block] = upper_quantile(np.where(np.isnan(shifts), np.inf, sign * shifts), level)

    def threshold(alpha: float, mirrored: bool) -> Threshold:
        sign = -1.0 if mirrored else 1.0
        end = np.ldexp(largest[sign].reshape(x.shape[:-1]) + rounding, exponents)
        width = end - sign * mean
        method = "enumeration" if is_counted else f"{n_permutations} permutations"
        return Threshold(width, {"main": width}, method, end, why_no_shift(m, n, n_permutations, alpha))

    holds_for = "independent rewards of two groups whose distributions differ only by a shift" + (
        "" if is_counted else OVER_DRAWS
    )
    found = differ_in_spread(x, y) if check_flag(check, "check", "permutation") else []
    return build(
        "permutation",
        x,
        y,
        alpha,
        side,
        threshold,
        guarantee=alpha,
        holds_for=holds_for,
        check=check,
        notes=found,
        contradicted=bool(found),
    )


def n_divisions(m: int, n: int) -> float:
    """``C(m + n, m)``, or infinity where that is beyond counting."""
    if min(m, n) > 64:
        return math.inf
    return math.comb(m + n, m)


def why_no_shift(m: int, n: int, n_permutations: int, alpha: float) -> str:
    """Reason why the bound is infinite for want of divisions, or of draws of them; empty where it is not."""
    divisions = n_divisions(m, n)
    if divisions > MOST_ENUMERATED:
        return why_too_few(n_permutations, alpha, "permutation")
    # One division is the one observed.
    if not is_beyond(round(divisions) - 1, alpha):
        return ""
    return (
        f"the bound is infinite: groups of {m} and {n} rewards can be divided in {divisions} ways, and alpha = {alpha:g} "
        f"needs at least {fewest_draws(alpha) + 1}; use more rewards"
    )


def subsets(size: int, most: int) -> list[NDArray[np.int64]]:
    """All subsets of 1, 2, ... and ``most`` places of ``size``, one per row."""
    found = []
    for k in range(1, most + 1):
        places = itertools.chain.from_iterable(itertools.combinations(range(size), k))
        found.append(np.fromiter(places, dtype=np.int64, count=k * math.comb(size, k)).reshape(-1, k))
    return found


def counted_differences(pairs: list[tuple[Floats, Floats]]) -> Iterator[tuple[slice, Floats]]:
    """``mean(x_A) - mean(y_B)`` for all subsets of the same size from 1 on: ``C(m + n, m) - 1`` of them, pair by pair."""
    m, n = (pairs[0][0].size, pairs[0][1].size) if pairs else (0, 0)
    chosen = list(zip(subsets(m, min(m, n)), subsets(n, min(m, n)), strict=True))
    for i, (x, y) in enumerate(pairs):
        found = [np.subtract.outer(x[a].mean(axis=-1), y[b].mean(axis=-1)).ravel() for a, b in chosen]
        yield slice(i, i + 1), np.concatenate(found)[None]


def drawn_differences(pairs: list[tuple[Floats, Floats]], n_draws: int, seed: int) -> Iterator[tuple[slice, Floats]]:
    """The same for divisions that are drawn, the same for each pair, some pairs at a time; ``nan`` for no exchange."""
    if not pairs:
        return
    m, n = pairs[0][0].size, pairs[0][1].size
    rows, columns = max(1, MOST_NUMBERS // n_draws), max(1, MOST_BYTES // (n_bytes(m) + n_bytes(n)))
    for start in range(0, len(pairs), rows):
        block = slice(start, min(start + rows, len(pairs)))
        x, y = (np.stack(groups) for groups in zip(*pairs[block], strict=True))
        shifts = np.empty((len(x), n_draws))
        rng = np.random.default_rng(seed)
        for first in range(0, n_draws, columns):
            some = slice(first, min(first + columns, n_draws))
            left, came = drawn_exchanges(m, n, some.stop - some.start, rng)
            sizes = np.bitwise_count(left).sum(axis=0, dtype=np.int64)
            with np.errstate(invalid="ignore"):
                totals = subset_sums(x, left) - subset_sums(y, came)
                shifts[:, some] = np.where(sizes == 0, np.nan, totals / sizes)
        yield block, shifts


def derived_differences(
    pairs: list[tuple[Floats, Floats]], n_draws: int, given: list[tuple[Floats, Floats]]
) -> Iterator[tuple[slice, Floats]]:
    """The same with divisions of its own for each pair, drawn with a seed derived from its rewards as given."""
    for i, (pair, rewards) in enumerate(zip(pairs, given, strict=True)):
        for _, shifts in drawn_differences([pair], n_draws, seed_of(None, *rewards)):
            yield slice(i, i + 1), shifts


def n_bytes(size: int) -> int:
    """Bytes that hold a bit for each of ``size`` rewards."""
    return -(-size // 8)


def drawn_exchanges(m: int, n: int, n_draws: int, rng: np.random.Generator) -> tuple[Bits, Bits]:
    """Rewards of either group that are exchanged in divisions drawn at random: bit ``i % 8`` of ``bits[i // 8, draw]``.

    A division is a subset of all rewards, of the size of the smaller group. Bits that are drawn independently make
    one of about that size, and any distribution of bits that treats all rewards alike will do: bits that are too many
    are then taken away, and missing ones added, one after the other, each equally likely. So every subset is.
    """
    of_x = n_bytes(m)
    places = np.concatenate([np.arange(m), 8 * of_x + np.arange(n)])
    real = np.packbits(np.isin(np.arange(8 * (of_x + n_bytes(n))), places), bitorder="little")[:, None]
    bits = independent_bits(min(m, n) / (m + n), (real.size, n_draws), rng) & real
    missing = min(m, n) - np.bitwise_count(bits).sum(axis=0, dtype=np.int64)
    draws = np.flatnonzero(missing)
    while draws.size:
        at = places[rng.integers(places.size, size=draws.size)]
        byte, bit = at >> 3, (1 << (at & 7)).astype(np.uint8)
        is_set = (bits[byte, draws] & bit) != 0
        wrong = is_set == (missing[draws] < 0)
        bits[byte[wrong], draws[wrong]] ^= bit[wrong]
        missing[draws[wrong]] -= np.sign(missing[draws[wrong]])
        draws = draws[missing[draws] != 0]
    # Those of the smaller group that stay are in the subset.
    stays = slice(None, of_x) if m <= n else slice(of_x, None)
    bits[stays] ^= real[stays]
    return bits[:of_x], bits[of_x:]


def independent_bits(share: float, shape: tuple[int, int], rng: np.random.Generator) -> Bits:
    """Bytes of independent bits that are set with about this probability: a few binary digits of it, one draw for each."""
    bits = np.zeros(shape, dtype=np.uint8)
    if share < SMALLEST_SHARE:
        return bits
    digits = round(share * 2**BINARY_DIGITS)
    lowest = (digits & -digits).bit_length() - 1
    for place in range(lowest, BINARY_DIGITS):
        drawn = np.frombuffer(rng.bytes(bits.size), dtype=np.uint8).reshape(shape)
        (np.bitwise_or if digits >> place & 1 else np.bitwise_and)(bits, drawn, out=bits)
    return bits


def subset_sums(rewards: Floats, bits: Bits) -> Floats:
    """Sums of the rewards of each row whose bits are set, for each draw: of eight rewards there are 256, looked up."""
    sums = np.zeros((len(rewards), bits.shape[1]))
    step = max(1, MOST_NUMBERS // (256 * len(rewards)))
    for start in range(0, len(bits), step):
        some = bits[start : start + step]
        eights = np.zeros((len(rewards), 8 * len(some)))
        given = rewards[:, 8 * start : 8 * (start + len(some))]
        eights[:, : given.shape[1]] = given
        tables = np.zeros((len(some), len(rewards), 256))
        for i in range(8):
            tables[..., 1 << i : 2 << i] = tables[..., : 1 << i] + eights[:, i::8].T[..., None]
        for table, byte in zip(tables, some, strict=True):
            sums += table.take(byte, axis=1)
    return sums

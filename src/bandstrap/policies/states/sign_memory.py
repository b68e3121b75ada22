"""Constant memory of a bootstrap policy whose weights are random signs, as in the paper.

Of an arm's rewards the ``ENDS`` lowest and the ``ENDS`` highest are kept, because they make the tail of a sum of signs
what it is; all others are known by their power sums. Up to ``MOST_TERMS`` rewards that is all of them. Rewards that take
few values are counted instead.

The quantile function is worked out when it is first asked for after a pull, in the cheapest way that is accurate:

* counted, exactly, while the tail holds few of the ``2^n`` sums, or where rewards take two values;
* by the expansion of Cornish and Fisher, once no reward has much weight;
* by :mod:`bandstrap.multipliers.waves` in between.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import inlined, jitable
from bandstrap.multipliers.binomial import MOST_COINS, TABLE, coins_quantile, fit_coins
from bandstrap.multipliers.enumeration import extreme_quantile_in, extreme_rank
from bandstrap.multipliers.normal import SQRT_2_PI, rough_normal_quantile
from bandstrap.multipliers.order_statistic import quantile_bound, tabulate_quantiles
from bandstrap.multipliers.waves import MOST_TERMS, fit_waves, wave_quantile
from bandstrap.policies.states.fields import Memory, Numbers, Scratch
from bandstrap.policies.states.quantile_memory import count_reward, new_sums

ENDS = MOST_TERMS // 2
# Up to this many rewards all sums are counted, and of more while the tail holds at most MOST_COUNTED sums.
MOST_LISTED = 12
MOST_COUNTED = 32
# Powers of rewards that are added up, once there are more than MOST_TERMS.
N_POWERS = 6
# Distinct values that are counted, each in two places of a row: itself, and how often it came.
MOST_VALUES = 4
# Standardised fourth and sixth cumulants up to which the expansion is used.
SMALL_FOURTH = 0.16
SMALL_SIXTH = 0.2
# Rewards whose fourth moment is this many squared variances are spread out: that of normal ones is 3, of uniform ones 1.8.
FLATNESS = 2.0
SMALLEST = 1e-290  # of a sum of sixth powers that is as exact as others
TAIL_FACTOR = 3.1787
NORMAL_STEPS, TAIL_STEPS = tabulate_quantiles(1.0), tabulate_quantiles(TAIL_FACTOR)
# A term stands alone when its square is this many times the squares of all others.
DOMINANCE = 16.0
# Levels below this one are extrapolated from it and the second, along their normal quantiles.
DEEPEST, DEEPEST_Z = 1e-7, 5.199337582
SECOND_DEEPEST, SECOND_Z = 1e-6, 4.753424309
# How a distribution is known.
STALE, FLAT, SMOOTH, WAVES, COINS = 0.0, 1.0, 2.0, 3.0, 4.0
# The places of a row of ``SignMemory.laws``:
#
# KIND: how the distribution is known.
# UNIT: the largest term. ALONE: the same where that term outweighs the others together, else 0.
# SCALE, TOTAL: standard deviation and largest value of the sum, without a term that stands alone.
# C0 to C3: coefficients of Cornish and Fisher's expansion.
# HALF, N_WAVES, SHRINK: half the period of the waves, their number, and the factor that undoes their blur.
# N_NONZERO: how many rewards differ from the mean.
# RANK, COUNTED: the last quantile that was counted, and its rank among the sums.
# FROM_LEVEL, TO_LEVEL: of two values, the levels it is for. COUNTED_BEFORE, FROM_BEFORE, TO_BEFORE: the one before that.
# MISS: of two values, how far off the expansion was, in standard deviations.
# HEIGHT, HEIGHT_TO: what the index is at most above the quantile, at error probabilities down to this one.
KIND, UNIT, ALONE, SCALE, TOTAL, C0, C1, C2, C3, HALF, N_WAVES, SHRINK, N_NONZERO = range(13)
RANK, COUNTED, FROM_LEVEL, TO_LEVEL, COUNTED_BEFORE, FROM_BEFORE, TO_BEFORE, MISS, HEIGHT, HEIGHT_TO = range(13, 23)
N_PLACES = HEIGHT_TO + 1


class SignMemory(NamedTuple):
    """Rows for each arm; the pulls they belong to are in the state itself."""

    sums: Numbers  # of the rewards, around the first
    shifts: Numbers  # the first reward
    ends: Numbers  # the lowest and the highest rewards, in ascending order
    rests: Numbers  # a reward in the middle, then sums of powers around it: of the rewards that are no ends, and of all
    values: Numbers  # how many different rewards there are, then up to four of them, then their counts
    laws: Memory  # how the quantile function is known
    tables: Memory  # the waves of the distribution, or the probabilities of coins
    scratch: Scratch
    room: Scratch  # for sums that are counted


def new_sign_memory(n_arms: int) -> SignMemory:
    """Memory before the first reward."""
    return SignMemory(
        *new_sums(n_arms),
        ends=np.zeros((n_arms, MOST_TERMS)),
        rests=np.zeros((n_arms, 1 + 2 * N_POWERS)),
        values=np.zeros((n_arms, 1 + 2 * MOST_VALUES)),
        laws=np.zeros((n_arms, N_PLACES)),
        tables=np.zeros((n_arms, TABLE)),
        scratch=np.zeros((5, MOST_TERMS)),
        room=np.zeros((2, 2 ** (MOST_LISTED - 1))),
    )


@inlined
def add_reward(pulls: NDArray[np.int64], memory: SignMemory, arm: int, reward: float) -> None:
    """Take in a reward; the distribution is worked out when it is asked for."""
    count_reward(pulls, memory, arm, reward)
    keep(memory.ends[arm], memory.rests[arm], pulls[arm] - 1, reward)
    count_value(memory.values[arm], reward)
    memory.laws[arm][KIND] = STALE
    memory.laws[arm][HEIGHT_TO] = math.inf


@jitable
def keep(ends: Floats, rest: Floats, n: int, reward: float) -> None:
    """Put reward number ``n + 1`` among the ends, or what it drives out, or itself, among the rest."""
    if n < MOST_TERMS:
        place = n
    else:
        if n == MOST_TERMS:
            rest[0] = ends[ENDS]
            for i in range(MOST_TERMS):
                add_powers(rest, N_POWERS, ends[i])
        add_powers(rest, N_POWERS, reward)
        out = reward
        place = -1
        if reward < ends[ENDS - 1]:
            place = ENDS - 1
            out = ends[place]
        elif reward > ends[ENDS]:
            out = ends[ENDS]
            place = ENDS
            while place < MOST_TERMS - 1 and ends[place + 1] < reward:
                ends[place] = ends[place + 1]
                place += 1
            ends[place] = reward
            place = -1
        add_powers(rest, 0, out)
    if place >= 0:
        while place > 0 and ends[place - 1] > reward:
            ends[place] = ends[place - 1]
            place -= 1
        ends[place] = reward


@jitable
def add_powers(rest: Floats, start: int, reward: float) -> None:
    """Add a reward to one of the two rows of power sums."""
    step = reward - rest[0]
    power = 1.0
    for k in range(start + 1, start + N_POWERS + 1):
        power *= step
        rest[k] += power


@jitable
def count_value(values: Floats, reward: float) -> None:
    """Count a reward while there are few different ones."""
    known = int(values[0])
    if known > MOST_VALUES:
        return
    for i in range(1, known + 1):
        if values[i] == reward:
            values[i + MOST_VALUES] += 1.0
            return
    values[0] = known + 1.0
    if known < MOST_VALUES:
        values[1 + known] = reward
        values[1 + known + MOST_VALUES] = 1.0


@jitable
def ripples(values: Floats, n: int) -> bool:
    """Return whether an arm's quantile may fall by more than a few thousandths where it should rise, as the level
    falls.

    What is counted does not, nor what Cornish and Fisher say. A series of waves does, by a few thousandths where rewards
    are spread out, and by up to a tenth where they take three or four values. (Where they crowd at few places without being
    equal, by up to 4 %, which is not seen here.)
    """
    return n > MOST_LISTED and 2.0 < values[0] <= MOST_VALUES


@jitable
def central_powers(
    step: float, n: int, p1: float, p2: float, p3: float, p4: float, p5: float, p6: float
) -> tuple[float, float, float]:
    """Sums of second, fourth and sixth powers about a number that is ``step`` from the one that ``p1, ...`` are about."""
    d = step
    d2 = d * d
    s2 = p2 - 2.0 * d * p1 + d2 * n
    s4 = p4 - 4.0 * d * p3 + 6.0 * d2 * p2 - 4.0 * d * d2 * p1 + d2 * d2 * n
    s6 = p6 - 6.0 * d * p5 + 15.0 * d2 * p4 - 20.0 * d * d2 * p3
    s6 += 15.0 * d2 * d2 * p2 - 6.0 * d * d2 * d2 * p1 + d2 * d2 * d2 * n
    return s2, s4, s6


@jitable
def rest_powers(rest: Floats, n_rest: int, mean: float) -> tuple[float, float, float]:
    """Sums of second, fourth and sixth powers of ``y - mean`` over the rewards that are not among the ends."""
    if n_rest <= 0:
        return 0.0, 0.0, 0.0
    s2, s4, s6 = central_powers(mean - rest[0], n_rest, rest[1], rest[2], rest[3], rest[4], rest[5], rest[6])
    if not s6 < math.inf:  # overflow: the normal part alone
        return s2, 0.0, 0.0
    return max(s2, 0.0), max(s4, 0.0), max(s6, 0.0)


@jitable
def arm_squares(memory: SignMemory, arm: int, n: int, mean: float) -> float:
    """Sum of squares of an arm's rewards about their mean."""
    ends = memory.ends[arm]
    squares = rest_powers(memory.rests[arm], n - MOST_TERMS, mean)[0]
    for i in range(min(n, MOST_TERMS)):
        squares += (ends[i] - mean) * (ends[i] - mean)
    return squares


@jitable
def expand(law: Floats, deviation: float, fourth: float, sixth: float) -> None:
    """Write down the expansion of Cornish and Fisher, as in ``expansion.py``, arranged by powers of ``z``."""
    law[C0] = deviation * (1.0 - fourth / 8.0 + sixth / 48.0 - 29.0 * fourth * fourth / 384.0)
    law[C1] = deviation * (fourth / 24.0 - sixth / 72.0 + fourth * fourth / 16.0)
    law[C2] = deviation * (sixth / 720.0 - fourth * fourth / 128.0)
    law[C3] = 0.0


@jitable
def expand_further(law: Floats, deviation: float, fourth: float, sixth: float) -> None:
    """Add the terms of the third order, which help where cumulants are small.

    The sum of eighth powers in them is at least the square of that of sixth powers over that of fourth powers, and about a
    fifth more where no reward has much weight.
    """
    eighth = 2.55 * sixth * sixth / fourth  # -272 times the sum of eighth powers
    mixed = fourth * sixth
    cube = fourth * fourth * fourth
    law[C0] += deviation * (-eighth / 384.0 + 19.0 * mixed / 384.0 - 107.0 * cube / 1024.0)
    law[C1] += deviation * (eighth / 384.0 - 23.0 * mixed / 384.0 + 451.0 * cube / 3072.0)
    law[C2] += deviation * (-eighth / 1920.0 + 17.0 * mixed / 1152.0 - 131.0 * cube / 3072.0)
    law[C3] = deviation * (eighth / 40320.0 - mixed / 1152.0 + 3.0 * cube / 1024.0)


@jitable
def fit_smooth_law(law: Floats, rest: Floats, values: Floats, n: int, mean: float) -> None:
    """Work out the distribution of more than MOST_TERMS rewards of which none has much weight; leave another
    distribution stale.
    """
    if values[0] > MOST_VALUES or n > MOST_COINS:
        s2, s4, s6 = central_powers(mean - rest[0], n, rest[7], rest[8], rest[9], rest[10], rest[11], rest[12])
        square = s2 * s2
        cube = s2 * square
        # Where rewards keep away from their mean they may crowd at few places, which power sums do not see.
        small = SMALL_FOURTH if n * s4 > FLATNESS * square else 0.5 * SMALL_FOURTH
        # Powers too small or too large for a float are left to what takes the farthest reward as its unit.
        if s6 > SMALLEST and 0.0 <= 2.0 * s4 <= small * square and 16.0 * s6 <= SMALL_SIXTH * cube < math.inf:
            deviation = math.sqrt(s2) / n
            law[ALONE] = 0.0
            law[SCALE] = deviation
            law[TOTAL] = deviation * math.sqrt(n)  # Cauchy and Schwarz
            fourth = -2.0 * s4 / square
            sixth = 16.0 * s6 / cube
            expand(law, deviation, fourth, sixth)
            expand_further(law, deviation, fourth, sixth)
            law[KIND] = SMOOTH


@jitable
def fit_law(memory: SignMemory, arm: int, n: int, mean: float) -> None:
    """Work out the distribution of ``(1/n) sum +-(y_i - mean)``, in units of its largest term."""
    ends, law, values = memory.ends[arm], memory.laws[arm], memory.values[arm]
    terms, counts = memory.scratch[3], memory.scratch[4]
    n_terms = min(n, MOST_TERMS)
    farthest = max(mean - ends[0], ends[n_terms - 1] - mean)
    if farthest <= 1e-14 * abs(mean):  # equal rewards, but for the rounding of their mean
        law[KIND] = FLAT
        return
    is_few_valued = n > MOST_LISTED and values[0] <= MOST_VALUES
    square = 0.0
    fourth = 0.0
    sixth = 0.0
    total = 0.0
    rest = 0.0, 0.0, 0.0
    lone = 0 if mean - ends[0] == farthest else n_terms - 1  # where the largest term is
    is_dominated = False
    if is_few_valued:
        n_terms = int(values[0])
        for i in range(n_terms):
            count = values[1 + i + MOST_VALUES]
            term = abs(values[1 + i] - mean) / farthest
            y = term * term
            square += count * y
            fourth += count * y * y
            sixth += count * y * y * y
            total += count * term
    else:
        for i in range(n_terms):
            if i != lone:
                term = abs(ends[i] - mean) / farthest
                y = term * term
                square += y
                fourth += y * y
                sixth += y * y * y
                total += term
        s2, s4, s6 = rest_powers(memory.rests[arm], n - MOST_TERMS, mean)
        # One division after the other: the power of a tiny distance may be too small for a float.
        s2 = s2 / farthest / farthest
        s4 = s4 / farthest / farthest / farthest / farthest
        s6 = s6 / farthest / farthest / farthest / farthest / farthest / farthest
        rest = s2, s4, s6
        square += s2
        fourth += s4
        sixth += s6
        total += math.sqrt(max(n - MOST_TERMS, 0) * s2)  # Cauchy and Schwarz
        is_dominated = n > MOST_TERMS and DOMINANCE * square < 1.0
        if not is_dominated:
            square += 1.0
            fourth += 1.0
            sixth += 1.0
            total += 1.0
    unit = farthest / n
    scale = math.sqrt(square)
    fourth = -2.0 * fourth / (square * square)
    sixth = 16.0 * sixth / (square * square * square)
    law[UNIT] = unit
    law[ALONE] = unit if is_dominated else 0.0
    law[SCALE] = scale * unit
    law[TOTAL] = total * unit
    expand(law, scale * unit, fourth, sixth)
    law[RANK] = 0.0
    law[FROM_LEVEL] = 1.0
    law[FROM_BEFORE] = 1.0
    if values[0] == 2.0 and MOST_LISTED < n <= MOST_COINS:
        few = int(min(values[1 + MOST_VALUES], values[2 + MOST_VALUES]))
        fit_coins(few, n - few, memory.tables[arm])
        law[KIND] = COINS  # last: a call that is interrupted leaves the distribution to be fitted
    else:
        for i in range(n_terms):
            terms[i] = ((values[1 + i] if is_few_valued else ends[i]) - mean) / farthest
            counts[i] = values[1 + i + MOST_VALUES] if is_few_valued else 1.0
        if is_dominated:
            terms[lone] = 0.0
        law[N_NONZERO] = 0.0
        for i in range(n_terms):
            law[N_NONZERO] += counts[i] if terms[i] != 0.0 else 0.0
        if n > MOST_LISTED:
            law[HALF], law[N_WAVES], blur = fit_waves(
                terms, counts, n_terms, rest, total, memory.scratch, memory.tables[arm]
            )
            law[SHRINK] = math.sqrt(square / (square + blur))
        law[KIND] = WAVES


@jitable
def counted_quantile(memory: SignMemory, arm: int, n: int, mean: float, nonzero: int, level: float) -> float:
    """``inf {x : P(sum +-a_i > x) <= level}`` from the sums themselves, for up to MOST_TERMS rewards."""
    ends, magnitudes = memory.ends[arm], memory.scratch[3]
    low = 0
    high = n - 1
    for i in range(nonzero - 1, -1, -1):  # from the outside in, magnitudes fall
        if mean - ends[low] > ends[high] - mean:
            magnitudes[i] = (mean - ends[low]) / n
            low += 1
        else:
            magnitudes[i] = (ends[high] - mean) / n
            high -= 1
    return extreme_quantile_in(memory.room, magnitudes, nonzero, level)


@inlined
def law_quantile(memory: SignMemory, arm: int, n: int, mean: float, level: float, z: float) -> float:
    """``q_level`` of an arm; ``z`` is the normal quantile of ``level``."""
    law = memory.laws[arm]
    if law[KIND] == STALE and n > MOST_TERMS:
        fit_smooth_law(law, memory.rests[arm], memory.values[arm], n, mean)
    return smooth_quantile(law, z) if law[KIND] == SMOOTH else lumpy_quantile(memory, arm, n, mean, level, z)


@jitable
def expanded_quantile(law: Floats, z: float) -> float:
    """The expansion of Cornish and Fisher at a normal quantile."""
    y = z * z
    return z * (law[C0] + y * (law[C1] + y * (law[C2] + y * law[C3])))


@jitable
def smooth_quantile(law: Floats, z: float) -> float:
    """The expansion, inside what a sum of signs can be at most."""
    return max(min(expanded_quantile(law, z), law[TOTAL]), -law[TOTAL])


@jitable
def lumpy_quantile(memory: SignMemory, arm: int, n: int, mean: float, level: float, z: float) -> float:
    """:func:`law_quantile` where the distribution is not smooth."""
    law = memory.laws[arm]
    if law[KIND] == STALE:
        fit_law(memory, arm, n, mean)
    if law[KIND] == FLAT:
        return 0.0
    if n <= MOST_TERMS and law[KIND] != COINS:
        nonzero = int(law[N_NONZERO])
        rank = extreme_rank(nonzero, level)
        if n <= MOST_LISTED or rank <= MOST_COUNTED:
            side = rank + 0.5 if level < 0.5 else -rank - 0.5
            if law[RANK] != side:
                law[RANK] = 0.0
                law[COUNTED] = counted_quantile(memory, arm, n, mean, nonzero, level)
                law[RANK] = side
            return law[COUNTED]
    # The distribution is symmetric.
    sign = 1.0
    if level > 0.5:
        sign = -1.0
        level = 1.0 - level
        z = -z
    if law[KIND] == COINS:
        return sign * two_value_quantile(law, memory.values[arm], memory.tables[arm], n, max(level, 1e-300), z)
    # Where a term outweighs the others the quantile has its sign, and they are as rarely beyond as half of the level.
    inner_sign = 1.0
    if law[ALONE] > 0.0:
        level *= 2.0
        z = rough_normal_quantile(level)
        if level > 0.5:
            inner_sign = -1.0
            level = 1.0 - level
            z = -z
    return sign * (law[ALONE] + inner_sign * upper_quantile(law, memory.tables[arm], level, z))


@jitable
def two_value_quantile(law: Floats, values: Floats, table: Floats, n: int, level: float, z: float) -> float:
    """The quantile of two-valued rewards, worked out anew when the level is in the ranges of neither of the last two."""
    if law[FROM_LEVEL] <= level < law[TO_LEVEL]:
        return law[COUNTED]
    if law[FROM_BEFORE] <= level < law[TO_BEFORE]:
        return law[COUNTED_BEFORE]
    few = int(min(values[1 + MOST_VALUES], values[2 + MOST_VALUES]))
    unit = abs(values[1] - values[2]) / n / n
    y = min(z * z, 30.0)
    expanded = z * (law[C0] + y * (law[C1] + y * law[C2]))
    # What the expansion missed last time, in standard deviations, it misses again but for a little.
    start = (expanded + law[MISS] * law[SCALE]) / unit
    rate = math.exp(-0.5 * z * z) / (SQRT_2_PI * level) * unit / law[SCALE]
    x, low, high = coins_quantile(few, n - few, table, start, rate, level)
    # The lower ends of ranges come last: an interrupted call leaves an empty range.
    law[FROM_BEFORE] = 1.0
    law[COUNTED_BEFORE] = law[COUNTED]
    law[TO_BEFORE] = law[TO_LEVEL]
    law[FROM_BEFORE] = law[FROM_LEVEL]
    law[FROM_LEVEL] = 1.0
    law[COUNTED] = x * unit
    law[TO_LEVEL] = high
    law[FROM_LEVEL] = low
    law[MISS] = (law[COUNTED] - expanded) / law[SCALE]
    return law[COUNTED]


@jitable
def upper_quantile(law: Floats, waves: Floats, level: float, z: float) -> float:
    """The quantile of a distribution that is not counted, at a level of at most 1/2."""
    if level >= 0.5:
        return 0.0
    top = law[SCALE] * z
    if level < DEEPEST:
        first = inverted(law, waves, DEEPEST, law[SCALE] * DEEPEST_Z)
        second = inverted(law, waves, SECOND_DEEPEST, first)
        x = min(first + (first - second) * (z - DEEPEST_Z) / (DEEPEST_Z - SECOND_Z), top)
    else:
        x = inverted(law, waves, level, min(max(expanded_quantile(law, z), 0.6 * top), top))
    return min(x, law[TOTAL])


@jitable
def inverted(law: Floats, waves: Floats, level: float, start: float) -> float:
    """The quantile by waves, without their blur."""
    return law[UNIT] * law[SHRINK] * wave_quantile(waves, int(law[N_WAVES]), law[HALF], start / law[UNIT], level)


@inlined
def main_bound(laws: Floats, arm: int, total: float) -> float:
    """Cheap upper limit of :func:`law_quantile` at the level of ``total``; infinite while a distribution must be fitted.

    A sum of signs has a tail of at most ``TAIL_FACTOR`` times that of a normal variable of its variance: Bentkus and
    Dzindzalieta, A tight Gaussian bound for weighted sums of Rademacher random variables, Bernoulli 21, 2015. The expansion
    of a smooth distribution rises with the normal quantile.
    """
    law = laws[arm]
    if law[KIND] == STALE:
        bound = math.inf
    elif law[KIND] == FLAT:
        bound = 0.0
    elif law[KIND] == SMOOTH:
        bound = smooth_quantile(law, quantile_bound(NORMAL_STEPS, 1.0, total))
    else:
        z = quantile_bound(TAIL_STEPS, TAIL_FACTOR, total)
        # A hundredth more, for the errors of the normal quantile and of a blurred distribution.
        bound = 1.01 * (law[ALONE] + min(law[TOTAL], law[SCALE] * z))
    return bound


def quantile_source(memory: SignMemory, arm: int, n: int, level: float) -> str:
    """Source from which :func:`law_quantile` has the quantile of an arm with ``n`` rewards, in a word."""
    is_listed = n <= MOST_LISTED or (n <= MOST_TERMS and extreme_rank(n, level) <= MOST_COUNTED)
    return "counted" if is_listed or (memory.values[arm][0] <= 2.0 and n <= MOST_COINS) else "fitted"

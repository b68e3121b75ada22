"""RMM-UCB: an exact upper confidence bound for symmetric rewards, from medians of means under random signs."""

from __future__ import annotations

import math
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from bandstrap.basics.arrays import Floats
from bandstrap.engine.compiler.kernel import Kernel, compiled_body, inlined, jitable
from bandstrap.errors import check_count, requirement
from bandstrap.policies.kernels.schedule import FIXED, Alpha, Schedule, error_probability
from bandstrap.policies.online.policy import Label, Online, Policy
from bandstrap.policies.states.history import State, learn, no_rewards

# 1/alpha resamples are drawn for every arm in every round.
SMALLEST_ALPHA = 1e-7
# Signs of eight rewards are looked up at once, and a uniform number has those of six such groups.
GROUP, GROUPS = 8, 6
WORD_SIZE = 2.0 ** (GROUP * GROUPS)
ONES = np.array([byte.bit_count() for byte in range(1 << GROUP)])
# Resamples that plain Python works on at a time.
CHUNK = 4096


class Params(NamedTuple):
    """Schedule of the error probability, and the number of blocks, 0 for the paper's."""

    schedule: Schedule
    blocks: int


class Shared(NamedTuple):
    """Number of resamples, and largest number of blocks."""

    resamples: int
    blocks: float


class RewardBlocks(NamedTuple):
    """Blocks of an arm's rewards, and sums over all subsets of each group of up to eight rewards of a block.

    ``lifts`` has ``|B| (center - mean)/2`` of each block; ``ends`` where its groups end.
    """

    lifts: Floats
    ends: NDArray[np.int64]
    masks: NDArray[np.int64]
    tables: Floats


@jitable
def tabulate_subsets(terms: Floats, start: int, end: int, table: Floats) -> int:
    """Write the sums over all subsets of the terms into ``table``, one bit for each; the mask of these bits."""
    table[0] = 0.0
    size = 1
    for i in range(start, end):
        table[size : 2 * size] = table[:size] + terms[i]
        size *= 2
    return size - 1


@jitable
def make_blocks(rewards: Floats, n: int, k: int) -> RewardBlocks:
    """Cut the first ``n`` rewards into ``k`` blocks of neighbours."""
    lifts = np.empty(k)
    ends = np.empty(k, dtype=np.int64)
    n_groups = 0
    for b in range(k):
        n_groups += ((b + 1) * n // k - b * n // k + GROUP - 1) // GROUP
    masks = np.empty(n_groups, dtype=np.int64)
    tables = np.empty((n_groups, 1 << GROUP))
    group = 0
    for b in range(k):
        start = b * n // k
        end = (b + 1) * n // k
        total = 0.0
        for first in range(start, end, GROUP):
            masks[group] = tabulate_subsets(rewards, first, min(first + GROUP, end), tables[group])
            total += tables[group, masks[group]]
            group += 1
        lifts[b] = total / (end - start)
        ends[b] = group
    center = np.sort(lifts)[(k - 1) // 2]
    for b in range(k):
        lifts[b] = 0.5 * ((b + 1) * n // k - b * n // k) * (center - lifts[b])
    return RewardBlocks(lifts, ends, masks, tables)


@inlined
def block_bound(lift: float, total: float, count: int, wins_ties: bool) -> float:
    """``(lift + total)/count`` of the rewards whose sign is minus; without any, infinity with the sign of ``lift``."""
    if count > 0:
        return (lift + total) / count
    return math.inf if lift > 0.0 or (lift == 0.0 and wins_ties) else -math.inf


def rmm_bound(rewards: Floats, n: int, k: int, resamples: int, rng: np.random.Generator) -> float:
    """The largest, over resamples, of medians over blocks; of two in the middle the upper one.

    A resample draws a sign for each reward and a number that breaks ties.
    """
    blocks = make_blocks(rewards, n, k)
    n_words = (len(blocks.masks) + GROUPS - 1) // GROUPS
    own = rng.random()
    top = -math.inf
    for first in range(0, resamples, CHUNK):
        uniforms = rng.random((min(CHUNK, resamples - first), n_words + 1))
        words = (uniforms[:, :n_words] * WORD_SIZE).astype(np.int64)
        wins_ties = uniforms[:, n_words] < own
        bounds = np.empty((k, len(words)))
        group = 0
        for b in range(k):
            totals = np.zeros(len(words))
            counts = np.zeros(len(words), dtype=np.int64)
            while group < blocks.ends[b]:
                bits = (words[:, group // GROUPS] >> (GROUP * (group % GROUPS))) & blocks.masks[group]
                totals += blocks.tables[group][bits]
                counts += ONES[bits]
                group += 1
            lift = blocks.lifts[b]
            empty = np.where((lift > 0.0) | ((lift == 0.0) & wins_ties), math.inf, -math.inf)
            bounds[b] = np.where(counts > 0, (lift + totals) / np.maximum(counts, 1), empty)
        bounds.sort(axis=0)
        top = max(top, float(bounds[k // 2].max()))
    return top


@compiled_body(rmm_bound)
def rmm_bound_in_loops(rewards: Floats, n: int, k: int, resamples: int, rng: np.random.Generator) -> float:
    """:func:`rmm_bound` in loops, because a resample can be left once its median cannot be above the largest."""
    blocks = make_blocks(rewards, n, k)
    n_words = (len(blocks.masks) + GROUPS - 1) // GROUPS
    words = np.empty(n_words, dtype=np.int64)
    bounds = np.empty(k)
    own = rng.random()
    top = -math.inf
    for _ in range(resamples):
        for word in range(n_words):
            words[word] = int(rng.random() * WORD_SIZE)
        wins_ties = rng.random() < own
        group = 0
        n_below = 0
        for b in range(k):
            total = 0.0
            count = 0
            while group < blocks.ends[b]:
                bits = (words[group // GROUPS] >> (GROUP * (group % GROUPS))) & blocks.masks[group]
                total += blocks.tables[group, bits]
                count += ONES[bits]
                group += 1
            bounds[b] = block_bound(blocks.lifts[b], total, count, wins_ties)
            if bounds[b] <= top:
                n_below += 1
                if n_below > k // 2:
                    break
        if n_below <= k // 2:
            top = np.sort(bounds)[k // 2]
    return top


def prepare(params: Params, state: State, round_: int) -> Shared:
    """``ceil(1/alpha_t)`` resamples, at most 10^7, and at most ``17 log t`` blocks."""
    resamples = math.ceil(1.0 / max(error_probability(params.schedule, round_), SMALLEST_ALPHA) - 1e-9)
    return Shared(resamples, 17.0 * math.log(round_))


def score(params: Params, state: State, arm: int, shared: Shared, rng: np.random.Generator) -> float:
    """The bound of the arm's rewards."""
    n = state.pulls[arm]
    blocks = params.blocks if params.blocks > 0 else math.floor(min(shared.blocks, math.sqrt(n)))
    return rmm_bound(state.history[arm], n, max(1, min(blocks, n)), shared.resamples, rng)


KERNEL = Kernel("rmm_ucb", learn=learn, score=score, prepare=prepare)


class RMMUCB(Policy[Label]):
    r"""Resampled median-of-means: an upper bound of exact level for symmetric rewards with heavy tails.

    .. math:: U = \max_{j \le m} \, \mathrm{med}_{\ell \le k}
        \frac{\hat\mu - |B_\ell|^{-1} \sum_{i \in B_\ell} w_{ij} y_i}{1 - |B_\ell|^{-1} \sum_{i \in B_\ell} w_{ij}},
        \qquad m = \lceil 1/\alpha_t \rceil

    with random signs :math:`w_{ij}`, blocks :math:`B_\ell` of the arm's ``n`` rewards, and the median :math:`\hat\mu` of
    the means of these blocks.

    Assumes rewards that are symmetric about their means; of their tails, only that a moment of order above 1 is finite.
    Prefer :class:`bandstrap.SignFlipUCB`, which costs far less, unless tails are so heavy that means of blocks are needed.

    Parameters
    ----------
    alpha
        Error probability of the bound in round ``t``: ``"1/(t+1)"`` (default, that of the other policies here),
        ``"1/(t log^tau t)"`` (the authors' with ``tau = 2``), ``"1/T^2"``, a number of at least 1e-7, or (online only) a
        callable of ``t``.
    tau
        Exponent of the second schedule. Levels below 1e-7 are played as 1e-7.
    horizon
        ``T`` of the third schedule; the simulator fills it in.
    blocks
        ``k``. By default the paper's, ``floor(min(17 log t, sqrt(n)))``. With 1 the bound is that of
        :class:`bandstrap.MARS`, with subsets drawn anew in each round.
    arms, rng, direction, compiled
        See :class:`bandstrap.Policy`.

    Notes
    -----
    For symmetric rewards and a given number of pulls, the bound is below the mean with probability at most ``1/(m + 1)``,
    exactly so for continuous distributions. It is the supremum of the means that the paper's rank test accepts, its
    equation (18). For an even number of blocks, the median of the quotients is therefore the upper one. Lemma 2.5 uses the
    lower one, with which the bound is below the mean too often. A decision in round ``t`` costs ``O(t/alpha_t)``: with the
    authors' level, 2,000 rounds take about fifty times as long as with the default. Their theorem covers only their level.

    See Also
    --------
    bandstrap.MARS : one block, subsets drawn once.
    bandstrap.RobustUCB : needs a bound on a moment instead of symmetry.

    Examples
    --------
    >>> from bandstrap import RMMUCB
    >>> policy = RMMUCB(arms=2, alpha=0.01, rng=0)
    >>> policy.update([0, 1] * 20, [0.1, 0.7, 0.3, 0.9] * 10)
    >>> policy.select()
    1

    References
    ----------
    .. [1] Tamás, Szentpéteri, Csáji. Data-driven upper confidence bounds with near-optimal regret for heavy-tailed bandits.
       AISTATS 2025.
    """

    kernel = KERNEL
    name = "rmm_ucb"
    indices_are_bounds = True

    def __init__(
        self,
        *,
        alpha: Alpha = "1/(t+1)",
        tau: float = 2.0,
        horizon: int | None = None,
        blocks: int | None = None,
        **online: Unpack[Online[Label]],
    ) -> None:
        self.set_schedule(alpha, tau, horizon)
        if isinstance(alpha, float):
            self._check_level(alpha)
        self.blocks = None if blocks is None else check_count(blocks, "blocks", type(self).__name__)
        super().__init__(**online)

    def _check_level(self, level: float) -> None:
        if level < SMALLEST_ALPHA:
            rule = f"at least {SMALLEST_ALPHA:g}, as 1/alpha resamples are drawn"
            raise requirement("alpha", type(self).__name__, rule, level)

    def make_params(self, horizon: int | None) -> Params:
        schedule = self.schedule_for(horizon)
        if schedule.rule == FIXED:
            self._check_level(schedule.value)
        return Params(schedule, self.blocks or 0)

    def make_state(self, n_arms: int, capacity: int, order: NDArray[np.int64]) -> State:
        """State before the first reward: room for all rewards."""
        return no_rewards(n_arms, capacity, order)

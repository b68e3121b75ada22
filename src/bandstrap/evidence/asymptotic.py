"""Differences between arms for rewards without a range: an asymptotic confidence sequence, approximate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bandstrap.basics.arrays import Floats
from bandstrap.errors import check_count, check_number, read_numbers, requirement
from bandstrap.evidence.betting import add_in_order
from bandstrap.evidence.contrasts import ContrastIntervals, overlaps, pair_shares
from bandstrap.evidence.table import (
    ArmPlaces,
    check_arms,
    check_joining,
    check_labels,
    check_state,
    check_weights,
    chunks,
    read_arrays,
)

# A pair of arms is shown from so many rewards other than 0 in both together, and so many decisions for each, on.
FEWEST_REWARDS = 200
FEWEST_DECISIONS = 50
# The sequence is narrowest where the variance is so many times that at its start.
NARROWEST_AT = 10.0
SLOWEST = 0.005
# Larger rewards count as so much: sums of their squares are still numbers.
LARGEST_REWARD = 1e145
ARRAYS = ("overlap", "sums", "squares", "start", "pulls", "nonzero")


class AsymptoticContrasts:
    r"""Approximate differences between arms, for rewards of any size.

    With the scores :math:`\xi_i` of :class:`Contrasts`, but of unscaled rewards, :math:`V = \sum \xi_i^2` and
    :math:`G = \sum g_i`, the interval is

    .. math::

        \frac{\sum_i \xi_i}{G} \pm \frac1G \sqrt{\frac{V \rho^2 + 1}{\rho^2} \log \frac{V \rho^2 + 1}{\alpha^2}}, \qquad
        \rho^2 = \frac{-2 \log \alpha + \log(-2 \log \alpha) + 1}{10\, V_0},

    where :math:`V_0` is ``V`` when the pair first has 200 rewards other than 0 and 50 decisions for each arm. Before, there
    is no interval.

    Parameters
    ----------
    arms
        Labels of the arms, or their number; from 2 to 64.

    Notes
    -----
    *Approximate.* Its error probability tends to alpha only as the start moves to later times. For revenue with a heavy
    tail it misses several times as often; ``python -m study.evidence`` measures how often. Without a bound on rewards there
    is no exact interval for a difference of means: a rare and arbitrarily large reward may still be unseen. The exact
    alternative is a cap, see :class:`LogEvidence`.

    Examples
    --------
    >>> import numpy as np
    >>> from bandstrap.evidence import AsymptoticContrasts
    >>> rng = np.random.default_rng(0)
    >>> arms = rng.integers(2, size=20_000)
    >>> rewards = (rng.random(20_000) < 0.1) * rng.lognormal(3 + 0.4 * arms, 1.0)
    >>> state = AsymptoticContrasts(["red", "green"])
    >>> state.update(arms, rewards, [0.5, 0.5])
    >>> found = state.intervals(0.05)["green", "red"]
    >>> round(found.estimate, 2), round(found.lower, 2), round(found.upper, 2)
    (2.09, 0.57, 3.6)

    References
    ----------
    .. [1] Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas. Time-uniform central limit theory and asymptotic confidence
       sequences. Annals of Statistics 52, 2024.
    """

    def __init__(self, arms: int | Sequence[str]) -> None:
        self.labels = check_labels(arms, "AsymptoticContrasts")
        self.n_decisions = 0
        self.level = 0.0
        n_arms = len(self.labels)
        self.overlap: Floats = np.zeros((n_arms, n_arms))
        self.sums: Floats = np.zeros((n_arms, n_arms))
        self.squares: Floats = np.zeros((n_arms, n_arms))
        self.start: Floats = np.zeros((n_arms, n_arms))  # V_0, and 0 before
        self.pulls: Floats = np.zeros(n_arms)
        self.nonzero: Floats = np.zeros(n_arms)

    def update(self, arms: ArrayLike, rewards: ArrayLike, weights: ArrayLike) -> None:
        """Count one decision or several, in their order; see :meth:`Contrasts.update`. Rewards are finite numbers."""
        owner = "AsymptoticContrasts.update"
        chosen = check_arms(arms, self.labels, owner)
        column = np.atleast_1d(read_numbers(rewards, "rewards", owner, "finite numbers", kinds="biuf"))
        if column.shape != chosen.shape:
            rule = f"one number for each of the {len(chosen)} decisions"
            raise requirement("rewards", owner, rule, f"shape {column.shape}")
        if not np.isfinite(column).all():
            where = int(np.argmin(np.isfinite(column)))
            raise requirement("rewards", owner, "finite numbers", f"{column[where]} at decision {where}")
        table = check_weights(weights, chosen, len(self.labels), owner)
        for some in chunks(len(chosen), len(self.labels) ** 2):
            self._add(chosen[some], np.clip(column[some], -LARGEST_REWARD, LARGEST_REWARD), table[some])

    def _add(self, chosen: ArmPlaces, rewards: Floats, weights: Floats) -> None:
        """Add decisions that were checked."""
        n, n_arms = len(chosen), len(self.labels)
        levels = np.empty(n)
        for i, reward in enumerate(rewards.tolist()):
            levels[i] = self.level
            self.n_decisions += 1
            self.level += max(1.0 / self.n_decisions, SLOWEST) * (reward - self.level)
        scores = (rewards - levels)[:, None] * pair_shares(chosen, weights)
        scores[np.arange(n), chosen] = 0.0
        places = np.arange(n_arms)
        signed = np.zeros((n, n_arms, n_arms))
        signed[np.arange(n)[:, None], chosen[:, None], places] = scores
        signed[np.arange(n)[:, None], places, chosen[:, None]] -= scores
        self.sums = add_in_order(self.sums, signed)
        squares = np.add.accumulate(np.concatenate([self.squares[None], signed * signed]), axis=0)[1:]
        shown = chosen[:, None] == places
        pulls = self.pulls + shown.cumsum(axis=0)
        nonzero = self.nonzero + (shown & (rewards != 0.0)[:, None]).cumsum(axis=0)
        for b, a in np.argwhere(self.start == 0.0).tolist():
            known = (nonzero[:, a] + nonzero[:, b] >= FEWEST_REWARDS) & (
                np.minimum(pulls[:, a], pulls[:, b]) >= FEWEST_DECISIONS
            )
            known &= squares[:, b, a] > 0.0
            if known.any():
                self.start[b, a] = squares[int(np.argmax(known)), b, a]
        if n:
            self.squares, self.pulls, self.nonzero = squares[-1].copy(), pulls[-1].copy(), nonzero[-1].copy()
        self.overlap = add_in_order(self.overlap, overlaps(weights[:, :, None], weights[:, None, :]))
        np.fill_diagonal(self.overlap, 0.0)

    def add_arm(self, label: str) -> None:
        """Add a new arm; it had probability 0 until now."""
        self.labels = check_joining(self.labels, label, "AsymptoticContrasts.add_arm")
        for name in ARRAYS:
            setattr(self, name, np.pad(getattr(self, name), (0, 1)))

    def intervals(self, alpha: float = 0.05, *, simultaneous: bool = False) -> ContrastIntervals:
        """Estimates and approximate intervals of all contrasts; see :meth:`Contrasts.intervals`."""
        alpha = check_number(alpha, "alpha", "AsymptoticContrasts.intervals", above=0, below=1)
        n_arms = len(self.labels)
        each = alpha / (n_arms - 1) if simultaneous else alpha
        quiet = max(-2.0 * math.log(each) + math.log(-2.0 * math.log(each)) + 1.0, 0.1)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            rho = quiet / (NARROWEST_AT * self.start)
            grown = self.squares * rho + 1.0
            half = np.sqrt(grown / rho * np.log(grown / each**2)) / self.overlap
            estimate = np.where(self.overlap > 0.0, self.sums / self.overlap, np.nan)
        half = np.where((self.start > 0.0) & np.isfinite(half), half, np.inf)
        np.fill_diagonal(half, 0.0)
        np.fill_diagonal(estimate, 0.0)
        unknown = np.full_like(estimate, np.nan)
        centre = np.where(np.isfinite(estimate), estimate, 0.0)
        counted = (self.labels, alpha, simultaneous, self.n_decisions)
        return ContrastIntervals(
            *counted, estimate, centre - half, centre + half, unknown, self.overlap.copy(), unknown.copy()
        )

    def to_dict(self) -> dict[str, Any]:
        """The state as plain lists and numbers, for JSON; :meth:`from_dict` reads them back without loss."""
        arrays = {name: getattr(self, name).tolist() for name in ARRAYS}
        return {"arms": list(self.labels), "n_decisions": self.n_decisions, "level": self.level, **arrays}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> AsymptoticContrasts:
        """Restore the state from :meth:`to_dict`."""
        owner = "AsymptoticContrasts.from_dict"
        found = cls(check_state(state, ("n_decisions", "level", *ARRAYS), owner)["arms"])
        found.n_decisions = check_count(state["n_decisions"], "n_decisions", owner, at_least=0)
        found.level = check_number(state["level"], "level", owner)
        read_arrays(found, state, ARRAYS, owner)
        return found

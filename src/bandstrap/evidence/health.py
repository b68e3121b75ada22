"""Health of a log: whether rewards go missing, or decisions fail to be shown, in a way that depends on the arm."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bandstrap.basics.arrays import Bools, Floats
from bandstrap.errors import brief, check_count, check_number, requirement
from bandstrap.evidence.betting import EPS, ROUNDINGS
from bandstrap.evidence.table import (
    ArmPlaces,
    check_arms,
    check_columns,
    check_flags,
    check_joining,
    check_labels,
    check_state,
    check_weights,
    chunks,
    read_arrays,
)

# An arm is bet to be this many times as frequent as its probabilities say.
FACTORS: Floats = np.array([0.25, 0.5, 0.8, 1.25, 2.0, 4.0])
ARRAYS = ("log_products", "counts", "expected")
SIDES = ("missing", "present")
# Logarithms of products that differ by less than this are equal, but for rounding.
TIE = 1e-6


@dataclass(frozen=True)
class HealthFinding:
    """Answer to "do missing rewards depend on the arm?".

    Attributes
    ----------
    healthy
        True if the evidence against a healthy log has stayed below ``1/alpha`` at all times.
    log_evidence
        Logarithm of the largest e-value so far.
    arm
        The arm that deviated most when the evidence was largest; ``None`` without evidence.
    expected, found
        Expected and actual number of missing (or present) decisions of this arm until then.
    side
        ``"missing"`` or ``"present"``: the decisions among which the arm deviated.
    missing, present
        Numbers of missing and of present decisions by arm.
    """

    healthy: bool
    log_evidence: float
    arm: str | None
    expected: float
    found: int
    side: str
    missing: dict[str, int]
    present: dict[str, int]


class Health:
    r"""Evidence that something is missing because of the arm, updated decision by decision.

    If missing rewards do not depend on the arm, a decision with a missing reward has each arm with its stored probability.
    The same holds for a decision with a reward. With the bet that arm ``k`` is :math:`\theta` times as frequent,
    :math:`\theta \in \{1/4, 1/2, 0.8, 1.25, 2, 4\}`:

    .. math::

        E = \frac12 \sum_{s} \operatorname{mean}_{k, \theta} \prod_{i \in s}
            \frac{\theta^{1\{A_i = k\}}}{1 - p_{ik} + p_{ik} \theta}, \qquad s = \text{missing, present}.

    Each factor has mean 1, so ``E`` is a martingale that starts with 1: it ever reaches ``1/alpha`` with probability at
    most ``alpha``. The same bets on activated and on non-activated decisions test whether the traffic shown agrees with the
    traffic decided (sample ratio mismatch).

    Parameters
    ----------
    arms
        Labels of the arms, or their number; from 2 to 64.

    Attributes
    ----------
    peak
        Logarithm of the largest ``E`` so far.
    worst
        Side, arm, and numbers of decisions expected and found of it, when ``E`` was largest; ``None`` without evidence.

    See Also
    --------
    bandstrap.evidence.health : the same for a whole table at once.

    Notes
    -----
    Usual tests of the sample ratio use only present rewards. Bets on missing rewards detect a crash of one arm several
    times earlier. With a default reward nothing is missing, and a crash is an effect. To detect it, let the page report
    that it was shown (``activate``), or send a reward of 0.

    Examples
    --------
    >>> import numpy as np
    >>> from bandstrap.evidence import Health
    >>> rng = np.random.default_rng(0)
    >>> state = Health(["red", "green"])
    >>> arms = rng.integers(2, size=3000)
    >>> state.update(arms, rng.random(3000) < np.array([0.02, 0.08])[arms], [0.5, 0.5])
    >>> found = state.finding()
    >>> found.healthy, found.arm, found.side, found.missing
    (False, 'green', 'missing', {'red': 23, 'green': 123})

    References
    ----------
    .. [1] Lindon, Malek. Anytime-valid inference for multinomial count data. NeurIPS 2022: sample ratio mismatch.
    """

    def __init__(self, arms: int | Sequence[str]) -> None:
        self.labels = check_labels(arms, "Health")
        n_arms = len(self.labels)
        self.log_products: Floats = np.zeros((2, n_arms, FACTORS.size))
        self.counts: Floats = np.zeros((2, n_arms))
        self.expected: Floats = np.zeros((2, n_arms))
        self.peak = 0.0
        self.worst: tuple[int, int, float, int] | None = None

    def update(self, arms: ArrayLike, missing: ArrayLike, weights: ArrayLike) -> None:
        """Count one decision or several, in their order.

        Parameters
        ----------
        arms
            The arm chosen, or a column of arms: labels or positions.
        missing
            True where the reward is missing.
        weights
            Probabilities of all arms at the time of the decision, of shape ``(K,)`` or ``(n, K)``.
        """
        owner = "Health.update"
        chosen = check_arms(arms, self.labels, owner)
        flags = check_flags(missing, "missing", len(chosen), owner)
        table = check_weights(weights, chosen, len(self.labels), owner)
        for some in chunks(len(chosen), 2 * FACTORS.size * len(self.labels)):
            self._add(chosen[some], flags[some], table[some])

    def _add(self, chosen: ArmPlaces, missing: Bools, weights: Floats) -> None:
        """Add decisions that were checked."""
        shown = np.zeros((len(chosen), len(self.labels)))
        shown[np.arange(len(chosen)), chosen] = 1.0
        logs = shown[:, :, None] * np.log(FACTORS) - np.log1p(weights[:, :, None] * (FACTORS - 1.0))
        is_side = np.stack([missing, ~missing], axis=1)  # (n, 2)
        n_before = self.counts.sum()
        products, counts, expected = (
            np.add.accumulate(np.concatenate([total[None], parts]), axis=0)[1:]
            for total, parts in (
                (self.log_products, np.where(is_side[:, :, None, None], logs[:, None], 0.0)),
                (self.counts, np.where(is_side[:, :, None], shown[:, None], 0.0)),
                (self.expected, np.where(is_side[:, :, None], weights[:, None], 0.0)),
            )
        )
        if not len(products):
            return
        self.log_products, self.counts, self.expected = products[-1].copy(), counts[-1].copy(), expected[-1].copy()
        evidence = log_evidence(products) - rounding(n_before + np.arange(1.0, len(products) + 1.0))
        place = int(evidence.argmax())
        if evidence[place] > self.peak:
            self.peak = float(evidence[place])
            side, arm = most_deviant(products[place])
            self.worst = side, arm, float(expected[place, side, arm]), int(counts[place, side, arm])

    def add_arm(self, label: str) -> None:
        """Let an arm join that was not known before; it had probability 0 until now.

        The largest ``E`` becomes its value for an arm known from the start, whose bets stayed at 1. If arms join in
        reaction to results, the error probability is at most ``K/k`` times alpha, with ``k`` arms at first and ``K`` in the
        end.
        """
        n_arms = len(self.labels)
        self.labels = check_joining(self.labels, label, "Health.add_arm")
        self.peak += math.log((n_arms + math.exp(-self.peak)) / (n_arms + 1))
        self.log_products = np.pad(self.log_products, [(0, 0), (0, 1), (0, 0)])
        self.counts, self.expected = (np.pad(each, [(0, 0), (0, 1)]) for each in (self.counts, self.expected))

    def finding(self, alpha: float = 0.01) -> HealthFinding:
        """Finding about the health of the log.

        Parameters
        ----------
        alpha
            Probability of a false alarm, at all times together. Default: 0.01.
        """
        alpha = check_number(alpha, "alpha", "Health.finding", above=0, below=1)
        by_arm = [dict(zip(self.labels, map(int, counts), strict=True)) for counts in self.counts]
        side, arm, expected, found = (0, None, 0.0, 0) if self.worst is None else self.worst
        label = None if arm is None else self.labels[arm]
        is_healthy = self.peak < -math.log(alpha)
        return HealthFinding(is_healthy, self.peak, label, expected, found, SIDES[side], by_arm[0], by_arm[1])

    def to_dict(self) -> dict[str, Any]:
        """The state as plain lists and numbers, for JSON; :meth:`from_dict` reads them back without loss."""
        arrays = {name: getattr(self, name).tolist() for name in ARRAYS}
        worst = None if self.worst is None else list(self.worst)
        return {"arms": list(self.labels), "peak": self.peak, "worst": worst, **arrays}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Health:
        """Restore the state from :meth:`to_dict`; impossible numbers are refused."""
        owner = "Health.from_dict"
        found = cls(check_state(state, ("peak", "worst", *ARRAYS), owner)["arms"])
        found.peak = check_number(state["peak"], "peak", owner)
        read_arrays(found, state, ARRAYS, owner)
        worst = state["worst"]
        if worst is not None:
            if not isinstance(worst, list | tuple) or len(worst) != 4:
                raise requirement("worst", owner, "a side, an arm and two numbers, or none", brief(worst))
            side, arm, count = (check_count(worst[k], "worst", owner, at_least=0) for k in (0, 1, 3))
            found.worst = side, arm, check_number(worst[2], "worst", owner), count
        if min(found.counts.min(), found.expected.min()) < 0.0 or (
            found.worst is not None and (found.worst[0] > 1 or found.worst[1] >= len(found.labels))
        ):
            raise requirement("state", owner, "one that to_dict wrote", "numbers that contradict each other")
        return found


def most_deviant(log_products: Floats) -> tuple[int, int]:
    """Side and arm of the bet that has won most; of equal bets, that on an arm that is too frequent."""
    side = int(log_products.max(axis=(1, 2)).argmax())
    bets = log_products[side]
    more, best = bets[:, FACTORS > 1.0].max(axis=1), bets.max(axis=1)
    # Of two arms in play, one is too frequent where the other is too rare: the same bet, but for rounding.
    return side, int((more if more.max() >= best.max() - TIE else best).argmax())


def log_evidence(log_products: Floats) -> Floats:
    """Logarithm of ``E``: half the mean over bets on the missing, half that on the present."""
    flat = log_products.reshape(*log_products.shape[:-3], -1)
    top = flat.max(axis=-1)
    return np.asarray(top + np.log(np.exp(flat - top[..., None]).mean(axis=-1)))


def rounding(n: Floats) -> Floats:
    """Bound on the rounding of ``n`` steps of at most ``log(4)`` each, and of one evaluation."""
    return EPS * (n + ROUNDINGS) * n * math.log(4.0)


def health(
    arms: ArrayLike,
    missing: ArrayLike,
    weights: ArrayLike,
    *,
    alpha: float = 0.01,
    labels: Sequence[str] | None = None,
) -> HealthFinding:
    """Return whether rewards of an adaptive log are missing in a way that depends on the arm.

    Parameters
    ----------
    arms, weights
        The decisions; see :func:`bandstrap.evidence.contrasts`.
    missing
        True where the reward is missing.
    alpha
        Probability of a false alarm, at all times together. Default: 0.01.
    labels
        Labels of the arms, in the order of the columns of ``weights``. Default: their positions.

    See Also
    --------
    bandstrap.evidence.Health : formula and proof; decision by decision.

    Examples
    --------
    >>> from bandstrap.evidence import health
    >>> health([0, 1] * 50, [0, 1] * 50, [0.5, 0.5]).healthy
    False
    """
    state = Health(check_columns(labels, weights, "health"))
    state.update(arms, missing, weights)
    return state.finding(alpha)

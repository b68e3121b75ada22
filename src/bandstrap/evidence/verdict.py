"""Verdicts: whether an experiment may stop, and with which arm, from the contrasts between all arms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bandstrap.basics.arrays import Bools, Floats
from bandstrap.basics.text import listed
from bandstrap.errors import brief, check_number, requirement
from bandstrap.evidence.betting import log_threshold, log_wealth
from bandstrap.evidence.contrasts import ContrastIntervals, Contrasts
from bandstrap.evidence.table import check_arm

Word = Literal["ship", "equivalent", "harm", "open", "unhealthy"]
# Beyond so many times the present number of decisions, no forecast is made.
LONGEST_FORECAST = 100.0
OWNER = "verdict"


@dataclass(frozen=True, eq=False)
class StopVerdict:
    """Answer to "may we stop?", with the evidence behind it.

    Attributes
    ----------
    word
        ``"ship"``: ``arm`` is better than every other. ``"equivalent"``: no arm is better than ``arm`` by more than
        ``epsilon``. ``"harm"``: some arms are worse than the control. ``"open"``: none of these is proved yet.
        ``"unhealthy"``: the log contradicts its probabilities, so there is no other verdict.
    sentence
        The verdict as a sentence.
    arm
        The arm that may be shipped; ``None`` if there is none.
    possible
        Arms not ruled out as the best. With probability ``1 - alpha/2`` the best is always among them. It may be empty if
        effects changed and no arm was always the best.
    harmful
        Arms that are worse than the control.
    remaining
        Approximate number of further decisions until one arm is left, if scores continue as in the newest time bin (or on
        average, without time bins). ``None`` if at most one arm is left, or if the number cannot be estimated.
    intervals
        Simultaneous intervals at the same level: they never contradict the other fields.
    """

    word: Word
    sentence: str
    arm: str | None
    possible: tuple[str, ...]
    harmful: tuple[str, ...]
    remaining: int | None
    intervals: ContrastIntervals


def verdict(
    state: Contrasts,
    alpha: float = 0.05,
    *,
    control: str | int | None = None,
    epsilon: float | None = None,
    healthy: bool = True,
    recent: Contrasts | None = None,
) -> StopVerdict:
    r"""Return whether an experiment may stop; valid at any time and for any number of looks.

    With ``K`` arms, e-values :math:`E_{ba} = M_{ba}(0)` and :math:`q = 2 (K - 1)/\alpha`:

    - arm ``a`` is *ruled out* if :math:`\sum_b E_{ba} \ge q`;
    - *ship* ``b`` if all other arms are ruled out, and ``b`` is not;
    - *harm* by ``b`` if :math:`E_{cb} \ge q` for the control ``c``;
    - *equivalent* if some arm that is not ruled out has simultaneous lower ends of at least ``-epsilon`` against all
      others.

    Parameters
    ----------
    state
        Contrasts of all decisions.
    alpha
        Error probability. Default: 0.05.
    control
        The arm that others may harm. Default: none, and the word "harm" is not used.
    epsilon
        Difference of mean rewards that does not matter. Default: none, and the word "equivalent" is not used. It is also
        not used for a difference as large as the range of rewards, which needs no evidence.
    healthy
        Result of the test whether missing rewards depend on the arm. Default: true.
    recent
        Contrasts of the newest time bin. "Ship" is withheld while a simultaneous interval of the newest time bin shows that
        the arm is now worse than another. Default: none.

    Returns
    -------
    StopVerdict
        "Harm" comes before "ship" only if the control is the only arm left, or if "ship" is withheld.

    Notes
    -----
    *Best arm.* Suppose no other arm is better on average than ``a``. Then each :math:`E_{ba}` is below a supermartingale
    that starts with 1, and their sum below one that starts with ``K - 1``. It ever reaches ``q`` with probability at most
    ``alpha/2``. Of two arms that are both the best, one is named with probability at most ``alpha``.

    *Equivalence.* Let ``a`` be the best arm. An arm ``b`` that is worse by more than ``epsilon`` has
    :math:`M_{ba}(-\epsilon G) \ge q` at some time with probability at most ``1/q``. There are at most ``K - 1`` such arms.

    *No contradictions.* A simultaneous lower end of ``b`` over ``a`` is positive only if :math:`E_{ba} \ge q`. Then the sum
    is also at least ``q``, so ``a`` is ruled out.

    Examples
    --------
    >>> import numpy as np
    >>> from bandstrap.evidence import Contrasts, verdict
    >>> rng = np.random.default_rng(0)
    >>> state = Contrasts(["red", "green"])
    >>> arms = rng.integers(2, size=4000)
    >>> state.update(arms, rng.random(4000) < np.array([0.1, 0.15])[arms], [0.5, 0.5])
    >>> found = verdict(state, control="red")
    >>> found.word, found.arm
    ('ship', 'green')
    """
    if not isinstance(state, Contrasts):
        raise requirement("state", OWNER, "Contrasts", brief(state))
    if recent is not None and (not isinstance(recent, Contrasts) or recent.labels != state.labels):
        raise requirement("recent", OWNER, "Contrasts of the same arms", brief(recent))
    if epsilon is not None:
        epsilon = check_number(epsilon, "epsilon", OWNER, above=0)
    place = None if control is None else check_arm(control, state.labels, "control", OWNER)
    intervals = state.intervals(alpha, simultaneous=True)
    target = log_threshold(intervals.alpha, len(state.labels) - 1)
    possible = ~ruled_out(intervals.log_evidence, target)
    harmful = np.zeros(len(possible), dtype=bool) if place is None else intervals.log_evidence[place] >= target
    left = [int(arm) for arm in np.flatnonzero(possible)]
    arm: int | None = None
    withheld: int | None = None
    word: Word = "open"
    if not healthy:
        word = "unhealthy"
    elif len(left) == 1 and not (left[0] == place and harmful.any()):
        withheld = now_worse(recent, left[0], intervals.alpha)
        if withheld is None:
            arm, word = left[0], "ship"
        elif harmful.any():
            word = "harm"
    elif harmful.any():
        word = "harm"
    # A difference as large as the range is no evidence: nothing was seen yet, or the range is a first guess.
    elif (
        epsilon is not None
        and epsilon < state.high - state.low
        and (close := close_arms(intervals.lower, possible, epsilon))
    ):
        arm, word = place if place in close else close[0], "equivalent"
    names = state.labels
    told = {
        "unhealthy": "Unhealthy: being in the log, shown or rewarded depends on the arm, so that no verdict is given.",
        "ship": f"'{names[arm or 0]}' may be shipped: every other arm is ruled out.",
        "equivalent": f"'{names[arm or 0]}' may be shipped: no other arm is better by more than {epsilon or 0:g}.",
        "harm": f"Harm: {count(harmful, names)} worse than '{names[place or 0]}'.",
        "open": still_open(names, left, withheld),
    }
    return StopVerdict(
        word,
        told[word],
        None if arm is None else names[arm],
        tuple(names[each] for each in left),
        tuple(name for name, flag in zip(names, harmful, strict=True) if flag),
        None if len(left) <= 1 else forecast(state, target, recent),
        intervals,
    )


def ruled_out(log_evidence: Floats, log_target: float) -> Bools:
    """Arms against which the sum of the evidence of all others reaches the target."""
    others = np.where(np.eye(len(log_evidence), dtype=bool), -np.inf, log_evidence)
    return np.asarray(np.logaddexp.reduce(others, axis=0) >= log_target) | (others >= log_target).any(axis=0)


def close_arms(lower: Floats, possible: Bools, epsilon: float) -> list[int]:
    """Possible winners that no other arm exceeds by more than epsilon, the most certain first."""
    worst = np.where(np.eye(len(lower), dtype=bool), np.inf, lower).min(axis=1)
    return [int(arm) for arm in np.argsort(-worst, kind="stable") if possible[arm] and worst[arm] >= -epsilon]


def now_worse(recent: Contrasts | None, arm: int, alpha: float) -> int | None:
    """An arm that the newest time bin shows to be better than ``arm`` now."""
    if recent is None:
        return None
    better = np.flatnonzero(recent.intervals(alpha, simultaneous=True).upper[arm] < 0.0)
    return int(better[0]) if better.size else None


def forecast(state: Contrasts, log_target: float, recent: Contrasts | None = None) -> int | None:
    """Further decisions until one arm is left, if all products grow on as they did in the newest time bin."""
    pace = state if recent is None or recent.n_decisions == 0 else recent
    products = state.lowered_products()
    low, high = 0.0, (LONGEST_FORECAST - 1.0) * state.n_decisions

    def is_decided(more: float) -> bool:
        evidence = log_wealth(products + more * (pace.lowered_products() / pace.n_decisions))
        return int(np.sum(~ruled_out(evidence, log_target))) <= 1

    if state.n_decisions == 0 or not is_decided(high):
        return None
    while high - low > 0.001 * (state.n_decisions + low):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if is_decided(middle) else (middle, high)
    return math.ceil(high)


def count(flags: Bools, names: Sequence[str]) -> str:
    """``'a' is`` or ``'a', 'b' are``."""
    found = [repr(name) for name, flag in zip(names, flags, strict=True) if flag]
    return f"{listed(found, 5)} {'is' if len(found) == 1 else 'are'}"


def still_open(names: Sequence[str], left: Sequence[int], withheld: int | None) -> str:
    """Reason why there is no verdict yet."""
    if withheld is not None:
        return f"Open: '{names[left[0]]}' is best on average, but '{names[withheld]}' is better now."
    if not left:
        return "Open: effects changed, and no arm was the best all the time."
    if len(left) == len(names):
        return "Open: each arm may still be the best."
    return f"Open: the best is one of {listed([repr(names[each]) for each in left], 10)}."

"""The readout: who won, how sure, when to stop and what was gained, on one screen."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from numpy.typing import ArrayLike

from bandstrap.basics.display import Display, as_html, as_text
from bandstrap.errors import brief, check_number, requirement
from bandstrap.evidence.asymptotic import FEWEST_DECISIONS, FEWEST_REWARDS
from bandstrap.evidence.contrasts import ContrastIntervals, Contrasts
from bandstrap.evidence.health import HealthFinding
from bandstrap.evidence.state import CAP_REWARDS, LogEvidence, RewardDirection
from bandstrap.evidence.table import check_arm, check_columns
from bandstrap.evidence.value import ValueEstimate
from bandstrap.evidence.verdict import Word, verdict

OWNER = "readout"
HEALTH_ALPHA = 0.01
# Misses of the asymptotic sequence at 95 %, at any time, as `python -m study.evidence revenue` prints them.
MEASURED_MISSES = "0 to 15 %"
APPROXIMATE = (
    f"Differences without a range are approximate: at 95 %, {MEASURED_MISSES} missed, of 200 simulations each."
)


@dataclass(frozen=True)
class EffectInterval:
    """An estimate with the ends of its interval; ``nan`` or infinite if there is none."""

    estimate: float
    lower: float
    upper: float

    def scaled(self, factor: float) -> EffectInterval:
        """The interval of a multiple; a negative factor swaps its ends."""
        ends = sorted((self.lower * factor, self.upper * factor))
        return EffectInterval(self.estimate * factor, *ends)


@dataclass(frozen=True)
class Effect:
    """Difference between an arm and the control.

    Attributes
    ----------
    arm, over
        The arm and the control.
    difference
        Gain per decision from serving the arm instead of the control: exact, at all times, for all arms together.
    relative
        The same divided by the mean reward of the control: approximate, except for its sign.
    log10_evidence
        Power of ten of the e-value against "the arm was no better".
    uncapped
        The difference without a range: approximate. ``None`` if rewards have a range.
    """

    arm: str
    over: str
    difference: EffectInterval
    relative: EffectInterval
    log10_evidence: float
    uncapped: EffectInterval | None


@dataclass(frozen=True)
class BinEffect:
    """Difference between an arm and the control in one time bin."""

    start: float
    end: float
    n_decisions: int
    arm: str
    over: str
    difference: EffectInterval


@dataclass(frozen=True)
class Readout:
    """Answers from an adaptive log.

    Attributes
    ----------
    sentence, word, arm, possible, harmful, remaining
        The verdict; see :class:`StopVerdict`. Without exact evidence the word is ``"open"``.
    alpha, control, epsilon, direction, labels
        What was asked.
    n_decisions, n_inactive, n_missing, n_skipped
        Numbers of decisions: all, never shown, finally without a reward, and with a reward before evidence began.
    span
        Times of the first and the last decision.
    basis, low, high, n_beyond, share_beyond
        Range of rewards, its origin, the number of rewards beyond it, and the share of all reward above a cap.
    effects
        Each arm against the control.
    values
        Estimated mean reward of each arm if served to all.
    served
        Mean reward as served.
    gain
        Gain over serving the control to all, in total, with an exact interval.
    relative_gain
        The same divided by the total reward of the control: approximate, except for its sign.
    missing, traffic
        Health of rewards, and of the traffic shown.
    bins
        Effects over time.
    notes
        Sentences on decisions that are not counted.
    """

    sentence: str
    word: Word
    arm: str | None
    possible: tuple[str, ...]
    harmful: tuple[str, ...]
    remaining: int | None
    alpha: float
    control: str
    epsilon: float | None
    direction: RewardDirection
    labels: tuple[str, ...]
    n_decisions: int
    n_inactive: int
    n_missing: int
    n_skipped: int
    span: tuple[float, float] | None
    basis: str
    low: float
    high: float
    n_beyond: int
    share_beyond: float
    effects: tuple[Effect, ...]
    values: tuple[ValueEstimate, ...]
    served: float
    gain: EffectInterval
    relative_gain: EffectInterval
    missing: HealthFinding
    traffic: HealthFinding
    bins: tuple[BinEffect, ...]
    notes: tuple[str, ...] = ()

    @property
    def healthy(self) -> bool:
        """True if rewards and traffic are."""
        return self.missing.healthy and self.traffic.healthy

    def to_dict(self) -> dict[str, Any]:
        """All numbers for JSON; infinite or unknown numbers are ``None``."""
        return dict(without_nan(asdict(self)), healthy=self.healthy, promises=list(self.promises()))

    def promises(self) -> Iterator[str]:
        """Sentences on the guarantee of the intervals."""
        level = f"{100 * (1 - self.alpha):g} %"
        yield (
            f"With probability {level}, all differences from {self.control!r} lie in their intervals at all times at "
            "once, for any number of looks and any drift of mean rewards."
        )
        yield (
            "A difference is an average over these decisions, weighted by the overlap of both arms; it does not "
            "apply to later visitors if effects change."
        )
        if self.basis == "capped":
            yield f"Differences are exact for rewards capped at {self.high:.4g}. {APPROXIMATE}"
        if self.basis == "signed":
            yield f"Rewards are negative and have no range, which low and high would give. {APPROXIMATE}"
        if self.n_missing:
            yield (
                "Some rewards are missing: effects hold for decisions with a reward, if missing rewards do not "
                "depend on the arm."
            )

    def lines(self) -> Iterator[str]:
        """The readout as text, without its tables."""
        yield self.sentence
        told = [f"{self.n_decisions:,} decision{'s' * (self.n_decisions != 1)}"]
        if self.n_inactive:
            told.append(f"{self.n_inactive:,} never shown")
        if self.n_missing:
            told.append(f"{self.n_missing:,} without a reward")
        if self.n_skipped:
            told.append(f"{self.n_skipped:,} before the evidence began")
        yield "; ".join(told) + "."
        if self.remaining is not None and self.word == "open":
            yield f"About {round_up(self.remaining):,} more decisions to one arm left, at the present pace (approximate)."
        if math.isfinite(self.gain.estimate):
            yield f"Gained over {self.control!r} for all: {show_interval(self.gain)} in total" + (
                f", {show_percent(self.relative_gain)} (approximate)."
                if math.isfinite(self.relative_gain.estimate)
                else "."
            )
        if self.basis == "waiting":
            yield f"Rewards exceed 1: exact differences begin after {CAP_REWARDS} positive rewards, which set a cap."
        if self.basis == "capped":
            yield f"Rewards are capped at {self.high:.4g}; {100 * self.share_beyond:.2g} % of all reward lies above."
        elif self.n_beyond:
            beyond = "1 reward lies" if self.n_beyond == 1 else f"{self.n_beyond:,} rewards lie"
            yield f"{beyond} beyond {self.low:g} to {self.high:g}, and count{'s' * (self.n_beyond == 1)} as the nearer end."
        if self.missing != self.traffic:  # as they are where each decision was shown, and has its reward
            yield from health_lines(self.missing, "rewards are missing", "rewards are there")
        yield from health_lines(self.traffic, "decisions are not shown", "decisions are in the log")
        yield from self.notes

    def displays(self) -> tuple[Display, Display]:
        """The readout on one screen: the verdict, effects, values, and the guarantee of the intervals."""
        return Display(list(self.lines()), self.effect_table()), Display([], self.value_table(), list(self.promises()))

    def __str__(self) -> str:
        return "\n\n".join(map(as_text, self.displays()))

    def _repr_html_(self) -> str:
        return "\n".join(map(as_html, self.displays()))

    def effect_table(self) -> dict[str, list[object]]:
        """Columns of the effects."""
        columns: dict[str, list[object]] = {
            f"against {self.control}": [each.arm for each in self.effects],
            "difference": [each.difference.estimate for each in self.effects],
            "lower": [each.difference.lower for each in self.effects],
            "upper": [each.difference.upper for each in self.effects],
            "per cent (approximate)": [show_percent(each.relative) for each in self.effects],
        }
        if any(each.uncapped is not None for each in self.effects):
            columns["uncapped (approximate)"] = [show_interval(each.uncapped) for each in self.effects]
        if not any(math.isfinite(each.difference.estimate) for each in self.effects):
            for name in ("difference", "lower", "upper", "per cent (approximate)"):
                del columns[name]
        return columns

    def value_table(self) -> dict[str, list[object]]:
        """Columns of the values of arms."""
        return {
            "had all seen": [each.name for each in self.values],
            "mean reward": [each.estimate for each in self.values],
            "lower": [each.lower if math.isfinite(each.estimate) else math.nan for each in self.values],
            "upper": [each.upper if math.isfinite(each.estimate) else math.nan for each in self.values],
            "worth decisions": [round(each.effective_size) for each in self.values],
            "state": ["ruled out" if each.name not in self.possible else "possible" for each in self.values],
        }


def readout(
    state: LogEvidence,
    alpha: float = 0.05,
    *,
    control: str | int | None = None,
    epsilon: float | None = None,
) -> Readout:
    """Answers from the evidence of a log; valid at any time and for any number of looks.

    Parameters
    ----------
    state
        The evidence.
    alpha
        Error probability of the verdict, and of all differences from the control together. Default: 0.05.
    control
        The arm that others are compared with, and may harm. Default: the first, and the word "harm" is not used.
    epsilon
        Difference of mean rewards that does not matter. Default: none, and the word "equivalent" is not used.

    Returns
    -------
    Readout
        Verdict, effects, values, gain, health, and effects over time.

    Examples
    --------
    >>> import numpy as np
    >>> from bandstrap.evidence import LogEvidence, readout
    >>> rng = np.random.default_rng(0)
    >>> state = LogEvidence(["red", "green"])
    >>> arms = rng.choice(2, 6000, p=[0.7, 0.3])
    >>> state.update(arms, rng.random(6000) < np.array([0.1, 0.15])[arms], [0.7, 0.3])
    >>> for line in readout(state, control="red").lines():
    ...     print(line)
    'green' may be shipped: every other arm is ruled out.
    6,000 decisions.
    Gained over 'red' for all: +94.49 (+42 to +151.7) in total, +16 % (+7 to +25) (approximate).
    """
    if not isinstance(state, LogEvidence):
        raise requirement("state", OWNER, "a LogEvidence", brief(state))
    alpha = check_number(alpha, "alpha", OWNER, above=0, below=1)
    if epsilon is not None:
        epsilon = check_number(epsilon, "epsilon", OWNER, above=0)
    place = 0 if control is None else check_arm(control, state.labels, "control", OWNER)
    missing, traffic = (each.finding(HEALTH_ALPHA) for each in (state.missing_rewards, state.traffic))
    total, sign = state.bins.total(), state.sign
    found = verdict(
        total,
        alpha,
        control=None if control is None else place,
        epsilon=epsilon,
        healthy=missing.healthy and traffic.healthy,
        recent=state.bins.recent(),
    )
    sentence = found.sentence if state.is_exact or found.word == "unhealthy" else no_range(state)
    values = [turned(each, sign) for each in state.values.estimates(alpha)]
    served = sign * mean_served(state)
    lost = state.gains.estimates(alpha)[place]  # of the control, less what was served
    counted = state.gains.n_decisions
    gain = EffectInterval(lost.estimate, lost.lower, lost.upper).scaled(-counted) if counted else unknown()
    base = values[place].estimate * counted
    if not math.isfinite(gain.estimate):
        gain = unknown()
    return Readout(
        sentence,
        found.word,
        found.arm,
        found.possible,
        found.harmful,
        found.remaining,
        alpha,
        state.labels[place],
        epsilon,
        state.direction,
        state.labels,
        state.n_decisions,
        state.n_inactive,
        state.n_missing,
        state.n_skipped,
        state.span,
        state.basis,
        state.low,
        state.high,
        state.n_beyond,
        state.beyond / state.counted_reward if state.basis == "capped" and state.counted_reward else 0.0,
        tuple(effects_of(state, found.intervals, alpha, place)),
        tuple(values),
        served,
        gain,
        gain.scaled(1.0 / abs(base)) if math.isfinite(base) and base else unknown(),
        missing,
        traffic,
        tuple(bins_of(state, alpha, place)),
    )


def effects_of(state: LogEvidence, exact: ContrastIntervals, alpha: float, place: int) -> Iterator[Effect]:
    """Each arm against the control."""
    rough = state.approximate.intervals(alpha, simultaneous=True)
    for arm, label in enumerate(state.labels):
        if arm == place:
            continue
        found, uncapped = exact[arm, place], rough[arm, place]
        is_known = state.is_exact and found.overlap > 0.0
        difference = EffectInterval(found.estimate, found.lower, found.upper) if is_known else unknown()
        base = abs(found.baseline)
        yield Effect(
            label,
            state.labels[place],
            difference,
            difference.scaled(1.0 / base) if is_known and base > 0.0 else unknown(),
            found.log_evidence / math.log(10.0),
            EffectInterval(uncapped.estimate, uncapped.lower, uncapped.upper)
            if state.basis in ("waiting", "capped", "signed")
            else None,
        )


def bins_of(state: LogEvidence, alpha: float, place: int) -> Iterator[BinEffect]:
    """Effects in each time bin."""
    if not state.is_exact:
        return
    for each, (start, end) in zip(state.bins.bins, state.bins.spans, strict=True):
        if each.n_decisions == 0:
            continue
        found = each.intervals(alpha, simultaneous=True)
        for arm, label in enumerate(state.labels):
            if arm != place and found[arm, place].overlap > 0.0:
                one = found[arm, place]
                difference = EffectInterval(one.estimate, one.lower, one.upper)
                yield BinEffect(start, end, each.n_decisions, label, state.labels[place], difference)


def mean_served(state: LogEvidence) -> float:
    """Mean reward as served, of rewards within the range, in the direction in which more is better."""
    total: Contrasts = state.bins.total()
    if not total.n_decisions:
        return math.nan
    return state.sign * (state.counted_reward - state.beyond) / total.n_decisions


def turned(value: ValueEstimate, sign: float) -> ValueEstimate:
    """A value of rewards whose sign was turned, as it was reported."""
    if sign > 0:
        return value
    ends = asdict(EffectInterval(value.estimate, value.lower, value.upper).scaled(-1.0))
    return replace(value, **ends, ips=-value.ips, snips=-value.snips)


def no_range(state: LogEvidence) -> str:
    """The verdict while there is no exact evidence."""
    if state.basis == "waiting":
        return f"Open: {state.n_positive} of the {CAP_REWARDS} positive rewards that set the cap have come."
    return "Open: rewards are negative and have no range, so that no verdict is exact; give low and high."


def unknown() -> EffectInterval:
    """No interval."""
    return EffectInterval(math.nan, math.nan, math.nan)


def without_nan(value: Any) -> Any:
    """A value in which what is not finite is ``None``."""
    if isinstance(value, dict):
        return {key: without_nan(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def health_lines(found: HealthFinding, missing: str, present: str) -> Iterator[str]:
    """A sentence where a log is not healthy."""
    if not found.healthy:
        yield (
            f"Unhealthy: {found.found:,} {missing if found.side == 'missing' else present} for {found.arm!r}, "
            f"where its probabilities predict {found.expected:,.0f} (false alarms: at most 1 %)."
        )


def show_interval(found: EffectInterval | None) -> str:
    """An estimate and its interval; a dash for none.

    >>> show_interval(EffectInterval(0.01234, -0.5, 0.6))
    '+0.01234 (-0.5 to +0.6)'
    """
    if found is None or not math.isfinite(found.estimate):
        return "-"
    if not (math.isfinite(found.lower) and math.isfinite(found.upper)):
        return f"{found.estimate:+.4g} (from {FEWEST_REWARDS} rewards and {FEWEST_DECISIONS} decisions each on)"
    return f"{found.estimate:+.4g} ({found.lower:+.4g} to {found.upper:+.4g})"


def show_percent(found: EffectInterval) -> str:
    """An interval in per cent; a dash for none.

    >>> show_percent(EffectInterval(0.1234, -0.05, 0.3))
    '+12 % (-5 to +30)'
    """
    if not all(map(math.isfinite, (found.estimate, found.lower, found.upper))):
        return "-"
    numbers = [100 * each for each in (found.estimate, found.lower, found.upper)]
    estimate, lower, upper = (f"{each:+.0f}" if abs(each) >= 100 else f"{each:+.2g}" for each in numbers)
    return f"{estimate} % ({lower} to {upper})"


def round_up(number: int) -> int:
    """A number with two digits that are not 0, rounded up.

    >>> round_up(12_345), round_up(7)
    (13000, 7)
    """
    unit = 10 ** max(len(str(number)) - 2, 0)
    return -(-number // unit) * unit


def readout_of_log(
    arms: ArrayLike,
    rewards: ArrayLike,
    weights: ArrayLike,
    *,
    labels: Sequence[str] | None = None,
    alpha: float = 0.05,
    control: str | int | None = None,
    epsilon: float | None = None,
    active: ArrayLike | None = None,
    times: ArrayLike | None = None,
    **rule: Any,
) -> Readout:
    """The readout of a whole table.

    Parameters
    ----------
    arms, rewards, weights, active, times
        The decisions in their order; see :meth:`LogEvidence.update`.
    labels
        Labels of the arms, in the order of the columns of ``weights``. Default: their positions.
    alpha, control, epsilon
        See :func:`bandstrap.evidence.readout`.
    rule
        ``low``, ``high``, ``cap`` and ``direction`` of :class:`LogEvidence`.

    Examples
    --------
    >>> from bandstrap.evidence import readout_of_log
    >>> readout_of_log([0, 1, 1, 0], [0, 1, 1, 0], [0.5, 0.5]).sentence
    'Open: each arm may still be the best.'
    """
    state = LogEvidence(check_columns(labels, weights, "readout_of_log"), **rule)
    state.update(arms, rewards, weights, active=active, times=times)
    return readout(state, alpha, control=control, epsilon=epsilon)

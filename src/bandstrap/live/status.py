"""Status of an experiment: its arms, its rewards, its lift over the holdout, and its changes."""

from __future__ import annotations

import copy
import dataclasses
import functools
import math
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.basics.display import Display, Displayed
from bandstrap.engine.compiler.refusals import PolicyFailure
from bandstrap.live import counting
from bandstrap.live.chain import hash_of
from bandstrap.live.changes import body_of
from bandstrap.live.counters import EVER, Counters, Totals, totals_of
from bandstrap.live.fold import LiveState, read_snapshot
from bandstrap.live.history import CountHistory
from bandstrap.live.settings import Settings, SettingValues
from bandstrap.live.tally import Tally, student_interval, welch_interval

if TYPE_CHECKING:
    from bandstrap.live.experiment import Experiment
    from bandstrap.live.rows import Change

# Error probability of every interval.
ALPHA = 0.05
CONFIDENCE = f"{100 * (1 - ALPHA):g} %"
# Last decisions that are looked at.
RECENT = 1000
# Rewards whose lag is looked at, the last ones.
RECENT_REWARDS = 100_000
# Changes of the audit trail that are shown.
MOST_CHANGES = 20
# Periods with a holdout whose lift is told, the last ones.
MOST_PERIODS = 10

# Attempts to count while others void decisions.
ATTEMPTS = 3

ArmState = Literal["active", "new", "paused", "retired"]


@dataclasses.dataclass(frozen=True)
class ArmStatus:
    """An arm, or an action of a linear policy by its place.

    Attributes
    ----------
    label
        Its label; the place of an action, as text.
    state
        ``"active"``, ``"new"`` (active with fewer than ``burn_in`` rewards), ``"paused"`` or ``"retired"``.
    decisions
        Decisions that served it, but for those of the holdout.
    share_of_day, share_of_recent
        Its share of what the policy chose in the last 24 hours, and in its last 1000 decisions; in shadow mode of what it
        would have chosen. ``None`` where there was no decision.
    weight
        The probability with which it is served now to all but the holdout, or would be in shadow mode; ``None`` where a
        context or actions decide, and once the experiment is archived.
    n_rewards, mean
        Rewards learned, defaults among them, and their mean.
    lower, upper
        The interval of ``Status.interval``; ``None`` where rewards do not show how much they vary.
    index
        What the policy ranks it by, perhaps infinite; ``None`` where the policy has no such number, or not yet.
    """

    label: str
    state: ArmState
    decisions: int
    share_of_day: float | None
    share_of_recent: float | None
    weight: float | None
    n_rewards: int
    mean: float | None
    lower: float | None
    upper: float | None
    index: float | None


@dataclasses.dataclass(frozen=True)
class IntervalPromise:
    """Kind of intervals of the arms' means: a bound's name, and what it promises here."""

    method: str
    alpha: float
    promise: str


@dataclasses.dataclass(frozen=True)
class Lag:
    """Seconds from decision to reward, of the last 100,000 rewards; ``quantiles`` are those of 1 %, 2 %, ..., 100 %."""

    rewards: int
    median: float
    q90: float
    q99: float
    longest: float
    quantiles: tuple[float, ...] = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True)
class Lift:
    """Lift: reward per decision of the policy's units beyond that of the holdout.

    Decisions without a reward, their own or the default, are left out.

    Attributes
    ----------
    since, until
        Versions between which decisions are compared: from one change of mode, holdout or control to the next, or to now
        (``None``). Before and after, others may have been in the holdout, or have been served otherwise.
    began, ended
        When that was, in seconds since 1970.
    mode, control
        ``"live"``; ``"shadow"``, where both are served the control; or ``"finished"``, where the arm that was shipped is
        compared. What the holdout is served.
    units, holdout_units
        Units with a settled decision; a decision without a unit is one by itself.
    mean, holdout_mean, difference
        Means over units of their mean reward, and the first minus the second.
    lower, upper
        Welch's interval for it; ``None`` where rewards do not show how much they vary.
    """

    since: int
    until: int | None
    began: float
    ended: float | None
    mode: str
    control: str | None
    units: int
    holdout_units: int
    mean: float
    holdout_mean: float
    difference: float
    lower: float | None
    upper: float | None
    alpha: float = ALPHA
    method: str = "welch"


@dataclasses.dataclass(frozen=True)
class SnapshotStatus:
    """The newest snapshot, and whether this build may begin with it; ``trouble`` says why not."""

    version: int
    at: float
    build: str
    is_good: bool
    trouble: str | None


@dataclasses.dataclass(frozen=True)
class BuildStatus:
    """Code, libraries and platform that decided, and how often."""

    id: str
    code: str
    libraries: str
    platform: str
    decisions: int
    is_ours: bool


@dataclasses.dataclass(frozen=True)
class ChangeStatus:
    """A change of arms or settings: its place in the log, when, by whom, and what."""

    seq: int
    at: float
    actor: str
    what: str


@dataclasses.dataclass(frozen=True, repr=False)
class Status(Displayed):
    """Status of an experiment; printed as, a few lines and a table of its arms.

    Times are seconds since 1970 by the database's clock.

    Attributes
    ----------
    name, policy, direction, mode, control
        The experiment, its policy as a call, ``"max"`` or ``"min"``, ``"live"``, ``"shadow"``, ``"finished"`` or
        ``"archived"``, and the control.
    settings
        All other settings, as they are now.
    now, created_at, created_by
        When this was counted; when and by whom the experiment was made.
    version
        Entries of the log: rewards learned, decisions settled without one, and changes.
    decisions
        Decisions by source: ``"policy"``, ``"shadow"``, ``"holdout"``, ``"shipped"``.
    inactive
        Deferred decisions that were not activated.
    open
        Decisions that wait for a reward.
    unanswered
        Decisions of the policy without a reward that was learned, which do not wait for one any more.
    learned, defaults, voided
        Rewards in the log, how many of them are default rewards, and decisions that were voided, which count in neither.
    rewards, late
        Rewards received, and those among them that came too late to be learned.
    pending
        Rewards or closed windows that wait to be processed.
    unlearned, unlearned_because
        Rewards in the log that the policy failed to learn, and what it said of the last one.
    undecided_because
        What the policy says if it cannot decide at present.
    arms, interval, index_is
        The arms, what the intervals of their means are, and what their index is: ``"upper bound"`` or ``"lower bound"``,
        the policy's own, or just ``"index"``.
    shipped
        The arm that is served to all, if the experiment is finished.
    lag, snapshot
        ``None`` where there is none.
    lifts
        The lift over the holdout in each period in which there was one, and a reward of it, the newest last.
    builds, changes
        What decided, and the last changes, the newest first.
    history
        What was chosen and earned in time intervals, for the pictures.
    """

    name: str
    policy: str
    direction: str
    mode: str
    control: str | None
    settings: SettingValues
    now: float
    created_at: float
    created_by: str
    version: int
    decisions: Mapping[str, int]
    inactive: int
    open: int
    unanswered: int
    learned: int
    defaults: int
    voided: int
    rewards: int
    late: int
    pending: int
    unlearned: int
    unlearned_because: str | None
    undecided_because: str | None
    arms: tuple[ArmStatus, ...]
    interval: IntervalPromise
    index_is: str
    lag: Lag | None
    shipped: str | None
    lifts: tuple[Lift, ...]
    snapshot: SnapshotStatus | None
    builds: tuple[BuildStatus, ...]
    changes: tuple[ChangeStatus, ...]
    history: CountHistory

    def _display(self) -> Display:
        from bandstrap.live.report import display_of

        return display_of(self)

    __repr__ = Displayed.__str__

    @property
    def lift(self) -> Lift | None:
        """The newest lift; of a period of shadow mode, where it is chance, only if there is no other."""
        return next((each for each in reversed(self.lifts) if each.mode != "shadow"), None) or (
            self.lifts[-1] if self.lifts else None
        )

    @property
    def is_linear(self) -> bool:
        """True if actions come with each decision; otherwise there are arms."""
        return "burn_in" not in self.settings

    def to_dict(self) -> dict[str, Any]:
        """Everything but the history, as JSON has it: an infinite index is ``None``."""
        found = dataclasses.asdict(dataclasses.replace(self, history=CountHistory.empty()))
        del found["history"]
        found["lift"] = None if self.lift is None else dataclasses.asdict(self.lift)
        for arm in found["arms"]:
            arm["index"] = arm["index"] if arm["index"] is not None and math.isfinite(arm["index"]) else None
        return found


def status_of(experiment: Experiment) -> Status:
    """Status of an experiment; see :meth:`bandstrap.live.Experiment.status`."""
    experiment.refresh()
    store, row, settle = experiment.store, experiment.row, experiment.definition.settle
    changes = store.changes(row.id)
    kept, totals, now = counted(experiment)
    first = counting.first_decision(store, row.id)
    time = None if first is None else counting.stretches(first, now, kept.level)
    decided = copy.deepcopy(kept)
    lags: tuple[int, list[float]] = 0, []
    of_day: Mapping[int, int] = {}
    recent: Mapping[int, int] = {}
    lifts: list[tuple[Lift, list[tuple[Tally, Tally]]]] = []
    if time is not None:
        decided.lift_to(time.level)
        day = now - counting.DAY
        of_day = kept.since(store, row.id, day) + decided.count(store, row.id, EVER, totals.version, sys.maxsize, day)
        recent = counting.count_recent(store, row.id, RECENT)
        lags = counting.find_lags(store, row.id, RECENT_REWARDS)
        if decided.by_source["holdout"]:
            for period in periods_of(experiment.definition, changes, row.created_at)[-MOST_PERIODS:]:
                until = sys.maxsize if period.until is None else period.until
                units = counting.tally_units(store, row.id, settle, period.since, until, now, time)
                lifts += [(lift, units)] if (lift := lift_of(period, units)) is not None else []
    experiment.refresh()  # of arms that others added meanwhile
    state = experiment.state
    labels = labels_of(state, decided)
    tallies = {} if time is None else {arm: in_order(found, time) for arm, found in decided.learned.items()}
    indices, index_is = indices_of(state)
    weights, failure = weights_of(state)
    support = state.policy.support
    rewards = counting.read_rewards(store, row.id) if np.isfinite(support).all() and tallies else None
    found = Status(
        name=experiment.name,
        policy=state.settings.policy,
        direction=state.settings.direction,
        mode=state.mode,
        control=None if state.settings.control is None else str(state.settings.control),
        settings=shown_settings(state),
        now=now,
        created_at=row.created_at,
        created_by=row.created_by,
        version=totals.version,
        decisions=dict(sorted(decided.by_source.items())),
        inactive=totals.inactive,
        open=totals.open,
        unanswered=totals.unanswered,
        learned=totals.learned,
        defaults=decided.defaults,
        voided=totals.voided,
        rewards=decided.rewards,
        late=decided.late,
        pending=totals.pending,
        unlearned=state.unlearned,
        unlearned_because=state.failure,
        undecided_because=failure,
        arms=tuple(arm_statuses(state, labels, decided, of_day, recent, tallies, rewards, indices, weights)),
        interval=interval_of(support),
        index_is=index_is,
        lag=lag_of(*lags),
        shipped=state.shipped,
        lifts=tuple(lift for lift, _ in lifts),
        snapshot=snapshot_of(experiment),
        builds=builds_of(experiment, decided.by_build),
        changes=tuple(shown_change(change) for change in reversed(changes[-MOST_CHANGES:])),
        history=CountHistory.empty()
        if time is None
        else CountHistory(
            time.ends,
            {label: numbers_in_order(decided.chosen[arm], time) for arm, label in enumerate(labels)},
            {label: tallies.get(arm, [Tally()] * time.size) for arm, label in enumerate(labels)},
            (),
        ),
    )
    compared = next((units for lift, units in lifts if lift is found.lift), [])
    return dataclasses.replace(found, history=dataclasses.replace(found.history, compared=compared))


def counted(experiment: Experiment) -> tuple[Counters, Totals, float]:
    """Counters of the past, numbers that hold now, and that moment; anew if a decision was voided between them."""
    store, row = experiment.store, experiment.row
    for _ in range(ATTEMPTS):
        kept = experiment.counters
        ((now,),) = store.ask(f"SELECT {store.now}")
        totals = totals_of(store, row.id, experiment.definition.settle, kept, now)
        if totals.voided == kept.n_voided:
            break
    return kept, totals, now


def in_order(tallies: Mapping[int, Tally], time: counting.Stretches) -> list[Tally]:
    """Tallies of all intervals."""
    found = [Tally()] * time.size
    for stretch, tally in tallies.items():
        place = time.place(stretch)
        found[place] = found[place].merged(tally)
    return found


def numbers_in_order(numbers: Mapping[int, int], time: counting.Stretches) -> list[int]:
    """Numbers of all intervals."""
    found = [0] * time.size
    for stretch, n in numbers.items():
        found[time.place(stretch)] += n
    return found


# --- arms ---------------------------------------------------------------------------------------------------------------


def labels_of(state: LiveState, decided: Counters) -> list[str]:
    """Labels of arms, or the places of actions that were served."""
    if not state.settings.is_linear:
        return list(state.arms)
    return [str(place) for place in range(max([*decided.served, *decided.chosen, -1]) + 1)]


def arm_statuses(
    state: LiveState,
    labels: Sequence[str],
    decided: Counters,
    of_day: Mapping[int, int],
    recent: Mapping[int, int],
    tallies: Mapping[int, Sequence[Tally]],
    rewards: Mapping[int, Floats] | None,
    indices: Mapping[str, float | None],
    weights: Sequence[float] | None,
) -> list[ArmStatus]:
    """Status of each arm."""
    is_linear = state.settings.is_linear
    found = []
    for arm, label in enumerate(labels):
        tally = functools.reduce(Tally.merged, tallies.get(arm, ()), Tally())
        if rewards is None:
            ends = student_interval(tally, ALPHA)
        else:
            ends = betting_interval(rewards.get(arm), state.policy.support)
        found.append(
            ArmStatus(
                label=label,
                state="active" if is_linear else state_of(state, arm),
                decisions=decided.served[arm],
                share_of_day=share(of_day, arm),
                share_of_recent=share(recent, arm),
                weight=None if weights is None else weights[arm],
                n_rewards=tally.n,
                mean=tally.mean if tally.n else None,
                lower=None if ends is None else ends[0],
                upper=None if ends is None else ends[1],
                index=indices.get(label),
            )
        )
    return found


def weights_of(state: LiveState) -> tuple[Sequence[float] | None, str | None]:
    """Probability of each arm, or why the policy has none; actions have theirs when they are given."""
    if state.is_archived or state.settings.has_context:
        return None, None
    if state.shipped is not None:
        return [float(arm == state.shipped) for arm in state.arms], None
    try:
        return state.chances(state.active()).widths, None
    except PolicyFailure as failure:
        return None, str(failure)


def indices_of(state: LiveState) -> tuple[dict[str, float | None], str]:
    """Numbers by which the policy ranks its arms, and their name; actions are ranked when they are given."""
    if state.settings.is_linear:
        return {}, "index"
    table = state.policy.table()
    indices = {row.arm: None if row.index is None or math.isnan(row.index) else row.index for row in table}
    return indices, table.index_is


def state_of(state: LiveState, arm: int) -> ArmState:
    """Return whether an arm is served."""
    is_new = state.rewards[arm] < state.rule.established
    return "new" if state.status[arm] == "active" and is_new else state.status[arm]


def share(counts: Mapping[int, int], arm: int) -> float | None:
    """An arm's share of all; ``None`` of nothing."""
    total = sum(counts.values())
    return counts.get(arm, 0) / total if total else None


def betting_interval(rewards: Floats | None, support: tuple[float, float]) -> tuple[float, float] | None:
    """The two-sided betting bound of rewards in the order in which they were learned; none without any, or left.

    In a random order it would hold for a sample size fixed in advance, which a policy's is not.
    """
    from bandstrap.bounds import betting

    if rewards is None:
        return None
    # Without a check: that no mean is left, a missing interval says.
    bound = betting(rewards, ALPHA, side="two-sided", support=support, in_order=True, check=False)
    lower, upper = float(bound.lower), float(bound.upper)
    return None if math.isnan(lower) or math.isnan(upper) else (lower, upper)


def interval_of(support: tuple[float, float]) -> IntervalPromise:
    """Kind of interval of the arms' means, and its promise."""
    if np.isfinite(support).all():
        return IntervalPromise(
            "betting",
            ALPHA,
            f"Intervals are betting bounds for rewards in [{support[0]:g}, {support[1]:g}], {CONFIDENCE} each. They "
            "hold at all times together, so adaptive sampling and repeated looks do not invalidate them. They assume "
            "a constant mean per arm, and that no reward is missing because of its size.",
        )
    return IntervalPromise(
        "student_t",
        ALPHA,
        f"Intervals are Student's, {CONFIDENCE} each, as for an ordinary sample. These rewards are no ordinary "
        "sample: the policy chose their number adaptively, and an arm with bad luck at first keeps too low a mean. "
        "Read them as a rough scale; the lift over a holdout, and estimates from exported propensities, are not affected.",
    )


# --- rewards ------------------------------------------------------------------------------------------------------------


def lag_of(n: int, quantiles: Sequence[float]) -> Lag | None:
    """Lag of rewards; ``None`` without any."""
    if not n:
        return None
    return Lag(n, quantiles[49], quantiles[89], quantiles[98], quantiles[99], tuple(quantiles))


class LiftPeriod(NamedTuple):
    """Versions between which policy and holdout were served the same way; see :class:`Lift`."""

    since: int
    until: int | None
    began: float
    ended: float | None
    mode: str
    control: str | None


def lift_of(period: LiftPeriod, units: Sequence[tuple[Tally, Tally]]) -> Lift | None:
    """The policy's units beside those of the holdout; ``None`` where one of them has no reward."""
    policy = functools.reduce(Tally.merged, (first for first, _ in units), Tally())
    holdout = functools.reduce(Tally.merged, (second for _, second in units), Tally())
    if not (policy.n and holdout.n):
        return None
    lower, upper = welch_interval(policy, holdout, ALPHA) or (None, None)
    return Lift(*period, policy.n, holdout.n, policy.mean, holdout.mean, policy.mean - holdout.mean, lower, upper)


def periods_of(definition: Settings, changes: Sequence[Change], created_at: float) -> list[LiftPeriod]:
    """The periods in which there was a holdout, the oldest first.

    Any change of mode, holdout or control begins another: before, others may have been held out.
    """
    served: SettingValues = {"mode": definition.mode, "holdout": definition.holdout, "control": definition.control}
    starts = [(0, created_at, served)]
    for change in changes:
        body = body_of(change)
        if change.kind == "settings" and served.keys() & body.keys():
            served = served | {name: body[name] for name in served.keys() & body.keys()}
        elif change.kind == "finish":
            served = served | {"mode": "finished", "holdout": body["holdout"]}
        else:
            continue
        starts.append((change.seq, change.at, served))
    ends: list[tuple[int | None, float | None]] = [*((seq, at) for seq, at, _ in starts[1:]), (None, None)]
    found = []
    for (since, began, kept), (until, ended) in zip(starts, ends, strict=True):
        if kept["holdout"]:
            control = None if kept["control"] is None else str(kept["control"])
            found.append(LiftPeriod(since, until, began, ended, str(kept["mode"]), control))
    return found


# --- the rest -----------------------------------------------------------------------------------------------------------


def shown_settings(state: LiveState) -> SettingValues:
    """The settings that are not said elsewhere; lengths of time in seconds."""
    # The seed is a secret: whoever knows it can find a key that is given the arm of his choice.
    left_out = {"policy", "direction", "mode", "control", "arms", "seed"}
    left_out |= {"burn_in", "new_arm_share"} if state.settings.is_linear else set()
    return {name: value for name, value in dataclasses.asdict(state.settings).items() if name not in left_out}


def snapshot_of(experiment: Experiment) -> SnapshotStatus | None:
    """The newest snapshot, tried out."""
    newest = counting.newest_snapshot(experiment.store, experiment.row.id)
    if newest is None:
        return None
    trouble = None
    if read_snapshot(experiment.definition, newest) is None:
        trouble = "damaged, and made again from the log"
    elif newest.build != experiment.build.id:
        trouble = "of another build, and not used by this one"
    return SnapshotStatus(newest.version, newest.at, newest.build, trouble is None, trouble)


def builds_of(experiment: Experiment, decisions: Mapping[int, int]) -> tuple[BuildStatus, ...]:
    """Builds that decided, most often first."""
    found = []
    for id_, code, libraries, platform in experiment.store.ask("SELECT id, code, libraries, platform FROM live_build"):
        n = decisions.get(hash_of(id_), 0)
        if n:
            found.append(BuildStatus(id_, code, libraries, platform, n, id_ == experiment.build.id))
    return tuple(sorted(found, key=lambda build: (-build.decisions, build.id)))


def shown_change(change: Change) -> ChangeStatus:
    """A change in words."""
    body = body_of(change)
    done = {"add_arm": "added", "pause": "paused", "resume": "resumed", "retire": "retired", "finish": "served to all"}
    if change.kind == "void":
        what = f"decision {body['decision']} voided"
    elif change.kind == "archive":
        what = "archived"
    elif change.kind in done:
        what = f"arm {body['arm']} {done[change.kind]}"
    else:
        what = ", ".join(f"{name} = {value}" for name, value in body.items())
    return ChangeStatus(change.seq, change.at, change.actor, what)

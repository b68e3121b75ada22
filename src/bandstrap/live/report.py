"""The status of an experiment in words and numbers, as text; page.py has it as a page with pictures."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime

from bandstrap.basics.display import Display
from bandstrap.live.status import CONFIDENCE, Lift, Status


def display_of(status: Status) -> Display:
    """Summary of the experiment in a few lines, with its arms as a table."""
    caveat = [status.interval.promise] if status.arms else []
    return Display(list(lines_of(status)), arm_table(status) if status.arms else {}, caveat)


def lines_of(status: Status) -> Iterator[str]:
    """All but the arms and the changes; the last line says which intervals the table of the arms has."""
    by_source = ", ".join(f"{n} {source}" for source, n in status.decisions.items()) or "none"
    mode = status.mode if status.shipped is None else f"{status.mode} ({status.shipped} is served to all)"
    yield f"{status.name}: {status.policy}, {mode}, version {status.version}, as of {show_time(status.now)} UTC"
    yield (
        f"decisions {sum(status.decisions.values())} ({by_source}); {status.open} waiting for a reward, "
        f"{status.unanswered} without one in time, {status.inactive} deferred and not activated"
    )
    yield (
        f"rewards {status.rewards} received, {status.late} too late; {status.learned} learned, {status.defaults} of them "
        f"defaults; {status.pending} waiting to be processed" + (f"; {status.voided} voided" if status.voided else "")
    )
    if status.undecided_because is not None:
        yield f"no decision of the policy is possible now: {status.undecided_because}"
    if status.unlearned:
        yield f"rewards that the policy failed to learn: {status.unlearned}, the last: {status.unlearned_because}"
    if status.lag is not None:
        quantiles = {"median": status.lag.median, "90 %": status.lag.q90, "99 %": status.lag.q99}
        shown = ", ".join(f"{name} {show_duration(seconds)}" for name, seconds in quantiles.items())
        yield f"decision to reward: {shown}"
    for lift in status.lifts:
        between = ""
        if lift.lower is not None:
            between = f" ({CONFIDENCE} {show_reward(lift.lower)} to {show_reward(lift.upper)}, Welch)"
        where = "" if lift.until is None and not lift.since else f" ({show_period(lift)})"
        yield (
            f"lift over the holdout{where}: {show_reward(lift.difference)} per decision{between}; {lift.units} units of "
            f"the policy {show_reward(lift.mean)}, {lift.holdout_units} of the holdout {show_reward(lift.holdout_mean)}"
        )
    if status.snapshot is not None:
        yield f"snapshot: version {status.snapshot.version}, {status.snapshot.trouble or 'good'}"
    if status.arms:
        yield f"{CONFIDENCE} intervals by {status.interval.method}"


def show_period(lift: Lift) -> str:
    """Mode, control and versions of the period of a lift."""
    until = "on" if lift.until is None else f"to {lift.until}"
    return f"{lift.mode}, control {lift.control}, from version {lift.since} {until}"


def arm_table(status: Status) -> dict[str, list[object]]:
    """Columns of the arms, or of the actions, which have neither a state nor a weight."""
    hidden = {"state", "weight"} if status.is_linear else set()
    if all(arm.index is None for arm in status.arms):
        hidden.add(status.index_is)
    columns: dict[str, list[object]] = {
        "action" if status.is_linear else "arm": [arm.label for arm in status.arms],
        "state": [arm.state for arm in status.arms],
        "decisions": [arm.decisions for arm in status.arms],
        "last 24 h": [show_share(arm.share_of_day) for arm in status.arms],
        "weight": [show_share(arm.weight) for arm in status.arms],
        "rewards": [arm.n_rewards for arm in status.arms],
        "mean": [arm.mean for arm in status.arms],
        "lower": [arm.lower for arm in status.arms],
        "upper": [arm.upper for arm in status.arms],
        status.index_is: [arm.index for arm in status.arms],
    }
    return {name: column for name, column in columns.items() if name not in hidden}


def show_time(seconds: float) -> str:
    """Seconds since 1970 as date and time (UTC).

    >>> show_time(0.0)
    '1970-01-01 00:00:00'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def show_duration(seconds: float | None) -> str:
    """Seconds in the unit that reads best.

    >>> [show_duration(seconds) for seconds in (0.0123, 0.9999, 2.5, 90.0, 5400.0, 200_000.0)]
    ['12.3 ms', '1 s', '2.5 s', '1.5 min', '1.5 h', '2.31 d']
    """
    if seconds is None:
        return "-"
    for unit, name in ((86_400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s")):
        number = f"{seconds / unit:.3g}"
        if abs(float(number)) >= 1000:
            return f"{seconds / unit:,.0f} {name}"
        if abs(float(number)) >= 1:
            return f"{number} {name}"
    return f"{1000 * seconds:.3g} ms" if seconds else "0 s"


def show_setting(name: str, value: float | str | None) -> str:
    """A setting in words.

    >>> show_setting("window", 86_400.0), show_setting("floor", 0.02), show_setting("default_reward", None)
    ('1 d', '0.02', 'none')
    """
    if value is None:
        return "none"
    return show_duration(float(value)) if name in ("window", "refresh") else str(value)


def show_share(share: float | None) -> str:
    """A share in per cent; a dash for none.

    >>> show_share(0.0234), show_share(None)
    ('2.3 %', '-')
    """
    return "-" if share is None else f"{100 * share:.1f} %"


def show_reward(value: float | None) -> str:
    """Four significant digits; a dash for none.

    >>> show_reward(12.3456), show_reward(1e12), show_reward(None)
    ('12.35', '1e+12', '-')
    """
    return "-" if value is None or math.isnan(value) else f"{value:.4g}"

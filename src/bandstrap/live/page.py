"""The status of an experiment as a page: numbers, and pictures of what was chosen, earned and waited for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.basics.storage import write_text
from bandstrap.basics.text import shortened, visible
from bandstrap.live.report import show_duration, show_period, show_reward, show_setting, show_share, show_time
from bandstrap.live.status import ALPHA, CONFIDENCE, RECENT, ArmStatus, Lag, Status
from bandstrap.pages import drawn_as_data, render_page
from bandstrap.plots.bars import Bar, plot_bars
from bandstrap.plots.groups import LARGEST_NUMBER, GroupInterval, plot_groups
from bandstrap.plots.style import WIDTH, draw_figure
from bandstrap.plots.timelines import Timeline, plot_timelines
from bandstrap.plots.waiting import plot_waiting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Characters of a name beside its interval.
SHORT_NAME = 18
# Rows of a picture.
MOST_ROWS = 40
# Curves in one picture; the rest go together, or are left to the table.
MOST_CURVES = 8


class Picture(NamedTuple):
    """A drawing as a data URL, what it shows for those who do not see it, and what is to be known about it."""

    data: str
    shows: str
    caption: str


def write_status_page(status: Status, path: str | Path) -> None:
    """Fill the template and write the page, whole or not at all."""
    write_text(Path(path), render_status_page(status))


def render_status_page(status: Status, **served: object) -> str:
    """Fill the template; ``served`` is what a page that is served has besides: addresses as ``render_page`` takes them, the
    ``body`` and ``style`` of ``evidence``, and how often arms were served by force.
    """
    return render_page(
        "bandstrap.live",
        "status.html.j2",
        filters={
            "time": show_time,
            "duration": show_duration,
            "share": show_share,
            "reward": show_reward,
            "count": "{:,}".format,
            "period": show_period,
        },
        status=status,
        settings={name: show_setting(name, value) for name, value in status.settings.items()},
        confidence=CONFIDENCE,
        recent=RECENT,
        pictures=list(draw(status)),
        **served,
    )


def draw(status: Status) -> Iterator[Picture]:
    """The pictures for which there is something to draw."""
    has_decisions = any(arm.decisions for arm in status.arms)
    rows, curves = busiest(status, MOST_ROWS), busiest(status, MOST_CURVES)
    rewarded = [arm for arm in rows if arm.n_rewards and is_drawable(arm)]
    if has_decisions:
        yield draw_decisions(status, rows)
    if rewarded:
        yield draw_means(status, rewarded)
    if has_decisions:
        yield draw_shares_in_time(status, curves)
    if rewarded_curves := [arm for arm in rewarded if arm in curves]:
        yield draw_means_in_time(status, rewarded_curves)
    if status.lag is not None:
        yield draw_lag(status.lag)
    if status.lift is not None and status.history.compared:
        lift = status.history.running_lift(ALPHA)
        if np.isfinite(lift[:, 0]).any():
            yield draw_lift_in_time(status.history.ends, lift)


def busiest(status: Status, most: int) -> list[ArmStatus]:
    """The arms with most decisions; in the order of the table, so that colours stay when arms overtake each other."""
    first = sorted(status.arms, key=lambda arm: -arm.decisions)[:most]
    return [arm for arm in status.arms if arm in first]


def only_busiest(status: Status, most: int) -> str:
    """A sentence for the caption of a picture that may not have all arms."""
    return f" The {most} {word_of(status)}s with most decisions." if len(status.arms) > most else ""


def word_of(status: Status) -> str:
    """Word for the choices: arms or actions."""
    return "action" if status.is_linear else "arm"


def is_drawable(arm: ArmStatus) -> bool:
    """Return whether axes are long enough for its numbers."""
    return all(abs(number) < LARGEST_NUMBER for number in (arm.mean, arm.lower, arm.upper) if number is not None)


def picture(figure: Figure, shows: str, caption: str) -> Picture:
    """A drawing with its words."""
    return Picture(drawn_as_data(draw_figure(figure, "svg", as_text=True).decode()), shows, caption)


# --- one function per picture -------------------------------------------------------------------------------------------


def draw_decisions(status: Status, rows: Sequence[ArmStatus]) -> Picture:
    """Draw the decisions per arm, and those with a learned reward."""
    word = word_of(status)
    bars = [Bar(arm.label, arm.decisions, min(arm.n_rewards, arm.decisions)) for arm in rows]
    return picture(
        plot_bars(bars, f"Decisions by {word}", "decisions", ("reward learned", "without one")),
        f"Bars: decisions by {word}.",
        f"Without the holdout. A reward may be the default one.{only_busiest(status, MOST_ROWS)}",
    )


def draw_means(status: Status, rows: Sequence[ArmStatus]) -> Picture:
    """The mean reward of each arm with its interval."""
    intervals = [
        GroupInterval(
            shortened(visible(arm.label), SHORT_NAME),
            arm.n_rewards,
            math.nan if arm.mean is None else arm.mean,
            math.nan if arm.lower is None else arm.lower,
            math.nan if arm.upper is None else arm.upper,
        )
        for arm in rows
    ]
    return picture(
        plot_groups(intervals, "Mean reward now", "mean reward", WIDTH),
        f"Dots with bars: mean reward by {word_of(status)} with its interval.",
        f"{CONFIDENCE} intervals by {status.interval.method}; their guarantee is stated below the table. A cross is a "
        f"mean without an interval: fewer than two rewards, or all equal.{only_busiest(status, MOST_ROWS)}",
    )


def draw_shares_in_time(status: Status, curves: Sequence[ArmStatus]) -> Picture:
    """Draw the policy's choices in each time interval."""
    history, word = status.history, word_of(status)
    lines = [Timeline(arm.label, history.ends, history.shares([arm.label])) for arm in curves]
    others = [arm.label for arm in status.arms if arm not in curves]
    if others:
        lines.append(Timeline(f"{len(others)} others", history.ends, history.shares(others)))
    return picture(
        plot_timelines(lines, f"Share of decisions by {word}", "share of decisions", shares=True),
        f"Curves over time: share of the policy's decisions by {word}.",
        f"In each of {len(history.ends)} equal time intervals; gaps mark intervals without decisions."
        + (" What the policy would have served." if status.mode == "shadow" else ""),
    )


def draw_means_in_time(status: Status, curves: Sequence[ArmStatus]) -> Picture:
    """The mean reward of each arm so far, with its interval at each time."""
    history, word = status.history, word_of(status)
    lines = [Timeline(arm.label, history.ends, *history.running_mean(arm.label, ALPHA).T) for arm in curves]
    return picture(
        plot_timelines(lines, f"Mean reward by {word}", "mean reward so far"),
        f"Curves over time with bands: mean reward so far by {word}.",
        f"Means use all rewards learned until then; the first few may lie beyond the axis. Bands: Student's {CONFIDENCE} "
        f"interval for each time by itself; it is only nominal, because the policy chose how many rewards each {word} has."
        f"{only_busiest(status, MOST_CURVES)}",
    )


def draw_lag(lag: Lag) -> Picture:
    """Draw the lag of rewards."""
    marked = [
        (f"{name} {show_duration(seconds)}", seconds)
        for name, seconds in (("median", lag.median), ("90 %", lag.q90), ("99 %", lag.q99))
    ]
    seconds = np.array(lag.quantiles)
    return picture(
        plot_waiting(seconds, np.arange(1, seconds.size + 1) / seconds.size, marked, "How long rewards take"),
        "Curve: share of rewards that had come, over time since the decision.",
        f"The last {lag.rewards:,} rewards, late ones too; those that never come are not in it.",
    )


def draw_lift_in_time(ends: Floats, lift: Floats) -> Picture:
    """The lift over the holdout, which has its interval in the other two columns, of units that came until then."""
    return picture(
        plot_timelines([Timeline("lift", ends, *lift.T)], "Lift over the holdout", "policy minus holdout", level=0.0),
        "Curve over time with a band: mean reward of the policy's units minus that of the holdout's.",
        f"Means use all units seen until then; the first few may lie beyond the axis. Band: Welch's {CONFIDENCE} "
        "interval for a single look; if you wait for the band to exclude zero, it will do so by "
        "chance.",
    )

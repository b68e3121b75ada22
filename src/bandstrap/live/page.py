"""The status of an experiment as a page: numbers, and pictures of what was chosen, earned and waited for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bandstrap.live.report import show_duration, show_reward, show_setting, show_share, show_time
from bandstrap.live.status import ALPHA, CONFIDENCE, RECENT, ArmStatus, Status
from bandstrap.pages import drawn_as_data, write_page
from bandstrap.text import shortened, visible

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
    write_page(
        Path(path),
        "bandstrap.live",
        "status.html.j2",
        filters={
            "time": show_time,
            "duration": show_duration,
            "share": show_share,
            "reward": show_reward,
            "count": "{:,}".format,
        },
        status=status,
        settings={name: show_setting(name, value) for name, value in status.settings.items()},
        confidence=CONFIDENCE,
        recent=RECENT,
        pictures=list(draw(status)),
    )


def draw(status: Status) -> Iterator[Picture]:
    """The pictures for which there is something to draw."""
    from matplotlib.figure import Figure

    from bandstrap.plots.bars import Bar, plot_bars
    from bandstrap.plots.groups import LARGEST_NUMBER, Interval, plot_groups
    from bandstrap.plots.small import WIDTH
    from bandstrap.plots.style import draw_figure
    from bandstrap.plots.timelines import Timeline, plot_timelines
    from bandstrap.plots.waiting import plot_waiting

    def picture(figure: Figure, shows: str, caption: str) -> Picture:
        return Picture(drawn_as_data(draw_figure(figure, "svg", as_text=True).decode()), shows, caption)

    history = status.history
    word = "action" if status.is_linear else "arm"
    busiest = sorted(status.arms, key=lambda arm: -arm.decisions)
    # In the order of the table, so that colours stay when arms overtake each other.
    curves = [arm.label for arm in status.arms if arm in busiest[:MOST_CURVES]]
    rows = [arm for arm in status.arms if arm in busiest[:MOST_ROWS]]
    not_all = f" The {MOST_ROWS} {word}s with most decisions." if len(rows) < len(status.arms) else ""
    others = [arm.label for arm in status.arms if arm.label not in curves]
    only = f" The {MOST_CURVES} {word}s with most decisions." if others else ""
    if any(arm.decisions for arm in status.arms):
        bars = [Bar(arm.label, arm.decisions, min(arm.n_rewards, arm.decisions)) for arm in rows]
        yield picture(
            plot_bars(bars, f"Decisions by {word}", "decisions", ("reward learned", "without one")),
            f"Bars: decisions by {word}.",
            f"Without the holdout. A reward may be the default one.{not_all}",
        )
    with_rewards = [arm for arm in rows if arm.n_rewards and is_drawable(arm, LARGEST_NUMBER)]
    if with_rewards:
        intervals = [
            Interval(
                shortened(visible(arm.label), SHORT_NAME),
                arm.n_rewards,
                arm.mean if arm.mean is not None else math.nan,
                math.nan if arm.lower is None else arm.lower,
                math.nan if arm.upper is None else arm.upper,
            )
            for arm in with_rewards
        ]
        yield picture(
            plot_groups(intervals, "Mean reward now", "mean reward", WIDTH),
            f"Dots with bars: mean reward by {word} with its interval.",
            f"{CONFIDENCE} intervals by {status.interval.method}; what they promise is said below the table. A cross is a "
            f"mean without an interval: fewer than two rewards, or all equal.{not_all}",
        )
    if any(arm.decisions for arm in status.arms):
        lines = [Timeline(label, history.ends, history.shares([label])) for label in curves]
        if others:
            lines.append(Timeline(f"{len(others)} others", history.ends, history.shares(others)))
        yield picture(
            plot_timelines(lines, f"Share of decisions by {word}", "share of decisions", shares=True),
            f"Curves over time: share of the policy's decisions by {word}.",
            f"In each of {len(history.ends)} equal stretches of time; gaps where nothing was decided."
            + (" What the policy would have served." if status.mode == "shadow" else ""),
        )
    if with_rewards:
        lines = []
        for arm in with_rewards:
            if arm.label in curves:
                mean, lower, upper = history.running_mean(arm.label, ALPHA).T
                lines.append(Timeline(arm.label, history.ends, mean, lower, upper))
        if lines:
            yield picture(
                plot_timelines(lines, f"Mean reward by {word}", "mean reward so far"),
                f"Curves over time with bands: mean reward so far by {word}.",
                f"Of all rewards learned until then; the first few may lie beyond the axis. Bands: Student's {CONFIDENCE} "
                f"interval at each time by itself, nominal, as the policy chose how many rewards each {word} has.{only}",
            )
    if status.lag is not None:
        lag = status.lag
        marked = [
            (f"{name} {show_duration(seconds)}", seconds)
            for name, seconds in (("median", lag.median), ("90 %", lag.q90), ("99 %", lag.q99))
        ]
        seconds = np.array(lag.quantiles)
        yield picture(
            plot_waiting(seconds, np.arange(1, seconds.size + 1) / seconds.size, marked, "How long rewards take"),
            "Curve: share of rewards that had come, over time since the decision.",
            f"The last {lag.rewards:,} rewards, late ones too; those that never come are not in it.",
        )
    if status.lift is not None and history.compared:
        difference, lower, upper = history.running_lift(ALPHA).T
        if np.isfinite(difference).any():
            yield picture(
                plot_timelines(
                    [Timeline("lift", history.ends, difference, lower, upper)],
                    "Lift over the holdout",
                    "policy minus holdout",
                    level=0.0,
                ),
                "Curve over time with a band: mean reward of the policy's units minus that of the holdout's.",
                "Units that first came until then; the first few may lie beyond the axis. Band: Welch's "
                f"{CONFIDENCE} interval for one look at one time; who waits for the band to leave zero will see it do so "
                "by chance.",
            )


def is_drawable(arm: ArmStatus, largest: float) -> bool:
    """Whether axes are long enough for its numbers."""
    return all(abs(number) < largest for number in (arm.mean, arm.lower, arm.upper) if number is not None)

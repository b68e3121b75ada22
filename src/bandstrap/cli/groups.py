"""What ``bandstrap bound`` and ``bandstrap compare`` share: groups with their bounds, shown, warned of and drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bandstrap.cli.files import check_plot
from bandstrap.cli.terminal import FORMATS, complain, print_table, say, write_records
from bandstrap.errors import InvalidInput, check_choice, check_count
from bandstrap.text import listed

if TYPE_CHECKING:
    from bandstrap.bounds import Bound

# What rows without a group are called in sentences.
NO_GROUP = "rows without a group"
# The result's columns beside the group, whatever the command and the side.
END_COLUMNS = {"upper": ("bound",), "lower": ("bound",), "two-sided": ("lower", "upper")}
RESULT_COLUMNS = (
    "n",
    "mean",
    "bound",
    "lower",
    "upper",
    "width",
    "guarantee",
    "order",
    "assumption",
    "method",
    "reason",
    "together",
    "warning",
)
FEWEST_DIGITS = 4


def how_read(
    options: Mapping[str, Any], seed: int | None, *, in_order: bool, draws: bool, walks: bool
) -> dict[str, Any]:
    """Options with --seed where the method draws, and --in-order where it is sequential; its own options win."""
    given = {"seed": seed} if draws and seed is not None else {}
    if walks and in_order and "seed" not in options:
        given |= {"in_order": True}
    return {**given, **options}


def check_request(
    owner: str,
    *,
    side: str,
    alpha: float,
    simultaneous: str | None,
    seed: int | None,
    plot: Path | None,
    format: str,  # noqa: A002 - the flag's name
) -> None:
    """Refuse options that both commands have, before anything is read."""
    from bandstrap.bounds.bound import SIDES, check_level
    from bandstrap.bounds.differences.compare import SIMULTANEOUS

    check_choice(format, "format", owner, FORMATS)
    check_choice(side, "side", owner, SIDES)
    check_level(alpha, owner)
    if seed is not None:
        check_count(seed, "seed", owner, at_least=0, at_most=None)
    if simultaneous is not None:
        check_choice(simultaneous, "simultaneous", owner, SIMULTANEOUS)
    check_plot(plot, owner)


@dataclass(frozen=True)
class GroupBound:
    """A group with its bound.

    Attributes
    ----------
    group, n
        The group and the number of its rewards.
    mean
        What is bounded, in the sample.
    bound
        The bound.
    method
        Name of the bound.
    reason
        Why it was chosen, if it was.
    """

    group: str
    n: int
    mean: float
    bound: Bound
    method: str = ""
    reason: str | None = None

    def ends(self, side: str) -> list[float]:
        """The bound's value, or both ends if two-sided."""
        return [float(self.bound.lower), float(self.bound.upper)] if side == "two-sided" else [self.bound.value]

    @property
    def width(self) -> float:
        """The bound's width."""
        return float(self.bound.width)

    @property
    def warnings(self) -> list[str]:
        """What the data contradict or cannot show, what was guessed, and why the bound is infinite."""
        return [*self.bound.notes, *([] if self.bound.why_infinite is None else [self.bound.why_infinite])]

    @property
    def digits(self) -> int:
        """Digits that tell the mean from the bound: three of the width."""
        largest = max([abs(self.mean), *(abs(end) for end in self.ends("two-sided") if math.isfinite(end))])
        width = abs(self.width)
        if not (math.isfinite(width) and width > 0 and math.isfinite(largest)):
            return FEWEST_DIGITS
        return min(max(FEWEST_DIGITS, math.floor(math.log10(largest) - math.log10(width)) + 3), 17)

    @property
    def means(self) -> dict[str, float]:
        """The columns of means."""
        return {"mean": self.mean}

    def cells(self, side: str) -> list[tuple[str, Any]]:
        """Columns of a table for people, with what stands in them; a width needs no more digits than others."""
        return [
            ("n", self.n),
            *self.means.items(),
            *zip(END_COLUMNS[side], self.ends(side), strict=True),
            ("width", float(f"{self.width:.{FEWEST_DIGITS}g}")),
            *([] if self.reason is None else [("method", self.method)]),
            ("proved", self.bound.proved),
            ("assumption", self.bound.holds_for),
        ]

    def record(self, side: str) -> dict[str, Any]:
        """All of it, for machines."""
        return {
            "n": self.n,
            "mean": self.mean,
            **dict(zip(END_COLUMNS[side], self.ends(side), strict=True)),
            "width": self.width,
            "guarantee": self.bound.guarantee,
            "order": self.bound.order,
            "assumption": self.bound.holds_for,
            "method": self.method,
            "reason": self.reason,
            "warning": "; ".join(self.warnings),
        }


def title_of(found: Sequence[GroupBound], method: str, side: str, alpha: float, simultaneous: str | None) -> str:
    """What was asked for, in a line."""
    title = f"{method}, {side}, alpha = {alpha:g}"
    if simultaneous is not None:
        title += f" for all together ({simultaneous})"
    orders = dict.fromkeys(each.bound.order for each in found if each.bound.order)
    return title + "".join(f", rows {order}" for order in orders)


def write_bounds(
    found: Sequence[GroupBound],
    name: str,
    side: str,
    format: str,  # noqa: A002 - the flag's name
    *,
    title: str,
    joint: float | None,
    is_joint: bool,
) -> None:
    """Write a table or records, one row per group, under this name of its column.

    ``is_joint`` says that bounds are to hold together, so that what is proved of that is told: ``joint``.
    """
    if format != "table":
        more = {"together": joint} if is_joint else {}
        write_records(({name: each.group} | each.record(side) | more for each in found), format)
        return
    print_table(
        [name, *(column for column, _ in found[0].cells(side))],
        [[each.group, *(cell for _, cell in each.cells(side))] for each in found],
        title=title,
        digits=[each.digits for each in found],
    )
    for sentence in reasons(found):
        say(sentence)
    if is_joint and joint is not None:
        say(f"That any of the bounds misses has a probability of at most {joint:.4g}, by the sum of what is proved.")


def reasons(found: Sequence[GroupBound]) -> list[str]:
    """Why each group has the bound it has, if it was chosen: one sentence for all that have the same."""
    groups: dict[tuple[str, str], list[str]] = {}
    for each in found:
        if each.reason is not None:
            groups.setdefault((each.method, each.reason), []).append(each.group or NO_GROUP)
    if len(groups) == 1:
        return [f"{method} because {reason}." for method, reason in groups]
    return [f"{listed(names)}: {method} because {reason}." for (method, reason), names in groups.items()]


def warn_of(found: Sequence[GroupBound], label: Callable[[GroupBound], str]) -> None:
    """Warn of each group under its label, if that is not empty."""
    for each in found:
        if each.warnings:
            prefix = f"{label(each)}: " if label(each) else ""
            complain(f"warning: {prefix}{'; '.join(each.warnings)}.")


def check_drawable(found: Sequence[GroupBound]) -> None:
    """Refuse more groups, or larger numbers, than a picture holds."""
    from bandstrap.plots.groups import LARGEST_NUMBER, MOST_GROUPS

    if len(found) > MOST_GROUPS:
        raise InvalidInput(f"--plot draws at most {MOST_GROUPS} groups. Got {len(found)} instead.")
    for each in found:
        for number in (each.mean, *each.ends("two-sided")):
            if math.isfinite(number) and abs(number) > LARGEST_NUMBER:
                raise InvalidInput(f"--plot draws numbers up to {LARGEST_NUMBER:g}. Got {number:g} instead.")


def draw(found: Sequence[GroupBound], path: Path, title: str, axis: str) -> None:
    """Draw the groups into a file; ``axis`` is what their bounds are on."""
    from bandstrap.plots.groups import Interval, plot_groups
    from bandstrap.plots.style import save_figure

    intervals = []
    for each in found:
        lower, upper = each.ends("two-sided")
        intervals.append(Interval(each.group, each.n, each.mean, lower, upper, each.bound.contradicted))
    save_figure(plot_groups(intervals, title, axis), path)
    complain(f"wrote {path}")

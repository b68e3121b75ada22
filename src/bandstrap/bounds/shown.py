"""Bounds for people and for machines: tables with what is common to all groups said once, and records with everything."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from bandstrap.basics.display import DIGITS, Display
from bandstrap.basics.text import ONE, shortened
from bandstrap.bounds.bound import FloatOrArray
from bandstrap.bounds.notes import of_groups

if TYPE_CHECKING:
    from bandstrap.bounds.bound import Bound, Side
    from bandstrap.bounds.differences.compare import Comparison
    from bandstrap.bounds.groups import GroupBounds

AUTO = "auto"
# The ends that a side has, by the names of their columns.
END_COLUMNS = {"upper": ("bound",), "lower": ("bound",), "two-sided": ("lower", "upper")}
# Samples of a batch that are shown.
MOST_SAMPLES = 10
MOST_DIGITS = 17


# --- for people -------------------------------------------------------------------------------------------------------


def display_bound(bound: Bound) -> Display:
    """One bound in one row; of a batch the first ones, a row for each."""
    title = title_of(bound.name, bound.side, bound.alpha, [bound])
    if np.ndim(bound.mean):
        return display_batch(bound, title)
    return Display(
        above=[title, *assumption_of(bound)],
        columns={
            **counts_of(bound),
            "mean": [bound.mean],
            **end_columns([bound], bound.side),
            "proved": [bound.proved],
        },
        warnings=warnings_on(bound),
        digits=[digits_of(bound)],
    )


def counts_of(bound: Bound) -> dict[str, list[int]]:
    """Columns of the numbers of rewards: one, or two for a difference."""
    names = ("n",) if len(bound.sizes) == 1 else ("first n", "second n")
    return {name: [size] for name, size in zip(names, bound.sizes, strict=False)}


def display_batch(bound: Bound, title: str) -> Display:
    """The first samples of a batch."""
    mean, lower, upper = (np.ravel(number)[:MOST_SAMPLES].tolist() for number in (bound.mean, bound.lower, bound.upper))
    ends = {"upper": {"bound": upper}, "lower": {"bound": lower}, "two-sided": {"lower": lower, "upper": upper}}
    n_samples = np.size(bound.mean)
    which = f"{n_samples} samples" if n_samples <= MOST_SAMPLES else f"{n_samples} samples, the first {MOST_SAMPLES}"
    sizes = " and ".join(map(str, bound.sizes))
    proved = "" if bound.proved is None else f"; proved: {bound.proved}"
    return Display(
        above=[f"{title}; {which}, each of {sizes} rewards{proved}", *assumption_of(bound)],
        columns={"sample": list(range(len(mean))), "mean": mean, **ends[bound.side]},
        warnings=warnings_on(bound),
    )


def display_of(found: GroupBounds | Comparison, name: str) -> Display:
    """Several bounds in a table whose column of groups has this name."""
    from bandstrap.bounds.groups import GroupBounds  # which show themselves by this module

    return display_groups(found, name) if isinstance(found, GroupBounds) else display_comparison(found, name)


def display_groups(found: GroupBounds, name: str = "group") -> Display:
    """The bounds of several groups, which ``name`` is the column of."""
    means = {"mean": [bound.mean for bound in found.bounds.values()]}
    reasons = {group: choice.reason for group, choice in found.choices.items()} if found.method == AUTO else {}
    return display_several(found, name, means, reasons=reasons)


def display_comparison(found: Comparison, name: str = "group") -> Display:
    """The differences of several groups from their control, which the title tells of."""
    means: dict[str, list[object]] = {
        "mean": [found.means[group] for group in found.bounds],
        "difference": [bound.mean for bound in found.bounds.values()],
    }
    n_control = next(iter(found.bounds.values())).sizes[-1]
    about = f"n = {n_control}, mean = {found.means[found.control]:.6g}"
    return display_several(found, name, means, after=f"; {shortened(found.control, ONE)}: {about}", minus=found.control)


def display_several(
    found: GroupBounds | Comparison,
    name: str,
    means: Mapping[str, Sequence[object]],
    *,
    reasons: Mapping[str, str] = MappingProxyType({}),
    after: str = "",
    minus: str | None = None,
) -> Display:
    """Groups with their bounds: above what all of them have in common, below what some have."""
    bounds = list(found.bounds.values())
    of_method = {group: f"{bound.name} because {reasons[group]}" for group, bound in found.bounds.items() if reasons}
    assumed = {
        group: f"{bound.name} assumes {bound.holds_for}" for group, bound in found.bounds.items() if bound.holds_for
    }
    is_one_reason, is_one_assumption = len(set(of_method.values())) == 1, len(set(assumed.values())) == 1
    above = [title_of(found.method, found.side, found.alpha, bounds, found.simultaneous) + after]
    below = []
    if is_one_reason:
        above.append(f"{next(iter(of_method.values()))}.")
    else:
        below += [f"{sentence}." for sentence in said_once(of_method)]
    if is_one_assumption:
        above.append(f"Assumption: {next(bound.holds_for for bound in bounds if bound.holds_for)}.")
    else:
        below += [f"{sentence}." for sentence in dict.fromkeys(assumed.values())]
    if found.simultaneous is not None and found.guarantee is not None:
        below.append(f"Proved: the probability that any of the bounds misses is at most {found.guarantee:.4g}.")
    is_one_method = len({bound.name for bound in bounds}) == 1
    return Display(
        above=above,
        columns={
            name: list(found.bounds),
            "n": [bound.sizes[0] for bound in bounds],
            **means,
            **end_columns(bounds, found.side),
            **({} if is_one_method else {"method": [bound.name for bound in bounds]}),
            "proved": [bound.proved for bound in bounds],
        },
        below=below,
        warnings=warnings_of(found.bounds, minus),
        digits=[digits_of(bound) for bound in bounds],
    )


def said_once(sentences: Mapping[str, str]) -> list[str]:
    """A sentence for every group, those of many groups once."""
    return of_groups({group: [sentence] for group, sentence in sentences.items()})


def title_of(method: str, side: Side, alpha: float, bounds: Iterable[Bound], simultaneous: str | None = None) -> str:
    """Title of a request, in a line."""
    title = f"{method}, {side if side == 'two-sided' else f'{side} (one-sided)'}, alpha = {alpha:g}"
    if simultaneous is not None:
        title += f" for all together ({simultaneous})"
    orders = dict.fromkeys(bound.order for bound in bounds if bound.order)
    return title + "".join(f", rows {order}" for order in orders)


def assumption_of(bound: Bound) -> list[str]:
    """Assumption of a bound, as a sentence."""
    return [f"Assumption: {bound.holds_for}."] if bound.holds_for else []


def end_columns(bounds: Sequence[Bound], side: Side) -> dict[str, list[FloatOrArray]]:
    """The ends that were asked for, column by column."""
    return {column: [ends_of(bound)[place] for bound in bounds] for place, column in enumerate(END_COLUMNS[side])}


def ends_of(bound: Bound) -> tuple[FloatOrArray, ...]:
    """The bound's value, or both ends if two-sided."""
    return bound.value if isinstance(bound.value, tuple) else (bound.value,)


def digits_of(bound: Bound) -> int:
    """Digits that tell the mean from the bound: three of the width."""
    numbers = [abs(float(number)) for number in (bound.mean, *ends_of(bound))]
    largest, width = max(filter(math.isfinite, numbers), default=0.0), abs(float(bound.width))
    if not (math.isfinite(width) and width > 0 and largest > 0):
        return DIGITS
    return min(max(DIGITS, math.floor(math.log10(largest) - math.log10(width)) + 3), MOST_DIGITS)


def warnings_on(bound: Bound) -> list[str]:
    """Warnings on assumptions that the data contradict or cannot show, on guesses, and on infinite bounds."""
    return [*bound.notes, *([] if bound.why_infinite is None else [bound.why_infinite])]


def warnings_of(bounds: Mapping[str, Bound], minus: str | None = None) -> list[str]:
    """The same of every group, each sentence with its groups; what is said of many is said once."""
    told = {group: ["; ".join(warnings_on(bound))] for group, bound in bounds.items() if warnings_on(bound)}
    return of_groups(told, "" if minus is None else f" minus {minus}")


# --- for machines -----------------------------------------------------------------------------------------------------


def records_of(found: GroupBounds | Comparison, by: str | None) -> list[dict[str, object]]:
    """Everything that is known of every group, one record for each.

    The column of groups is called as in the data, or ``"group"`` where the record has a column of that name.
    """
    is_joint = found.simultaneous is not None
    together = {
        "simultaneous": found.simultaneous,
        "alpha_together": found.alpha if is_joint else None,
        "together": found.guarantee if is_joint else None,
    }
    records = {group: record_of(bound) | of_group(found, group) | together for group, bound in found.bounds.items()}
    taken = {column for record in records.values() for column in record} | {"bound"}
    name = "group" if by is None or by in taken else by
    return [{name: group} | record for group, record in records.items()]


def of_group(found: GroupBounds | Comparison, group: str) -> dict[str, object]:
    """Remark on a group beside its bound: the reason for the choice, or the comparison."""
    from bandstrap.bounds.groups import GroupBounds

    if isinstance(found, GroupBounds):
        return {"reason": found.choices[group].reason if found.method == AUTO else None}
    return {
        "mean": found.means[group],
        "difference": found.bounds[group].mean,
        "control": found.control,
        "control_mean": found.means[found.control],
    }


def record_of(bound: Bound) -> dict[str, object]:
    """Everything that is known of a bound on one sample."""
    return {
        "n": bound.sizes[0],
        "mean": bound.mean,
        **({} if bound.side == "two-sided" else {"bound": bound.value}),
        "lower": bound.lower,
        "upper": bound.upper,
        "width": bound.width,
        "guarantee": bound.guarantee,
        "order": bound.order,
        "assumption": bound.holds_for,
        "method": bound.name,
        "reason": None,
        "warning": "; ".join(warnings_on(bound)),
        "side": bound.side,
        "alpha": bound.alpha,
        "contradicted": bound.contradicted,
        "notes": list(bound.notes),
        "why_infinite": bound.why_infinite,
        "computed": bound.method,
        "parts": dict(bound.parts),
    }

"""Several groups with one control: a bound on each difference, or bounds that hold together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from bandstrap.basics.arrays import Floats
from bandstrap.basics.calls import Options
from bandstrap.basics.display import Display, Displayed
from bandstrap.basics.text import listed
from bandstrap.bounds.bound import (
    SIDES,
    Bound,
    BoundOptions,
    Refuted,
    Side,
    Threshold,
    check_level,
    refuted,
    without_warnings,
)
from bandstrap.bounds.differences.bootstrap import LARGE_GROUPS
from bandstrap.bounds.differences.difference import (
    DIFFERENCES,
    NO_SPREAD,
    build,
    check_named,
    difference,
    difference_of_means,
    named_method,
    of_all,
    scaled_groups,
    shows_nothing,
    variance,
    with_names,
)
from bandstrap.bounds.differences.maximum import largest_sum
from bandstrap.bounds.notes import of_groups
from bandstrap.bounds.shown import display_comparison
from bandstrap.errors import (
    AssumptionWarning,
    InvalidInput,
    brief,
    check_choice,
    check_flag,
    requirement,
    sample_mean,
    warn_caller,
)

Simultaneous = Literal["bonferroni", "max"]
SIMULTANEOUS: tuple[Simultaneous, ...] = get_args(Simultaneous)
OWNER = "compare"


@dataclass(frozen=True)
class Comparison(Displayed):
    """Bounds on the differences of several groups from one control.

    Attributes
    ----------
    control
        Name of the control.
    method, side, alpha
        As given to the call.
    simultaneous
        ``"bonferroni"`` or ``"max"`` if all bounds share ``alpha``, ``None`` if each has its own.
    bounds
        A :class:`bandstrap.bounds.Bound` for every other group, by name: on its mean minus the control's mean. With
        Bonferroni's correction, each is at ``alpha`` divided by their number. If rewards contradict the assumption,
        such as one outside the support, both ends are ``nan`` and a note says why.
    guarantee
        Proved bound on the probability that any of them misses; ``None`` if nothing is proved.
    notes
        Notes of all bounds, each with its groups; a note on many groups appears once.
    means
        The mean of every group, including the control.
    """

    control: str
    method: str
    side: Side
    alpha: float
    simultaneous: Simultaneous | None
    bounds: Mapping[str, Bound]
    guarantee: float | None
    notes: tuple[str, ...] = ()
    means: Mapping[str, float] = field(default_factory=dict)

    def _display(self) -> Display:
        return display_comparison(self)


def compare(
    groups: Mapping[str, ArrayLike],
    control: str,
    alpha: float = 0.05,
    *,
    method: str = "welch",
    side: Side = "two-sided",
    simultaneous: Simultaneous | None = None,
    check: bool = True,
    **options: object,
) -> Comparison:
    """Bound the mean of every group minus that of a control.

    Parameters
    ----------
    groups
        Rewards by name of group, two groups or more.
    control
        Name of the group that all others are compared with.
    alpha
        Error probability in (0, 1/2), of each bound or of all together.
    method
        As in :func:`bandstrap.bounds.difference`.
    side
        ``"two-sided"`` (default), ``"upper"`` or ``"lower"``.
    simultaneous
        ``None`` (default)
            Each bound misses with probability ``alpha``; among many bounds, some will.
        ``"bonferroni"``
            Each at ``alpha`` divided by their number: any of them misses with probability at most ``alpha``, for any
            method.
        ``"max"``
            The quantile of the largest multiplier sum over all groups. It uses their correlation, which the common
            control creates. Narrower; for ``method="bootstrap"``, and for large groups.
    check
        Test the groups for contradictions of the assumption (default). There is one warning per kind of note.
    **options
        Options of the method. With ``"max"``: ``weights``, ``n_resamples`` (9999 by default), ``seed`` and
        ``studentized``. The latter (true by default) scales each difference by its own standard error; otherwise all
        have one width.

    Returns
    -------
    Comparison

    Notes
    -----
    With ``"max"`` and random signs, all sign vectors are enumerated for up to 12 rewards per group. Otherwise ``B``
    draws are made, and the ``floor(alpha (B + 1))``-th largest is taken.

    Examples
    --------
    >>> from bandstrap.bounds import compare
    >>> groups = {"red": [1.8, 2.2, 2.6, 1.1], "green": [3.1, 2.4, 4.4, 3.8], "blue": [2.0, 2.9, 2.2, 2.4]}
    >>> found = compare(groups, "red", method="bootstrap", simultaneous="max")
    >>> found.bounds["green"].value
    (0.36, 2.64)
    >>> compare(groups, "red", simultaneous="bonferroni").bounds["green"].value
    (-0.2, 3.2)
    """
    name, given = named_method(method, options, OWNER, DIFFERENCES)
    check_level(alpha, OWNER)
    check_choice(side, "side", OWNER, SIDES)
    if simultaneous is not None:
        check_choice(simultaneous, "simultaneous", OWNER, SIMULTANEOUS)
    rewards = check_several(groups, control)
    others = [group for group in rewards if group != control]
    if simultaneous == "max":
        bounds = largest_bounds(rewards, control, alpha, name, side, given)
    else:
        level = alpha / len(others) if simultaneous == "bonferroni" else alpha
        bounds = {
            group: compare_one(rewards, group, control, level, method=name, side=side, check=check, options=given)
            for group in others
        }
    notes = of_groups({group: bound.notes for group, bound in bounds.items()}, f" minus {control}")
    for note in notes if check else ():
        warn_caller(f"{OWNER}: {note}.", AssumptionWarning)
    return Comparison(
        control=control,
        method=name,
        side=side,
        alpha=alpha,
        simultaneous=simultaneous,
        bounds=bounds,
        guarantee=of_all(bound.guarantee for bound in bounds.values()),
        notes=tuple(notes),
        means={group: float(sample_mean(sample)) for group, sample in rewards.items()},
    )


def compare_one(
    rewards: Mapping[str, Floats],
    group: str,
    control: str,
    level: float,
    *,
    method: str,
    side: Side,
    check: bool,
    options: BoundOptions,
) -> Bound:
    """The bound on one difference; ends of ``nan`` where the rewards rule it out."""
    names = group, control
    pair = rewards[group], rewards[control]
    try:
        with without_warnings():
            return difference(*pair, level, method=method, side=side, names=names, check=check, **options)
    except Refuted as refusal:
        mean, sizes = float(difference_of_means(*pair, OWNER)), (pair[0].size, pair[1].size)
        return with_names(refuted(method, level, side, mean, refusal, sizes), names)


def check_several(groups: object, control: object) -> dict[str, Floats]:
    """Return the groups as arrays by name, two of them or more and the control among them."""
    found = check_named(groups, OWNER)
    if not isinstance(control, str) or control not in found:
        raise requirement("control", OWNER, f"one of the groups ({listed(found, 8)})", brief(control))
    if len(found) < 2:
        raise requirement("groups", OWNER, "two or more, the control and another", f"one ({brief(control)})")
    return found


def largest_bounds(
    groups: Mapping[str, Floats], control: str, alpha: float, method: str, side: Side, options: Options
) -> dict[str, Bound]:
    """The bounds of ``simultaneous="max"``."""
    if method != "bootstrap":
        raise requirement("method", OWNER, "'bootstrap' for simultaneous='max'", repr(method))
    try:
        return bootstrap_maximum(groups, control, alpha, side, **options)
    except TypeError as error:
        raise InvalidInput(f"The method bootstrap does not take these options with 'max': {error}.") from None


def bootstrap_maximum(
    groups: Mapping[str, Floats], control: str, alpha: float, side: Side, *, studentized: bool = True, **options: Any
) -> dict[str, Bound]:
    """Bounds at the quantile of the largest multiplier sum; groups of one reward have none and are not counted."""
    studentized = check_flag(studentized, "studentized", OWNER)
    scaled, exponent = scaled_groups(groups)
    others = [name for name in groups if name != control]
    shown = [name for name in others if not shows_nothing(groups[name], groups[control])]
    errors = {
        name: float(np.sqrt(sum(float(variance(group)) / group.size for group in (scaled[name], scaled[control]))))
        if studentized
        else 1.0
        for name in shown
    }
    found = largest_sum(
        scaled[control], [scaled[name] for name in shown], list(errors.values()), alpha, side, OWNER, **options
    )
    bounds = {}
    for name in others:

        def threshold(alpha: float, mirrored: bool, name: str = name) -> Threshold:
            return found.threshold(errors.get(name), exponent, mirrored, NO_SPREAD)

        bound = build(
            "bootstrap", groups[name], groups[control], alpha, side, threshold, guarantee=None, holds_for=LARGE_GROUPS
        )
        bounds[name] = with_names(bound, (name, control))
    return bounds

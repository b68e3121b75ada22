"""The means of several groups: a bound on each, or bounds that hold together."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bandstrap.basics.arrays import Floats
from bandstrap.basics.display import Display, Displayed
from bandstrap.bounds.bound import (
    BOUNDS,
    SIDES,
    Bound,
    BoundOptions,
    Refuted,
    Side,
    Threshold,
    bound_by_name,
    build,
    check_level,
    refuted,
    without_warnings,
)
from bandstrap.bounds.choose import Choice, choose
from bandstrap.bounds.differences.bootstrap import LARGE_GROUPS
from bandstrap.bounds.differences.compare import SIMULTANEOUS, Simultaneous
from bandstrap.bounds.differences.difference import (
    check_named,
    is_constant,
    named_method,
    of_all,
    scaled_groups,
    variance,
)
from bandstrap.bounds.differences.maximum import largest_sum
from bandstrap.bounds.notes import of_groups
from bandstrap.bounds.shown import AUTO, display_groups
from bandstrap.errors import (
    AssumptionWarning,
    InvalidInput,
    check_choice,
    check_flag,
    requirement,
    sample_mean,
    warn_caller,
)

OWNER = "bound_groups"
NO_SPREAD = "the bound is infinite: it needs two rewards or more, and some that differ"


@dataclass(frozen=True)
class GroupBounds(Displayed):
    """Bounds on the means of several groups.

    Attributes
    ----------
    side, alpha
        As given to the call.
    simultaneous
        ``"bonferroni"`` or ``"max"`` where ``alpha`` is shared by all bounds, ``None`` where each has its own.
    bounds
        A :class:`bandstrap.bounds.Bound` for every group, by name. If rewards contradict the assumption, such as one
        outside the support, both ends are ``nan`` and a note says why.
    choices
        Bound of each group and its reason, as :class:`bandstrap.bounds.Choice`.
    guarantee
        Proved bound on the probability that any of them misses; ``None`` if nothing is proved.
    notes
        Notes of all bounds, each with its groups; a note on many groups appears once.
    method
        As given to the call: ``"auto"``, or the name of a bound.
    """

    side: Side
    alpha: float
    simultaneous: Simultaneous | None
    bounds: Mapping[str, Bound]
    choices: Mapping[str, Choice]
    guarantee: float | None
    notes: tuple[str, ...] = ()
    method: str = AUTO

    def _display(self) -> Display:
        return display_groups(self)


def bound_groups(
    groups: Mapping[str, ArrayLike],
    alpha: float = 0.05,
    *,
    method: str = AUTO,
    side: Side = "two-sided",
    simultaneous: Simultaneous | None = None,
    check: bool = True,
    **options: object,
) -> GroupBounds:
    """Bound the mean of every group.

    Parameters
    ----------
    groups
        Rewards by name of group.
    alpha
        Error probability in (0, 1/2), of each bound or of all of them.
    method
        The name of a bound, or ``"auto"`` (default), which chooses for each group as :func:`bandstrap.bounds.choose`
        does.
    side
        ``"two-sided"`` (default), ``"upper"`` or ``"lower"``.
    simultaneous
        ``None`` (default)
            Each bound misses with probability ``alpha``; of many, some will.
        ``"bonferroni"``
            Each at ``alpha`` divided by their number: any of them misses with probability at most ``alpha``, for any
            bounds.
        ``"max"``
            The quantile of the largest of the multiplier sums of all groups. A little narrower; for ``"auto"`` or
            ``"bootstrap"``, and for large groups.
    check
        Test each group for contradictions of the assumption (default), as the bounds do. Each kind of note is one warning.
    **options
        Options of the bound. With ``"auto"``: the stated properties of the rewards, and ``seed`` and ``in_order`` for
        bounds that take them. With ``"max"``: ``weights``, ``n_resamples`` (9999 by default), ``seed`` and
        ``studentized``. The latter (true by default) scales each mean by its own standard error; otherwise all have one
        width.

    Returns
    -------
    GroupBounds

    See Also
    --------
    bandstrap.bounds.compare : bounds on differences from a control; use these for a comparison.

    Notes
    -----
    The groups are independent, so ``"max"`` is little narrower than ``"bonferroni"``. With normal rewards its level is
    ``1 - (1 - alpha)^(1/G)`` instead of ``alpha/G``. It gains more where groups are small and of few values.

    Examples
    --------
    >>> from bandstrap.bounds import bound_groups
    >>> groups = {"red": [0, 0, 1, 0, 0, 1], "blue": [1, 0, 1, 1, 1, 1, 0, 1]}
    >>> found = bound_groups(groups, simultaneous="bonferroni", side="upper")
    >>> found.bounds["red"].value, found.choices["red"].method, found.guarantee
    (0.777, 'clopper_pearson', 0.05)
    """
    name, given = named_method(method, options, OWNER, (AUTO, *BOUNDS))
    check_level(alpha, OWNER)
    check_choice(side, "side", OWNER, SIDES)
    if simultaneous is not None:
        check_choice(simultaneous, "simultaneous", OWNER, SIMULTANEOUS)
    rewards = check_named(groups, OWNER)
    if simultaneous == "max":
        bounds = largest_bounds(rewards, alpha, name, side, given)
        choices = dict.fromkeys(rewards, Choice("bootstrap", given, OF_LARGEST))
    else:
        level = alpha / len(rewards) if simultaneous == "bonferroni" else alpha
        choices = choices_of(rewards, level, name, side, given)
        bounds = {
            group: bound_chosen(choice, rewards[group], level, side, check=check) for group, choice in choices.items()
        }
    notes = of_groups({group: bound.notes for group, bound in bounds.items()})
    for note in notes if check else ():
        warn_caller(f"{OWNER}: {note}.", AssumptionWarning)
    return GroupBounds(
        side=side,
        alpha=alpha,
        simultaneous=simultaneous,
        bounds=bounds,
        choices=choices,
        guarantee=of_all(bound.guarantee for bound in bounds.values()),
        notes=tuple(notes),
        method=name,
    )


def bound_chosen(choice: Choice, rewards: Floats, level: float, side: Side, *, check: bool) -> Bound:
    """The chosen bound, with what was guessed among its notes; ends of ``nan`` where the rewards rule it out."""
    try:
        with without_warnings():
            bound = bound_by_name(choice.method, rewards, level, side, {**choice.options, "check": check})
    except Refuted as refusal:
        return refuted(choice.method, level, side, float(sample_mean(rewards)), refusal, (rewards.size,))
    return bound if choice.guess is None else replace(bound, guarantee=None, notes=(*bound.notes, choice.guess))


# Options of those bounds that draw or read rewards one by one, which may stand beside what is stated of the rewards.
HOW_READ = ("seed", "in_order")
OF_LARGEST = "only its sums have a largest one over all groups"


def choices_of(
    groups: Mapping[str, Floats], level: float, method: str, side: Side, options: BoundOptions
) -> dict[str, Choice]:
    """Bound of each group: the one asked for, or what :func:`bandstrap.bounds.choose` says."""
    if method != AUTO:
        return dict.fromkeys(groups, Choice(method, dict(options), "it was asked for"))
    stated = {key: value for key, value in options.items() if key not in HOW_READ}
    # Three different values tell as much as all: that there are more than two.
    column = np.unique(np.concatenate(list(groups.values())))[:3]
    found = {}
    for group, rewards in groups.items():
        try:
            chosen = choose(rewards, level, side=side, column=column, **stated)
        except TypeError as error:
            raise InvalidInput(f"The method auto does not take these options: {error}.") from None
        taken = inspect.signature(BOUNDS[chosen.method].function).parameters
        told = {**chosen.options, **{key: options[key] for key in HOW_READ if key in options and key in taken}}
        found[group] = Choice(chosen.method, told, chosen.reason, chosen.guess)
    return found


def largest_bounds(
    groups: Mapping[str, Floats], alpha: float, method: str, side: Side, options: BoundOptions
) -> dict[str, Bound]:
    """The bounds of ``simultaneous="max"``."""
    if method not in (AUTO, "bootstrap"):
        raise requirement("method", OWNER, "'auto' or 'bootstrap' for simultaneous='max'", repr(method))
    try:
        return bootstrap_maximum(groups, alpha, side, **options)
    except TypeError as error:
        raise InvalidInput(f"The method bootstrap does not take these options with 'max': {error}.") from None


def bootstrap_maximum(
    groups: Mapping[str, Floats], alpha: float, side: Side, *, studentized: bool = True, **options: Any
) -> dict[str, Bound]:
    """Bounds at the quantile of the largest multiplier sum; groups that show no spread have none and are not counted."""
    studentized = check_flag(studentized, "studentized", OWNER)
    scaled, exponent = scaled_groups(groups)
    shown = [name for name, group in groups.items() if not is_constant(group)]
    errors = {
        name: float(np.sqrt(variance(scaled[name]) / scaled[name].size)) if studentized else 1.0 for name in shown
    }
    no_control = np.zeros(1)
    found = largest_sum(
        no_control, [scaled[name] for name in shown], list(errors.values()), alpha, side, OWNER, **options
    )
    bounds = {}
    for name, group in groups.items():

        def threshold(rewards: Floats, alpha: float, mirrored: bool, name: str = name) -> Threshold:
            return found.threshold(errors.get(name), exponent, mirrored, NO_SPREAD)

        # Without a check: what large groups are assumed of is not what the bootstrap of one is proved for.
        bounds[name] = build(
            "bootstrap", group, alpha, side, threshold, guarantee=None, holds_for=LARGE_GROUPS, check=False
        )
    return bounds

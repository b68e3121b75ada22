"""Checks of a table of decisions: the arm of each, its reward, and the probability that each arm had."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandstrap.basics.arrays import Bools, Floats
from bandstrap.basics.text import listed
from bandstrap.errors import brief, check_number, read_numbers, requirement

MOST_ARMS = 64
# Numbers that are worked on at a time.
CHUNK = 1 << 16
# How far probabilities of a decision may be from a sum of 1: they are often written with six digits.
SUM_SLACK = 1e-5
ArmPlaces = NDArray[np.int64]


def check_labels(arms: int | Sequence[str], owner: str) -> tuple[str, ...]:
    """Labels of 2 to 64 arms, given by themselves or by their number."""
    rule = f"the number of arms, or their labels, from 2 to {MOST_ARMS}"
    if isinstance(arms, bool | str | bytes) or not isinstance(arms, int | np.integer | Sequence | np.ndarray):
        raise requirement("arms", owner, rule, brief(arms))
    labels = (
        tuple(map(str, range(min(int(arms), MOST_ARMS + 1))))
        if isinstance(arms, int | np.integer)
        else tuple(map(str, arms))
    )
    if not 2 <= len(labels) <= MOST_ARMS:
        raise requirement("arms", owner, rule, brief(arms))
    if len(set(labels)) < len(labels):
        raise requirement("arms", owner, "different from each other", listed(labels, 5))
    return labels


def check_columns(labels: Sequence[str] | None, weights: ArrayLike, owner: str) -> int | Sequence[str]:
    """Labels of the columns of ``weights``, or their number where there are no labels."""
    n = (np.shape(weights)[-1:] or (0,))[0]
    if labels is None:
        return n
    if len(labels) != n:
        raise requirement("labels", owner, f"one for each of the {n} columns of weights", brief(labels))
    return labels


def check_joining(labels: tuple[str, ...], label: str, owner: str) -> tuple[str, ...]:
    """Labels of the arms after another one has joined."""
    if len(labels) == MOST_ARMS:
        raise requirement("label", owner, f"one of at most {MOST_ARMS} arms", brief(label))
    return check_labels([*labels, label], owner)


def chunks(n: int, size: int) -> Iterator[slice]:
    """Decisions that are worked on together, each of which takes ``size`` numbers."""
    rows = max(1, CHUNK // size)
    return (slice(start, start + rows) for start in range(0, n, rows))


def check_state(state: object, names: Sequence[str], owner: str) -> Mapping[str, Any]:
    """A state that ``to_dict`` may have written: a mapping of these names, among them the arms."""
    if not isinstance(state, Mapping) or set(state) != {"arms", *names}:
        raise requirement("state", owner, f"a mapping of {', '.join(sorted({'arms', *names}))}", brief(state))
    if not isinstance(state["arms"], list | tuple):
        raise requirement("arms", owner, "a list of labels", brief(state["arms"]))
    return state


def read_arrays(found: object, state: Mapping[str, Any], names: Sequence[str], owner: str) -> None:
    """Take arrays of finite numbers, of the shapes that they have in ``found``, from a state."""
    for name in names:
        array = read_numbers(state[name], name, owner, "finite numbers", kinds="iuf")
        shape = getattr(found, name).shape
        if array.shape != shape or not np.isfinite(array).all():
            raise requirement(name, owner, f"finite numbers of shape {shape}", brief(state[name]))
        setattr(found, name, array)


def check_range(low: object, high: object, owner: str) -> tuple[float, float]:
    """The lowest and the highest possible reward."""
    low, high = check_number(low, "low", owner), check_number(high, "high", owner)
    if not (low < high and math.isfinite(high - low)):
        raise requirement("high", owner, f"greater than low = {low:g}, by a finite number", high)
    return low, high


def check_arm(arm: object, labels: tuple[str, ...], parameter: str, owner: str) -> int:
    """Position of an arm that is given by its label or its position."""
    if isinstance(arm, str) and arm in labels:
        return labels.index(arm)
    if isinstance(arm, int | np.integer) and not isinstance(arm, bool) and 0 <= arm < len(labels):
        return int(arm)
    raise requirement(parameter, owner, f"one of the arms {listed(labels, 5)}, or its position", brief(arm))


def check_arms(arms: ArrayLike, labels: tuple[str, ...], owner: str) -> ArmPlaces:
    """Positions of the arms of a column, given as positions or as labels; a single arm gives a column of one."""
    column = np.atleast_1d(np.asarray(arms))
    if column.ndim > 1:
        raise requirement("arms", owner, "one arm or a column of them", f"shape {column.shape}")
    if column.dtype.kind in "UOT" and all(isinstance(arm, str) for arm in column.tolist()):
        places = {label: place for place, label in enumerate(labels)}
        found = np.array([places.get(arm, -1) for arm in column.tolist()], dtype=np.int64)
    elif column.dtype.kind in "iu" or column.size == 0:
        found = np.where((column < 0) | (column >= len(labels)), -1, column).astype(np.int64)
    else:
        found = np.full(column.shape, -1)
    if (found < 0).any():
        where = int(np.argmax(found < 0))
        rule = f"arms out of {listed(labels, 5)}, or their positions from 0 to {len(labels) - 1}"
        raise requirement("arms", owner, rule, f"{brief(column[where].item())} at decision {where}")
    return found


def check_rewards(rewards: ArrayLike, n: int, low: float, high: float, owner: str) -> Floats:
    """Rewards of ``n`` decisions as numbers in [0, 1]."""
    rule = f"numbers from {low:g} to {high:g}"
    column = np.atleast_1d(read_numbers(rewards, "rewards", owner, rule, kinds="biuf"))
    if column.shape != (n,):
        raise requirement("rewards", owner, f"one number for each of the {n} decisions", f"shape {column.shape}")
    outside = ~((column >= low) & (column <= high))
    if outside.any():
        where = int(np.argmax(outside))
        raise requirement("rewards", owner, rule, f"{column[where]} at decision {where}")
    return (column - low) / (high - low)


def check_weights(weights: ArrayLike, arms: ArmPlaces, n_arms: int, owner: str) -> Floats:
    """Probabilities of all arms at each decision, of which the arm that was chosen had one."""
    table = check_probabilities(weights, "weights", len(arms), n_arms, owner)
    chosen = table[np.arange(len(arms)), arms]
    if (chosen == 0.0).any():
        where = int(np.argmax(chosen == 0.0))
        rule = "positive for the arm that was chosen"
        raise requirement("weights", owner, rule, f"0 for arm {arms[where]} at decision {where}")
    return table


def check_probabilities(weights: ArrayLike, parameter: str, n: int, n_arms: int, owner: str) -> Floats:
    """Rows of ``n_arms`` probabilities, one for each of ``n`` decisions; one row may serve all."""
    rule = "probabilities from 0 to 1"
    table = read_numbers(weights, parameter, owner, rule, kinds="biuf")
    if table.ndim == 1:
        table = np.broadcast_to(table, (n, table.size))
    if table.shape != (n, n_arms):
        raise requirement(parameter, owner, f"of shape ({n}, {n_arms}) or ({n_arms},)", f"shape {table.shape}")
    outside = ~((table >= 0) & (table <= 1))
    if outside.any():
        row, arm = (int(place) for place in np.argwhere(outside)[0])
        raise requirement(parameter, owner, rule, f"{table[row, arm]} for arm {arm} in row {row}")
    sums = table.sum(axis=1)
    wrong = np.abs(sums - 1.0) > SUM_SLACK
    if wrong.any():
        where = int(np.argmax(wrong))
        raise requirement(parameter, owner, "probabilities with a sum of 1", f"{sums[where]:.6g} in row {where}")
    return table


def check_flags(flags: ArrayLike, parameter: str, n: int, owner: str) -> Bools:
    """True or false for each of ``n`` decisions; 1 and 0 are taken as well."""
    rule = f"true or false for each of the {n} decisions"
    column = np.atleast_1d(read_numbers(flags, parameter, owner, rule, kinds="biuf"))
    if column.shape != (n,):
        raise requirement(parameter, owner, rule, f"shape {column.shape}")
    if not np.isin(column, (0.0, 1.0)).all():
        raise requirement(parameter, owner, rule, float(column[~np.isin(column, (0.0, 1.0))][0]))
    return column == 1.0

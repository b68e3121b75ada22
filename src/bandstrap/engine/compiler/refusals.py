"""A kernel that fails, refused in the same sentence wherever it is played: plainly, compiled, simulated or live.

A kernel may raise an error, give an index that is not a number, or choose an arm that does not exist. Python's errors do
not say which arm and round they belong to, so play notes where the kernel is before it is called: a whole number for the
arm and one for the round, in a place that compiled code and Python share. Infinite indices are numbers like any other:
an arm with ``inf`` is pulled first, one with ``-inf`` last.

Compiled functions from outside the package raise what the same functions raise in Python: those of ``math``, see
``checked_math.py``, and arrays, whose bounds are checked. Two differences remain. Where a power ``x ** y`` is beyond the
largest float, Python raises an ``OverflowError`` and compiled code goes on with ``inf``; and its integers have 64 bits.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bandstrap.engine.compiler.kernel import Kernel, inlined, is_ours
from bandstrap.errors import InvalidInput, is_whole

# Where a kernel is: the arm that is scored or learned of, and the round.
Place: TypeAlias = list[int] | NDArray[np.int64]
ARM, ROUND = 0, 1
# What stands for an arm before any is scored. The arms whose rewards are learned come below, see ``learning``.
NOBODY = -1
# What Python raises in a kernel that is wrong. What comes from elsewhere, such as a signal, is none of it.
KERNEL_ERRORS = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, TypeError, ValueError)

NO_NUMBER = "no number"
WORDS = {ZeroDivisionError: "a division by zero", OverflowError: "an overflow", IndexError: "an index out of bounds"}


class NotANumber(ArithmeticError):
    """A score that is not a number, or a choice that is not a whole number."""


class NoArm(ArithmeticError):
    """A choice out of range."""


class PolicyFailure(InvalidInput):
    """A policy's own functions fail; the message says which policy and function, in which round and for which arm."""


@inlined
def learning(arm: int) -> int:
    """Placeholder for an arm while its reward is learned; its own inverse."""
    return NOBODY - 1 - arm


def as_arm(chosen: Any, n_arms: int, at: Place) -> int:
    """A choice, if it is one of so many arms."""
    if not is_whole(chosen):
        raise NotANumber
    if not 0 <= chosen < n_arms:
        at[ARM] = int(chosen)
        raise NoArm
    return int(chosen)


def as_index(value: Any) -> Any:
    """A score as it is; compiled code has NaN in the place of what cannot be compared, which Python refuses itself."""
    return value


def refusal(policy: Any, error: Exception, at: Place | tuple[int, int], labels: Sequence[object]) -> PolicyFailure:
    """The one sentence for a failure of a policy's kernel.

    Parameters
    ----------
    policy
        Whose kernel it is.
    error
        What was raised.
    at
        Where the kernel was.
    labels
        Labels of the arms or actions that it was shown.
    """
    kernel: Kernel = policy.kernel
    arm, got = int(at[ARM]), reason(error)
    part, rule = "score", "give a number for each arm, which may be inf or -inf"
    if isinstance(error, NoArm) and policy.plays == "actions" and arm < 0 and is_ours(kernel.home):  # see ``highest``
        part, rule, arm, got = "choose", "compare numbers", NOBODY - arm, NO_NUMBER
    elif isinstance(error, NoArm):
        part, rule, arm, got = "choose", f"give an integer from 0 to {len(labels) - 1}", NOBODY, str(arm)
    elif arm < NOBODY:
        part, rule = "learn", "take in every reward"
        arm = learning(arm) if policy.plays != "actions" else NOBODY  # an action is learned of by its features
    elif kernel.choose is not None:
        part, rule = "choose", f"give an integer from 0 to {len(labels) - 1}"
    elif arm == NOBODY:
        part, rule = "prepare", "give what all arms share"
    about = f" for {'action' if policy.plays == 'actions' else 'arm'} {labels[arm]}" if arm != NOBODY else ""
    place = f"{about} in round {int(at[ROUND])}"
    return PolicyFailure(f"The '{part}' function of {type(policy).__name__} must {rule}. Got {got}{place} instead.")


def reason(error: Exception) -> str:
    """Reason of a failure, in words that do not depend on whether Python or compiled code says so."""
    frames = list(traceback.walk_tb(error.__traceback__))
    is_ours_to_compare = bool(frames) and frames[-1][0].f_globals.get("__name__") == "bandstrap.engine.compiler.steps"
    if isinstance(error, NotANumber) or (isinstance(error, TypeError) and is_ours_to_compare):
        return NO_NUMBER
    for kind, words in WORDS.items():
        if isinstance(error, kind):
            return words
    said = " ".join(str(error).split()).rstrip(".")
    if isinstance(error, ValueError) and said.startswith(("math domain error", "expected a ")):  # Python 3.14 says more
        return "a math domain error"
    return f"{type(error).__name__}: {said}" if said else type(error).__name__

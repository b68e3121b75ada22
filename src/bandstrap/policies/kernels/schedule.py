"""The error probability ``alpha_t`` of round ``t``, as a rule that compiled code can follow."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

from bandstrap.engine.compiler.kernel import inlined
from bandstrap.errors import brief, check_count, check_number, is_number, requirement

LevelRule = Literal["1/(t+1)", "1/T^2", "1/(t log^tau t)"]
RULES: dict[LevelRule, int] = {word: code for code, word in enumerate(get_args(LevelRule))}
ANYTIME, FIXED, LOGARITHMIC = RULES.values()
# What a policy may be told: a rule, a number, or what gives the number of a round.
Alpha = LevelRule | float | Callable[[int], float]
# A smaller error probability has no normal quantile in floating point, once a part of it is taken.
SMALLEST_ALPHA = 1e-250
# (log t)^tau stays finite for any number of rounds that can be counted.
LARGEST_TAU = 100


class Schedule(NamedTuple):
    """A rule and its number: the error probability itself, or ``tau``."""

    rule: int
    value: float


@inlined
def error_probability(schedule: Schedule, round_: int) -> float:
    """``alpha_t``; the rules give no more than 1/2."""
    if schedule.rule == ANYTIME:
        return 1.0 / (round_ + 1.0)
    if schedule.rule == FIXED:
        return schedule.value
    t = max(round_, 3)
    return min(0.5, 1.0 / (t * math.log(t) ** schedule.value))


@inlined
def exploration(t: float, c: float) -> float:
    """``log t + c log log t``, what the policies built on a divergence spend in round ``t``."""
    log = math.log(t)
    return log + c * math.log(max(log, 1.0))


def make_schedule(alpha: object, tau: float, horizon: int | None, owner: str) -> Schedule:
    """Check ``alpha`` and turn it into a rule."""
    if check_number(tau, "tau", owner, above=0) > LARGEST_TAU:
        raise requirement("tau", owner, f"at most {LARGEST_TAU}", tau)
    rounds = None if horizon is None else check_count(horizon, "horizon", owner)
    if isinstance(alpha, str) and alpha in RULES:
        if RULES[alpha] == FIXED:
            if rounds is None:
                rule = "given for alpha='1/T^2' online; simulate() fills it in"
                raise requirement("horizon", owner, rule, "None")
            return Schedule(FIXED, 1.0 / max(rounds, 2) ** 2)
        return Schedule(RULES[alpha], float(tau))
    if not is_number(alpha):
        choices = ", ".join(repr(name) for name in RULES)
        raise requirement("alpha", owner, f"one of {choices}, a number in (0, 1) or a callable", brief(alpha))
    level = check_number(alpha, "alpha", owner, above=0, below=1)
    if level < SMALLEST_ALPHA:
        raise requirement("alpha", owner, f"at least {SMALLEST_ALPHA:g}", level)
    return Schedule(FIXED, level)

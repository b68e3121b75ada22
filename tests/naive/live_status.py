"""How a live experiment stands, counted row by row in Python."""

import math
from collections import Counter, defaultdict
from statistics import fmean, variance

from scipy import stats


def naive_counts(experiment, now, day, most_recent):
    """Decisions by source, what was served and chosen, what waits for a reward, and rewards learned by arm."""
    settle = experiment.definition.settle
    records = list(experiment.store.records(experiment.row.id, settle))
    ours = [(decision, outcome) for decision, outcome in records if decision.source != "holdout"]
    chosen = [decision.arm if decision.proposed is None else decision.proposed for decision, _ in ours]
    waiting = unanswered = inactive = voided = 0
    learned = defaultdict(list)
    for decision, outcome in sorted(ours, key=lambda record: record[1].seq or 0):
        start = outcome.activated_at if decision.deferred else decision.decided_at
        if outcome.is_void:
            voided += 1
        elif outcome.kind in ("reward", "default"):
            learned[decision.arm].append(outcome.reward)
        elif start is None:
            inactive += 1
        elif settle.window is None or now < start + settle.window:
            waiting += 1
        else:
            unanswered += 1
    return {
        "by_source": Counter(decision.source for decision, _ in records),
        "served": Counter(decision.arm for decision, _ in ours),
        "chosen": Counter(chosen),
        "of_day": Counter(
            arm for arm, (decision, _) in zip(chosen, ours, strict=True) if decision.decided_at > now - day
        ),
        "recent": Counter(chosen[-most_recent:]),
        "open": waiting,
        "unanswered": unanswered,
        "inactive": inactive,
        "voided": voided + sum(outcome.is_void for decision, outcome in records if decision.source == "holdout"),
        "defaults": sum(outcome.kind == "default" and not outcome.is_void for _, outcome in ours),
        "learned": dict(learned),
    }


def naive_interval(rewards, alpha=0.05):
    """Student's interval; none where rewards do not differ."""
    if len(rewards) < 2 or len(set(rewards)) == 1:
        return None
    mean, error = fmean(rewards), math.sqrt(variance(rewards) / len(rewards))
    return stats.t.interval(1 - alpha, len(rewards) - 1, mean, error)


def naive_units(experiment, since):
    """Mean rewards of units: of the policy, and of the holdout."""
    rewards = defaultdict(list)
    for decision, outcome in experiment.store.records(experiment.row.id, experiment.definition.settle):
        if outcome.reward is not None and not outcome.is_void and decision.version >= since:
            who = ("unit", decision.unit) if decision.unit is not None else ("decision", decision.id)
            rewards[decision.source == "holdout", who].append(outcome.reward)
    return [[fmean(values) for (held, _), values in rewards.items() if held == group] for group in (False, True)]


def naive_quantile(values, share):
    """The smallest value that a share of all do not exceed."""
    ordered = sorted(values)
    return next(value for i, value in enumerate(ordered, 1) if i >= share * len(ordered) - 1e-9)

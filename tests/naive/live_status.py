"""How a live experiment stands, counted row by row in Python."""

import math
from collections import Counter, defaultdict
from statistics import fmean, variance

from scipy import stats


def naive_counts(experiment, now, day, most_recent):
    """Decisions by source, what was served and chosen, what waits for a reward, and rewards learned by arm."""
    settle = experiment.definition.settle
    records = list(experiment.store.records(experiment.row.id, settle))
    ours = [record for record in records if record.decision.source != "holdout"]
    chosen = [record.decision.arm if record.decision.proposed is None else record.decision.proposed for record in ours]
    waiting = unanswered = inactive = 0
    learned = defaultdict(list)
    for record in sorted(ours, key=lambda record: record.seq or 0):
        start = record.activated_at if record.decision.deferred else record.decision.decided_at
        if record.kind in ("reward", "default"):
            learned[record.decision.arm].append(record.reward)
        elif start is None:
            inactive += 1
        elif settle.window is None or now < start + settle.window:
            waiting += 1
        else:
            unanswered += 1
    return {
        "by_source": Counter(record.decision.source for record in records),
        "served": Counter(record.decision.arm for record in ours),
        "chosen": Counter(chosen),
        "of_day": Counter(
            arm for arm, record in zip(chosen, ours, strict=True) if record.decision.decided_at > now - day
        ),
        "recent": Counter(chosen[-most_recent:]),
        "open": waiting,
        "unanswered": unanswered,
        "inactive": inactive,
        "defaults": sum(record.kind == "default" for record in ours),
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
    for record in experiment.store.records(experiment.row.id, experiment.definition.settle):
        decision = record.decision
        if record.reward is not None and decision.version >= since:
            who = ("unit", decision.unit) if decision.unit is not None else ("decision", decision.id)
            rewards[decision.source == "holdout", who].append(record.reward)
    return [[fmean(values) for (held, _), values in rewards.items() if held == group] for group in (False, True)]


def naive_quantile(values, share):
    """The smallest value that a share of all do not exceed."""
    ordered = sorted(values)
    return next(value for i, value in enumerate(ordered, 1) if i >= share * len(ordered) - 1e-9)

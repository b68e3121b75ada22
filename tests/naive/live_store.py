"""The store of live experiments as its rules say it: dictionaries, no queue, every decision looked at each time."""

import math


class NaiveStore:
    def __init__(self, settle):
        self.settle = settle
        self.now = 0.0
        self.decisions = {}  # id -> (time, arm, source, deferred)
        self.activations = {}  # id -> time
        self.rewards = {}  # (id, key) -> (time, number, value, late)
        self.log = []  # (kind, id, arm, reward)

    @property
    def learned(self):
        return {decision for _, decision, _, _ in self.log if decision is not None}

    def on_arrival(self):
        return self.settle.aggregate == "first" and self.settle.default_reward is None

    def decide(self, decision, arm, source, deferred):
        self.decisions.setdefault(decision, (self.now, arm, source, deferred))
        return self.decisions[decision]

    def start(self, decision):
        """When the window of a decision began, if it has."""
        time, _, _, deferred = self.decisions[decision]
        return self.activations.get(decision) if deferred else time

    def reward(self, decision, key, value):
        if (decision, key) in self.rewards:
            return "duplicate"
        start, window = self.start(decision), self.settle.window
        is_closed = start is not None and window is not None and self.now >= start + window
        late = is_closed or decision in self.learned
        self.rewards[decision, key] = (self.now, len(self.rewards), value, late)
        return "late" if late else "stored"

    def activate(self, decision):
        deferred = self.decisions[decision][3]
        is_first = deferred and decision not in self.activations
        if is_first:
            self.activations[decision] = self.now
        return is_first

    def counted(self, decision):
        """Rewards that count, in the order of arrival, as (time, value)."""
        rows = [row for (owner, _), row in self.rewards.items() if owner == decision and not row[3]]
        return [(time, value) for time, _, value, _ in sorted(rows)]

    def settled(self, decision):
        values = [value for _, value in self.counted(decision)]
        if not values and self.settle.default_reward is None:
            return "nothing", None
        if not values:
            return "default", self.settle.default_reward
        return "reward", {"first": values[0], "last": values[-1], "sum": math.fsum(values)}[self.settle.aggregate]

    def refresh(self):
        due = []
        for decision, (_, _, source, _) in self.decisions.items():
            start = self.start(decision)
            if source == "holdout" or start is None or decision in self.learned:
                continue
            if not self.on_arrival():
                time = start + self.settle.window
            elif self.counted(decision):
                time = max(start, self.counted(decision)[0][0])
            else:
                continue
            if time <= self.now:
                due.append((time, len(due), decision))  # at the same time, in the order in which they were made
        for _, _, decision in sorted(due):
            kind, reward = self.settled(decision)
            self.log.append((kind, decision, self.decisions[decision][1], reward))
        return len(self.log)

    def change(self):
        self.log.append(("change", None, None, None))
        return len(self.log)

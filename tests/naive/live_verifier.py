"""Everything that an experiment in a file of SQLite must be, made again from docs/live.md: the slow twin of ``replay``.

Plain Python over the tables, and policies by their public methods; nothing of ``bandstrap.live`` is used.
"""

import hashlib
import itertools
import json
import math
import sqlite3
from collections import defaultdict

import numpy as np

from bandstrap.basics.calls import parse_call
from bandstrap.names import NAMED_POLICIES

WHOLE = 2**53


def text_of(*parts):
    """Numbers and words one after the other, each behind its kind and its length in bytes."""
    coded = [(b"i" if isinstance(part, int) else b"s", str(part).encode()) for part in parts]
    return b"".join(b"%b%d:%b" % (kind, len(data), data) for kind, data in coded)


def point_of(*parts):
    """The first 53 bits of SHA-256, as a whole number."""
    return int.from_bytes(hashlib.sha256(text_of(*parts)).digest()[:8], "big") >> 11


def generator(seed, word, number):
    """PCG64 whose state and increment are the halves of SHA-256, the lowest byte first; an increment is odd."""
    digest = hashlib.sha256(text_of(seed, word, number)).digest()
    bits = np.random.PCG64()
    inner = {"state": int.from_bytes(digest[:16], "little"), "inc": int.from_bytes(digest[16:], "little") | 1}
    bits.state = {"bit_generator": "PCG64", "state": inner, "has_uint32": 0, "uinteger": 0}
    return np.random.Generator(bits)


class State:
    """What is known after the first entries of the log."""

    def __init__(self, name, definition):
        self.name, self.settings, self.version = name, dict(definition), 0
        self.seed, self.labels = definition["seed"], list(definition["arms"])
        self.is_linear = not self.labels
        self.status = ["active"] * len(self.labels)
        self.rewards = [0] * len(self.labels)
        call = parse_call(definition["policy"])
        options = call.options if self.is_linear else call.options | {"arms": len(self.labels)}
        rng = generator(self.seed, "start", 0)
        self.policy = NAMED_POLICIES[call.name](**options, rng=rng, direction=definition["direction"])

    def learn(self, entry, context, change):
        """Take in the next entry of the log."""
        self.version += 1
        self.policy.rng = generator(self.seed, "learn", self.version)
        if entry["kind"] == "change":
            self.change(change["kind"], json.loads(change["body"]))
        elif entry["kind"] != "nothing":
            reward = max(-1e150, min(1e150, entry["reward"]))  # a sum may be larger than what policies take
            self.policy.update(json.loads(context)[entry["arm"]] if self.is_linear else entry["arm"], reward)
            if not self.is_linear:
                self.rewards[entry["arm"]] += 1

    def change(self, kind, body):
        """Let a change of arms or settings take effect."""
        if kind == "add_arm":
            self.policy.add_arm(len(self.labels))
            self.labels.append(body["arm"])
            self.status.append("active")
            self.rewards.append(0)
        elif kind in ("pause", "resume", "retire"):
            self.status[self.labels.index(body["arm"])] = {"resume": "active"}.get(kind, kind)
        elif kind == "settings":
            self.settings |= body

    def ask(self, arms):
        """The policy's own weights among some arms."""
        rng = generator(self.seed, "weights", self.version)
        weights = self.policy.weights(self.settings["draws"], available=arms, rng=rng)
        return [float(weights[arm]) for arm in arms]

    def shares(self, arms):
        """The weights of arms that can be served: the policy's, with limits for new arms and the floor."""
        floor, n_arms = self.settings["floor"], len(arms)
        needed = max(1, self.policy.n_initial)
        fit = [arm for arm in arms if self.rewards[arm] >= needed]
        old = [arm for arm in fit if self.rewards[arm] >= self.settings["burn_in"]]
        if not old:
            return [1 / n_arms for _ in arms]
        cap = min(self.settings["new_arm_share"], 1 / n_arms)
        weights = {}
        if len(old) < n_arms:
            wish = dict(zip(fit, self.ask(fit), strict=True))
            for arm in arms:
                if arm not in old:
                    weights[arm] = min((1 - floor) * min(wish.get(arm, cap), cap) + floor / n_arms, cap)
        rest = 1 - sum(weights.values()) - len(old) * (floor / n_arms)
        for arm, own in zip(old, self.ask(old), strict=True):
            weights[arm] = floor / n_arms + rest * own
        return [weights[arm] for arm in arms]

    def weights(self, available, context):
        """The chance of every arm or action, in whole numbers of 2^-53."""
        if self.is_linear:
            actions = np.array(json.loads(context))
            rng = generator(self.seed, "weights", self.version)
            own = np.asarray(self.policy.weights(actions, self.settings["draws"], rng=rng)).tolist()
            floor = self.settings["floor"]
            weights = [(1 - floor) * weight + floor / len(own) for weight in own]
        else:
            arms = [arm for arm, status in enumerate(self.status) if status == "active"]
            if available is not None:
                arms = [arm for arm in arms if arm in available]
            weights = [0.0] * len(self.labels)
            for arm, weight in zip(arms, self.shares(arms), strict=True):
                weights[arm] = weight
        sums = list(itertools.accumulate(weights))
        ends = [round(end / sums[-1] * WHOLE) for end in sums]
        return [end - start for start, end in zip([0, *ends], ends, strict=False)]

    def decide(self, key, unit, available, context):
        """Source, arm, proposed arm, propensity and weights of a decision."""
        settings = self.settings
        control = self.labels.index(settings["control"]) if settings["control"] in self.labels else settings["control"]
        if point_of(self.seed, self.name, "holdout", key if unit is None else unit) < settings["holdout"] * WHOLE:
            return "holdout", control, None, 1.0, None
        widths = self.weights(available, context)
        point = point_of(self.seed, self.name, key)
        arm = next(arm for arm, end in enumerate(itertools.accumulate(widths)) if point < end)
        weights = [width / WHOLE for width in widths]
        if settings["mode"] == "shadow":
            return "shadow", control, arm, 1.0, weights
        return "policy", arm, None, weights[arm], weights


class Tables:
    """What is stored of an experiment."""

    def __init__(self, path, name):
        base = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        base.row_factory = sqlite3.Row
        base.execute("BEGIN")
        ((number, definition),) = base.execute("SELECT id, definition FROM live_experiment WHERE name = ?", (name,))
        self.name, self.definition = name, json.loads(definition)

        def rows(table, order):
            query = f"SELECT * FROM {table} WHERE experiment = ? ORDER BY {order}"  # noqa: S608
            found = map(dict, base.execute(query, (number,)).fetchall())
            return [row | {"decision": ids[row["decision"]]} if row.get("decision") in ids else row for row in found]

        ids, texts = {}, dict(map(tuple, base.execute("SELECT hash, body FROM live_text")))
        decisions = rows("live_decision", "number")
        for row in decisions:
            row |= {name: texts.get(row[name]) for name in ("available", "build")}
            row["weights"] = row["own_weights"] if row["weights"] is None else texts[row["weights"]]
        ids = {row["number"]: row["id"] for row in decisions}
        self.decisions = {row["id"]: row for row in decisions}
        self.log = rows("live_learned", "seq")
        self.entries = {entry["decision"]: entry for entry in self.log if entry["kind"] != "change"}
        self.changes = {row["seq"]: row for row in rows("live_change", "seq")}
        voids = [row for row in self.changes.values() if row["kind"] == "void"]
        self.voided = {json.loads(row["body"])["decision"]: (row["seq"], row["at"]) for row in voids}
        self.activated = {
            ids.get(number): at for number, at in base.execute("SELECT decision, at FROM live_activation")
        }
        self.rewards = defaultdict(list)
        for row in rows("live_reward", "received_at, id"):
            self.rewards[row["decision"]].append(row)
        base.close()


def verify(path, name, refreshed_at=-math.inf):
    """All that is wrong with an experiment, in words.

    ``refreshed_at`` is a time before the last refresh: what was due by then must be in the log.
    """
    tables = Tables(path, name)
    return [*wrong_entries(tables, refreshed_at), *wrong_decisions(tables)]


def wrong_entries(tables, refreshed_at):
    """Where the log does not follow from decisions and rewards."""
    log, decisions = tables.log, tables.decisions
    if [entry["seq"] for entry in log] != list(range(1, len(log) + 1)):
        yield "the log has gaps"
    if {entry["seq"] for entry in log if entry["kind"] == "change"} != set(tables.changes):
        yield "the log and the audit trail have different changes"
    if not set(tables.entries) | set(tables.rewards) <= set(decisions):
        yield "there is a reward or an entry of no decision"
    dues = []
    for id_, decision in decisions.items():
        entry = tables.entries.get(id_)
        start = tables.activated.get(id_, math.inf) if decision["deferred"] else decision["decided_at"]
        settled = math.inf if entry is None else entry["at"]
        yield from wrong_rewards(tables, id_, start, settled)
        kind, value, due = settle(tables, id_, start)
        if entry is None:
            if due < refreshed_at:
                yield f"{id_} was due at {due} and is not in the log"
            continue
        if due > settled:
            yield f"{id_} was due at {due} and learned at {settled}"
        if (entry["kind"], entry["reward"], entry["arm"]) != (kind, value, decision["arm"]):
            yield f"{id_} is in the log as {entry}, not as {kind} {value} of arm {decision['arm']}"
        if waits(tables) or not decision["deferred"]:  # otherwise its activation may have put it in the log
            dues.append((entry["seq"], due, id_))
    for (_, before, first), (_, after, second) in itertools.pairwise(sorted(dues)):
        if before > after:
            yield f"{first} is in the log before {second}"


def waits(tables):
    """Whether decisions are settled when their windows close, and not when a reward arrives."""
    return tables.definition["default_reward"] is not None or tables.definition["aggregate"] != "first"


def wrong_rewards(tables, id_, start, settled):
    """Where a reward of a decision is late and should not be, or the other way round."""
    window = tables.definition["window"]
    for reward in tables.rewards.get(id_, ()):
        at = reward["received_at"]
        voided = tables.voided.get(id_, (0, math.inf))[1]
        is_late = at > min(settled, voided) or (window is not None and at >= start + window)
        if is_late != bool(reward["late"]) and at != settled:  # in the same millisecond either may be right
            yield f"late is {reward['late']} for a reward of {id_} that came {at - start} seconds after it"


def settle(tables, id_, start):
    """How a decision is settled, with what, and from when on."""
    definition = tables.definition
    timely = [reward for reward in tables.rewards.get(id_, ()) if not reward["late"]]
    values = [reward["value"] for reward in timely]
    kind, value = (
        ("nothing", None) if definition["default_reward"] is None else ("default", definition["default_reward"])
    )
    if values:
        kind, value = "reward", values[0]
        if definition["aggregate"] != "first":
            value = values[-1] if definition["aggregate"] == "last" else math.fsum(values)
    due = math.inf
    if tables.decisions[id_]["source"] != "holdout":
        if waits(tables):
            due = start + definition["window"]
        elif timely:
            due = max(start, timely[0]["received_at"])
    return kind, value, due


def learn(tables, state, number, version):
    """Let a state take in an entry of the log, as it is known at a version."""
    entry = tables.log[number - 1]
    decision, change = tables.decisions.get(entry["decision"]), tables.changes.get(number)
    if tables.voided.get(entry["decision"], (math.inf, 0.0))[0] <= version:
        entry = dict(entry) | {"kind": "nothing"}
    state.learn(entry, decision and decision["context"], change)


def wrong_decisions(tables):
    """Where a decision does not follow from the log before its version."""
    state = State(tables.name, tables.definition)
    by_version = defaultdict(list)
    for decision in tables.decisions.values():
        by_version[decision["version"]].append(decision)
    for version in range(len(tables.log) + 1):
        if version:
            learn(tables, state, version, version)
            if version in tables.changes and tables.changes[version]["kind"] == "void":  # all of it again, without
                state = State(tables.name, tables.definition)
                for earlier in range(1, version + 1):
                    learn(tables, state, earlier, version)
        for row in by_version.pop(version, []):
            available = None if row["available"] is None else json.loads(row["available"])
            weights = None if row["weights"] is None else json.loads(row["weights"])
            stored = row["id"], row["source"], row["arm"], row["proposed"], row["propensity"], weights
            id_ = hashlib.blake2b(text_of(tables.name, row["key"]), digest_size=16).hexdigest()
            made = id_, *state.decide(row["key"], row["unit"], available, row["context"])
            if made != stored:
                yield f"the decision of key {row['key']!r} at version {version} is {stored}; made again it is {made}"
    if by_version:
        yield "there are decisions beyond the end of the log"

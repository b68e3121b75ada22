"""What workers were told, compared with itself and with what is stored: nothing lost, nothing there twice.

A history is the diaries of all workers: each call before it is made, each answer before anything else is done. ``judge``
needs nothing of ``bandstrap.live``. It finds

- *lost*: an acknowledged decision, reward, activation or change that is not stored;
- *doubled*: one that is stored, learned or reported as new twice;
- *wrong*: answers that contradict each other, or what is stored; versions that go back; rows that nobody asked for.

A server with a standby that is behind may give up, when it fails, what it acknowledged last. What is missing then must be
an end of the history: nothing that was begun after a missing call had been acknowledged may have survived. That much is
*given up*; anything else is lost.
"""

import bisect
import json
import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

CHANGES = ("add_arm", "pause", "resume", "retire", "change")


class Call(NamedTuple):
    """A call of a worker; ``result`` is None if there was no answer. Times are those of one clock of the machine."""

    worker: str
    method: str
    arguments: dict[str, Any]
    result: Any = None
    began: float = math.nan
    ended: float = math.inf

    @property
    def is_acknowledged(self):
        """Whether it was answered, and not refused."""
        return self.result is not None and not (isinstance(self.result, dict) and "refused" in self.result)


@dataclass
class Stored:
    """Rows of the tables of one experiment, and the labels of its arms."""

    decisions: list[dict]
    activations: list[str] = field(default_factory=list)  # ids of decisions
    rewards: list[dict] = field(default_factory=list)
    learned: list[dict] = field(default_factory=list)
    changes: list[dict] = field(default_factory=list)
    arms: list[str] = field(default_factory=list)


@dataclass
class Findings:
    """What came of a history."""

    acknowledged: int = 0
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    given_up: int = 0

    @property
    def is_sound(self):
        return not (self.lost or self.doubled or self.wrong)

    def __str__(self):
        found = {name: getattr(self, name)[:3] for name in ("lost", "doubled", "wrong") if getattr(self, name)}
        return f"{self.acknowledged} acknowledged, {self.given_up} given up; {found or 'nothing wrong'}"


def read_lines(path):
    """The whole lines of a diary."""
    return [json.loads(line) for line in Path(path).read_bytes().split(b"\n")[:-1]]


def read(*diaries):
    """The calls of some diaries; one that was made again is there twice."""
    history = []
    for path in diaries:
        calls = []
        for line in read_lines(path):
            if "call" in line:
                calls.append(Call(Path(path).stem, line["call"], line["with"], None, line["at"]))
            else:
                calls[-1] = calls[-1]._replace(result=line["result"], ended=line["at"])
        history += calls
    return history


def judge(history, stored, failures=()):
    """Compare a history with what is stored; ``failures`` are times at which a server failed for good."""
    judgement = Judgement(history, stored, sorted(failures))
    judgement.decisions()
    judgement.rewards()
    judgement.activations()
    judgement.changes()
    judgement.log()
    judgement.versions()
    judgement.tell_lost()
    return judgement.findings


class Judgement:
    """The rules, one a method."""

    def __init__(self, history, stored, failures):
        self.history, self.stored, self.failures = history, stored, failures
        self.findings = Findings()
        self.missing = []  # pairs of a call and what it was told that is not there
        self.survived = defaultdict(
            lambda: -math.inf
        )  # by era: the last beginning of a call of which something is there

    def era(self, call):
        """How many failures came before the end of a call."""
        return bisect.bisect(self.failures, call.ended)

    def spans(self, call):
        """Whether a server failed during a call: either that server or the next one may have answered it."""
        return bisect.bisect(self.failures, call.began) != self.era(call)

    def acknowledge(self, call, is_there, what, *, wrote=True):
        """Note something that was acknowledged; what a call found there already says nothing of when the history ends."""
        self.findings.acknowledged += 1
        if is_there:
            if not wrote or self.spans(call):
                return
            self.survived[self.era(call)] = max(self.survived[self.era(call)], call.began)
        else:
            self.missing.append((call, what))

    def tell_lost(self):
        """Whatever is missing is lost, unless a server that failed later may have given it up."""
        for call, what in self.missing:
            era = bisect.bisect(self.failures, call.began)
            if era < len(self.failures) and self.survived[era] <= call.ended:
                self.findings.given_up += 1
            else:
                self.findings.lost.append(what)

    def asked(self, *methods):
        return [call for call in self.history if call.method in methods]

    def decisions(self):
        """One row for each key and id, as it was told, whoever asked."""
        rows = {row["key"]: row for row in self.stored.decisions}
        for name in ("key", "id"):
            times = Counter(row[name] for row in self.stored.decisions)
            self.findings.doubled += [f"{times[word]} decisions of {name} {word}" for word in times if times[word] > 1]
        wanted = set()
        answers = {}
        for call in self.asked("decide", "decide_many"):
            wanted.update(call.arguments.get("keys") or [call.arguments["key"]])
            for told in call.result if call.is_acknowledged else ():
                key = told["key"]
                row, is_first = rows.get(key), key not in answers
                if answers.setdefault(key, told) != told:
                    self.findings.wrong.append(f"two answers to key {key}: {answers[key]} and {told}")
                what = f"decision of key {key} to {call.worker}"
                self.acknowledge(call, row is not None, what, wrote=is_first)
                if row is None:
                    continue
                kept = {name: row[name] for name in told}
                if isinstance(told["arm"], str):
                    kept["arm"] = self.stored.arms[row["arm"]]
                if kept != told:
                    self.findings.wrong.append(f"{call.worker} was told {told}; stored is {kept}")
        self.findings.wrong += [f"nobody asked for key {key}" for key in rows.keys() - wanted]

    def rewards(self):
        """Of each reward key one row, with the value of the call that was told so; others were told it is a duplicate."""
        rows = {(row["decision"], row["key"]): row for row in self.stored.rewards}
        times = Counter((row["decision"], row["key"]) for row in self.stored.rewards)
        self.findings.doubled += [f"{times[place]} rewards of {place}" for place in times if times[place] > 1]
        sent, new = defaultdict(set), defaultdict(list)
        answered = []
        may_be_new = set()  # stored by a call that has no answer
        for call in self.asked("reward_many"):
            given = [((id_, key or ""), value) for id_, value, key in call.arguments["rewards"]]
            for place, value in given:
                sent[place].add(value)
                if call.result is None:
                    may_be_new.add(place)
            for (place, value), outcome in zip(given, call.result if call.is_acknowledged else (), strict=False):
                answered.append((call, place, outcome != "duplicate"))
                if outcome != "duplicate":
                    new[place].append((self.era(call), call, value, outcome))
        for call, place, wrote in answered:
            # What is stored anew after a failure is not what was stored before it.
            again = max((era for era, *_ in new.get(place, ())), default=0)
            is_there = place in rows and self.era(call) >= again
            self.acknowledge(call, is_there, f"reward of {place} to {call.worker}", wrote=wrote)
        for place, told in new.items():
            eras = Counter(era for era, call, *_ in told if not self.spans(call))
            self.findings.doubled += [f"reward of {place}: stored {n} times" for n in eras.values() if n > 1]
            _, call, value, outcome = max(told, key=lambda one: one[0])
            row = rows.get(place)
            if row is not None and (row["value"], bool(row["late"])) != (value, outcome == "late"):
                self.findings.wrong.append(f"{call.worker} was told {outcome} of {value} for {place}; stored is {row}")
        for place, row in rows.items():
            if row["value"] not in sent[place]:
                self.findings.wrong.append(f"nobody sent the reward {row['value']} of {place}")
            if place not in new and place not in may_be_new:
                self.findings.wrong.append(f"nobody was told that the reward of {place} is stored")
        ids = {row["id"] for row in self.stored.decisions}
        self.findings.wrong += [f"a reward of the unknown decision {id_}" for id_, _ in rows if id_ not in ids]

    def activations(self):
        """Acknowledged ones of deferred decisions are there, and one at most was told that it was the first."""
        there = set(self.stored.activations)
        needless = {row["id"] for row in self.stored.decisions if not row["deferred"]}
        firsts = Counter()
        for call in self.asked("activate"):
            id_ = call.arguments["decision"]
            if call.is_acknowledged:
                what = f"activation of {id_} by {call.worker}"
                self.acknowledge(call, id_ in there | needless, what, wrote=call.result is True)
                firsts[id_, self.era(call)] += call.result is True and not self.spans(call)
        self.findings.doubled += [f"{n} first activations of {id_}" for (id_, _), n in firsts.items() if n > 1]
        known = {call.arguments["decision"] for call in self.asked("activate")}
        own = {row["id"] for row in self.stored.decisions}
        self.findings.wrong += [f"nobody activated {id_}" for id_ in there & own - known]

    def changes(self):
        """Each acknowledged change is in the log once, any other at most once; an actor makes one change."""
        made = Counter(row["actor"] for row in self.stored.changes)
        self.findings.doubled += [f"{n} changes of {actor}" for actor, n in made.items() if n > 1]
        for call in self.asked(*CHANGES):
            if call.is_acknowledged:
                self.acknowledge(call, made[call.arguments["actor"]] > 0, f"{call.method} of {call.worker}")
        asked = {call.arguments["actor"] for call in self.asked(*CHANGES)}
        self.findings.wrong += [f"nobody made the change of {actor}" for actor in made.keys() - asked]

    def log(self):
        """Entries 1, 2, 3, ..., each decision in one of them at most."""
        numbers = sorted(row["seq"] for row in self.stored.learned)
        if numbers != list(range(1, len(numbers) + 1)):
            self.findings.wrong.append(f"the log has gaps: {numbers[-1]} is its last entry of {len(numbers)}")
        times = Counter(row["decision"] for row in self.stored.learned if row["decision"] is not None)
        self.findings.doubled += [f"{n} entries of {id_} in the log" for id_, n in times.items() if n > 1]

    def versions(self):
        """A worker's versions never go back, nor does a refresh behind one that had ended; but for failures."""
        asked_by = defaultdict(set)
        for call in self.asked("decide", "decide_many"):
            for key in call.arguments.get("keys") or [call.arguments["key"]]:
                asked_by[key].add(call.worker)
        seen, known = defaultdict(list), set()
        refreshes = []
        for call in self.history:
            if not call.is_acknowledged or self.spans(call):
                continue
            if call.method == "refresh":
                seen[call.worker, self.era(call)].append(call.result)
                refreshes.append(call)
            elif call.method.startswith("decide"):
                new = [told for told in call.result if told["key"] not in known and len(asked_by[told["key"]]) == 1]
                seen[call.worker, self.era(call)] += [told["version"] for told in new]
                known.update(told["key"] for told in new)
        for (worker, _), versions in seen.items():
            self.findings.wrong += [
                f"{worker} went back from version {a} to {b}" for a, b in pairwise(versions) if b < a
            ]
        newest = defaultdict(lambda: -1)  # by era: of refreshes that have ended
        ends = [(call.ended, 0, call) for call in refreshes]
        for _, is_beginning, call in sorted(
            ends + [(call.began, 1, call) for call in refreshes], key=lambda one: one[:2]
        ):
            era = self.era(call)
            if not is_beginning:
                newest[era] = max(newest[era], call.result)
            elif call.result < newest[era]:
                self.findings.wrong.append(f"{call.worker} refreshed to {call.result}, behind {newest[era]}")

"""The readout of an experiment: the same by every door and worker, for every rule of settling."""

import json
import math
import random

import pytest

from bandstrap import live
from bandstrap.errors import InvalidInput
from bandstrap.evidence import LogEvidence, readout
from bandstrap.live import evidence, fold
from bandstrap.live.evidence import CountedDecisions
from command_line import runner
from live.checkout import at
from sampling import telling

START, WINDOW = 1e9, 60.0
WAITS = {"window": WINDOW}
RULES = {
    "no window": {},
    "arrival": WAITS,
    "default": WAITS | {"default_reward": 0.0},
    "last": WAITS | {"aggregate": "last", "direction": "min", "policy": "ucb1", "reward_range": (0.0, 2.0)},
    "sum": WAITS | {"aggregate": "sum", "policy": "ucb1", "reward_range": (0.0, 2.0)},
}


@pytest.fixture
def run(monkeypatch, capsys):
    return runner(monkeypatch, capsys)


def visit(experiment, now, n, seed=0):
    """``n`` rounds of decisions, one every ten seconds: deferred, activated late, rewarded late or never, in shadow."""
    rng = random.Random(seed)  # noqa: S311 - not secret
    waiting = []
    for i in range(n):
        at(experiment, now + 10.0 * i)
        waiting += [experiment.decide(f"u{unit}", defer=i % 3 == 0) for unit in rng.choices(range(40), k=20)]
        rng.shuffle(waiting)
        for decision in (waiting.pop() for _ in range(12)):
            experiment.activate(decision.id)
            value = float(rng.random() < {"red": 0.1, "green": 0.5}.get(decision.arm, 0.3))
            for key in "ab"[: rng.randrange(3)]:
                experiment.reward(decision.id, value, key)
        if i == 7:
            experiment.add_arm("blue")
        if i in (2, 4):
            experiment.change(mode={2: "shadow", 4: "live"}[i])
    return now + 10.0 * n


def counted_slowly(experiment):
    """The rules of counting, decision by decision, and how many of the policy's are not final."""
    definition, state = experiment.definition, experiment.state
    window, final = definition.window, experiment.store.final_until(experiment.row.id)
    ends = {"sum": None, "last": (0.0, 2.0)}.get(definition.aggregate, (0.0, 1.0))
    rule = {"low": ends[0], "high": ends[1]} if ends else {}
    log = LogEvidence(state.arms, direction=definition.direction, **rule)
    records = list(experiment.store.records(experiment.row.id, definition.settle))
    if window is None:
        records = sorted((record for record in records if record[1].seq is not None), key=lambda record: record[1].seq)
    for place, (decision, outcome) in enumerate(records):
        if decision.source != "policy":
            continue
        is_shown = True
        if window is not None:
            end = decision.decided_at + window
            if decision.deferred:
                is_shown = outcome.activated_at is not None and outcome.activated_at <= end
                end = outcome.activated_at + window if is_shown else end
            if (decision.decided_at if outcome.seq else end) >= final:
                return log, sum(later.source == "policy" for later, _ in records[place:])
        if not outcome.is_void:
            weights = json.loads(decision.weights)
            weights += [0.0] * (len(state.arms) - len(weights))
            reward = math.nan if outcome.reward is None else outcome.reward
            log.update(decision.arm, reward, weights, active=[is_shown], times=decision.decided_at)
    return log, 0


def rounded(found):
    """Numbers with ten digits: the health of arms that join later is scaled."""
    return json.loads(json.dumps(found), parse_float=lambda text: f"{float(text):.10g}")


def check_doors(experiment, target, path, run):
    """Who counts on, who begins, the command line and the export say what slow counting says."""
    found = experiment.readout().to_dict()
    log, n_open = counted_slowly(experiment)
    assert rounded(readout(log, control="red").to_dict() | {"notes": found["notes"]}) == rounded(found)
    assert any(note.endswith(f": {n_open}.") for note in found["notes"]) == (n_open > 0)
    with live.open(target, "shop") as other:
        other.store.now = experiment.store.now
        assert repr(other.readout().to_dict()) == repr(found)
    experiment.export(path)
    assert rounded(json.loads(run("readout", path, "--format", "json").stdout)) == rounded(found)
    return found


@telling("name", RULES, ["no window", "arrival"])
def test_every_door_counts_the_same_decisions(name, target, tmp_path, run, monkeypatch):
    for query in ("IN_TIME", "IN_LOG"):
        monkeypatch.setattr(evidence, query, getattr(evidence, query).replace("LIMIT 5000", "LIMIT 37"))
    monkeypatch.setattr(evidence, "PAGE", 37)
    monkeypatch.setattr(evidence, "EVERY", 50)
    monkeypatch.setattr(fold, "FEWEST_ENTRIES", 50)
    options = {"policy": "bernoulli_ts", "arms": ["red", "green"], "control": "red", "holdout": 0.1, "refresh": 0}
    path = tmp_path / "log.parquet"
    with live.create(target, "shop", seed=1, **options | RULES[name]) as experiment:
        monkeypatch.setattr(type(experiment.store), "in_flight", 0.0)  # nobody else writes
        now = visit(experiment, START, 14)
        stored = experiment.store.latest_snapshot(experiment.row.id, evidence.PREFIX + experiment.build.id)
        assert CountedDecisions.from_json(stored.body).log.n_decisions > 0  # by a worker that nobody asked
        first = check_doors(experiment, target, path, run)
        assert first["n_decisions"] > 50
        # Rewards are taken back, a clock is put back, and time goes by.
        records = list(experiment.store.records(experiment.row.id, experiment.definition.settle))
        for decision, _ in records[5:25:5]:
            experiment.void(decision.id)
        visit(experiment, START + 25.0, 3, seed=1)
        at(experiment, now + 2 * WINDOW)
        last = check_doors(experiment, target, path, run)
        assert last["n_decisions"] > first["n_decisions"]
        assert (last["n_inactive"] > 0) == ("window" in RULES[name])
        done = run("live", "readout", target, "shop", "--format", "json", "--html", tmp_path / "page.html")
        assert json.loads(done.stdout) == last
        assert last["sentence"].split("'")[0] in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_damaged_evidence_is_counted_again_and_what_cannot_be_compared_is_refused(tmp_path, monkeypatch):
    file = tmp_path / "shop.db"
    with live.create(file, "shop", policy="ucb1", arms=["red", "green"], seed=1) as experiment:
        decisions = experiment.decide_many([f"u{i}" for i in range(1200)])
        experiment.reward_many([(decision.id, float(i % 3 == 0)) for i, decision in enumerate(decisions)])
        expected = experiment.readout().to_dict()
        stored = experiment.store.latest_snapshot(experiment.row.id, evidence.PREFIX + experiment.build.id)
        assert json.loads(stored.body)["log"]["n_decisions"] == 1200
        assert experiment.status().snapshot.trouble is None  # evidence is no snapshot of the policy
        for body in (
            '{"format": 1}',
            stored.body.replace('"n_rows":1200', '"n_rows":-1'),
            "[" * 100_000,
            stored.body[:-9],
        ):
            row = (experiment.row.id, stored.version, stored.build, stored.link, body)
            for checked in (fold.checksum(body), "0"):
                experiment.store.save_snapshot(*row, checked)
                with live.open(file, "shop") as other:
                    assert other.readout().to_dict() == expected
        for wrong in ({"control": "teal"}, {"alpha": 0.0}, {"epsilon": -1.0}):
            with pytest.raises(InvalidInput, match=next(iter(wrong))):
                experiment.readout(**wrong)
    with (
        live.create(file, "linear", policy="lin_ucb:dimension=2") as experiment,
        pytest.raises(InvalidInput, match="arms"),
    ):
        experiment.readout()

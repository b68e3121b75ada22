"""Random experiments of several workers, made again by a verifier that knows docs/live.md and nothing of the package."""
# ruff: noqa: S608 - statements are made of this file's own parts

import sqlite3
import time

import numpy as np
import pytest

from bandstrap import live
from bandstrap.errors import InvalidInput
from bandstrap.live import fold
from naive.live_verifier import verify
from sampling import telling

# subsample_duels keeps its rewards.
pytestmark = pytest.mark.filterwarnings("ignore::bandstrap.errors.SlowWarning")
POLICIES = (
    "ucb1:sigma=2",
    "edgeworth_ucb",
    "edgeworth_ucb:randomized=true",
    "bootstrapped_ucb_plus",
    "gaussian_ts",
    "epsilon_greedy",
    "subsample_duels",
    "lin_ucb:dimension=3",
    "linear_ts:dimension=3",
)


def draw_settings(rng, policy):
    """Settings of all kinds; windows are a few hundredths of a second."""
    settings = {
        "policy": policy,
        "seed": int(rng.integers(10**6)),
        "direction": str(rng.choice(["max", "min"])),
        "floor": float(rng.choice([0, 0.02, 0.3])),
        "holdout": float(rng.choice([0, 0.2])),
        "mode": str(rng.choice(["live", "live", "shadow"])),
        "refresh": float(rng.choice([0, 0.02])),
        "draws": int(rng.choice([1, 20, 100])),
        "window": float(rng.choice([0.02, 0.1])),
        "aggregate": str(rng.choice(["first", "last", "sum"])),
        "default_reward": 0.5 if rng.random() < 0.5 else None,
        "durability": "normal",
    }
    if policy.startswith("lin"):
        return settings | {"control": 0}
    arms = [f"arm {number}" for number in range(rng.integers(2, 6))]
    limits = {"burn_in": int(rng.choice([0, 1, 3, 30])), "new_arm_share": float(rng.choice([0.3, 0.8]))}
    return settings | {"arms": arms, "control": arms[0]} | limits


class Player:
    """Whatever may happen to an experiment, at random."""

    def __init__(self, rng, path, settings):
        self.rng, self.path = rng, path
        self.arms = settings.get("arms", [])
        self.workers = [live.create(path, "über <b>", **settings)]
        self.ids = []

    def act(self):
        worker = self.workers[self.rng.integers(len(self.workers))]
        action = self.rng.choice(
            [self.decide, self.reward, self.activate, self.wait, self.change, self.open, self.void],
            p=[0.4, 0.32, 0.07, 0.05, 0.1, 0.04, 0.02],
        )
        try:
            action(worker)
        except InvalidInput:  # the last active arm is to be paused, the control is not available, and so on
            assert action in (self.decide, self.change)

    def decide(self, worker):
        rng = self.rng
        units = [f"u{rng.integers(60)}" if rng.random() < 0.8 else None for _ in range(rng.integers(1, 6))]
        keys = [unit if rng.random() < 0.6 else None for unit in units]
        told = {}
        if not self.arms:
            told["actions"] = [rng.normal(size=(rng.integers(1, 5), 3)).round(2) for _ in units]
        elif rng.random() < 0.3:
            told["available"] = [*rng.choice(self.arms, size=2).tolist(), self.arms[0]]
        decisions = worker.decide_many(units, keys=keys, defer=bool(rng.random() < 0.2), **told)
        self.ids += [decision.id for decision in decisions]

    def reward(self, worker):
        if self.ids:
            recent = self.ids[-15:]
            chosen = self.rng.choice(recent, size=self.rng.integers(1, 8)).tolist()
            values = self.rng.normal(size=len(chosen)).round(1).tolist()
            keys = self.rng.choice(["", "a", "b"], size=len(chosen)).tolist()
            worker.reward_many(
                [(id_, value, key or None) for id_, value, key in zip(chosen, values, keys, strict=True)]
            )

    def activate(self, worker):
        if self.ids:
            worker.activate(str(self.rng.choice(self.ids[-15:])))

    def void(self, worker):
        if self.ids:
            worker.void(str(self.rng.choice(self.ids)))

    def wait(self, worker):
        time.sleep(float(self.rng.choice([0.01, 0.05])))
        worker.refresh()

    def change(self, worker):
        rng = self.rng
        if self.arms and rng.random() < 0.7:
            kind = str(rng.choice(["add_arm", "pause", "resume", "retire"]))
            arm = f"arm {len(self.arms)}" if kind == "add_arm" else str(rng.choice(self.arms))
            getattr(worker, kind)(arm)
            self.arms = [*self.arms, arm] if kind == "add_arm" else self.arms
        else:
            name = str(rng.choice(["floor", "holdout", "mode"]))
            worker.change(**{name: {"floor": 0.1, "holdout": 0.4, "mode": str(rng.choice(["live", "shadow"]))}[name]})

    def open(self, worker):
        worker.close()
        self.workers.append(live.open(self.path, "über <b>", durability="normal"))

    def finish(self):
        """Learn what is due; a time before that."""
        began = time.time() - 0.002
        version = self.workers[0].refresh()
        assert self.workers[0].replay().is_identical
        for worker in self.workers:
            worker.close()
        return version, began


@telling("policy", POLICIES, lambda policy: policy.startswith(("bootstrapped_ucb_plus", "lin_ucb")))
def test_everything_follows_from_the_tables(tmp_path, monkeypatch, policy):
    monkeypatch.setattr(fold, "FEWEST_ENTRIES", 10)  # workers that are opened begin with a snapshot
    versions = []
    for seed in range(3):
        rng = np.random.default_rng([seed, POLICIES.index(policy)])
        settings = draw_settings(rng, policy)
        player = Player(rng, tmp_path / f"{seed}.db", settings)
        for _ in range(60):
            player.act()
        version, began = player.finish()
        versions.append(version)
        assert verify(player.path, "über <b>", began) == [], settings
    assert max(versions) > 10


ONE = "(SELECT id FROM live_decision WHERE source = 'policy' AND version > 5 ORDER BY id LIMIT 1)"
THIRD = "(SELECT decision FROM live_learned WHERE seq = 3)"
TAMPERED = {
    "key": f"UPDATE live_decision SET key = 'another' WHERE id = {ONE}",
    "arm": f"UPDATE live_decision SET arm = 1 - arm WHERE id = {ONE}",
    "propensity": f"UPDATE live_decision SET propensity = propensity * (1 + 2.3e-16) WHERE id = {ONE}",
    "version": f"UPDATE live_decision SET version = 0 WHERE id = {ONE}",
    "source": f"UPDATE live_decision SET source = 'holdout', propensity = 1, weights = NULL WHERE id = {ONE}",
    "unit": "UPDATE live_decision SET unit = key WHERE source = 'holdout'",
    "reward": f"UPDATE live_reward SET value = value + 1 WHERE decision = {THIRD}",
    "late": f"UPDATE live_reward SET late = 1 WHERE decision = {THIRD}",
    "log": "UPDATE live_learned SET reward = reward + 1 WHERE seq = 3",
    "order": "UPDATE live_learned SET seq = CASE seq WHEN 3 THEN -13 WHEN 13 THEN -3 ELSE seq END",
    "end": "DELETE FROM live_learned WHERE seq = (SELECT max(seq) FROM live_learned)",
    "void": f"INSERT INTO live_change SELECT 1, 4, 0, 'x', 'void', json_object('decision', {THIRD})",
    "change": "UPDATE live_change SET body = '{\"floor\": 0.3}'",
}


@pytest.mark.parametrize("statement", TAMPERED.values(), ids=TAMPERED)
def test_the_verifier_sees_what_was_changed(tmp_path, statement):
    told = {"policy": "gaussian_ts", "arms": ["red", "green"], "seed": 7, "control": "red", "holdout": 0.3}
    told |= {"burn_in": 2, "new_arm_share": 0.4, "refresh": 0}
    with live.create(tmp_path / "a.db", "checkout", **told, durability="normal") as experiment:
        for hour in range(4):
            units = [f"u{hour}{number}" for number in range(8)]
            experiment.reward_many([(d.id, float(d.unit[1:])) for d in experiment.decide_many(units)])
            time.sleep(0.005)
            experiment.refresh()
            if hour == 1:
                experiment.change(floor=0.2)
    end = time.time() - 0.002
    assert verify(tmp_path / "a.db", "checkout", end) == []
    with sqlite3.connect(tmp_path / "a.db") as connection:
        assert connection.execute(statement).rowcount > 0
        connection.execute("UPDATE live_learned SET seq = -seq WHERE seq < 0")
    connection.close()
    assert verify(tmp_path / "a.db", "checkout", end)

"""Every policy behind live traffic: late and lost rewards, stale workers, a restart, snapshots, an identical replay."""

import numpy as np
import pytest

from bandstrap import live
from bandstrap.errors import InvalidInput
from bandstrap.live import fold
from bandstrap.policies import LINEAR_POLICIES, POLICIES
from sampling import POLICY_KINDS, telling

# Some keep their rewards, which tests/live/test_slow.py looks at.
pytestmark = pytest.mark.filterwarnings("ignore::bandstrap.errors.SlowWarning")
ARMS = ["red", "green", "blue"]
CASES = [
    *POLICIES,
    "bootstrapped_ucb:quantile=streaming",
    "bootstrapped_ucb:quantile=exact,sigma=0.3",
    "subsample_duels:sampler=last-block",
    "subsample_duels:sampler=without-replacement",
    "bootstrapped_ts:prior=drawn,n_replicates=60",
    "studentized_ucb:randomized=true",
    "imed:divergence=bounded,upper=1.5",
]
LINEAR_CASES = [
    f"{name}:dimension=2" + (",quantile=streaming,n_resamples=50" if name == "linear_bootstrapped_ucb" else "")
    for name in LINEAR_POLICIES
]
# Enough for a test, and few where each takes milliseconds.
DRAWS = 20
FEW_DRAWS = {"linear_phe:dimension=2": 2}


def play(target, options, decide, seed):
    """200 decisions in batches by two workers, one of them behind; rewards come late, in another order, or never."""
    experiment = live.create(target, "contract", seed=seed, durability="normal", **{"draws": DRAWS} | options)
    workers = [experiment, live.open(target, "contract", durability="normal")]
    rng = np.random.default_rng(seed)
    waiting = []
    for i in range(20):
        for worker, keys in ((workers[0], range(7)), (workers[1], range(7, 10))):
            waiting += [decision.id for decision in decide(worker, [f"{i} {key}" for key in keys], rng)]
        rng.shuffle(waiting)
        lost, arrived, waiting = waiting[:1], waiting[1:8], waiting[8:]
        assert workers[i % 2].reward_many([(id_, float(rng.integers(0, 5)) / 4) for id_ in arrived]) == ["stored"] * 7
        assert len(lost) == 1
        workers[0].refresh()
        if i % 3 == 0:
            workers[1].refresh()
        if i == 12:  # a worker that starts anew
            workers[1] = live.open(target, "contract", durability="normal")
    return workers


def assert_goes_on_identically(target, workers, choices):
    """States by different ways to the same version are the same: all at once, in steps, and from a snapshot."""
    fresh = live.open(target, "contract", durability="normal")
    whole = fold.LiveState(fresh.definition)
    fold.catch_up(whole, fresh.store, fresh.row.id)
    states = [whole, fresh.state, *(worker.state for worker in workers if worker.refresh())]
    texts = {fold.write_snapshot(state) for state in states}
    assert len(texts) == 1
    assert len({choices(state) for state in states}) == 1
    report = fresh.replay()
    assert report.is_identical, report.first
    assert (report.decisions, report.entries) == (200, 140)
    assert report.versions == 20


@pytest.fixture(autouse=True)
def many_snapshots(monkeypatch):
    monkeypatch.setattr(fold, "FEWEST_ENTRIES", 30)


@telling("policy", CASES, (*POLICY_KINDS, "bootstrapped_ucb:quantile=streaming"))
def test_policies_of_arms(tmp_path, policy):
    def decide(worker, keys, rng):
        available = None if rng.random() < 0.7 else ["red", "blue"]
        return worker.decide_many(keys=keys, available=available)

    target = tmp_path / "a.db"
    options = {"policy": policy, "arms": ARMS, "burn_in": 4, "floor": 0.1}
    workers = play(target, options, decide, seed=11)
    assert workers[0].store.latest_snapshot(workers[0].row.id, workers[0].build.id) is not None
    assert_goes_on_identically(target, workers, lambda state: (state.chances([0, 1, 2]), state.chances([0, 2])))


@telling("policy", LINEAR_CASES, lambda policy: policy.startswith(("lin_ucb", "linear_bootstrapped_ucb")))
def test_policies_of_actions(tmp_path, policy):
    def decide(worker, keys, rng):
        actions = [rng.normal(size=(rng.integers(1, 5), 2)) for _ in keys]
        return worker.decide_many(keys=keys, actions=actions)

    target = tmp_path / "a.db"
    draws = FEW_DRAWS.get(policy, DRAWS)
    workers = play(target, {"policy": policy, "floor": 0.1, "draws": draws}, decide, seed=11)
    assert_goes_on_identically(target, workers, lambda state: state.action_chances("[[1.0, 0.5], [0.25, -1.0]]"))


def test_what_is_refused_says_why(tmp_path):
    with pytest.raises(InvalidInput, match=r"forced_exploration, which counts the rounds of one process"):
        live.create(tmp_path / "a.db", "a", policy="subsample_duels:forced_exploration=true", arms=ARMS)
    with pytest.raises(InvalidInput, match=r"quantile=streaming"):
        live.create(tmp_path / "a.db", "a", policy="linear_bootstrapped_ucb:dimension=2")

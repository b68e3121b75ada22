"""Live experiments with contexts: stored with the decision, learned with its reward, replayed, on the command line."""

import json

import numpy as np
import pytest

from bandstrap import Contexts, ShareUCB, live
from bandstrap.errors import InvalidInput
from bandstrap.live.export import open_bandit_feedback, write_dsjson
from command_line import runner

run = pytest.fixture(runner, name="run")
FIELDS = Contexts({"device": ["phone", "desktop"], "visits": "number", "age": {"kind": "number", "missing": "allow"}})


def visitor(rng):
    found = {"device": str(rng.choice(["phone", "desktop"])), "visits": int(rng.integers(9))}
    return found | ({"age": 20.5} if rng.random() < 0.5 else {})


@pytest.mark.parametrize("randomized", [False, True])
def test_contexts_are_stored_learned_late_and_replayed(tmp_path, randomized):
    policy = ShareUCB(contexts=FIELDS, randomized=randomized)
    rules = {"burn_in": 2, "floor": 0.06, "refresh": 0}
    experiment = live.create(tmp_path / "a.db", "a", policy=policy, arms=["red", "blue"], seed=4, **rules)
    rng = np.random.default_rng(0)
    waiting, served = [], []
    for step in range(60):
        context = visitor(rng)
        decision = experiment.decide(f"u{step}", context=context)
        assert sum(decision.weights.values()) == 1.0
        assert min(weight for weight in decision.weights.values() if weight) >= 0.06 / 3 - 1e-12
        waiting.append((decision.id, float((decision.arm == "red") == (context["device"] == "phone"))))
        served.append((context["device"], decision.arm))
        if step % 3 == 2:  # late, and not in order
            for id_, reward in reversed(waiting):
                experiment.reward(id_, reward)
            waiting.clear()
        if step == 30:
            experiment.add_arm("green", wait=True)
        if step == 45:
            experiment.pause("green", wait=True)
            assert experiment.decide(context=context).weights["green"] == 0.0
    assert experiment.replay().is_identical
    late = [arm == ("red" if device == "phone" else "blue") for device, arm in served[-14:]]
    assert sum(late) >= 11  # the context decides; without it half of them would be right
    first = experiment.state.policy.to_dict()
    experiment.close()
    again = live.open(tmp_path / "a.db", "a")
    again.refresh()
    assert again.state.policy.to_dict() == first
    again.status()
    for wrong in (
        None,
        {"device": "watch", "visits": 1},
        {"device": "phone"},
        {"device": "phone", "visits": 1, "x": 2},
    ):
        with pytest.raises(InvalidInput, match="context"):
            again.decide(context=wrong)
    again.close()


def test_the_command_line_takes_a_context_and_others_refuse_one(tmp_path, monkeypatch, capsys):
    invoke = runner(monkeypatch, capsys)
    policy = 'share_ucb:contexts={"device": ["phone", "desktop"]}'
    made = invoke(
        "live", "create", str(tmp_path / "a.db"), "a", "--policy", policy, "--arms", "red,blue", "--seed", "4"
    )
    assert made.returncode == 0, made.stderr
    with live.open(tmp_path / "a.db", "a") as experiment:
        assert experiment.state.policy.schema == Contexts({"device": ["phone", "desktop"]})
    told = ["live", "decide", str(tmp_path / "a.db"), "a", "--json", "--context"]
    found = invoke(*told, '{"device": "phone"}')
    assert found.returncode == 0
    assert json.loads(found.stdout)["weights"] == {"red": 0.5, "blue": 0.5}
    for wrong in ('{"device": "watch"}', "[1]", "{", "", '{"device": NaN}'):
        refused = invoke(*told, wrong)
        assert refused.returncode == 2
        assert "context" in refused.stderr
    plain = live.create(tmp_path / "b.db", "b", policy="ucb1", arms=["red", "blue"], seed=4)
    with pytest.raises(InvalidInput, match="not contextual"):
        plain.decide(context={"device": "phone"})
    plain.close()


def test_numbers_that_are_missing_are_stored_too(tmp_path):
    with live.create(tmp_path / "a.db", "a", policy=ShareUCB(contexts=2), arms=["red", "blue"], seed=4) as experiment:
        for x in ([1.0, float("nan")], [float("nan"), 2.0], [0.5, 0.5]):
            experiment.reward(experiment.decide(context=x).id, 1.0)
        experiment.refresh()
        assert experiment.replay().is_identical
        assert experiment.state.policy.n_rewards == 3


@pytest.mark.parametrize("window", [None, "1h"])
def test_the_readout_has_the_probabilities_that_each_context_gave(run, tmp_path, window):
    target, rng = tmp_path / "a.db", np.random.default_rng(1)
    rules = {"burn_in": 2, "floor": 0.1, "refresh": 0, "control": "red", "window": window, "reward_range": (0.0, 1.0)}
    policy = ShareUCB(contexts=FIELDS, randomized=True)
    with live.create(target, "a", policy=policy, arms=["red", "blue"], seed=4, **rules) as experiment:
        made, contexts = [], []
        for step in range(60):
            contexts.append(context := visitor(rng))
            made.append(experiment.decide(key=f"k{step}", context=context))
            experiment.reward(made[-1].id, float((made[-1].arm == "red") == (context["device"] == "phone")))
        assert len({decision.propensity for decision in made}) > 4
        experiment.store.ask("UPDATE live_decision SET decided_at = decided_at - 7200")
        found = experiment.readout().to_dict()
        assert found["n_decisions"] == 60
        experiment.export(tmp_path / "log.parquet")
    exported = json.loads(run("readout", tmp_path / "log.parquet", "--format", "json").stdout)
    assert exported == found
    shown = [experiment.state.policy.read_context(context, "test") for context in contexts]
    feedback = open_bandit_feedback(tmp_path / "log.parquet")
    assert np.array_equal(feedback["context"], shown, equal_nan=True)
    write_dsjson(tmp_path / "log.parquet", tmp_path / "log.dsjson")
    lines = [json.loads(line) for line in (tmp_path / "log.dsjson").read_text().splitlines()]
    for line, numbers in zip(lines, shown, strict=True):
        known = {str(i): number for i, number in enumerate(numbers) if not np.isnan(number)}
        assert line["c"]["context"] == known

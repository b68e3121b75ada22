"""Decisions made elsewhere: the functions of the page decide as the service does, and what is reported is stored once."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from bandstrap import live
from bandstrap.errors import InvalidInput
from bandstrap.live.elsewhere import DecisionElsewhere, Importer, published_weights
from bandstrap.live.weights import is_held_out
from pages import blocks

KEYS = [*(f"key {i}" for i in range(300)), "é" * 30, "日本", "🙂", "a:b", "s1:x", '"', "\\", "x" * 500]
SETTINGS = {
    "plain": {},
    "held": {"holdout": 0.3, "control": "rød"},
    "shadow": {"mode": "shadow", "control": "green"},
    "finished": {"control": "rød"},
}


def on_page(language):
    (code,) = [block.code for block in blocks("docs/howto/edge.md") if block.language == language]
    return code


def python_decides(weights, asked):
    names = {}
    exec(on_page("python"), names)
    return [names["decide"](weights, *one) for one in asked]


def javascript_decides(weights, asked):
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node")
    code = f"const crypto = globalThis.crypto ?? require('crypto').webcrypto;\n{on_page('js')}"
    code += "const [weights, asked] = JSON.parse(require('fs').readFileSync(0));\n"
    code += (
        "Promise.all(asked.map((one) => decide(weights, ...one))).then((found) => console.log(JSON.stringify(found)));"
    )
    done = subprocess.run([node, "-e", code], input=json.dumps([weights, asked]), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(params=SETTINGS)
def experiment(request, tmp_path):
    """An experiment in which one arm was paused and another added, and the weights are not even."""
    policy, settings = "edgeworth_ucb:randomized=true", SETTINGS[request.param]
    with live.create(
        str(tmp_path / "shop.db"), "kø/1", policy=policy, arms=["rød", "green", "blue"], seed=7, refresh=0, **settings
    ) as made:
        made.pause("blue")
        made.add_arm("teal")
        teach(made, 60)
        if request.param == "finished":
            made.finish("green", holdout=0.2)
        yield made


def teach(experiment, n):
    decisions = experiment.decide_many([None] * n)
    rewards = {"rød": 0.1, "green": 0.6, "teal": 0.4}
    experiment.reward_many([(each.id, rewards[each.arm] + 0.3 * (i % 2)) for i, each in enumerate(decisions)])
    experiment.refresh()


@pytest.mark.parametrize("decides", [python_decides, javascript_decides])
def test_what_is_decided_elsewhere_is_what_the_service_would_decide(experiment, decides):
    weights = json.loads(json.dumps(published_weights(experiment)))
    asked = [[key] for key in KEYS] + [[key + "'", f"unit {i % 40}"] for i, key in enumerate(KEYS[:300])]
    made = decides(weights, asked)
    teach(experiment, 30)  # the log goes on before anything is reported
    importer = Importer(experiment)
    reported = [DecisionElsewhere(one["key"], one["unit"], one["arm"], one["version"]) for one in made]
    stored = importer.add(reported)
    assert [one.arm for one in stored] == [one["arm"] for one in made]
    assert {one.version for one in stored} == {weights["version"]} != {experiment.state.version}
    chance = dict(zip(weights["arms"], weights["weights"], strict=True))
    assert all(one.propensity == (chance[one.arm] if one.source == "policy" else 1.0) for one in stored)
    assert len({one.arm for one in stored if one.source != "shadow"}) != 1
    assert importer.add(reported) == stored  # once more
    assert experiment.replay().is_identical
    experiment.reward(stored[0].id, 0.5)


def test_states_of_a_log_that_is_gone_are_forgotten(tmp_path):
    """The service is restored from a backup; its log goes on in another way than the one that weights were made from."""
    target, copy = str(tmp_path / "shop.db"), str(tmp_path / "copy.db")
    with live.create(target, "shop", policy="gaussian_ts", arms=["rød", "green", "teal"], seed=7, refresh=0) as here:
        teach(here, 60)
        live.backup(target, copy)
        teach(here, 10)
        importer = Importer(here)
        assert importer.add([DecisionElsewhere("k", None, "rød", 65)])  # whichever arm it is
        teach(here, 10)
        assert importer.add([DecisionElsewhere("l", None, "rød", 65)])
        for ending in ("-wal", "-shm"):
            (tmp_path / f"shop.db{ending}").unlink(missing_ok=True)
        Path(copy).replace(target)
        with live.open(target, "shop") as other:
            spoiled = other.decide_many([None] * 20)
            other.reward_many([(each.id, 9.0 * (each.arm == "teal")) for each in spoiled[:5]])
            other.refresh()
            (made,) = python_decides(published_weights(other), [["m"]])
            other.reward_many([(each.id, 0.0) for each in spoiled[5:]])
            other.refresh()
        wished = [DecisionElsewhere("m", None, arm, 65) for arm in ("rød", "green", "teal")]
        found = [each.arm for each in importer.add(wished) if not isinstance(each, InvalidInput)]
        assert (made["version"], found) == (65, [made["arm"]])
        assert here.replay().is_identical


def other_unit(experiment, unit):
    """A unit that is held out if this one is."""
    holdout = experiment.state.settings.holdout
    is_held = [is_held_out(7, experiment.name, each, holdout) for each in (unit, *map(str, range(99)))]
    return next(str(i) for i, one in enumerate(is_held[1:]) if one == is_held[0])


def test_what_the_weights_do_not_give_is_refused_and_the_rest_stored(experiment):
    weights = published_weights(experiment)
    (right,) = python_decides(weights, [["right"]])
    other = next(arm for arm in ("rød", "green", "teal") if arm != right["arm"])
    newest, n_before = (
        experiment.state.version,
        len(list(experiment.store.records(experiment.row.id, experiment.definition.settle))),
    )
    given = [
        DecisionElsewhere("right", "right", right["arm"], newest),
        DecisionElsewhere("right", "right", other, newest),
        DecisionElsewhere("new", None, "nothing", newest),
        DecisionElsewhere("new", None, right["arm"], newest + 1),
        DecisionElsewhere("new", None, right["arm"], -1),
        DecisionElsewhere("", None, right["arm"], newest),
        DecisionElsewhere("right", other_unit(experiment, "right"), right["arm"], newest),
    ]
    first, *wrong = Importer(experiment).add(given)
    assert first.key == "right"
    for refusal, parameter in zip(wrong, ("arm", "arm", "version", "version", "key", "key"), strict=True):
        assert isinstance(refusal, InvalidInput)
        assert f"'{parameter}'" in str(refusal), refusal
    assert experiment.store.counts(experiment.row.id).decisions == n_before + 1

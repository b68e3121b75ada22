"""``bandstrap live``: an experiment from its beginning to its export, and what is refused."""

import inspect
import json
import math
import re
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from typer.main import get_command

from bandstrap import live
from bandstrap.cli.live import app
from bandstrap.live.settings import BURN_IN, DRAWS, NEW_ARM_SHARE

CREATE = ("--policy", "ucb1", "--arms", "red,green", "--seed", 7)


@pytest.fixture
def shop(run, tmp_path):
    """A database with an experiment, and the command line for it."""
    target = tmp_path / "shop.db"
    assert run("live", "create", target, "checkout", *CREATE, "--refresh", 0).returncode == 0

    def go(command, *arguments, **options):
        return run("live", *command.split(), target, "checkout", *arguments, **options)

    go.target = target
    return go


def told(done):
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def refused(done, *words):
    """One sentence, exit code 2, no traceback."""
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr
    return done.stderr


def decide(shop, *arguments):
    done = shop("decide", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# --- the way of an experiment -------------------------------------------------------------------------------------------


def test_an_experiment_from_its_beginning_to_its_export(run, shop, tmp_path):
    first = decide(shop, "--unit", "u17", "--key", "k")
    assert first["arm"] in ("red", "green")
    assert (first["propensity"], first["unit"], first["source"]) == (0.5, "u17", "policy")
    assert decide(shop, "--key", "k") == first
    plain = shop("decide", "--key", "k")
    assert plain.stdout == f"{first['arm']}\n"
    assert plain.stderr == f"decision {first['id']}, propensity 0.5, policy\n"
    assert told(shop("reward", first["id"], "-1.5")) == "stored"
    assert told(shop("reward", first["id"], "-1.5")) == "duplicate"
    assert told(shop("reward", first["id"], 2, "--key", "again")) in ("stored", "late")
    later = decide(shop, "--defer", "--available", "red")
    assert (later["arm"], later["deferred"]) == ("red", True)
    assert told(shop("activate", later["id"])) == "activated"
    assert told(shop("activate", later["id"])) == "active before"
    assert told(shop("arm add", "teal", "--actor", "anna")).startswith("version ")
    told(shop("arm pause", "teal"))
    told(shop("arm resume", "teal"))
    told(shop("arm retire", "green", "--actor", "ben"))
    assert told(shop("void", first["id"], "--actor", "eve")) == told(shop("void", first["id"]))
    told(shop("change", "--floor", "0.05", "--holdout", "0.2", "--control", "red", "--refresh", "2s"))
    with live.open(shop.target, "checkout") as experiment:
        assert (experiment.settings.floor, experiment.settings.refresh) == (0.05, 2.0)
        assert [change.actor for change in experiment.store.changes(experiment.row.id)][::3] == ["anna", "ben"]
        assert experiment.status().voided == 1
    assert told(shop("replay")).startswith("identical: 2 decisions")
    assert json.loads(told(shop("replay", "--json")))["is_identical"] is True
    assert told(shop("export", tmp_path / "log.parquet")) == f"decisions: {tmp_path / 'log.parquet'}"
    import polars

    assert polars.read_parquet(tmp_path / "log.parquet").height == 2


def test_all_settings_arrive(run, tmp_path):
    told(
        run(
            *("live", "create", tmp_path / "a.db", "x", *CREATE, "--window", "24h", "--default-reward", "-1"),
            *(
                "--aggregate",
                "sum",
                "--draws",
                50,
                "--floor",
                0.04,
                "--holdout",
                0.1,
                "--control",
                "red",
                "--burn-in",
                3,
            ),
            *(
                "--new-arm-share",
                0.2,
                "--mode",
                "shadow",
                "--refresh",
                2,
                "--direction",
                "min",
                "--durability",
                "normal",
            ),
            *("--actor", "anna", "--reward-range", "-5", 5, "--out-of-range", "clip"),
        )
    )
    with live.open(tmp_path / "a.db", "x") as experiment:
        found = experiment.definition
        assert experiment.row.created_by == "anna"
    assert (found.window, found.default_reward, found.aggregate, found.draws) == (86_400.0, -1.0, "sum", 50)
    assert (found.floor, found.holdout, found.control, found.burn_in) == (0.04, 0.1, "red", 3)
    assert (found.new_arm_share, found.mode, found.refresh, found.direction) == (0.2, "shadow", 2.0, "min")
    assert (found.seed, found.arms) == (7, ("red", "green"))
    assert (found.reward_range, found.out_of_range) == ((-5.0, 5.0), "clip")


@pytest.mark.parametrize(
    ("arguments", "settings"),
    [
        (("--policy", "ucb1", "--arms", "a,b"), {"policy": "ucb1", "arms": ["a", "b"]}),
        (("--policy", "linear_ts:dimension=2"), {"policy": "linear_ts:dimension=2"}),
    ],
)
def test_defaults_are_the_librarys(run, tmp_path, arguments, settings):
    told(run("live", "create", tmp_path / "a.db", "x", *arguments, "--seed", 1))
    with live.create(tmp_path / "a.db", "x", seed=1, **settings):  # refused if another
        pass


def test_the_help_names_the_librarys_defaults():
    parameters = inspect.signature(live.create).parameters
    of_arms = {"burn_in": BURN_IN, "new_arm_share": NEW_ARM_SHARE, "draws": DRAWS, "direction": "max"}
    options = {option.name: option.help or "" for option in get_command(app).commands["create"].params}
    named = {
        name: re.findall(r"[Dd]efault(?: when created)?: ([\w.]+?)(?:, .*)?\.$", text) for name, text in options.items()
    }
    found = {name: words[0] for name, words in named.items() if words}
    defaults = {name: of_arms.get(name, parameters[name].default) for name in found}
    assert found == {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in defaults.items()}
    others = {"floor", "holdout", "mode", "refresh", "aggregate", "durability", "timeout", "out_of_range"}
    assert found.keys() == others | of_arms.keys()


def test_linear_policies_take_actions_as_text_from_a_file_and_from_standard_input(run, tmp_path):
    target, actions = tmp_path / "a.db", "[[1, 0], [0, 1], [0.5, 0.5]]"
    policy = ("--policy", "lin_ucb:dimension=2", "--seed", 3, "--holdout", 0.5, "--control", 1)
    assert told(run("live", "create", target, "x", *policy)).endswith("actions, seed 3")
    (tmp_path / "actions.json").write_text(actions)
    ways = [(actions, ""), (tmp_path / "actions.json", ""), ("-", actions)]
    found = [run("live", "decide", target, "x", "--key", "k", "--actions", way, stdin=stdin) for way, stdin in ways]
    assert len({done.stdout for done in found}) == 1
    assert found[0].stdout.strip() in ("0", "1", "2")
    told(run("live", "change", target, "x", "--control", 2))
    for wrong in ("[[1, 0], [0", "[1, 2]", "[[1, NaN], [0, 1]]", '[["a", 1]]', "[[[[1]]]]", "[]"):
        refused(run("live", "decide", target, "x", "--actions", wrong), "actions")
    refused(run("live", "decide", target, "x", "--actions", tmp_path / "no.json"), "no.json: No such file")
    refused(run("live", "decide", target, "x"), "actions", "given")
    shown = run("live", "status", target, "x").stdout
    assert "action" in shown
    assert "weight" not in shown


# --- status -------------------------------------------------------------------------------------------------------------


def trade(target, n=40):
    rng = np.random.default_rng(0)
    with live.open(target, "checkout") as experiment:
        for decision in experiment.decide_many(keys=[f"k{i}" for i in range(n)]):
            experiment.reward(decision.id, float(rng.normal(3, 1)))


def test_status_as_table_json_and_page(run, shop, tmp_path):
    assert "decisions 0 (none)" in told(shop("status"))
    trade(shop.target)
    with live.open(shop.target, "checkout") as experiment:
        status = experiment.status()
    page = tmp_path / "status.html"
    shown = told(shop("status", "--html", page))
    assert "checkout: ucb1, live, version 40" in shown
    assert "95 % intervals by student_t" in shown
    assert f"page: {page}" in shown
    assert page.read_text().startswith("<!doctype html>")
    for arm in status.arms:
        assert f"{arm.mean:.4g}" in shown
    found = json.loads(told(shop("status", "--json")))
    assert found["version"] == 40
    assert found["decisions"] == {"policy": 40}
    assert [arm["mean"] for arm in found["arms"]] == [arm.mean for arm in status.arms]
    assert found["lag"]["rewards"] == 40
    assert found["lift"] is None


def test_a_page_that_cannot_be_written_is_refused_before_anything_is_counted(shop, tmp_path):
    (tmp_path / "folder").mkdir()
    refused(shop("status", "--html", tmp_path / "folder"), "folder")
    refused(shop("status", "--html", shop.target / "page.html"), "html")


def test_names_from_outside_do_not_reach_the_terminal_as_they_are(run, tmp_path):
    odd = "\x1b[31mred\u202e"
    target = tmp_path / "a.db"
    done = run("live", "create", target, odd, "--policy", "ucb1", "--arms", odd, "--arms", "b", "--seed", 1)
    shown = told(done) + run("live", "decide", target, odd, "--available", odd).stdout
    shown += told(run("live", "arm", "pause", target, odd, "b", "--actor", odd)) + told(
        run("live", "status", target, odd)
    )
    assert "\\x1b[31mred\\u202e" in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert json.loads(run("live", "decide", target, odd, "--json").stdout)["arm"] == odd


def test_the_timeout_limits_every_command_that_writes(run, shop):
    first = decide(shop, "--key", "k")
    writes = (
        ["decide"],
        ["reward", first["id"], 1],
        ["change", "--floor", 0.05],
        ["arm add", "teal"],
        ["arm pause", "red"],
    )
    with closing(sqlite3.connect(shop.target, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for command in writes:
            refused(shop(*command, "--timeout", "100ms"), "another process keeps it locked (timeout 0.1 s)")
    for wrong in ("0", "soon", "-1s"):
        refused(shop("status", "--timeout", wrong), "'timeout' parameter of live.open must be")
    paused = told(shop("arm pause", first["arm"], "--timeout", 20))
    assert paused == "version 1"  # others refresh with each decision
    changed = told(shop("change", "--refresh", "20ms"))
    assert changed == "version 2; other workers follow within 0.02 s (their refresh)"
    assert told(shop("arm resume", first["arm"], "--wait")) == "version 3"
    assert decide(shop, "--key", "k", "--available", first["arm"]) == first


# --- refusals -----------------------------------------------------------------------------------------------------------


def test_mistakes_are_one_sentence_and_change_nothing(run, shop, tmp_path):
    before = shop("status", "--json").stdout
    first = json.loads(before)
    refused(shop("reward", "no-such-id", 1), "'decision'", "no-such-id")
    decision = decide(shop, "--key", "k")["id"]
    for value in ("nan", "inf", "1e200"):
        refused(shop("reward", decision, value), "'value' parameter of reward")
    refused(shop("activate", "nobody"), "nobody")
    refused(shop("decide", "--available", "pink"), "available", "pink")
    refused(shop("decide", "--actions", "[[1]]"), "actions", "left out")
    refused(shop("decide", "--unit", ""), "unit")
    refused(shop("arm add", "red"), "red")
    refused(shop("arm pause", "pink"), "pink")
    refused(shop("arm resume", "red"), "paused")
    refused(shop("change"), "at least one")
    refused(shop("change", "--floor", "nan"), "floor")
    refused(shop("change", "--floor", 1.5), "floor")
    refused(shop("change", "--mode", "dead"), "mode", "shadow")
    refused(shop("change", "--control", "pink"), "control")
    refused(shop("change", "--refresh", "soon"), "refresh")
    refused(shop("export", tmp_path / "log.csv"), ".parquet")
    after = json.loads(shop("status", "--json").stdout)
    assert (after["version"], after["rewards"], after["changes"]) == (first["version"], 0, [])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--policy", "nonsense", "--arms", "a,b"), ("policy", "nonsense")),
        (("--policy", "ucb1"), ("arms",)),
        (("--policy", "ucb1", "--arms", "a"), ("arms",)),
        (("--policy", "ucb1", "--arms", "a,a"), ("arms",)),
        (("--policy", "ucb1", "--arms", "a,b", "--window", "tomorrow"), ("window", "tomorrow")),
        (("--policy", "ucb1", "--arms", "a,b", "--default-reward", "0"), ("window",)),
        (
            ("--policy", "ucb1", "--arms", "a,b", "--default-reward", "nan", "--window", "1h"),
            ("default_reward",),
        ),
        (("--policy", "ucb1", "--arms", "a,b", "--holdout", "0.1"), ("control",)),
        (("--policy", "ucb1", "--arms", "a,b", "--aggregate", "mean"), ("aggregate",)),
        (("--policy", "ucb1", "--arms", "a,b", "--seed", "-1"), ("seed",)),
        (("--policy", "lin_ucb", "--control", "red"), ("dimension",)),
    ],
)
def test_wrong_definitions_make_no_file(run, tmp_path, arguments, words):
    refused(run("live", "create", tmp_path / "a.db", "x", *arguments), *words)
    assert list(tmp_path.iterdir()) == []


def test_another_definition_of_the_same_name_is_refused(run, shop):
    said = refused(run("live", "create", shop.target, "checkout", *CREATE, "--refresh", 0, "--floor", 0.07), "floor")
    assert "0.02" in said
    told(run("live", "create", shop.target, "checkout", *CREATE, "--refresh", 0))


def test_what_is_no_database_or_not_there(run, shop, tmp_path):
    (tmp_path / "text.db").write_text("no database\n" * 100)
    for command in ("status", "replay", "decide"):
        refused(run("live", command, tmp_path / "missing.db", "x"), "does not exist")
        refused(run("live", command, tmp_path / "text.db", "x"), "no database")
        refused(run("live", command, tmp_path, "x"), "folder")
        refused(run("live", command, shop.target, "other"), "checkout", "other")
    assert not (tmp_path / "missing.db").exists()
    refused(run("live", "create", tmp_path / "no" / "a.db", "x", *CREATE), "cannot be")


def test_the_password_of_a_server_is_never_printed(run):
    url = "postgresql://anna:geheim@127.0.0.1:1/shop"
    for command in (("status",), ("decide",), ("create", *CREATE)):
        done = run("live", command[0], url, "x", *command[1:])
        refused(done, "shop", "127.0.0.1")
        assert "geheim" not in done.stderr


@pytest.mark.parametrize(
    "arguments", [("decide",), ("reward", "a.db", "x", "id", "many"), ("arm", "paint"), ("nonsense",)]
)
def test_wrong_command_lines_end_with_2(run, arguments):
    done = run("live", *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_a_difference_found_by_replay_ends_with_1(run, shop):
    import sqlite3

    decide(shop, "--key", "k")
    connection = sqlite3.connect(shop.target)
    connection.execute("UPDATE live_decision SET arm = 1 - arm")
    connection.commit()
    connection.close()
    done = shop("replay")
    assert done.returncode == 1
    assert "different in 1 place" in done.stdout


def test_a_database_is_backed_up_and_restored(run, shop, tmp_path):
    decide(shop, "--key", "k")
    told(run("live", "backup", shop.target, tmp_path / "copy.db"))
    refused(run("live", "backup", shop.target, tmp_path / "copy.db"), "no file yet")
    told(run("live", "restore", tmp_path / "copy.db", tmp_path / "again.db"))
    assert "identical: 1 decision" in told(run("live", "replay", tmp_path / "again.db", "checkout"))
    said = refused(run("live", "status", "mysql://ann:sesame@h/x", "checkout"), "'mysql'")
    assert "sesame" not in said


def test_numbers_that_json_lacks_are_null(capsys):
    from bandstrap.cli.terminal import write_json

    write_json({"a": math.inf, "b": [math.nan, 1.5], "c": (1, {"d": -math.inf})})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [None, 1.5], "c": [1, {"d": None}]}

"""Rows of a database name no code that is run, unless the user says so; damaged rows are refused in a sentence."""

import json
import random
from contextlib import suppress

import pytest

from bandstrap import live
from bandstrap.errors import InvalidInput
from bandstrap.live import evidence, fold
from command_line import runner
from live.checkout import make
from sampling import telling

# Leaves a mark where it is run.
EVIL = """
from pathlib import Path
from bandstrap import UCB1

Path(__file__).with_name("mark").touch()

class Evil(UCB1):
    name = "evil"
"""
COMMANDS = (
    *("decide {}", "reward {} id 1", "activate {} id", "change {} --floor 0.05", "status {}", "replay {}"),
    *("export {} x.parquet", "arm add {} teal", "arm pause {} red", "arm resume {} red", "arm retire {} green"),
)
# What takes the place of some value.
GARBAGE = (None, True, -1, 0, 0.5, 2**70, 1e308, "", "x", "evil.py:Evil", [], [1], {}, {"a": 1}, [[]], "\ud800")


@pytest.fixture
def run(monkeypatch, capsys):
    return runner(monkeypatch, capsys)


@pytest.fixture
def evil(tmp_path, monkeypatch):
    """A file in the current folder; gives the mark that it leaves."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.py").write_text(EVIL)
    return tmp_path / "mark"


def write(experiment, statement, *values):
    """Write into the database, as somebody who may."""
    store = experiment.store
    store._run(lambda: store._ask(statement, *values), writes=True)


def define(experiment, **values):
    """Store another definition."""
    text = json.dumps(json.loads(experiment.row.definition) | values)
    write(experiment, "UPDATE live_experiment SET definition = ?", text)


def with_snapshot(target, monkeypatch, **options):
    """An experiment, and the one snapshot that it has."""
    monkeypatch.setattr(fold, "FEWEST_ENTRIES", 10)
    experiment = make(target, **options)
    decisions = experiment.decide_many([None] * 20)
    experiment.reward_many([(decision.id, float(decision.arm == "green")) for decision in decisions])
    experiment.refresh()
    return experiment, experiment.store.latest_snapshot(experiment.row.id, experiment.build.id)


def forge(experiment, body):
    """Store another body of the snapshot, with the checksum that it must have."""
    checksum = fold.checksum(body) if isinstance(body, str) else "x"
    write(experiment, "UPDATE live_snapshot SET body = ?, checksum = ?", body, checksum)


# --- code ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["{folder}/evil.py:Evil", "evil.py:Evil"])
def test_a_snapshot_names_no_code(either, run, evil, monkeypatch, name):
    experiment, snapshot = with_snapshot(either, monkeypatch)
    saved = json.loads(snapshot.body)
    saved["policy"]["policy"] = name.format(folder=evil.parent)
    forge(experiment, json.dumps(saved))
    status = run("live", "status", either, "checkout", "--json")
    assert status.returncode == 0
    assert json.loads(status.stdout)["snapshot"]["trouble"] == "damaged, and made again from the log"
    for command in ("decide", "replay"):
        run("live", command, either, "checkout")
    with live.open(either, "checkout", code=True) as fresh:
        assert fresh.decide().weights == experiment.decide().weights
    assert not evil.exists()


def test_a_relative_path_in_a_definition_is_refused(either, run, evil):
    with make(either) as experiment:
        for policy in ("evil.py:Evil", "./evil.py:Evil", " evil.py", "../evil.py:Evil:sigma=2", "~/evil.py"):
            define(experiment, policy=policy)
            for options in ((), ("--allow-code",)):
                done = run("live", "status", either, "checkout", *options)
                assert (done.returncode, done.stdout) == (2, "")
                assert "must name the file of its policy by an absolute path. Got" in done.stderr
    assert not evil.exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_policy_in_a_file_is_run_only_if_the_caller_says_so(tmp_path, run, evil, command):
    target = tmp_path / "live.db"
    with make(target) as experiment:
        define(experiment, policy=f"{tmp_path}/evil.py:Evil")
    words = command.format("live.db checkout").split()
    done = run("live", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "'checkout' is in a file" in done.stderr
    assert "--allow-code" in done.stderr
    assert not evil.exists()
    done = run("live", *words, "--allow-code")
    assert "--allow-code" not in done.stderr
    assert evil.exists() or words[0] == "activate"  # which needs no policy


def test_what_create_names_is_run_and_nothing_else(either, evil):
    mine = evil.with_name("mine.py")
    mine.write_text(EVIL.replace("mark", "mine"))
    with make(either, policy="mine.py:Evil") as experiment:
        assert experiment.decide().arm in ("red", "green", "blue")
    with make(either, policy=f"{mine}:Evil") as experiment:
        assert experiment.replay().is_identical
        for code in (False, "yes", 1):
            with pytest.raises(
                InvalidInput, match=r"policy of the experiment 'checkout' is in a file|'code' parameter"
            ):
                live.open(either, "checkout", code=code)
        live.open(either, "checkout", code=True).close()
        define(experiment, policy=f"{evil.parent}/evil.py:Evil")
        for policy in (f"{mine}:Evil", "ucb1"):
            with pytest.raises(InvalidInput, match=r"'policy' parameter of live.create must be .*evil.py:Evil"):
                make(either, policy=policy)
        with pytest.raises(live.StoreError, match="without this experiment"):
            experiment.replay()
    assert not evil.exists()


# --- rows that nobody wrote so ------------------------------------------------------------------------------------------


def mutants(value, rng, n):
    """Copies of a JSON value, in each of which one place holds something else, or nothing."""
    for _ in range(n):
        copy = json.loads(json.dumps(value))
        place = copy
        while True:
            key = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
            inner = place[key]
            if not isinstance(inner, dict | list) or not inner or rng.random() < 0.3:
                break
            place = inner
        if rng.random() < 0.15:
            del place[key]
        else:
            place[key] = rng.choice(GARBAGE)
        yield json.dumps(copy)


TEXTS = ("", "{", "null", "[]", "3", '"x"', "{}", '{"format": 1}', '{"format": 2}', "[" * 100_000, '{"format": [1]}')


LINEAR = {"policy": "lin_ucb:dimension=2", "arms": None, "burn_in": None}


@telling(("options", "n_mutants"), [({}, 10), ({}, 60), (LINEAR, 60)], [({}, 10)])
def test_a_damaged_definition_is_refused_in_a_sentence(tmp_path, run, evil, options, n_mutants):
    """Or makes another experiment, where it says something that may be said."""
    target, rng = tmp_path / "live.db", random.Random(7)  # noqa: S311 - no secret
    with make(target, window="1h", default_reward=0.0, **options) as experiment:
        for text in (*TEXTS, *mutants(json.loads(experiment.row.definition), rng, n_mutants), b"\xff", 3):
            write(experiment, "UPDATE live_experiment SET definition = ?", text)
            words = ("--actions", "[[1, 0], [0, 1]]") if options else ()
            for command in (("decide", target, "checkout", *words), ("status", target, "checkout")):
                done = run("live", *command)
                assert done.returncode in (0, 2), (text, done)
                if done.returncode == 2:
                    assert done.stderr.startswith("error: "), text
                    assert done.stderr.count("\n") == 1, text
    assert not evil.exists()


@telling("options", [{}, {"policy": "bootstrapped_ts", "draws": 50}], [{}])
def test_a_forged_snapshot_is_passed_over_or_a_state(target, evil, monkeypatch, options):
    experiment, snapshot = with_snapshot(target, monkeypatch, **options)
    rng = random.Random(8)  # noqa: S311 - no secret
    definition, read = experiment.definition, 0
    bodies = [*TEXTS, *mutants(json.loads(snapshot.body), rng, 400)]
    for body in bodies:
        forged = snapshot._replace(body=body, checksum=fold.checksum(body))
        state = fold.read_snapshot(definition, forged)
        if state is not None:
            read += 1
            state.choose("checkout", None, "key", None, None)
            entry = fold.LogEntry(state.version + 1, "reward", "id", 0, 0.5, None, None, None)
            state.fold([entry])
            fold.write_snapshot(state)
    assert read < len(bodies) / 2
    for body in (b"\xff", 3) if not target.startswith("postgresql") else ():
        forge(experiment, body)
        with live.open(target, "checkout") as fresh:
            assert fresh.decide().weights == experiment.decide().weights
            assert fresh.status().snapshot.trouble.startswith("damaged")
    assert not evil.exists()


@telling(
    ("kind", "n_mutants"),
    [(kind, n) for kind in ("counters", "evidence") for n in (25, 150)],
    [("counters", 25), ("evidence", 25)],
)
def test_forged_counts_stop_no_decision_and_no_report(target, monkeypatch, kind, n_mutants):
    """What is kept beside the snapshots for reports: rows that nobody wrote so are counted anew, or told in a sentence."""
    monkeypatch.setattr(evidence, "EVERY", 10)
    experiment, _ = with_snapshot(target, monkeypatch)
    experiment.readout()
    where = f"build = '{kind} {experiment.build.id}'"
    ((body,),) = experiment.store.ask(f"SELECT body FROM live_snapshot WHERE {where}")  # noqa: S608
    rng = random.Random(9)  # noqa: S311 - no secret
    damaged = [] if target.startswith("postgresql") else [b"\xff", 3]
    for text in (*TEXTS, *mutants(json.loads(body), rng, n_mutants), *damaged):
        checksum = fold.checksum(text) if isinstance(text, str) else "x"
        write(experiment, f"UPDATE live_snapshot SET body = ?, checksum = ? WHERE {where}", text, checksum)  # noqa: S608
        with live.open(target, "checkout") as fresh:
            fresh.decide()
            for report in (fresh.status, fresh.readout):
                with suppress(live.StoreError, InvalidInput):
                    str(report())

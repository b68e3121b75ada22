"""What a call may cost: statements, bytes, and work that is due for all."""

import itertools
import json

import psycopg
import pytest
from typer.testing import CliRunner

from bandstrap import live
from bandstrap.cli.live import app
from bandstrap.live import experiment as module
from live.checkout import make

# Statements of a decision, and of a reward; transactions begin and end with one each.
DECIDE, REWARD = 3, 5
# Bytes that a decision and its reward take on average, with units of six characters as keys.
BYTES = 310


def counted(experiment, monkeypatch):
    """The statements that are asked from now on."""
    asked, ask = [], experiment.store._ask
    monkeypatch.setattr(experiment.store, "_ask", lambda *call: (asked.append(call[0]), ask(*call))[1])
    return asked


@pytest.mark.parametrize("n_arms", [2, 1000])
def test_a_decision_is_one_transaction_of_few_statements(tmp_path, monkeypatch, n_arms):
    with make(tmp_path / "a.db", arms=[f"arm {i}" for i in range(n_arms)], refresh="1h") as experiment:
        first = experiment.decide(key="first")
        asked = counted(experiment, monkeypatch)
        decision = experiment.decide(key="second")
        assert len(asked) == DECIDE
        assert max(map(len, asked)) < 5000
        assert decision.weights == first.weights  # stored once
        assert experiment.store.ask("SELECT count(*) FROM live_text WHERE body LIKE '[%'") == [(1,)]
        experiment.reward(decision.id, 1.0)
        experiment.reward(decision.id, 1.0, key="again")  # now it knows how large rewards are
        del asked[:]
        experiment.reward(first.id, 1.0)
        assert len(asked) == REWARD


READ = "SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0) FROM pg_stat_xact_user_tables"


def rows_read(experiment, monkeypatch):
    """Numbers of rows that a server reads for each transaction from now on, and reads before it."""
    ask, before, read = experiment.store._ask, [0], []

    def reading(statement, *parameters):
        if statement == "COMMIT":
            ((n,),) = ask(READ)  # since statistics were last sent, which may be in between
            read.append(n - before[0] if n >= before[0] else n)
            before[0] = n
        return ask(statement, *parameters)

    monkeypatch.setattr(experiment.store, "_ask", reading)
    experiment.decide()  # which is told what was read before
    del read[:]
    return read


def test_a_server_reads_few_rows_for_a_call_however_long_the_log_is(postgres, monkeypatch):
    with make(postgres.new_database(), refresh="1h", holdout=0.1, control="red") as experiment:
        decisions = experiment.decide_many([f"u{i}" for i in range(3000)])
        experiment.reward_many([(decision.id, 1.0) for decision in decisions[10:]])
        experiment.refresh()
        experiment.reward(decisions[2].id, 1.0)  # now it knows how large rewards are
        read = rows_read(experiment, monkeypatch)
        experiment.decide("u1", key="new")
        experiment.decide("u2", key="another", available=["red", "green"])
        experiment.decide(key="new")
        experiment.reward(decisions[0].id, 1.0)
        experiment.reward(decisions[1].id, 1.0, key="again")
        experiment.activate(experiment.decide(defer=True).id)
        experiment.refresh()
        experiment.pause("blue")
        assert len(read) > 8
        assert max(read) < 100, read


def test_a_server_reads_few_rows_however_many_decisions_wait_for_their_windows(postgres, monkeypatch):
    url = postgres.new_database()
    with make(url, window="24h", default_reward=0.0) as experiment, psycopg.connect(url, autocommit=True) as other:
        experiment.decide_many([None] * 3000)
        read = rows_read(experiment, monkeypatch)
        experiment.decide()  # which looks whether something is due
        other.execute("UPDATE live_pending SET due = 0 WHERE id = (SELECT min(id) FROM live_pending)")
        experiment.decide()
        experiment.refresh()
        assert len(read) == 3
        assert max(read) < 100, read


@pytest.mark.parametrize("n_arms", [10, 100])
def test_a_decision_and_its_reward_take_few_bytes(tmp_path, n_arms):
    path = tmp_path / "a.db"
    sizes = []
    with make(path, arms=[f"arm {i}" for i in range(n_arms)], refresh="1h") as experiment:
        for batch in range(9):
            units = [f"{batch:02d}{i:04d}" for i in range(1000)]
            decisions = experiment.decide_many(units, keys=units)
            experiment.reward_many([(decision.id, 1.0) for decision in decisions])
            experiment.refresh()
            experiment.store.ask("DELETE FROM live_snapshot")
            experiment.store.ask("PRAGMA wal_checkpoint(TRUNCATE)")
            free, pages, size = (experiment.store.ask(f"PRAGMA {name}")[0][0] for name in PAGES)
            sizes.append((pages - free) * size)
    assert (sizes[-1] - sizes[2]) / 6000 < BYTES


PAGES = ("freelist_count", "page_count", "page_size")


# --- what is due for all ------------------------------------------------------------------------------------------------


def with_rewards_due(path, n, **options):
    """An experiment, another worker's, with so many rewards that nobody has processed."""
    experiment = make(path, refresh="1h", **options)
    decisions = experiment.decide_many([None] * n)
    experiment.reward_many([(decision.id, i % 2) for i, decision in enumerate(decisions)])
    return experiment


def test_whoever_comes_first_does_not_do_the_work_of_all(tmp_path, monkeypatch):
    """Each call does a part, leaves a snapshot, and decides by what it knows; the next call goes on."""
    monkeypatch.setattr(module, "ENOUGH", 0.0)
    with with_rewards_due(tmp_path / "a.db", 2500):
        pass
    with live.open(tmp_path / "a.db", "checkout") as experiment:
        assert [experiment.decide().version for _ in range(5)] == [1000, 2000, 2500, 2500, 2500]
        assert experiment.replay().is_identical
    with live.open(tmp_path / "a.db", "checkout") as another:
        assert another.decide().version == 2500  # from the snapshot of 2000, or it would be 1000
        monkeypatch.undo()
        assert another.refresh() == 2500


def test_all_that_is_due_is_learned_at_once_by_who_asks_for_it(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "ENOUGH", 0.0)
    with with_rewards_due(tmp_path / "a.db", 2500):
        done = CliRunner().invoke(app, ["live", "refresh", str(tmp_path / "a.db"), "checkout", "--json"][1:])
        assert (done.exit_code, json.loads(done.stdout)) == (0, {"version": 2500})


def test_changes_are_followed_however_much_is_due(tmp_path, monkeypatch):
    """An arm that was retired is served by nobody, also while a new worker is on its way through a long log."""
    with with_rewards_due(tmp_path / "a.db", 2500) as experiment:
        experiment.refresh()
        change = experiment.retire("blue")
        experiment.store.ask("DELETE FROM live_snapshot")
    monkeypatch.setattr(module, "ENOUGH", 0.0)
    with live.open(tmp_path / "a.db", "checkout") as another:
        served = [another.decide() for _ in range(50)]
        assert all(decision.version >= change.version for decision in served)
        assert {decision.arm for decision in served} <= {"red", "green"}
        assert all(first.version <= second.version for first, second in itertools.pairwise(served))

"""The store of live experiments when something goes wrong, or at once."""

import multiprocessing
import os
import re
import shutil
import sqlite3
import sys
import threading
import time

import psycopg
import pytest

from bandstrap.errors import InvalidInput
from bandstrap.live import sqlite
from bandstrap.live.database import StoreError
from bandstrap.live.rows import NewReward
from bandstrap.live.settle import Settle
from bandstrap.live.store import Store
from live_rows import ARRIVAL, SUM, add, decision, log, new_experiment, reward, set_clock
from sampling import each, exhaustive

NOTHING = Settle(0.0, "last", None)
PATIENCE = 300  # seconds after which something hangs
# Seconds of a window, of which the first is taken that is not over before a reward can come, on however slow a machine.
WINDOWS = (0.5, 5.0, 50.0)
PROCESSES = multiprocessing.get_context("fork" if hasattr(os, "fork") else "spawn")


# --- transactions that commit in another order than they began ----------------------------------------------------------


class Held:
    """A call of another store whose transaction is kept open until it is told to end."""

    def __init__(self, target, call):
        self.store = Store.open(target, timeout=2 * PATIENCE)
        self.is_ready, self.may_end = threading.Event(), threading.Event()
        ask = self.store._ask

        def wait_before_commit(statement, *parameters):
            if statement == "COMMIT":
                self.is_ready.set()
                assert self.may_end.wait(PATIENCE)
            return ask(statement, *parameters)

        self.store._ask = wait_before_commit
        self.thread = threading.Thread(target=call, args=[self.store])
        self.thread.start()
        assert self.is_ready.wait(PATIENCE)

    def commit(self):
        self.may_end.set()
        self.thread.join(PATIENCE)
        self.store.close()


@pytest.fixture
def server_store(postgres):
    url = postgres.new_schema()
    with Store.open(url, create=True) as store:
        store.url = url
        yield store


def test_a_reward_that_is_committed_after_a_later_one_is_learned(server_store):
    store = server_store
    experiment = new_experiment(store)
    first, second, third = add(store, experiment, 1, 2, 3)
    held = Held(store.url, lambda other: reward(other, experiment, first))
    reward(store, experiment, second)
    assert store.refresh(experiment, ARRIVAL) == 1
    reward(store, experiment, third)
    held.commit()
    assert store.refresh(experiment, ARRIVAL) == 3
    assert [(seq, id_) for seq, _, id_, _, _ in log(store, experiment)] == [(1, second), (2, first), (3, third)]


def test_a_decision_that_is_committed_after_a_later_one_is_settled(server_store):
    store = server_store
    experiment = new_experiment(store)
    held = Held(store.url, lambda other: add(other, experiment, 1, settle=NOTHING))
    add(store, experiment, 2, settle=NOTHING)
    assert store.refresh(experiment, NOTHING) == 1
    held.commit()
    assert store.refresh(experiment, NOTHING) == 2
    assert [(seq, kind, arm) for seq, kind, _, arm, _ in log(store, experiment)] == [
        (1, "nothing", 2),
        (2, "nothing", 1),
    ]


@pytest.mark.parametrize("held_is_reward", [True, False])
def test_a_reward_and_an_activation_at_once(server_store, held_is_reward):
    store = server_store
    experiment = new_experiment(store)
    (id_,) = add(store, experiment, 1, deferred=True)
    calls = [lambda other: other.activate(experiment, [id_], ARRIVAL), lambda other: reward(other, experiment, id_)]
    held = Held(store.url, calls[held_is_reward])
    calls[not held_is_reward](store)
    assert store.refresh(experiment, ARRIVAL) == 0
    held.commit()
    assert store.refresh(experiment, ARRIVAL) == 1
    assert log(store, experiment) == [(1, "reward", id_, 1, 1.0)]


def test_a_reward_in_time_is_counted_though_the_window_closes_before_it_is_committed(server_store):
    store = server_store
    for window in WINDOWS:
        experiment, settle, begun = new_experiment(store), Settle(window, "sum", 0.0), time.monotonic()
        one, two = add(store, experiment, 1, 2, settle=settle)
        held = Held(store.url, lambda other: reward(other, experiment, one, settle=settle))  # noqa: B023 - at once
        if time.monotonic() - begun < window:
            break
        held.commit()
    time.sleep(1.2 * window)
    assert store.refresh(experiment, settle) == 1  # only the other one: this is left for the next time
    held.commit()
    assert store.refresh(experiment, settle) == 2
    assert log(store, experiment) == [(1, "default", two, 2, 0.0), (2, "reward", one, 1, 1.0)]


def test_the_first_of_two_rewards_is_learned_though_the_second_is_committed_first(server_store):
    store = server_store
    experiment = new_experiment(store)
    (id_,) = add(store, experiment, 1)
    held = Held(store.url, lambda other: other.add_rewards(experiment, [NewReward(id_, "a", 5.0)], ARRIVAL))
    assert store.add_rewards(experiment, [NewReward(id_, "b", 7.0)], ARRIVAL) == ["stored"]
    assert store.refresh(experiment, ARRIVAL) == 0  # it is not yet known which is the first
    held.commit()
    assert store.refresh(experiment, ARRIVAL) == 1
    assert log(store, experiment) == [(1, "reward", id_, 1, 5.0)]
    assert store.add_rewards(experiment, [NewReward(id_, "c", 9.0)], ARRIVAL) == ["late"]


def test_a_reward_waits_while_its_decision_is_settled_and_is_late_then(server_store):
    store = server_store
    experiment = new_experiment(store)
    (id_,) = add(store, experiment, 1)
    reward(store, experiment, id_)
    held = Held(store.url, lambda other: other.refresh(experiment, ARRIVAL))
    given = []
    rows = [NewReward(id_, "b", 7.0)]
    waiting = threading.Thread(target=lambda: given.extend(store.add_rewards(experiment, rows, ARRIVAL)))
    waiting.start()
    time.sleep(0.1)
    assert not given
    held.commit()
    waiting.join(PATIENCE)
    assert given == ["late"]


def test_the_same_key_at_once_is_one_decision_and_one_reward(server_store):
    store = server_store
    experiment = new_experiment(store)
    held = Held(store.url, lambda other: add(other, experiment, 1, arm=2))
    given = []
    waiting = threading.Thread(
        target=lambda: given.extend(store.add_decisions(experiment, [decision(1, arm=0)], ARRIVAL))
    )
    waiting.start()
    time.sleep(0.1)
    assert not given  # it waits to see what is stored
    held.commit()
    waiting.join(PATIENCE)
    assert given[0].arm == 2


# --- several processes --------------------------------------------------------------------------------------------------


def work(target, experiment, worker, outcomes):
    with Store.open(target) as store:
        ids = []
        for number in range(0, 100, 5):
            ids += add(store, experiment, *(worker * 1000 + number + k for k in range(5)))
            if number % 10:
                reward(store, experiment, *ids[-10:])
            store.refresh(experiment, ARRIVAL)
        outcomes.put(len(ids))


def test_processes_that_write_and_refresh_at_once_leave_one_log_without_gaps(target):
    with Store.open(target, create=True) as store:
        experiment = new_experiment(store)
        outcomes = PROCESSES.Queue()
        processes = [PROCESSES.Process(target=work, args=(target, experiment, n, outcomes)) for n in range(3)]
        for process in processes:
            process.start()
        assert [outcomes.get(timeout=PATIENCE) for _ in processes] == [100] * 3
        for process in processes:
            process.join(PATIENCE)
        assert store.refresh(experiment, ARRIVAL) == 300
        entries = store.entries(experiment, 0, 1000)
        assert [entry.seq for entry in entries] == list(range(1, 301))
        assert len({entry.decision for entry in entries}) == 300


def create(target, definition, together, definitions):
    together.wait(PATIENCE)
    with Store.open(target, create=True) as store:
        definitions.put(store.create_experiment("x", definition, "me").definition)


def test_processes_that_create_at_once(target):
    together, definitions = PROCESSES.Barrier(4), PROCESSES.Queue()
    processes = [PROCESSES.Process(target=create, args=(target, str(n), together, definitions)) for n in range(4)]
    for process in processes:
        process.start()
    assert len({definitions.get(timeout=PATIENCE) for _ in processes}) == 1
    for process in processes:
        process.join(PATIENCE)


@exhaustive
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_parent_and_child_use_the_store_after_a_fork(store):
    experiment = new_experiment(store)
    add(store, experiment, 1)
    child = os.fork()
    if child == 0:
        try:
            add(store, experiment, 2)
            store.close()
            os._exit(0)
        finally:  # of a child that failed: without the rest of the tests
            os._exit(1)
    add(store, experiment, 3)
    assert os.waitpid(child, 0)[1] == 0
    assert store.counts(experiment).decisions == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_connection_that_was_inherited_is_neither_used_nor_closed(store, monkeypatch):
    """As after a fork that Python was not told of."""
    experiment = new_experiment(store)
    connection = store._connection
    monkeypatch.setattr(store, "_process", -1)
    add(store, experiment, 1)
    assert store._connection is not connection
    connection.execute("SELECT 1")  # still open
    connection.close()


def test_threads_share_a_store(store):
    experiment = new_experiment(store)

    def some(start):
        for number in range(start, start + 20):
            reward(store, experiment, *add(store, experiment, number))
            store.refresh(experiment, ARRIVAL)

    threads = [threading.Thread(target=some, args=[100 * n]) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert [seq for seq, *_ in log(store, experiment)] == list(range(1, 81))


# --- schemas ------------------------------------------------------------------------------------------------------------


def test_a_newer_schema_is_refused_and_nothing_changed(target):
    with Store.open(target, create=True) as store:
        store._run(lambda: store._ask("UPDATE live_schema SET version = 99"), writes=True)
    for create in (True, False):
        with pytest.raises(
            StoreError, match="newer version of bandstrap: its tables have version 99, and this one knows"
        ):
            Store.open(target, create=create)


def test_a_schema_without_its_version_is_damage_and_nothing_is_changed(target):
    with Store.open(target, create=True) as store:
        store._run(lambda: store._ask("DELETE FROM live_schema"), writes=True)
    for create in (True, False):
        with pytest.raises(StoreError, match="is damaged: the version of its tables cannot be read"):
            Store.open(target, create=create)


def test_an_older_schema_is_brought_up_step_by_step(target, monkeypatch):
    with Store.open(target, create=True) as store:
        new_experiment(store)
        steps = store.steps()
        more = ["-- second; step\nALTER TABLE live_experiment ADD COLUMN a TEXT; CREATE TABLE live_x (y TEXT);"]
        more += ["INSERT INTO live_x (y) VALUES ('third');"]
        monkeypatch.setattr(type(store), "steps", classmethod(lambda cls: steps + more))
        with Store.open(target) as upgraded:
            assert upgraded._schema() == len(steps) + 2
            assert upgraded._run(lambda: upgraded._ask("SELECT y FROM live_x"), writes=False) == [("third",)]
            assert len(upgraded.experiments()) == 1
        with Store.open(target) as again:
            assert again._run(lambda: again._ask("SELECT y FROM live_x"), writes=False) == [("third",)]


def test_a_failed_upgrade_leaves_the_old_tables(target, monkeypatch):
    with Store.open(target, create=True) as store:
        steps = store.steps()
        bad = "CREATE TABLE live_x (y TEXT); INSERT INTO nowhere VALUES (1);"
        monkeypatch.setattr(type(store), "steps", classmethod(lambda cls: [*steps, bad]))
        with pytest.raises(StoreError, match="nowhere"):
            Store.open(target)
        assert store._schema() == len(steps)
        with pytest.raises(StoreError, match="live_x"):
            store._run(lambda: store._ask("SELECT y FROM live_x"), writes=False)


def test_a_database_without_live_experiments(postgres, tmp_path):
    others = tmp_path / "others.db"
    connection = sqlite3.connect(others)
    connection.execute("CREATE TABLE theirs (x)")
    connection.execute("PRAGMA user_version = 7")
    connection.commit()
    connection.close()
    for target in (others, postgres.new_schema()):
        with pytest.raises(StoreError, match="has no live experiments"):
            Store.open(target)
        with Store.open(target, create=True) as store:
            new_experiment(store)
    connection = sqlite3.connect(others)
    assert connection.execute("PRAGMA user_version").fetchone() == (7,)
    assert connection.execute("SELECT * FROM theirs").fetchall() == []
    connection.close()


# --- files --------------------------------------------------------------------------------------------------------------


def test_files_that_are_no_database(tmp_path):
    (tmp_path / "text").write_text("hello, this is no database, however long it is " * 100)
    (tmp_path / "empty").touch()
    for name, create, message in (
        ("text", False, "no database of SQLite"),
        ("text", True, "no database of SQLite"),
        ("missing", False, "does not exist"),
        (".", True, "it is a folder"),
        ("nowhere/x.db", True, "cannot be opened"),
        ("empty", False, "has no live experiments"),
    ):
        with pytest.raises(StoreError, match=message):
            Store.open(tmp_path / name, create=create)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "text"]
    Store.open(tmp_path / "empty", create=True).close()
    with pytest.raises(InvalidInput, match="durability"):
        Store.open(tmp_path / "x", create=True, durability="low")


@pytest.mark.parametrize("name", ["a b.db", "100%.db", "what?x=1.db", "#1.db", "ü😀'\".db", "file:x.db"])
def test_names_of_files(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    store = Store.open(f"./{name}", create=True)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    new_experiment(store)
    store.close()
    assert len(store.experiments()) == 1  # a new connection to the same file
    store.close()
    assert (tmp_path / name).stat().st_size > 0


def test_durability(tmp_path):
    for durability, level in (("full", 2), ("normal", 1)):
        with Store.open(tmp_path / "x.db", create=True, durability=durability) as store:
            assert store._run(lambda: store._ask("PRAGMA synchronous"), writes=False) == [(level,)]
            assert store._run(lambda: store._ask("PRAGMA journal_mode"), writes=False) == [("wal",)]


def test_a_file_that_was_removed_or_replaced_is_noticed(tmp_path):
    path = tmp_path / "live.db"
    store = Store.open(path, create=True)
    experiment = new_experiment(store)
    store.close()
    shutil.copy(path, tmp_path / "copy.db")
    add(store, experiment, 1)
    for file in tmp_path.glob("live.db*"):
        file.unlink()
    with pytest.raises(StoreError, match="cannot be opened"):
        add(store, experiment, 2)
    assert not path.exists()
    (tmp_path / "copy.db").rename(path)
    add(store, experiment, 3)
    assert store.counts(experiment).decisions == 1
    store.close()


def test_a_file_that_may_not_be_written(tmp_path, monkeypatch):
    path = tmp_path / "live.db"
    with Store.open(path, create=True) as store:
        experiment = new_experiment(store)
        add(store, experiment, 1)
    # As whoever may do anything, permissions keep nobody from writing.
    monkeypatch.setattr(sqlite.SqliteStore, "_is_writable", lambda store: False)
    with Store.open(path) as store:
        assert store.counts(experiment).decisions == 1
        assert store.refresh(experiment, ARRIVAL) == 0
        with pytest.raises(StoreError, match="it is read only"):
            add(store, experiment, 2)
        assert store.counts(experiment).decisions == 1
    monkeypatch.undo()
    with Store.open(path) as store:
        add(store, experiment, 2)


def test_a_damaged_file(tmp_path):
    path = tmp_path / "live.db"
    with Store.open(path, create=True) as store:
        experiment = new_experiment(store)
        add(store, experiment, *range(500))
    data = bytearray(path.read_bytes())
    data[8192:] = b"\xa5" * (len(data) - 8192)
    path.write_bytes(data)
    with pytest.raises(StoreError, match="damaged"), Store.open(path) as store:
        list(store.records(experiment, ARRIVAL))


# --- servers ------------------------------------------------------------------------------------------------------------


def test_a_connection_that_was_cut_is_made_again(server_store, postgres):
    store = server_store
    experiment = new_experiment(store)
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'bandstrap'"
        )
    add(store, experiment, 1)
    assert store.counts(experiment).decisions == 1


def n_prepared(store):
    ((n,),) = store.ask("SELECT count(*) FROM pg_prepared_statements")
    return n


def test_statements_are_prepared_unless_a_pool_is_between_us_and_the_server(server_store, monkeypatch):
    """In its transaction mode, each transaction may have another connection to the server; none has the number it tells."""
    store = server_store
    experiment = new_experiment(store)
    for number in range(10):
        add(store, experiment, number)
    assert n_prepared(store) > 0
    store.close()
    monkeypatch.setattr(psycopg.ConnectionInfo, "backend_pid", property(lambda _: 0))
    for number in range(10, 20):
        add(store, experiment, number)
    assert n_prepared(store) == 0


def test_prepared_statements_that_are_lost_or_whose_tables_are_made_anew_cost_nothing(server_store):
    store = server_store
    experiment = new_experiment(store)
    for number in range(10):
        add(store, experiment, number)
    store.ask("DEALLOCATE ALL")
    add(store, experiment, 10)
    assert store.counts(experiment).decisions == 11
    with psycopg.connect(store.url, autocommit=True) as connection:
        ((schema,),) = connection.execute("SELECT current_schema()").fetchall()
        connection.execute(f"DROP SCHEMA {schema} CASCADE; CREATE SCHEMA {schema}")
    with Store.open(store.url, create=True) as other:
        experiment = new_experiment(other)
    add(store, experiment, 0)
    assert store.counts(experiment).decisions == 1


def test_what_was_cut_at_its_end_is_not_repeated(server_store, postgres):
    """Whether it took place is not known then; a change of arms made twice would be wrong."""
    store = server_store
    experiment = new_experiment(store)
    ask = store._ask

    def cut(statement, *parameters):
        answer = ask(statement, *parameters)
        if statement == "COMMIT":
            raise psycopg.OperationalError("the connection is lost after the commit")
        return answer

    store._ask = cut
    with pytest.raises(StoreError, match="lost"):
        store.append_change(experiment, "pause", "{}", "me", 0)
    store._ask = ask
    assert len(store.changes(experiment)) == 1


def test_a_deadlock_is_tried_again(server_store):
    store = server_store
    experiment = new_experiment(store)
    ask, failures = store._ask, iter([psycopg.errors.DeadlockDetected("deadlock detected")])

    def deadlocked(statement, *parameters):
        if statement.startswith("WITH r") and (failure := next(failures, None)):
            raise failure
        return ask(statement, *parameters)

    store._ask = deadlocked
    add(store, experiment, 1)
    assert store.counts(experiment).decisions == 1


def test_settings_of_a_database(postgres):
    url = postgres.new_database()
    database = url.split("/")[3].split("?")[0]
    store = Store.open(url, create=True)
    experiment = new_experiment(store)
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
        store.close()
        with pytest.raises(
            StoreError, match=f"The database {database} of PostgreSQL at .* cannot be used: it is read only"
        ):
            add(store, experiment, 1)
        connection.execute(f"ALTER DATABASE {database} SET default_transaction_read_only = off")
        # Whatever the default is, every statement sees what was committed before it.
        connection.execute(f"ALTER DATABASE {database} SET default_transaction_isolation = 'serializable'")
        connection.execute(f"ALTER DATABASE {database} SET extra_float_digits = -5")
    store.close()
    (row,) = store.add_decisions(experiment, [decision(1, propensity=0.1 + 0.2)], ARRIVAL)
    assert store.decisions(experiment, [row.id])[0].propensity == 0.1 + 0.2
    held = Held(url, lambda other: other.append_change(experiment, "pause", "{}", "me", 0))
    given = []
    waiting = threading.Thread(target=lambda: given.append(store.append_change(experiment, "pause", "{}", "me", 9)))
    waiting.start()
    time.sleep(0.1)
    held.commit()
    waiting.join(PATIENCE)
    assert given == [2]
    store.close()


@pytest.mark.parametrize("state", ["53100", "57P03", "08006", "XX001"])
def test_failures_by_their_codes(server_store, state):
    error = psycopg.errors.lookup(state)("ERROR: could not extend file: No space left on device")
    sentence = str(server_store._failure(error))
    expected = {"53100": "disk is full", "57P03": "starting", "08006": "lost", "XX001": "damage"}[state]
    assert expected in sentence
    assert sentence.endswith(".")


@each(
    "address",
    [
        "postgresql://ann:sesame@localhost:1/x",
        "postgresql://ann:ses%40me@localhost:1/x",
        "postgresql://ann:ses@sesame@nowhere.invalid:1/x",
        "postgresql://ann@localhost:1/x?password=sesame",
        "postgresql://ann:sesame@localhost:1/x?nonsense=1",
        "postgresql://ann:sesame@localhost:port/x",
        "postgresql://ann:ses/same@localhost:1/x",
        "postgresql://ann:sesame@[::1/x",
    ],
)
def test_a_password_is_never_shown(address):
    with pytest.raises(StoreError) as raised:
        Store.open(address)
    shown = f"{raised.value} {raised.value!r} {raised.value.__cause__}"
    assert not re.search("ses|same", shown)
    assert raised.value.__suppress_context__


def test_psycopg_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "bandstrap.live.postgres", raising=False)
    with pytest.raises(StoreError, match=r"need psycopg 3: pip install .bandstrap\[postgres\]"):
        Store.open("postgresql://localhost/x")


def test_clock_and_window_agree_in_the_real_clock(store):
    """Without a clock that stands still: what is not late is learned, what is late is not."""
    for window in WINDOWS:
        experiment, settle, begun = new_experiment(store), Settle(window, "sum", 0.0), time.monotonic()
        one, two = add(store, experiment, 1, 2, settle=settle)
        outcome, settled = reward(store, experiment, one, settle=settle), store.refresh(experiment, settle)
        if time.monotonic() - begun < window:
            break
    assert (outcome, settled) == (["stored"], 0)
    time.sleep(1.2 * window)
    assert reward(store, experiment, two, settle=settle) == ["late"]
    assert store.refresh(experiment, settle) == 2
    assert log(store, experiment) == [(1, "reward", one, 1, 1.0), (2, "default", two, 2, 0.0)]


def test_a_refresh_with_nothing_due_takes_no_lock(store):
    experiment = new_experiment(store)
    set_clock(store, 0.0)
    add(store, experiment, 1, settle=SUM)
    asked = []
    ask = store._ask
    store._ask = lambda statement, *parameters: asked.append(statement) or ask(statement, *parameters)
    assert store.refresh(experiment, SUM) == 0
    assert len(asked) == 1


def test_who_opens_a_file_waits_for_another_that_has_it_all_to_itself(tmp_path):
    """So has, for a moment, whoever closes the last connection to it."""
    path = tmp_path / "shop.db"
    Store.open(path, create=True).close()
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN IMMEDIATE")
    threading.Timer(0.3, other.close).start()
    with Store.open(path) as store:
        assert store.experiments() == []


def test_who_has_waited_longer_looks_more_often_until_somebody_seems_stopped():
    pauses = [sqlite.longest_pause(waited) for waited in (0.0, 0.005, 0.01, 0.02, 0.5, 1.0)]
    assert pauses == sorted(pauses, reverse=True)
    assert (pauses[0], pauses[-1]) == (sqlite.FIRST, sqlite.SHORTEST)
    assert sqlite.longest_pause(60.0) == sqlite.PATIENT

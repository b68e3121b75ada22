"""Processes that work on one experiment at once: stale, slow to commit, restarted, forked, and all at the same thing."""

import functools
import json
import os
import random
import threading
import time

import pytest

from bandstrap import live
from bandstrap.errors import InvalidInput
from live.history import read_lines
from live.workers import (
    HELD_OUT,
    PATIENCE,
    SHOP,
    Worker,
    check,
    failure_of,
    finish,
    noted,
    plain,
    start,
    total,
)
from sampling import exhaustive

N_WORKERS = 4
N_EVENTS = 10_000


# --- ten thousand events ------------------------------------------------------------------------------------------------


def slow_to_commit(store, rng):
    """Let some transactions be open for a while, so that others, begun later, are committed before."""
    ask = store._ask

    def waiting(statement, *parameters):
        if statement == "COMMIT" and rng.random() < 0.2:
            time.sleep(rng.uniform(0, 0.02))
        return ask(statement, *parameters)

    store._ask = waiting


def stale_work(target, path, number, n_events):
    """Decide and reward so many times; the first worker looks at the log all the time, the last never."""
    with noted(path), live.open(target, "shop") as experiment:
        worker = Worker(experiment, path)
        rng = random.Random(f"{worker.name} {worker.n_calls}")  # noqa: S311 - no secret
        if target.startswith("postgresql"):
            slow_to_commit(experiment.store, rng)
        done = 0
        while done < n_events:
            n = min(rng.choice([1, 10, 40]), n_events - done)
            worker.decide(n)
            done += n
            late = [id_ for id_ in worker.owed if rng.random() < 0.7][: n_events - done]
            rng.shuffle(late)
            if late:
                worker.reward(late)
                done += len(late)
            if rng.random() < (1, 0.3, 0.05, 0)[number]:
                worker.call("refresh")


@exhaustive
def test_ten_thousand_events_of_stale_workers_that_are_restarted(target, tmp_path):
    """Decisions and rewards; each worker decides on versions as old as it is told to be. Half-way all of them are new."""
    diaries = [tmp_path / f"worker{i}.diary" for i in range(N_WORKERS)]
    live.create(target, "shop", **SHOP | HELD_OUT | {"refresh": "1h"}).close()
    for _ in range(2):
        share = N_EVENTS // N_WORKERS // 2
        workers = [start(stale_work, target, path, i, share) for i, path in enumerate(diaries)]
        finish(*workers)
    found = check(target, "shop", diaries)
    assert found.decisions + found.rewards == N_EVENTS
    assert found.unanswered == 0
    assert found.versions > 20


def test_a_reward_committed_after_later_ones_is_learned_and_the_replay_is_identical(postgres, tmp_path):
    """Its number is lower than those that were learned before it: who looks for higher numbers only would lose it."""
    target = postgres.new_database()
    early, late = threading.Event(), threading.Event()
    with (
        live.create(target, "shop", **SHOP | {"refresh": "1h"}) as experiment,
        live.open(target, "shop") as other,
    ):
        first, *rest = Worker(experiment, tmp_path / "one.diary").decide(5)
        ask = other.store._ask

        def held(statement, *parameters):
            if statement == "COMMIT":
                early.set()
                assert late.wait(PATIENCE)
            return ask(statement, *parameters)

        other.store._ask = held
        slow = threading.Thread(target=Worker(other, tmp_path / "other.diary").reward, args=([first["id"]],))
        slow.start()
        assert early.wait(PATIENCE)
        worker = Worker(experiment, tmp_path / "one.diary")
        worker.reward([row["id"] for row in rest])
        assert worker.call("refresh") == 4
        worker.decide(5)
        late.set()
        slow.join()
        other.store._ask = ask
        assert worker.call("refresh") == 5
    check(target, "shop", [tmp_path / "one.diary", tmp_path / "other.diary"])


def wait_for_all(folder, processes):
    """Wait until each process has said that it is ready."""
    deadline = time.monotonic() + PATIENCE
    while len(list(folder.glob("*.ready"))) < len(processes):
        assert time.monotonic() < deadline
        assert all(process.exitcode is None for process in processes)
        time.sleep(0.002)


# --- windows ------------------------------------------------------------------------------------------------------------

WINDOW = 0.6


def first_or(default):
    return lambda values: values[0] if values else default


def last_or(default):
    return lambda values: values[-1] if values else default


# By name: settings, and what a decision is settled with whose rewards in time are these.
WINDOWS = {
    "sum": ({"aggregate": "sum"}, lambda values: total(values) if values else None),
    "last": ({"aggregate": "last"}, last_or(None)),
    "last or default": ({"aggregate": "last", "default_reward": 0.25}, last_or(0.25)),
    "first or default": ({"aggregate": "first", "default_reward": 0.25}, first_or(0.25)),
    "on arrival": ({"aggregate": "first"}, None),
}


def work_in_windows(target, folder, number):
    """For two seconds, decide and reward in several experiments: at once, in time, too late, twice and never."""
    rng = random.Random(number)  # noqa: S311 - no secret
    path = folder / f"worker{number}"
    with noted(path.with_suffix(".diary")):
        experiments = {name: live.open(target, name) for name in WINDOWS}
        workers = {name: Worker(one, folder / f"worker{number} {name}.diary") for name, one in experiments.items()}
        planned, begun = [], time.monotonic()
        while (now := time.monotonic() - begun) < 2 or planned:
            name = rng.choice(list(WINDOWS))
            if now < 2:
                for row in workers[name].decide(rng.choice([1, 4])):
                    keys = rng.choice([[], [None], [None, "b"], [None, "b", "c"]])
                    planned += [(now + rng.choice([0, 0.2, 0.4, 0.9]), name, row["id"], key) for key in keys]
            due = [plan for plan in planned if plan[0] <= now]
            planned = [plan for plan in planned if plan[0] > now]
            for _, name_of, id_, key in due:
                workers[name_of].reward([id_], key)
            if rng.random() < 0.2:
                workers[name].call("refresh")
            time.sleep(0.01)
        too_late = [(worker, worker.decide()[0]["id"]) for worker in workers.values()]
        time.sleep(1.5 * WINDOW)
        for worker, id_ in too_late:
            assert worker.reward([id_]) == ["late"]
        for experiment in experiments.values():
            experiment.close()


@exhaustive
def test_rewards_in_time_are_learned_when_windows_close_and_late_ones_never(target, tmp_path):
    for name, (settings, _) in WINDOWS.items():
        live.create(target, name, window=WINDOW, **SHOP | settings).close()
    finish(*(start(work_in_windows, target, tmp_path, number) for number in range(2)))
    assert failure_of(tmp_path / "worker0.diary") is failure_of(tmp_path / "worker1.diary") is None
    for name, (_, settle) in WINDOWS.items():
        found = check(target, name, sorted(tmp_path.glob(f"* {name}.diary")), settle, WINDOW)
        assert found.late >= 2
        assert found.learned == found.decisions or name == "on arrival"


def reward_all(target, folder, number):
    """Reward the decisions of all experiments, each under a key of one's own, while others do the same."""
    with noted(folder / f"rewarder{number}.diary"):
        rng = random.Random(number)  # noqa: S311 - no secret
        work = []
        experiments = [live.open(target, name) for name in WINDOWS]
        (folder / f"{number}.ready").touch()
        while not (folder / "go").exists():
            time.sleep(0.002)
        for name, experiment in zip(WINDOWS, experiments, strict=True):
            if target.startswith("postgresql"):
                slow_to_commit(experiment.store, rng)
            worker = Worker(experiment, folder / f"rewarder{number} {name}.diary")
            decided = read_lines(folder / f"decider {name}.diary")[1]["result"]
            work += [(worker, row["id"]) for row in decided]
        rng.shuffle(work)
        for worker, id_ in work:
            worker.reward([id_], key=f"key {number}")
            if rng.random() < 0.1:
                worker.call("refresh")
        for experiment in experiments:
            experiment.close()


def test_rewards_of_the_same_decisions_by_several_processes_become_one(target, tmp_path):
    """Of several under way at once, the first, the last or the sum of those in time, whichever is committed when."""
    window, n = 1.5, 30
    deciders = {}
    for name, (settings, settle) in WINDOWS.items():
        experiment = live.create(target, name, window=window if settle else None, **SHOP | settings)
        deciders[name] = Worker(experiment, tmp_path / f"decider {name}.diary")
    rewarders = [start(reward_all, target, tmp_path, number) for number in range(3)]
    wait_for_all(tmp_path, rewarders)
    for decider in deciders.values():
        decider.decide(n)
        decider.experiment.close()
    (tmp_path / "go").touch()
    finish(*rewarders)
    time.sleep(window)
    for name, (_, settle) in WINDOWS.items():
        found = check(target, name, sorted(tmp_path.glob(f"* {name}.diary")), settle)
        assert found.rewards == 3 * n
        assert found.learned == n


# --- forks --------------------------------------------------------------------------------------------------------------


def some_work(worker, seed):
    rng = random.Random(seed)  # noqa: S311 - no secret
    for _ in range(10):
        worker.decide(rng.choice([1, 5]))
        worker.reward(rng.sample(worker.owed, len(worker.owed) // 2))
        if rng.random() < 0.3:
            worker.call("refresh")


def fork_at_work(target, folder):
    """Fork three children while a thread works with the same experiment; all go on with it, and the parent too."""
    path = folder / "parent.diary"
    with noted(path), live.open(target, "shop") as experiment:
        parent = Worker(experiment, path)
        some_work(parent, 0)
        thread = threading.Thread(target=some_work, args=(Worker(experiment, folder / "thread.diary"), 1))
        thread.start()
        children = []
        for number in range(3):
            child = os.fork()
            if child == 0:
                own = folder / f"child{number}.diary"
                try:
                    with noted(own):
                        some_work(Worker(experiment, own), 2 + number)
                        os._exit(0)
                finally:
                    os._exit(1)
            children.append(child)
            parent.decide(3)
        some_work(parent, 9)
        thread.join()
        assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0], [
            failure_of(folder / f"child{number}.diary") for number in range(3)
        ]


@exhaustive
def test_children_of_a_fork_and_the_parent_go_on_with_the_same_experiment(target, tmp_path):
    live.create(target, "shop", **SHOP).close()
    process = start(fork_at_work, target, tmp_path)
    process.join(PATIENCE)
    assert process.exitcode == 0, failure_of(tmp_path / "parent.diary")
    names = ("parent", "thread", "child0", "child1", "child2")
    found = check(target, "shop", [tmp_path / f"{name}.diary" for name in names])
    assert found.unanswered == 0


# --- all at the same thing ----------------------------------------------------------------------------------------------


def when_all_are_ready(folder, number, function, arguments):
    """Call a function at the same moment as others do theirs, and write down what it gave."""
    with noted(folder / f"{number}.diary"):
        (folder / f"{number}.ready").touch()
        while not (folder / "go").exists():
            pass
        try:
            result = plain(function(*arguments))
        except InvalidInput as refusal:
            result = {"refused": str(refusal)}
        (folder / f"{number}.result").write_text(json.dumps(result))


def at_once(folder, *jobs):
    """Results of functions with their arguments, each called in a process of its own, all at the same time."""
    folder.mkdir()
    processes = [
        start(when_all_are_ready, folder, i, function, arguments) for i, (function, *arguments) in enumerate(jobs)
    ]
    wait_for_all(folder, processes)
    (folder / "go").touch()
    for number, process in enumerate(processes):
        process.join(PATIENCE)
        assert process.exitcode == 0, failure_of(folder / f"{number}.diary")
    return [json.loads((folder / f"{number}.result").read_text()) for number in range(len(jobs))]


def create(target, options):
    with live.create(target, "shop", **SHOP | options) as experiment:
        return experiment.decide(key="k")


def do(target, method, *arguments, **options):
    with live.open(target, "shop") as experiment:
        return getattr(experiment, method)(*arguments, **options)


def refusals(results):
    return [result["refused"] for result in results if isinstance(result, dict) and "refused" in result]


@pytest.fixture(params=["sqlite", "postgres"])
def new_target(request, tmp_path):
    """A function that gives a new place for a store."""
    if request.param == "postgres":
        return request.getfixturevalue("postgres").new_database
    numbers = iter(range(1000))
    return lambda: str(tmp_path / f"live{next(numbers)}.db")


def test_who_creates_the_same_experiment_at_once_gets_the_same(new_target, tmp_path):
    """In a database without tables: these are made once, too."""
    for attempt in range(5):
        target = new_target()
        results = at_once(tmp_path / str(attempt), *[(create, target, {})] * N_WORKERS)
        assert all(result == results[0] for result in results)
        with live.open(target, "shop") as experiment:
            assert experiment.replay().decisions == 1


def test_of_two_definitions_at_once_one_is_created_and_the_other_refused_in_a_sentence(new_target, tmp_path):
    for attempt in range(5):
        target = new_target()
        floors = [0.05, 0.08] * 2
        results = at_once(tmp_path / str(attempt), *((create, target, {"floor": floor}) for floor in floors))
        with live.open(target, "shop") as experiment:
            stored = experiment.definition.floor
        for floor, result in zip(floors, results, strict=True):
            if floor == stored:
                assert refusals([result]) == []
            else:
                (sentence,) = refusals([result])
                assert sentence.startswith("The 'floor' parameter of live.create must be")
                assert sentence.count("\n") == 0


def test_of_equal_changes_at_once_one_is_made(target, tmp_path):
    live.create(target, "shop", **SHOP).close()
    for kind, arm in (("pause", "b"), ("resume", "b"), ("add_arm", "d"), ("retire", "b"), ("add_arm", "e")):
        results = at_once(tmp_path / f"{kind} {arm}", *[(do, target, kind, arm)] * N_WORKERS)
        assert len(refusals(results)) == N_WORKERS - 1
        assert all(sentence.startswith(f"The 'arm' parameter of {kind} must be") for sentence in refusals(results))
    with live.open(target, "shop") as experiment:
        assert experiment.state.arms == ["a", "b", "c", "d", "e"]
        assert [change.kind for change in experiment.store.changes(experiment.row.id)] == [
            "pause",
            "resume",
            "add_arm",
            "retire",
            "add_arm",
        ]
        assert experiment.replay().is_identical


def test_of_all_arms_retired_or_paused_at_once_one_remains(target, tmp_path):
    live.create(target, "shop", **SHOP).close()
    for kind in ("pause", "retire"):
        results = at_once(tmp_path / kind, *((do, target, kind, arm) for arm in SHOP["arms"]))
        assert len(refusals(results)) == 1
        assert "other than the last active arm" in refusals(results)[0]
        with live.open(target, "shop") as experiment:
            assert len(experiment.state.active()) == 1
            for arm, status in zip(experiment.state.arms, experiment.state.status, strict=True):
                if status == "paused":
                    experiment.resume(arm)
            assert experiment.replay().is_identical


def test_the_same_key_and_the_same_reward_at_once_count_once(target, tmp_path):
    with live.create(target, "shop", **SHOP) as experiment:
        for attempt in range(5):
            key = f"key {attempt}"
            # Each would decide something else.
            jobs = [(functools.partial(do, key=key, available=[arm]), target, "decide") for arm in SHOP["arms"]]
            found = at_once(tmp_path / key, *jobs)
            assert all(result == found[0] for result in found)
            outcomes = at_once(
                tmp_path / f"reward {attempt}",
                *((do, target, "reward", found[0][0]["id"], 0.1 * i) for i in range(N_WORKERS)),
            )
            assert sorted(outcomes) == ["duplicate"] * (N_WORKERS - 1) + ["stored"]
        assert experiment.refresh() == 5
        assert experiment.replay().is_identical

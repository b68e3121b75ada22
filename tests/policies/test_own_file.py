"""Policies in a user's own file: found, played as they are now, and kept apart."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from bandstrap.engine.simulator.own_file import anchored, load_file, parse_file_call
from bandstrap.errors import InvalidInput
from bandstrap.names import NAMED_POLICIES, make
from bandstrap.policies import POLICIES
from contract.test_policies import run as run_code
from sampling import each, exhaustive, telling

MINE = (Path(__file__).parents[2] / "docs" / "mine.py").read_text()

RACED = ("--horizon", "40", "--replications", "4", "--jobs", "1")
# Plays a policy compiled and live on the same tapes and prints how often each arm was pulled.
RACE = """
    import sys
    import numpy as np
    from bandstrap import simulate
    from bandstrap.engine.compiler.compiled import compiled
    from bandstrap.engine.simulator.play import Game, loop, play
    from bandstrap.engine.simulator.tape import draw_tape
    from bandstrap.engine.simulator.streams import ENVIRONMENT, POLICY, stream
    from bandstrap.environments import Gaussian

    def race(policy):
        world, horizon = Gaussian([0, 0.5, 1]), 60
        found = simulate(policy, world, horizon=horizon, replications=3, seed=4, progress=False).pulls[0]
        live = []
        for replication in range(3):
            _, tape = draw_tape(world, horizon, stream(4, replication, ENVIRONMENT))
            rng = stream(4, replication, POLICY)
            state = policy.start(3, horizon, rng)
            choices = np.empty(horizon, dtype=np.int64)
            play(policy.kernel, Game.begin(policy.make_params(horizon), state, tape, choices, 1), rng)
            live.append(np.bincount(choices, minlength=3).tolist())
        print(found.tolist() == live, found.tolist())
"""


def run(code: str, folder: Path, **environment: str) -> str:
    """What some code prints that may race policies, in a fresh interpreter."""
    return run_code(textwrap.dedent(RACE) + textwrap.dedent(code), folder=folder, **environment)


def command(*arguments: str, folder: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "bandstrap", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


# --- finding ----------------------------------------------------------------------------------------------------------


@each(
    ("text", "expected"),
    [
        ("./mine.py:Mine:c=2,plus=true", ("./mine.py", "Mine", {"c": 2, "plus": True})),
        ("mine.py:Mine", ("mine.py", "Mine", {})),
        ("/a b/mine.py", ("/a b/mine.py", None, {})),
        ("mine.py:c=2", ("mine.py", None, {"c": 2})),
        (r"C:\own\mine.py:Mine:c=1", (r"C:\own\mine.py", "Mine", {"c": 1})),
        ("odd.py.py:Mine", ("odd.py.py", "Mine", {})),
        ("mine.py:Mine:model=other.py", ("mine.py", "Mine", {"model": "other.py"})),
    ],
)
def test_a_call_of_a_file_is_read(text, expected):
    assert parse_file_call(text) == expected


@pytest.mark.parametrize("text", ["ucb1", "ucb1:sigma=2", "python", ".py", "mine.pyc:Mine"])
def test_what_names_no_file_is_none(text):
    assert parse_file_call(text) is None


def test_a_relative_file_is_anchored_and_an_absolute_one_is_not(tmp_path):
    assert anchored("mine.py:Mine:c=2", tmp_path) == f"{tmp_path}/mine.py:Mine:c=2"
    assert anchored("/x/mine.py:Mine", tmp_path) == "/x/mine.py:Mine"
    assert anchored("ucb1:sigma=2", tmp_path) == "ucb1:sigma=2"


def test_a_policy_of_a_file_shows_where_it_is_from_and_is_not_entered_among_ours(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    policy = make(f"{tmp_path}/mine.py:Mine:c=3", NAMED_POLICIES, "policy")
    assert policy.label == f"{tmp_path}/mine.py:Mine:c=3"
    assert make(f"{tmp_path}/mine.py:c=3", NAMED_POLICIES, "policy").label == policy.label
    assert "mine" not in POLICIES


@pytest.mark.parametrize(
    ("content", "call", "message"),
    [
        (None, "mine.py:Mine", r"mine\.py is not a file\."),
        ("x = (", "mine.py:Mine", r"mine\.py is not Python, line 1: '\(' was never closed\."),
        ("x = 1\n\0", "mine.py:Mine", r"mine\.py is not Python: source code string cannot contain null bytes\."),
        ("x = 1\n1/0\n", "mine.py:Mine", r"mine\.py cannot be loaded: ZeroDivisionError in line 2: division by zero\."),
        (
            "import nowhere_at_all\n",
            "mine.py:Mine",
            r"cannot be loaded: ModuleNotFoundError in line 1: No module named",
        ),
        ("x = 1\n", "mine.py:Mine", r"mine\.py has no policy 'Mine'; it has none\."),
        ("class Mine: pass\n", "mine.py:Mine", r"mine\.py has no policy 'Mine'; it has none\."),
        (MINE, "mine.py:Other", r"mine\.py has no policy 'Other'; it has Mine\."),
        (
            MINE + "\n\nclass Two(Mine): pass\n",
            "mine.py",
            r"mine\.py has more than one policy, Mine, Two; say which, as in .*mine\.py:Mine\.",
        ),
        ("x = 1\n", "mine.py", r"mine\.py has no policy\."),
        (MINE, "mine.py:Mine:d=1", r"Mine has no parameter 'd'.*; it takes c, arms, rng, direction, compiled\."),
        (MINE, "mine.py:Mine:c=-1", r"'c' parameter of Mine must be a finite number greater than 0\. Got -1\.0"),
        (MINE, "mine.py:Mine:c", r"^'c' in '/.* is not of the form key=value\."),
        (
            MINE.replace("class Mine", "class UCB1"),
            "mine.py:UCB1",
            r"'name' parameter of own_mine\w+\.UCB1 must be other than the names of bandstrap, where 'ucb1' is UCB1",
        ),
        (
            MINE.replace("prepare=prepare, ", ""),
            "mine.py:Mine",
            r"'prepare' parameter of the kernel 'mine' must be given",
        ),
    ],
)
def test_a_mistake_is_told_in_a_sentence(tmp_path, content, call, message):
    if content is not None:
        (tmp_path / "mine.py").write_text(content)
    with pytest.raises(InvalidInput, match=message):
        make(f"{tmp_path}/{call}", NAMED_POLICIES, "policy")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x = 1\ny = (\n", r"^\S+beside\.py is not Python, line 2: '\(' was never closed\.$"),
        ("x = 1\n\0", r"^\S+beside\.py is not Python: source code string cannot contain null bytes\.$"),
    ],
)
def test_a_module_beside_a_file_that_is_not_python_is_named(tmp_path, content, message):
    (tmp_path / "mine.py").write_text("import beside\n" + MINE)
    (tmp_path / "beside.py").write_text(content)
    with pytest.raises(InvalidInput, match=message):
        load_file(tmp_path / "mine.py")


def test_a_mistake_on_the_command_line_is_a_sentence_and_exit_code_2(tmp_path):
    (tmp_path / "mine.py").write_text("x = 1\n1/0\n")
    finished = command("simulate", "--policy", "mine.py:Mine", folder=tmp_path)
    assert finished.returncode == 2
    assert finished.stderr == "error: mine.py cannot be loaded: ZeroDivisionError in line 2: division by zero.\n"


@pytest.mark.parametrize(
    "beside", ["beside", "own_beside"]
)  # the second begins like the names that files are loaded by
def test_files_of_one_name_in_two_folders_and_the_modules_beside_them_are_kept_apart(tmp_path, beside):
    for folder, constant in (("one", 1.0), ("two", 2.0)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{beside}.py").write_text(f"CONSTANT = {constant}\n")
        (tmp_path / folder / "mine.py").write_text(f"from {beside} import CONSTANT\n{MINE}")
    one, two = (load_file(tmp_path / folder / "mine.py") for folder in ("one", "two"))
    assert (one.CONSTANT, two.CONSTANT) == (1.0, 2.0)
    assert one.__name__ != two.__name__
    assert beside not in sys.modules
    assert str(tmp_path / "one") not in sys.path
    assert load_file(tmp_path / "one" / "mine.py") is one
    (tmp_path / "one" / f"{beside}.py").write_text("CONSTANT = 3.0\n")  # the file itself was not edited
    assert load_file(tmp_path / "one" / "mine.py").CONSTANT == 3.0


def test_modules_beside_a_file_are_kept_apart_where_python_would_find_them_by_itself(tmp_path, monkeypatch):
    """As in the folder in which Python was started."""
    monkeypatch.syspath_prepend(tmp_path / "one")
    for folder, constant in (("one", 1.0), ("two", 2.0)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "found_anyway.py").write_text(f"CONSTANT = {constant}\n")
        (tmp_path / folder / "mine.py").write_text(f"from found_anyway import CONSTANT\n{MINE}")
    assert [load_file(tmp_path / folder / "mine.py").CONSTANT for folder in ("one", "two")] == [1.0, 2.0]
    assert "found_anyway" not in sys.modules


# --- playing ----------------------------------------------------------------------------------------------------------

EDITS = [
    ("math.sqrt(shared / state.pulls[arm])", "math.sqrt(shared) / state.pulls[arm]"),
    ("params.c * math.log(round_)", "9.0 * params.c * math.log(round_)"),
]


@exhaustive
def test_an_edited_file_is_played_as_it_is_now_and_one_taken_back_comes_from_the_cache(tmp_path, monkeypatch):
    """An edit between processes, taken back: the results change, and come back with what was compiled before."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)  # so that it is kept beside the file
    code = """
        from mine import Mine
        race(Mine(c=2.0))
        stats = compiled(loop("arms", False, Mine.kernel.borrows), Mine.kernel).stats
        print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
    """
    outs = []
    for content, hits in ((MINE, "0 1"), (MINE.replace(*EDITS[0]), "0 1"), (MINE, "1 0")):
        (tmp_path / "mine.py").write_text(content)
        out, counts = run(code, tmp_path).splitlines()
        assert out.startswith("True ")
        assert counts == hits
        outs.append(out)
    assert outs[0] == outs[2] != outs[1]
    assert len(list((tmp_path / "__pycache__").glob("play-mine-*.nbc"))) == 2


STATE = """
class State(NamedTuple):
    order: object
    pulls: object
    {0}: object
    {1}: object


def learn(params, state, arm, reward, round_, rng):
    state.pulls[arm] += 1
    state.means[arm] += (reward - state.means[arm]) / state.pulls[arm]


class Mine("""
MAKE_STATE = """
    def make_state(self, n_arms, capacity, order):
        zeros = np.zeros(n_arms)
        return State(order=order, pulls=np.zeros(n_arms, dtype=np.int64), means=zeros, squares=zeros + 7.0)
"""


@exhaustive
def test_fields_in_another_order_are_not_read_by_old_machine_code(tmp_path):
    outs = []
    for order in (("means", "squares"), ("squares", "means")):
        content = MINE.replace("moments.learn", "learn").replace("\nclass Mine(", STATE.format(*order)) + MAKE_STATE
        (tmp_path / "mine.py").write_text("import numpy as np\n" + content)
        outs.append(run("from mine import Mine\nrace(Mine(c=2.0))", tmp_path))
    assert outs[0].startswith("True ")
    assert outs[0] == outs[1]


@exhaustive
def test_a_policy_redefined_in_one_process_is_played_as_it_is_now(tmp_path):
    """As in a notebook whose cells are run again: functions without a file, under one name."""
    code = f"""
        source = {MINE!r}
        edits = {[*EDITS, ("", "")]!r}
        for edit in edits:
            space = {{"__name__": "__main__"}}
            exec(source.replace(*edit) if edit[0] else source, space)
            race(space["Mine"](c=2.0))
    """
    outs = run(code, tmp_path).splitlines()
    assert all(out.startswith("True ") for out in outs), outs
    assert len(set(outs)) == 3
    assert list(tmp_path.rglob("*.nbc")) == []  # and never cached on disk


@exhaustive
def test_a_changed_constant_under_compiled_functions_is_played_as_it_is_now(tmp_path):
    """Also where a marked function in between reads it, and where it is changed back."""
    content = MINE.replace("return params.c *", "return scaled(params.c) *")
    content += "\n\n@jitable\ndef scaled(c):\n    return FACTOR * c\n"
    code = f"""
        from bandstrap.policies import jitable
        space = {{"__name__": "cells", "FACTOR": 1.0, "jitable": jitable}}
        exec({content!r}, space)
        for factor in (1.0, 9.0, 1.0):
            space["FACTOR"] = factor
            race(space["Mine"](c=2.0))
    """
    first, second, third = run(code, tmp_path).splitlines()
    assert first.startswith("True ")
    assert second.startswith("True ")
    assert first == third != second


@exhaustive
def test_a_policy_of_ones_own_leaves_nothing_behind_that_others_would_load(tmp_path):
    """Raced from its folder, then play from elsewhere, with one cache for both."""
    own, elsewhere, cache = (tmp_path / name for name in ("own", "elsewhere", "cache"))
    for folder in (own, elsewhere):
        folder.mkdir()
    (own / "mine.py").write_text(MINE)
    place = {"NUMBA_CACHE_DIR": str(cache)}
    ours = "from bandstrap import UCB1\nrace(UCB1())"
    alone = run(ours, elsewhere, **place)
    assert run("from mine import Mine\nrace(Mine())\n" + ours, own, **place).splitlines()[1] == alone
    assert run(ours, elsewhere, **place) == alone
    naming = [path.name for path in cache.rglob("*.nbc") if b"mine" in path.read_bytes()]
    assert naming
    assert all(name.startswith("play-mine-") for name in naming)


def test_a_kernel_that_calls_an_unmarked_function_is_refused_in_a_sentence(tmp_path):
    broken = (
        MINE.replace("return params.c *", "return unmarked(round_) * params.c *")
        + "\n\ndef unmarked(x):\n    return 1.0\n"
    )
    (tmp_path / "mine.py").write_text(broken)
    finished = command("simulate", "--policy", "mine.py", *RACED, folder=tmp_path)
    assert finished.returncode == 2
    sentence = "The function unmarked, which the 'prepare' function of Mine calls, must be marked with "
    assert finished.stderr == f"error: {sentence}bandstrap.policies.jitable.\n"


# --- the command line -------------------------------------------------------------------------------------------------


@exhaustive
def test_own_files_of_one_name_are_raced_from_the_command_line_edited_and_raced_again(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(MINE)
    (tmp_path / "two" / "mine.py").write_text(MINE.replace(*EDITS[0]))

    def race() -> list[str]:
        both = ("--policy", "one/mine.py:Mine", "--policy", "two/mine.py:Mine:c=1", "--policy", "ucb1")
        finished = command("simulate", *both, *RACED, folder=tmp_path)
        assert finished.returncode == 0, finished.stderr
        return [line.strip() for line in finished.stdout.splitlines() if "mine.py" in line or "ucb1" in line]

    first = race()
    assert [line.split()[0] for line in first] == ["one/mine.py:Mine", "two/mine.py:Mine:c=1", "ucb1"]
    assert len({line.split(maxsplit=1)[1] for line in first[:2]}) == 2
    (tmp_path / "one" / "mine.py").write_text(MINE.replace(*EDITS[1]))
    second = race()
    assert second[0] != first[0]
    assert second[1:] == first[1:]


# --- plain objects that fail --------------------------------------------------------------------------------------------

FAILING = """
class Failing:
    def __init__(self, n_arms, when="select"):
        self.round, self.when = 0, when
        if when == "init":
            raise RuntimeError("never\\nmore")

    def select(self):
        self.round += 1
        if self.when == "select" and self.round == 7:
            return [][1]
        return 0

    def update(self, arm, reward):
        if self.when == "update" and self.round == 7:
            raise KeyError
"""


@telling(
    ("when", "sentence"),
    [
        (
            "init",
            "cannot be made: RuntimeError in line 6 of failing.py: never more.",
        ),
        ("select", "fails in round 7: IndexError in line 11 of failing.py: list index out of range."),
        ("update", "fails in round 7: KeyError in line 16 of failing.py."),
    ],
    lambda when, sentence: when == "select",
)
def test_a_plain_object_that_raises_ends_the_command_with_one_sentence(when, sentence, tmp_path):
    (tmp_path / "failing.py").write_text(FAILING)
    done = command("simulate", "--policy", f"./failing.py:Failing:when={when}", *RACED, folder=tmp_path)
    assert done.returncode == 2
    warning, error = done.stderr.splitlines()
    assert warning.startswith("warning: ./failing.py:Failing")
    assert error == f"error: the policy ./failing.py:Failing:when={when} {sentence}"


def test_in_python_the_error_of_a_plain_object_is_the_cause():
    from bandstrap import simulate
    from bandstrap.environments import Gaussian
    from bandstrap.errors import SlowWarning

    space = {"__name__": "elsewhere"}
    exec(FAILING, space)
    with pytest.warns(SlowWarning), pytest.raises(InvalidInput, match="fails in round 7") as refusal:
        simulate(space["Failing"], Gaussian(), horizon=20, replications=1, seed=0, progress=False)
    assert isinstance(refusal.value.__cause__, IndexError)

"""What the command line says of itself: words that options take, help, completion, one sentence for a mistake."""

import json
import os
import re
import subprocess
import sys
import textwrap
from typing import get_args

import pytest
import typer.main

from bandstrap.bounds.bound import Side
from bandstrap.bounds.differences.compare import Simultaneous
from bandstrap.cli import options
from bandstrap.cli.commands import app
from bandstrap.cli.listing import ListedKind
from bandstrap.cli.options import split_labels
from bandstrap.live.database import Durability
from bandstrap.live.settings import Mode, OutOfRange
from bandstrap.live.settle import Aggregate
from bandstrap.policies.online.described import Direction
from sampling import each, telling


def commands(group=None, path=()):
    """Every command with its path, such as ("live", "arm", "add")."""
    group = typer.main.get_command(app) if group is None else group
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


# Not yet: their help is being rewritten.
COMMANDS = {path: command for path, command in commands() if path[0] != "paper"}
GROUPS = [(), ("live",), ("live", "arm")]


@each(
    ("shown", "taken"),
    [
        (options.SideName, Side),
        (options.SimultaneousName, Simultaneous),
        (options.DirectionName, Direction),
        (options.AggregateName, Aggregate),
        (options.ModeName, Mode),
        (options.OutOfRangeName, OutOfRange),
        (options.DurabilityName, Durability),
    ],
)
def test_the_words_of_an_option_are_those_that_the_library_takes(shown, taken):
    assert get_args(shown) == get_args(taken)


# --- help -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [*GROUPS, *COMMANDS], ids=" ".join)
def test_help_fits_80_columns_breaks_no_sentence_and_has_no_types_of_switches(path, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    done = run(*path, "--help")
    assert done.returncode == 0
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert "<bool>" not in done.stdout
    assert "..." not in re.sub(r"\[ARGS\]\.\.\.|>\.\.\.|, \.\.\.|\}\.\.\.|\[figure\]\.\.\.", "", done.stdout)
    assert not re.search(r"``|:\w+:`|\*\*", done.stdout)
    # A paragraph runs to the right margin: where a line ends, the next word would not have fitted.
    _usage, *paragraphs = done.stdout.partition("\n\nOptions:")[0].partition("\n\nArguments:")[0].split("\n\n")
    for paragraph in paragraphs:
        assert textwrap.dedent(paragraph).split("\n") == textwrap.wrap(" ".join(paragraph.split()), 76)


@each("path", COMMANDS, ids=" ".join)
def test_help_of_every_parameter_is_a_sentence(path):
    for parameter in COMMANDS[path].params:
        if getattr(parameter, "hidden", False):
            continue
        assert re.fullmatch(r"[A-Z'].*\.", parameter.help or "", re.DOTALL), (path, parameter.name, parameter.help)
        first = parameter.help.split()[0]
        assert first not in ("What", "Of", "Whether", "Who", "How"), (path, parameter.name)


@each(
    ("path", "words"),
    [
        (("list",), "|".join(get_args(ListedKind))),
        (("list",), "table|json|csv"),
        (("bound",), "upper|lower|two-sided"),
        (("bound",), "bonferroni|max"),
        (("compare",), "upper|lower|two-sided"),
        (("compare",), "bonferroni|max"),
        (("coverage",), "upper|lower|two-sided"),
        (("coverage",), "table|json|csv"),
        (("simulate",), "thread|process|dask|mpi"),
        (("live", "create"), "full|normal"),
        (("live", "create"), "first|last|sum"),
        (("live", "change"), "live|shadow"),
    ],
    ids=str,
)
def test_help_shows_the_words_of_an_option(path, words, run):
    assert words in run(*path, "--help").stdout


# --- mistakes -----------------------------------------------------------------------------------------------------------


@each(
    ("arguments", "sentence"),
    [
        (
            ["bound", "-", "--column", "y", "--side", "left"],
            "The 'side' parameter of bandstrap bound must be one of 'upper', 'lower', 'two-sided'. Got 'left' instead.",
        ),
        (
            ["simulate", "--executor", "ray"],
            (
                "The 'executor' parameter of bandstrap simulate must be one of 'thread', 'process', 'dask', 'mpi'. "
                "Got 'ray' instead."
            ),
        ),
        (
            ["live", "create", "x.db", "x", "--policy", "ucb1", "--mode", "dark"],
            "The 'mode' parameter of bandstrap live create must be one of 'live', 'shadow'. Got 'dark' instead.",
        ),
        (
            ["list", "stars"],
            (
                "The 'kind' parameter of bandstrap list must be one of 'policies', 'environments', 'bounds', "
                "'differences', 'methods', 'weights'. Got 'stars' instead."
            ),
        ),
        (
            ["simulate", "--seed", "x"],
            "The 'seed' parameter of bandstrap simulate must be a whole number. Got 'x' instead.",
        ),
        (
            ["simulate", "--horizon", "1.5"],
            "The 'horizon' parameter of bandstrap simulate must be a whole number. Got '1.5' instead.",
        ),
        (
            ["bound", "-", "--column", "y", "--alpha", "5 %"],
            "The 'alpha' parameter of bandstrap bound must be a number. Got '5 %' instead.",
        ),
        (["bound"], "bandstrap bound: Missing argument 'data'."),
        (["bound", "-"], "bandstrap bound: Missing option '--column'."),
        (["list"], "bandstrap list: Missing argument 'kind'"),
        (["nope"], "bandstrap: No such command 'nope'."),
        (["simulat"], "bandstrap: No such command 'simulat'. Did you mean 'simulate'?\n"),
        (["status", "--nope"], "bandstrap status: No such option: --nope"),
        (["status", "a", "b"], "bandstrap status: Got unexpected extra argument"),
        (["live", "nope"], "bandstrap live: No such command 'nope'."),
        (["bound", "-", "--alpha"], "Option '--alpha' requires an argument."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_command_line_ends_with_one_sentence_and_exit_code_2(arguments, sentence, run):
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"error: {sentence}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("path", GROUPS, ids=" ".join)
def test_a_group_without_a_command_shows_its_help(path, run):
    assert "Commands:\n" in (run(*path).stderr or run(*path).stdout)


# --- completion -------------------------------------------------------------------------------------------------------


def shell(command, home, **environment):
    """A command of a shell, whose home is a folder of the test's."""
    set_ = {**os.environ, "HOME": str(home), **environment}
    return subprocess.run(
        ["/bin/bash", "-c", f"{command}; exit $?"], capture_output=True, text=True, env=set_, check=False
    )


BANDSTRAP = f"{sys.executable} -m bandstrap"


def test_completion_can_be_shown_and_installed(tmp_path):
    shown = shell(f"{BANDSTRAP} --show-completion", tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "_BANDSTRAP_COMPLETE=complete_bash" in shown.stdout
    assert shown.stderr == ""
    installed = shell(f"{BANDSTRAP} --install-completion", tmp_path)
    assert installed.returncode == 0, installed.stderr
    assert "bandstrap" in (tmp_path / ".bashrc").read_text()


@telling(
    ("words", "expected"),
    [
        ("bandstrap l", ["league", "list", "live"]),
        ("bandstrap live arm r", ["resume", "retire"]),
        ("bandstrap list b", ["bounds"]),
        ("bandstrap simulate --executor ", ["thread", "process", "dask", "mpi"]),
        ("bandstrap live change a b --mode s", ["shadow"]),
    ],
    lambda words, expected: words == "bandstrap live arm r",
)
def test_a_shell_is_told_what_may_follow(words, expected, tmp_path):
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1), "_BANDSTRAP_COMPLETE": "complete_bash"}
    done = shell(BANDSTRAP, tmp_path, **asked)
    assert done.returncode == 0
    assert done.stdout.split() == expected
    assert done.stderr == ""


@pytest.mark.parametrize("arguments", [["--help"], ["simulate", "--help"], ["live", "create", "--help"]], ids=" ".join)
def test_help_loads_no_library_that_computes(arguments):
    code = f"""
        import sys
        from bandstrap.cli.commands import run
        sys.argv = ["bandstrap", *{arguments!r}]
        code = run()
        print([name for name in ("numba", "polars", "matplotlib", "scipy", "pandas") if name in sys.modules], code)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[] 0"


# --- lists of labels ----------------------------------------------------------------------------------------------------


@each(
    ("given", "labels"),
    [
        (None, None),
        ([], None),
        (["red,green"], ["red", "green"]),
        (["red", "green, blue"], ["red", "green", "blue"]),
        (["'a,b',c"], ["a,b", "c"]),
        (["it's,fine"], ["it's", "fine"]),
        (["1,2"], ["1", "2"]),
        (["'1'"], ["1"]),
        (["a,,b"], ["a", "", "b"]),  # which the library refuses
    ],
)
def test_labels_are_separated_by_commas(given, labels):
    assert split_labels(given) == labels


def test_arms_by_their_old_name_are_taken_as_they_are_with_a_warning(run, tmp_path):
    arguments = ("live", "create", tmp_path / "live.db", "x", "--policy", "ucb1", "--seed", 1)
    done = run(*arguments, "--arm", "a,b", "--arm", "c")
    assert done.returncode == 0
    assert done.stdout == "x: ucb1, arms a,b, c, seed 1\n"
    assert done.stderr == (
        "warning: The 'arm' parameter of bandstrap live create is called 'arms' now; "
        "the old name goes with the next minor release.\n"
    )
    both = run(*arguments, "--arm", "a", "--arms", "b")
    assert (both.returncode, both.stderr.count("\n")) == (2, 1)
    assert "cannot both be given" in both.stderr


# --- lists --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", get_args(ListedKind))
def test_a_list_is_plain_text_in_80_columns_and_the_same_in_json(kind, run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = run("list", kind).stdout
    assert max(map(len, text.splitlines())) <= 80
    assert not re.search(r"``|:\w+:`|\\[a-z]", text)
    records = json.loads(run("list", kind, "--format", "json").stdout)
    names = [line for line in text.splitlines() if not line.startswith(" ")]
    assert [record["name"] for record in records] == names
    flat = " ".join(text.split())
    for record in records:
        assert " ".join(record.get("summary", "").split()) in flat

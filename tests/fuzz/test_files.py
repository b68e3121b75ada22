"""Files: experiments and leagues in TOML, data in CSV."""

import json
import warnings
from fractions import Fraction
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from bandstrap.basics.tables import read_groups
from bandstrap.bounds import BOUNDS, bound_groups, choose, compare
from bandstrap.environments import Empirical
from bandstrap.errors import AssumptionWarning
from bandstrap.experiments.spec import read_experiment
from bandstrap.league.spec import read_league
from fuzz.mutations import command, damaged, damaged_bytes, outcome, pick, rounds, stream
from naive.tables import read_table
from sampling import exhaustive, telling

EXPERIMENTS = sorted(Path(str(files("bandstrap.paper"))).glob("*.toml"))
EXPERIMENTS = [path for path in EXPERIMENTS if "[[panels]]" in path.read_text(encoding="utf-8")]
SMALL = """
title = "t"
horizon = 9
replications = 2
[[panels]]
name = "a"
environment = "gaussian:n_arms=2"
curves = [{ label = "l", policy = "ucb1:sigma=1", published = 3 }]
"""


@telling("path", EXPERIMENTS, lambda path: path.stem == "figure1", ids=lambda path: path.stem)
def test_a_damaged_experiment_is_one_or_a_sentence(tmp_path, path):
    rng = stream("toml", path.stem)
    text = path.read_text(encoding="utf-8")
    for _ in rounds(12):
        (tmp_path / "a.toml").write_bytes(damaged(rng, text, 2).encode("utf-8", "surrogatepass"))
        outcome(read_experiment, tmp_path / "a.toml")


def test_a_damaged_league_is_one_or_a_sentence(tmp_path):
    rng = stream("league")
    content = (files("bandstrap.league") / "league.toml").read_bytes()
    for _ in rounds(40):
        (tmp_path / "a.toml").write_bytes(damaged_bytes(rng, content))
        outcome(read_league, tmp_path / "a.toml")


def test_a_damaged_experiment_is_run_or_refused_by_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = stream("run")
    for i in rounds(40):
        content = damaged_bytes(rng, SMALL.encode())
        if (
            b"horizon = 9\n" in content and b"replications = 2\n" in content
        ):  # how much to play is not the question here
            Path("a.toml").write_bytes(content)
            command("simulate", "a.toml", "--jobs", 1, *(("--out", f"out{i}") if i % 10 == 0 else ()))


TABLES = [
    b"arm,reward,note\na,1,x\nb,2.5,y\na,-3e2,\nb,0,\n",
    b'\xef\xbb\xbfarm;reward,reward\r\n"a, b",1\r\nc,2\r\n',
    b'arm,reward\n"a\nb",1\nc,1.7e308\nc,1.7e308\n',
    "arm,reward\n\u00e4\u03b2\u202e,1\n\x1b[31m,2\n".encode(),
]


def test_a_damaged_table_gives_numbers_or_a_sentence(tmp_path):
    rng = stream("csv")
    path = tmp_path / "a.csv"
    for _ in rounds(800):
        path.write_bytes(damaged_bytes(rng, pick(rng, TABLES)))
        outcome(read_groups, path, "reward", pick(rng, ["arm", None]), drop_missing=bool(rng.integers(2)))
        made = outcome(Empirical.from_csv, path, arm="arm", reward="reward")
        assert made is None or len(made.label) > 0


# As other programs write them: with semicolons and commas, words for nothing, truths, a tab, one column alone.
OTHER_TABLES = [
    *TABLES,
    b"arm;reward\na;1,5\na;2,25\nb;NA\nb;3\n",
    b'"arm"\t"reward"\n"a"\tTRUE\n"a"\tFALSE\n"b"\ttrue\n"b"\tfalse\n',
    b"reward\n0\n0\n0\n1\n1\n1\n1\n0\n",
    b"arm,reward\n" + b"a,0\n" * 12 + b"b,1\n" * 3 + b"a,1\n" * 12 + b"b,0\n" * 9,
]
OPTIONS = {"hoeffding": {"sigma": 1}, "sub_weibull": {"sigma": 1, "beta": 2}, "bootstrap": {"sigma": 1}}
WIDE = (-1e6, 1e6)


@exhaustive
def test_a_damaged_table_is_bounded_or_refused_by_the_command_line():
    # A table that comes out holds the numbers that the csv module finds in the file, and what the bound makes of them.
    rng = stream("bound")
    n_tables = 0
    for _ in rounds(150):
        name = pick(rng, list(BOUNDS))
        options = OPTIONS.get(name, {"support": WIDE} if "support" in BOUNDS[name].needs else {})
        method = ":".join([name, ",".join(f"{key}={value}" for key, value in options.items())]).rstrip(":")
        by, side = pick(rng, [None, "arm"]), pick(rng, ["upper", "lower", "two-sided"])
        drop, in_order, decimal = bool(rng.integers(2)), bool(rng.integers(2)), pick(rng, [".", ".", ","])
        form = pick(rng, ["table", "json", "json", "csv"])
        whole = pick(rng, OTHER_TABLES)
        # A light damage in half of the files, so that there are tables among the refusals.
        light = damaged(rng, whole.decode(), 1).encode("utf-8", "surrogatepass")
        content = damaged_bytes(rng, whole) if rng.random() < 0.5 else light if rng.random() < 0.6 else whole
        arguments = ["--method", method.replace(" ", ""), "--side", side, "--decimal", decimal, "--format", form]
        arguments += ["--by", by] * (by is not None) + ["--drop-missing"] * drop + ["--in-order"] * in_order
        done = command("bound", "-", "--column", "reward", *arguments, stdin=content)
        if done.code != 0 or form != "json":
            continue
        groups = read_table(content, "reward", by, drop_missing=drop, decimal=decimal)
        rows = json.loads(done.out)
        assert [(row["group" if by is None else by], row["n"]) for row in rows] == [
            (g, len(y)) for g, y in groups.items()
        ]
        for row, rewards in zip(rows, groups.values(), strict=True):
            check_row(
                row, rewards, name, side, options | ({"in_order": True} if BOUNDS[name].walks and in_order else {})
            )
            n_tables += 1
    assert n_tables >= 20  # so that numbers were compared, not refusals only


def check_row(row, rewards, name, side, options, alpha=0.05):
    """No interval is crossed, and the ends are those of the bound itself; ``null`` stands for what is not finite."""
    ends = [row["bound"]] if side != "two-sided" else [row["lower"], row["upper"]]
    if None not in ends:
        assert ends == sorted(ends)
    mean = float(sum(map(Fraction, rewards)) / len(rewards))
    assert row["mean"] == pytest.approx(mean, abs=1e-12 * max(map(abs, rewards)) + 1e-300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)
        bound = outcome(BOUNDS[name].function, rewards, alpha, side=side, **options)
    if bound is None:  # the rewards rule it out
        assert set(ends) == {None}
        assert "cannot be computed" in row["warning"]
        return
    assert ends == [float(end) if np.isfinite(end) else None for end in np.atleast_1d(bound.value)]
    assert (row["order"] is not None) == BOUNDS[name].walks


@exhaustive
def test_a_damaged_table_has_the_bound_that_suits_it_or_is_refused():
    # Which bound that is, and its numbers, are those of the library on what the csv module finds in the file.
    rng = stream("auto")
    n_rows = 0
    for _ in rounds(120):
        stated = pick(rng, [{}, {}, {"support": WIDE}, {"sigma": 1}, {"symmetric": True}, {"support": (0, 1)}])
        method = "auto:" + ",".join(f"{key}={value}" for key, value in stated.items()).replace(" ", "")
        side, simultaneous = pick(rng, ["upper", "lower", "two-sided"]), pick(rng, [None, "bonferroni", "max"])
        if simultaneous == "max":
            stated, method = {"n_resamples": 99}, "auto:n_resamples=99"
        form = pick(rng, ["table", "json", "json", "csv"])
        whole = pick(rng, OTHER_TABLES)
        light = damaged(rng, whole.decode(), 1).encode("utf-8", "surrogatepass")
        content = damaged_bytes(rng, whole) if rng.random() < 0.4 else light if rng.random() < 0.6 else whole
        arguments = ["--method", method.rstrip(":"), "--side", side, "--format", form, "--by", "arm", "--drop-missing"]
        arguments += ["--simultaneous", simultaneous] * (simultaneous is not None)
        done = command("bound", "-", "--column", "reward", *arguments, stdin=content)
        if done.code != 0 or form != "json":
            continue
        groups = read_table(content, "reward", "arm", drop_missing=True, decimal=".")
        rows = json.loads(done.out)
        level = 0.05 / len(groups) if simultaneous == "bonferroni" else 0.05
        column = [reward for rewards in groups.values() for reward in rewards]
        found = bound_groups(groups, side=side, simultaneous="max", **stated).bounds if simultaneous == "max" else {}
        for row, (group, rewards) in zip(rows, groups.items(), strict=True):
            n_rows += 1
            if simultaneous == "max":
                ends = [row["bound"]] if side != "two-sided" else [row["lower"], row["upper"]]
                assert ends == [float(end) if np.isfinite(end) else None for end in np.atleast_1d(found[group].value)]
                continue
            choice = choose(rewards, level, side=side, column=column, **stated)
            assert (row["method"], row["reason"]) == (choice.method, choice.reason)
            options = dict(choice.options) | ({"seed": 0} if choice.method == "betting" else {})
            check_row(row, rewards, choice.method, side, options, level)
    assert n_rows >= 20  # so that numbers were compared, not refusals only


METHODS = [
    "welch",
    "permutation",
    "bootstrap",
    "bootstrap_t:n_resamples=99",
    "betting:support=(-1e6,1e6)",
    "union:bound=betting,support=(-1e6,1e6)",
]


@exhaustive
def test_a_damaged_table_is_compared_or_refused_by_the_command_line():
    # What comes out is what the library makes of the numbers that the csv module finds in the file, and never crossed.
    rng = stream("compare")
    n_rows = 0
    for _ in rounds(200):
        method, simultaneous = pick(rng, METHODS), pick(rng, [None, "bonferroni"])
        if method == "bootstrap":
            simultaneous = pick(rng, [None, "max"])
        side, decimal = pick(rng, ["upper", "lower", "two-sided"]), pick(rng, [".", ".", ","])
        form = pick(rng, ["table", "json", "json", "csv"])
        whole = pick(rng, OTHER_TABLES)
        light = damaged(rng, whole.decode(), 1).encode("utf-8", "surrogatepass")
        content = damaged_bytes(rng, whole) if rng.random() < 0.4 else light if rng.random() < 0.6 else whole
        arguments = ["--method", method, "--side", side, "--decimal", decimal, "--format", form, "--drop-missing"]
        arguments += ["--simultaneous", simultaneous] * (simultaneous is not None)
        done = command("compare", "-", "--column", "reward", "--by", "arm", "--control", "a", *arguments, stdin=content)
        if done.code != 0 or form != "json":
            continue
        groups = read_table(content, "reward", "arm", drop_missing=True, decimal=decimal)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssumptionWarning)
            found = compare(groups, "a", method=method, side=side, simultaneous=simultaneous)
        rows = json.loads(done.out)
        assert [row["arm"] for row in rows] == list(found.bounds)
        for row, bound in zip(rows, found.bounds.values(), strict=True):
            ends = [row["bound"]] if side != "two-sided" else [row["lower"], row["upper"]]
            assert ends == [float(end) if np.isfinite(end) else None for end in np.atleast_1d(bound.value)]
            if None not in ends:
                assert ends == sorted(ends)
            n_rows += 1
    assert n_rows >= 15  # so that numbers were compared, not refusals only

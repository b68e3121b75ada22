"""Files: experiments and leagues in TOML, data in CSV."""

from importlib.resources import files
from pathlib import Path

import pytest

from bandstrap.bounds import BOUNDS
from bandstrap.environments import Empirical
from bandstrap.experiments.spec import read_experiment
from bandstrap.league.spec import read_league
from bandstrap.tables import read_groups
from fuzz.mutations import command, damaged, damaged_bytes, outcome, pick, rounds, stream

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


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
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


def test_a_damaged_table_is_bounded_or_refused_by_the_command_line():
    rng = stream("bound")
    options = {"hoeffding": ":sigma=1", "sub_weibull": ":sigma=1,beta=2", "bootstrap": ":sigma=1"}
    support = ("--support", "-1e6", "1e6")
    for _ in rounds(80):
        name = pick(rng, list(BOUNDS))
        more = support if any("support" in need for need in BOUNDS[name].needs) and name not in options else ()
        by = pick(rng, [(), ("--by", "arm")])
        ways = ("--format", pick(rng, ["table", "json", "csv"]), "--side", pick(rng, ["upper", "lower", "two-sided"]))
        method = name + options.get(name, "")
        content = damaged_bytes(rng, pick(rng, TABLES))
        command("bound", "-", "--column", "reward", "--method", method, *more, *by, *ways, stdin=content)

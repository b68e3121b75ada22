"""Tables on a terminal of 80 columns: no line is longer, no number is broken, and names stay apart."""

import re

import numpy as np
import pytest

from sampling import telling

RNG = np.random.default_rng(0)
LONG = "a very long name of a group that goes on and on, "
CSV = {
    "one": {"all": RNG.normal(3, 1, 30)},
    "three": {"free": RNG.gamma(2, 2, 60), "zeros": np.zeros(9), "one": [3.25]},
    "thirty": {f"group {i}": RNG.normal(i, 1, 8) for i in range(30)},
    "long": {LONG + "once": RNG.normal(0, 1, 20), LONG + "twice": RNG.normal(0, 1, 20), "b": [1.0, 2.0]},
    "wide": {LONG + "once": 1e6 + RNG.normal(0, 1e-3, 20), "b": 1e6 + RNG.normal(0, 1e-3, 20)},
    "sorted": {"a": np.linspace(0, 1, 50), "b": np.linspace(0, 1, 60)},
}
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def written(groups):
    return "g,y\n" + "".join(f'"{name}",{float(y)!r}\n' for name, ys in groups.items() for y in ys)


@pytest.fixture
def shown(run, monkeypatch):
    """The lines that a terminal of 80 columns shows of a command."""

    def go(*arguments, stdin=""):
        with monkeypatch.context() as patch:
            patch.setenv("COLUMNS", "80")
            patch.setenv("FORCE_COLOR", "1")  # rich takes it for a terminal
            patch.delenv("NO_COLOR", raising=False)
            done = run(*arguments, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return [line.rstrip() for line in ANSI.sub("", done.stdout).splitlines()]

    return go


@pytest.mark.parametrize("kind", CSV)
@telling(
    "more",
    [
        (),
        ("--side", "upper"),
        ("--simultaneous", "bonferroni"),
        ("--method", "betting", "--support", 0, 1e7, "--in-order"),
        ("--method", "sign_flip", "--alpha", 0.001),
    ],
    lambda more: more in ((), ("--simultaneous", "bonferroni")),
)
def test_bounds_fit(kind, more, shown, run):
    groups = CSV[kind]
    lines = shown("bound", "-", "--column", "y", "--by", "g", *more, stdin=written(groups))
    assert max(map(len, lines)) <= 80
    head = next(i for i, line in enumerate(lines) if re.match(r"g +n +mean +", line))
    rows = lines[head + 1 : head + 1 + len(groups)]
    piped = run("bound", "-", "--column", "y", "--by", "g", *more, stdin=written(groups)).stdout.splitlines()
    start = next(i for i, line in enumerate(piped) if re.match(r"g +n +mean +", line)) + 1
    # One line for each group, with every number in it, and names that differ.
    numbers = [re.split(r"  +", line.strip())[1:] for line in piped[start : start + len(groups)]]
    assert [re.split(r"  +", row)[1:] for row in rows] == numbers
    assert len({re.split(r"  +", row)[0] for row in rows}) == len(groups)


@pytest.mark.parametrize("kind", ["three", "thirty", "long", "wide"])
def test_comparisons_fit(kind, shown):
    groups = CSV[kind]
    control = list(groups)[-1]
    lines = shown("compare", "-", "--column", "y", "--by", "g", "--control", control, stdin=written(groups))
    assert max(map(len, lines)) <= 80
    assert sum(bool(re.search(r"  \d+  ", line)) for line in lines) == len(groups) - 1


def test_coverage_fits_and_says_once_why_bounds_are_skipped(shown):
    lines = shown("coverage", "--distribution", "expon", "--sample-size", 5, "--sample-size", 12, "--replications", 5)
    assert max(map(len, lines)) <= 80
    text = " ".join(lines)
    assert text.count("needs support") == 1
    assert len(re.findall(r"bootstrap:correction=practical +(5|12) ", text)) == 2


def test_races_fit(shown):
    lines = shown(
        "simulate",
        *("--policy", "ucb1", "--policy", "bootstrapped_ucb:sigma=1", "--environment", "gaussian:means=(1,0)"),
        *("--horizon", 20, "--replications", 3),
    )
    assert max(map(len, lines)) <= 80

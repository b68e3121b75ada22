"""The same question has the same answer through every door: Python, the command line, and a TOML file."""

import csv
import dataclasses
import functools
import io
import itertools
import json
import math
import re
from dataclasses import dataclass, field

import numpy as np
import pytest

from bandstrap import experiments
from bandstrap.basics.calls import Call
from bandstrap.bounds import BOUNDS, DIFFERENCES, bound_groups, choose, compare, coverage, difference
from bandstrap.bounds.bound import SIDES
from bandstrap.errors import InvalidInput
from command_line import runner
from sampling import each, telling

pytestmark = pytest.mark.filterwarnings("ignore::bandstrap.errors.AssumptionWarning")
RNG = np.random.default_rng(0)
DATA = {
    "normal": RNG.normal(0.5, 0.1, 24).round(3),
    "skewed": np.minimum(RNG.lognormal(-2, 1, 24), 1).round(3),
    "binary": (RNG.random(24) < 0.2).astype(float),
    "constant": np.full(9, 0.25),
    "zeros": np.zeros(9),
    "tiny": RNG.normal(5e-301, 1e-301, 12),
    "huge": 1e15 + RNG.normal(0, 1e13, 12),
    "one": np.array([0.3]),
    "four": np.array([0.3, 0.2, 0.5, 0.1]),
    "rising": np.linspace(0, 1, 30).round(3),
}
GROUPS = {"red": DATA["normal"], "dark green": DATA["skewed"] + 0.3, "blue; 2": DATA["normal"][:15] + 0.2}
MIXED = {"zeros": DATA["zeros"], "counts": np.arange(12.0), "one": DATA["one"], "few": DATA["four"][:3]}
# What each bound has to be told, with which all data but those beyond [0, 1] are as it assumes, or nearly.
TOLD = {
    "betting": {"support": (0, 1)},
    "bootstrap": {"sigma": 0.5},
    "empirical_bernstein": {"support": (0, 1)},
    "empirical_kl": {"support": (0, 1)},
    "hoeffding": {"support": (0, 1)},
    "sub_weibull": {"sigma": 0.5, "beta": 1.5},
}


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked of groups: a bound on each mean, or on each difference from a control."""

    name: str
    groups: dict
    method: str
    options: dict = field(default_factory=dict)
    side: str = "two-sided"
    alpha: float = 0.05
    simultaneous: str | None = None
    control: str | None = None
    # Options that the command line has flags for.
    flags: dict = field(default_factory=dict)

    @functools.cache  # noqa: B019 - there are as many as questions
    def in_python(self):
        asked = {"method": self.method, "side": self.side, "simultaneous": self.simultaneous}
        given = {**self.options, **self.flags}
        if self.control is None:
            return bound_groups(self.groups, self.alpha, **asked, **given)
        return compare(self.groups, self.control, self.alpha, **asked, **given)

    def arguments(self):
        yield from ("bound" if self.control is None else "compare", "-", "--column", "y", "--by", "g")
        yield from ("--method", Call(self.method, self.options), "--side", self.side, "--alpha", self.alpha)
        for key, value in {"simultaneous": self.simultaneous, "control": self.control, **self.flags}.items():
            if value is True:
                yield "--" + key.replace("_", "-")
            elif value is not None:
                yield from ("--" + key, *(value if isinstance(value, tuple) else (value,)))

    @property
    def table(self):
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerows([("g", "y"), *((g, repr(float(y))) for g, ys in self.groups.items() for y in ys)])
        return text.getvalue()


def on_one(name, data, side="two-sided", alpha=0.05):
    return Question(f"{name} {data} {side}", {"all": DATA[data]}, name, TOLD.get(name, {}), side, alpha)


FAMILIAR = {"clopper_pearson": "binary", "mid_p": "binary"}
QUESTIONS = [
    *(on_one(name, FAMILIAR.get(name, "normal"), side) for name in BOUNDS for side in SIDES),
    *(on_one(name, data) for name in BOUNDS for data in DATA if data not in (FAMILIAR.get(name, "normal"), "zeros")),
    *(on_one(name, "four", "upper", 0.2) for name in BOUNDS),
    *(
        Question(f"auto {kind} {stated}", {"all": DATA[kind]}, "auto", side=side, flags=stated)
        for kind, (stated, side) in itertools.product(
            ("normal", "skewed", "binary", "zeros", "constant", "four", "one"),
            [
                ({}, "two-sided"),
                ({"support": (0, 1)}, "upper"),
                ({"sigma": 0.5}, "lower"),
                ({"symmetric": True}, "upper"),
            ],
        )
    ),
    *(
        Question(f"groups {method} {together}", GROUPS, method, options, simultaneous=together)
        for method, options in (("auto", {}), ("student_t", {}), ("betting", {"support": (-2, 2)}))
        for together in (None, "bonferroni")
    ),
    *(
        Question(f"groups max {method} {side}", GROUPS, method, {"n_resamples": 99, "seed": 3}, side, 0.1, "max")
        for method in ("auto", "bootstrap")
        for side in SIDES
    ),
    Question("groups of several kinds", MIXED, "auto"),
    Question("groups of several kinds, together", MIXED, "auto", simultaneous="bonferroni", alpha=0.2),
    Question("rows as they came", {"all": DATA["rising"]}, "betting", {"support": (0, 1)}, flags={"in_order": True}),
    Question("a seed of draws", GROUPS, "bootstrap_t", flags={"seed": 7}),
    *(
        Question(
            f"difference {Call(method, options)} {side} {together}",
            GROUPS,
            method,
            options,
            side,
            0.05,
            together,
            "red",
        )
        for method, options in (
            *((name, {"support": (-1, 2)} if name == "betting" else {}) for name in DIFFERENCES if name != "union"),
            ("union", {"bound": "clopper_pearson"}),
            ("union", {"bound": "hoeffding", "sigma": 0.4}),
            ("union", {"bound": "betting", "support": (-1, 2)}),
        )
        for side, together in (("two-sided", None), ("upper", None), ("lower", "bonferroni"))
    ),
    Question(
        "largest difference",
        GROUPS,
        "bootstrap",
        {"n_resamples": 99},
        control="red",
        simultaneous="max",
        flags={"seed": 1},
    ),
    *(Question(f"difference of {kind}", MIXED, kind, control="counts") for kind in ("welch", "bootstrap_t")),
]


def as_json(value):
    """A value of Python's as JSON has it."""
    if isinstance(value, dict):
        return {key: as_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value.item() if isinstance(value, np.generic) else value


# Columns that are not called as the fields of a bound.
COLUMNS = {"name": "method", "holds_for": "assumption", "method": "computed"}


def answer(found, group):
    """What Python says of a group, by the names of the command line's columns."""
    bound, is_joint = found.bounds[group], found.simultaneous is not None
    told = {COLUMNS.get(each.name, each.name): getattr(bound, each.name) for each in dataclasses.fields(bound)}
    told |= {
        "n": told.pop("sizes")[0],
        "parts": dict(bound.parts),
        "width": bound.width,
        "warning": "; ".join(filter(None, (*bound.notes, bound.why_infinite))),
        "reason": None,
        "simultaneous": found.simultaneous,
        "alpha_together": found.alpha if is_joint else None,
        "together": found.guarantee if is_joint else None,
    }
    if bound.side != "two-sided":
        told["bound"] = bound.value
    if hasattr(found, "control"):
        told |= {"difference": bound.mean, "mean": found.means[group]}
        told |= {"control": found.control, "control_mean": found.means[found.control]}
    elif found.method == "auto":
        told["reason"] = found.choices[group].reason
    return as_json(told)


@pytest.fixture
def run(monkeypatch, capsys):
    return runner(monkeypatch, capsys)


@telling("question", QUESTIONS, QUESTIONS[::5], ids=lambda question: question.name)
def test_python_and_the_command_line_agree_on_every_number_and_every_verdict(question, run):
    found = question.in_python()
    done = run(*question.arguments(), "--format", "json", stdin=question.table)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [row.pop("g") for row in rows] == list(found.bounds)
    assert rows == [answer(found, group) for group in found.bounds]
    # What is wrong is warned of, by every group that it is wrong with, and nothing else is.
    assert (done.stderr != "") == any(row["warning"] for row in rows)
    if question.control is None and len(found.bounds) == 1 and question.method != "auto":
        check_direct_call(question, next(iter(found.bounds.values())))


def check_direct_call(question, expected):
    """Bounds called by their own name say the same, or refuse what no mean is left of."""
    (sample,) = question.groups.values()
    given = {**question.options, **question.flags}
    try:
        bound = BOUNDS[question.method].function(sample, question.alpha, side=question.side, **given)
    except InvalidInput:
        assert np.isnan([expected.lower, expected.upper]).all()
        assert expected.contradicted
    else:
        np.testing.assert_equal(dataclasses.asdict(bound), dataclasses.asdict(expected))


def test_there_are_enough_questions_of_every_kind():
    bounds = [bound for question in QUESTIONS for bound in question.in_python().bounds.values()]
    assert len({question.name for question in QUESTIONS}) == len(QUESTIONS) > 200
    assert sum(bound.contradicted for bound in bounds) > 10
    assert sum(bound.why_infinite is not None for bound in bounds) > 10
    assert sum(bound.guarantee is not None for bound in bounds) > 50
    assert sum(bool(np.isnan(bound.lower)) for bound in bounds) > 5
    assert {question.method for question in QUESTIONS} >= {*BOUNDS, *DIFFERENCES, "auto"}


@each("question", QUESTIONS[::12], ids=lambda question: question.name)
def test_csv_has_what_json_has(question, run):
    rows = json.loads(run(*question.arguments(), "--format", "json", stdin=question.table).stdout)
    lines = list(
        csv.DictReader(io.StringIO(run(*question.arguments(), "--format", "csv", stdin=question.table).stdout))
    )
    assert [list(line) for line in lines] == [list(row) for row in rows]
    for line, row in zip(lines, rows, strict=True):
        for column, value in row.items():
            if isinstance(value, list | dict):
                assert json.loads(line[column]) == value
            elif isinstance(value, float):
                assert float(line[column]) == value
            else:  # an infinite number has no other form in JSON
                assert line[column] == ("" if value is None else str(value)) or not math.isfinite(float(line[column]))


def test_defaults_are_the_same(run):
    table = QUESTIONS[-1].table
    for found, command in (
        (bound_groups(MIXED), ("bound",)),
        (compare(MIXED, "counts"), ("compare", "--control", "counts")),
    ):
        name, *more = command
        rows = json.loads(run(name, "-", "--column", "y", "--by", "g", *more, "--format", "json", stdin=table).stdout)
        assert [row | {"g": None} for row in rows] == [answer(found, group) | {"g": None} for group in found.bounds]
    pair = difference(MIXED["few"], MIXED["counts"])
    assert pair.value == compare(MIXED, "counts").bounds["few"].value
    assert choose(MIXED["few"], 0.05, side="two-sided").method == bound_groups(MIXED).choices["few"].method


# --- coverage ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """What is asked of the coverage lab."""

    distribution: str
    bounds: tuple[str, ...]
    sizes: tuple[int, ...] = (4, 9)
    alpha: float = 0.05
    side: str = "upper"

    @property
    def name(self):
        return f"{self.distribution} {self.bounds[0]} {self.side}"


CELLS = [
    Cell("normal", ("student_t", "hoeffding", "betting", "sign_flip")),
    Cell("normal", ("student_t", "hall"), side="two-sided"),
    Cell("expon", ("bootstrap_t:n_resamples=99", "sub_weibull:sigma=3,beta=1"), side="lower"),
    Cell("uniform", ("betting", "empirical_bernstein", "bootstrap:correction=theorem"), alpha=0.1),
    Cell("bernoulli:p=0.3", ("clopper_pearson", "mid_p", "empirical_kl", "bca:n_resamples=99")),
    Cell("t:df=1", ("student_t", "sign_flip")),
    Cell("empirical:own.csv,reward=y", ("student_t", "betting", "clopper_pearson", "hoeffding")),
    Cell("empirical:own.csv,reward='0/1'", ("clopper_pearson", "mid_p"), (20,)),
]


@pytest.fixture
def own_data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = zip(DATA["skewed"], DATA["binary"], strict=True)
    (tmp_path / "own.csv").write_text("y,0/1\n" + "".join(f"{float(y)!r},{int(x)}\n" for y, x in rows))
    return tmp_path


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_the_coverage_lab_says_the_same_through_every_door(cell, run, own_data):
    asked = {"bounds": cell.bounds, "replications": 30, "seed": 5, "side": cell.side}
    found = coverage(cell.distribution, cell.sizes, cell.alpha, **asked)
    expected = as_json([dataclasses.asdict(row) | {"side": cell.side} for row in found])
    arguments = [("--bound", bound) for bound in cell.bounds] + [("--sample-size", n) for n in cell.sizes]
    arguments += [("--alpha", cell.alpha), ("--side", cell.side), ("--replications", 30), ("--seed", 5)]
    flat = [*itertools.chain(*arguments), "--format", "json"]
    done = run("coverage", "--distribution", cell.distribution, *flat)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == expected
    if cell.distribution.startswith("empirical"):
        column = "y" if cell.distribution.endswith("=y") else "0/1"
        assert run("coverage", "--data", "own.csv", "--column", column, *flat).stdout == done.stdout
        data = DATA["skewed" if column == "y" else "binary"]
        assert as_json([dataclasses.asdict(row) for row in coverage(data, cell.sizes, cell.alpha, **asked)]) == [
            {key: value for key, value in row.items() if key != "side"} for row in expected
        ]
    if cell.side == "upper":  # which a file asks for
        rows = in_toml(cell, own_data)
        told = [row for row in expected if not row["skipped"]]
        assert [as_json(dataclasses.asdict(row)) | {"side": "upper"} for row in rows] == told


def in_toml(cell, folder):
    """The rows of an experiment with a panel of the bounds that can be measured, in the order of the lab."""
    kept = [
        bound for bound in cell.bounds if not coverage(cell.distribution, 1, bounds=[bound], replications=1)[0].skipped
    ]
    curves = "".join(f'[[panels.curves]]\nlabel = "{i}"\nbound = "{bound}"\n' for i, bound in enumerate(kept))
    path = folder / "mine.toml"
    path.write_text(
        f'title = "t"\nreplications = 30\n[[panels]]\nname = "a"\nplot = "bounds"\nalpha = {cell.alpha}\n'
        f'distribution = "{cell.distribution}"\nsample_sizes = {list(cell.sizes)}\n{curves}'
    )
    (panel,) = experiments.run(path, folder / "out", seed=5, jobs=1, progress=False).panels
    return [panel[str(i)].rows[place] for place in range(len(cell.sizes)) for i in range(len(kept))]


def test_blocks_of_own_data_are_known_by_the_data(own_data):
    cell = CELLS[-2]
    before = in_toml(cell, own_data)
    assert in_toml(cell, own_data) == before
    text = (own_data / "own.csv").read_text()
    (own_data / "own.csv").write_text(text + "0.75,0\n")
    after = in_toml(cell, own_data)
    assert [row.mean_width for row in after] != [row.mean_width for row in before]


# --- refusals ---------------------------------------------------------------------------------------------------------

SAMPLE = {"a": [1.0, 2.0, 4.0], "b": [2.0, 3.0, 7.0]}
REFUSALS = [
    ("bound", {"alpha": 0}),
    ("bound", {"alpha": 0.95}),
    ("bound", {"alpha": math.nan}),
    ("bound", {"method": "student"}),
    ("bound", {"side": "left"}),
    ("bound", {"simultaneous": "sidak"}),
    ("bound", {"simultaneous": "max", "method": "student_t"}),
    ("bound", {"sigma": -1.0}),
    ("bound", {"support": (1.0, 0.0)}),
    ("bound", {"method": "betting"}),
    ("bound", {"method": "student_t:sigma=2"}),
    ("bound", {"method": "bootstrap_t:n_resamples=0"}),
    ("bound", {"method": "sub_weibull:sigma=1,beta=-1"}),
    ("compare", {"alpha": 1.5}),
    ("compare", {"method": "t"}),
    ("compare", {"side": "both"}),
    ("compare", {"control": "c"}),
    ("compare", {"method": "betting"}),
    ("compare", {"method": "welch:seed=3"}),
    ("compare", {"method": "union:bound=nope"}),
    ("compare", {"method": "betting", "support": (2.0, 2.0)}),
    ("compare", {"method": "permutation", "simultaneous": "max"}),
    ("coverage", {"alpha": 0}),
    ("coverage", {"side": "left"}),
    ("coverage", {"bound": "student"}),
    ("coverage", {"bound": "student_t:x=1"}),
    ("coverage", {"distribution": "norml"}),
    ("coverage", {"distribution": "t:df=-3"}),
    ("coverage", {"distribution": "empirical:nowhere.csv,reward=y"}),
    ("coverage", {"distribution": "empirical:nowhere.csv"}),
    ("coverage", {"replications": 0}),
    ("coverage", {"sample_size": 0}),
    ("coverage", {"seed": -1}),
]


def without_owner(sentence):
    return re.sub(r"(The '\w+' parameter of) [\w ]+? (must )", r"\1 ... \2", sentence)


@each(("command", "options"), REFUSALS, ids=str)
def test_a_refusal_is_the_same_sentence(command, options, run):
    table = "g,y\n" + "".join(f"{g},{y}\n" for g, ys in SAMPLE.items() for y in ys)
    flags = list(
        itertools.chain(
            *(("--" + key.replace("_", "-"), *(v if isinstance(v, tuple) else (v,))) for key, v in options.items())
        )
    )
    if command == "coverage":
        asked = {"distribution": "normal", "sample_size": 3, "replications": 2} | options
        asked["bounds"] = [asked.pop("bound", "student_t")]
        given = [("--distribution", "normal"), ("--sample-size", 3), ("--replications", 2), ("--bound", "student_t")]
        flags += [*itertools.chain(*(pair for pair in given if pair[0] not in flags))]
        done = run("coverage", *flags)
        call = coverage
    else:
        asked = {"groups": SAMPLE} | ({"control": "a"} if command == "compare" else {}) | options
        flags += ["--control", "a"] if command == "compare" and "control" not in options else []
        done = run(command, "-", "--column", "y", "--by", "g", *flags, stdin=table)
        call = compare if command == "compare" else bound_groups
    with pytest.raises(InvalidInput) as caught:
        call(**asked)
    assert (done.returncode, done.stdout) == (2, "")
    assert without_owner(done.stderr) == f"error: {without_owner(str(caught.value))}\n"


def test_no_number_is_refused_through_every_door(run):
    with pytest.raises(InvalidInput, match="finite"):
        bound_groups({"a": [1.0, math.nan]})
    with pytest.raises(InvalidInput, match="finite"):
        coverage([1.0, math.nan], 3)
    for number in ("nan", "inf", "x"):
        done = run("bound", "-", "--column", "y", stdin=f"y\n1\n{number}\n")
        assert done.returncode == 2
        assert "finite" in done.stderr

import csv
import io
import json

import numpy as np
import pytest

from bandstrap import __version__
from bandstrap.bounds import hoeffding, sign_flip
from bandstrap.cli.bound import bound
from sampling import each


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    groups = {"a": rng.normal(1, 1, 20), "b": rng.normal(2, 1, 12)}
    lines = ["variant,revenue,note"]
    lines += [f"{name},{float(value)!r},x" for name, values in groups.items() for value in values]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(lines) + "\n")
    return path, groups


def test_bound_prints_a_row_a_group(run, data):
    path, groups = data
    arguments = ("bound", path, "--column", "revenue", "--by", "variant", "--method", "sign_flip", "--side", "upper")
    done = run(*arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [row["variant"] for row in rows] == ["a", "b"]
    for row in rows:
        expected = sign_flip(groups[row["variant"]], 0.05)
        assert row["n"] == len(groups[row["variant"]])
        assert row["bound"] == expected.value
        assert row["width"] == expected.width
        assert row["assumption"] == expected.holds_for
    assert f"{rows[0]['bound']:.4g}" in run(*arguments).stdout
    text = run(*arguments, "--format", "csv").stdout
    assert float(next(csv.DictReader(io.StringIO(text)))["bound"]) == rows[0]["bound"]


def test_bound_reads_standard_input_and_takes_options(run, data):
    path, groups = data
    arguments = (
        "--column",
        "revenue",
        "--method",
        "hoeffding",
        "--sigma",
        2,
        "--side",
        "two-sided",
        "--format",
        "json",
    )
    done = run("bound", "-", *arguments, stdin=path.read_text())
    (row,) = json.loads(done.stdout)
    expected = hoeffding(np.concatenate(list(groups.values())), 0.05, sigma=2, side="two-sided")
    assert (row["group"], row["lower"], row["upper"]) == ("all", expected.lower, expected.upper)
    same = run(
        "bound", path, "--column", "revenue", "--method", "hoeffding:sigma=2", "--side", "two-sided", "--format", "json"
    )
    assert same.stdout == done.stdout


def test_bound_warns_when_the_data_contradict_the_assumption(run, tmp_path):
    path = tmp_path / "skewed.csv"
    path.write_text("y\n" + "\n".join(str(v) for v in np.random.default_rng(0).exponential(size=200)))
    done = run("bound", path, "--column", "y", "--method", "sign_flip")
    assert done.returncode == 0
    assert "warning: the rewards look skewed to the right" in done.stderr
    outside = run("bound", path, "--column", "y", "--method", "betting", "--support", 0, 1, "--format", "json")
    assert "lie outside [0, 1], so the bound cannot be computed" in outside.stderr
    assert json.loads(outside.stdout)[0]["upper"] is None


def test_infinite_bound_is_null_in_json_and_inf_elsewhere(run):
    arguments = ("bound", "-", "--column", "y", "--method", "bootstrap_t")
    (row,) = json.loads(run(*arguments, "--format", "json", stdin="y\n1\n2\n").stdout)
    assert (row["lower"], row["upper"], row["contradicted"]) == (None, None, False)
    assert row["why_infinite"] == row["warning"] != ""
    assert "inf" in run(*arguments, stdin="y\n1\n2\n").stdout


RESERVED = (
    "n",
    "mean",
    "bound",
    "lower",
    "upper",
    "width",
    "guarantee",
    "order",
    "assumption",
    "method",
    "reason",
    "together",
    "warning",
    "side",
    "alpha",
    "notes",
    "parts",
)


@pytest.mark.parametrize("by", RESERVED)
@pytest.mark.parametrize("side", ["upper", "two-sided"])
def test_groups_keep_their_names_where_their_column_is_called_like_a_result(by, side, tmp_path, capsys):
    path = tmp_path / "data.csv"
    path.write_text(f"{by},y\n" + "".join(f"{group},{y}\n" for group in ("7", "x") for y in (1, 2, 4)))
    bound(path, column="y", by=by, method="student_t", side=side, format="json")
    rows = json.loads(capsys.readouterr().out)
    assert [row["group"] for row in rows] == ["7", "x"]
    assert [row["n"] for row in rows] == [3, 3]
    assert rows[0]["mean"] == rows[1]["mean"] == pytest.approx(7 / 3)
    bound(path, column="y", by=by, method="student_t", side=side, format="csv")
    header = capsys.readouterr().out.splitlines()[0].split(",")
    assert header[0] == "group"
    assert len(set(header)) == len(header)
    bound(path, column="y", by=by, method="student_t", side=side, format="table")
    assert "group" in capsys.readouterr().out


def test_a_warning_names_the_group_whatever_its_column_is_called(tmp_path, capsys):
    path = tmp_path / "data.csv"
    path.write_text("n,y\n" + "".join(f"odd,{y}\n" for y in (1, 1, 1, 2, 2, 3, 9, 30, 80, 250) * 2))
    bound(path, column="y", by="n", method="sign_flip")
    assert "warning: odd: the rewards look skewed" in capsys.readouterr().err


def test_the_mean_of_huge_rewards_is_a_number(tmp_path, capsys):
    path = tmp_path / "data.csv"
    path.write_text("y,x,x\n1.7e308,1,2\n1.7e308,3,4\n")  # columns that are not asked for may share a name
    bound(path, column="y", format="json")
    assert json.loads(capsys.readouterr().out)[0]["mean"] == 1.7e308


@each(
    ("arguments", "stdin", "message"),
    [
        (["--column", "z"], "y\n1\n", "has no column 'z'; it has y"),
        (["--column", "y", "--by", "z"], "y\n1\n", "has no column 'z'"),
        (["--column", "y"], "y\n1\nabc\n", "Line 3 of standard input: column 'y' holds 'abc', which is not a"),
        (["--column", "y"], "y\nnan\n", "which is not a finite number"),
        (["--column", "y"], "y\ninf\n", "which is not a finite number"),
        (["--column", "y"], "y\n1_000\n", "'1_000', which is not a finite number"),
        (["--column", "y"], "y\n1e400\n", "'1e400', which is not a finite number"),
        (["--column", "y"], "y,x,y\n1,2,3\n", "has 2 columns named 'y'"),
        (["--column", "y", "--by", "x"], "y,x,x\n1,2,3\n", "has 2 columns named 'x'"),
        (["--column", "y"], "y,x\n1,2\n,3\n", "use --drop-missing"),
        (["--column", "y"], "y\n", "has no rows with a number"),
        (["--column", "y"], "", "is empty"),
        (
            ["--column", "y", "--alpha", "0"],
            "y\n1\n",
            "'alpha' parameter of bandstrap bound must be a number in the open",
        ),
        (["--column", "y", "--method", "nope"], "y\n1\n", "'method' parameter of bandstrap bound must be one of"),
        (["--column", "y", "--method", "hoeffding"], "y\n1\n", "'sigma' parameter of hoeffding must be given"),
        (["--column", "y", "--method", "sign_flip:foo=2"], "y\n1\n", "does not take these options"),
        (["--column", "y", "--format", "xml"], "y\n1\n", "'format' parameter of bandstrap bound must be one of"),
        (["--column", "y", "--side", "left"], "y\n1\n", "'side' parameter"),
        (["--column", "y", "--sigma", "-1"], "y\n1\n", "'sigma' parameter"),
        (["--column", "y", "--support", "1", "0"], "y\n1\n", "'support' parameter"),
    ],
)
def test_bound_refuses_with_one_sentence_and_exit_code_2(run, arguments, stdin, message):
    done = run("bound", "-", *arguments, stdin=stdin)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_bound_drops_missing_rows_when_told(run):
    done = run("bound", "-", "--column", "y", "--drop-missing", "--format", "json", stdin="y,x\n1,2\n,3\n3,4\n")
    assert json.loads(done.stdout)[0]["n"] == 2


@pytest.mark.parametrize("path", ["missing.csv", "."])
def test_bound_refuses_what_is_not_a_file(run, path):
    done = run("bound", path, "--column", "y")
    assert (done.returncode, done.stderr) == (2, f"error: {path} is not a file.\n")


def test_coverage_prints_miss_rates_and_draws(run, tmp_path):
    picture = tmp_path / "new" / "coverage.png"
    arguments = ("--distribution", "normal", "--sample-size", 5, "--sample-size", 9, "--replications", 50)
    done = run("coverage", *arguments, "--plot", picture)
    assert done.returncode == 0, done.stderr
    assert "sign_flip" in done.stdout
    assert "skipped: needs support" in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in picture.parent.iterdir()] == ["coverage.png"]
    rows = json.loads(run("coverage", *arguments, "--bound", "student_t", "--format", "json").stdout)
    assert [(row["bound"], row["sample_size"]) for row in rows] == [("student_t", 5), ("student_t", 9)]


@each(
    ("arguments", "message"),
    [
        ([], "needs --sample-size, and --distribution or --data"),
        (["--distribution", "normal"], "needs --sample-size, and --distribution or --data"),
        (["--distribution", "nope", "--sample-size", "5"], "'distribution' parameter"),
        (["--distribution", "normal", "--sample-size", "0"], "'sample_size' parameter"),
        (["--distribution", "normal", "--sample-size", "5", "--replications", "0"], "'replications' parameter"),
        (["--distribution", "normal", "--sample-size", "5", "--bound", "nope"], "'bounds' parameter"),
        (
            ["--distribution", "normal", "--sample-size", "5", "--replications", "9", "--plot", "x.doc"],
            "must end in one of",
        ),
    ],
)
def test_coverage_refuses_with_one_sentence_and_exit_code_2(run, arguments, message):
    done = run("coverage", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@each(
    ("law", "bound", "words"),
    [
        ("gamma:a=2", "sign_flip", "assumption fails"),
        ("bernoulli:p=0.05", "sign_flip", "assumption fails"),
        ("cauchy", "student_t", "assumption fails"),
        ("t:df=3", "hoeffding:sigma=2", "assumption fails"),
        ("gennorm:beta=4", "hoeffding:sigma=2", "not known"),
        ("normal", "sign_flip", "<= 0.05"),
        ("bernoulli:p=0.05", "clopper_pearson", "<= 0.05"),
    ],
)
def test_coverage_says_proved_only_where_it_is(run, law, bound, words):
    arguments = ("coverage", "--distribution", law, "--sample-size", 8, "--replications", 200, "--bound", bound)
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    assert words in done.stdout
    assert ("<=" in done.stdout) == (words == "<= 0.05")
    (row,) = json.loads(run(*arguments, "--format", "json").stdout)
    assert f" {row['miss_rate']:.4g} " in done.stdout  # beside what is said of it
    # What is covered instead of a mean is said above the table.
    assert ("; the distribution has no mean: the target is its median" in done.stdout.splitlines()[0]) == (
        law == "cauchy"
    )


def test_list_and_version(run):
    assert "sign_flip" in run("list", "bounds").stdout
    assert "permutation" in run("list", "differences").stdout
    assert "saddlepoint" in run("list", "methods").stdout
    assert "mammen" in run("list", "weights").stdout
    assert run("list", "stars").returncode == 2
    assert run("--version").stdout == f"bandstrap {__version__}\n"
    assert run("nope").returncode == 2

"""Text from outside on the command line: what steers a terminal is written out, what is meant for machines is kept."""

import csv
import io
import json

import pytest

from sampling import each

ESCAPE = "\x1b[31mred\x1b[0m"
DATA = f"{ESCAPE},y\n{ESCAPE},1\näβ\u202e,2\näβ\u202e,3\n"


def is_fit(text):
    return all(character.isprintable() or character == "\n" for character in text)


def test_a_table_and_its_warnings_show_control_characters_and_keep_letters(run):
    done = run("bound", "-", "--column", "y", "--by", ESCAPE, stdin=DATA)
    assert done.returncode == 0
    assert is_fit(done.stdout)
    assert "\\x1b[31mred\\x1b[0m" in done.stdout
    assert "äβ\\u202e" in done.stdout
    skewed = "g,y\n" + "".join(f"{ESCAPE},{y}\n" for y in (1, 1, 1, 2, 2, 3, 9, 30, 80, 250) * 2)
    warned = run("bound", "-", "--column", "y", "--by", "g", "--method", "sign_flip", stdin=skewed)
    assert warned.stderr.startswith("warning: \\x1b[31mred\\x1b[0m: ")


def test_machines_get_the_data(run):
    arguments = ("bound", "-", "--column", "y", "--by", ESCAPE, "--format")
    assert [row[ESCAPE] for row in json.loads(run(*arguments, "json", stdin=DATA).stdout)] == [ESCAPE, "äβ\u202e"]
    rows = csv.DictReader(io.StringIO(run(*arguments, "csv", stdin=DATA).stdout))
    assert [row[ESCAPE] for row in rows] == [ESCAPE, "äβ\u202e"]


@each(
    "arguments",
    [
        ["bound", ESCAPE, "--column", "y"],
        ["bound", "-", "--column", ESCAPE],
        ["bound", "-", "--column", "y", "--method", ESCAPE],
        ["bound", "-", "--column", "y", "--method", f"hoeffding:sigma={ESCAPE}"],
        ["bound", "-", "--column", "y", "--method", f"sign_flip:{ESCAPE}=1"],
        ["bound", "-", "--column", "y", "--alpha", ESCAPE],
        ["bound", "-", "--column", "y", f"--{ESCAPE}"],
        ["coverage", "--distribution", f"normal:{ESCAPE}=1", "--sample-size", "2"],
        ["simulate", ESCAPE],
        ["simulate", "--policy", ESCAPE],
        ["simulate", "--policy", f"{ESCAPE}.py:Mine"],
        ["simulate", "--policy", f"ucb1:{ESCAPE}=1"],
        ["simulate", "--policy", "ucb1", "--environment", f"empirical:{ESCAPE},arm=a,reward=b"],
        ["simulate", "--policy", "ucb1", "--out", f"/dev/null/{ESCAPE}"],
        ["paper", ESCAPE],
        ["league", "--environment", ESCAPE],
        ["list", ESCAPE],
        [ESCAPE],
    ],
    ids=lambda arguments: " ".join(arguments).replace("\x1b", "ESC"),
)
def test_no_refusal_repeats_control_characters_or_much_of_what_was_typed(run, arguments):
    for made in (arguments, [text.replace(ESCAPE, ESCAPE * 9000) for text in arguments]):
        done = run(*made, stdin="y\n1\n2\n")
        assert (done.returncode, done.stdout) == (2, "")
        assert "Traceback" not in done.stderr
        assert is_fit(done.stderr)
        assert len(done.stderr) < 5000


def test_labels_of_a_file_are_shown_and_drawn_as_they_are(run, tmp_path):
    path = tmp_path / "mine.toml"
    label = "$\\\\frac$ \\u001b[31m"
    path.write_text(
        f'title = "{label}"\nhorizon = 9\nreplications = 2\n[[panels]]\nname = "a"\ntitle = "{label}"\n'
        f'environment = "gaussian:n_arms=2"\ncurves = [{{ label = "{label}", policy = "ucb1" }}]\n',
        encoding="utf-8",
    )
    done = run("simulate", path, "--out", tmp_path / f"{ESCAPE}$")
    assert done.returncode == 0, done.stderr
    assert is_fit(done.stdout + done.stderr)
    assert "$\\frac$ \\x1b[31m" in done.stdout
    table = (tmp_path / f"{ESCAPE}$" / "summary.csv").read_text()
    assert next(csv.DictReader(io.StringIO(table)))["curve"] == "$\\frac$ \x1b[31m"
    assert b"\x1b" not in (tmp_path / f"{ESCAPE}$" / "panels.svg").read_bytes()


@pytest.mark.parametrize("law", ["poisson:mu=1e300", "binom:n=1e300,p=0.5", "normal:scale=1e308", "t:df=" + "9" * 400])
def test_a_law_that_cannot_be_drawn_from_is_refused(run, law):
    done = run("coverage", "--distribution", law, "--sample-size", 3, "--replications", 50)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert len(done.stderr) < 400

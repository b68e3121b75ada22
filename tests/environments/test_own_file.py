"""Environments in a user's own file: found, played as they are now, and kept apart; mistakes in one sentence."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from bandstrap import UCB1, simulate
from bandstrap.engine.simulator.blocks import Block
from bandstrap.environments import ENVIRONMENTS, Arms, Gaussian, LinearBandit, StudentT
from bandstrap.errors import InvalidInput
from bandstrap.league import read_league
from bandstrap.names import NAMED_ENVIRONMENTS, anchored_environment, make
from sampling import each, exhaustive, telling

BUYERS = (Path(__file__).parents[2] / "docs" / "buyers.py").read_text()
IMPORTS = "import numpy as np\nfrom bandstrap.environments import Environment\n"
SIZES = {"horizon": 30, "replications": 3, "seed": 4, "progress": False}


def made(text):
    return make(text, NAMED_ENVIRONMENTS, "environment")


def bandstrap(*arguments, folder):
    command = [sys.executable, "-m", "bandstrap", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


# --- finding and playing ------------------------------------------------------------------------------------------------


def test_an_environment_of_a_file_shows_where_it_is_from_and_is_not_entered_among_ours(tmp_path):
    (tmp_path / "buyers.py").write_text(BUYERS)
    environment = made(f"{tmp_path}/buyers.py:Buyers:share=0.3,n_arms=2")
    assert environment.label == f"{tmp_path}/buyers.py:Buyers:share=0.3,n_arms=2"
    assert made(environment.label).label == environment.label
    assert made(f"{tmp_path}/buyers.py:share=0.3,n_arms=2").label == environment.label
    assert "buyers" not in ENVIRONMENTS
    assert anchored_environment("buyers.py:Buyers:share=0.3", tmp_path) == f"{tmp_path}/buyers.py:Buyers:share=0.3"
    assert anchored_environment("/x/buyers.py", tmp_path) == "/x/buyers.py"


def test_it_gives_the_rewards_that_its_class_gives(tmp_path):
    (tmp_path / "buyers.py").write_text(BUYERS)
    space = {"__name__": "elsewhere"}
    exec(BUYERS, space)
    by_name = simulate(UCB1(), made(f"{tmp_path}/buyers.py:Buyers:share=0.3"), **SIZES)
    by_class = simulate(UCB1(), space["Buyers"](share=0.3), **SIZES)
    np.testing.assert_array_equal(by_name.regret, by_class.regret)


def key_of(environment):
    """What the store knows a block by."""
    return Block(UCB1(), environment, 30, 0, 0, 2, np.array([30])).about


def test_stored_results_belong_to_what_the_file_and_the_modules_beside_it_say(tmp_path):
    file = tmp_path / "buyers.py"
    file.write_text(BUYERS)
    first = key_of(made(f"{file}:Buyers"))
    assert key_of(made(f"{file}:Buyers")) == first
    file.write_text(BUYERS.replace("self.share, 0.0", "self.share, 0.1").replace("amounts, 0.0", "amounts, 0.5"))
    edited = key_of(made(f"{file}:Buyers"))
    assert edited["code"] != first["code"]
    file.write_text("import beside\n" + BUYERS)
    (tmp_path / "beside.py").write_text("x = 1\n")
    with_one = key_of(made(f"{file}:Buyers"))
    (tmp_path / "beside.py").write_text("x = 2\n")
    assert key_of(made(f"{file}:Buyers"))["code"] != with_one["code"]
    assert key_of(Gaussian())["code"] == key_of(Gaussian())["code"] != first["code"]


@exhaustive
@telling("executor", ["thread", "process"], ["thread"])
def test_an_experiment_finds_it_beside_the_file_and_plays_it_again_after_an_edit(tmp_path, executor):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "buyers.py").write_text(BUYERS)
    (tmp_path / "sub" / "grid.toml").write_text(
        'title = "x"\nhorizon = 30\nreplications = 4\n[[panels]]\nname = "a"\nenvironment = "buyers.py:Buyers:share={s}"\n'
        'grid = { s = [0.1, 0.5] }\n[[panels.curves]]\nlabel = "UCB"\npolicy = "ucb1"\n'
    )
    run = ("simulate", "sub/grid.toml", "--out", "results", "--executor", executor, "--jobs", 1)
    done = bandstrap(*run, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    before = json.loads(bandstrap("results", "results", "--format", "json", folder=tmp_path).stdout)
    expected = simulate(
        UCB1(), made(f"{tmp_path}/sub/buyers.py:Buyers:share=0.5"), **{**SIZES, "replications": 4, "seed": 0}
    )
    assert before[-1]["mean"] == pytest.approx(float(expected.mean[0, -1]), rel=1e-12)
    if executor == "process":
        return
    (tmp_path / "sub" / "buyers.py").write_text(BUYERS.replace("(0.5, 1.5)", "(1.0, 9.0)"))
    assert bandstrap(*run, folder=tmp_path).returncode == 0
    after = json.loads(bandstrap("results", "results", "--format", "json", folder=tmp_path).stdout)
    assert all(new["mean"] > old["mean"] for new, old in zip(after, before, strict=True))


def test_a_league_finds_it_beside_the_file(tmp_path):
    (tmp_path / "buyers.py").write_text(BUYERS)
    (tmp_path / "league.toml").write_text(
        '[[environments]]\nname = "Buyers"\ncall = "buyers.py:Buyers"\nsigma = 5\n'
        "moment = 30\nraw_moment = 31\n"
        '[[policies]]\nname = "UCB1"\ncall = "ucb1"\ntold = "nothing"\n'
    )
    assert read_league(tmp_path / "league.toml").environments[0].call == f"{tmp_path}/buyers.py:Buyers"


# --- mistakes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "call", "message"),
    [
        (None, "mine.py:Mine", r"mine\.py is not a file\."),
        ("x = (", "mine.py:Mine", r"mine\.py is not Python, line 1: '\(' was never closed\."),
        ("1/0\n", "mine.py:Mine", r"mine\.py cannot be loaded: ZeroDivisionError in line 1: division by zero\."),
        ("x = 1\n", "mine.py:Mine", r"mine\.py has no environment 'Mine'; it has none\."),
        (BUYERS, "mine.py:Other", r"mine\.py has no environment 'Other'; it has Buyers\."),
        (IMPORTS + "class Mine(Environment): pass\n", "mine.py:Mine", r"has no environment 'Mine'; it has none\."),
        (
            BUYERS + "\n\nclass Two(Buyers): pass\n",
            "mine.py",
            r"more than one environment, Buyers, Two; say which, as in",
        ),
        (BUYERS, "mine.py:Buyers:d=1", r"Buyers has no parameter 'd'.*; it takes means, share, n_arms, mean_range\."),
        (
            BUYERS,
            "mine.py:Buyers:share=2",
            r"must be a number in the open interval .0, 1.\. Got 2",
        ),
        (BUYERS, "mine.py:Buyers:means=(-1,1)", r"'means' parameter of Buyers must be positive\. Got \[-1\.0, 1\.0\]"),
        (BUYERS, "mine.py:Buyers:c", r"^'c' in '.* is not of the form key=value\."),
        (
            BUYERS.replace("self.share = check_number", "self.shares = check_number"),
            "mine.py:Buyers",
            r"Buyers cannot be made: AttributeError: 'Buyers' object has no attribute 'share'\.",
        ),
        (
            BUYERS.replace("        super().__init__(means, **options)\n", "        self.means = None\n"),
            "mine.py:Buyers",
            r"Buyers cannot be (made|played): .*",
        ),
        (
            BUYERS.replace(
                "        self.share = check", '        raise OSError("no such luck")\n        self.share = check'
            ),
            "mine.py:Buyers",
            r"Buyers cannot be made: OSError in line \d+ of mine\.py: no such luck\.",
        ),
        (
            BUYERS.replace("class Buyers", "class Gaussian"),
            "mine.py:Gaussian",
            r"must be other than the names of bandstrap, where 'gaussian' is Gaussian",
        ),
    ],
)
def test_what_cannot_be_made_is_refused_in_a_sentence(content, call, message, tmp_path):
    if content is not None:
        (tmp_path / "mine.py").write_text(content)
    with pytest.raises(InvalidInput, match=message) as refusal:
        made(f"{tmp_path}/{call}")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return means", r"shape \(5, 6\)\. Got shape \(5,\) instead\."),
        ("return np.full((means.size, n), np.nan)", r"a reward it drew is not a finite number\."),
        ("return np.zeros((n, means.size))", r"shape \(5, 6\)\. Got shape \(6, 5\) instead\."),
        ("return 'rewards'", r"cannot be played: ValueError"),
        ("return 1 / 0", r"cannot be played: ZeroDivisionError in line \d+ of buyers\.py: division by zero\."),
        ("raise KeyError('a\\nb')", r"cannot be played: KeyError in line \d+ of buyers\.py: "),
    ],
)
def test_rewards_that_cannot_be_played_end_the_command_with_one_sentence(body, message, tmp_path):
    start = BUYERS.index("        shape = means.size, n")
    (tmp_path / "buyers.py").write_text(BUYERS[:start] + f"        {body}\n")
    environment = made(f"{tmp_path}/buyers.py:Buyers")
    with pytest.raises(InvalidInput, match=message) as refusal:
        simulate(UCB1(), environment, **SIZES)
    assert "\n" not in str(refusal.value)


def test_the_command_line_prints_the_sentence_alone(tmp_path):
    start = BUYERS.index("        shape = means.size, n")
    (tmp_path / "buyers.py").write_text(BUYERS[:start] + "        return 1 / 0\n")
    done = bandstrap("simulate", "--policy", "ucb1", "--environment", "./buyers.py:Buyers", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "error: the environment ./buyers.py:Buyers cannot be played: "
        "ZeroDivisionError in line 23 of buyers.py: division by zero.\n"
    )


# --- means that do not exist --------------------------------------------------------------------------------------------


@each(
    "make_it",
    [
        lambda: StudentT(df=1),
        lambda: StudentT(df=0.5),
        lambda: made("student_t:df=1"),
        lambda: made("linear_bandit:noise='student_t:df=1'"),
        lambda: LinearBandit(noise=stats.cauchy()),
        lambda: LinearBandit(noise=stats.t(1)),
        lambda: Arms([stats.norm(), stats.cauchy()]),
        lambda: Arms([stats.pareto(1)]),
        lambda: Arms([stats.pareto(0.5), stats.norm()]),
        lambda: Arms([stats.t(1)]),
        lambda: Arms([stats.levy()]),
    ],
)
def test_a_distribution_without_a_finite_mean_is_refused(make_it):
    with pytest.raises(InvalidInput, match=r"mean"):
        make_it()


def test_a_mean_without_a_variance_is_enough():
    assert StudentT(df=1.5).df == 1.5
    assert Arms([stats.pareto(1.5)]).means == pytest.approx((3.0,))
    assert np.isfinite(simulate(UCB1(), StudentT(df=1.1), **SIZES).regret).all()

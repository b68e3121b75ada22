"""``bandstrap compare``: groups of a table with one control."""

import csv
import io
import json

import numpy as np
import pytest
from scipy import stats

from bandstrap.bounds import compare, difference
from naive.differences import permutation_p_value

ARGUMENTS = ("--column", "revenue", "--by", "variant")


@pytest.fixture
def revenue(tmp_path):
    """Revenue of three variants; most visitors buy nothing."""
    rng = np.random.default_rng(0)
    groups = {
        name: np.round((rng.random(n) < share) * rng.lognormal(3, 1, n), 2)
        for name, n, share in (("red", 60, 0.3), ("dark green", 50, 0.4), ("blue", 40, 0.3))
    }
    path = tmp_path / "revenue.csv"
    return write(path, groups), groups


def write(path, groups):
    path.write_text("variant,revenue\n" + "".join(f"{name},{y}\n" for name, ys in groups.items() for y in ys))
    return path


def rows_of(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def run_rows(run, path, *more, control="red"):
    done = run("compare", path, *ARGUMENTS, "--control", control, "--format", "json", *more)
    return {row["variant"]: row for row in rows_of(done)}, done.stderr


@pytest.mark.parametrize(("side", "alternative"), [("two-sided", "two-sided"), ("upper", "less"), ("lower", "greater")])
def test_welchs_intervals_are_scipys(run, revenue, side, alternative):
    path, groups = revenue
    rows, said = run_rows(run, path, "--side", side, "--alpha", 0.1)
    assert said == ""
    assert list(rows) == ["dark green", "blue"]
    for name, row in rows.items():
        test = stats.ttest_ind(groups[name], groups["red"], equal_var=False, alternative=alternative)
        expected = test.confidence_interval(0.9)
        if side == "two-sided":
            assert (row["lower"], row["upper"]) == pytest.approx((expected.low, expected.high))
        else:
            assert row["bound"] == pytest.approx(expected.high if side == "upper" else expected.low)
        assert row["n"] == len(groups[name])
        assert row["mean"] == pytest.approx(groups[name].mean())
        assert row["difference"] == pytest.approx(groups[name].mean() - groups["red"].mean())
        assert row["control"] == "red"
        assert row["control_mean"] == pytest.approx(groups["red"].mean())
        assert row["guarantee"] is None


@pytest.mark.parametrize(
    "method",
    ["permutation", "bootstrap", "bootstrap_t", "union:bound=betting,support=(0,2000)", "union:bound=sign_flip"],
)
@pytest.mark.parametrize("simultaneous", [None, "bonferroni"])
@pytest.mark.filterwarnings("ignore::bandstrap.errors.AssumptionWarning")
def test_numbers_are_those_of_the_library(run, revenue, method, simultaneous):
    path, groups = revenue
    more = ("--method", method, "--seed", 7, *(("--simultaneous", simultaneous) if simultaneous else ()))
    rows, _ = run_rows(run, path, *more)
    seeds = {
        "permutation": {"seed": 7},
        "bootstrap_t": {"seed": 7},
        "union:bound=betting,support=(0,2000)": {"seed": 7},
    }
    found = compare(groups, "red", method=method, simultaneous=simultaneous, **seeds.get(method, {}))
    for name, bound in found.bounds.items():
        assert (rows[name]["lower"], rows[name]["upper"]) == bound.value
        assert rows[name]["order"] == ("shuffled with seed 7" if "betting" in method else None)


def test_the_largest_sum_is_drawn_with_the_seed_and_the_title_says_together(run, revenue):
    path, groups = revenue
    more = ("--method", "bootstrap:n_resamples=999", "--simultaneous", "max", "--seed", 3)
    rows, _ = run_rows(run, path, *more)
    found = compare(groups, "red", method="bootstrap:n_resamples=999", simultaneous="max", seed=3)
    assert {name: (row["lower"], row["upper"]) for name, row in rows.items()} == {
        name: bound.value for name, bound in found.bounds.items()
    }
    shown = run("compare", path, *ARGUMENTS, "--control", "red", *more).stdout
    assert "bootstrap, two-sided, alpha = 0.05 for all together (max); red: n = 60, mean = " in shown


def test_a_proof_is_claimed_unless_the_groups_contradict_it(run, tmp_path):
    rng = np.random.default_rng(1)
    base = rng.normal(size=40)
    groups = {"red": base, "moved": rng.normal(1.0, size=40), "wide": rng.normal(0, 9, size=40)}
    rows, said = run_rows(run, write(tmp_path / "a.csv", groups), "--method", "permutation")
    assert rows["moved"]["guarantee"] == 0.05
    assert rows["wide"]["guarantee"] is None
    assert said.startswith("warning: wide minus red: wide and red differ in spread (Brown and Forsythe's test, p = ")
    shown = run("compare", tmp_path / "a.csv", *ARGUMENTS, "--control", "red", "--method", "permutation").stdout
    assert "assumption fails" in shown
    assert "<= 0.05" in shown
    assert "wide" not in run_rows(run, tmp_path / "a.csv")[1]  # Welch's t takes unequal spreads


def test_rates_of_zeros_and_ones_by_exact_bounds_on_each(run, tmp_path):
    groups = {"red": [1] * 12 + [0] * 88, "blue": [1] * 30 + [0] * 70, "never": [0] * 50}
    path = write(tmp_path / "a.csv", groups)
    rows, said = run_rows(run, path, "--method", "union:bound=clopper_pearson")
    assert said == ""
    expected = difference(groups["blue"], groups["red"], method="union:bound=clopper_pearson")
    assert (rows["blue"]["lower"], rows["blue"]["upper"]) == expected.value
    assert rows["never"]["lower"] < -0.12 < rows["never"]["upper"]
    assert rows["never"]["guarantee"] == pytest.approx(0.05)
    _, said = run_rows(run, path, "--method", "permutation")
    assert "warning: blue minus red: blue and red differ in spread" in said  # 0 and 1 at another rate are no shift
    rows, said = run_rows(run, path, "--method", "union:bound=clopper_pearson,support=(0,2)")
    assert (rows["blue"]["lower"], rows["blue"]["guarantee"]) == (None, None)
    assert "blue: 30 of 100 rewards are neither 0 nor 2, the first of them 1, so the bound cannot be computed" in said


def test_groups_that_cannot_show_their_spread_are_told(run, tmp_path):
    groups = {"red": [1.0, 2.0, 4.0], "one": [3.0], "same": [2.0] * 4, "twin": [1.0, 2.0, 4.0]}
    path = write(tmp_path / "a.csv", groups)
    rows, said = run_rows(run, path)
    assert rows["one"]["lower"] is None  # infinite
    assert rows["one"]["upper"] is None
    assert (
        "warning: one minus red: one has one reward, which cannot show how much rewards vary; the bound is infinite: "
        in said
    )
    assert "warning: same minus red: all 4 rewards of same are 2, which cannot show how much they vary." in said
    assert rows["twin"]["difference"] == 0.0
    assert rows["twin"]["lower"] < 0 < rows["twin"]["upper"]
    rows, said = run_rows(run, path, control="same")
    assert rows["red"]["lower"] < rows["red"]["upper"]
    assert "warning: red, twin minus same: all 4 rewards of same are 2, which cannot show how much they vary." in said


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        (
            "red,1\nred,2",
            (),
            "'groups' parameter of compare must be two or more, the control and another. Got one ('red')",
        ),
        (
            "blue,1\ngreen,2",
            (),
            "'control' parameter of compare must be one of the groups (blue, green). Got 'red' instead",
        ),
        ("red,1\nblue,NaN", (), "--drop-missing"),
        ("red,1\nblue,x", (), "'x'"),
        ("red,1\nblue,2", ("--alpha", 0.95), "is 0.05 meant"),
        ("red,1\nblue,2", ("--side", "both"), "'side' parameter of bandstrap compare"),
        ("red,1\nblue,2", ("--method", "anova"), "'method' parameter of bandstrap compare must be one of 'betting'"),
        ("red,1\nblue,2", ("--method", "welch:x=1"), "The method welch does not take these options"),
        ("red,1\nblue,2", ("--method", "union:bound=x"), "'bound' parameter of bandstrap compare"),
        ("red,1\nblue,2", ("--method", "union"), "'support' parameter of betting must be"),
        ("red,1\nblue,2", ("--simultaneous", "all"), "'simultaneous' parameter of bandstrap compare"),
        ("red,1\nblue,2", ("--simultaneous", "max"), "must be 'bootstrap' for simultaneous='max'"),
        ("red,1\nblue,2", ("--seed", -1), "'seed' parameter of bandstrap compare"),
        ("red,1\nblue,2", ("--format", "xml"), "'format' parameter of bandstrap compare"),
        ("red,1\nblue,2", ("--plot", "a.xyz"), "a.xyz"),
    ],
)
def test_mistakes_end_with_a_sentence_and_exit_code_2(run, tmp_path, text, more, message):
    path = tmp_path / "a.csv"
    path.write_text(f"variant,revenue\n{text}\n")
    done = run("compare", path, *ARGUMENTS, "--control", "red", *more)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_files_are_read_as_bound_reads_them(run, tmp_path):
    text = "variant;revenue\nred;1,5\nred;2,5\nblue;n/k\nblue;4,0\nblue;4,5\n"
    (tmp_path / "a.csv").write_bytes(text.encode("utf-16"))
    more = ("--encoding", "utf-16", "--decimal", ",", "--na", "n/k", "--drop-missing")
    rows, _ = run_rows(run, tmp_path / "a.csv", *more)
    assert rows["blue"]["difference"] == 2.25
    done = run(
        "compare",
        "-",
        *ARGUMENTS,
        "--control",
        "red",
        "--format",
        "csv",
        stdin="variant,revenue\nred,1\nred,2\nblue,4\nblue,6\n",
    )
    (row,) = csv.DictReader(io.StringIO(done.stdout))
    assert float(row["difference"]) == 3.5
    # A column of groups that would be overwritten by the result's is called group; a row without one has its own.
    done = run(
        "compare",
        "-",
        "--column",
        "y",
        "--by",
        "mean",
        "--control",
        "red",
        "--format",
        "json",
        stdin="mean,y\nred,1\nred,2\n,4\n,6\n",
    )
    assert rows_of(done)[0]["group"] == ""


def test_the_differences_are_drawn(run, revenue, tmp_path):
    path, _ = revenue
    picture = tmp_path / "groups.svg"
    done = run("compare", path, *ARGUMENTS, "--control", "red", "--plot", picture)
    assert done.returncode == 0
    assert f"wrote {picture}" in done.stderr
    assert picture.read_text().startswith("<?xml")


def test_betting_on_pairs_is_told_a_support_and_shuffled_with_the_seed(run, revenue):
    path, groups = revenue
    rows, said = run_rows(run, path, "--method", "betting", "--support", 0, 2000, "--seed", 7)
    assert said == ""
    for name, row in rows.items():
        expected = difference(groups[name], groups["red"], method="betting", support=(0, 2000), seed=7)
        assert (row["lower"], row["upper"]) == expected.value
        assert (row["order"], row["guarantee"]) == ("shuffled with seed 7", 0.05)
        assert row["assumption"] == "independent rewards in [0, 2000], in both groups"
    rows, _ = run_rows(run, path, "--method", "betting", "--support", 0, 2000, "--in-order")
    assert {row["order"] for row in rows.values()} == {"as given"}
    rows, said = run_rows(run, path, "--method", "betting", "--support", 0, 1)
    assert {(row["lower"], row["upper"], row["guarantee"]) for row in rows.values()} == {(None, None, None)}
    assert "rewards lie outside [0, 1], so the bound cannot be computed" in said
    done = run("compare", path, *ARGUMENTS, "--control", "red", "--method", "welch", "--support", 0, 1)
    assert "The method welch does not take these options" in done.stderr
    assert "betting" in run("list", "differences").stdout


def test_a_trend_speaks_against_pairs_in_order(run, tmp_path):
    groups = {"red": np.arange(100) / 100, "blue": np.full(100, 0.5)}
    path = write(tmp_path / "a.csv", groups)
    rows, said = run_rows(run, path, "--method", "betting", "--support", 0, 1, "--in-order")
    assert "warning: blue minus red: red: the rewards rise along the sample" in said
    assert rows["blue"]["guarantee"] is None
    rows, said = run_rows(run, path, "--method", "betting", "--support", 0, 1)
    assert (rows["blue"]["guarantee"], said) == (0.05, "")


def test_what_is_proved_of_all_differences_is_told(run, revenue):
    path, _ = revenue
    more = ("--method", "betting", "--support", 0, 2000, "--simultaneous", "bonferroni")
    rows, _ = run_rows(run, path, *more)
    assert {row["together"] for row in rows.values()} == {0.05}
    shown = run("compare", path, *ARGUMENTS, "--control", "red", *more).stdout
    assert "Proved: the probability that any of the bounds misses is at most 0.05" in shown
    rows, _ = run_rows(run, path, "--simultaneous", "bonferroni")
    assert {row["together"] for row in rows.values()} == {None}


def test_infinite_bounds_say_what_would_make_them_finite(run, tmp_path):
    path = write(tmp_path / "a.csv", {"red": [1.0, 2.0], "blue": [2.0, 4.0, 5.0]})
    rows, said = run_rows(run, path, "--method", "permutation")
    why = (
        "the bound is infinite: groups of 3 and 2 rewards can be divided in 10 ways, and alpha = 0.025 needs at least 40; "
        "use more rewards"
    )
    assert (rows["blue"]["lower"], rows["blue"]["warning"], rows["blue"]["guarantee"]) == (None, why, 0.05)
    assert said == f"warning: blue minus red: {why}.\n"
    _, said = run_rows(run, path, "--method", "union:bound=sign_flip")
    assert said.startswith("warning: blue minus red: blue: the bound is infinite: an error probability of ")
    assert "rewards, there are 2" in said
    _, said = run_rows(run, path, "--method", "bootstrap_t:n_resamples=9")
    assert "an error probability of 0.025 needs at least 39 resamples, there are 9" in said


@pytest.mark.parametrize("unit", [1.0, 0.1])
def test_a_permutation_bound_of_few_rewards_with_ties_is_where_the_test_by_full_enumeration_turns(run, tmp_path, unit):
    groups = {"red": [2, 3, 3, 5], "blue": [3, 4, 4, 7, 2]}
    groups = {name: [unit * reward for reward in rewards] for name, rewards in groups.items()}
    path = write(tmp_path / "a.csv", groups)
    rows, _ = run_rows(run, path, "--method", "permutation", "--alpha", 0.1, "--side", "upper")
    upper = rows["blue"]["bound"]
    assert permutation_p_value(groups["blue"], groups["red"], upper - 1e-9) > 0.1
    assert permutation_p_value(groups["blue"], groups["red"], upper + 1e-9) <= 0.1

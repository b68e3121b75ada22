"""``bandstrap bound`` on data as they come: sorted, constant, of two values, from other programs."""

import json

import numpy as np
import pytest

from bandstrap.bounds import betting, bootstrap_t, bound_groups, clopper_pearson
from sampling import each

WALK = ("--method", "betting", "--support", 0, 1, "--side", "two-sided")


@pytest.fixture
def visits(tmp_path):
    """Visits to a doctor by plan, in a file that is sorted by health: skewed, and higher for the ill, who come last."""
    rng = np.random.default_rng(0)
    groups, lines = {}, ["plan,health,visits"]
    for plan, mean in (("free", 4.5), ("paid", 2.7)):
        health = np.sort(rng.normal(size=1000))
        counts = np.minimum(rng.poisson(mean * np.exp(0.9 * health - 0.4) * rng.gamma(0.7, 1 / 0.7, 1000)), 100)
        groups[plan] = counts.astype(float)
        lines += [f"{plan},{ill:.3f},{count}" for ill, count in zip(health, counts, strict=True)]
    path = tmp_path / "visits.csv"
    path.write_text("\n".join(lines))
    return path, groups


def rows_of(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# --- order ------------------------------------------------------------------------------------------------------------


def test_rows_are_shuffled_with_a_stated_seed_for_a_bound_that_walks_through_them(run, visits):
    path, groups = visits
    arguments = ("bound", path, "--column", "visits", "--by", "plan", "--method", "betting", "--support", 0, 100)
    for seed in (0, 7):
        done = run(*arguments, "--side", "two-sided", "--seed", seed, "--format", "json")
        for row in rows_of(done):
            expected = betting(groups[row["plan"]], 0.05, side="two-sided", support=(0, 100), seed=seed)
            assert (row["lower"], row["upper"]) == expected.value
            assert row["lower"] < row["mean"] < row["upper"]
            assert row["order"] == f"shuffled with seed {seed}"
            assert row["guarantee"] == 0.05
            assert row["assumption"] == "independent rewards in [0, 100]"
        assert done.stderr == ""
    assert (
        "betting, two-sided, alpha = 0.05, rows shuffled with seed 7"
        in run(*arguments, "--side", "two-sided", "--seed", 7).stdout
    )
    assert run(*arguments, "--seed", -1).returncode == 2


def test_a_seed_of_the_method_itself_and_one_for_its_phi(run, visits):
    path, groups = visits
    arguments = ("bound", path, "--column", "visits", "--by", "plan", "--support", 0, 100, "--format", "json")
    (row, _) = rows_of(run(*arguments, "--method", "betting:seed=3", "--side", "upper"))
    assert row["bound"] == betting(groups["free"], 0.05, support=(0, 100), seed=3).value
    assert row["order"] == "shuffled with seed 3"
    (row, _) = rows_of(run(*arguments, "--method", "empirical_kl"))
    assert row["order"] is None


def test_a_crossing_is_never_printed_as_an_interval(run):
    falling = "y\n" + "1\n" * 200 + "0\n" * 200
    done = run("bound", "-", "--column", "y", *WALK, "--in-order", "--format", "json", stdin=falling)
    (row,) = rows_of(done)
    assert (row["lower"], row["upper"], row["width"], row["guarantee"]) == (None, None, None, None)
    assert row["order"] == "as given"
    assert done.stderr.count("\n") == 1
    assert "the rewards fall along the sample (rank correlation -0.87, p = " in done.stderr
    assert "no mean is left, because the lower end, 0.9" in done.stderr
    assert "which has a probability of at most 0.05 for independent rewards in [0, 1]" in done.stderr
    table = run("bound", "-", "--column", "y", *WALK, "--in-order", stdin=falling).stdout
    assert "assumption fails" in table
    assert "rows as given" in table
    (row,) = rows_of(run("bound", "-", "--column", "y", *WALK, "--format", "json", stdin=falling))
    assert row["lower"] < 0.5 < row["upper"]


def test_a_trend_is_warned_of_before_anything_crosses(run, visits):
    path, _ = visits
    done = run(
        "bound", path, "--column", "visits", "--by", "plan", "--method", "betting", "--support", 0, 100, "--in-order"
    )
    assert done.returncode == 0
    assert done.stdout.count("assumption fails") == 2
    assert "warning: free, paid, for example free: the rewards rise along the sample (rank corr" in done.stderr


# --- degenerate samples -----------------------------------------------------------------------------------------------


def test_no_conversion_at_all_is_not_taken_for_certainty(run):
    nothing = "converted\n" + "0\n" * 200
    for method in ("sign_flip", "student_t", "bootstrap:correction=none"):
        done = run("bound", "-", "--column", "converted", "--method", method, stdin=nothing)
        assert done.returncode == 0
        assert "not known" in done.stdout or method.startswith("bootstrap")
        assert "<= 0.05" not in done.stdout
        assert "warning: all 200 rewards are 0, which cannot show how much rewards vary" in done.stderr
        assert "clopper_pearson can if they are zeros and ones" in done.stderr
    exact = ("--method", "clopper_pearson", "--side", "upper", "--format", "json")
    done = run("bound", "-", "--column", "converted", *exact, stdin=nothing)
    (row,) = rows_of(done)
    assert row["bound"] == clopper_pearson([0] * 200, 0.05).value == pytest.approx(0.014867, abs=1e-6)
    assert (row["guarantee"], row["warning"], done.stderr) == (0.05, "", "")


def test_unequal_zeros_and_ones_are_sent_to_the_exact_bound(run):
    done = run("bound", "-", "--column", "y", "--method", "sign_flip", stdin="y\n" + "0\n" * 180 + "1\n" * 20)
    assert "assumption fails" in done.stdout
    assert "take two values, 0 and 1, in unequal numbers" in done.stderr
    assert "clopper_pearson is exact for them" in done.stderr
    done = run("bound", "-", "--column", "y", "--method", "clopper_pearson", stdin="y\n0\n0.5\n1\n")
    assert "1 of 3 rewards are neither 0 nor 1, the first of them 0.5, so the bound cannot be computed" in done.stderr
    assert "assumption fails" in done.stdout


def test_true_and_false_from_another_program(run):
    text = 'g;"bought"\na;TRUE\na;FALSE\nb;true\nb;NA\nb;false\nb;false\n'
    arguments = ("bound", "-", "--column", "bought", "--by", "g", "--method", "clopper_pearson", "--format", "json")
    rows = rows_of(run(*arguments, "--drop-missing", stdin=text))
    assert [(row["g"], row["n"], row["mean"]) for row in rows] == [("a", 2, 0.5), ("b", 3, 1 / 3)]
    done = run(*arguments, stdin=text)
    assert done.returncode == 2
    assert "'NA', which is not a finite number (use --drop-missing to leave such rows out)" in done.stderr


# --- files ------------------------------------------------------------------------------------------------------------


@each(
    ("arguments", "stdin", "message"),
    [
        (
            [],
            "g;y\na;1,5\n",
            "'1,5', which is not a finite number (use --decimal ',' if the comma is its decimal mark)",
        ),
        (
            [],
            "g:y\na:1\n",
            "has no column 'y'; it has g:y (--separator sets the column separator, and --decimal the",
        ),
        ([], "y\n1,5\n", "has more fields than the header line (--separator sets the column separator"),
        (["--separator", "ab"], "y\n1\n", "'separator' parameter of a table must be a single character"),
        (["--decimal", "x"], "y\n1\n", "'decimal' parameter of a table must be '.' or ','"),
        (["--encoding", "nope"], "y\n1\n", "'encoding' parameter of a table must be the name of an encoding"),
        (["--encoding", "ascii"], "y,\u00e4\n1,2\n", "(--encoding sets the encoding, such as latin-1 or utf-16)"),
        (
            ["--alpha", "0.95"],
            "y\n1\n",
            "'alpha' parameter of bandstrap bound must be below 0.5, since it is the probability",
        ),
        (["--plot", "x.doc"], "y\n1\n", "must end in one of"),
    ],
)
def test_refusals_name_the_option_that_helps(run, arguments, stdin, message):
    done = run("bound", "-", "--column", "y", *arguments, stdin=stdin)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert message in done.stderr


def test_ways_to_read_reach_the_table(run, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("gr\u00f6\u00dfe|y\na|1,5\na|-9\na|2,5\n".encode("latin-1"))
    arguments = (
        "--separator",
        "|",
        "--decimal",
        ",",
        "--missing",
        "-9",
        "--missing",
        "x",
        "--encoding",
        "latin-1",
        "--drop-missing",
    )
    (row,) = rows_of(run("bound", path, "--column", "y", "--by", "gr\u00f6\u00dfe", *arguments, "--format", "json"))
    assert (row["n"], row["mean"]) == (2, 2.0)


def test_the_old_name_of_missing_warns(run):
    arguments = ("bound", "-", "--column", "y", "--na", "x", "--drop-missing", "--format", "json")
    done = run(*arguments, stdin="y\n1\n2\nx\n4\n")
    assert [row["n"] for row in rows_of(done)] == [3]
    assert done.stderr.startswith("warning: --na is now called --missing; the next minor release removes the old name.")
    assert "--na" not in run("bound", "--help").stdout


def test_digits_tell_mean_and_bound_apart(run):
    rewards = 1000 + np.random.default_rng(0).normal(0, 0.01, 60)
    text = "y\n" + "\n".join(map(str, rewards))
    done = run("bound", "-", "--column", "y", "--method", "student_t", stdin=text)
    _, mean, lower, upper = map(float, done.stdout.splitlines()[-1].split()[1:5])
    (row,) = rows_of(run("bound", "-", "--column", "y", "--method", "student_t", "--format", "json", stdin=text))
    assert upper - lower == pytest.approx(row["width"], rel=0.05)
    assert mean - lower == pytest.approx(row["width"] / 2, rel=0.05)


def test_groups_are_drawn_with_their_bounds(run, visits, tmp_path):
    path, _ = visits
    picture = tmp_path / "new" / "groups.svg"
    done = run("bound", path, "--column", "visits", "--by", "plan", "--method", "sign_flip", "--plot", picture)
    assert done.returncode == 0, done.stderr
    assert f"wrote {picture}" in done.stderr
    text = picture.read_text()
    assert "free  (n = 1000)" in text
    assert "assumption fails" in text
    many = "g,y\n" + "".join(f"{i},1\n" for i in range(201))
    done = run("bound", "-", "--column", "y", "--by", "g", "--plot", tmp_path / "a.png", stdin=many)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--plot draws at most 200 groups. Got 201 instead." in done.stderr
    done = run("bound", "-", "--column", "y", "--plot", tmp_path / "a.png", stdin="y\n1e307\n2e307\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--plot draws numbers up to 1e+300. Got 1.5e+307 instead." in done.stderr
    assert not (tmp_path / "a.png").exists()


# --- the bound that suits ---------------------------------------------------------------------------------------------


def test_without_a_method_no_conversion_at_all_has_the_exact_bound_and_a_word_on_what_was_guessed(run):
    nothing = "converted\n" + "0\n" * 200
    done = run("bound", "-", "--column", "converted", stdin=nothing)
    assert "auto, two-sided, alpha = 0.05" in done.stdout
    assert "clopper_pearson because all rewards are 0, and are taken for zeros and ones." in done.stdout
    assert "not known" in done.stdout
    assert done.stderr.startswith("warning: all rewards are 0: assumed to be 0/1 data")
    upper = ("bound", "-", "--column", "converted", "--side", "upper", "--format", "json")
    (row,) = rows_of(run(*upper, stdin=nothing))
    assert row["bound"] == clopper_pearson([0] * 200, 0.05).value == pytest.approx(0.014867, abs=1e-6)
    assert (row["method"], row["guarantee"]) == ("clopper_pearson", None)
    (row,) = rows_of(run("bound", "-", "--column", "converted", "--support", 0, 1, "--format", "json", stdin=nothing))
    assert (row["guarantee"], row["warning"]) == (0.05, "")


def test_groups_of_a_column_are_told_which_bound_they_have_and_why(run):
    text = "g,y\n" + "a,0\n" * 9 + "b,1\nb,0\n" * 8
    done = run("bound", "-", "--column", "y", "--by", "g", stdin=text)
    assert done.stdout.count("<= 0.05") == 2
    reason = "clopper_pearson because all rewards are 0 or 1, and it is exact if no others are possible."
    assert done.stdout.count(reason) == 1
    assert done.stderr == ""
    # With another value in the column, a group of zeros is one of anything.
    text += "late,2.5\nc,1\nc,7\nc,3\nc,2\nc,9\nc,4\n"
    done = run("bound", "-", "--column", "y", "--by", "g", "--side", "upper", "--format", "json", stdin=text)
    rows = {row["g"]: row for row in rows_of(done)}
    assert {row["method"] for row in rows.values()} == {"bootstrap_t"}
    assert all(row["guarantee"] is None for row in rows.values())
    assert rows["c"]["bound"] == bootstrap_t([1, 7, 3, 2, 9, 4], 0.05).value
    assert rows["a"]["bound"] is None
    assert "rewards that are all 0 cannot show how much they vary" in rows["a"]["reason"]
    assert "the bound is infinite: too many of the rewards are equal" in rows["a"]["warning"]
    assert "warning: late: the bound is infinite, since one reward cannot show how much rewards vary." in done.stderr
    shown = run("bound", "-", "--column", "y", "--by", "g", "--side", "upper", stdin=text).stdout.splitlines()[-3:]
    assert [line.partition(": bootstrap_t because ")[0] for line in shown] == ["a", "b, c", "late"]


@pytest.mark.parametrize(
    ("stated", "method", "guarantee", "order"),
    [
        (("--support", 0, 100), "betting", 0.05, "shuffled with a seed derived from the rewards"),
        (("--support", 0, 100, "--in-order"), "betting", None, "as given"),
        (("--sigma", 50), "hoeffding", 0.05, None),
        (("--symmetric",), "sign_flip", None, None),
        (("--method", "auto:support=(0,100)"), "betting", 0.05, "shuffled with a seed derived from the rewards"),
        ((), "bootstrap_t", None, None),
    ],
)
def test_what_is_stated_decides_and_data_that_contradict_it_are_still_warned_of(
    run, visits, stated, method, guarantee, order
):
    path, _ = visits
    done = run("bound", path, "--column", "visits", "--by", "plan", *stated, "--format", "json")
    for row in rows_of(done):
        assert (row["method"], row["guarantee"], row["order"]) == (method, guarantee, order)
        assert row["reason"]
    assert ("look skewed" in done.stderr) == (method == "sign_flip")
    assert ("rise along the sample" in done.stderr) == ("--in-order" in stated)


def test_a_statement_that_is_refuted_is_told(run):
    done = run("bound", "-", "--column", "y", "--support", 0, 1, stdin="y\n0.5\n7\n0.2\n")
    assert "assumption fails" in done.stdout
    assert "lie outside [0, 1], so the bound cannot be computed" in done.stderr


@each(
    ("arguments", "message"),
    [
        (("--method", "auto:beta=1"), "The method auto does not take these options: "),
        (("--method", "autp"), "'method' parameter of bandstrap bound must be one of 'auto', "),
        (("--method", "student_t", "--symmetric"), "The bound student_t does not take these options: "),
        (("--simultaneous", "sidak"), "'simultaneous' parameter of bandstrap bound must be one of 'bonferroni', 'max'"),
        (("--simultaneous", "max", "--method", "student_t"), "must be 'auto' or 'bootstrap' for simultaneous='max'"),
        (("--simultaneous", "max", "--support", "0", "9"), "does not take these options with 'max': "),
    ],
)
def test_statements_that_nobody_takes_are_refused(run, arguments, message):
    done = run("bound", "-", "--column", "y", *arguments, stdin="y\n1\n2\n4\n")
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


# --- all groups together ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", "student_t", "betting"])
def test_alpha_is_shared_by_all_groups_and_what_is_proved_of_all_is_told(run, visits, method):
    path, groups = visits
    told = {"support": (0, 100)} if method != "student_t" else {}
    more = ("--support", 0, 100) if told else ()
    arguments = ("bound", path, "--column", "visits", "--by", "plan", "--method", method, *more)
    arguments += ("--simultaneous", "bonferroni", "--side", "two-sided")
    rows = rows_of(run(*arguments, "--format", "json"))
    found = bound_groups(groups, method=method, side="two-sided", simultaneous="bonferroni", check=False, **told)
    for row in rows:
        assert (row["lower"], row["upper"]) == found.bounds[row["plan"]].value
        assert row["together"] == (None if method == "student_t" else 0.05)  # these counts are not normal
    shown = run(*arguments).stdout
    assert "alpha = 0.05 for all together (bonferroni)" in shown
    assert ("Proved: the probability that any of the bounds misses is at most 0.05" in shown) == (method != "student_t")


def test_the_largest_sum_of_all_groups_is_drawn_with_the_seed(run, visits):
    path, groups = visits
    arguments = ("bound", path, "--column", "visits", "--by", "plan", "--simultaneous", "max", "--seed", 4)
    arguments += ("--side", "upper")
    for method in ("auto:n_resamples=199", "bootstrap:n_resamples=199"):
        rows = rows_of(run(*arguments, "--method", method, "--format", "json"))
        found = bound_groups(groups, simultaneous="max", side="upper", n_resamples=199, seed=4)
        assert {row["plan"]: row["bound"] for row in rows} == {
            name: bound.value for name, bound in found.bounds.items()
        }
        assert {(row["guarantee"], row["together"], row["method"]) for row in rows} == {(None, None, "bootstrap")}
    few = run(*arguments, "--method", "bootstrap:n_resamples=5")
    assert "warning: free, paid: the bound is infinite: an error probability of 0.05" in few.stderr


def test_too_few_rewards_for_the_level_are_told_with_how_many_it_takes(run):
    arguments = ("--method", "sign_flip", "--side", "upper", "--format", "json")
    done = run("bound", "-", "--column", "y", *arguments, stdin="y\n1\n2\n4\n")
    (row,) = rows_of(done)
    why = "the bound is infinite: an error probability of 0.05 needs at least 5 rewards, there are 3"
    assert (row["bound"], row["warning"], row["guarantee"]) == (None, why, 0.05)
    assert done.stderr == f"warning: {why}.\n"


@pytest.mark.parametrize("rewards", [(1.5, 3.5), (1.5, 3.5, 4.5)])
def test_few_rewards_that_differ_are_not_called_equal(run, rewards):
    text = "y\n" + "".join(f"{y}\n" for y in rewards)
    done = run("bound", "-", "--column", "y", "--alpha", "0.01", "--method", "bootstrap_t", stdin=text)
    n = len(rewards)
    assert f"the bound is infinite: {n} rewards are too few, or too many of them are equal, so" in done.stderr

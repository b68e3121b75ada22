"""The page on other libraries says what the stored run of ``python -m benchmarks peers`` measured."""

import importlib
import math
import re

import pytest

from benchmarks.document import read_json
from benchmarks.peers import ENVIRONMENTS, POLICIES, RUNS, SAMPLES, regret
from pages import DOCS
from sampling import each

PAGE = (DOCS / "comparison.md").read_text(encoding="utf-8")
TEXT = " ".join(PAGE.split())
SPEED, *REST = read_json(DOCS / "peers.json")
REGRETS = {table.question.partition(": ")[2]: table for table in REST if table.question.startswith("Regret")}
COVERAGES = {kind: t for t in REST for kind in ("bernoulli", "gaussian", "exponential") if f" {kind} " in t.question}


def rows(table):
    """The rows that were measured, by library and name without the version."""
    return {re.sub(r" [\d.]+ ", " ", row.name): row for row in table.rows if not math.isnan(row.measured)}


def test_the_stored_run_answers_every_question():
    assert REGRETS.keys() == ENVIRONMENTS.keys()
    assert COVERAGES.keys() == {"bernoulli", "gaussian", "exponential"}
    assert all(f"{SAMPLES} samples" in table.question for table in COVERAGES.values())
    assert f"the mean of {RUNS} games" in TEXT
    assert f"about 1 %: {SAMPLES} samples" in TEXT


def test_versions_on_the_page_are_those_that_were_measured():
    measured = {row.name.split()[0].lower(): row.name.split()[1] for table in (SPEED, *REST) for row in table.rows}
    links = dict(re.findall(r"^\| \[([^\]]+)\]\([^)]*\) ([\d.]+)", PAGE, re.M))
    pip = {"Open Bandit Pipeline": "obp", "Vowpal Wabbit": "vowpalwabbit"}
    listed = {pip.get(name, name).lower(): number for name, number in links.items()}
    assert measured.keys() - {"bandstrap", "confseq"} == listed.keys() & measured.keys() - {"confseq"}
    for name in measured.keys() & listed.keys() - {"confseq"}:  # which has no version where it is not installed
        assert measured[name] == listed[name], name


@each("environment", ENVIRONMENTS)
def test_our_regret_is_about_what_is_played_now(environment):
    stored = rows(REGRETS[environment])
    peer = next(peer for peer in POLICIES if (peer.package, peer.name) == ("bandstrap", "EdgeworthUCB"))
    again = regret(peer, *ENVIRONMENTS[environment])
    row = stored["bandstrap EdgeworthUCB"]
    # The same rewards. The page tells apart what differs by two standard errors: a policy that plays otherwise by more than
    # these is measured anew.
    assert abs(row.measured - again.measured) < 2 * row.details["standard error"]


def test_where_others_are_better_is_what_was_measured():
    speeds = {name: row.measured for name, row in rows(SPEED).items()}
    assert "River's UCB and Thompson sampling decide a little faster than ours" in TEXT
    for theirs, ours in (("UCB(delta=1)", "UCB1"), ("ThompsonSampling", "BernoulliTS")):
        assert 0.8 < speeds[f"river {theirs}"] / speeds[f"bandstrap {ours}"] < 1

    def apart(table, name, other):
        """Standard errors between two rows."""
        first, second = rows(table)[name], rows(table)[other]
        return (second.measured - first.measured) / math.hypot(
            *(row.details["standard error"] for row in (first, second))
        )

    first, second, third, gaussian, exponential = REGRETS.values()
    sampled = ("bandstrap BernoulliTS", "river ThompsonSampling", "obp BernoulliTS")
    assert "On the first and third kind of clicks, 20 games cannot distinguish any library's Thompson sampling" in TEXT
    for name in sampled:
        assert abs(apart(first, "bandstrap EdgeworthUCB", name)) < 2
        assert abs(apart(third, "bandstrap EdgeworthUCB", name)) < 2
        assert apart(second, "bandstrap EdgeworthUCB", name) > 2

    assert "coba's UCB1-Tuned is the best here on exponential rewards. It fails on Gaussian ones" in TEXT
    coba = "coba BanditUCBLearner"
    assert min(rows(exponential).values(), key=lambda row: row.measured) is rows(exponential)[coba]
    assert max(rows(gaussian).values(), key=lambda row: row.measured) is rows(gaussian)[coba]

    clicks, skewed = rows(COVERAGES["bernoulli"]), rows(COVERAGES["exponential"])
    wilson, mid_p = clicks["coba BinomialCI(wilson)"], clicks["bandstrap mid_p"]
    assert "coba's Wilson interval covers more often than our `mid_p` at the same width" in TEXT
    assert wilson.measured > mid_p.measured
    assert wilson.details["median width"] == pytest.approx(mid_p.details["median width"], rel=0.01)
    ours, student = skewed["bandstrap bootstrap_t"], skewed["bandstrap student_t"]
    assert "our `bootstrap_t` is wider than Student's t and covers no more often" in TEXT
    assert ours.details["median width"] > student.details["median width"]
    assert ours.measured <= student.measured
    assert "All intervals cover less than 95 % there" in TEXT
    assert all(row.measured < 95 for row in skewed.values())


def test_what_is_skipped_is_said():
    skipped = {row.name.split()[0] for table in (SPEED, *REST) for row in table.rows if math.isnan(row.measured)}
    assert skipped == {"SMPyBandits", "confseq"}
    assert "it does not import with SciPy 1.17" in TEXT
    assert "confseq was skipped because" in TEXT


def test_names_of_ours_on_the_page_are_there():
    for name in set(re.findall(r"`(\w+UCB|mid_p|bootstrap_t)`", PAGE.partition("Where others are better")[2])):
        assert hasattr(importlib.import_module("bandstrap"), name) or hasattr(
            importlib.import_module("bandstrap.bounds"), name
        )

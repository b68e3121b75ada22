"""The committed study: what is proved holds in it, a wrong would show, and it can be had again bit for bit.

"Holds" is a one-sided binomial test per row, which share an error rate of 0.001: right bounds fail this test with at most
that probability over the choice of the seed, which is fixed.
"""

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from bandstrap.basics.calls import parse_call
from bandstrap.bounds import BOUNDS
from sampling import each, telling
from study.findings import CLAIMS, ERROR_RATE, Study, check_claims, detectable
from study.page import ADVICE, LEVEL, rows_for
from study.plan import CALLS, EFRON, EXPONENTIAL, MAMMEN, MOST, SCIPY, Cell, plan
from study.run import measure_cell

FILE = Path(__file__).parents[2] / "docs" / "study" / "study.parquet"


@pytest.fixture(scope="module")
def study():
    return Study.read(FILE)


def test_every_proved_bound_is_at_or_below_its_level_in_every_cell(study):
    assert study.broken() == []
    assert {row.samples for row in study.proved} == {MOST}
    assert len(study.proved) > 400


@pytest.mark.parametrize(("alpha", "factor"), [(0.05, 1.2), (0.005, 1.5)])
def test_a_bound_that_misses_too_often_in_one_cell_would_be_found_out(study, alpha, factor):
    (row,) = study.where("sign_flip", law="normal", n=30, alpha=alpha)
    wrong = dataclasses.replace(row, misses=round(factor * alpha * MOST))
    assert Study([wrong if each == row else each for each in study.rows], study.about).broken() == [wrong]
    # With a probability above 0.99: as computed, and of misses that are drawn.
    error_rate = ERROR_RATE / len(study.proved)
    assert detectable(MOST, alpha, factor, error_rate) > 0.99
    drawn = np.random.default_rng(0).binomial(MOST, factor * alpha, size=200)
    found = [dataclasses.replace(row, misses=int(misses)).is_above(alpha, error_rate) for misses in drawn]
    assert np.mean(found) > 0.98


def test_the_power_is_that_of_the_binomial_law():
    critical = stats.binom.isf(1e-6, 1000, 0.05)  # the largest count that is no evidence
    assert detectable(1000, 0.05, 2, 1e-6) == pytest.approx(stats.binom.sf(critical, 1000, 0.1), rel=1e-9)


def test_the_file_has_the_cells_of_the_plan(study):
    planned = plan(study.about["seed"])
    assert study.cells == tuple(dict.fromkeys((cell.law, cell.n, cell.alpha, cell.side) for cell in planned))
    assert {row.bound for row in study.rows} == {*CALLS, *SCIPY}
    assert FILE.stat().st_size < 300_000


@telling(
    ("cell", "only"),
    [
        (Cell("fair coin", 4, 0.001, "upper"), (*CALLS[:3], "mid_p", *CALLS[12:15], "bca")),
        (Cell("gamma(2)", 10, 0.05, "lower"), ("student_t", "bca", "bootstrap_t", "sub_weibull")),
        (Cell("revenue", 10, 0.05, "upper", of_scipy=True), tuple(SCIPY)),
        (Cell("ratings", 10, 0.05, "upper"), ("sign_flip", "symmetric_betting", "betting", "empirical_kl")),
    ],
    lambda cell, only: cell.law == "gamma(2)",
    ids=lambda value: value.law if isinstance(value, Cell) else "",
)
def test_rows_are_had_again_bit_for_bit(study, cell, only):
    again = {row["bound"]: row for row in measure_cell(cell, only)}
    assert set(again) == set(only)
    for bound, row in again.items():
        committed = study.get(cell.law, cell.n, cell.alpha, cell.side, bound)
        assert dataclasses.asdict(committed) == row, bound


@pytest.mark.parametrize("number", range(len(CLAIMS)), ids=lambda number: CLAIMS[number].bound)
def test_the_study_agrees_with_what_a_bound_says_of_itself(study, number):
    claim, count, against = check_claims(study)[number]
    assert count > 0, claim.says
    assert against == [], claim.says


@each("text", CALLS)
def test_what_a_bound_says_it_holds_for_is_among_the_sentences(text):
    call = parse_call(text)
    needs = BOUNDS[call.name].needs
    told = {"support": (2, 4)} if "support" in needs or call.name == "hoeffding" else {}
    told |= {"sigma": 3, "beta": 1.5} if call.name == "sub_weibull" else {}
    told |= {"sigma": 3} if call.name == "bootstrap" else {}
    said = BOUNDS[call.name].function(
        [0, 1] if "binary" in BOUNDS[call.name].assumes else [2, 3], 0.05, **told, **call.options
    )
    words = {"[2, 4]": "[low, high]", "norm 3 and exponent 1.5": "norm sigma and exponent beta"}
    sentence = said.holds_for
    for number, word in words.items():
        sentence = sentence.replace(number, word)
    assert any(claim.bound == text and sentence in claim.says for claim in CLAIMS), sentence


def test_a_false_sentence_would_fail(study):
    # The practical bootstrap misses one fair coin in sixteen, whatever alpha; if it did not, its sentence would be wrong.
    (row,) = study.where("bootstrap:correction=practical", law="fair coin", n=4)
    assert row.rate == pytest.approx(1 / 16, abs=0.02)
    (claim,) = (claim for claim in CLAIMS if claim.bound == row.bound)
    assert claim.agrees(row)
    assert not claim.agrees(dataclasses.replace(row, misses=0))


def test_scipy_s_bca_misses_as_often_as_ours(study):
    # The same bound from other resamples, on the same samples: miss rates within 3 standard errors of a difference of
    # independent ones, which these are not. Equal rewards apart, where ours is infinite and SciPy's not a number.
    for theirs, ours in study.pairs("scipy.stats.bootstrap:method=BCa", "bca"):
        error = math.sqrt(2 * max(ours.rate * (1 - ours.rate), 0.01) / ours.samples)
        assert abs(theirs.rate - ours.rate) < 3 * error, theirs.cell


# --- advice -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("advice", ADVICE, ids=lambda advice: advice.have)
def test_advice_holds_where_it_says_so(study, advice):
    rows = rows_for(study, advice)
    assert len(rows) >= 3
    assert {row.law for row in rows} == set(advice.laws)
    if advice.proved:
        assert all(row.is_proved and row not in study.broken() for row in rows)
        assert all(math.isfinite(row.median_width) for row in rows)
    else:
        assert not any(row.is_proved for row in rows)


def test_betting_is_the_sharpest_proved_bound_of_bounded_rewards_nearly_everywhere(study):
    (advice,) = (advice for advice in ADVICE if advice.use == "betting")
    best = [study.sharpest(row.cell) for row in rows_for(study, advice)]
    # Where rewards happen to be symmetric, sign_flip is sharper still, but that has to be known.
    told_support = [row for row in best if row.bound not in ("sign_flip", "student_t")]
    assert sum(row.bound == "betting" for row in told_support) >= 0.8 * len(told_support)


def test_bootstrap_t_misses_least_of_upper_bounds_where_nothing_is_known(study):
    (advice,) = (advice for advice in ADVICE if advice.use == "bootstrap_t")
    for other in ("student_t", "sign_flip", "bca", EFRON, EXPONENTIAL, MAMMEN):
        for row in rows_for(study, advice):
            rival = study.get(*row.cell, other)
            # Within what 1000 samples can tell: 3 standard errors of a difference at 0.05 are 0.03.
            assert row.rate <= rival.rate + 0.03, (row.cell, other)


def test_the_rule_of_the_command_line_takes_bounds_that_hold(study):
    choosing = pytest.importorskip("bandstrap.bounds.choose")
    rng = np.random.default_rng(0)
    for sample, options, laws in (
        (rng.integers(0, 2, 30), {}, ("fair coin", "rare successes")),
        (rng.random(30), {"support": (0, 1)}, ("uniform", "beta(2, 5)", "ratings", "skewed ratings")),
        (rng.normal(size=30), {"symmetric": True}, ("normal", "uniform", "Laplace", "t(3)", "fair coin", "ratings")),
        (rng.normal(size=30), {"sigma": 1.0}, ("normal",)),
    ):
        method = choosing.choose(sample, LEVEL, **options).method
        for law in laws:
            for row in study.where(method, law=law, n=30, alpha=LEVEL):
                assert row.is_proved
                assert row not in study.broken()
                best = study.sharpest(row.cell)
                assert row.median_width <= 2.5 * best.median_width, (method, law, best.bound)
    # And where nothing is known, one that misses less often than Student's t.
    method = choosing.choose(rng.exponential(size=30), LEVEL).method
    for row in study.where(method, kind="skewed", side="upper", alpha=LEVEL, n=30):
        assert row.rate < study.get(*row.cell, "student_t").rate

"""Published points of a policy together: dependence is counted, and what is said to be seen is."""

import math

import numpy as np
import pytest
from scipy import stats

from bandstrap.experiments import PanelData
from bandstrap.experiments.panels import CurveData
from bandstrap.experiments.spec import Curve, Panel
from bandstrap.paper.claims import ERROR_RATE, REPRODUCED, examine
from bandstrap.paper.claims.end_points import PUBLISHED_RUNS
from bandstrap.paper.claims.interpolation import BOTH_WAYS, INTERPOLATED, PANELS, lowered, together
from bandstrap.paper.claims.statistics import POWER, sidak
from paper.false_worlds.interpolation import everywhere
from paper.synthetic import BUCB, agreeing
from paper.worlds import changed, times

READING = 0.03
PANEL = Panel(
    name="p", environment="gaussian", curves=(Curve(label="c", policy="ucb1", published=1.0),), reading_error=READING
)


def evidence_of(runs, published):
    """A panel for each row of runs, with a published point."""
    found = {}
    for i, (values, point) in enumerate(zip(runs, published, strict=True)):
        curve = PANEL.curves[0].model_copy(update={"published": float(point)})
        found[str(i)] = PanelData(PANEL, (CurveData(curve, np.array([10.0]), values[:, None], (), 0.0),))
    return found


def ratio(runs, published):
    evidence = evidence_of(runs, published)
    return together(evidence, list(evidence), "c", "c")


def test_points_that_share_their_luck_are_worth_less_than_others():
    rng = np.random.default_rng(0)
    alike, apart = np.tile(rng.normal(100, 30, PUBLISHED_RUNS), (10, 1)), rng.normal(100, 30, (10, PUBLISHED_RUNS))
    one, other = ratio(alike, np.full(10, 100.0)), ratio(apart, np.full(10, 100.0))
    chance = 0.3 * math.sqrt(2 / PUBLISHED_RUNS)
    assert one.uncertainty == pytest.approx(math.hypot(chance, READING / math.sqrt(10)), rel=0.1)
    assert other.uncertainty == pytest.approx(math.hypot(chance, READING) / math.sqrt(10), rel=0.1)
    assert one.ours == pytest.approx(alike.mean() / 100)
    assert one.error == pytest.approx(alike[0].std(ddof=1) / 100 / math.sqrt(PUBLISHED_RUNS))


def test_what_is_known_better_counts_for_more():
    rng = np.random.default_rng(1)
    sure, unsure = rng.normal(100, 1, PUBLISHED_RUNS), rng.normal(200, 150, PUBLISHED_RUNS)
    assert ratio([sure, unsure], [100.0, 100.0]).ours == pytest.approx(1.0, abs=0.1)


def test_the_same_settings_seldom_disagree_and_the_power_is_as_said():
    # 500 pairs of an experiment and its publication, whose ten points share a third of their luck. One in a hundred may
    # disagree: a count above 13 has a probability of 5e-4 at that rate. Of those that are off by what is said to be seen
    # nine in ten do: a share of 0.83 would be five standard errors away.
    rng = np.random.default_rng(2)
    limit, means = sidak(ERROR_RATE, 1), np.geomspace(20, 900, 10)[:, None]
    disagree = seen = 0
    for _ in range(500):
        luck, own = rng.standard_normal((2, 1, PUBLISHED_RUNS)), rng.standard_normal((2, 10, PUBLISHED_RUNS))
        ours, theirs = means * (1 + 0.2 * luck + 0.3 * own)
        published = theirs.mean(axis=1) * (1 + READING * rng.standard_normal(10))
        found = ratio(ours, published)
        disagree += found.distance > limit
        off = 1 + (limit + stats.norm.ppf(POWER)) * found.uncertainty
        seen += ratio(off * ours, published).distance > limit
    assert disagree <= 13
    assert seen > (POWER - 0.07) * 500


def test_what_all_points_see_no_single_one_does():
    evidence = agreeing()
    for change in everywhere("UCB", 1.07):
        evidence = changed(evidence, *change)
    found = {claim.name: finding for claim, finding in examine(evidence)}
    assert {found[f"end-points-{figure}"].verdict for figure in (2, 3, 7)} == {REPRODUCED}
    assert found["points-together"].verdict != REPRODUCED
    assert "UCB, 10 points: +7.1%" in found["points-together"].statistic


def test_every_point_of_the_policies_is_looked_at_and_both_ways_have_the_same():
    evidence = agreeing()
    for label, panels in PANELS.items():
        figures = {
            name
            for name, panel in evidence.items()
            if name[0] in "2347" and any(curve.label == label and curve.published for curve in panel.curves)
        }
        assert set(panels) == figures
    for name, both in zip(PANELS[BUCB], BOTH_WAYS, strict=True):
        assert evidence[both][BUCB].published == evidence[name][BUCB].published
        plain, other = ({c.label: c.curve.policy for c in evidence[each].curves} for each in (name, both))
        assert other[BUCB] == plain[BUCB]
        assert other[INTERPOLATED] == f"{plain[BUCB]}{',' if ':' in plain[BUCB] else ':'}interpolate=true"


def test_what_interpolation_lowers_is_paired():
    evidence = agreeing()
    assert lowered(evidence).value == pytest.approx(0.02, abs=0.002)
    assert lowered(evidence).error < 0.002  # though a replication's luck is a tenth of the mean
    for name in BOTH_WAYS:
        evidence = changed(evidence, name, INTERPOLATED, times(0.5))
    assert lowered(evidence).value == pytest.approx(0.51, abs=0.002)

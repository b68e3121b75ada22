"""Published end points agree within the tolerance, and a figure that hangs on an unstated setting says so."""

import math

import pytest

from bandstrap.experiments import PanelData
from bandstrap.experiments.spec import Curve, Panel
from bandstrap.paper.claims import DEPENDS, NOT_REPRODUCED, REPRODUCED, TOLERANCE, Number
from bandstrap.paper.claims.end_points import end_points
from paper.synthetic import published_curve


@pytest.mark.parametrize(
    ("mean", "spread", "verdict"),
    [
        (100, 0, REPRODUCED),
        (109.9, 0, REPRODUCED),
        (90.1, 0, REPRODUCED),
        (110.1, 0, NOT_REPRODUCED),
        (89.9, 0, NOT_REPRODUCED),
        (112.9, 1, REPRODUCED),  # three standard errors of 1 are allowed for
        (113.1, 1, NOT_REPRODUCED),
    ],
)
def test_end_points_agree_within_the_tolerance(mean, spread, verdict):
    step = spread * math.sqrt(2) / math.sqrt(2)  # two values at a distance of 2 have a standard error of 1
    panel = Panel(name="p", environment="gaussian", curves=(Curve(label="c", policy="ucb1"),))
    evidence = {"p": PanelData(panel, (published_curve([mean - step, mean + step], 100),))}
    found = end_points("p")(evidence)
    assert (found.verdict, found.setting) == (verdict, "")
    assert found.numbers == (Number("c (p)", pytest.approx(mean), pytest.approx(spread), 100),)
    assert f"{int(verdict == REPRODUCED)} of 1 within {TOLERANCE:.0%}" in found.statistic
    assert end_points("p", "why", ("p: c",))(evidence).verdict == DEPENDS

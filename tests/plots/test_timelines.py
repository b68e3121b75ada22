"""Curves over time: what is drawn, and where the axis ends."""

import math

import numpy as np
import pytest

from bandstrap.plots.style import draw_figure
from bandstrap.plots.timelines import Timeline, plot_timelines

TIMES = 1.79e9 + 3600.0 * np.arange(8)


def test_curves_have_bands_names_and_a_level():
    values = np.array([math.nan, 50.0, 2.0, 3.0, 2.5, 2.4, 2.6, 2.5])
    line = Timeline("red", TIMES, values, values - 1, values + 1)
    other = Timeline("_b$x$", TIMES, np.full(8, 2.2))
    figure = plot_timelines([line, other], "the title", "mean reward", level=0.0)
    axis = figure.axes[0]
    assert axis.lines[0].get_ydata() == pytest.approx(values, nan_ok=True)
    assert axis.lines[1].get_ydata() == pytest.approx(np.full(8, 2.2))
    assert axis.lines[2].get_ydata() == [0.0, 0.0]
    assert len(axis.collections) == 1  # one band
    assert axis.get_xlabel() == "time (UTC)"
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["red", r" _b\$x\$"]
    low, high = axis.get_ylim()
    assert -0.5 < low < 0.0  # the level
    assert 4.0 < high < 5.0  # but not what the first values were
    assert len({curve.get_linestyle() for curve in axis.lines[:2]}) == 2  # told apart without colours


def test_shares_run_from_0_to_1_and_one_curve_needs_no_legend():
    figure = plot_timelines([Timeline("red", TIMES, np.linspace(0.2, 0.4, 8))], "t", "share", shares=True)
    assert figure.axes[0].get_ylim() == (-0.02, 1.02)
    assert not figure.legends


@pytest.mark.parametrize("values", [np.full(8, math.nan), np.full(8, 1e12), np.eye(8)[3] * 5e-324, np.zeros(8)])
def test_odd_values_are_drawn(values):
    figure = plot_timelines([Timeline("😀 漢字 <b>", TIMES, values)] * 2, "t", "y")
    assert "&lt;b&gt;" in draw_figure(figure, "svg", as_text=True).decode()

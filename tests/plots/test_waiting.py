"""How long it took."""

import numpy as np
import pytest

from bandstrap.plots.style import draw_figure
from bandstrap.plots.waiting import plot_waiting


def test_the_share_that_had_come_and_the_marks():
    seconds = np.geomspace(2.0, 90_000.0, 100)
    figure = plot_waiting(seconds, np.arange(1, 101) / 100, [("median", 420.0), ("90 %", 30_000.0)], "the title")
    axis = figure.axes[0]
    curve, median, ninety = axis.lines
    assert curve.get_xdata().tolist() == seconds.tolist()
    assert (median.get_xdata()[0], ninety.get_xdata()[0]) == (420.0, 30_000.0)
    assert {text.get_text() for text in axis.get_xticklabels()} <= {"10 s", "1 min", "10 min", "1 h", "6 h", "1 d"}
    assert 3 <= len(axis.get_xticks()) <= 5
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["median", "90 %"]


@pytest.mark.parametrize("seconds", [[0.0], [-3.0, 0.0], [5.0, 5.0], [1e-9, 1e12]])
def test_odd_times_are_drawn(seconds):
    shares = np.arange(1, len(seconds) + 1) / len(seconds)
    figure = plot_waiting(np.array(seconds), shares, [("median", seconds[0])], "t")
    low, high = figure.axes[0].get_xlim()
    assert 0 < low < high
    assert len(figure.axes[0].get_xticks()) >= 1
    assert draw_figure(figure, "svg", as_text=True).startswith(b"<?xml")

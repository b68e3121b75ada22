"""Counts as bars."""

import pytest

from bandstrap.plots.bars import Bar, plot_bars
from bandstrap.plots.style import draw_figure


def test_bars_are_as_long_as_their_counts_and_told_in_numbers():
    figure = plot_bars([Bar("red", 1200, 900), Bar("_b$", 0, 0)], "the title", "decisions", ("learned", "not"))
    axis = figure.axes[0]
    ends = [(bar.get_x(), bar.get_x() + bar.get_width(), bar.get_y() + bar.get_height() / 2) for bar in axis.patches]
    assert ends == [(0, 900, 0.0), (900, 1200, 0.0), (0, 0, 1.0), (0, 0, 1.0)]
    assert [text.get_text() for text in axis.texts] == ["1,200", "0"]
    assert [text.get_text() for text in axis.get_yticklabels()] == ["red", r" _b\$"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["learned", "not"]
    assert axis.get_xlim()[1] > 1200


@pytest.mark.parametrize(
    "bars", [[], [Bar("a", 0, 0)], [Bar("x" * 300, 10**12, 1)], [Bar(str(i), i, 0) for i in range(40)]]
)
def test_any_number_of_bars_is_drawn(bars):
    assert draw_figure(plot_bars(bars, "t", "n", ("a", "b")), "svg", as_text=True).startswith(b"<?xml")

"""Groups with their bounds: what is drawn where."""

import math

import pytest
from matplotlib.colors import to_hex

from bandstrap.plots.groups import GroupInterval, plot_groups
from bandstrap.plots.style import COLOURS, save_figure

GROUPS = [
    GroupInterval("a", 10, 1.0, 0.5, 2.0),
    GroupInterval("b", 4, 1.5, -math.inf, 3.0),
    GroupInterval("c", 1, 2.0, -math.inf, math.inf),
    GroupInterval("d", 9, 0.7, 0.2, 0.6, is_contradicted=True),
    GroupInterval("e", 3, 0.4, math.nan, math.nan, is_contradicted=True),
]


def drawn(figure, row):
    """Lines of one group, as marker or dash, places and colour."""
    return [
        (line.get_marker(), [float(x) for x in line.get_xdata()], to_hex(line.get_color()).upper())
        for line in figure.axes[0].lines
        if line.get_ydata()[0] == row
    ]


def test_bars_end_where_the_bounds_do_and_arrows_point_where_there_is_none():
    figure = plot_groups(GROUPS, "the title", "mean of y")
    axis = figure.axes[0]
    left, right = axis.get_xlim()
    blue, red = COLOURS[0], COLOURS[1]
    assert drawn(figure, 0) == [
        ("None", [0.5, 2.0], blue),
        ("|", [0.5], blue),
        ("|", [2.0], blue),
        ("o", [1.0], blue),
    ]
    bar, start, stop, dot = drawn(figure, 1)
    assert (start[0], stop[0], dot[1]) == ("<", "|", [1.5])
    assert left < bar[1][0] < 0.2
    assert bar[1][1] == 3.0
    assert [marker for marker, _, _ in drawn(figure, 2)] == ["None", "<", ">", "o"]
    assert all(left < x < right for i in range(5) for _, places, _ in drawn(figure, i) for x in places)
    assert {colour for _, _, colour in drawn(figure, 3)} == {red}
    assert drawn(figure, 4) == [("x", [0.4], red)]
    assert [text.get_text() for text in axis.get_yticklabels()] == [f"{g.name}  (n = {g.n})" for g in GROUPS]
    assert (axis.get_xlabel(), axis.get_title(loc="left")) == ("mean of y", "the title")
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["assumption fails", "mean, no bound"]


@pytest.mark.parametrize(
    "groups",
    [
        [GroupInterval("a", 2, 0.0, -math.inf, 0.0)],
        [GroupInterval("$x_1$\x1b", 2, 1e300, -1e300, math.inf), GroupInterval("_b", 2, -1e300, -1e300, 1e300)],
        [GroupInterval("a", 2, 5e-324, 0.0, 5e-324)],
        [GroupInterval("a", 2, math.nan, math.nan, math.nan)],
    ],
    ids=["point", "huge", "tiny", "nothing"],
)
def test_odd_numbers_and_names_are_drawn(groups, tmp_path):
    figure = plot_groups(groups, "t", "y")
    save_figure(figure, tmp_path / "a.svg")
    assert not figure.legends or math.isnan(groups[0].lower)

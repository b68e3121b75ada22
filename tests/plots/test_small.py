"""Small pictures: a panel alone keeps the looks of its figure, a glance has curves and published values and no words."""

import re
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from bandstrap.experiments import PanelData
from bandstrap.experiments.panels import CurveData
from bandstrap.experiments.spec import Curve, Panel
from bandstrap.plots.panels import plot_panels
from bandstrap.plots.small import GLANCE, coarse, plot_glance, plot_panel
from bandstrap.plots.style import WIDTH, save_figure


def panel(name, *labels, size=200, title="the title", published=7.0):
    places = np.linspace(1, 2000, size)
    curves = tuple(
        CurveData(
            Curve(label=label, policy="ucb1", published=published),
            places,
            (i + 1) * np.sqrt(places) + np.arange(5)[:, None],
            (),
            0.0,
        )
        for i, label in enumerate(labels)
    )
    spec = Panel(name=name, title=title, environment="gaussian", curves=tuple(curve.curve for curve in curves))
    return PanelData(spec, curves)


def test_a_panel_alone_looks_as_it_does_in_its_figure():
    panels = (panel("a", "one", "two"), panel("b", "three", "two"))
    whole, alone = plot_panels("all", panels), plot_panel(panels[1], panels)
    looks = [(line.get_color(), line.get_linestyle(), line.get_xdata().size) for line in whole.axes[1].lines]
    assert [(line.get_color(), line.get_linestyle(), line.get_xdata().size) for line in alone.axes[0].lines] == looks
    (legend,) = alone.legends
    assert [text.get_text() for text in legend.get_texts()] == ["two", "three", "published value"]
    assert alone.get_size_inches()[0] == WIDTH


@pytest.mark.parametrize("label", ["short", "a name that leaves no room for another beside it, by far"])
def test_nothing_of_a_panel_alone_lies_outside_or_on_top_of_anything(label):
    one = panel("a", *(f"{label} {i}" for i in range(9)), title="a title of some length, which takes two lines " * 2)
    figure = plot_panel(one, (one,))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    (axis,), (legend,) = figure.axes, figure.legends
    boxes = [legend.get_window_extent(renderer), axis.xaxis.label.get_window_extent(renderer)]
    boxes += [axis.get_window_extent(renderer), axis.title.get_window_extent(renderer)]
    for box in boxes:
        assert box.x0 >= -1
        assert box.x1 <= figure.bbox.x1 + 1
    for low, high in pairwise(boxes):
        assert low.y1 <= high.y0 + 1
    assert boxes[2].height > 0.35 * figure.bbox.height  # room is left for the curves


def test_a_glance_has_curves_and_published_values_and_no_words(tmp_path):
    panels = tuple(panel(name, "one", "two", size=size) for name, size in (("a", 200), ("b", 3), ("c", 40)))
    figure = plot_glance(panels)
    assert len(figure.axes) == 3
    for axis, one in zip(figure.axes, panels, strict=True):
        circles = [line for line in axis.lines if line.get_markerfacecolor() == "white"]
        assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in circles] == [(2000, 7)] * 2
        lines = [line for line in axis.lines if line not in circles]
        assert [line.get_xdata().size for line in lines] == [min(GLANCE, one.curves[0].places.size)] * 2
    save_figure(figure, tmp_path / "a.svg")
    assert not [text for text in figure.findobj(Text) if text.get_visible() and text.get_text() and text.axes is None]
    drawn = (tmp_path / "a.svg").read_text()
    assert not re.search(r"<use xlink:href=\"#DejaVu|<text", drawn)
    assert len(drawn) < 20_000


@pytest.mark.parametrize("size", [1, 39, 40, 41, 200])
def test_a_coarse_curve_keeps_its_ends(size):
    (curve,) = panel("a", "one", size=size).curves
    found = coarse(curve)
    assert found.places.size == found.values.shape[1] == min(size, GLANCE)
    assert (found.places[0], found.places[-1]) == (curve.places[0], curve.places[-1])
    assert np.all(np.isin(found.places, curve.places))
    assert found.published == curve.published

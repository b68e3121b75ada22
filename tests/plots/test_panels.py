"""Panels: what is labelled, marked and explained; the same numbers give the same bytes."""

import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.text import Text

from bandstrap.bounds import CoverageRow
from bandstrap.engine.simulator.result import Result
from bandstrap.experiments import PanelData
from bandstrap.experiments.panels import CurveData
from bandstrap.experiments.spec import Curve, Panel, Sweep
from bandstrap.plots.coverage import plot_coverage
from bandstrap.plots.league import plot_heatmap
from bandstrap.plots.panels import plot_panels, shown_panels
from bandstrap.plots.regret import plot_regret
from bandstrap.plots.style import BLUE, VERMILION, save_figure
from sampling import each, exhaustive, telling


def data(panel, places, n=5, published=None):
    rng = np.random.default_rng(0)
    curves = []
    for i, curve in enumerate(panel.curves):
        values = (i + 1) * np.arange(1, len(places) + 1) + rng.random((n, len(places)))
        curves.append(CurveData(curve, np.array(places, dtype=float), values, (), 0.0))
    return PanelData(panel, tuple(curves))


def regret(*labels, name="a", title="the title", published=None, band=2, n=5, policies=(), **keys):
    labels = labels or ("one", "two")
    policies = policies or ("ucb1",) * len(labels)
    curves = tuple(
        Curve(label=label, policy=policy, published=published) for label, policy in zip(labels, policies, strict=True)
    )
    panel = Panel(name=name, title=title, environment="gaussian", curves=curves, band=band, **keys)
    return data(panel, [1, 50, 100], n=n)


def swept(*labels, log=False, label="what is varied", name="s", **options):
    curves = tuple(Curve(label=text, policy="ucb1:sigma={s}") for text in labels or ("one", "two"))
    sweep = Sweep(name="s", values=(1, 10, 100), label=label, log=log)
    panel = Panel(name=name, plot="sweep", environment="gaussian", curves=curves, sweep=sweep)
    return data(panel, sweep.values, **options)


def bounds(*labels, sizes=(1, 2, 5), published=None, **options):
    curves = tuple(Curve(label=text, bound="sign_flip", published=published) for text in labels or ("one", "two"))
    panel = Panel(name="b", plot="bounds", distribution="normal", sample_sizes=sizes, curves=curves, **options)
    return data(panel, sizes, n=1)


def legend(figure):
    (one,) = figure.legends
    return [text.get_text() for text in one.get_texts()]


def heading(figure):
    """What stands above all panels, on however many lines."""
    return figure.get_suptitle().replace("\n", " ")


def played(*labels, environment="e"):
    """A result of two replications and two rounds, in which every policy has the same regret."""
    return Result(
        policies=labels,
        environment=environment,
        horizon=2,
        seed=0,
        checkpoints=np.array([1, 2]),
        replications=np.arange(2),
        regret=np.ones((len(labels), 2, 2)),
        pulls=np.ones((len(labels), 2, 1), dtype=np.int64),
    )


def open_circles(axis):
    return [
        (line.get_xdata()[0], line.get_ydata()[0], to_hex(line.get_color()).upper())
        for line in axis.lines
        if line.get_markerfacecolor() == "white"
    ]


def lines(axis):
    return [line for line in axis.lines if line.get_markerfacecolor() != "white"]


def drawn(figure, tmp_path, name="a.svg"):
    save_figure(figure, tmp_path / name)
    return (tmp_path / name).read_bytes()


def test_axes_titles_and_legend_say_what_is_shown():
    figure = plot_panels("A title", [regret()])
    (axis,) = figure.axes
    assert (axis.get_xlabel(), axis.get_ylabel(), axis.get_title()) == ("round", "mean pseudo-regret", "the title")
    assert legend(figure) == ["one", "two"]
    assert heading(figure) == (
        "A title mean pseudo-regret, in units of the reward, over 5 replications, with bands of two standard errors"
    )
    assert axis.get_ylim()[0] == 0
    assert axis.get_xlim() == (0, 100)


@pytest.mark.parametrize(
    ("reach", "words"), [(1, "one standard error"), (2, "two standard errors"), (1.5, "1.5 standard errors")]
)
def test_lines_are_means_and_bands_the_standard_errors_asked_for(reach, words):
    panel = regret("one", band=reach)
    figure = plot_panels("t", [panel])
    assert heading(figure).endswith(f"with bands of {words}")
    (axis,) = figure.axes
    (line,) = axis.lines
    np.testing.assert_array_equal(line.get_ydata(), panel["one"].mean)
    (band,) = axis.collections
    heights = band.get_paths()[0].vertices[:, 1]
    end, width = panel["one"].mean[-1], reach * panel["one"].standard_error[-1]
    assert heights.max() == pytest.approx(end + width)
    assert width > 0


def test_replications_that_differ_are_told():
    panels = [regret(str(n), n=n, name=str(n)) for n in (5, 3, 4)]
    assert "mean pseudo-regret, in units of the reward, over 3 or 5 replications, with bands" in heading(
        plot_panels("t", panels[:2])
    )
    assert "mean pseudo-regret, in units of the reward, over 3 to 5 replications, with bands" in heading(
        plot_panels("t", panels)
    )


def test_bounds_have_no_bands_and_say_what_they_are():
    figure = plot_panels("t", [bounds()])
    (axis,) = figure.axes
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("sample size n", "threshold")
    assert not axis.collections
    assert figure.get_suptitle() == "t\nmean threshold above the sample mean"
    rates = plot_panels("t", [bounds(show="miss rate")])
    assert rates.axes[0].get_ylabel() == "miss rate"
    assert rates.get_suptitle() == "t\nshare of samples whose bound misses the mean"
    looks = plot_panels("t", [bounds(quantity="looks at each reward", log=True)])
    assert looks.axes[0].get_ylabel() == "looks at each reward (log scale)"
    assert looks.get_suptitle() == "t\nlooks at each reward"
    both = heading(plot_panels("t", [bounds(), regret()]))
    assert both == (
        "t mean threshold above the sample mean; "
        "mean pseudo-regret, in units of the reward, over 5 replications, with bands of two standard errors"
    )


def test_published_values_are_open_circles_of_the_curves_colour():
    figure = plot_panels("t", [regret(published=7, policies=("ucb1", "bootstrapped_ucb"))])
    assert open_circles(figure.axes[0]) == [(100, 7, VERMILION.upper()), (100, 7, BLUE.upper())]
    assert legend(figure) == ["one", "two", "published value"]
    figure = plot_panels("t", [bounds("one", published=((1, 4), (5, 6)))])
    assert [circle[:2] for circle in open_circles(figure.axes[0])] == [(1, 4), (5, 6)]
    assert "published value" not in legend(plot_panels("t", [regret()]))


def test_a_sweep_has_its_label_or_its_name():
    assert plot_panels("t", [swept()]).axes[0].get_xlabel() == "what is varied"
    assert plot_panels("t", [swept(label="")]).axes[0].get_xlabel() == "s"


def test_log_axes_have_plain_numbers():
    (axis,) = plot_panels("t", [swept(log=True)]).axes
    assert axis.get_xscale() == "log"
    assert [text.get_text() for text in axis.get_xticklabels()] == ["1", "10", "100"]
    assert plot_panels("t", [swept()]).axes[0].get_xscale() == "linear"
    (axis,) = plot_panels("t", [bounds(log=True)]).axes
    assert (axis.get_yscale(), axis.get_xscale(), axis.get_ylabel()) == ("log", "linear", "threshold (log scale)")
    assert [text.get_text() for text in axis.get_yticklabels()] == ["2", "5"]
    (axis,) = plot_panels("t", [bounds(sizes=(1, 1000, 1_000_000))]).axes
    assert [text.get_text() for text in axis.get_xticklabels()] == ["1", "100", "10,000", "1,000,000"]
    (axis,) = plot_panels("t", [bounds(sizes=(20, 100, 1000))]).axes
    assert axis.get_xscale() == "log"
    assert [text.get_text() for text in axis.get_xticklabels()] == ["20", "50", "100", "200", "500", "1000"]


def test_a_curve_looks_the_same_in_all_panels_and_in_the_legend():
    panels = [swept("a", "b", "c"), swept("a", "x", "c", name="s2")]
    figure = plot_panels("t", panels)
    assert [axis.get_title() for axis in figure.axes] == ["(a)", "(b)"]
    first, second = (
        dict(zip("abc", lines(figure.axes[0]), strict=True)),
        dict(zip("axc", lines(figure.axes[1]), strict=True)),
    )

    def looks(line):
        return line.get_color(), line.get_linestyle(), line.get_marker()

    assert looks(first["a"]) == looks(second["a"])
    assert looks(first["c"]) == looks(second["c"])
    assert len({looks(line) for line in (*first.values(), second["x"])}) == 4
    assert legend(figure) == ["a", "b", "c", "x"]
    handles = dict(zip("abcx", figure.legends[0].legend_handles, strict=True))
    assert looks(handles["c"]) == looks(first["c"])
    assert looks(handles["x"]) == looks(second["x"])


@pytest.mark.parametrize(
    "label", ["exponential, 200 draws", "bootstrapped_ucb:quantile=exact,correction=sharp,alpha=1/T^2"]
)
def test_no_words_are_wider_than_their_picture(label):
    labels = [f"{i}{label}" for i in range(10)]
    for figure in (plot_panels("t", [bounds(*labels)]), plot_panels(label, [regret()]), plot_regret(played(*labels))):
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        for words in (figure.legends[0], *([figure._suptitle] if figure._suptitle else [])):
            box = words.get_window_extent(canvas.get_renderer())
            assert box.x0 >= 0
            assert box.x1 <= figure.bbox.x1


def test_panels_stand_two_in_a_row_and_none_is_empty():
    figure = plot_panels("t", [regret(name=name) for name in "abc"])
    assert [axis.get_visible() for axis in figure.axes] == [True, True, True, False]
    assert len({axis.get_position().y0 for axis in figure.axes}) == 2
    assert len(plot_panels("t", [regret()]).axes) == 1


def test_text_means_itself(tmp_path):
    labels = ("_hidden", "$10 to $20", r"$\frac$", "a < b & c", "100 %")
    figure = plot_panels(r"cost in $, $\x$", [regret(*labels)])
    assert len(legend(figure)) == len(labels)
    text = drawn(figure, tmp_path).decode()
    comments = re.findall(r"<!-- (.*?) -->", text, re.S)
    assert {" _hidden", "$10 to $20", r"$\frac$", "a &lt; b &amp; c", "100 %"} <= set(comments)


@each("before", range(55, 70))
def test_a_long_title_is_not_cut_between_a_dollar_and_what_makes_it_one(before):
    title = plot_panels("l" * before + "$" + "m" * 20, [regret()]).get_suptitle()
    assert not any(line.endswith("\\") for line in title.splitlines())
    assert title.count("$") == title.count(r"\$") == 1


HOSTILE = ("$\\frac$", "a$b$c", "\x1b[31m\x00\u202e", "\uffff\x85", r"\$ \x{", "_a\nb", "%s {0}", "l" * 10**4)


def pictures():
    """Every picture there is, with text of the worst kind wherever text comes from outside."""
    for text in HOSTILE:
        yield plot_panels(text, [regret(text), swept(text, label=text, log=True), bounds(text, quantity=text)])
        yield plot_regret(played(text, environment=text))
        row = CoverageRow(text, 5, 0.05, 9, 1, 0.1, 0.0, 0.2, 1.0, None)
        yield plot_coverage([row], text)
        yield plot_heatmap(text, [text], [text], np.ones((1, 1)))


@exhaustive
def test_no_text_from_outside_is_a_formula_or_spoils_a_picture(tmp_path):
    for i, figure in enumerate(pictures()):
        ElementTree.fromstring(drawn(figure, tmp_path, f"{i}.svg"))  # noqa: S314 - our own
        texts = [text.get_text() for text in figure.findobj(Text)]
        assert all(len(text) < 400 for text in texts)
        assert any(text.strip() for text in texts)


@pytest.mark.parametrize("log", [False, True])
def test_infinite_and_zero_thresholds_are_left_out(tmp_path, log):
    panel = bounds("one", "two", log=log)
    curves = list(panel.curves)
    for values in ([math.inf] * 3, [math.inf, 0.0, 2.0], [0.0] * 3):
        curves[0] = CurveData(curves[0].curve, curves[0].places, np.array([values]), (), 0.0)
        for some in (curves, curves[:1]):
            figure = plot_panels("t", [PanelData(panel.panel, tuple(some))])
            assert b"</svg>" in drawn(figure, tmp_path)


@telling("kind", ["svg", "png", "pdf"], ["svg"])
def test_the_same_numbers_give_the_same_bytes(tmp_path, kind):
    def picture(seed_name, title="t"):
        return drawn(
            plot_panels(title, [regret(published=7), swept(log=True), bounds()]), tmp_path, f"{seed_name}.{kind}"
        )

    first = picture("a")
    assert picture("b") == first
    assert picture("c", title="u") != first
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{name}.{kind}" for name in "abc"]
    assert b"<dc:date>" not in first
    assert b"CreationDate" not in first


# --- letters, axes that panels share, curves side by side ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("titles", "shown"),
    [
        (("one", "", "(c) three"), ["(a) one", "(b)", "(c) three"]),
        (("alone",), ["alone"]),
        (["t"] * 28, [f"({chr(97 + i)}) t" for i in range(26)] + ["(aa) t", "(ab) t"]),
    ],
)
def test_every_panel_of_several_has_a_letter(titles, shown):
    panels = [regret(title=title, name=f"p{i}") for i, title in enumerate(titles)]
    assert [panel.panel.title for panel in shown_panels(panels)] == shown


def test_panels_that_share_axes_are_drawn_together_with_a_legend_of_their_own():
    panels = [
        regret("same", name="a", title="2 arms", axes="by arms"),
        regret("alone", name="b"),
        regret("same", "other", name="c", title="5 arms", axes="by arms"),
    ]
    figure = plot_panels("t", panels)
    assert [axis.get_title() for axis in figure.axes] == ["(a) by arms", "(b) the title"]
    assert figure.legends == []
    legends = [[text.get_text() for text in axis.get_legend().get_texts()] for axis in figure.axes]
    assert legends == [["2 arms", "5 arms, same", "5 arms, other"], ["alone"]]
    together = lines(figure.axes[0])
    assert len({(line.get_color(), line.get_linestyle()) for line in together}) == 3
    assert len({line.get_color() for line in together}) == 1
    np.testing.assert_array_equal(together[1].get_ydata(), panels[2]["same"].mean)
    FigureCanvasAgg(figure).draw()
    for axis in figure.axes:  # below the name of the axis
        assert axis.get_legend().get_window_extent().y1 <= axis.xaxis.label.get_window_extent().y0


@pytest.mark.parametrize("panel", [regret(log=True), swept(), bounds()])
def test_a_log_scale_is_said_and_has_plain_numbers(panel):
    log = panel.panel.model_copy(update={"log": True})
    (axis,) = plot_panels("t", [PanelData(log, panel.curves)]).axes
    assert axis.get_yscale() == "log"
    assert axis.get_ylabel().endswith(" (log scale)")
    assert not any("^" in text.get_text() for text in axis.get_yticklabels())


def test_the_name_of_an_upright_axis_fits_beside_it():
    (axis,) = plot_panels("t", [bounds(quantity="largest quantile over the number displayed", log=True)]).axes
    assert axis.get_ylabel() == "largest quantile over the number\ndisplayed (log scale)"


def test_few_sample_sizes_are_marked_and_many_are_not():
    for size, marked in ((8, True), (9, False)):
        (axis,) = plot_panels("t", [bounds(sizes=range(1, size + 1))]).axes
        assert {line.get_marker() != "None" for line in axis.lines} == {marked}


def test_the_heading_says_how_many_samples_were_drawn():
    panel = bounds("one", "two", "exact")
    rows = [
        tuple(CoverageRow("b", n, 0.05, drawn, 1, 0.1, 0.0, 0.2, 1.0, None) for n in (1, 2, 5)) for drawn in (9, 7, 0)
    ]
    curves = [
        CurveData(curve.curve, curve.places, curve.values, row, 0.0)
        for curve, row in zip(panel.curves, rows, strict=True)
    ]
    figure = plot_panels("t", [PanelData(panel.panel, tuple(curves))])
    assert heading(figure) == "t mean threshold above the sample mean, over 7 or 9 samples"


def test_the_legend_of_curves_side_by_side_shows_what_is_drawn():
    dodged = regret("one", "two", name="b", dodge=True)
    figure = plot_panels("t", [regret("one", policies=("giro",)), dodged])
    (legend_below,) = figure.legends
    one, two = legend_below.get_lines()
    assert (one.get_linestyle(), two.get_linestyle()) == (":", "-")  # the first is drawn with its dash in another panel
    assert two.get_linewidth() < one.get_linewidth()
    assert "None" not in {one.get_marker(), two.get_marker()}


@pytest.mark.parametrize("make", [regret, swept, bounds])
def test_curves_side_by_side_stand_apart_though_they_coincide(make):
    plain = make("one", "two", "three")
    if make is regret:
        plain = data(plain.panel, range(1, 101))
    same = tuple(CurveData(curve.curve, curve.places, plain.curves[0].values, (), 0.0) for curve in plain.curves)
    panel = PanelData(plain.panel.model_copy(update={"dodge": True}), same)
    figure = plot_panels("t", [panel])
    FigureCanvasAgg(figure).draw()
    (axis,) = figure.axes
    assert axis.get_xlabel().endswith("; curves side by side")
    marked = [line for line in axis.lines if line.get_marker() != "None"]
    assert len({line.get_marker() for line in marked}) == 3
    places = [line.get_transform().transform(line.get_xydata()) for line in marked]
    for place in np.array(places).swapaxes(0, 1):
        gaps = np.diff(place[:, 0])
        assert np.all(gaps > 5)  # in dots: beside each other, in the order of the legend
        np.testing.assert_allclose(place[:, 1], place[0, 1])
        assert np.all(place[:, 0] < axis.bbox.x1)
        assert np.all(place[:, 0] > axis.bbox.x0)
    if make is not bounds:
        assert "with bars of two standard errors" in heading(figure)
        bars = axis.collections[0].get_segments()[-1]
        curve = panel["one"]
        chosen = np.flatnonzero(curve.places == bars[0][0])[0]
        reach = 2 * curve.standard_error[chosen]
        np.testing.assert_allclose(bars[:, 1], curve.mean[chosen] + np.array([-reach, reach]))

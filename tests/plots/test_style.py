"""Looks: one colour and dash for a policy in every picture, and no two curves alike."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstrap import UCB1, simulate
from bandstrap.environments import Gaussian
from bandstrap.experiments import read_experiment
from bandstrap.paper.reproduce import CHAPTERS, paper_file
from bandstrap.plots.league import contrast
from bandstrap.plots.style import COLOURS, DASHES, KNOWN, known_look, look, looks_for, marker
from sampling import each


def shape(one):
    return one["color"], one["linestyle"]


@pytest.fixture(scope="module")
def figures():
    """For every figure of the paper the labels of its curves and what they play, in the order of the file."""
    found = {}
    for name in CHAPTERS:
        panels = read_experiment(Path(paper_file(f"{name}.toml"))).panels
        curves = [curve for panel in panels for curve in panel.curves]
        found[name] = {curve.label: curve.policy or curve.bound for curve in reversed(curves)}
        found[name] = {curve.label: found[name][curve.label] for curve in curves}
    return found


def test_every_policy_of_the_paper_has_a_look_of_its_own(figures):
    calls = {call for name, one in figures.items() if name.startswith(("figure", "close")) for call in one.values()}
    assert not {call.partition(":")[0] for call in calls if known_look(call) is None}


def test_a_policy_looks_the_same_in_all_figures_and_its_variants_have_its_colour(figures):
    met = {}
    for calls in figures.values():
        looks = looks_for(calls)
        for label, call in calls.items():
            assert met.setdefault((label, call.partition(":")[0]), shape(looks[label])) == shape(looks[label]), label
    for label, name in met:
        if name in ("ucb1", "giro", "gaussian_ts", "bootstrapped_ucb", "naive_bootstrapped_ucb", "oful", "linear_ts"):
            assert met[label, name][0] == KNOWN[name][0]
    assert met["Giro", "giro"] == KNOWN["giro"]
    assert met["Bootstrapped UCB", "bootstrapped_ucb"] == KNOWN["bootstrapped_ucb"]
    assert met["naive bootstrap", "naive_bootstrapped_ucb"] == KNOWN["naive_bootstrapped_ucb"]


def test_forms_of_the_theorem_look_the_same_counted_and_sampled(figures):
    counted, sampled = (looks_for(figures[name]) for name in ("theorem1", "miss_rates"))
    for label in ("as stated", "as proved", "sharp"):
        assert shape(counted[label]) == shape(sampled[label])
    assert counted["as stated, delta = 0.1"]["color"] == counted["as stated"]["color"]


@each("order", [*itertools.permutations(["ucb1", "giro", "bootstrapped_ucb:sigma=2", "mine.py:Mine"])])
def test_looks_are_keyed_by_policies_and_not_by_places(order):
    looks = looks_for({call: call for call in order})
    for call in order:
        if known_look(call):
            assert shape(looks[call]) == known_look(call)
    assert list(looks) == list(order)
    assert looks["mine.py:Mine"]["color"] not in {looks[call]["color"] for call in order if call != "mine.py:Mine"}


def test_settings_of_one_policy_share_its_colour_and_not_its_dash():
    looks = looks_for({f"sigma = {s}": f"ucb1:sigma={s}" for s in range(len(DASHES))})
    assert {one["color"] for one in looks.values()} == {KNOWN["ucb1"][0]}
    assert len({one["linestyle"] for one in looks.values()}) == len(DASHES)
    assert len({marker(one)["marker"] for one in looks.values()}) == len(DASHES)
    assert shape(looks["sigma = 0"]) == KNOWN["ucb1"]


@given(st.lists(st.sampled_from([*KNOWN, "mine.py:Mine", "moss", ""]), max_size=len(COLOURS) * len(DASHES)))
def test_no_two_curves_of_a_picture_look_the_same(calls):
    looks = looks_for({str(i): call for i, call in enumerate(calls)})
    assert len({shape(one) for one in looks.values()}) == len(calls)


def test_there_is_a_look_for_any_number_of_curves():
    assert len(looks_for({str(i): "ucb1" for i in range(100)})) == 100
    assert looks_for({}) == {}
    numbered = [shape(look(i)) for i in range(len(COLOURS) * len(DASHES))]
    assert len(set(numbered)) == len(numbered)


def test_colours_stand_out_from_white():
    assert min(contrast(colour, "#ffffff") for colour in COLOURS) > 2


def test_a_notebook_shows_a_picture_without_pyplot():
    figure = simulate(UCB1(), Gaussian([0, 1]), horizon=10, replications=2, seed=0, progress=False).plot()
    assert figure._repr_png_().startswith(b"\x89PNG")
    (line,) = figure.axes[0].lines
    assert (line.get_color(), line.get_linestyle()) == KNOWN["ucb1"]

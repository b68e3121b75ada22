"""Grids of an experiment: every combination once, named after its values, or one sentence."""

import itertools
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bandstrap.basics.calls import parse_value
from bandstrap.errors import InvalidInput
from bandstrap.experiments.grid import combinations, fill, panel_name, size, written
from bandstrap.experiments.plan import plan_panel
from bandstrap.experiments.spec import MOST_CURVES
from sampling import each


def grid(panel="", *, curve="", policy="ucb1", environment="gaussian", label="one", rest=""):
    return (
        f'title = "t"\nhorizon = 30\nreplications = 2\n[[panels]]\nname = "a"\nenvironment = "{environment}"\n{panel}\n'
        f'[[panels.curves]]\nlabel = "{label}"\npolicy = "{policy}"\n{curve}\n{rest}'
    )


def abouts(experiment):
    return [[block.about for block in plan_panel(panel, experiment, 7)] for panel in experiment.panels]


def test_a_grid_is_what_its_panels_would_be_if_each_were_written_out(read):
    made = read(
        grid(
            'grid = { law = ["gaussian", "logistic"], n = [2, 3] }\nhorizon = "{n}0"\ndelay = "{n}"',
            environment="{law}:n_arms={n}",
            policy="ucb1:sigma={s}",
            curve="grid = { s = [0.5, 2] }",
        )
    )
    by_hand = 'title = "t"\nreplications = 2\n'
    for law, n in itertools.product(("gaussian", "logistic"), (2, 3)):
        by_hand += f'[[panels]]\nname = "{law}{n}"\nenvironment = "{law}:n_arms={n}"\nhorizon = {n}0\ndelay = {n}\n'
        by_hand += "".join(f'[[panels.curves]]\nlabel = "{s}"\npolicy = "ucb1:sigma={s}"\n' for s in (0.5, 2))
    assert abouts(made) == abouts(read(by_hand))
    assert [panel.settings for panel in made.panels] == [
        {"law": law, "n": n} for law, n in itertools.product(("gaussian", "logistic"), (2, 3))
    ]
    assert [curve.settings for curve in made.panels[3].curves] == [{"s": 0.5}, {"s": 2}]
    assert made.panels[3].title == "law = logistic, n = 3"


def test_the_page_of_the_documentation_makes_what_it_says(read):
    page = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```toml\n(.*?)```", page, re.S)
    experiment = read(text)
    assert len(experiment.panels) == 4
    assert {len(panel.curves) for panel in experiment.panels} == {4}
    assert f"`{experiment.panels[0].name}`" in page
    assert f"`{experiment.panels[0].curves[0].label}`" in page
    assert f"at most {MOST_CURVES:,} curves" in page


def test_a_value_may_be_a_whole_call_a_list_or_a_flag(read):
    made = read(
        grid(
            'title = "on {world}"\ngrid = { world = ["gaussian", "bernoulli:mean_range=(0.01,0.1)"] }',
            environment="{world}",
            policy="kl_ucb:plus={plus}",
            label="KL",
            curve="grid = { plus = [false, true] }",
            rest="",
        ).replace('"gaussian", ', '"bernoulli", ')
    )
    first, second = made.panels
    assert first.name == "a-world=bernoulli"
    assert second.name.startswith("a-world=bernoulli_mean_range_0.01_0.1")
    assert second.title == "on bernoulli:mean_range=(0.01,0.1)"
    assert [curve.label for curve in first.curves] == ["KL, plus = false", "KL, plus = true"]
    lists = read(grid("grid = { means = [[0, 1], [0.5, 0.25, 0]] }", environment="gaussian:means={means}"))
    assert [plan_panel(panel, lists, 0).curves[0].blocks[0].environment.n_arms for panel in lists.panels] == [2, 3]


def test_a_grid_of_one_value_and_of_a_thousand(read):
    (one,) = read(grid("grid = { n = [4] }", environment="gaussian:n_arms={n}")).panels
    assert (one.name, one.settings) == ("a-n=4", {"n": 4})
    values = ", ".join(str(0.001 * i) for i in range(1, 1001))
    (panel,) = read(grid(policy="ucb1:sigma={s}", curve=f"grid = {{ s = [{values}] }}")).panels
    assert len({curve.label for curve in panel.curves}) == len({curve.policy for curve in panel.curves}) == 1000


def test_a_grid_and_the_axis_of_a_sweep_are_crossed(read):
    made = read(
        grid(
            'plot = "sweep"\nsweep = { name = "gap", values = [0.5, 1] }\ngrid = { n = [2, 3] }\nhorizon = "{n}0"',
            environment="gaussian:means=({gap},0)",
        )
    )
    assert [panel.sweep.values for panel in made.panels] == [(0.5, 1), (0.5, 1)]
    assert [panel.horizon for panel in made.panels] == [20, 30]


def test_numbers_that_print_alike_in_few_digits_stay_apart(read):
    text = grid(policy="ucb1:sigma={s}", curve="grid = { s = [0.3, 0.30000000000000004] }")
    policies = [block.policy for block in plan_panel(read(text).panels[0], read(text), 0)]
    assert [policy.sigma for policy in policies] == [0.3, 0.1 + 0.2]
    swept = grid('plot = "sweep"\nsweep = { name = "s", values = [0.3, 0.30000000000000004] }', policy="ucb1:sigma={s}")
    policies = [block.policy for block in plan_panel(read(swept).panels[0], read(swept), 0)]
    assert [policy.sigma for policy in policies] == [0.3, 0.1 + 0.2]


def test_files_named_by_a_grid_are_looked_for_beside_the_experiment(read, tmp_path):
    for name in ("may", "june"):
        (tmp_path / f"{name}.csv").write_text("arm,reward\na,0\nb,1\na,1\nb,0\n")
    made = read(grid('grid = { file = ["may.csv", "june.csv"] }', environment="empirical:{file},arm=arm,reward=reward"))
    files = [tmp_path / "may.csv", tmp_path / "june.csv"]
    assert all(str(file) in panel.environment for panel, file in zip(made.panels, files, strict=True))


WRONG = [
    (grid("grid = { n = [] }", environment="gaussian:n_arms={n}"), ["'panels[0].grid.n'", "at least 1 item"]),
    (grid("grid = {}"), ["'panels[0].grid'", "at least 1 item"]),
    (grid("grid = { n = 3 }", environment="gaussian:n_arms={n}"), ["'panels[0].grid.n'", "a list", "Got 3"]),
    (grid('grid = { "n-1" = [3] }'), ["'panels[0].grid", "pattern"]),
    (
        grid("grid = { n = [2, 1979-05-27] }", environment="gaussian:n_arms={n}"),
        ["grid.n[1]'", "finite number, a text"],
    ),
    (grid("grid = { n = [inf] }", environment="gaussian:n_arms={n}"), ["grid.n[0]'", "finite number", "Got inf"]),
    (grid("grid = { n = [2, 3, 2.0] }", environment="gaussian:n_arms={n}"), ["should differ", "2 is there more than"]),
    (grid("grid = { n = [2] }"), ["'panels[0]'", "{n}, a name of the panel's grid, must stand in"]),
    (grid("grid = { n = [2] }", label="{n}"), ["{n}, a name of the panel's grid, must stand in"]),
    (grid(curve="grid = { n = [2] }"), ["{n}, a name of the grid of the curve 'one', must stand in its policy"]),
    (
        grid("grid = { s = [2] }", policy="ucb1:sigma={s}", curve="grid = { s = [2] }"),
        ["'panels[0]'", "'s' is varied twice"],
    ),
    (
        grid('plot = "sweep"\nsweep = { name = "s", values = [1] }\ngrid = { s = [2] }', policy="ucb1:sigma={s}"),
        ["'panels[0]'", "'s' is varied twice"],
    ),
    (
        grid(policy="ucb1:sigma={s}", curve="published = 3\ngrid = { s = [2] }"),
        ["'one' is made from a grid, which has no one published value"],
    ),
    (grid(policy="ucb1:colour={s}", curve="grid = { s = [2] }"), ["curves[0].policy: UCB1 has no parameter 'colour'"]),
    (grid(policy="ucb1:sigma={x}"), ["curves[0].policy: ", "'sigma' parameter of UCB1", "Got '{x}'"]),
    (grid(policy="ucb1:sigma={s}", curve="grid = { s = [1, 0] }"), ["curves[0].policy: ", "greater than 0", "Got 0"]),
    (
        grid("grid = { n = [2, 0] }", environment="gaussian:n_arms={n}"),
        ["panels[0] (n = 0).environment: ", "'n_arms' parameter of Gaussian"],
    ),
    (grid('grid = { T = [20, 2.5] }\nhorizon = "{T}"'), ["panels[0] (T = 2.5): 'horizon'", "Got 2.5"]),
    (
        grid(
            policy="ucb1:sigma={s}",
            label="U{s}",
            curve="grid = { s = [1, 2] }",
            rest='[[panels.curves]]\nlabel = "U2"\npolicy = "ucb1"',
        ),
        ["panels[0]: the labels of a panel's curves must differ"],
    ),
    (
        grid(
            "grid = { n = [2] }",
            environment="gaussian:n_arms={n}",
            rest='[[panels]]\nname = "a-n=2"\nenvironment = "gaussian"\ncurves = [{ label = "x", policy = "ucb1" }]',
        ),
        ["the names of the panels must differ. Got a-n=2, a-n=2"],
    ),
    (
        grid(policy="ucb1:sigma={s}", curve=f"grid = {{ s = {[*range(1, 10_002)]} }}"),
        ["the grids make 10001 curves, and a file may have 10000"],
    ),
]


@each(("text", "parts"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_with_a_grid_is_said_in_a_sentence(read, text, parts):
    with pytest.raises(InvalidInput) as caught:
        read(text)
    message = str(caught.value)
    assert "mine.toml" in message
    assert "\n" not in message
    assert [part for part in parts if part not in message] == [], message


NAMES = st.sampled_from(["a", "b", "c"])
VALUES = st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.integers(), min_size=1, max_size=3)


@given(st.dictionaries(NAMES, VALUES, min_size=1))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_combinations_are_those_of_nested_loops(values):
    found = [()]
    for name in values:
        found = [(*before, (name, value)) for before in found for value in values[name]]
    assert [tuple(each.items()) for each in combinations(values)] == found
    assert size(values) == len(found)


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers() | st.booleans())
@settings(max_examples=200, deadline=None, derandomize=True)
def test_what_is_written_reads_back_as_the_same_value(value):
    assert parse_value(written(value)) == value
    assert parse_value(fill("{x}", {"x": value})) == value


@given(st.text(min_size=1, max_size=80), st.text(min_size=1, max_size=80))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_names_of_panels_differ_where_values_do_and_are_fit_for_files(one, other):
    names = [panel_name("a", {"x": text}) for text in (one, other)]
    assert (names[0] == names[1]) == (one == other)
    assert all("/" not in name and "\0" not in name and len(name) < 70 for name in names)

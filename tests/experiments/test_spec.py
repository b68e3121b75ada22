"""Experiments in TOML: what is read, and that whatever is wrong is said in one sentence before anything runs."""

import re
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bandstrap import names
from bandstrap.bounds import BOUNDS
from bandstrap.environments import ENVIRONMENTS
from bandstrap.errors import InvalidInput
from bandstrap.experiments import spec, toml
from bandstrap.experiments.plan import plan_panel
from bandstrap.experiments.spec import (
    Curve,
    ExperimentSpec,
    Panel,
    Sweep,
    make_feedback,
    make_policy,
    read_experiment,
    resolve_horizon,
)
from bandstrap.policies import LINEAR_POLICIES, POLICIES
from sampling import each

LISTS = ("errata.toml", "reasons.toml", "sentences.toml")  # of what the report says, not of what is run
SHIPPED = sorted(path.name for path in Path(str(files("bandstrap.paper"))).glob("*.toml") if path.name not in LISTS)


def regret(*, environment="gaussian", policy="ucb1", panel="", curve="", top=""):
    return (
        f'title = "t"\n{top}\n[[panels]]\nname = "a"\nenvironment = "{environment}"\n{panel}\n'
        f'curves = [{{ label = "one", policy = "{policy}"{curve} }}]\n'
    )


def bounds(*, distribution="normal", sizes="[2, 3]", bound="sign_flip", panel=""):
    return (
        f'title = "t"\n[[panels]]\nname = "a"\nplot = "bounds"\ndistribution = "{distribution}"\n'
        f'sample_sizes = {sizes}\n{panel}\ncurves = [{{ label = "one", bound = "{bound}" }}]\n'
    )


def sweep(values="[1, 2]", *, name="s", policy="ucb1:sigma={s}", panel="", rest="", environment="gaussian"):
    return regret(
        environment=environment,
        policy=policy,
        panel=f'plot = "sweep"\nsweep = {{ name = "{name}", values = {values}{rest} }}\n{panel}',
    )


def refusal(read, text):
    with pytest.raises(InvalidInput) as caught:
        read(text)
    message = str(caught.value)
    assert "mine.toml" in message
    assert "\n" not in message
    assert message.endswith(".")
    assert not message.endswith("..")
    return message


TWO = """
title = "t"
[[panels]]
name = "a"
axes = "together"
environment = "gaussian"
curves = [{ label = "one", policy = "ucb1" }]
[[panels]]
name = "b"
axes = "%s"
environment = "gaussian:n_arms=2"
curves = [{ label = "one", policy = "ucb1" }]
%s
"""


def test_panels_share_axes_on_which_they_show_the_same(read):
    first, second = read(TWO % ("together", "horizon = 50")).panels
    assert first.drawn_on == second.drawn_on
    first, second = read(TWO % ("", "log = true")).panels
    assert first.drawn_on != second.drawn_on
    for key in ("log = true", "band = 1", "dodge = true"):
        message = refusal(read, TWO % ("together", key))
        assert "the panels 'a' and 'b' share the axes 'together'; they must have the same plot, log" in message


# --- what is read -----------------------------------------------------------------------------------------------------


def test_there_is_a_file_for_each_figure_and_for_what_claims_need_beside():
    figures = [f"figure{i}.toml" for i in range(1, 8)]
    beside = [
        "interpolation.toml",
        "miss_rates.toml",
        "remark3.toml",
        "theorem1.toml",
        "theorem2.toml",
        "theorem3.toml",
        "theorem4.toml",
    ]
    assert ["close_races.toml", *figures, *beside] == SHIPPED


@each("name", SHIPPED)
def test_the_papers_files_are_read(name):
    experiment = read_experiment(Path(str(files("bandstrap.paper") / name)))
    content = tomllib.loads((files("bandstrap.paper") / name).read_text(encoding="utf-8"))
    assert [panel.name for panel in experiment.panels] == [panel["name"] for panel in content["panels"]]
    assert experiment.readings
    for panel in experiment.panels:
        assert panel.title
        for curve in panel.curves:  # a published point is compared with ours at its place, so there must be one
            places = panel.sweep.values if panel.sweep is not None else panel.sample_sizes
            if places is not None and curve.published is not None:
                assert {place for place, _ in curve.published} <= set(places)


def test_the_example_of_the_documentation_is_read(read, tmp_path):
    (tmp_path / "mine.py").write_text((Path(__file__).parents[2] / "docs" / "mine.py").read_text())
    text = spec.__doc__.split(".. code-block:: toml\n")[1]
    experiment = read(text)
    a, b, late, *grid, c = experiment.panels
    assert (experiment.horizon, experiment.replications) == (2000, 200)
    assert [panel.plot for panel in experiment.panels] == ["regret", "sweep", *["regret"] * 5, "bounds"]
    assert [panel.name for panel in grid] == [
        "d-law=gaussian-n_arms=2",
        "d-law=gaussian-n_arms=10",
        "d-law=logistic-n_arms=2",
        "d-law=logistic-n_arms=10",
    ]
    labels = ["UCB, sigma = 0.5", "UCB, sigma = 1", "UCB, sigma = 2", "Thompson sampling"]
    assert [[curve.label for curve in panel.curves] for panel in grid] == [labels] * 4
    assert make_feedback(late, None).label == "delay 200, batch 100, lost 0.1"
    assert a.curves[0].published == 74
    assert b.sweep.values == (1, 2, 5, 10)
    assert c.sample_sizes == (1, 2, 5, 10)


def test_defaults(read):
    experiment = read(regret())
    (panel,) = experiment.panels
    assert (experiment.horizon, experiment.replications, experiment.readings) == (2000, 200, ())
    assert (panel.plot, panel.horizon, panel.replications, panel.alpha, panel.log) == (
        "regret",
        None,
        None,
        0.05,
        False,
    )
    assert panel.curves == (Curve(label="one", policy="ucb1"),)


def test_a_swept_name_stands_in_policies_environment_and_horizon(read):
    (panel,) = read(sweep("[10, 20.0]", policy="ucb1", panel='horizon = "{s}"')).panels
    assert [resolve_horizon(panel, 7, value) for value in panel.sweep.values] == [10, 20]
    (panel,) = read(sweep("[0.1, 3]")).panels
    assert [make_policy(panel, panel.curves[0], value).sigma for value in panel.sweep.values] == [0.1, 3]
    assert resolve_horizon(panel, 7, 3) == 7
    (panel,) = read(sweep("[0.1, 3]", environment="gaussian:means=({s},0)", policy="ucb1")).panels
    assert spec.make_environment(panel, 0.1).label == "gaussian:means=(0.1,0),n_arms=2"


@pytest.mark.parametrize(
    ("values", "panel", "labels"),
    [
        ("[0, 20.0]", 'delay = "{s}"', ["", "delay 20"]),
        ("[0.1, 0.5]", 'delay = "geom:p={s}"\nbatch = 3', ["delay geom:p=0.1, batch 3", "delay geom:p=0.5, batch 3"]),
        ("[1, 7]", 'batch = "{s}"', ["", "batch 7"]),
        ("[0, 0.25]", 'lost = "{s}"\ndelay = 2', ["delay 2", "delay 2, lost 0.25"]),
    ],
)
def test_a_swept_name_stands_in_delay_batch_and_lost(read, values, panel, labels):
    (panel,) = read(sweep(values, policy="ucb1", panel=panel)).panels
    assert [make_feedback(panel, value).label for value in panel.sweep.values] == labels
    blocks = plan_panel(panel, ExperimentSpec(title="", panels=(panel,)), 0)
    assert [block.feedback.label for block in blocks] == labels


def test_a_file_is_checked_without_playing_or_compiling_anything(read, monkeypatch):
    def refuse(*_):
        raise AssertionError("nothing is to be played")

    monkeypatch.setattr("bandstrap.engine.simulator.blocks.play_policy", refuse)
    (panel,) = read(regret(policy="bootstrapped_ucb")).panels
    assert [curve.policy for curve in panel.curves] == ["bootstrapped_ucb"]


# --- refusals ---------------------------------------------------------------------------------------------------------

TOP = "title, horizon, replications, seed, checkpoints, block_size, choices, readings, panels"
WRONG_TEXTS = [
    ("", ["'title' is missing"]),
    ("= =", ["is not a TOML file"]),
    ("title = 3\n[[panels]]", ["'title'", "valid string", "Got 3"]),
    ('panels = 3\ntitle = "t"', ["'panels'", "a list", "Got 3"]),
    ('title = "t"', ["'panels' is missing"]),
    ('title = "t"\npanels = []', ["'panels'", "at least 1 item"]),
    ('title = "t"\npanels = [3]', ["'panels[0]'", "a table", "Got 3"]),
    (
        'title = "t"\n[[panels]]\nname = "a"\nenvironment = "gaussian"\ncurves = []',
        ["'panels[0].curves'", "at least 1"],
    ),
    (regret(top="colour = 1"), ["unknown key 'colour'", f"allowed are {TOP}."]),
    (regret(top='"two\\nlines" = 1'), [r"unknown key 'two\nlines'"]),
    (regret(panel="colour = 1"), ["unknown key 'colour' of panels[0]", "allowed are name, title, plot, curves,"]),
    (regret(curve=", colour = 1"), ["'colour' of panels[0].curves[0]", "allowed are label, policy, bound, published,"]),
    (sweep(rest=", colour = 1"), ["'colour' of panels[0].sweep", "allowed are name, values, label, log."]),
    (regret(top="horizon = -1"), ["'horizon'", "greater than or equal to 1", "Got -1"]),
    (regret(top="horizon = 0"), ["'horizon'", "greater than or equal to 1", "Got 0"]),
    (regret(top="horizon = 20.0"), ["'horizon'", "valid integer", "Got 20.0"]),
    (regret(top='horizon = "20"'), ["'horizon'", "valid integer", "Got '20'"]),
    (regret(panel="horizon = -1"), ["'panels[0].horizon'", "greater than or equal to 1", "Got -1"]),
    (regret(panel="horizon = 0"), ["'panels[0].horizon'", "greater than or equal to 1", "Got 0"]),
    (regret(panel="horizon = 2.5"), ["'panels[0].horizon'", "valid integer", "Got 2.5"]),
    (regret(panel="horizon = true"), ["'panels[0].horizon'", "valid integer", "Got True"]),
    (regret(panel='horizon = "20"'), ["'panels[0]'", "'horizon' should be a whole number of at least 1"]),
    (regret(panel='horizon = "{T}"'), ["'panels[0]'", "'horizon' should be a whole number of at least 1"]),
    (sweep(panel='horizon = "20"'), ["'panels[0]'", "'horizon' should be a whole number of at least 1"]),
    (sweep("[10.5]", policy="ucb1", panel='horizon = "{s}"'), ["panels[0].horizon", "a whole number", "Got '10.5'"]),
    (sweep("[-10]", policy="ucb1", panel='horizon = "{s}"'), ["panels[0].horizon", "a whole number", "Got '-10'"]),
    (
        sweep("[1e15]", policy="ucb1", panel='horizon = "{s}"'),
        ["'horizon'", "of memory available", "Got 1000000000000000,"],
    ),
    (regret(panel="replications = 0"), ["'panels[0].replications'", "greater than or equal to 1"]),
    (regret(panel="replications = true"), ["'panels[0].replications'", "valid integer"]),
    (regret(curve=", replications = 1.5"), ["'panels[0].curves[0].replications'", "valid integer"]),
    (regret(panel='plot = "pie"'), ["'panels[0].plot'", "'regret', 'sweep' or 'bounds'", "Got 'pie'"]),
    (regret(panel='log = "yes"'), ["'panels[0].log'", "valid boolean", "Got 'yes'"]),
    (sweep(rest=", log = 1"), ["'panels[0].sweep.log'", "valid boolean", "Got 1"]),
    (regret(curve=", published = nan"), ["'panels[0].curves[0].published'", "finite number", "Got nan"]),
    (regret(curve=", published = -inf"), ["'panels[0].curves[0].published'", "finite number", "Got -inf"]),
    (regret(curve=', published = "74"'), ["'panels[0].curves[0].published'", "valid number", "Got '74'"]),
    (regret(curve=", published = true"), ["'panels[0].curves[0].published'", "valid number", "Got True"]),
    (regret(curve=", published = [[1]]"), ["'panels[0].curves[0].published"]),
    (sweep("[1, nan]"), ["'panels[0].sweep.values[1]'", "finite number", "Got nan"]),
    (sweep("[inf]"), ["'panels[0].sweep.values[0]'", "finite number", "Got inf"]),
    (sweep('["1"]'), ["'panels[0].sweep.values[0]'", "valid number", "Got '1'"]),
    (sweep("[]"), ["'panels[0].sweep.values'", "at least 1 item"]),
    (sweep("3"), ["'panels[0].sweep.values'", "a list", "Got 3"]),
    (
        sweep(policy="ucb1:sigma=2"),
        ["'panels[0]'", "{s}", "in the environment, a policy, or the horizon, delay, batch or"],
    ),
    (sweep(policy="ucb1:sigma={z}"), ["'panels[0]'", "{s}", "in the environment, a policy, or the horizon, delay,"]),
    (regret(panel="delay = -1"), ["panels[0]", "'delay' parameter of the panel", "at least 0", "Got -1"]),
    (regret(panel="delay = 2.5"), ["'panels[0].delay'", "valid integer", "Got 2.5"]),
    (regret(panel="delay = true"), ["'panels[0].delay'", "valid integer", "Got True"]),
    (regret(panel='delay = "200 rounds"'), ["panels[0]", "'delay' parameter of the panel", "Got '200 rounds'"]),
    (regret(panel="batch = 0"), ["panels[0]", "'batch' parameter of the panel", "at least 1", "Got 0"]),
    (regret(panel='batch = "100"'), ["'panels[0]'", "'batch' should be a whole number", "swept name"]),
    (regret(panel="lost = 1"), ["panels[0]", "'lost' parameter of the panel", "less than 1", "Got 1"]),
    (regret(panel="lost = nan"), ["'panels[0].lost'", "finite", "Got nan"]),
    (regret(panel='lost = "0.1"'), ["'panels[0]'", "'lost' should be a number", "swept name"]),
    (sweep("[1.5]", policy="ucb1", panel='batch = "{s}"'), ["'batch' parameter of the panel", "Got 1.5"]),
    (sweep("[1.5]", policy="ucb1", panel='delay = "{s}"'), ["'delay' parameter of the panel", "Got 1.5"]),
    (sweep(name="s s"), ["'panels[0].sweep.name'", "pattern", "Got 's s'"]),
    (sweep("[0, 1]", rest=", log = true"), ["'panels[0].sweep'", "log scale should be greater than 0"]),
    (bounds(sizes="[0]"), ["'panels[0].sample_sizes[0]'", "greater than or equal to 1", "Got 0"]),
    (bounds(sizes="[1.5]"), ["'panels[0].sample_sizes[0]'", "valid integer"]),
    (bounds(sizes="[]"), ["'panels[0].sample_sizes'", "at least 1 item"]),
    (bounds(panel="alpha = 0"), ["'panels[0].alpha'", "greater than 0", "Got 0"]),
    (bounds(panel="alpha = 1"), ["'panels[0].alpha'", "less than 1", "Got 1"]),
    (bounds(panel="alpha = nan"), ["'panels[0].alpha'", "Got nan"]),
    (bounds(panel='alpha = "0.05"'), ["'panels[0].alpha'", "valid number", "Got '0.05'"]),
    (bounds(panel='show = "width"'), ["'panels[0].show'", "'threshold' or 'miss rate'"]),
    (regret(panel='distribution = "normal"'), ["'panels[0]'", "'regret' has no use for the key 'distribution'"]),
    (regret(panel="sample_sizes = [2]"), ["'panels[0]'", "'regret' has no use for the key 'sample_sizes'"]),
    (regret(panel="alpha = 0.1"), ["'panels[0]'", "'regret' has no use for the key 'alpha'"]),
    (regret(panel="dodge = 1"), ["'panels[0].dodge'", "Got 1"]),
    (regret(panel="axes = 1"), ["'panels[0].axes'", "Got 1"]),
    (sweep(panel='show = "miss rate"'), ["'panels[0]'", "'sweep' has no use for the key 'show'"]),
    (regret(panel='quantity = "width"'), ["'panels[0]'", "'regret' has no use for the key 'quantity'"]),
    (regret(panel='plot = "sweep"'), ["'panels[0]'", "'sweep' needs the key 'sweep'"]),
    (bounds(panel='environment = "gaussian"'), ["'panels[0]'", "'bounds' has no use for the key 'environment'"]),
    (bounds(panel="delay = 20"), ["'panels[0]'", "'bounds' has no use for the key 'delay'"]),
    (bounds(panel="horizon = 20"), ["'panels[0]'", "'bounds' has no use for the key 'horizon'"]),
    (bounds(panel="band = 1"), ["'panels[0]'", "'bounds' has no use for the key 'band'"]),
    (regret(panel="band = 0"), ["'panels[0].band'", "greater than 0", "Got 0"]),
    (regret(panel="reading_error = -0.1"), ["'panels[0].reading_error'", "greater than or equal to 0", "Got -0.1"]),
    (regret(panel="reading_error = 1"), ["'panels[0].reading_error'", "less than 1", "Got 1"]),
    (bounds().replace("sample_sizes = [2, 3]", ""), ["'panels[0]'", "'bounds' needs the key 'sample_sizes'"]),
    (regret().replace('environment = "gaussian"', ""), ["'panels[0]'", "'regret' needs the key 'environment'"]),
    (regret(curve=', bound = "sign_flip"'), ["'panels[0]'", "needs the key 'policy' and no 'bound'"]),
    (bounds().replace("bound =", "policy ="), ["'panels[0]'", "needs the key 'bound' and no 'policy'"]),
    (regret().replace('name = "a"', 'name = "a/b"'), ["'panels[0].name'", "pattern", "Got 'a/b'"]),
    (regret().replace('name = "a"', "name = 1979-05-27"), ["'panels[0].name'", "valid string"]),
    (regret().replace('label = "one"', 'label = ""'), ["'panels[0].curves[0].label'", "at least 1 character"]),
    (regret() + regret().replace('title = "t"', ""), ["the names of the panels must differ", "Got a, a"]),
    (
        regret().replace('"ucb1" }]', '"ucb1" }, { label = "one", policy = "gaussian_ts" }]'),
        ["'panels[0]'", "the labels of a panel's curves must differ"],
    ),
]


@each(("text", "parts"), WRONG_TEXTS, ids=range(len(WRONG_TEXTS)))
def test_what_is_wrong_is_said_with_the_key_and_what_is_allowed(read, text, parts):
    message = refusal(read, text)
    assert [part for part in parts if part not in message] == [], message


WRONG_CALLS = [
    (regret(policy="nope"), "curves[0].policy", ["unknown policy 'nope'", *map(repr, POLICIES | LINEAR_POLICIES)]),
    (regret(policy="ucb1:colour=1"), "curves[0].policy", ["UCB1 has no parameter 'colour'", "it takes sigma, alpha"]),
    (regret(policy="ucb1:sigma=0"), "curves[0].policy", ["'sigma' parameter of UCB1", "greater than 0", "Got 0"]),
    (regret(policy="ucb1:sigma="), "curves[0].policy", ["not of the form key=value"]),
    (regret(policy=""), "curves[0].policy", ["not of the form name:key=value"]),
    (regret(policy="ucb1:direction=min"), "curves[0].policy", ["'direction'", "maximises rewards", "Got 'min'"]),
    (regret(policy="ucb1:arms=3"), "curves[0].policy", ["'arms'", "left out of a simulation", "Got 3"]),
    (sweep("[1, 0]"), "curves[0].policy", ["'sigma' parameter of UCB1", "Got 0"]),
    (regret(environment="nope"), "environment", ["unknown environment 'nope'", "'gaussian'", "'linear_bandit'"]),
    (regret(environment="arms"), "environment", ["unknown environment 'arms'"]),
    (regret(environment="empirical:no.csv,arm=a,reward=b"), "environment", ["no.csv is not a file."]),
    (regret(environment="empirical:no.csv"), "environment", ["empirical needs the parameter 'arm'"]),
    (
        regret(environment="gaussian:colour=1"),
        "environment",
        ["Gaussian has no parameter 'colour'", "it takes means, scale"],
    ),
    (regret(environment="gaussian:n_arms=" + "-" * 5000 + "1"), "environment", ["'n_arms' parameter of Gaussian"]),
    (regret(policy="oful"), "curves[0].policy", ["offers actions, which oful plays", "Got gaussian"]),
    (
        regret(environment="linear_bandit:contextual=true"),
        "curves[0].policy",
        ["offers arms, which ucb1 plays", "Got linear_bandit"],
    ),
    (
        regret(environment="linear_bandit:dimension=3", policy="oful:dimension=4"),
        "curves[0].policy",
        ["actions of 4 features, the dimension of oful"],
    ),
    (regret(policy="bernoulli_ts"), "curves[0].policy", ["rewards inside [0, 1], the range of bernoulli_ts"]),
    (regret(top="horizon = 4"), "curves[0].policy", ["'horizon'", "at least 5", "Got 4"]),
    (regret(panel="horizon = 4"), "curves[0].policy", ["'horizon'", "at least 5", "Got 4"]),
    (
        sweep("[9, 4]", policy="ucb1", panel='horizon = "{s}"'),
        "curves[0].policy",
        ["'horizon'", "at least 5", "Got 4"],
    ),
    (bounds(bound="nope"), "curves[0].bound", ["unknown bound 'nope'", "'exact'", *map(repr, BOUNDS)]),
    (bounds(bound="sign_flip:colour=1"), "curves[0].bound", ["argument 'colour'"]),
    (bounds(bound="hoeffding:sigma=-1"), "curves[0].bound", ["'sigma' parameter of hoeffding"]),
    (bounds(bound="betting"), "curves[0].bound", ["'betting' needs support, which this distribution does not have"]),
    (bounds(bound="exact"), "curves[0].bound", ["bounded support"]),
    (bounds(distribution="uniform", bound="exact:a=1"), "curves[0].bound", ["'exact' takes no options"]),
    (bounds(bound="bootstrap:correction=none,quantile=monte-carlo,seed=-1"), "curves[0].bound", ["of at least 0"]),
    (bounds(distribution="nope"), "distribution", ["the name of a scipy.stats distribution", "Got 'nope'"]),
    (bounds(distribution="norm:colour=1"), "distribution", ["the parameters of norm", "loc, scale"]),
    (bounds(distribution="norm:loc=(1,2)"), "distribution", ["the parameters of norm", "Got 'norm:loc=(1,2)'"]),
    (bounds(distribution="norm:scale=0"), "distribution", ["inside the range of norm"]),
    (bounds(distribution="t"), "distribution", ["the parameters of t (df; loc, scale)"]),
]


@each(("text", "key", "parts"), WRONG_CALLS, ids=range(len(WRONG_CALLS)))
def test_what_cannot_be_made_or_played_is_refused_before_anything_runs(read, text, key, parts):
    message = refusal(read, text)
    assert f"panels[0].{key}: " in message
    assert [part for part in parts if part not in message] == [], message


def test_a_slip_in_the_last_panel_shows(read):
    second = regret(policy="ucb1:sigma=0").replace('title = "t"', "").replace('name = "a"', 'name = "b"')
    assert "panels[1].curves[0].policy: " in refusal(read, regret() + second)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"\xff\xfe\x00", "is not a TOML file: 'utf-8' codec can't decode"),
        (b"horizon = " + b"9" * 5000, "is not a TOML file: Exceeds the limit"),
        (b"a = " + b"[" * 5000, "is not a TOML file: maximum recursion depth"),
        (b"a = 1\na = 2", "is not a TOML file: Cannot overwrite"),
        (b"", "the key 'title' is missing."),
    ],
    ids=["not UTF-8", "huge number", "deep", "twice", "empty"],
)
def test_what_is_no_toml_is_refused(tmp_path, content, part):
    path = tmp_path / "mine.toml"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"mine\.toml") as caught:
        read_experiment(path)
    assert part in str(caught.value)


@pytest.mark.parametrize("name", ["missing.toml", ".", "a\0b"])
def test_what_is_no_file_is_refused(tmp_path, name):
    with pytest.raises(InvalidInput, match=r"cannot be read: .*\.$|is not a TOML file"):
        read_experiment(tmp_path / name)


WORDS = st.sampled_from(
    [
        "title",
        "horizon",
        "panels",
        "name",
        "curves",
        "label",
        "policy",
        "sweep",
        "values",
        "a",
        "{s}",
        "gaussian",
        "ucb1",
    ]
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
CALLS = st.builds(
    lambda name, key, value: f"{name}:{key}={value}",
    st.sampled_from([*POLICIES, *ENVIRONMENTS, *BOUNDS, "norm", "t"]),
    st.sampled_from(["sigma", "means", "alpha", "n_arms", "support", "df", "scale", "rng", "weights", "quantile"]),
    st.sampled_from(["0", "-1", "nan", "1e400", "(1,2)", "((1,),)", "abc", "None", "true", "{s}", "9" * 30, "'x"])
    | st.text(max_size=5),
)


def junk_in(table):
    """A good table with one key set to junk, a call or nothing."""
    keys = st.sampled_from([*table, "sweep", "plot", "horizon", "alpha", "bound", "policy", "published", "other"])
    return st.builds(lambda key, value: table | {key: value}, keys, JUNK | CALLS)


CURVES = {"label": "one", "policy": "ucb1"}, {"label": "one", "bound": "sign_flip"}
PANELS = (
    {"name": "a", "environment": "gaussian", "curves": [CURVES[0]]},
    {"name": "a", "plot": "bounds", "distribution": "normal", "sample_sizes": [2], "curves": [CURVES[1]]},
)


def experiments():
    curve = st.sampled_from(CURVES).flatmap(junk_in)
    panel = st.sampled_from(PANELS).flatmap(junk_in) | st.builds(
        lambda base, one: base | {"curves": [one]}, st.sampled_from(PANELS), curve
    )
    return st.builds(lambda one: {"title": "t", "panels": [one]}, panel) | JUNK


@given(content=experiments())
@settings(
    max_examples=300, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_junk_is_read_or_refused_and_never_anything_else(tmp_path_factory, monkeypatch, content):
    monkeypatch.setattr(toml.tomllib, "loads", lambda _: content)
    path = tmp_path_factory.getbasetemp() / "mine.toml"
    path.write_text("")
    told = ""
    try:
        experiment = read_experiment(path)
    except InvalidInput as error:
        told = str(error)
    if told:
        assert told.startswith(str(path))
        assert "\n" not in told
    else:
        for panel in experiment.panels:
            assert all(block.work > 0 for block in plan_panel(panel, experiment, 0))


@given(text=st.text(max_size=60))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_junk_text_is_refused(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "junk.toml"
    path.write_text(text, encoding="utf-8", errors="replace")
    with pytest.raises(InvalidInput, match=r"junk\.toml"):
        read_experiment(path)


def test_panels_can_be_made_in_python_with_the_same_checks():
    with pytest.raises(ValueError, match="needs the key 'environment'"):
        Panel(name="a", curves=(Curve(label="one", policy="ucb1"),))


def test_a_name_that_was_given_up_is_understood():
    assert (
        names.make("sda:sampler=last-block", names.NAMED_POLICIES, "policy").label
        == "subsample_duels:sampler=last-block"
    )


PAGE = Path(__file__).parents[2] / "docs" / "experiments.md"


@each(
    ("heading", "model"),
    [
        ("At the top of the file:", ExperimentSpec),
        ("In `[[panels]]`:", Panel),
        ("In `[[panels.curves]]`:", Curve),
        ("In `sweep = { ... }`:", Sweep),
    ],
)
def test_the_page_lists_every_field_with_its_default(heading, model):
    table = PAGE.read_text(encoding="utf-8").split(f"\n{heading}\n")[1].strip().split("\n\n")[0]
    rows = [re.split(r"(?<!\\) \| ", line.strip("| ")) for line in table.splitlines()[2:]]
    listed = {key: default for keys, default, _ in rows for key in re.findall(r"`(\w+)`", keys)}
    assert listed.keys() == model.model_fields.keys()
    for key, default in listed.items():
        field = model.model_fields[key]
        if default == "required":
            assert field.is_required(), key
        elif default.startswith("`"):
            assert tomllib.loads(f"x = {default.strip('`')}")["x"] == field.default, key
        else:
            assert not field.is_required(), key
            assert field.default in (None, "", ()), key

"""Blocks: they cover each replication once, and their keys follow what numbers depend on and nothing else."""

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bandstrap import UCB1, GaussianTS
from bandstrap.engine.simulator import blocks as engine
from bandstrap.engine.simulator.blocks import BLOCK_SIZE, Block
from bandstrap.engine.simulator.feedback import Feedback
from bandstrap.environments import Gaussian
from bandstrap.experiments import plan
from bandstrap.experiments.plan import BoundBlock, plan_panel
from bandstrap.experiments.spec import Curve, ExperimentSpec, Panel, Sweep
from sampling import each

PLAY = Block(UCB1(), Gaussian(), 100, 7, 0, 20, np.array([100]))
BOUND = BoundBlock("sign_flip", "normal", 5, 0.05, 10, 7)


def panel(*curves, **options):
    curves = curves or (Curve(label="one", policy="ucb1"),)
    return Panel(**{"name": "a", "environment": "gaussian", "curves": curves} | options)


def bounds_panel(*curves, **options):
    curves = curves or (Curve(label="one", bound="sign_flip"),)
    about = {"name": "a", "plot": "bounds", "distribution": "normal", "sample_sizes": (2, 5), "curves": curves}
    return Panel(**about | options)


def key(block):
    """What a block is stored under."""
    return json.dumps(block.about, sort_keys=True)


def keys(one, *, seed=7, share=1.0, **experiment):
    whole = ExperimentSpec(**{"title": "t", "panels": (one,), "horizon": 50, "replications": 30} | experiment)
    return [key(piece) for block in plan_panel(one, whole, seed, share) for piece in block.cut()]


# --- keys -------------------------------------------------------------------------------------------------------------


OTHERS = {
    "policy": GaussianTS(),
    "environment": Gaussian(n_arms=4),
    "horizon": 101,
    "seed": 8,
    "first": 1,
    "last": 21,
    "checkpoints": np.array([50, 100]),
    "feedback": Feedback(delay=1),
}


DIFFERENT_FEEDBACKS = [
    Feedback(delay=1),
    Feedback(delay=2),
    Feedback(delay="geom:p=0.5"),
    Feedback(delay="geom:p=0.25"),
    Feedback(delay=stats.geom(0.5)),
    Feedback(delay=stats.geom(0.25)),
    Feedback(batch=2),
    Feedback(batch=3),
    Feedback(lost=0.1),
    Feedback(lost=0.2),
    Feedback(delay=1, batch=2, lost=0.1),
]


def test_every_field_of_play_is_in_the_key():
    # How it is cut, and whether choices are kept, changes no number.
    assert set(OTHERS) == {field.name for field in dataclasses.fields(Block)} - {"size", "keeps_choices"}
    assert key(dataclasses.replace(PLAY, size=3)) == key(PLAY)
    assert key(dataclasses.replace(PLAY, keeps_choices=True)) == key(PLAY)
    others = [key(dataclasses.replace(PLAY, **{field: value})) for field, value in OTHERS.items()]
    assert len({key(PLAY), *others}) == 9
    others = [key(dataclasses.replace(PLAY, feedback=feedback)) for feedback in DIFFERENT_FEEDBACKS]
    assert len({key(PLAY), *others}) == 1 + len(DIFFERENT_FEEDBACKS)
    assert key(PLAY) == key(dataclasses.replace(PLAY, policy=UCB1(), environment=Gaussian()))


@each("field", [field.name for field in dataclasses.fields(BoundBlock)])
def test_every_field_of_a_bound_is_in_the_key(field):
    value = getattr(BOUND, field)
    other = dataclasses.replace(BOUND, **{field: value + ("x" if isinstance(value, str) else 0.1)})
    assert key(other) != key(BOUND) == key(dataclasses.replace(BOUND))


@pytest.mark.parametrize(
    ("module", "name", "block"),
    [(engine, "code_of", PLAY), (plan, "code_of_bounds", BOUND)],
    ids=["play", "bound"],
)
def test_the_code_that_plays_or_measures_is_in_the_key(monkeypatch, module, name, block):
    before = key(block)
    assert block.about["code"]
    monkeypatch.setattr(module, name, lambda *parts: "other")
    assert key(dataclasses.replace(block)) != before  # a block of its own: one remembers what it was


SAME = [
    panel(title="another title"),
    panel(name="b"),
    panel(Curve(label="another", policy="ucb1", published=3)),
    panel(Curve(label="one", policy="ucb1:sigma=1")),  # the default, spelt out
    panel(Curve(label="one", policy=" ucb1:sigma=1.0")),
    panel(environment="gaussian:n_arms=5"),
    panel(horizon=50),
    panel(replications=30),
    panel(Curve(label="one", policy="ucb1", replications=30)),
]
DIFFERENT = [
    panel(Curve(label="one", policy="ucb1:sigma=2")),
    panel(Curve(label="one", policy="gaussian_ts")),
    panel(environment="gaussian:n_arms=4"),
    panel(environment="laplace"),
    panel(horizon=51),
]


@each("other", SAME, ids=range(len(SAME)))
def test_labels_titles_and_published_numbers_change_no_key(other):
    assert keys(other) == keys(panel())


@pytest.mark.parametrize("other", DIFFERENT, ids=range(len(DIFFERENT)))
def test_what_is_played_changes_every_key(other):
    assert not set(keys(other)) & set(keys(panel()))


def test_seed_horizon_and_title_of_the_whole():
    assert not set(keys(panel(), seed=8)) & set(keys(panel()))
    assert not set(keys(panel(), horizon=51)) & set(keys(panel()))
    assert keys(panel(), title="another", readings=("so",)) == keys(panel())


def test_more_replications_keep_the_whole_blocks_there_are():
    few, many = keys(panel(), replications=2 * BLOCK_SIZE), keys(panel(), replications=2 * BLOCK_SIZE + 3)
    assert many[:2] == few
    assert len(many) == 3


def test_bounds_follow_what_is_measured():
    base = keys(bounds_panel())
    assert keys(bounds_panel(title="x", log=True, show="miss rate", name="b")) == base
    assert keys(bounds_panel(Curve(label="two", bound="sign_flip", published=1.0))) == base
    assert keys(bounds_panel(sample_sizes=(5,))) == base[1:]
    others = [
        bounds_panel(alpha=0.1),
        bounds_panel(distribution="laplace"),
        bounds_panel(sample_sizes=(3, 6)),
        bounds_panel(Curve(label="one", bound="student_t")),
        bounds_panel(replications=31),
    ]
    assert not set(base) & {one for other in others for one in keys(other)}
    assert not set(base) & set(keys(bounds_panel(), seed=8))


def test_a_curve_in_two_panels_is_run_once():
    one, two = panel(), panel(Curve(label="other", policy="gaussian_ts"), Curve(label="again", policy="ucb1"), name="b")
    assert set(keys(one)) < set(keys(two))


# --- cover and share --------------------------------------------------------------------------------------------------


def replications(one, share=1.0, total=30):
    whole = ExperimentSpec(title="t", panels=(one,), horizon=50, replications=total)
    plans = plan_panel(one, whole, 7, share)
    return [[(b.first, b.last) for b in block.cut()] for curve in plans.curves for block in curve.blocks]


@given(total=st.integers(1, 5000), share=st.floats(0, 1))
def test_each_replication_is_played_once(total, share):
    (blocks,) = replications(panel(), share, total)
    played = [i for first, last in blocks for i in range(first, last)]
    assert played == list(range(len(played)))
    assert len(played) == max(min(2, total), round(share * total))
    assert all(0 < last - first <= BLOCK_SIZE for first, last in blocks)


def test_one_replication_is_one():
    assert replications(panel(), total=1) == [[(0, 1)]]


def test_the_nearest_number_of_replications_wins():
    one = panel(Curve(label="a", policy="ucb1", replications=3), Curve(label="b", policy="ucb1"), replications=4)
    assert replications(one) == [[(0, 3)], [(0, 4)]]
    assert replications(one, 0.1) == [[(0, 2)], [(0, 2)]]
    assert replications(panel(), 0.1) == [[(0, 3)]]


def test_a_sweep_has_blocks_at_every_value():
    swept = panel(
        Curve(label="one", policy="ucb1:sigma={s}"),
        plot="sweep",
        environment="gaussian:means=({s},0)",
        horizon="{s}",
        sweep=Sweep(name="s", values=(10, 20)),
    )
    whole = ExperimentSpec(title="t", panels=(swept,), horizon=50, replications=3)
    (curve,) = plan_panel(swept, whole, 7).curves
    assert curve.places == (10, 20)
    assert [(b.policy.label, b.environment.label, b.horizon) for b in curve.blocks] == [
        ("ucb1:sigma=10", "gaussian:means=(10,0),n_arms=2", 10),
        ("ucb1:sigma=20", "gaussian:means=(20,0),n_arms=2", 20),
    ]


def test_work_is_counted_in_replications():
    assert (PLAY.work, BOUND.work) == (20, 1)

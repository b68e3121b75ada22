"""Environments that change: rewards of each round by their definition, regret, and every door to them."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bandstrap import UCB1, EdgeworthUCB, UniformRandom, simulate
from bandstrap.engine.simulator.blocks import Block
from bandstrap.engine.simulator.streams import ENVIRONMENT, stream
from bandstrap.environments import (
    ENVIRONMENTS,
    Arms,
    Bernoulli,
    Beta,
    Drifting,
    Empirical,
    Exponential,
    Gaussian,
    LinearBandit,
    OwnPrizes,
    TruncatedNormal,
    UnequalVariances,
)
from bandstrap.errors import InvalidInput
from bandstrap.experiments import run
from bandstrap.names import NAMED_ENVIRONMENTS, anchored_environment, make
from naive.drifting import bernoulli_rewards, means_of_rounds
from sampling import each

SIZES = {"horizon": 60, "replications": 3, "seed": 1, "progress": False}
DRIFTS = {
    "trend": {"drift": "trend", "factor": 2.0},
    "fall": {"drift": "trend", "factor": 0.5, "shift": 0.05},
    "jump": {"drift": "jump", "shift": 0.3, "at": 0.3},
    "wave": {"drift": "wave", "factor": 0.25, "waves": 1.5},
    "swap": {"at": 0.25},
}


@given(st.lists(st.floats(0.0, 0.4), min_size=1, max_size=4), st.sampled_from(sorted(DRIFTS)), st.integers(1, 30))
def test_each_round_has_the_means_and_rewards_of_its_definition(means, name, horizon):
    options = DRIFTS[name]
    found, rewards = Drifting(Bernoulli(means), **options).tape(horizon, np.random.default_rng(horizon))
    by_round = means_of_rounds(means, horizon, **options)
    np.testing.assert_allclose(found, by_round, rtol=1e-12, atol=1e-15)
    if name != "swap":  # which exchanges rewards that were drawn, equal means and all
        assert rewards.tolist() == bernoulli_rewards(found.tolist(), np.random.default_rng(horizon))


LAWED = {
    "exponential": (Exponential([1.0, 2.0]), lambda m: stats.expon(scale=m)),
    "beta": (Beta([0.1, 0.2]), lambda m: stats.beta(8 * m, 8 * (1 - m))),
    "gaussian": (Gaussian([0.0, 1.0]), lambda m: stats.norm(m)),
    "unequal": (UnequalVariances([0.0, 1.0], scale_range=(2, 2)), lambda m: stats.norm(m, 2)),
    "prizes": (OwnPrizes([0.5, 1.0], prizes=[8, 8]), lambda m: None),
}


@each("name", LAWED)
def test_rewards_after_a_jump_follow_the_law_of_the_new_mean(name):
    """A right law fails with probability 1e-6; a mean off by a tenth of a standard deviation is seen with 0.999."""
    environment, law = LAWED[name]
    _, rewards = Drifting(environment, drift="jump", factor=3.0, at=0.1).tape(20_000, np.random.default_rng(3))
    for arm, mean in enumerate(environment.means):
        if name == "prizes":
            wins = rewards[arm, 2000:] > 0
            assert stats.binomtest(int(wins.sum()), wins.size, 3 * mean / 8).pvalue > 1e-6
            continue
        assert stats.kstest(rewards[arm, :2000], law(mean).cdf).pvalue > 1e-6
        assert stats.kstest(rewards[arm, 2000:], law(3 * mean).cdf).pvalue > 1e-6


def test_arms_of_distributions_and_data_have_their_rewards_multiplied_and_shifted():
    laws = Arms([stats.norm(1, 2), stats.gamma(2)])
    moved = Drifting(laws, drift="jump", factor=2.0, shift=1.0)
    still, (means, rewards) = laws.tape(10, np.random.default_rng(0))[1], moved.tape(10, np.random.default_rng(0))
    np.testing.assert_array_equal(rewards[:, :5], still[:, :5])
    np.testing.assert_array_equal(rewards[:, 5:], 2 * still[:, 5:] + 1)
    np.testing.assert_array_equal(means, [[1, 2]] * 5 + [[3, 5]] * 5)
    assert Drifting(Empirical({"a": [1, 3], "b": [-2]}), drift="trend", factor=2.0, shift=1.0).support == (-3, 7)


def test_a_swap_exchanges_best_and_worst_with_all_that_is_theirs():
    environment = Drifting(OwnPrizes([0.5, 2.0, 1.0], prizes=[2, 20, 8]), at=0.5)
    means, rewards = environment.tape(4000, np.random.default_rng(0))
    assert means[0].tolist() == [0.5, 2.0, 1.0]
    assert means[-1].tolist() == [2.0, 0.5, 1.0]
    assert rewards[:, :2000].max(axis=1).tolist() == [2, 20, 8]
    assert rewards[:, 2000:].max(axis=1).tolist() == [20, 2, 8]


def test_the_support_holds_before_and_after():
    assert Drifting(Bernoulli([0.1, 0.2]), drift="trend", factor=4).support == (0, 1)
    wide = Drifting(TruncatedNormal([0.0, 1.0]), drift="trend", factor=3, shift=1)
    assert wide.support == (-1, 5)
    _, rewards = wide.tape(5000, np.random.default_rng(0))
    assert rewards.min() >= -1
    assert 4 < rewards.max() <= 5


# --- play ---------------------------------------------------------------------------------------------------------------


@each("feedback", [{}, {"delay": 7}, {"batch": 9, "lost": 0.2}, {"delay": "geom:p=0.2", "batch": 4}])
def test_regret_is_that_beside_the_best_arm_of_each_round(feedback):
    environment = Drifting(Gaussian([0.0, 1.0, 3.0]), at=0.4)
    policies = [UniformRandom(), UCB1(), EdgeworthUCB(randomized=True)]
    result = simulate(policies, environment, **SIZES, **feedback, choices=True, checkpoints=[1, 30, 60])
    for replication in range(3):
        means, _ = environment.tape(60, stream(1, replication, ENVIRONMENT))
        for p in range(3):
            lost = [
                max(row) - row[arm] for row, arm in zip(means.tolist(), result.choices[p, replication], strict=True)
            ]
            expected = np.cumsum(lost)[[0, 29, 59]]
            np.testing.assert_allclose(result.regret[p, replication], expected, rtol=1e-12)
    assert environment.label in result.environment


def test_it_takes_part_whatever_executor_plays():
    environment = Drifting(Bernoulli([0.1, 0.2]), drift="wave", factor=3)
    one, other = (simulate(UCB1(sigma=0.5), environment, **SIZES, executor=how) for how in ("thread", "process"))
    assert one.regret.tobytes() == other.regret.tobytes()


def test_stored_results_belong_to_what_changes_too(tmp_path):
    def code(environment):
        return Block(UCB1(), environment, 30, 0, 0, 2, np.array([30])).about["code"]

    own = (
        "from bandstrap.environments import Gaussian\n\n"
        "class Mine(Gaussian):\n    def draw_noise(self, shape, rng):\n        return {} * rng.standard_normal(shape)\n"
    )
    codes = {code(Drifting()), code(Drifting(Bernoulli([0.1])))}
    for factor in (1, 2):
        (tmp_path / "mine.py").write_text(own.format(factor))
        codes.add(code(make(f"drifting:'{tmp_path}/mine.py:Mine'", NAMED_ENVIRONMENTS, "environment")))
    assert len(codes) == 4


# --- doors --------------------------------------------------------------------------------------------------------------


@each(
    "environment",
    [
        Drifting(),
        Drifting(Bernoulli([0.1, 0.2]), drift="trend", factor=4),
        Drifting(Gaussian(n_arms=3), drift="wave", shift=-2, waves=0.5),
        Drifting(Gaussian(scale=2), drift="swap", at=0.3),
    ],
)
def test_the_label_is_a_call_that_builds_it_again(environment):
    again = make(environment.label, NAMED_ENVIRONMENTS, "environment")
    assert again.label == environment.label
    ours, theirs = (made.tape(20, np.random.default_rng(1)) for made in (environment, again))
    assert all(one.tobytes() == other.tobytes() for one, other in zip(ours, theirs, strict=True))


def test_files_of_what_changes_are_looked_for_beside_the_experiment(tmp_path):
    (tmp_path / "data.csv").write_text("arm,reward\na,1\na,2\nb,0\nb,5\n")
    text = anchored_environment("drifting:'empirical:data.csv,arm=arm,reward=reward',drift=trend,factor=2", tmp_path)
    made = make(text, NAMED_ENVIRONMENTS, "environment")
    assert made.environment.means == (1.5, 2.5)
    assert make(made.label, NAMED_ENVIRONMENTS, "environment").label == made.label
    assert anchored_environment("drifting:gaussian", tmp_path) == "drifting:environment=gaussian"


def test_command_line_and_experiment_play_what_python_plays(tmp_path):
    call = "drifting:'bernoulli:means=(0.1,0.3)',drift=jump,factor=3,at=0.3"
    sizes = ["--horizon", "60", "--replications", "3", "--seed", "1"]
    command = [sys.executable, "-m", "bandstrap", "simulate", "--policy", "ucb1", "--environment", call, *sizes]
    out = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    environment = Drifting(Bernoulli([0.1, 0.3]), drift="jump", factor=3, at=0.3)
    result = simulate(UCB1(), environment, **SIZES)
    assert float(out.splitlines()[-1].split()[1]) == pytest.approx(result.mean[0, -1], rel=1e-3)
    (tmp_path / "one.toml").write_text(
        'title = "a jump"\nhorizon = 60\nreplications = 3\n'
        f'[[panels]]\nname = "a"\nenvironment = "{call}"\ncurves = [{{label = "UCB", policy = "ucb1"}}]\n'
    )
    (row,) = run(tmp_path / "one.toml", seed=1, progress=False)
    assert row["mean"] == pytest.approx(result.mean[0, -1], rel=1e-12)


@each(
    ("make_it", "message"),
    [
        (lambda: Drifting(LinearBandit()), "'environment' parameter of Drifting must be an environment of arms"),
        (lambda: Drifting(Drifting()), "'environment' parameter of Drifting must be an environment of arms"),
        (lambda: Drifting("gaussian"), "'environment' parameter of Drifting must be an environment of arms"),
        (lambda: Drifting(drift="trend"), "'factor' parameter of Drifting must be other than 1"),
        (lambda: Drifting(factor=2), "'factor' parameter of Drifting must be 1, as 'shift' must be 0"),
        (lambda: Drifting(drift="up", factor=2), "'drift' parameter of Drifting must be"),
        (lambda: Drifting(at=1), "'at' parameter of Drifting must be"),
        (lambda: Drifting(drift="wave", factor=2, waves=0), "'waves' parameter of Drifting must be"),
        (lambda: Drifting(drift="trend", factor=0), "'factor' parameter of Drifting must be"),
        (lambda: Drifting(drift="trend", shift=float("nan")), "'shift' parameter of Drifting must be"),
        (
            lambda: Drifting(Bernoulli([0.5]), drift="trend", factor=3),
            "'means' parameter of Bernoulli must be between 0",
        ),
        (
            lambda: Drifting(Exponential(), drift="jump", shift=-1),
            "'mean_range' parameter of Exponential must be great",
        ),
    ],
)
def test_what_cannot_change_so_is_refused(make_it, message):
    with pytest.raises(InvalidInput, match=message):
        make_it()


def test_the_registry_has_it():
    assert ENVIRONMENTS["drifting"] is Drifting

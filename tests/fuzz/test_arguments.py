"""Arguments of constructors, bounds, quantiles and simulations."""

import inspect
import math
import pickle

import numpy as np
import pytest
from scipy import stats

from bandstrap import bootstrap_quantile, simulate
from bandstrap.bounds import BOUNDS, DIFFERENCES, compare, coverage, difference
from bandstrap.environments import ENVIRONMENTS, Gaussian
from bandstrap.environments.environment import LARGEST_NUMBER
from bandstrap.policies import LINEAR_POLICIES, POLICIES, UCB1
from fuzz.mutations import ODD_VALUES, outcome, pick, rounds, stream
from sampling import each


def is_huge(value):
    return isinstance(value, float) and LARGEST_NUMBER < abs(value) < math.inf


NEEDS = {"arms": {"distributions": [stats.norm()]}, "empirical": {"rewards": {"a": [1.0], "b": [2.0]}}}
EVERYTHING = POLICIES | LINEAR_POLICIES | ENVIRONMENTS
SAMPLE = [0.2, 0.9, 0.4, 0.7]
# Policies sum rewards and their squares: those beyond what environments draw are left out.
REWARDS = [value for value in ODD_VALUES if "1.7e+308" not in repr(value) and not is_huge(value)]


@each("name", EVERYTHING)
def test_a_constructor_takes_odd_values_or_refuses_them(name):
    rng = stream("constructor", name)
    parameters = list(inspect.signature(EVERYTHING[name]).parameters)
    for i in rounds(80):
        options = NEEDS.get(name, {}) | {pick(rng, parameters): pick(rng, ODD_VALUES) for _ in range(1 + i % 2)}
        made = outcome(EVERYTHING[name], **options)
        assert made is None or isinstance(made.label, str)
        if made is not None and name in ENVIRONMENTS and made.n_arms < 100:
            outcome(made.tape, 3, np.random.default_rng(0))


@each("name", POLICIES)
def test_a_live_policy_takes_odd_rewards_or_keeps_its_state(name):
    rng = stream("live", name)
    policy = POLICIES[name](arms=["a", "b", 3], rng=0)
    for _ in rounds(40):
        arm = pick(rng, ["a", "b", 3]) if rng.random() < 0.7 else pick(rng, ODD_VALUES)
        reward = 0.5 if rng.random() < 0.2 else pick(rng, REWARDS)
        kept_or_changed(policy, arm, reward)
        assert policy.select() in ("a", "b", 3)


@each("name", LINEAR_POLICIES)
def test_a_live_linear_policy_takes_odd_actions_or_keeps_its_state(name):
    rng = stream("linear", name)
    policy = LINEAR_POLICIES[name](dimension=2, rng=0)
    policy.update([1.0, 0.5], 0.5)
    for _ in rounds(40):
        action = [0.3, 0.1] if rng.random() < 0.5 else pick(rng, ODD_VALUES)
        kept_or_changed(policy, action, 0.5 if rng.random() < 0.3 else pick(rng, ODD_VALUES))
        outcome(policy.select, pick(rng, ODD_VALUES))
        assert policy.select([[1.0, 0.0], [0.0, 1.0]]) in (0, 1)


def kept_or_changed(policy, *arguments):
    """Update a policy; where it refuses, it must be what it was, its random stream included."""
    before, n_rewards = pickle.dumps(policy), policy.n_rewards
    outcome(policy.update, *arguments)
    if policy.n_rewards == n_rewards:
        assert pickle.dumps(policy) == before


@each("name", BOUNDS)
def test_a_bound_takes_odd_values_or_refuses_them(name):
    rng = stream("bounds", name)
    function = BOUNDS[name].function
    parameters = [key for key in inspect.signature(function).parameters if key not in ("rng", "n_replicates")]
    usual = {"sample": SAMPLE, "alpha": 0.1} | {
        need.split("|")[0]: {"support": (0.0, 1.0), "sigma": 1.0, "beta": 2.0}[need.split("|")[0]]
        for need in BOUNDS[name].needs
    }
    if "binary" in BOUNDS[name].assumes:
        usual["sample"] = [0.0, 1.0, 1.0, 0.0]
    for i in rounds(60):
        options = usual | {pick(rng, parameters): pick(rng, ODD_VALUES) for _ in range(1 + i % 2)}
        bound = outcome(function, **options)
        if bound is not None:
            assert not np.isnan(bound.mean).any()
            assert not np.isnan(bound.lower).any()
            assert not np.isnan(bound.upper).any()


@each("name", DIFFERENCES)
@pytest.mark.filterwarnings("ignore::bandstrap.errors.AssumptionWarning")
def test_a_bound_on_a_difference_takes_odd_values_or_refuses_them(name):
    rng = stream("differences", name)
    function = DIFFERENCES[name].function
    parameters = [key for key in inspect.signature(function).parameters if key not in ("rng", "options")]
    usual = {"first": SAMPLE, "second": SAMPLE[:2], "alpha": 0.1} | ({"support": (0.0, 1.0)} if name == "union" else {})
    for i in rounds(60):
        options = usual | {pick(rng, parameters): pick(rng, ODD_VALUES) for _ in range(1 + i % 2)}
        bound = outcome(difference, options.pop("first"), options.pop("second"), method=name, **options)
        if bound is not None:
            assert not np.isnan(bound.mean).any()
            assert np.all((bound.lower <= bound.upper) | bound.excludes_all)


@pytest.mark.filterwarnings("ignore::bandstrap.errors.AssumptionWarning")
def test_a_comparison_takes_odd_values_or_refuses_them():
    rng = stream("compare")
    parameters = [key for key in inspect.signature(compare).parameters if key not in ("options",)]
    usual = {"groups": {"a": SAMPLE, "b": SAMPLE[:2], "c": SAMPLE[1:]}, "control": "a"}
    for i in rounds(60):
        options = usual | {pick(rng, parameters): pick(rng, ODD_VALUES) for _ in range(1 + i % 2)}
        found = outcome(compare, **options)
        if found is not None:
            assert found.control == "a"
            assert list(found.bounds) == ["b", "c"]


def test_a_quantile_takes_odd_values_or_refuses_them():
    rng = stream("quantile")
    parameters = [key for key in inspect.signature(bootstrap_quantile).parameters if key not in ("rng", "n_replicates")]
    first, second = parameters[:2]
    for i in rounds(400):
        options = {first: SAMPLE, second: 0.1} | {
            pick(rng, parameters): pick(rng, ODD_VALUES) for _ in range(1 + i % 2)
        }
        found = outcome(bootstrap_quantile, **options)
        assert found is None or not np.isnan(found).any()


def test_a_simulation_takes_odd_values_or_refuses_them():
    rng = stream("simulate")
    usual = {"policies": UCB1(), "environment": Gaussian([0, 1]), "horizon": 9, "replications": 2, "seed": 0}
    parameters = [key for key in inspect.signature(simulate).parameters if key != "progress"]
    for _ in rounds(150):
        key = pick(rng, parameters)
        value = pick(rng, ODD_VALUES)
        result = outcome(simulate, **usual | {key: value}, progress=False)
        assert result is None or np.isfinite(result.regret).all()


def test_the_coverage_lab_takes_odd_values_or_refuses_them():
    rng = stream("coverage")
    usual = {"distribution": "uniform", "sample_size": 3, "bounds": ["sign_flip"], "replications": 5}
    parameters = [key for key in inspect.signature(coverage).parameters if key != "progress"]
    for _ in rounds(100):
        outcome(coverage, **usual | {pick(rng, parameters): pick(rng, ODD_VALUES)})

"""A preliminary width of the user's own in bootstrapped UCB: a number or a function, plain and compiled."""

import copy
import functools
import math
import pickle

import numpy as np
import pytest

from bandstrap import BootstrappedUCB, bounds, simulate
from bandstrap.environments import Gaussian
from bandstrap.errors import InvalidInput
from bandstrap.policies.kernels.bootstrap_index import QUANTILES
from sampling import each, exhaustive


def twice_hoeffding(n, alpha):
    return 2.0 * math.sqrt(2.0 * math.log(1.0 / alpha)) / math.sqrt(n)


def history(policy, rounds=60, seed=5):
    """Choices of a live policy on two arms, and the table of its bounds at the end."""
    rng = np.random.default_rng(seed)
    chosen = []
    for _ in range(rounds):
        arm = policy.select()
        policy.update(arm, rng.normal(float(arm == "b")))
        chosen.append(arm)
    return chosen, policy.bounds()


@each("weights", ["rademacher", "gaussian"])
@each("quantile", QUANTILES)
def test_a_function_with_a_named_formula_gives_what_the_name_gives(quantile, weights):
    options = {"quantile": quantile, "weights": weights, "n_resamples": 30, "arms": ["a", "b"], "rng": 3}
    own, table = history(BootstrappedUCB(phi=twice_hoeffding, **options))
    named, expected = history(BootstrappedUCB(sigma=2.0, **options))
    assert own == named
    for arm, row in table.items():
        assert row["index"] == pytest.approx(expected[arm]["index"], rel=1e-12)
        assert row["correction"] == pytest.approx(expected[arm]["correction"], rel=1e-9)


@pytest.mark.parametrize("correction", ["practical", "theorem", "stated", "sharp"])
def test_a_number_and_a_function_are_the_phi_of_the_bound(correction):
    rewards = [0.4, -0.3, 0.1, 0.7, -0.6]

    def of_size(n, alpha):
        return 0.3 - math.log(alpha) / n

    def of_rewards(sample, alpha):  # what the bound is given
        return np.full(sample.shape[:-1], of_size(sample.shape[-1], alpha))

    for own, same in ((0.8, 0.8), (of_size, of_rewards)):
        policy = BootstrappedUCB(arms=["a", "b"], quantile="exact", correction=correction, phi=own, rng=0)
        policy.update(["a"] * 5 + ["b"] * 5, rewards * 2)
        expected = bounds.bootstrap(rewards, 1 / 12, side="upper", correction=correction, phi=same)  # of round 11
        assert policy.bounds()["a"]["index"] == pytest.approx(expected.upper, rel=1e-9)


@exhaustive
def test_a_simulation_compiles_the_function_to_the_bits_of_the_formula():
    policies = {
        "own": BootstrappedUCB(phi=twice_hoeffding, quantile="exact"),
        "named": BootstrappedUCB(sigma=2.0, quantile="exact"),
    }
    result = simulate(policies, Gaussian(n_arms=3), horizon=200, replications=3, seed=1, progress=False)
    np.testing.assert_array_equal(result.final("own"), result.final("named"))


def test_functions_of_one_name_are_told_apart():
    def narrow(n, alpha):
        return 0.0

    def wide(n, alpha):
        return 50.0

    wide.__name__ = wide.__qualname__ = narrow.__qualname__
    policies = [BootstrappedUCB(phi=phi, arms=2, rng=0) for phi in (narrow, wide)]
    for policy in policies:
        policy.update([0, 1], [0.0, 1.0])
    assert [policy.bounds()[0]["correction"] for policy in policies] == [0.0, 50.0]


def test_a_number_is_saved_and_restored_and_a_function_is_not():
    policy = BootstrappedUCB(phi=0.5, arms=["a", "b"], rng=1)
    policy.update(["a", "b"], [0.1, 0.2])
    again = BootstrappedUCB.from_dict(policy.to_dict())
    assert (again.phi, again.label) == (0.5, "bootstrapped_ucb:phi=0.5")
    assert again.bounds() == policy.bounds()
    own = BootstrappedUCB(phi=twice_hoeffding, arms=["a", "b"], rng=1)
    assert own.label == "bootstrapped_ucb:phi=twice_hoeffding"
    with pytest.raises(
        InvalidInput, match="'phi' parameter of BootstrappedUCB must be no function of a policy that is"
    ):
        own.to_dict()


def test_a_policy_with_a_function_is_copied_and_pickled():
    policy = BootstrappedUCB(phi=twice_hoeffding, arms=["a", "b"], rng=1)
    policy.update(["a", "b"], [0.1, 0.2])
    expected = history(copy.deepcopy(policy), 20)
    assert history(pickle.loads(pickle.dumps(policy)), 20) == expected  # noqa: S301
    assert history(policy, 20) == expected


@each(
    ("phi", "message"),
    [
        ("hoefding", "one of 'hoeffding', 'sub_weibull', a number, or a function phi\\(n, alpha\\). Got 'hoefding'"),
        (-0.1, "a finite number of at least 0. Got -0.1"),
        (math.inf, "a finite number of at least 0. Got inf"),
        (math.nan, "a finite number of at least 0. Got nan"),
        (None, "one of 'hoeffding'"),
        (functools.partial(twice_hoeffding, 3), "or a function phi"),
        (lambda n, alpha: -1.0, "value at n = 1 and alpha = 0.5 is a finite number of at least 0. Got -1.0"),
        (lambda n, alpha: math.nan, "is a finite number"),
        (lambda n, alpha: "1", "is a finite number"),
        (lambda n, alpha: alpha, "a function that does not fall as alpha falls, as it does at n = 1. Got 0.1"),
    ],
)
def test_what_is_no_width_is_refused(phi, message):
    with pytest.raises(InvalidInput, match=f"The 'phi' parameter of BootstrappedUCB must be .*{message}"):
        BootstrappedUCB(phi=phi)

"""Sizes that no memory holds: refused at once, in a sentence that names the number, by every door."""

import time

import numpy as np
import pytest
from scipy import stats

from bandstrap import (
    OFUL,
    UCB1,
    BootstrappedTS,
    BootstrappedUCB,
    LinearBootstrappedUCB,
    LinearPHE,
    LinUCB,
    NaiveBootstrappedUCB,
    simulate,
)
from bandstrap.bounds import BOUNDS, coverage
from bandstrap.bounds.coverage import measure_exact
from bandstrap.engine.work import memory
from bandstrap.environments import ENVIRONMENTS, Bernoulli, Gaussian, LinearBandit, UnequalVariances
from bandstrap.errors import InvalidInput
from bandstrap.multipliers import bootstrap_quantile
from bandstrap.policies import LINEAR_POLICIES, POLICIES
from bandstrap.theory import mean_deviation_bound
from sampling import each


@pytest.fixture(autouse=True)
def _sixteen_gigabytes(monkeypatch):
    """The same on every machine."""
    monkeypatch.setattr(memory, "usable_memory", lambda: 16e9)


def play(policy=None, environment=None, **sizes):
    sizes = {"horizon": 10, "replications": 2} | sizes
    return simulate(policy or UCB1(), environment or Gaussian(), seed=1, progress=False, **sizes)


def linear(**sizes):
    return play(OFUL(), LinearBandit(**sizes), horizon=20)


SIZES = {
    "horizon": lambda n: play(horizon=n),
    "replications": lambda n: play(replications=n),
    "checkpoints": lambda n: play(checkpoints=range(1, n + 1)),
    "arms to play": lambda n: play(environment=Gaussian(n_arms=n), horizon=10**15),
    "arms of an environment": lambda n: Bernoulli(n_arms=n),
    "arms of unequal variances": lambda n: UnequalVariances(n_arms=n),
    "dimension to play": lambda n: linear(dimension=n),
    "actions to play": lambda n: linear(n_actions=n),
    "replicates": lambda n: BootstrappedTS(n_replicates=n),
    "replicates online": lambda n: BootstrappedTS(n_replicates=n // 5, arms=100),
    "replicates to play": lambda n: play(BootstrappedTS(n_replicates=n // 20), Bernoulli(n_arms=200), horizon=300),
    "resamples, streaming": lambda n: BootstrappedUCB(quantile="streaming", n_resamples=n),
    "resamples, literal": lambda n: BootstrappedUCB(quantile="resampled-literal", n_resamples=n),
    "resamples, naive": lambda n: NaiveBootstrappedUCB(quantile="streaming", n_resamples=n),
    "resamples, linear": lambda n: LinearBootstrappedUCB(n_resamples=n),
    "resamples, linear and streaming": lambda n: LinearBootstrappedUCB(quantile="streaming", n_resamples=n),
    "arms online": lambda n: UCB1(arms=n),
    "arms online, as a range": lambda n: UCB1(arms=range(n)),
    "dimension of a policy": lambda n: LinUCB(dimension=n),
    "sample size": lambda n: coverage("normal", n),
    "one of the sample sizes": lambda n: coverage("normal", [5, n]),
    "samples": lambda n: coverage("normal", 5, replications=n),
    "size of an exact law": lambda n: measure_exact(stats.uniform(), n, 0.05),
    "resamples of a quantile": lambda n: bootstrap_quantile([1.0, 2.0, 4.0], 0.1, method="monte-carlo", n_resamples=n),
    "resamples of a bound": lambda n: BOUNDS["bootstrap"].function(
        [1.0, 2.0], 0.05, sigma=1.0, quantile="monte-carlo", n_resamples=n, seed=1
    ),
}


@each("size", [10**10, 10**12, 10**18, 10**30, 10**400], ids=lambda n: f"1e{len(str(n)) - 1}")
@each("call", SIZES.values(), ids=SIZES)
def test_what_cannot_fit_is_refused_at_once_and_named(call, size):
    start = time.process_time()
    with pytest.raises(InvalidInput) as refusal:
        call(size)
    assert time.process_time() - start < 1
    said = str(refusal.value)
    assert said.startswith("The '")
    assert said.endswith(" instead.")
    assert len(said) < 300
    assert " GB" in said or "between 1 and 9223372036854775807" in said


def test_every_policy_refuses_arms_without_number():
    for cls in POLICIES.values():
        if cls.__module__.startswith("bandstrap."):
            with pytest.raises(InvalidInput, match=r"'arms' parameter of \w+ must be small enough for the 16 GB"):
                cls(arms=10**10)


def test_every_linear_policy_refuses_features_without_number():
    for cls in LINEAR_POLICIES.values():
        if cls.__module__.startswith("bandstrap."):
            with pytest.raises(InvalidInput, match=r"'dimension' parameter of \w+ must be small enough"):
                cls(dimension=10**6)
            with pytest.raises(InvalidInput, match=r"'dimension' parameter of \w+ must be small enough"):
                cls().select(np.ones((1, 40_000)))


def test_every_environment_of_arms_refuses_arms_without_number():
    tried = 0
    for cls in ENVIRONMENTS.values():
        if cls.__module__.startswith("bandstrap.") and "n_arms" in cls.parameters():
            tried += 1
            with pytest.raises(InvalidInput, match=r"'n_arms' parameter of \w+ must be small enough for the 16 GB"):
                cls(n_arms=10**10)
    assert tried >= 5


def test_what_is_not_held_may_be_as_many_as_one_likes():
    assert BootstrappedUCB(quantile="exact", n_resamples=10**10).n_resamples == 10**10  # nothing is drawn
    assert BootstrappedUCB(n_resamples=10**8).n_resamples == 10**8  # its order statistic is drawn, not its resamples
    with pytest.raises(InvalidInput, match=r"'n_resamples' parameter of BootstrappedUCB must be at most 1e\+08 for"):
        BootstrappedUCB(n_resamples=10**8 + 1)
    assert bootstrap_quantile([1.0, 2.0, 4.0], 0.1, n_resamples=10**10) > 0  # by a method that does not draw
    assert mean_deviation_bound(10**15, 0.05, sigma=1.0, beta=2.0) > 0


def test_coins_that_would_not_be_counted_are_refused():
    with pytest.raises(InvalidInput, match=r"'a' parameter of LinearPHE must be an integer between 1 and 2147483648"):
        LinearPHE(a=2**62)


def test_a_seed_may_be_larger_than_any_count():
    result = simulate(UCB1(), Gaussian(), horizon=10, replications=2, seed=2**127, progress=False)
    assert result.seed == 2**127

import math

import numpy as np
import pytest

from bandstrap.bounds.empirical_kl import solve_dual
from bandstrap.engine.simulator.play import play
from bandstrap.errors import InvalidInput
from bandstrap.policies.empirical_kl_ucb import EmpiricalKLUCB, optimistic_index, solve_arm
from bandstrap.policies.kernels.schedule import exploration
from naive import policies as naive
from policies.learning import choices_on, learned
from sampling import each, telling

SAMPLES = [
    [0.3],
    [1.0],
    [0.0],
    [0.0, 0.0, 0.0],
    [1.0, 1.0],
    [0.0, 1.0],
    [0.2, 0.9, 0.9, 0.4],
    list(np.random.default_rng(1).beta(2, 5, 12).round(3)),
    list(np.random.default_rng(2).random(30).round(3)),
]


@each("sample", SAMPLES, ids=len)
@each("upper", [1.0, 3.0])
@telling("t", [3, 40, 5000], [40])
@each("c", [0.0, 3.0])
def test_index_is_the_one_of_a_general_solver(sample, upper, t, c):
    params, state = learned(EmpiricalKLUCB(upper=upper, c=c), sample, [0.5])
    found = solve_arm(params, state, 0, exploration(t, c) / len(sample))
    assert found == pytest.approx(naive.empirical_kl_index(np.array(sample), upper, t, c), abs=1e-6)


def test_index_on_random_samples_is_the_one_of_a_general_solver():
    rng = np.random.default_rng(3)
    for _ in range(60):
        sample = rng.beta(*rng.uniform(0.3, 5, 2), rng.integers(1, 15)).round(rng.integers(1, 5))
        upper, t = rng.choice([1.0, 1.2, 2.0]), int(rng.integers(2, 5000))
        params, state = learned(EmpiricalKLUCB(upper=upper), sample)
        found = solve_arm(params, state, 0, exploration(t, 0.0) / sample.size)
        assert found == pytest.approx(naive.empirical_kl_index(sample, upper, t), abs=1e-6)


@each("sample", SAMPLES, ids=len)
def test_upper_bound_of_the_index_holds_until_the_next_pull(sample):
    params, state = learned(EmpiricalKLUCB(), sample)
    n = len(sample)
    assert optimistic_index(state, 0, 1.0) == math.inf  # not solved yet
    solve_arm(params, state, 0, math.log(10) / n)
    for t in (10, 11, 20, 200, 10_000):
        exact = solve_dual(np.array(sample), 1.0, math.log(t) / n, -math.inf)[0]
        assert optimistic_index(state, 0, math.log(t) / n) >= exact - 1e-12


@each("law", ["beta", "normal", "coins"])
@each("seed", [0, 1, 2])
def test_lazy_choices_are_those_of_solving_every_arm_in_every_round(law, seed):
    rng = np.random.default_rng(seed)
    horizon = 300
    if law == "beta":
        tape, upper = rng.beta(4, [[4.0], [3.5], [5.0], [6.0]], (4, horizon)), 1.0
    elif law == "normal":
        tape, upper = rng.normal([[0.0], [0.2], [0.3]], 0.5, (3, horizon)), 5.0
    else:
        tape, upper = (rng.random((3, horizon)) < [[0.5], [0.4], [0.55]]).astype(float), 1.0
    choices = choices_on(EmpiricalKLUCB(upper=upper), tape, play)
    pulls = np.ones(len(tape), dtype=int)
    for t in range(len(tape) + 1, horizon + 1):
        indices = np.array([solve_dual(tape[k, :n], upper, math.log(t) / n, -math.inf)[0] for k, n in enumerate(pulls)])
        chosen = choices[t - 1]
        assert indices[chosen] >= indices.max() - 1e-10  # equal samples in another order differ by rounding
        if (indices > indices.max() - 1e-10).sum() == 1:
            assert chosen == indices.argmax()
        pulls[chosen] += 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"upper": math.inf}, "'upper' parameter of EmpiricalKLUCB must be a finite number. Got inf"),
        ({"upper": None}, "'upper' parameter of EmpiricalKLUCB must be a finite number. Got None"),
        ({"c": -1.0}, "'c' parameter of EmpiricalKLUCB must be a finite number of at least 0. Got -1"),
        ({"c": "3"}, "'c' parameter of EmpiricalKLUCB must be .*Got '3'"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        EmpiricalKLUCB(**options)


def test_costs_have_a_lower_end_in_the_min_direction():
    policy = EmpiricalKLUCB(upper=0.0, arms=2, rng=0, direction="min")  # costs are at least 0
    policy.update([0, 1], [3.0, 100.0])
    with pytest.raises(InvalidInput, match=r"must be inside \[(-)?0, inf\]"):
        policy.update(0, -0.5)

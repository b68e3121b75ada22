"""Index policies of constant memory against their formulas: UCB1, KL-UCB, MOSS, UCB-V, UCB1-tuned, CHK-UCB, light tails."""

import math

import numpy as np
import pytest

from bandstrap.engine.simulator.play import play
from bandstrap.errors import InvalidInput
from bandstrap.policies import CHKUCB, KLUCB, MOSS, UCB1, UCBV, LightTailedUCB, UCBTuned
from naive import indices as naive
from naive import policies
from policies.learning import choices_on, scores
from sampling import each

N_ARMS = 4
INDICES = [
    pytest.param(policy, index, id=policy.label)
    for policy, index in [
        (UCB1(), lambda y, t: policies.ucb1_index(y, policies.anytime(t), 1.0)),
        (UCB1(sigma=0.3), lambda y, t: policies.ucb1_index(y, policies.anytime(t), 0.3)),
        (KLUCB(), lambda y, t: naive.kl_ucb_index(y, t)),
        (KLUCB(c=3.0), lambda y, t: naive.kl_ucb_index(y, t, c=3.0)),
        (KLUCB(plus=True), lambda y, t: naive.kl_ucb_index(y, t, plus=True)),
        (KLUCB(divergence="gaussian", sigma=0.4), lambda y, t: naive.kl_ucb_index(y, t, "gaussian", 0.4)),
        (
            KLUCB(divergence="gaussian", plus=True, c=1.0),
            lambda y, t: naive.kl_ucb_index(y, t, "gaussian", plus=True, c=1.0),
        ),
        (MOSS(), lambda y, t: naive.moss_index(y, t, N_ARMS, 1.0, 2.0, None)),
        (MOSS(sigma=0.5, c=4.0, horizon=900), lambda y, t: naive.moss_index(y, t, N_ARMS, 0.5, 4.0, 900)),
        (UCBV(), lambda y, t: naive.ucb_v_index(y, t, 1.0, 1.0, 1.0)),
        (UCBV(upper=3.0, zeta=1.2, c=0.3), lambda y, t: naive.ucb_v_index(y, t, 3.0, 1.2, 0.3)),
        (UCBTuned(), lambda y, t: naive.ucb_tuned_index(y, t, 1.0)),
        (UCBTuned(upper=3.0), lambda y, t: naive.ucb_tuned_index(y, t, 3.0)),
        (CHKUCB(), naive.chk_ucb_index),
        (LightTailedUCB(), lambda y, t: naive.light_tailed_index(y, t, N_ARMS, 1.0, 1.0, 1.0, 0.5, 0.5)),
        (
            LightTailedUCB(sigma=0.3, eta1=2.0, eta2=0.5, exponent=0.75, beta=0.25),
            lambda y, t: naive.light_tailed_index(y, t, N_ARMS, 0.3, 2.0, 0.5, 0.75, 0.25),
        ),
        (LightTailedUCB(horizon=900), lambda y, t: naive.light_tailed_index(y, 900, N_ARMS, 1, 1, 1, 0.5, 0.5)),
    ]
]
SAMPLES = [
    [[0.3], [1.0], [0.0], [0.5, 0.5]],
    [[0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], [0.2, 0.9, 0.9, 0.4]],
    [np.random.default_rng(n).beta(2, 3, size) for n, size in enumerate((3, 10, 60, 300))],
]


@each(("policy", "index"), INDICES)
@each("samples", SAMPLES, ids=["few", "equal", "many"])
@each("extra", [1, 40, 5000])
def test_scores_are_the_formula(policy, index, samples, extra):
    t = sum(map(len, samples)) + extra
    expected = [index(np.array(y), t) for y in samples]
    assert scores(policy, samples, t) == pytest.approx(expected, rel=1e-9)


@each(("policy", "index"), INDICES)
def test_choices_are_those_of_the_formula_over_a_run(policy, index):
    tape = np.random.default_rng(2).beta([[2.0], [2.2], [3.0], [3.5]], 3, (N_ARMS, 200))
    order = [2, 0, 3, 1]
    choices = choices_on(policy, tape, by=play, order=order).tolist()
    if isinstance(policy, CHKUCB):  # three pulls first
        pulls = [3] * N_ARMS
        for t in range(13, 201):
            indices = [index(tape[k, :n], t) for k, n in enumerate(pulls)]
            assert indices[choices[t - 1]] >= max(indices) - 1e-9
            pulls[choices[t - 1]] += 1
        return
    expected, narrowest = policies.play(index, tape, 200, order)
    assert choices == expected or narrowest < 1e-9  # no tie for rounding to break
    assert narrowest > 1e-9 or isinstance(policy, MOSS)  # MOSS gives well-explored arms their mean


@each(
    ("make", "message"),
    [
        (
            lambda: KLUCB(divergence="poisson"),
            r"'divergence'.*KLUCB must be one of 'bernoulli', 'gaussian'. Got 'poisson'",
        ),
        (lambda: KLUCB(sigma=0), r"'sigma' parameter of KLUCB must be a finite number greater than 0. Got 0"),
        (lambda: KLUCB(c=-1), r"'c' parameter of KLUCB must be a finite number of at least 0. Got -1"),
        (lambda: MOSS(sigma="1"), r"'sigma' parameter of MOSS must be a finite number greater than 0. Got '1'"),
        (lambda: MOSS(c=0), r"'c' parameter of MOSS must be a finite number greater than 0. Got 0"),
        (lambda: MOSS(horizon=0), r"'horizon' parameter of MOSS must be an integer of at least 1. Got 0"),
        (lambda: LightTailedUCB(exponent=0.4), r"'exponent' parameter of LightTailedUCB must be at least 1/2. Got 0.4"),
        (
            lambda: LightTailedUCB(beta=0.6),
            r"'beta' parameter of LightTailedUCB must be at most the exponent 0.5. Got 0.6",
        ),
        (lambda: LightTailedUCB(eta1=0), r"'eta1' parameter of LightTailedUCB must be a finite number greater than 0"),
        (lambda: UCBV(upper=-1), r"'upper' parameter of UCBV must be a finite number greater than 0. Got -1"),
        (lambda: UCBV(zeta=math.nan), r"'zeta' parameter of UCBV must be a finite number greater than 0. Got nan"),
        (lambda: UCBV(c=None), r"'c' parameter of UCBV must be a finite number greater than 0. Got None"),
        (lambda: UCBTuned(upper=0), r"'upper' parameter of UCBTuned must be a finite number greater than 0. Got 0"),
    ],
)
def test_bad_parameters_are_refused(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


@each("sigma", [0, -1, np.inf, np.nan, None, "2", True])
def test_a_scale_that_is_none_is_refused(sigma):
    with pytest.raises(InvalidInput, match=r"'sigma' parameter of UCB1 must be a finite number greater than 0. Got"):
        UCB1(sigma=sigma)


def test_ranges_follow_the_parameters():
    assert KLUCB().support == (0, 1)
    assert KLUCB(divergence="gaussian").support == (-math.inf, math.inf)
    assert UCBV(upper=3.0).support == UCBTuned(upper=3.0).support == (0, 3)


def test_costs_up_to_the_largest_are_gains_from_it_down():
    gains, costs = UCBV(arms=2, upper=4.0, rng=0), UCBV(arms=2, upper=4.0, rng=0, direction="min")
    gains.update([0, 1], [1.0, 2.5])
    costs.update([0, 1], [3.0, 1.5])
    assert gains._state == costs._state


def test_chk_ucb_waits_for_three_rewards_of_each_arm():
    policy = CHKUCB(arms=2, rng=0)
    assert [policy.select() for _ in range(6)] == [0, 1, 0, 1, 0, 1]
    policy.update([0, 1, 1, 1], [5.0, 0.0, 0.1, 0.2])
    assert policy.select() == 0  # its bound is infinite

"""AIM against its paper's equations."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial.hermite_e import hermegauss
from scipy import special

from bandstrap import AIM
from bandstrap.engine.simulator.play import play
from bandstrap.policies.aim import distance_to_crossing
from naive import indices as naive
from policies.learning import choices_on, learned

REWARDS = st.lists(st.integers(-50, 50).map(lambda y: y / 8), min_size=1, max_size=12)


@given(st.lists(REWARDS, min_size=1, max_size=4), st.sampled_from([0.3, 1.0, 2.0]))
def test_the_arm_is_that_of_the_largest_increment(samples, sigma):
    params, state = learned(AIM(sigma=sigma), *samples)
    means = [np.mean(y) for y in samples]
    leader = int(np.argmax(means))
    chosen = AIM.kernel.choose(params, state, sum(map(len, samples)) + 1, None)
    if means.count(means[leader]) > 1:
        return
    if any(len(y) >= len(samples[leader]) for k, y in enumerate(samples) if k != leader) or len(samples) == 1:
        assert chosen == leader
        return
    increments = naive.aim_increments(samples, leader, sigma)
    top = max(increments.values())
    if abs(top) > 1e-12:
        assert chosen == leader if top < 0 else increments[chosen] >= top - 1e-12


def test_choices_are_those_of_the_formula_over_a_run():
    tape = np.random.default_rng(4).normal([[0.0], [0.3], [0.5]], 1.0, (3, 150))
    pulls = [1, 1, 1]
    for chosen in choices_on(AIM(), tape, by=play).tolist()[3:]:
        samples = [tape[k, :n] for k, n in enumerate(pulls)]
        leader = int(np.argmax([y.mean() for y in samples]))
        others = [n for k, n in enumerate(pulls) if k != leader]
        increments = {} if max(others) >= pulls[leader] else naive.aim_increments(samples, leader, 1.0)
        best = max(increments, key=increments.get, default=leader)
        assert chosen == (best if increments.get(best, -1.0) > 0 else leader)
        pulls[chosen] += 1


@pytest.mark.parametrize(("n", "best", "gap"), [(60, 4000, 0.2), (200, 30_000, 0.15), (30, 2000, 0.3)])
def test_the_increment_is_the_difference_of_mean_entropies(n, best, gap):
    # Of equations (26) and (28), by quadrature over the next reward, with the crossing moved as in (30) and (33). The paper
    # expands to first order in 1/n; a wrong sign or factor of a term is off by a third or more.
    def entropy(distance, n, best):
        body = 0.5 * math.log(2 * math.pi * math.e / best) * (1 - special.erfc(math.sqrt(n / 2) * distance) / 2)
        return body + math.sqrt(n / (8 * math.pi)) * distance * math.exp(-n * distance**2 / 2)

    d = distance_to_crossing(float(n), float(best), gap)
    nodes, weights = hermegauss(40)
    weights = weights / weights.sum()
    of_best = sum(w * entropy(d + x / (best + 1), n, best + 1) for x, w in zip(nodes, weights, strict=True))
    of_other = sum(w * entropy(d - x / (n + 1), n + 1, best) for x, w in zip(nodes, weights, strict=True))
    samples = [np.zeros(n), np.full(best, gap)]
    found = naive.aim_increments(samples, 1, 1.0)[0]
    assert found == pytest.approx(of_best - of_other, rel=0.25, abs=0.1 / best)

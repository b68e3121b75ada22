"""Compiled loops over the functions of bootstrapped UCB, for tests that need many draws.

A module of its own: numba's disk cache remembers the name a function's module was imported by, and the name of a test
module depends on how pytest was started.
"""

from bandstrap.engine.kernel import Entry
from bandstrap.policies.bootstrap_index import learn, literal_quantile


def learn_all(params, state, arm, rewards, rng):
    for reward in rewards:
        learn(params, state, arm, reward, 1, rng)


def literal_quantiles(params, state, arm, rank, rng, out):
    for i in range(out.size):
        out[i] = literal_quantile(params, state, arm, rank, rng)


compiled_learn = Entry(learn_all).compiled
compiled_literal_quantiles = Entry(literal_quantiles).compiled

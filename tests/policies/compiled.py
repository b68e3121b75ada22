"""Compiled loops over the functions of bootstrapped UCB, for tests that need many draws.

A module of its own: numba's disk cache remembers the name a function's module was imported by, and the name of a test
module depends on how pytest was started.
"""

from bandstrap.engine.kernel import Entry
from bandstrap.policies.bootstrapped_ucb import learn, main_term


def learn_all(params, state, arm, rewards, rng):
    for reward in rewards:
        learn(params, state, arm, reward, 1, rng)


def main_terms(params, state, arm, shared, rng, out):
    for i in range(out.size):
        out[i] = main_term(params, state, arm, shared, rng)


compiled_learn = Entry(learn_all).compiled
compiled_main_terms = Entry(main_terms).compiled

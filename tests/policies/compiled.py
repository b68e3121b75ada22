"""Compiled loops over the functions of bootstrapped UCB, for tests that need many draws.

A module of its own: numba's disk cache remembers the name a function's module was imported by, and the name of a test
module depends on how pytest was started.
"""

from bandstrap.engine.compiler.kernel import Entry
from bandstrap.policies.kernels.bootstrap_index import (
    curve_learn,
    literal_learn,
    literal_quantile,
    sign_learn,
    streaming_learn,
)


def learn_signs(params, state, arm, rewards, rng):
    for reward in rewards:
        sign_learn(params, state, arm, reward, 1, rng)


def learn_curve(params, state, arm, rewards, rng):
    for reward in rewards:
        curve_learn(params, state, arm, reward, 1, rng)


def learn_literally(params, state, arm, rewards, rng):
    for reward in rewards:
        literal_learn(params, state, arm, reward, 1, rng)


def learn_streaming(params, state, arm, rewards, rng):
    for reward in rewards:
        streaming_learn(params, state, arm, reward, 1, rng)


def literal_quantiles(params, state, arm, shared, rng, out):
    for i in range(out.size):
        out[i] = literal_quantile(params, state, arm, shared, rng)


compiled_learn = {
    sign_learn: Entry(learn_signs).compiled,
    curve_learn: Entry(learn_curve).compiled,
    literal_learn: Entry(learn_literally).compiled,
    streaming_learn: Entry(learn_streaming).compiled,
}
compiled_literal_quantiles = Entry(literal_quantiles).compiled

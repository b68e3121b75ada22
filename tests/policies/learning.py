"""A policy's kernel on given samples, for tests of scores, draws and choices."""

from itertools import count

import numpy as np

from bandstrap.engine.simulator.play import Game, compiled_play


def learned(policy, *samples, seed=0):
    """Parameters, and a state that has seen the samples, one for each arm; ``seed`` may be a generator."""
    rng = np.random.default_rng(seed)
    state = policy.start(len(samples), max(map(len, samples)), rng)
    params = policy.make_params(None)
    rounds = count(1)
    for arm, sample in enumerate(samples):
        for reward in sample:
            policy.kernel.learn(params, state, arm, float(reward), next(rounds), rng)
    return params, state


def scores(policy, samples, t, seed=0):
    """The score of each arm in round ``t``."""
    params, state = learned(policy, *samples)
    shared = policy.kernel.prepare(params, state, t)
    rng = np.random.default_rng(seed)
    return [policy.kernel.score(params, state, arm, shared, rng) for arm in range(len(samples))]


def draws(policy, sample, size, seed=0):
    """Scores of one arm, again and again; ``seed`` may be a generator."""
    params, state = learned(policy, sample)
    shared = policy.kernel.prepare(params, state, 10)
    rng = np.random.default_rng(seed)
    return np.array([policy.kernel.score(params, state, 0, shared, rng) for _ in range(size)])


class Exponentials:
    """A generator whose exponential draws are all one number."""

    def __init__(self, value):
        self.value = value

    def standard_exponential(self):
        return self.value


def indices_of(policy, samples, t, rng=None):
    """Indices of arms that have these rewards, in the units of rewards, of a policy that has units of its own."""
    params, state = learned(policy, *samples)
    shared = policy.kernel.prepare(params, state, t)
    top = shared.best_first + shared.best_step
    return [top + shared.unit * policy.kernel.score(params, state, arm, shared, rng) for arm in range(len(samples))]


def choices_on(policy, tape, by=compiled_play, order=None):
    """Choices on a tape of rewards, with ties broken in an order."""
    rng = np.random.default_rng(5)
    n_arms, horizon = tape.shape
    state = policy.start(n_arms, horizon, rng)
    if order is not None:
        state.order[:] = order
    choices = np.empty(horizon, dtype=np.int64)
    by(policy.kernel, Game.begin(policy.make_params(horizon), state, tape, choices, policy.n_initial), rng)
    return choices

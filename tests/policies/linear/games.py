"""Games of linear bandits for tests: actions and rewards, and the choices a policy makes."""

import numpy as np

from bandstrap.engine.simulator.play import Game, play


def game(d=3, n_actions=6, horizon=60, contextual=False, seed=0):
    """Sets of actions, one or as many as rounds, and a tape of rewards that are linear but for normal noise."""
    rng = np.random.default_rng(seed)
    sets = rng.uniform(-1, 1, (horizon if contextual else 1, n_actions, d))
    tape = (sets @ rng.normal(size=d)).T + rng.normal(size=(n_actions, horizon))
    return sets, np.ascontiguousarray(tape)


def played(policy, action_sets, tape, horizon, seed=0):
    """The actions a policy chooses."""
    rng = np.random.default_rng(seed)
    state = policy.start(action_sets.shape[2], horizon, rng)
    choices = np.full(horizon, -1)
    by_round = len(action_sets) > 1
    play(policy.kernel, Game.begin(policy.make_params(horizon), state, tape, choices, 0, by_round, action_sets), rng)
    return choices.tolist()

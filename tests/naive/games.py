"""Replications as their definition says: an arm's pull number ``i`` gives number ``i`` of that arm, whoever plays.

Every number is drawn when somebody asks for it, everything is a list, and the formulas of policies run as plain Python.
"""

from itertools import accumulate

import numpy as np

from bandstrap.engine.compiler import steps
from naive.feedback import play_with_dictionary

ENVIRONMENT, POLICY, DELAY, LOSS, REWARDS = range(5)


def generator(seed, *spawn_key):
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=spawn_key)))


class OnTape:
    """All numbers are drawn before play."""

    def __init__(self, environment, horizon, seed, replication):
        self.means_, self.rewards_, *sets = environment.tape(horizon, generator(seed, replication, ENVIRONMENT))
        self.sets = sets[0] if sets else None

    def means(self, t):
        return self.means_[t - 1] if self.means_.ndim == 2 else self.means_

    def actions(self, t):
        return self.sets[0 if len(self.sets) == 1 else t - 1]

    def reward(self, t, arm, i):
        return self.rewards_[arm, t - 1 if self.means_.ndim == 2 else i]


class Endless:
    """Numbers are drawn in rows of ``length``, each by its own Philox; of changing actions, in as many rounds."""

    def __init__(self, environment, seed, replication, length):
        self.environment, self.length = environment, length
        self.world = environment.draw_world(generator(seed, replication, ENVIRONMENT))
        self.key = np.random.SeedSequence(seed, spawn_key=(replication, REWARDS)).generate_state(2, np.uint64)
        self.rows = {}

    def row(self, arm, number):
        if (arm, number) not in self.rows:
            rng = np.random.Generator(np.random.Philox(key=self.key, counter=2**192 * arm + 2**64 * number))
            if self.environment.drawn_by == "round":
                self.rows[arm, number] = self.environment.draw_rounds(self.world, self.length, rng)
            else:
                self.rows[arm, number] = self.environment.draw_arm(self.world, arm, self.length, rng)
        return self.rows[arm, number]

    def of_round(self, t):
        number, place = divmod(t - 1, self.length)
        means, rewards, sets = self.row(0, number)
        return means[place], rewards[:, place], sets[place]

    def means(self, t):
        return self.of_round(t)[0] if self.environment.drawn_by == "round" else self.world[0]

    def actions(self, t):
        return self.of_round(t)[2] if self.environment.drawn_by == "round" else self.world[1][0]

    def reward(self, t, arm, i):
        if self.environment.drawn_by == "round":
            return self.of_round(t)[1][arm]
        return self.row(arm, i // self.length)[i % self.length]


def game(policy, world, n_arms, horizon, seed, replication, *, delay=0, batch=1, lost=0.0):
    """Choices of one policy, its regret after each round, and the pulls of each arm."""
    rng = generator(seed, replication, POLICY)
    if isinstance(delay, int):
        delays = [delay] * horizon
    else:
        delays = delay.rvs(size=horizon, random_state=generator(seed, replication, DELAY)).tolist()
    is_lost = (generator(seed, replication, LOSS).random(horizon) < lost).tolist()
    decide, learn = player(policy, world, n_arms, horizon, rng)
    choices = play_with_dictionary(decide, learn, world.reward, delays=delays, lost=is_lost, batch=batch)
    losses = [world.means(t).max() - world.means(t)[arm] for t, arm in enumerate(choices, start=1)]
    return choices, list(accumulate(losses)), [choices.count(arm) for arm in range(n_arms)]


def player(policy, world, n_arms, horizon, rng):
    """What decides, and what learns."""
    if isinstance(policy, type):
        live = policy(n_arms=n_arms, rng=rng)
        return lambda t: live.select(), lambda t, arm, reward: live.update(arm, float(reward))
    params, kernel = policy.make_params(horizon), policy.kernel
    if policy.plays == "actions":
        state, n_learned = policy.start(world.actions(1).shape[1], horizon, rng), [0]

        def decide(t):
            return int(steps.select_action(kernel, params, state, world.actions(t), n_learned[0] + 1, rng, [0, 0]))

        def learn(t, arm, reward):
            n_learned[0] += 1
            steps.learn(kernel, params, state, world.actions(t)[arm], reward, n_learned[0], rng)

        return decide, learn
    state, learned = policy.start(n_arms, horizon, rng), []

    def decide_among_arms(t):
        if any(learned.count(arm) < policy.n_initial for arm in range(n_arms)):
            return (t - 1) % n_arms
        return int(steps.select(kernel, params, state, len(learned) + 1, rng, [0, 0]))

    def learn_of_arm(t, arm, reward):
        learned.append(arm)
        steps.learn(kernel, params, state, arm, reward, len(learned), rng)

    return decide_among_arms, learn_of_arm

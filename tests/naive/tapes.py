"""The whole tape of a world that is played without one."""

import numpy as np

from bandstrap.engine.simulator.tape import opened

ENVIRONMENT, REWARDS = 0, 4  # purposes of a replication's streams


def whole_tape(environment, horizon, seed, replication, length):
    """Means, rewards and whatever else a world keeps, the rewards put together from rows of a given length."""
    of_world = np.random.SeedSequence(seed, spawn_key=(replication, ENVIRONMENT))
    world = environment.draw_world(np.random.Generator(np.random.PCG64(of_world)))
    key = np.random.SeedSequence(seed, spawn_key=(replication, REWARDS)).generate_state(2, np.uint64)
    if environment.drawn_by == "round":
        parts = []
        for row in range(horizon // length + 1):
            rng = np.random.Generator(np.random.Philox(key=key, counter=2**64 * row))
            parts.append(environment.draw_rounds(world, length, rng))
        means, rewards, sets = zip(*parts, strict=True)
        return (
            np.concatenate(means)[:horizon],
            np.ascontiguousarray(np.concatenate(rewards, axis=1)[:, :horizon]),
            np.concatenate(sets)[:horizon],
        )
    tape = np.empty((environment.n_arms, horizon + length))
    for arm in range(environment.n_arms):
        for row in range(horizon // length + 1):
            rng = np.random.Generator(np.random.Philox(key=key, counter=2**192 * arm + 2**64 * row))
            tape[arm, row * length : (row + 1) * length] = environment.draw_arm(world, arm, length, rng)
    return world[0], np.ascontiguousarray(tape[:, :horizon]), *world[1:]


def fed_in_rows(run, tape, n_rounds, length=7):
    """A game on a whole tape of which ``run(rows, bookmark)`` sees a short row of each arm at a time."""
    n_arms = len(tape)
    tape = np.pad(tape, ((0, 0), (0, length)))
    rows, first = tape[:, :length].copy(), np.zeros(n_arms, dtype=np.int64)
    bookmark = opened(n_arms, n_rounds, 0)
    n_stops = 0
    while bookmark.n_played[0] < n_rounds:
        run(rows, bookmark)
        for arm in np.flatnonzero(bookmark.used == length):
            first[arm] += length
            rows[arm] = tape[arm, first[arm] : first[arm] + length]
            bookmark.used[arm] = 0
        n_stops += 1
    return n_stops

"""Environments that change, round by round from their definition: each reward from the distribution of its round."""

import math


def progress(drift, t, horizon, at, waves):
    """How far means have moved in round ``t``, from 1."""
    x = (t - 0.5) / horizon
    if drift == "trend":
        return x
    if drift == "jump":
        return 1.0 if x >= at else 0.0
    return (1 - math.cos(2 * math.pi * waves * x)) / 2


def means_of_rounds(means, horizon, *, drift="swap", factor=1.0, shift=0.0, at=0.5, waves=2.0):
    """The arms' means in each round."""
    if drift != "swap":
        moved = [progress(drift, t, horizon, at, waves) for t in range(1, horizon + 1)]
        return [[mean * (1 + (factor - 1) * u) + shift * u for mean in means] for u in moved]
    ranked = sorted(range(len(means)), key=lambda arm: (means[arm], arm))
    other = dict(zip(ranked, reversed(ranked), strict=True))
    swapped = [means[other[arm]] for arm in range(len(means))]
    return [swapped if (t - 0.5) / horizon >= at else list(means) for t in range(1, horizon + 1)]


def bernoulli_rewards(by_round, rng):
    """Zeros and ones: a uniform number for each arm and round, the arms one after the other."""
    n_arms = len(by_round[0])
    uniforms = rng.random((n_arms, len(by_round)))
    return [[float(uniforms[arm, t] < row[arm]) for t, row in enumerate(by_round)] for arm in range(n_arms)]

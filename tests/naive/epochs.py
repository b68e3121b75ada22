"""Epochs swept by explicit least squares: a column for each arm and a dummy for each epoch, all rewards as rows."""

import math

import numpy as np

SWEPT = 0.9999


def weights_of(epochs, discount):
    """What a reward counts: discounted once for each epoch that ended since."""
    last = max(epochs)
    return np.array([discount ** (last - epoch) for epoch in epochs])


def columns(values, kinds):
    return np.array([[float(value == kind) for kind in kinds] for value in values])


def swept(arms, rewards, epochs, n_arms, strength, discount=1.0):
    """Means and effective pulls of the arms, by least squares on two copies of the data.

    One copy, of weight ``1 - strength``, is explained by arms alone; the other by arms and epochs. The pulls are those of
    independent rewards whose mean has the variance, in units of that of a reward, that least squares gives the arm's effect
    less the mean effect, and 1/N for the mean of all.
    """
    weights = weights_of(epochs, discount)
    rewards = np.asarray(rewards, dtype=float)
    of_arms, of_epochs = columns(arms, range(n_arms)), columns(epochs, sorted(set(epochs)))
    design = np.block([[of_arms, np.zeros_like(of_epochs)], [of_arms, of_epochs]])
    both = np.concatenate([(1 - strength) * weights, strength * weights])
    information = design.T @ (both[:, None] * design)
    centred = rewards - np.average(rewards, weights=weights)
    found = np.linalg.pinv(information, rcond=1e-13) @ (design.T @ (both * np.concatenate([centred, centred])))
    covariance = np.linalg.pinv(information, rcond=1e-13)[:n_arms, :n_arms]
    pulls = of_arms.T @ weights
    total = weights.sum()
    means, effective = [], []
    for arm in range(n_arms):
        c = np.eye(n_arms)[arm] - pulls / total
        means.append(np.average(rewards, weights=weights) + c @ found[:n_arms])
        effective.append(1 / (1 / total + c @ covariance @ c))
    return np.array(means), np.array(effective)


def left_over(arms, rewards, n_arms, *others):
    """The squares that least squares with a column for each arm, and others, leaves."""
    design, rows = np.hstack([columns(arms, range(n_arms)), *others]), np.asarray(rewards, dtype=float)
    found = np.linalg.lstsq(design, rows, rcond=None)[0]
    return float(((rows - design @ found) ** 2).sum())


def drifts(arms, rewards, epochs, n_arms):
    """Whether the F test finds effects of epochs, all at their end, or the t test a trend; and both over their limits."""
    n_epochs, n = len(set(epochs)), len(rewards)
    if n_epochs <= 3:
        return False, 0.0, 0.0
    without = left_over(arms, rewards, n_arms)
    within = left_over(arms, rewards, n_arms, columns(epochs, sorted(set(epochs))))
    ratio = ((without - within) / (n_epochs - 1)) / (within / (n - len(set(arms)) - n_epochs + 1))
    beside = left_over(arms, rewards, n_arms, np.arange(n, dtype=float)[:, None])
    square = (without - beside) / (beside / (n - len(set(arms)) - 1))
    shares = ratio / (1 + 2 * math.sqrt(2 / (n_epochs - 1))), square / 9
    return max(shares) > 1, *shares

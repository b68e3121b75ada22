"""Contextual policies by whole design matrices: every prediction solves the ridge regression of all rewards anew."""

import math

import numpy as np
from scipy import stats


class Oracle:
    """All contexts, arms and rewards, and what follows from them."""

    def __init__(self, n_arms, dimension, model, features=None, ridge="shrunk", scaled=True):
        self.n_arms, self.d, self.model, self.scaled = n_arms, dimension + 1, model, scaled
        self.codes = [[] if model == "disjoint" else [1.0, *(features[k] if features else [])] for k in range(n_arms)]
        self.shrinks = ridge == "shrunk"
        slope, intercept = (self.d / 5, 2.0) if self.shrinks else (1.0, 1.0)
        own = 0 if model == "shared" else n_arms
        self.own = own
        n_blocks = own + len(self.codes[0])
        self.penalty = np.diag(np.tile([intercept] + [slope] * (self.d - 1), n_blocks))
        self.contexts, self.arms, self.rewards = [], [], []
        self.centre, self.spread = np.zeros(self.d), np.ones(self.d)
        self.squares = np.zeros(n_arms)

    def row(self, context, arm):
        """The whole row of the design: a block for each arm's own coefficients, then the shared ones."""
        x = np.concatenate([[1.0], (context - self.centre[1:]) / self.spread[1:]])
        x = np.where(np.isnan(x), 0.0, x)
        blocks = [x * (k == arm) for k in range(self.own)] + [x * code for code in self.codes[arm]]
        return np.concatenate(blocks)

    def add(self, context, arm, reward):
        self.contexts.append(np.array(context, dtype=float))
        self.arms.append(arm)
        self.rewards.append(reward)
        n = len(self.rewards)
        if self.scaled and n in (2, 4, 8, 16, 32, 64, 128):
            seen = np.array(self.contexts)
            self.centre[1:] = np.nanmean(seen, axis=0)
            deviations = np.sqrt(np.nanmean((seen - self.centre[1:]) ** 2, axis=0))
            self.spread[1:] = np.where(deviations > 0, deviations, 1.0)
            self.squares[:] = 0.0
            self.begin()
            for i in range(n):
                self.innovate(i)
        else:
            if n == 1:
                self.begin()
            self.innovate(n - 1)

    def begin(self):
        self.V = self.penalty.copy()
        self.b, self.c = np.zeros(len(self.penalty)), np.zeros(len(self.penalty))

    def innovate(self, i):
        x = self.row(self.contexts[i], self.arms[i])
        if i > 0 or not self.shrinks:
            m = np.mean(self.rewards[:i]) if self.shrinks else 0.0
            f, v = self.solved(x, m)
            self.squares[self.arms[i]] += (self.rewards[i] - f) ** 2 / (1 + v)
        self.V += np.outer(x, x)
        self.b += x * self.rewards[i]
        self.c += x

    def solved(self, x, m):
        """Prediction and leverage by one solve."""
        direction = np.linalg.solve(self.V, x)
        return m + direction @ (self.b - m * self.c), x @ direction

    def look(self, context):
        m = np.mean(self.rewards) if self.shrinks else 0.0
        found = [self.solved(self.row(context, k), m) for k in range(self.n_arms)]
        return np.array(found).T

    def share_indices(self, context):
        """The index of ShareUCB."""
        f, v = self.look(context)
        n = np.bincount(self.arms, minlength=self.n_arms)
        known = n > 0
        w = np.minimum(n[known], 20)
        variances = self.squares[known] / n[known]
        pooled = (w * variances).sum() / w.sum()
        h = ((w * ((variances / pooled - 1) ** 2 - 2 / n[known])).sum() + 5) / (w.sum() + 10)
        prior = 50.0 if h <= 0 else min(max(2 / h - 1, 2.0), 50.0)
        nu = n + prior
        s = np.sqrt((self.squares + prior * pooled) / nu)
        level = np.minimum(0.5, max(4, self.n_arms - 1) / v / (1 / v).sum())
        z = stats.norm.isf(0.9 * level)
        return f + s * np.sqrt(v * nu * (np.exp(z * z / nu) - 1))

    def lin_ucb_indices(self, context, width):
        f, v = self.look(context)
        return f + width * np.sqrt(v)

    def oful_indices(self, context, sigma, theta_bound, delta):
        """The radius from the determinants of an arm's own and of the shared block that is left of it."""
        f, v = self.look(context)
        found = []
        for k in range(self.n_arms):
            keep = [i for block in ([k] if self.own else []) for i in range(block * self.d, (block + 1) * self.d)]
            own = self.own * self.d
            shared = list(range(own, len(self.V)))
            total = 0.0
            if keep:
                total += np.linalg.slogdet(self.V[np.ix_(keep, keep)])[1]
                total -= np.linalg.slogdet(self.penalty[np.ix_(keep, keep)])[1]
            if shared:
                rest = self.V[np.ix_(shared, shared)].copy()
                if own:
                    cross = self.V[:own, own:]
                    rest -= cross.T @ np.linalg.solve(self.V[:own, :own], cross)
                total += np.linalg.slogdet(rest)[1] - np.linalg.slogdet(self.penalty[np.ix_(shared, shared)])[1]
            radius = theta_bound + sigma * math.sqrt(max(total, 0.0) - 2 * math.log(delta))
            found.append(f[k] + radius * math.sqrt(v[k]))
        return np.array(found)

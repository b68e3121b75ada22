"""Bootstrapped bounds of any estimator by the formula: everything is fitted anew for each question."""

import numpy as np
from scipy import stats


class Weighted:
    """Ridge regression with an intercept, whose rewards may have weights; by whole matrices."""

    def __init__(self, penalty=1.0):
        self.penalty = penalty

    def fit(self, x, y, sample_weight):
        rows = np.column_stack([np.ones(len(x)), x])
        weighted = rows.T * sample_weight
        self.theta = np.linalg.solve(weighted @ rows + self.penalty * np.eye(rows.shape[1]), weighted @ y)

    def predict(self, x):
        return np.column_stack([np.ones(len(x)), x]) @ self.theta


def fitted(x, y, weights, make):
    """A fit, or the mean where there is nothing to learn."""
    used = weights > 0
    if not used.any():
        return None
    if np.ptp(y[used]) == 0:
        level = y[used].mean()
        return lambda _: level
    model = make()
    model.fit(x[used], y[used], weights[used])
    return lambda context: float(model.predict(context[None, :])[0])


def looked(rows, context, n_arms, weights, make):
    """Pulls, predictions and spreads of all arms; ``rows`` are numbers of observations with arm, reward and context."""
    everything = np.mean([row[2] for row in rows])
    found = []
    for arm in range(n_arms):
        own = [row for row in rows if row[1] == arm]
        if not own:
            found.append((0, everything, 0.0))
            continue
        y, x = np.array([row[2] for row in own]), np.array([row[3] for row in own])
        if np.ptp(y) == 0:
            found.append((len(own), y.mean(), 0.0))
            continue
        drawn = np.array([weights(row[0]) for row in own])
        first = fitted(x, y, np.ones(len(y)), make)(context)
        models = [fitted(x, y, column, make) for column in drawn.T]
        others = [first if model is None else model(context) for model in models]
        found.append((len(own), first, np.mean([(other - first) ** 2 for other in others])))
    return found


def indices(rows, context, n_arms, weights, make):
    """The index of each arm, from all rewards anew."""
    squares = np.zeros(n_arms)
    for i in range(1, len(rows)):
        arm = rows[i][1]
        pulls, fit, spread = looked(rows[:i], rows[i][3], n_arms, weights, make)[arm]
        _, s = scales(np.array([pulls]), np.array([squares[arm]]))
        leverage = max(spread / s[0] ** 2, 1 / (pulls + 2))
        squares[arm] += (rows[i][2] - fit) ** 2 / (1 + leverage)
    pulls, fits, spreads = map(np.array, zip(*looked(rows, context, n_arms, weights, make), strict=True))
    nu, s = scales(pulls, squares)
    v = np.maximum(spreads / s**2, 1 / (pulls + 2))
    level = np.minimum(0.5, max(4, n_arms - 1) / v / (1 / v).sum())
    z = stats.norm.isf(0.9 * level)
    return fits + s * np.sqrt(v * nu * (np.exp(z * z / nu) - 1))


def scales(pulls, squares):
    """Degrees of freedom and standard deviations of innovations."""
    known = pulls > 0
    w = np.minimum(pulls[known], 20)
    if not (known.any() and (w * squares[known] / pulls[known]).sum() > 0):
        return pulls + 50.0, np.sqrt((squares + 50.0) / (pulls + 50.0))
    ratios = squares[known] / pulls[known]
    pooled = (w * ratios).sum() / w.sum()
    h = ((w * ((ratios / pooled - 1) ** 2 - 2 / pulls[known])).sum() + 5) / (w.sum() + 10)
    prior = 50.0 if h <= 0 else min(max(2 / h - 1, 2.0), 50.0)
    nu = pulls + prior
    return nu, np.sqrt((squares + prior * pooled) / nu)

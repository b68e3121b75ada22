"""An estimator and its bootstrap replicates for one arm: refitted now and then, or reward by reward."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from bandstrap.basics.arrays import Floats


class Replicates:
    """An estimator and its replicates; each observation has the same weights whenever it is used.

    Parameters
    ----------
    fresh
        Makes an estimator that has learned nothing.
    weights
        The weights of an observation in all replicates, by its number.
    every
        After how many rewards estimators are fitted anew; ``None`` to have each reward learned at once.
    """

    def __init__(self, fresh: Callable[[], Any], weights: Callable[[int], Floats], every: int | None) -> None:
        self._fresh, self._weights, self._every = fresh, weights, every
        self._models: list[Any] = []
        self._contexts: list[Floats] = []
        self._rewards: list[float] = []
        self._rows: list[Floats] = []
        self._n_fitted = 0
        self._sum, self._low, self._high = 0.0, np.inf, -np.inf
        self.n = 0

    def add(self, context: Floats, reward: float, number: int) -> None:
        """Learn a reward, which is observation ``number`` of the policy."""
        weights = np.concatenate([[1.0], self._weights(number)])
        self.n += 1
        self._sum += reward
        self._low, self._high = min(self._low, reward), max(self._high, reward)
        if self._every is None:
            self._learn(context, reward, weights)
            return
        self._contexts.append(context)
        self._rewards.append(reward)
        self._rows.append(weights)
        # After 1, 2, 4, 8, ... rewards, and then every so many.
        if self.n - self._n_fitted >= min(self._every, max(self._n_fitted, 1)):
            self._refit()

    def _learn(self, context: Floats, reward: float, weights: Floats) -> None:
        if not self._models:
            self._models = [None] * len(weights)
        for b in np.flatnonzero(weights).tolist():
            self._models[b] = self._models[b] or self._fresh()
            fit(self._models[b], "partial_fit", context[None, :], np.array([reward]), weights[b : b + 1])

    def _refit(self) -> None:
        self._n_fitted = self.n
        x, y, weights = np.array(self._contexts), np.array(self._rewards), np.array(self._rows)
        self._models = []
        for column in weights.T:
            used = column > 0.0
            if used.any() and np.ptp(y[used]) > 0.0:
                model = self._fresh()
                fit(model, "fit", x[used], y[used], column[used])
            else:  # a classifier learns nothing of one class
                model = Constant(float(y[used].mean())) if used.any() else None
            self._models.append(model)

    def predict(self, context: Floats) -> tuple[float, float]:
        """The prediction, and the mean square by which replicates differ from it."""
        if self._low == self._high or not self._models:
            return self._sum / self.n, 0.0
        first = predicted(self._models[0], context)
        # A replicate that was given nothing yet knows as much as the estimator.
        others = [first if model is None else predicted(model, context) for model in self._models[1:]]
        return first, sum((other - first) ** 2 for other in others) / len(others)


class Constant:
    """Prediction where all rewards are the same."""

    def __init__(self, value: float) -> None:
        self.value = value

    def predict(self, x: Any) -> Any:
        """The constant for each row."""
        return np.full(len(x), self.value)


def fit(model: Any, method: str, x: Floats, y: Floats, weights: Floats) -> None:
    """Fit with weights; an estimator that takes none is given whole numbers of copies."""
    function = getattr(model, method)
    options: dict[str, Any] = {}
    if hasattr(model, "predict_proba"):
        y = y.astype(np.int64)
        if method == "partial_fit" and takes(function, "classes"):
            options["classes"] = np.array([0, 1])
    if takes(function, "sample_weight"):
        function(x, y, sample_weight=weights, **options)
        return
    copies = np.repeat(np.arange(len(y)), weights.astype(np.int64))
    function(x[copies], y[copies], **options)


def takes(function: Callable[..., Any], name: str) -> bool:
    """Return whether a method has a parameter of a name."""
    return name in inspect.signature(function).parameters


def predicted(model: Any, context: Floats) -> float:
    """Prediction of a model in one context; of a classifier the probability of 1."""
    row = context[None, :]
    if hasattr(model, "predict_proba"):
        return float(model.predict_proba(row)[0, list(model.classes_).index(1)])
    return float(np.ravel(model.predict(row))[0])

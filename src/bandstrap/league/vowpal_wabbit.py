"""Vowpal Wabbit as a player of the league of contexts: its explorations over an online regression, with default settings.

Each arm has coefficients of its own (``--quadratic ca``: context by arm), as our policies have by default. Features are
standardised by their mean and standard deviation in the contexts so far, since ours are, too: left as they come, it learns
little of several sets. They have names: of plain numbers some reductions take others for labels. It needs the package
``vowpalwabbit``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.errors import check_choice

# Ten models for the bag, as in its documentation; the optimistic form of RegCB; all else is as it comes.
EXPLORATIONS = {
    "greedy": "--epsilon 0",
    "bag": "--bag 10",
    "regcb": "--regcbopt",
    "squarecb": "--squarecb",
}


class VowpalWabbit:
    """``vw --cb_explore_adf`` with one of its explorations.

    Parameters
    ----------
    exploration
        ``"greedy"``, ``"bag"``, ``"regcb"`` or ``"squarecb"``.
    n_arms, dimension, rng
        What the simulator tells.
    """

    plays = "contexts"

    def __init__(self, exploration: str, *, n_arms: int, dimension: int, rng: np.random.Generator) -> None:
        from vowpalwabbit import Workspace

        check_choice(exploration, "exploration", "VowpalWabbit", tuple(EXPLORATIONS))
        seed = int(rng.integers(1, 2**31))
        self._model: Any = Workspace(
            f"--cb_explore_adf {EXPLORATIONS[exploration]} --quadratic ca --random_seed {seed} --quiet"
        )
        self._names = [f"f{number}" for number in range(dimension)]
        self._actions = [f"|a arm{arm}" for arm in range(n_arms)]
        self._rng = rng
        self._n_seen, self._means, self._squares = 0, np.zeros(dimension), np.zeros(dimension)
        self._waiting: dict[tuple[bytes, int], list[tuple[str, float]]] = {}

    def _shown(self, context: Floats) -> str:
        """The context among those so far, as a line of text."""
        self._n_seen += 1
        before = context - self._means
        self._means += before / self._n_seen
        self._squares += before * (context - self._means)
        deviations = np.sqrt(self._squares / self._n_seen)
        varies = deviations > 1e-12 * np.abs(self._means)
        scaled = np.where(varies, (context - self._means) / np.where(varies, deviations, 1.0), 0.0)
        told = " ".join(
            f"{name}:{value:.6g}" for name, value in zip(self._names, scaled.tolist(), strict=True) if value
        )
        return f"shared |c {told}"

    def select(self, *, context: Floats) -> int:
        """An arm drawn by the probabilities that it gives."""
        shown = self._shown(context)
        chances = np.array(self._model.predict([shown, *self._actions]))
        arm = int(np.searchsorted(np.cumsum(chances), self._rng.random() * chances.sum(), side="right"))
        arm = min(arm, len(chances) - 1)
        self._waiting.setdefault((context.tobytes(), arm), []).append((shown, float(chances[arm])))
        return arm

    def update(self, arm: int, reward: float, *, context: Floats) -> None:
        """Learn the cost ``1 - reward``, which it expects in [0, 1], with the probability that the arm was drawn with."""
        shown, chance = self._waiting[context.tobytes(), arm].pop(0)
        lines = [*self._actions]
        lines[arm] = f"0:{1.0 - reward:.9g}:{chance:.9g} {lines[arm]}"
        self._model.learn([shown, *lines])

"""Effects over time: contrasts in time bins, each a sequence of its own, which together are the contrasts of all."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bandstrap.basics.arrays import Floats
from bandstrap.errors import brief, check_count, read_numbers, requirement
from bandstrap.evidence.contrasts import Contrasts
from bandstrap.evidence.table import check_arms, check_rewards, check_weights

# Decisions of a bin at first. When all bins are full, neighbours are merged, and bins are twice as long.
FIRST_LENGTH = 64
MOST_BINS = 16
# With more arms, whose contrasts take more room, there are fewer bins.
MANY_ARMS, FEW_BINS = 10, 4


class ContrastBins:
    """Contrasts in up to 16 time bins of equally many decisions (4 with more than ten arms).

    Each bin is a restarted :class:`Contrasts`, so its interval covers the effect in its own time. All sums are additive, so
    the merged bins are the contrasts of the whole log.

    Parameters
    ----------
    arms, low, high
        See :class:`Contrasts`.

    Attributes
    ----------
    length
        Number of decisions of a full bin.
    bins
        Contrasts of each bin, the last of which may not be full.
    spans
        Times of the first and the last decision of each bin.

    Examples
    --------
    >>> import numpy as np
    >>> from bandstrap.evidence import ContrastBins
    >>> state = ContrastBins(2)
    >>> rng = np.random.default_rng(0)
    >>> arms = rng.integers(2, size=5000)
    >>> rates = np.where(np.arange(5000) < 2500, 0.1, 0.4)  # arm 1 becomes better at half time
    >>> state.update(arms, rng.random(5000) < np.where(arms == 1, rates, 0.1), [0.5, 0.5])
    >>> len(state.bins), state.length
    (10, 512)
    >>> [round(each.intervals()[1, 0].estimate, 1) for each in state.bins]
    [0.0, 0.0, 0.0, 0.0, 0.1, 0.3, 0.3, 0.3, 0.3, 0.3]
    """

    def __init__(self, arms: int | Sequence[str], *, low: float = 0.0, high: float = 1.0) -> None:
        self.length = FIRST_LENGTH
        self.bins = [Contrasts(arms, low=low, high=high)]
        self.spans: list[tuple[float, float]] = [(np.nan, np.nan)]

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the arms."""
        return self.bins[0].labels

    @property
    def n_decisions(self) -> int:
        """Number of decisions counted."""
        return sum(each.n_decisions for each in self.bins)

    def update(self, arms: ArrayLike, rewards: ArrayLike, weights: ArrayLike, times: ArrayLike | None = None) -> None:
        """Count one decision or several, in their order.

        Parameters
        ----------
        arms, rewards, weights
            See :meth:`Contrasts.update`.
        times
            Time of each decision, in seconds. Default: the number of decisions before it.
        """
        owner, newest = "ContrastBins.update", self.bins[-1]
        chosen = check_arms(arms, self.labels, owner)
        check_rewards(rewards, len(chosen), newest.low, newest.high, owner)
        column = np.atleast_1d(np.asarray(rewards, dtype=np.float64))
        table = check_weights(weights, chosen, len(self.labels), owner)
        clock = self._clock(times, len(chosen))
        done = 0
        while done < len(chosen):
            room = self.length - self.bins[-1].n_decisions
            if room == 0:
                self._open()
                continue
            some = slice(done, done + room)
            self.bins[-1].update(chosen[some], column[some], table[some])
            start = clock[done] if np.isnan(self.spans[-1][0]) else self.spans[-1][0]
            done = min(done + room, len(chosen))
            self.spans[-1] = (float(start), float(clock[done - 1]))

    def _clock(self, times: ArrayLike | None, n: int) -> Floats:
        if times is None:
            return np.arange(self.n_decisions, self.n_decisions + n, dtype=np.float64)
        clock = np.atleast_1d(read_numbers(times, "times", "ContrastBins.update", "finite numbers", kinds="iuf"))
        if clock.shape != (n,) or not np.isfinite(clock).all():
            rule = f"a finite number for each of the {n} decisions"
            raise requirement("times", "ContrastBins.update", rule, brief(times))
        return clock

    def _open(self) -> None:
        """Begin a bin; if there are as many as there may be, let neighbours merge first."""
        most = MOST_BINS if len(self.labels) <= MANY_ARMS else FEW_BINS
        if len(self.bins) >= most:
            pairs = range(0, len(self.bins), 2)
            self.bins = [functools.reduce(Contrasts.merge, self.bins[i : i + 2]) for i in pairs]
            self.spans = [(self.spans[i][0], self.spans[i : i + 2][-1][1]) for i in pairs]
            self.length *= 2
            if self.bins[-1].n_decisions < self.length:
                return
        self.bins.append(self.bins[-1].restarted())
        self.spans.append((np.nan, np.nan))

    def total(self) -> Contrasts:
        """Contrasts of all decisions."""
        return functools.reduce(Contrasts.merge, self.bins)

    def recent(self) -> Contrasts:
        """Contrasts of the newest decisions: the last full bin and everything since."""
        return functools.reduce(Contrasts.merge, self.bins[-2:])

    def add_arm(self, label: str) -> None:
        """Add a new arm; see :meth:`Contrasts.add_arm`."""
        for each in self.bins:
            each.add_arm(label)

    def to_dict(self) -> dict[str, Any]:
        """The state as plain lists and numbers, for JSON; :meth:`from_dict` reads them back without loss."""
        spans = [None if np.isnan(start) else [start, end] for start, end in self.spans]
        return {"length": self.length, "spans": spans, "bins": [each.to_dict() for each in self.bins]}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> ContrastBins:
        """Restore the state from :meth:`to_dict`; impossible numbers are refused."""
        owner = "ContrastBins.from_dict"
        if not isinstance(state, Mapping) or set(state) != {"length", "spans", "bins"}:
            raise requirement("state", owner, "a mapping of bins, length, spans", brief(state))
        if not isinstance(state["bins"], list) or not state["bins"] or not isinstance(state["spans"], list):
            raise requirement("bins", owner, "a list of one or more", brief(state["bins"]))
        bins = [Contrasts.from_dict(each) for each in state["bins"]]
        found = cls(bins[0].labels, low=bins[0].low, high=bins[0].high)
        found.length = check_count(state["length"], "length", owner)
        spans = [[np.nan, np.nan] if span is None else span for span in state["spans"]]
        if len(spans) != len(bins) or any(not isinstance(span, list) or len(span) != 2 for span in spans):
            raise requirement("spans", owner, f"{len(bins)} pairs of times", brief(state["spans"]))
        if any((each.labels, each.low, each.high) != (found.labels, bins[0].low, bins[0].high) for each in bins):
            raise requirement("bins", owner, "of the same arms and rewards", brief(found.labels))
        found.bins, found.spans = bins, [(float(start), float(end)) for start, end in spans]
        return found

"""Evidence like the paper's with a curve changed."""

import dataclasses

import numpy as np

from bandstrap.experiments import PanelData
from paper.synthetic import luck, row

TSL, OFUL, BUCBL = "TSL", "OFUL", "BUCBL"


def changed(evidence, name, label, change):
    """Evidence with one curve changed."""
    curves = tuple(change(curve) if curve.label == label else curve for curve in evidence[name].curves)
    assert any(new is not old for new, old in zip(curves, evidence[name].curves, strict=True)), (name, label)
    return {**evidence, name: PanelData(evidence[name].panel, curves)}


def times(factor, place=None):
    """Regret or threshold multiplied, everywhere or at one place."""

    def change(curve):
        where = np.ones_like(curve.places) if place is None else np.isclose(curve.places, place)
        assert where.any()
        return with_values(curve, curve.values * np.where(where, factor, 1.0))

    return change


def with_values(curve, values):
    """A curve with other values, its rows' widths too."""
    rows = tuple(
        dataclasses.replace(one, mean_width=width, width_error=0.01 * width if one.width_error else 0.0)
        for one, width in zip(curve.rows, values[0].tolist(), strict=False)
    )
    return dataclasses.replace(curve, values=values, rows=rows)


def misses(rate, n):
    def change(curve):
        missed = row(n, rate)
        other = {"misses": missed.misses, "miss_rate": missed.miss_rate, "replications": missed.replications}
        rows = tuple(dataclasses.replace(one, **other) if one.sample_size == n else one for one in curve.rows)
        assert rows != curve.rows
        return dataclasses.replace(curve, rows=rows)

    return change


def shaped(function):
    """The mean's shape over places replaced, the spread kept."""

    def change(curve):
        if curve.rows:
            return with_values(curve, function(curve.places)[None, :])
        own = 1 + 0.01 * np.random.default_rng(0).standard_normal(curve.values.shape)
        return with_values(curve, luck("x")[: len(curve.values), None] * own * function(curve.places)[None, :])

    return change


def flat(curve):
    """Regret that stops growing."""
    return dataclasses.replace(curve, values=np.repeat(curve.values[:, -1:], curve.places.size, axis=1))


def through(*points):
    """A mean that runs straight from point to point, from nothing at the start, the spread kept."""
    places, values = zip((0, 0), *points, strict=True)
    return shaped(lambda t: np.interp(t, places, values))


def straight(last):
    """Regret that grows by the same amount every round."""
    return shaped(lambda t: last * t / t[-1])


def wider(factor):
    """Deviations from the mean multiplied."""
    return lambda curve: dataclasses.replace(curve, values=curve.mean + factor * (curve.values - curve.mean))

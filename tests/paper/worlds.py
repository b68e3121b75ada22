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
        return dataclasses.replace(curve, values=curve.values * np.where(where, factor, 1.0))

    return change


def misses(rate, n):
    def change(curve):
        rows = tuple(row(one.sample_size, rate) if one.sample_size == n else one for one in curve.rows)
        assert rows != curve.rows
        return dataclasses.replace(curve, rows=rows)

    return change


def shaped(function):
    """The mean's shape over places replaced, the spread kept."""
    return lambda curve: dataclasses.replace(curve, values=luck("x")[:, None] * function(curve.places)[None, :])


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

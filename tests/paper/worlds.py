"""Evidence like the paper's with a curve changed."""

import dataclasses
import math

import numpy as np

from bandstrap.experiments import PanelData
from paper.synthetic import luck, row

TSL, OFUL_CLOSED, L1, L01 = "TSL (paper)", "OFUL, closed form", "BUCBL, lambda = 1", "BUCBL, lambda = 0.1"


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


def losing(share):
    def change(curve):
        values = curve.values.copy()
        values[: math.ceil(share * len(values))] *= 3.5
        return dataclasses.replace(curve, values=values)

    return change

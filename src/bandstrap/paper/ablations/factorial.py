"""Correction, weights and B in every combination, and delta with schedule, on the paper's bandits."""

from __future__ import annotations

import itertools

from bandstrap.bounds.corrections import CORRECTIONS
from bandstrap.experiments.spec import Curve, ExperimentSpec, Panel
from bandstrap.multipliers import WEIGHTS

BANDITS = {
    "truncated_normal": "truncated normal",
    "gaussian": "normal",
    "bernoulli": "Bernoulli",
    "beta": "Beta",
    "logistic": "logistic",
}
RESAMPLES = {"20": "n_resamples=20", "200": "n_resamples=200", "infinity": "quantile=exact"}
DELTAS = (0.01, 0.1, 0.5)
SCHEDULES = {"1/(t+1)": "1/(t+1)", "1/(t log t)": "1/(t log^tau t)", "1/T": "0.0005", "1/T^2": "1/T^2"}
REPLICATIONS = 60

# Curves of each picture: rows of a heat map, with the policies that they stand for.
BY_RESAMPLES = {
    f"B = {resamples}": {
        f"{correction}, {weights}, B = {resamples}": f"bootstrapped_ucb:correction={correction},weights={weights},{option}"
        for correction, weights in itertools.product(CORRECTIONS, WEIGHTS)
    }
    for resamples, option in RESAMPLES.items()
}
BY_LEVEL = {
    "delta and schedule": {
        f"delta = {delta:g}, level {name}": f"bootstrapped_ucb:quantile=exact,delta={delta:g},alpha={rule}"
        for delta, (name, rule) in itertools.product(DELTAS, SCHEDULES.items())
    }
}
PICTURES: dict[str, dict[str, str]] = BY_RESAMPLES | BY_LEVEL


def factorial() -> ExperimentSpec:
    """The experiment: a panel per bandit, a curve per combination."""
    policies = {label: policy for picture in PICTURES.values() for label, policy in picture.items()}
    curves = tuple(Curve(label=label, policy=policy) for label, policy in policies.items())
    panels = tuple(
        Panel(name=f"factorial-{name}", title=title, environment=name, curves=curves) for name, title in BANDITS.items()
    )
    return ExperimentSpec(
        title="Everything together: correction, weights and B; delta and schedule",
        replications=REPLICATIONS,
        readings=(
            "Told sigma = 1 as in the paper. The paper's setting is practical, rademacher, B = 200.",
            "Delta and schedule are varied with exact quantiles, because B = 200 draws cannot follow a level below 1/200.",
        ),
        panels=panels,
    )

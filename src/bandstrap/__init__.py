"""Bandits whose optimism is read off the data: bootstrapped upper confidence bounds."""

from importlib.metadata import version
from typing import Any

__version__ = version("bandstrap")

# Where each public name lives; imported when first asked for, so that ``import bandstrap`` stays light.
_HOMES = {
    "BernoulliTS": "policies",
    "BootstrappedTS": "policies",
    "BootstrappedUCB": "policies",
    "BootstrappedUCBPlus": "policies",
    "CHKUCB": "policies",
    "EmpiricalKLUCB": "policies",
    "EpsilonGreedy": "policies",
    "GaussianTS": "policies",
    "GaussianTSUnknownVariance": "policies",
    "Giro": "policies",
    "IMED": "policies",
    "KLUCB": "policies",
    "LinUCB": "policies.linear",
    "LinearBootstrappedUCB": "policies.linear",
    "LinearPHE": "policies.linear",
    "LinearReBoot": "policies.linear",
    "LinearTS": "policies.linear",
    "MARS": "policies",
    "MBE": "policies",
    "MOSS": "policies",
    "MaillardSampling": "policies",
    "NPTS": "policies",
    "NaiveBootstrappedUCB": "policies",
    "OFUL": "policies.linear",
    "PHE": "policies",
    "RDS": "policies",
    "ReBoot": "policies",
    "Result": "engine.result",
    "RobustUCB": "policies",
    "SignFlipUCB": "policies",
    "SubsampleDuels": "policies",
    "UCB1": "policies",
    "UCBTuned": "policies",
    "UCBV": "policies",
    "UniformRandom": "policies",
    "WeightedBootstrap": "policies",
    "bootstrap_quantile": "multipliers",
    "simulate": "engine.simulate",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'bandstrap' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"bandstrap.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """Public names."""
    return sorted(__all__)

"""Experiments as data: read from TOML, cut into blocks, run on all cores, resumed where they stopped."""

from bandstrap.experiments.api import Results, results, run, run_experiments, status
from bandstrap.experiments.folder_status import Status
from bandstrap.experiments.panels import PanelData
from bandstrap.experiments.spec import Curve, Experiment, Panel, Sweep, read_experiment

__all__ = [
    "Curve",
    "Experiment",
    "Panel",
    "PanelData",
    "Results",
    "Status",
    "Sweep",
    "read_experiment",
    "results",
    "run",
    "run_experiments",
    "status",
]

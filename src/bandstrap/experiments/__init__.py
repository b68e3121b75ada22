"""Experiments as data: read from TOML, cut into blocks, run on all cores, resumed where they stopped."""

from bandstrap.experiments.run import PanelData, run_experiments
from bandstrap.experiments.spec import Experiment, read_experiment

__all__ = ["Experiment", "PanelData", "read_experiment", "run_experiments"]

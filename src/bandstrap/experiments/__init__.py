"""Experiments as data: read from TOML, cut into blocks, run on all cores, resumed where they stopped."""

from typing import Any

from bandstrap.basics.deprecation import old_name
from bandstrap.basics.extras import need

need("bandstrap.experiments", "pydantic", "polars")  # before they are imported below

from bandstrap.experiments.api import Results, results, run, run_experiments, status  # noqa: E402
from bandstrap.experiments.folder_status import FolderStatus  # noqa: E402
from bandstrap.experiments.panels import PanelData  # noqa: E402
from bandstrap.experiments.spec import Curve, ExperimentSpec, Panel, Sweep, read_experiment  # noqa: E402

__all__ = [
    "Curve",
    "ExperimentSpec",
    "FolderStatus",
    "Panel",
    "PanelData",
    "Results",
    "Sweep",
    "read_experiment",
    "results",
    "run",
    "run_experiments",
    "status",
]

# Names of 0.9, which another class of this package has now to itself.
OLD_NAMES = {"Experiment": "ExperimentSpec", "Status": "FolderStatus"}


def __getattr__(name: str) -> Any:
    """Find a class by its old name, with a ``DeprecationWarning``."""
    return globals()[old_name(name, OLD_NAMES, __name__)]

"""Evidence from adaptive logs: differences, values, health, verdicts and the readout of all, valid at all times."""

from bandstrap.evidence.asymptotic import AsymptoticContrasts
from bandstrap.evidence.bins import ContrastBins
from bandstrap.evidence.contrasts import Contrast, ContrastIntervals, Contrasts, contrasts
from bandstrap.evidence.health import Health, HealthFinding, health
from bandstrap.evidence.readout import BinEffect, Effect, Interval, Readout, readout, readout_of_log
from bandstrap.evidence.replay import ReplayEstimate, rejection_replay
from bandstrap.evidence.state import Evidence
from bandstrap.evidence.value import ValueEstimate, Values, value
from bandstrap.evidence.verdict import StopVerdict, verdict

__all__ = [
    "AsymptoticContrasts",
    "BinEffect",
    "Contrast",
    "ContrastBins",
    "ContrastIntervals",
    "Contrasts",
    "Effect",
    "Evidence",
    "Health",
    "HealthFinding",
    "Interval",
    "Readout",
    "ReplayEstimate",
    "StopVerdict",
    "ValueEstimate",
    "Values",
    "contrasts",
    "health",
    "readout",
    "readout_of_log",
    "rejection_replay",
    "value",
    "verdict",
]

"""Evidence from adaptive logs: differences, values, health, verdicts and readouts, valid at all times."""

from bandstrap.evidence.asymptotic import AsymptoticContrasts
from bandstrap.evidence.bins import ContrastBins
from bandstrap.evidence.contrasts import Contrast, ContrastIntervals, Contrasts, contrasts
from bandstrap.evidence.health import Health, HealthFinding, health
from bandstrap.evidence.readout import BinEffect, Effect, EffectInterval, Readout, readout, readout_of_log
from bandstrap.evidence.replay import ReplayEstimate, rejection_replay
from bandstrap.evidence.state import LogEvidence
from bandstrap.evidence.value import PolicyValues, ValueEstimate, value
from bandstrap.evidence.verdict import StopVerdict, verdict

__all__ = [
    "AsymptoticContrasts",
    "BinEffect",
    "Contrast",
    "ContrastBins",
    "ContrastIntervals",
    "Contrasts",
    "Effect",
    "EffectInterval",
    "Health",
    "HealthFinding",
    "LogEvidence",
    "PolicyValues",
    "Readout",
    "ReplayEstimate",
    "StopVerdict",
    "ValueEstimate",
    "contrasts",
    "health",
    "readout",
    "readout_of_log",
    "rejection_replay",
    "value",
    "verdict",
]

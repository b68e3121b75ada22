"""Evidence from adaptive logs: differences, values, health and verdicts, valid at all times and under any drift."""

from bandstrap.evidence.contrasts import Contrast, ContrastIntervals, Contrasts, contrasts
from bandstrap.evidence.health import Health, HealthFinding, health
from bandstrap.evidence.replay import ReplayEstimate, rejection_replay
from bandstrap.evidence.value import ValueEstimate, Values, value
from bandstrap.evidence.verdict import StopVerdict, verdict

__all__ = [
    "Contrast",
    "ContrastIntervals",
    "Contrasts",
    "Health",
    "HealthFinding",
    "ReplayEstimate",
    "StopVerdict",
    "ValueEstimate",
    "Values",
    "contrasts",
    "health",
    "rejection_replay",
    "value",
    "verdict",
]

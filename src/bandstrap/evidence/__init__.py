"""Evidence from adaptive logs: differences between arms and verdicts, valid at all times and under any drift."""

from bandstrap.evidence.contrasts import Contrast, ContrastIntervals, Contrasts, contrasts
from bandstrap.evidence.verdict import StopVerdict, verdict

__all__ = ["Contrast", "ContrastIntervals", "Contrasts", "StopVerdict", "contrasts", "verdict"]

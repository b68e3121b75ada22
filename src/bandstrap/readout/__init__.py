"""Readouts of logs in files: reading them, and the answers as text and as a page."""

from bandstrap.readout.log import DecisionLog, LogBatch, LogColumns, open_log
from bandstrap.readout.page import write_readout_page

__all__ = ["DecisionLog", "LogBatch", "LogColumns", "open_log", "write_readout_page"]

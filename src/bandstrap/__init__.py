"""Bandits whose optimism is read off the data: bootstrapped upper confidence bounds."""

from importlib.metadata import version

__version__ = version("bandstrap")

"""Builds the package and tries it where nothing else is installed: ``make dist`` and ``make lowest``."""

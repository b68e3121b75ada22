"""Slow, obvious oracles; they import nothing of the package they check."""

"""Policies behind live traffic: decisions that survive restarts, many workers, late rewards, exact propensities."""

"""Compiled steps that several policies share."""

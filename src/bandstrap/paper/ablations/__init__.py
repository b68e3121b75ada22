"""Ablations: the paper's settings varied one at a time, and a few of them together.

A file holds a question as an experiment; ``factorial`` puts one together that is too long to write down.
"""

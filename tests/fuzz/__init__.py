"""Inputs that nobody would write, by the thousand: each ends in a value or in one sentence.

Seeded, and of bounded size. ``BANDSTRAP_FUZZ=20`` makes twenty times as many, ``BANDSTRAP_FUZZ_SEED=7`` makes others.
"""

"""The same examples every time: a test that fails for one person fails for all. ``make fuzz`` looks for others."""

import os

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("searching", deadline=None)
settings.load_profile("searching" if "BANDSTRAP_FUZZ" in os.environ else "repeatable")

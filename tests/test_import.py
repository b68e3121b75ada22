import subprocess
import sys

import pytest

HEAVY = ("numba", "matplotlib", "polars", "pandas", "scipy.stats", "psycopg")


@pytest.mark.parametrize(
    "module",
    ["bandstrap", "bandstrap.bounds", "bandstrap.multipliers", "bandstrap.theory", "bandstrap.cli", "bandstrap.live"],
)
def test_importing_is_light_and_silent(module):
    code = f"import sys, {module}; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
    assert done.stderr == ""

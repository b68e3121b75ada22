import subprocess
import sys

from sampling import each

HEAVY = ("numba", "matplotlib", "polars", "pandas", "scipy.stats", "psycopg")


@each(
    "module",
    ["bandstrap", "bandstrap.bounds", "bandstrap.multipliers", "bandstrap.theory", "bandstrap.cli", "bandstrap.live"],
)
def test_importing_is_light_and_silent(module):
    code = f"import sys, {module}; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
    assert done.stderr == ""


def test_a_live_decision_takes_no_library_that_it_does_not_need(tmp_path):
    # A worker that starts anew decides at once: these would double the time, and half again the memory.
    code = (
        "import sys; from bandstrap import live\n"
        f"with live.create({str(tmp_path / 'live.db')!r}, 'x', policy='ucb1', arms=['a', 'b']) as experiment:\n"
        "    experiment.decide()\n"
        f"print([m for m in {(*HEAVY, 'scipy.optimize', 'pydantic')!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"

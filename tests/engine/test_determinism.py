"""The same seed gives the same bytes on another machine, as far as one machine can pretend to be another.

Threads, block sizes and processes are compared for every policy in ``tests/contract``.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from bandstrap import KLUCB, simulate
from bandstrap.environments import Bernoulli
from sampling import exhaustive

SCRIPT = "import test_determinism; print(test_determinism.played())"
# Code for the plainest processor of its kind, without fused multiplications or wide vectors, and other hashes.
ELSEWHERE = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "PYTHONHASHSEED": "4321"}


def played():
    """Digest of all that a small simulation finds."""
    result = simulate(KLUCB(), Bernoulli(n_arms=3), horizon=60, replications=4, seed=5, block_size=2, progress=False)
    return hashlib.sha256(result.regret.tobytes() + result.pulls.tobytes()).hexdigest()


@exhaustive
def test_the_processor_and_the_seed_of_hashes_change_nothing(tmp_path):
    paths = {
        "PYTHONPATH": os.pathsep.join(str(folder) for folder in Path(__file__).parents[:2]),
        "NUMBA_CACHE_DIR": str(tmp_path),
    }  # where no code is kept yet
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=os.environ | paths | ELSEWHERE
    )
    assert done.stdout.strip() == played(), done.stderr
    assert list(tmp_path.rglob("*.nbc")), "nothing was compiled for the other processor"

"""What large environments take: memory at its highest, and decisions a second.

Each is played in a process of its own, whose memory is all that it ever held: ``python -m benchmarks.worlds NAME``.
"""

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bandstrap import OFUL, UCB1, SubsampleDuels, simulate
from bandstrap.engine.simulator.blocks import warm_policy
from bandstrap.engine.work.workers import workers
from bandstrap.environments import Environment, Gaussian, LinearBandit
from benchmarks.document import Row, Table
from benchmarks.executors import plan_text, run_into_folder

MEBIBYTE = 2**20
GOAL = 1024  # mebibytes


class World(NamedTuple):
    """Whom to play, where, for how long, how often."""

    policy: Any
    environment: Environment
    horizon: int
    replications: int
    # Played into a folder, as bandstrap simulate FILE --out does, or else by a call whose outcome is in memory.
    in_folder: bool = False

    def play(self) -> dict[str, float]:
        """Peak memory in mebibytes, and decisions a second of one core."""
        # Compiled before, as it would be in a second run.
        warm_policy(self.policy, self.environment)
        start = time.process_time()
        if self.in_folder:
            self.play_into_folder()
        else:
            sizes = {"horizon": self.horizon, "replications": self.replications}
            simulate(self.policy, self.environment, **sizes, seed=1, progress=False)
        seconds = time.process_time() - start
        return {"peak": peak_memory() / MEBIBYTE, "rate": self.horizon * self.replications / seconds}

    def play_into_folder(self) -> None:
        """Play, keep and merge what a file describes."""
        text = (
            f'title = "A world"\nhorizon = {self.horizon}\nreplications = {self.replications}\n'
            f'[[panels]]\nname = "world"\nenvironment = "{self.environment.label}"\n'
            f'curves = [{{ label = "policy", policy = "{self.policy.label}" }}]\n'
        )
        with workers(CORES, "python -m benchmarks", "thread") as pool:
            run_into_folder(plan_text(text, seed=1), pool)


# Of the large ones, one replication per core, so that all have theirs in memory at once.
CORES = os.cpu_count() or 1
WORLDS = {
    "UCB1, 10,000 replications of 100,000 rounds, 10 arms, into a folder": World(
        UCB1(), Gaussian(n_arms=10), 10**5, 10_000, in_folder=True
    ),
    "UCB1, 1,000,000 rounds, 1,000 arms, on every core": World(UCB1(), Gaussian(n_arms=1000), 10**6, CORES),
    "SubsampleDuels, which remembers rewards, 100,000 rounds, 1,000 arms, on every core": World(
        SubsampleDuels(), Gaussian(n_arms=1000), 10**5, CORES
    ),
    "OFUL, 200,000 rounds, 100 fresh actions of 10 features each, on every core": World(
        OFUL(), LinearBandit(10, n_actions=100, contextual=True), 200_000, CORES
    ),
}


def peak_memory() -> float:
    """Bytes that this process has held at its highest; unlike ``ru_maxrss``, not those of the one that started it."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((1024.0 * int(line.split()[1]) for line in lines if line.startswith("VmHWM")), math.nan)


def measured(name: str) -> Row:
    """One world, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.worlds", name]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)  # noqa: S603 - ourselves
    return Row(name, found["peak"], "MiB", GOAL, details={"decisions a second and core": found["rate"]})


def tables() -> Iterator[Table]:
    """One table."""
    yield Table(
        "How much memory do large environments take, and how fast are they?", [measured(name) for name in WORLDS]
    )


if __name__ == "__main__":
    print(json.dumps(WORLDS[sys.argv[1]].play()))

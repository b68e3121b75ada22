"""Run the coverage study, or go on with it where it was stopped."""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bandstrap.basics.storage import check_folder
from bandstrap.engine.work.interrupts import Quit, leave
from bandstrap.errors import InvalidInput, check_count
from bandstrap.experiments.api import FOLDERS
from study.plan import SEED, plan
from study.run import COMMAND, FILE, run_study


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("study-results"), help=f"folder for {FILE} and finished cells")
    parser.add_argument("--seed", type=int, default=SEED, help="seed of everything")
    parser.add_argument("--jobs", type=int, default=1, help="threads; the numbers do not depend on them")
    given = parser.parse_args()
    try:
        check_count(given.jobs, "jobs", COMMAND)
        check_count(given.seed, "seed", COMMAND, at_least=0, at_most=None)
        check_folder(given.out, "out", COMMAND, folders=FOLDERS, files=("plan.json", FILE))
    except InvalidInput as error:
        parser.error(str(error))
    stop = Quit()
    stop.install()
    executor = ThreadPoolExecutor(given.jobs)
    try:
        run_study(plan(given.seed), given.out, executor=executor)
    except KeyboardInterrupt:
        leave(stop.exit_code)


if __name__ == "__main__":
    main()

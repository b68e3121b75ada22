"""Run the benchmarks: all of ours, or those named, which may be ``peers``; ``--json FILE`` keeps what was measured."""

import argparse
import os
from pathlib import Path

# One core: ratios must not depend on how many threads a matrix product finds.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from benchmarks import (  # noqa: E402
    bounds,
    compiling,
    contexts,
    decisions,
    evidence,
    flagship,
    linear,
    live,
    online,
    peers,
    quantiles,
    scale,
    serve,
    simulation,
    skewed,
)
from benchmarks.document import write_json  # noqa: E402 - after the variables

BENCHMARKS = {
    "compiling": compiling.tables,
    "decisions": decisions.tables,
    "online": online.tables,
    "live": live.tables,
    "evidence": evidence.tables,
    "serve": serve.tables,
    "simulation": simulation.tables,
    "scale": scale.tables,
    "quantiles": quantiles.tables,
    "linear": linear.tables,
    "contexts": contexts.tables,
    "bounds": bounds.tables,
    "skewed": skewed.tables,
    "flagship": flagship.tables,
    "peers": peers.tables,
}


def main() -> None:
    """Print one table after the other."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(BENCHMARKS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was measured to a file")
    given = parser.parse_args()
    unknown = set(given.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    found = []
    for name in given.names or [name for name in BENCHMARKS if name != "peers"]:
        for table in BENCHMARKS[name]():
            print(table, end="\n\n", flush=True)
            found.append(table)
    verdicts = [row.verdict for table in found for row in table.rows]
    print(f"{verdicts.count('met')} goals met, {verdicts.count('missed')} missed")
    if given.json is not None:
        write_json(given.json, found)


if __name__ == "__main__":
    main()

"""``python -m distribution``: wheel and source archive, the same bytes twice, each tried in an empty environment."""

import shutil
import sys
import tempfile
from pathlib import Path

from distribution.archives import build, check_contents, same_bytes, unpack
from distribution.environment import EmptyEnvironment

ROOT = Path(__file__).parents[1]
SMOKE = Path(__file__).with_name("smoke.py")
CORE = Path(__file__).with_name("core.py")
TYPED = Path(__file__).with_name("typed.py")
ONE_EXTRA = Path(__file__).with_name("extras.py")
# Each in an environment of its own; dask alone of the clusters, since the other needs an MPI library on the machine.
EXTRAS = ("sim", "cli", "plots", "postgres", "serve", "client", "dask")
# Other versions of Python that are tried if they are on the path.
OTHERS = [f"python3.{minor}" for minor in range(11, 15) if minor != sys.version_info.minor]

# What of the tests says that the source archive has all they need: naive twins, docs, examples, and a compiled game.
TELLING = ["tests/test_import.py", "tests/test_docs.py", "tests/bounds/test_hoeffding.py", "tests/engine/test_plain.py"]


def main() -> None:
    """Build, compare, look inside, install and try."""
    with tempfile.TemporaryDirectory(prefix="bandstrap-dist-") as name:
        scratch = Path(name)
        source, wheel = build(ROOT, ROOT / "dist")
        # Once more from the source archive, in another folder with other times and permissions.
        unpacked = unpack(source, scratch / "unpacked")
        for first, second in zip((source, wheel), build(unpacked, scratch / "again"), strict=True):
            same_bytes(first, second)
        check_contents(ROOT, source, wheel)
        for archive in (wheel, source):
            environment = EmptyEnvironment(scratch / f"venv-{archive.suffix[1:]}")
            environment.install(archive)
            print(f"{archive.name}: without extras, in an empty environment", flush=True)
            environment.run(CORE)
            environment.install(f"{archive}[all]")
            print(f"{archive.name}: smoke test in an empty environment", flush=True)
            environment.run(SMOKE)
            if archive is wheel:
                print(f"{archive.name}: a typed program under mypy --strict", flush=True)
                environment.check_types(TYPED)
            else:
                print(f"{archive.name}: some of the tests it brings along", flush=True)
                environment.install("pytest", "hypothesis")
                environment.run("-m", "pytest", "-q", *TELLING, folder=unpacked)
        for extra in EXTRAS:
            environment = EmptyEnvironment(scratch / f"venv-{extra}")
            environment.install(f"{wheel}[{extra}]")
            environment.run(ONE_EXTRA, extra)
        for python in OTHERS:
            if shutil.which(python) is None:
                print(f"{python} is not on the path: not tried")
                continue
            print(f"{wheel.name}: without extras, then with all, under {python}", flush=True)
            environment = EmptyEnvironment(scratch / f"venv-{python}", python)
            environment.install(wheel)
            environment.run(CORE)
            environment.install(f"{wheel}[all]")
            environment.run(SMOKE)
    for archive in (source, wheel):
        print(f"dist/{archive.name}  {archive.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main()

"""``python -m distribution``: wheel and source archive, the same bytes twice, each tried in an empty environment.

``python -m distribution extras others`` tries these parts alone; all are ``wheel``, ``source``, ``extras`` and ``others``.
"""

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


def try_wheel(source: Path, wheel: Path, scratch: Path) -> None:
    """The wheel without extras and with all, and a typed program."""
    try_archive(wheel, scratch).check_types(TYPED)
    print(f"{wheel.name}: a typed program passes mypy --strict", flush=True)


def try_source(source: Path, wheel: Path, scratch: Path) -> None:
    """The source archive without extras and with all, and some of the tests it brings along."""
    environment = try_archive(source, scratch)
    print(f"{source.name}: some of the tests it brings along", flush=True)
    environment.install("pytest", "hypothesis")
    environment.run("-m", "pytest", "-q", *TELLING, folder=unpack(source, scratch / "tested"))


def try_extras(source: Path, wheel: Path, scratch: Path) -> None:
    """The wheel with one extra at a time."""
    for extra in EXTRAS:
        environment = EmptyEnvironment(scratch / f"venv-{extra}")
        environment.install(f"{wheel}[{extra}]")
        environment.run(ONE_EXTRA, extra)


def try_others(source: Path, wheel: Path, scratch: Path) -> None:
    """The wheel under other versions of Python."""
    for python in OTHERS:
        if shutil.which(python) is None:
            print(f"{python} is not on the path: not tried")
        else:
            try_archive(wheel, scratch, python)


def try_archive(archive: Path, scratch: Path, python: str = sys.executable) -> EmptyEnvironment:
    """An archive in an empty environment, without extras, then with all."""
    environment = EmptyEnvironment(scratch / f"venv-{archive.suffix[1:]}-{Path(python).name}", python)
    environment.install(archive)
    print(f"{archive.name}: without extras, in an empty environment of {Path(python).name}", flush=True)
    environment.run(CORE)
    environment.install(f"{archive}[all]")
    print(f"{archive.name}: with all extras", flush=True)
    environment.run(SMOKE)
    return environment


PARTS = {"wheel": try_wheel, "source": try_source, "extras": try_extras, "others": try_others}


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
        for part in sys.argv[1:] or PARTS:
            PARTS[part](source, wheel, scratch)
    for archive in (source, wheel):
        print(f"dist/{archive.name}  {archive.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main()

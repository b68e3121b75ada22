"""``python -m distribution``: wheel and source archive, the same bytes twice, each tried in an empty environment."""

import tempfile
from pathlib import Path

from distribution.archives import build, check_contents, same_bytes, unpack
from distribution.environment import EmptyEnvironment

ROOT = Path(__file__).parents[1]
SMOKE = Path(__file__).with_name("smoke.py")
CORE = Path(__file__).with_name("core.py")
TYPED = Path(__file__).with_name("typed.py")

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
    for archive in (source, wheel):
        print(f"dist/{archive.name}  {archive.stat().st_size / 1024:.0f} KiB")


if __name__ == "__main__":
    main()

"""``python -m distribution.sizes``: what each extra installs into an empty environment, in packages and megabytes."""

import subprocess
import tempfile
from pathlib import Path

from distribution.__main__ import ROOT
from distribution.environment import EmptyEnvironment

EXTRAS = ("", "[sim]", "[cli]", "[plots]", "[serve]", "[all]")
HEAVIEST = 4


def folders(environment: EmptyEnvironment) -> dict[str, float]:
    """Megabytes on the disk of each folder and file of an environment's site-packages."""
    command = [str(environment.python), "-c", "import sysconfig; print(sysconfig.get_path('platlib'))"]
    place = Path(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())
    sizes = {}
    for entry in place.iterdir():
        files = [path for path in entry.rglob("*") if path.is_file()] if entry.is_dir() else [entry]
        sizes[entry.name] = sum(path.stat().st_blocks * 512 for path in files) / 1e6
    return sizes


def main() -> None:
    """Print one row of a Markdown table per extra; pip and what a new environment has count for nothing."""
    print("| install | packages | MB | largest |\n| --- | ---: | ---: | --- |", flush=True)
    with tempfile.TemporaryDirectory(prefix="bandstrap-sizes-") as name:
        for number, extra in enumerate(EXTRAS):
            environment = EmptyEnvironment(Path(name) / str(number))
            before = folders(environment)
            environment.install(f"{ROOT}{extra}")
            found = {name: size for name, size in folders(environment).items() if name not in before}
            packages = sum(name.endswith(".dist-info") for name in found)
            heaviest = sorted(found, key=lambda name: -found[name])[:HEAVIEST]
            largest = ", ".join(f"{name} {found[name]:.0f}" for name in heaviest)
            print(
                f"| `pip install bandstrap{extra}` | {packages} | {sum(found.values()):.0f} | {largest} |", flush=True
            )


if __name__ == "__main__":
    main()

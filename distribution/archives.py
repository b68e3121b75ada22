"""The source archive and the wheel: how they are built, and what must and must not be in them."""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any


def build(tree: Path, out: Path) -> tuple[Path, Path]:
    """The source archive of a tree, and the wheel made from that archive.

    All files in them have one date, SOURCE_DATE_EPOCH if it is set: the time of a build is not in its bytes.
    """
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "build", "--outdir", str(out), str(tree)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}The package could not be built.")
    (source,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
    return source, wheel


def unpack(source: Path, folder: Path) -> Path:
    """The tree of a source archive, with permissions and times of its own."""
    # What we packed ourselves is unpacked without a filter by Python before 3.11.4, which has none.
    careful: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(source) as archive:
        archive.extractall(folder, **careful)  # noqa: S202 - our own
    (tree,) = folder.iterdir()
    for path in tree.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
        os.utime(path, (1e9, 1e9))
    return tree


def same_bytes(first: Path, second: Path) -> None:
    """Stop if two builds of one archive differ."""
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (first, second)]
    if digests[0] != digests[1]:
        sys.exit(f"{first.name} has other bytes when it is built again: sha256 {digests[0]}, then {digests[1]}.")
    print(f"{first.name}: the same bytes when built again, sha256 {digests[0]}")


def check_contents(root: Path, source: Path, wheel: Path) -> None:
    """Stop unless the wheel holds the package, all of it and nothing else, and the source archive what git tracks."""
    with zipfile.ZipFile(wheel) as archive:
        installed = {name for name in archive.namelist() if ".dist-info/" not in name}
        beside = {name.split(".dist-info/")[1] for name in archive.namelist() if ".dist-info/" in name}
    with tarfile.open(source) as archive:
        brought = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    package = {name.removeprefix("src/") for name in brought if name.startswith("src/")}
    compare("the wheel", installed, package)
    compare("the folder .dist-info", beside, {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"})
    if (root / ".git").exists():
        command = ["git", "-C", str(root), "ls-files", "-z"]
        tracked = set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")) - {""}
        compare(
            "the source archive", brought, {n for n in tracked if not n.startswith(".ci/")} | {"PKG-INFO", ".gitignore"}
        )
    print(f"{wheel.name}: {len(installed)} files; {source.name}: {len(brought)} files")


def compare(where: str, found: set[str], expected: set[str]) -> None:
    """Stop if names are missing or too many."""
    if found != expected:
        missing, extra = (", ".join(sorted(names)) or "nothing" for names in (expected - found, found - expected))
        sys.exit(f"{where} lacks {missing}, and has {extra} that does not belong there.")

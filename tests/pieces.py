"""Work for any executor: numbers to be squared, by functions that another process can import."""

import os
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, eq=False)
class Sum:
    """The numbers below ``n``, to be squared; ``folder`` is for what happens once."""

    n: int
    folder: str = ""
    needs: str | None = None
    race: str = "sums"
    label: str = "sum"

    @property
    def work(self):
        return self.n

    @property
    def about(self):
        return {"n": self.n, "folder": self.folder}

    def cut(self):
        return (Number(i, self.folder, self.needs) for i in range(self.n))

    def record(self):
        return Squares()


@dataclass(frozen=True)
class Number:
    i: int
    folder: str = ""
    needs: str | None = None
    work: int = 1

    @property
    def label(self):
        return f"number {self.i}"

    @property
    def group(self):
        return self.i


class Squares:
    def __init__(self):
        self.found = {}

    def put(self, piece, outcome):
        assert piece.i not in self.found
        self.found[piece.i] = outcome


class Notes:
    """A store that keeps nothing but notes of what was given up."""

    def __init__(self):
        self.failed = []

    def load(self, piece):
        return None

    def save(self, piece, outcome):
        pass

    def fail(self, piece, error):
        self.failed.append((piece.i, str(error)))


def squares(pieces):
    return [piece.i**2 for piece in pieces]


def is_first(piece, what):
    """Whether nobody did this before, in any process."""
    try:
        Path(piece.folder, f"{what}-{piece.i}").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def count_prepared(piece):
    """Write a file for every time something is prepared, named after the process."""
    with Path(piece.folder, f"prepared-{piece.needs}-{os.getpid()}").open("a") as file:
        file.write("x")


def killed_always(pieces):
    for piece in pieces:
        if piece.i == 2:
            is_first(piece, f"killed-{time.monotonic_ns()}")
            os.kill(os.getpid(), signal.SIGKILL)
    return squares(pieces)


class Odd(Exception):
    """An error that cannot be unpickled."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")

    def __reduce__(self):  # by default tblib, which comes with dask, would find a way
        return int, ("no number",)


def odd_error(pieces):
    raise Odd("this", "that")


def odd_result(pieces):
    return [threading.Lock() for _ in pieces]


def note_prepared(piece):
    """Note in the folder what a piece needs, in files that are sorted by time."""
    (Path(piece.folder) / str(time.monotonic_ns())).write_text(piece.needs)

"""Experiments from text, and files of which a bit is wrong."""

import random

import pytest

from bandstrap.experiments.spec import read_experiment


@pytest.fixture
def read(tmp_path):
    def from_text(text):
        path = tmp_path / "mine.toml"
        path.write_text(text, encoding="utf-8")
        return read_experiment(path)

    return from_text


@pytest.fixture
def flipped():
    """A file with one bit wrong, twenty times, each time another."""

    def in_turn(file):
        whole = file.read_bytes()
        rng = random.Random(0)  # noqa: S311 - no secret
        for _ in range(20):
            data = bytearray(whole)
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            file.write_bytes(data)
            yield

    return in_turn

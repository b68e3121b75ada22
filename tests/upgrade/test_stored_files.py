"""Files that 0.9.0 wrote, read by the version of today; databases of live experiments are in ``live/test_migration.py``.

``data/0.9.0.tar.gz`` holds an experiment with its folder of results and the table that 0.9.0 made of it, three
policies saved after 60 rewards, and the arms that 0.9.0 then chose for the next 40.
"""

import json
import tarfile
from pathlib import Path

import pytest

import bandstrap
from bandstrap import experiments

STORED = Path(__file__).parent / "data" / "0.9.0.tar.gz"
REWARDS = {"red": 1.0, "green": 1.4, "blue": 0.8}


@pytest.fixture
def folder(tmp_path):
    with tarfile.open(STORED) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "0.9.0"


def test_saved_policies_continue_as_0_9_0_would_have(folder):
    promised = json.loads((folder / "choices.json").read_text())
    for name, arms in promised.items():
        policy = bandstrap.load(folder / f"{name}.json")
        for visitor, arm in enumerate(arms, start=60):
            assert policy.select() == arm, (name, visitor)
            policy.update(arm, REWARDS[arm] + 0.1 * (visitor % 7))


def test_a_folder_of_results_is_run_on_into_with_the_same_numbers(folder):
    with pytest.raises(
        bandstrap.InvalidInput, match="writes it again, and keeps each block that this version plays alike"
    ):
        experiments.status(folder / "results")
    experiments.run(folder / "grid.toml", out=folder / "results", seed=1)
    promised = json.loads((folder / "results.json").read_text())
    table = {row["curve"]: row for row in experiments.results(folder / "results")}
    assert len(promised) == len(table) == 2
    for row in promised:
        for name in ("mean", "standard_error", "median", "replications", "environment", "policy"):
            assert table[row["curve"]][name] == row[name], (row["curve"], name)

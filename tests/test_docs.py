"""The numbers of the docs are those of the files they come from."""

import re
from pathlib import Path

import polars
import pytest

DOCS = Path(__file__).parents[1] / "docs"


def tables():
    """Header and rows of each table of means and percentiles, in order."""
    blocks = re.findall(r"(?:^\|.*\|\n)+", (DOCS / "which-policy.md").read_text(), re.M)
    cells = [[[cell.strip() for cell in row.strip("|").split("|")] for row in block.splitlines()] for block in blocks]
    return [block for block in cells if block[0][0] == "rewards"]


@pytest.mark.parametrize(("number", "name", "digits"), [(0, "horizon-2000", 1), (1, "horizon-20000", 0)])
def test_the_tables_of_the_league_are_those_of_its_results(number, name, digits):
    (_, *policies), _, *rows = tables()[number]
    frame = polars.read_parquet(DOCS / "league" / f"{name}.parquet")
    assert [row[0] for row in rows] == frame["environment"].unique(maintain_order=True).to_list()
    for environment, *cells in rows:
        for policy, cell in zip(policies, cells, strict=True):
            (found,) = frame.filter(environment=environment, policy=policy).iter_rows(named=True)
            assert cell == f"{found['mean']:.{digits}f} / {found['q99']:.0f}"

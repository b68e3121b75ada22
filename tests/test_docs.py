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


def test_the_policy_of_ones_own_on_the_page_is_the_file_that_is_tested():
    page = (DOCS / "own-policy.md").read_text()
    code = (DOCS / "mine.py").read_text()
    assert f"```python\n{code}```" in page
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 20  # as the page says


def test_the_plain_object_of_the_page_is_raced():
    from bandstrap import UCB1, simulate
    from bandstrap.environments import Gaussian
    from bandstrap.errors import SlowWarning

    code = re.findall(r"```python\n(.*?)```", (DOCS / "own-policy.md").read_text(), re.S)[1]
    space = {}
    exec(code, space)
    with pytest.warns(SlowWarning):
        found = simulate(
            [space["InTurn"], UCB1()], Gaussian([0, 1]), horizon=20, replications=2, seed=0, progress=False
        )
    assert (found.pulls[0] == 10).all()


def test_the_way_of_a_reward_leads_through_functions_that_are_there():
    page = (DOCS.parent / "CONTRIBUTING.md").read_text().split("## The way of a reward")[1]
    steps = re.findall(r"`(\w+)`(?:\s+and\s+`(\w+)`)?\s+\(([\w/]+\.py)\)", page)
    assert len(steps) >= 20
    for first, second, file in steps:
        code = (DOCS.parent / "src" / "bandstrap" / file).read_text()
        for name in filter(None, (first, second)):
            assert re.search(rf"def {name}\b", code), (name, file)

"""Tables in a page of text."""

import math

import polars
import pytest

from bandstrap.errors import InvalidInput
from docs.making.league_tables import with_tables, write_tables


def match(environment, policy, mean, q99, told="nothing", error=1.0, rank=1):
    return {
        "environment": environment,
        "policy": policy,
        "told": told,
        "mean": mean,
        "standard_error": error,
        "q95": q99 / 2,
        "q95_low": q99 / 4,
        "q95_high": q99,
        "q99": q99,
        "q99_low": q99 - 1,
        "q99_high": math.inf,
        "worst": 3 * q99,
        "rank": rank,
        "rank_low": 1,
        "rank_high": rank,
    }


MATCHES = [
    match("Gaussian", "A", 55.44, 170.0, rank=2),
    match("Gaussian", "B", 52.0, 180.0, told="sigma"),
    match("Gaussian", "C", 56.9, 160.0, rank=3),
    match("beta", "A", 7.125, 9.0, error=0.125),
    match("beta", "B", 123.0, 200.0, told="sigma"),
    match("beta", "C", 8.0, 20.0, error=0.1) | {"mean": None, "q95": None, "q99": None, "worst": None},
]
OVERALL = [
    {
        "policy": policy,
        "told": "nothing",
        "yardstick": "A",
        "n_common": 2,
        "n_below": 1,
        "n_above": 0,
        "ratio": ratio,
        "ratio_low": ratio - 0.01,
        "ratio_high": ratio + 0.01,
        "ratio_q99": 2 * ratio,
        "ratio_q99_low": ratio,
        "ratio_q99_high": 3 * ratio,
    }
    for policy, ratio in (("A", 1.0), ("C", 0.5))
]
STABILITY = [
    {
        "environment": environment,
        "policy": policy,
        "replications": 300,
        "misses": distance,
        "misses_error": 0.0125,
        "bias": -0.2,
        "distance": distance,
        "p_value": p_value,
    }
    for policy, distance, p_value in (("B", 0.25, 0.001), ("A", 0.125, 0.3))
    for environment in ("equal", "unequal")
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "league").mkdir()
    polars.DataFrame(STABILITY).write_parquet(tmp_path / "league" / "steady.parquet")
    polars.DataFrame(MATCHES).write_parquet(tmp_path / "league" / "some.parquet")
    polars.DataFrame(OVERALL).write_parquet(tmp_path / "league" / "all.parquet")
    return tmp_path


@pytest.mark.parametrize(
    ("wanted", "lines"),
    [
        (
            "some | mean",
            [
                "| rewards | A | B | C |",
                "| --- | ---: | ---: | ---: |",
                "| Gaussian | 55.4 ± 1.0 | **52.0 ± 1.0** | 56.9 ± 1.0 |",
                "| beta | **7.12 ± 0.12** | 123 ± 1 | - |",
            ],
        ),
        (
            "some | q99 | C; A | beta",
            ["| rewards | C | A |", "| --- | ---: | ---: |", "| beta | - | **9.0 (from 8.0)** |"],
        ),
        (
            "some | q95 | | Gaussian",
            [
                "| rewards | A | B | C |",
                "| --- | ---: | ---: | ---: |",
                "| Gaussian | 85 (42 to 170) | 90 (45 to 180) | **80 (40 to 160)** |",
            ],
        ),
        (
            "some | worst | A; B | beta",
            ["| rewards | A | B |", "| --- | ---: | ---: |", "| beta | **27 (4 x)** | 600 (5 x) |"],
        ),
        (
            "some | rank | A; B; C | Gaussian",
            [
                "| rewards | A | B | C |",
                "| --- | ---: | ---: | ---: |",
                "| Gaussian | 2 (1 to 2) | **1 (1)** | 3 (1 to 3) |",
            ],
        ),
        (
            "some | winners",
            [
                "| rewards | needs no parameters | any policy |",
                "| --- | --- | --- |",
                "| Gaussian | **A** 55.4 ± 1.0 (similar: C) | **B** 52.0 ± 1.0 |",
                "| beta | **A** 7.12 ± 0.12 | **A** 7.12 ± 0.12 |",
            ],
        ),
        (
            "all | overall | C",
            [
                "| policy | needs | mean / A | 99th percentile / A | below, above beyond error |",
                "| --- | --- | ---: | ---: | ---: |",
                "| C | nothing | 0.500 (0.490 to 0.510) | 1.000 (0.500 to 1.500) | 1, 0 of 2 |",
            ],
        ),
        (
            "all | means | C",
            [
                "| policy | needs | mean / A | below, above beyond error |",
                "| --- | --- | ---: | ---: |",
                "| C | nothing | 0.500 (0.490 to 0.510) | 1, 0 of 2 |",
            ],
        ),
        (
            "steady | stability",
            [
                "| policy | normal | runs | equal: misses | bias, distance | unequal: misses | bias, distance |",
                "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
                "| A | not refuted | 300 | 0.125 ± 0.013 | -0.20, 0.125 | 0.125 ± 0.013 | -0.20, 0.125 |",
                "| B | no | 300 | 0.250 ± 0.013 | -0.20, 0.250 | 0.250 ± 0.013 | -0.20, 0.250 |",
            ],
        ),
    ],
)
def test_a_table_is_made_from_the_file_and_the_rest_of_the_page_kept(folder, wanted, lines):
    mark = f"<!-- league: {wanted} -->"
    page = folder / "page.md"
    page.write_text(f"Before.\n\n{mark}\n| old | table |\n| --- | --- |\n\nAfter.\n", encoding="utf-8")
    write_tables(page)
    made = page.read_text(encoding="utf-8")
    assert made == "\n".join(["Before.", "", mark, *lines, "", "After.", ""])
    assert with_tables(made, folder / "league") == made


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (
            "some | median",
            "a league has no table 'median'; it has mean, q95, q99, worst, rank, winners, overall, means, stability.",
        ),
        ("some | mean | A; D", "some.parquet has no policy 'D'."),
        ("some | mean | A | Poisson", "some.parquet has no environment 'Poisson'."),
    ],
)
def test_what_is_not_there_is_named(folder, wanted, message):
    with pytest.raises(InvalidInput, match=f"^{message}$"):
        with_tables(f"<!-- league: {wanted} -->\n", folder / "league")

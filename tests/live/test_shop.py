"""The worked example of docs/live.md: the script runs, and the page has the numbers that it prints."""

import hashlib
import json
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import polars
import pytest

from bandstrap import live
from bandstrap.live.export import open_bandit_feedback, write_dsjson
from sampling import exhaustive

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "live.md").read_text(encoding="utf-8")
SCRIPT = (DOCS / "live_shop.py").read_text(encoding="utf-8")
POLICY = polars.col("source") == "policy"


def blocks(language=""):
    """Code of the page in a language; without one, what was printed."""
    return [code for kind, code in re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.S | re.M) if kind == language]


def printed():
    """The lines that the page says were printed."""
    return "".join(blocks()).splitlines()


pytestmark = exhaustive  # a whole day


@pytest.fixture(scope="module")
def day(tmp_path_factory):
    """The folder of a day in the shop, and the lines that were printed."""
    for _ in range(3):  # a machine that stands still for two seconds, the length of a window, has other payments late
        folder = tmp_path_factory.mktemp("day") / "shop"
        command = [sys.executable, "-W", "error", str(DOCS / "live_shop.py"), str(folder)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        assert done.stderr == ""
        lines = done.stdout.splitlines()
        if lines == printed():
            break
    return folder, lines


@pytest.fixture(scope="module")
def log(day):
    return polars.read_parquet(day[0] / "log.parquet")


@exhaustive
def test_the_page_shows_what_the_script_prints(day):
    assert printed() == day[1]


def test_the_code_of_the_page_is_that_of_the_script():
    lines = {line.strip() for line in SCRIPT.splitlines()}
    for line in blocks("python")[0].splitlines()[2:]:
        assert line.strip() in lines
    assert blocks("python")[1].splitlines()[0] in lines


def test_a_visitor_is_explained_by_hand_and_by_sql(day):
    (text,) = re.findall(r"`(i2:26s8:\w+:u3017)`", PAGE)
    point = (int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 11) / 2**53
    assert any(line.startswith(f"its point is {point:.4f}, ") for line in day[1])
    database = sqlite3.connect(day[0] / "shop.db")
    ((arm, propensity, weights, version, kind, reward),) = database.execute(blocks("sql")[0]).fetchall()
    database.close()
    weights = json.loads(weights)
    assert sum(weights[:arm]) <= point < sum(weights[: arm + 1])
    assert (arm, propensity, version, kind, reward) == (2, weights[2], 1796, "reward", 43.63)


def test_the_crash_lost_nothing(log, day):
    assert log.height == 4000
    assert set(log["settled"]) == {"reward", "default"}
    assert log.filter(POLICY)["learned"].is_not_null().all()
    with live.open(day[0] / "shop.db", "checkout") as shop:
        assert shop.replay().is_identical


def test_payments_count_once_or_are_late(log, day):
    stored = sum(int(number) for number in re.findall(r"; (\d+) payments", "\n".join(day[1])))
    late = sum(int(number) for number in re.findall(r"^(\d+) payments too late", "\n".join(day[1]), re.M))
    assert (log["rewards"].sum(), log["late"].sum()) == (stored + late, late)
    assert log["rewards"].max() == 1
    assert (log.filter(polars.col("reward") > 0).height, log.filter(polars.col("late") > 0)["reward"].sum()) == (
        stored,
        0,
    )


def test_the_new_variant_kept_to_its_share(log):
    third = log.filter(POLICY, polars.col("unit").str.starts_with("u3"))
    assert third["weights"].list.get(3).max() <= 0.2 + 1e-15
    assert third["weights"].list.min().min() >= 0.2 / 4 - 1e-15
    fourth = log.filter(POLICY, polars.col("unit").str.starts_with("u4"))
    assert fourth["weights"].list.get(2).max() == 0  # paused


def test_estimates_are_near_the_truth(day):
    """Four numbers with their standard errors and truths; 4 standard errors is what chance may do."""
    found = re.findall(r"^\w+: ([\d.]+) \+- ([\d.]+) a visitor, in truth ([\d.]+)$", "\n".join(day[1]), re.M)
    assert len(found) == 4
    for mean, error, truth in found:
        assert abs(float(mean) - float(truth)) < 4 * float(error)


def test_other_layouts_are_written_as_on_the_page(log, day, monkeypatch):
    monkeypatch.chdir(day[0])
    space = {}
    exec(blocks("python")[2], space)
    n_rounds = log.filter(POLICY).height
    assert space["feedback"]["n_rounds"] == n_rounds
    assert len(Path("log.dsjson").read_text().splitlines()) == n_rounds
    assert space["open_bandit_feedback"] is open_bandit_feedback
    assert space["write_dsjson"] is write_dsjson


def test_a_reward_is_taken_back_as_on_the_page(tmp_path):
    with live.create(tmp_path / "shop.db", "checkout", policy="ucb1", arms=["red", "green"], seed=7) as shop:
        decision = shop.decide(unit="u1")
        shop.reward(decision.id, 1e12)
        exec(blocks("python")[3], {"shop": shop, "decision": decision})
        shop.export(tmp_path / "log.parquet")
    assert polars.read_parquet(tmp_path / "log.parquet")["settled"].to_list() == ["void"]


def test_the_report_is_a_page(day):
    page = (day[0] / "status.html").read_text(encoding="utf-8")
    assert "teal" in page
    assert "data:image" in page

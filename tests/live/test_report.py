"""The status as text: what is printed of it, and how numbers are written."""

import math
import re

import pytest

from bandstrap import live
from bandstrap.live.report import show_duration

ODD = "\x1b[31mrot\u202e"


@pytest.fixture
def shop(tmp_path):
    told = {"policy": "ucb1", "arms": ["red", "green", ODD], "seed": 7, "refresh": 0, "burn_in": 2}
    with live.create(tmp_path / "shop.db", "checkout", holdout=0.3, control="red", **told) as experiment:
        yield experiment


def test_a_status_is_printed_as_a_few_lines_and_a_table_of_its_arms(shop):
    decisions = shop.decide_many([f"u{i}" for i in range(90)])
    shop.reward_many([(decision.id, float(i % 7)) for i, decision in enumerate(decisions)])
    status = shop.status()
    *about, header, red, green, odd, caveat = str(status).splitlines()
    assert caveat == status.interval.promise
    assert repr(status) == str(status)
    assert [re.match(r"[\w ]+", line)[0].strip() for line in about] == [
        "checkout",
        "decisions 90",
        "rewards 90 received",
        "decision to reward",
        "lift over the holdout",
        "95",
    ]
    names = ["arm", "state", "decisions", "last 24 h", "weight", "rewards", "mean", "lower", "upper", "upper bound"]
    assert re.split("  +", header) == names
    for arm, line in zip(status.arms, (red, green, odd), strict=True):
        label, state, n_decisions, _, _, n_rewards, mean, *_ = re.split("  +", line)
        assert label == arm.label.replace("\x1b", "\\x1b").replace("\u202e", "\\u202e")
        assert (state, n_decisions, n_rewards) == (arm.state, str(arm.decisions), str(arm.n_rewards))
        assert mean == f"{arm.mean:.4g}"
        assert len(line) == len(header)  # the last column ends where its name does
    assert len(repr(status.lag)) < 200


def test_before_the_first_decision(shop, tmp_path):
    *about, _, red, _, _, _ = str(shop.status()).splitlines()
    assert len(about) == 4
    assert re.split("  +", red) == ["red", "new", "0", "-", "33.3 %", "0", "-", "-", "-"]
    with live.create(tmp_path / "shop.db", "linear", policy="lin_ucb:dimension=2") as experiment:
        assert len(str(experiment.status()).splitlines()) == 3  # actions are known when they are given


def test_durations_are_shown_in_the_unit_that_reads_best():
    seconds = (None, 0.0, 0.9994, 0.9996, 59.0, math.pi, 86_400.0 * 400, 1e8, -90.0)
    assert [show_duration(each) for each in seconds] == [
        "-",
        "0 s",
        "999 ms",
        "1 s",
        "59 s",
        "3.14 s",
        "400 d",
        "1,157 d",
        "-1.5 min",
    ]

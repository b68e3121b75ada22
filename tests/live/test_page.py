"""The status as a page: whole, without a network, and with whatever names come from outside."""

import base64
import dataclasses
import math
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from bandstrap import live
from bandstrap.live.history import CountHistory
from bandstrap.live.page import MOST_CURVES, write_status_page
from bandstrap.live.status import IntervalPromise
from bandstrap.live.tally import Tally

ODD = "<b>rot</b> & \"x\" '$x$' 漢字 😀\x1b[31m\u202e"


class Page(HTMLParser):
    """Tags that are open, what is loaded from elsewhere, pictures and their words."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.loaded, self.pictures, self.words = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            if tag == "img" and name == "src":
                kind, _, data = value.partition(";base64,")
                assert kind == "data:image/svg+xml"
                self.pictures.append(ElementTree.fromstring(base64.b64decode(data)))  # noqa: S314 - our own
            elif name in ("src", "href") and not value.startswith("#"):
                self.loaded.append(value)

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def words_of(picture):
    """All that is written in a picture."""
    return [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]


def page_of(status, tmp_path):
    path = tmp_path / "page.html"
    write_status_page(status, path)
    text = path.read_text(encoding="utf-8")
    assert "nan" not in re.sub('base64,[^"]*', "", text).lower().replace("nant", "")
    page = Page(text)
    assert page.loaded == []
    assert "script" not in page.tags
    assert "@import" not in text
    assert "url(" not in text
    return page


@pytest.fixture
def shop(tmp_path):
    """A small experiment with a holdout, in three arms, one of them of an odd name."""
    told = {"arms": ["red", "green", ODD], "seed": 7, "refresh": 0, "burn_in": 2, "holdout": 0.3, "control": "red"}
    with live.create(tmp_path / "shop.db", "checkout", policy="ucb1", durability="normal", **told) as experiment:
        yield experiment


def trade(experiment, n=60):
    rng = np.random.default_rng(0)
    decisions = experiment.decide_many([f"u{i}" for i in range(n)], keys=[f"k{i}" for i in range(n)])
    experiment.reward_many([(decision.id, float(rng.normal(10, 1))) for decision in decisions[::2]])


def test_the_page_has_the_numbers_and_six_pictures(shop, tmp_path):
    trade(shop)
    shop.pause("green", actor="<i>anna</i>")
    status = shop.status()
    page = page_of(status, tmp_path)
    assert len(page.pictures) == 6
    for words in ("paused", "<i>anna</i>", "arm green paused", "Lift over the holdout", "95 % interval", "(control)"):
        assert words in page.text
    shown = ODD.replace("\x1b", "\\x1b").replace("\u202e", "\\u202e")
    assert " ".join(shown.split()) in page.text
    assert "\x1b" not in page.text
    bars, intervals, shares, means, lags, lift = map(words_of, page.pictures)
    assert {"red", "green", "decisions", "reward learned", "without one"} <= set(bars)
    assert "mean reward" in intervals
    assert {"share of decisions", "time (UTC)", "red"} <= set(shares)
    assert {"mean reward so far", "time (UTC)"} <= set(means)
    assert any(word.startswith("median") for word in lags)
    assert "policy minus holdout" in lift
    for label, arm in (("red", status.arms[0]), ("green", status.arms[1])):
        assert f"{label} {'(control) ' * (label == 'red')}{arm.state} {arm.decisions}" in page.text
    assert f"{status.lift.difference:.4g} per decision" in page.text
    assert "Decisions without a reward are left out" in page.text  # there is no default


def test_before_the_first_decision_there_is_nothing_to_draw(shop, tmp_path):
    page = page_of(shop.status(), tmp_path)
    assert page.pictures == []
    assert "No reward of both groups yet." in page.text
    assert "None since it was created." in page.text


def test_decisions_without_rewards(shop, tmp_path):
    shop.decide_many([f"u{i}" for i in range(10)])
    page = page_of(shop.status(), tmp_path)
    assert len(page.pictures) == 2


def test_many_arms_huge_and_equal_rewards_and_no_holdout(shop, tmp_path):
    trade(shop, 20)
    status = shop.status()
    arms = []
    learned = {}
    for i in range(30):
        state = ("active", "retired", "paused", "new")[i % 4]
        # Huge rewards that vary, some that do not, and one beyond what can be drawn.
        mean, half = (1e12 + i, 5.0) if i % 3 else (7.0, None)
        mean = 1e305 if i == 29 else mean
        ends = (None, None) if half is None or i == 29 else (mean - half, mean + half)
        arms.append(
            dataclasses.replace(status.arms[0], label=f"arm {i}", state=state, mean=mean, lower=ends[0], upper=ends[1])
        )
        learned[f"arm {i}"] = [Tally(3, mean, 2.0 if half else 0.0)] * len(status.history.ends)
    history = CountHistory(
        status.history.ends, {arm.label: [2] * len(status.history.ends) for arm in arms}, learned, []
    )
    many = dataclasses.replace(
        status, arms=tuple(arms), lifts=(), settings=status.settings | {"holdout": 0.0}, history=history
    )
    page = page_of(many, tmp_path)
    assert "Lift" not in page.text
    bars, intervals, shares, means, _ = map(words_of, page.pictures)
    assert sum(word.startswith("arm ") for word in bars) == 30
    assert sum(word.startswith("arm ") for word in intervals) == 29
    assert sum(word.startswith("arm ") for word in shares) == MOST_CURVES
    assert f"{30 - MOST_CURVES} others" in shares
    assert sum(word.startswith("arm ") for word in means) == MOST_CURVES


def test_of_very_many_arms_the_pictures_have_the_busiest(shop, tmp_path):
    trade(shop, 20)
    status = shop.status()
    arms = tuple(dataclasses.replace(status.arms[0], label=f"arm {i}", decisions=i) for i in range(100))
    learned = {arm.label: [Tally(3, 1.0, 2.0)] * len(status.history.ends) for arm in arms}
    history = CountHistory(
        status.history.ends, {arm.label: [2] * len(status.history.ends) for arm in arms}, learned, []
    )
    page = page_of(dataclasses.replace(status, arms=arms, history=history), tmp_path)
    bars, intervals, *_ = map(words_of, page.pictures)
    for words in (bars, intervals):
        shown = [word.split("  ")[0] for word in words if word.startswith("arm ")]
        assert shown == [f"arm {i}" for i in range(60, 100)]
    assert page.text.count("The 40 arms with most decisions.") == 2
    assert all(f"arm {i} " in page.text for i in range(100))


def test_rewards_as_large_as_a_policy_takes(tmp_path):
    with live.create(tmp_path / "shop.db", "checkout", policy="ucb1", arms=["a", "b"], seed=7, refresh=0) as experiment:
        rng = np.random.default_rng(0)
        for decision in experiment.decide_many(keys=[str(i) for i in range(30)]):
            experiment.reward(decision.id, float(rng.choice([-1e150, 1e150])))
        status = experiment.status()
        assert all(-math.inf < arm.lower < arm.mean < arm.upper < math.inf for arm in status.arms)
        assert len(page_of(status, tmp_path).pictures) == 5


def test_actions_have_no_states_and_weights(tmp_path):
    told = {"policy": "lin_ucb:dimension=2", "seed": 7, "refresh": 0}
    with live.create(tmp_path / "shop.db", "checkout", **told) as experiment:
        for i in range(6):
            decision = experiment.decide(key=str(i), actions=[[1.0, 0.0], [0.0, 1.0]])
            experiment.reward(decision.id, 1.0 + decision.arm)
        page = page_of(experiment.status(), tmp_path)
    assert "Actions" in page.text
    assert "weight now" not in page.text
    assert "share of decisions" in words_of(page.pictures[2])


def test_shadow_mode_says_that_a_difference_is_chance(shop, tmp_path):
    shop.change(mode="shadow")
    trade(shop)
    page = page_of(shop.status(), tmp_path)
    assert "in shadow mode the control, red, is served" in page.text
    assert "this difference is chance" in page.text


def test_what_an_interval_promises_is_on_the_page(shop, tmp_path):
    trade(shop, 10)
    status = dataclasses.replace(
        shop.status(), interval=IntervalPromise("betting", 0.05, "It holds at all times together.")
    )
    assert "It holds at all times together." in page_of(status, tmp_path).text

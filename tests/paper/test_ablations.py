"""Ablations: the files hold, intervals cover, and what is written is what was played."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from bandstrap.experiments.spec import check_panel, read_experiment
from bandstrap.paper.ablations import run
from bandstrap.paper.ablations.factorial import BANDITS, PICTURES, factorial
from bandstrap.paper.ablations.run import CONFIDENCE, QUESTIONS, ablate, ratio, ratios_of
from bandstrap.paper.reproduce import paper_file
from sampling import exhaustive


@exhaustive
def test_every_file_is_asked_for_and_has_panels_of_its_own():
    files = {path.stem for path in paper_file("ablations").glob("*.toml")}
    assert files == set(QUESTIONS)
    names = [panel.name for name in QUESTIONS for panel in read_experiment(paper_file(f"ablations/{name}.toml")).panels]
    assert len(set(names)) == len(names)


def test_the_factorial_has_every_combination_and_each_can_be_played():
    experiment = factorial()
    assert len(experiment.panels) == len(BANDITS)
    assert [len(picture) for picture in PICTURES.values()] == [25, 25, 25, 12]
    labels = [label for picture in PICTURES.values() for label in picture]
    assert len(set(labels)) == len(labels)
    check_panel(experiment.panels[0], experiment, "factorial")


@pytest.mark.parametrize("n", [20, 200])
def test_intervals_hold_the_ratio_as_often_as_they_say(n):
    """4000 samples: the share that hold it has a standard error of 0.0034; half the nominal miss rate would be seen."""
    rng = np.random.default_rng(n)
    held = 0
    for _ in range(4000):
        shared = rng.gamma(4, 1, n)
        first, second = 3 * shared + rng.gamma(2, 1, n), 2 * shared + rng.gamma(2, 1, n)
        value, low, high = ratio(first, second)
        assert low <= value <= high
        held += low <= 14 / 10 <= high
    # Four standard errors; a normal quantile in place of Student's costs 1.6 points at n = 20.
    assert held / 4000 == pytest.approx(CONFIDENCE, abs=0.014)


def test_the_ends_of_an_interval_are_the_ratios_that_are_just_told_from_the_data():
    rng = np.random.default_rng(0)
    first, second = rng.gamma(4, 1, 50), rng.gamma(5, 1, 50)
    _, low, high = ratio(first, second)
    for end in (low, high):
        difference = first - end * second
        assert abs(difference.mean()) / (difference.std(ddof=1) / math.sqrt(50)) == pytest.approx(
            stats.t(49).ppf(0.975)
        )


def test_a_mean_that_is_not_told_from_zero_gives_no_interval():
    values = np.array([-1.0, 1.0, -2.0, 2.5])
    assert ratio(values, values)[1:] == (0.0, math.inf)
    assert math.isnan(ratio(values, np.zeros(4))[0])


@exhaustive
def test_what_is_written_is_what_was_played(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "QUESTIONS", ("skew",))
    small = factorial().model_copy(update={"horizon": 50})
    kept = [label for label in PICTURES["B = 200"] if "rademacher" in label][:2]
    panels = [
        panel.model_copy(update={"curves": tuple(curve for curve in panel.curves if curve.label in kept)})
        for panel in small.panels[:2]
    ]
    monkeypatch.setattr(run, "factorial", lambda: small.model_copy(update={"panels": tuple(panels)}))
    monkeypatch.setattr(run, "PICTURES", {"B = 200": dict.fromkeys(kept, "")})
    skew, everything = ablate(tmp_path, seed=1, replications=4, progress=False)
    content = json.loads((tmp_path / "ablations.json").read_text())
    assert [one["name"] for one in content["ablations"]] == ["skew", "factorial"]
    assert len(skew.ratios) == len(content["ablations"][0]["ratios"]) == 3 * 7
    panel = skew.chapter.panels[0]
    first = skew.ratios[0]
    assert first.ratio == panel[first.curve].at().mean() / panel.curves[0].at().mean()
    assert everything.ratios == ratios_of(everything.chapter.panels, "practical, rademacher, B = 200")
    assert all(path.is_file() for path in everything.chapter.pictures.panels)
    page = (tmp_path / "ablations.html").read_text()
    assert page.count("<img") == len(skew.chapter.panels) + 1  # and a heat map
    assert "http" not in page.replace("http://www.w3.org", "")
    before = (tmp_path / "ablations.json").read_bytes()
    ablate(tmp_path, seed=1, replications=4, progress=False)
    assert (tmp_path / "ablations.json").read_bytes() == before

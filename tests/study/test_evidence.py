"""The study of evidence: its compiled loop is the package's, and each table is printed."""

import json

import pytest

from sampling import exhaustive
from study import evidence


@exhaustive
def test_the_compiled_loop_computes_what_the_package_does():
    assert evidence.check_twin() < 1e-10


@exhaustive
def test_intervals_miss_seldom_where_usual_ones_nearly_always_do():
    """More than 21 of 300 runs miss with probability 1e-5 at a rate of 2.5 %, and with probability 0.997 at one of 12 %."""
    found = evidence.run(300, 1, "rises")
    assert found["missed"] <= 21 / 300
    assert found["naive"] > 0.9
    assert 1.5 < found["width"] < 1.7


@exhaustive
@pytest.mark.parametrize("name", ["coverage", "stops", "health", "values"])
def test_first_runs_are_those_that_were_kept(name):
    """Numbers of the documentation that an earlier version has made have other first runs."""
    if name == "values":
        pytest.importorskip("estimators.bandits.cs")
    part, _ = evidence.PARTS[name]
    kept = json.loads(evidence.FILE.read_text(encoding="utf-8"))[name]["few_runs"]
    found = part(evidence.FEW_RUNS)
    assert list(found) == list(kept)
    for row, numbers in found.items():
        assert numbers == pytest.approx(kept[row], rel=1e-9)


@exhaustive
@pytest.mark.parametrize("name", evidence.PARTS)
def test_every_table_is_printed(name, monkeypatch, capsys):
    monkeypatch.setattr(evidence, "LEADERS", evidence.LEADERS[:1])
    monkeypatch.setattr(evidence, "T", 2000)
    part, _ = evidence.PARTS[name]
    if name != "stops":
        part(5)
        assert len(capsys.readouterr().out.splitlines()) >= 3
    else:
        found = evidence.run(5, 1, "constant", lift=0.5, floor=1.0, horizon=4000, scale=1)
        assert found["wrong"] == 0.0

"""Results as tables: what is shown is what they hold, and text of a user's is never markup."""

import itertools
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from bandstrap import UCB1, live, simulate
from bandstrap.basics.display import Display, as_html, as_text
from bandstrap.bounds import bound_groups, compare, difference, student_t
from bandstrap.environments import Gaussian

EVIL = "<script>alert('x')</script>&\x1b[31m"
SAMPLE = [1.0, 2.0, 4.0, 3.5, 2.5, 1.5]


class Cells(HTMLParser):
    """The cells of a table, row by row; every other tag is noted."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.others, self.sentences, self.inside = [], set(), [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.inside = tag
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        elif tag not in ("div", "table", "thead", "tbody", "p"):
            self.others.add(tag)

    def handle_data(self, data):
        if self.inside in ("td", "th") and data.strip():
            self.rows[-1][-1] += data
        elif self.inside == "p" and data.strip():
            self.sentences.append(data)


def shown_objects():
    groups = {EVIL: SAMPLE, "b": [0.5, *SAMPLE]}
    yield bound_groups(groups, method="student_t")
    yield bound_groups(groups, method="betting", support=(0, 3), check=False)  # which the groups contradict
    yield compare(groups, EVIL)
    yield simulate(
        {EVIL: UCB1(), "b": UCB1(sigma=2)}, Gaussian([1, 0]), horizon=5, replications=3, seed=0, progress=False
    )


@pytest.mark.parametrize("found", list(shown_objects()), ids=lambda found: type(found).__name__)
def test_names_are_escaped_and_control_characters_written_out(found):
    html = found._repr_html_()
    assert "<script" not in html
    assert "\x1b" not in html + str(found)
    parsed = Cells(html)
    assert parsed.others == set()
    assert "<script>alert('x')</script>&\\x1b[31m" in " ".join([*itertools.chain(*parsed.rows), *parsed.sentences])


@pytest.mark.parametrize("side", ["upper", "lower", "two-sided"])
def test_the_numbers_of_a_table_are_those_of_the_bounds(side):
    groups = {"a": SAMPLE, "b": [1000.0 + each for each in SAMPLE], "c": SAMPLE[:2]}
    found = bound_groups(groups, method="student_t", side=side)
    head, *rows = Cells(found._repr_html_()).rows
    assert head == ["group", "n", "mean", *(("lower", "upper") if side == "two-sided" else ("bound",)), "proved"]
    for (name, n, mean, *ends, proved), (group, bound) in zip(rows, found.bounds.items(), strict=True):
        assert (name, int(n), proved) == (group, len(groups[group]), bound.proved or "-")
        expected = np.array([bound.mean, *np.atleast_1d(bound.value)])
        np.testing.assert_allclose([float(mean), *map(float, ends)], expected, atol=0.03 * bound.width)
    (_, *texts) = (line.split() for line in str(found).splitlines() if line[:2] in ("gr", "a ", "b ", "c "))
    assert [text[:-2] if "<=" in text else text[:-1] for text in texts] == [row[:-1] for row in rows]


def test_one_bound_a_batch_and_a_difference_show_themselves():
    one = student_t(SAMPLE, 0.05)
    assert str(one).splitlines()[0] == "student_t, upper (one-sided), alpha = 0.05"
    assert str(one).splitlines()[-1].split()[:3] == ["6", f"{one.mean:.4g}", f"{one.value:.4g}"]
    batch = student_t(np.arange(60.0).reshape(15, 4) ** 1.5, 0.05, side="two-sided")
    assert "15 samples, the first 10, each of 4 rewards; proved: <= 0.05" in str(batch)
    rows = Cells(batch._repr_html_()).rows
    assert len(rows) == 11
    assert [float(row[2]) for row in rows[1:]] == pytest.approx(batch.lower[:10], rel=1e-3)
    assert "first n  second n" in str(difference(SAMPLE, SAMPLE[:3]))
    few = bound_groups({"one": [3.0]}, method="sign_flip", check=False)
    assert few.bounds["one"].why_infinite in str(few)
    assert few.bounds["one"].why_infinite in few._repr_html_()


def test_what_all_groups_have_is_said_once():
    same = str(bound_groups(dict.fromkeys("abcdef", SAMPLE)))
    assert same.count("bootstrap_t") == 1
    assert same.count("Assumption: ") == 1
    mixed = str(bound_groups({"a": SAMPLE, "b": SAMPLE, "c": SAMPLE[:3]}, check=False))
    assert len(re.findall(r"^(a, b|c): \w+ because", mixed, re.MULTILINE)) == 2
    assert "method" in mixed


def test_a_live_status_is_shown_in_a_notebook(tmp_path):
    with live.create(tmp_path / "x.db", "x", policy="ucb1", arms=[EVIL, "b"]) as experiment:
        status = experiment.status()
    parsed = Cells(status._repr_html_())
    assert parsed.others == set()
    assert [row[0] for row in parsed.rows[1:]] == ["<script>alert('x')</script>&\\x1b[31m", "b"]
    assert repr(status) == str(status)


def test_nothing_is_a_table_without_rows_or_columns():
    assert as_text(Display(["none"], {})) == "none"
    assert as_html(Display(["none"], {})) == "<div>\n<p>none</p>\n</div>"
    assert as_text(Display([], {"a": [], "bc": []})) == "a  bc"

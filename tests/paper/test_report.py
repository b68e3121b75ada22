"""The report: one page, whole, valid, with everything in it, on a phone and on a desk."""

import base64
import dataclasses
import json
import re
import shutil
import subprocess
from collections import Counter
from html.parser import HTMLParser
from importlib.metadata import version
from pathlib import Path

import pytest

from bandstrap.experiments import read_experiment
from bandstrap.pages import as_data, show_number
from bandstrap.paper.claims import (
    CLAIMS,
    DEPENDS,
    NOT_REPRODUCED,
    REPRODUCED,
    SECTIONS,
    UNDECIDED,
    Finding,
    Power,
    ReportedNumber,
    examine,
)
from bandstrap.paper.formulas import typeset
from bandstrap.paper.report import YEAR, linked, origin, read_reasons, write_report
from bandstrap.paper.reproduce import CHAPTERS, EVIDENCE, FIGURES, Chapter, Pictures, Reproduction, errata, paper_file
from bandstrap.paper.sentences import Sentence, read_sentences
from bandstrap.plots.league import contrast
from paper.synthetic import agreeing
from sampling import each

# A glance at each chapter, and all axes alone.
N_PICTURES = sum(
    1 + len({panel.drawn_on for panel in read_experiment(Path(paper_file(f"{name}.toml"))).panels}) for name in CHAPTERS
)
VOID = {"meta", "img", "br", "link", "input", "hr"}
PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1680 700" width="1680" height="700"></svg>'


def reproduction(folder):
    evidence = agreeing()
    chapters = []
    for name in CHAPTERS:
        experiment = read_experiment(Path(paper_file(f"{name}.toml")))
        picture = folder / f"{name}.svg"
        picture.write_text(PICTURE)
        panels = tuple(evidence[panel.name] for panel in experiment.panels)
        chapters.append(Chapter(name, experiment, panels, Pictures(picture, (picture,) * len(panels), picture)))
    return Reproduction(tuple(chapters), tuple(examine(evidence)), 7, 200)


def write(whole, path, items=None):
    write_report(whole, errata() if items is None else items, read_sentences(), path)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    write(reproduction(folder), folder / "report.html")
    return folder / "report.html"


class Reader(HTMLParser):
    """Checks that tags are balanced; gathers attributes and text."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.attributes, self.rows, self.texts = [], [], {}, []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, name, value) for name, value in attrs]
        assert len({name for name, _ in attrs}) == len(attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert tag not in VOID
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def squeezed(text):
    return " ".join(text.split())


def read_typeset(text):
    """What a reader is shown of a text with formulas."""
    known = {item["id"] for item in errata()} | {claim.name for claim in CLAIMS}
    return Reader(str(linked(typeset(text), known))).text


def test_tags_are_balanced_and_addresses_lead_somewhere(page):
    reader = Reader(page.read_text(encoding="utf-8"))
    ids = [value for _, name, value in reader.attributes if name == "id"]
    assert len(set(ids)) == len(ids)
    links = [value for tag, name, value in reader.attributes if (tag, name) == ("a", "href")]
    assert {link.removeprefix("#") for link in links} <= set(ids)
    assert {f"figure{i}" for i in range(1, 8)} | {"claims", "errata", *EVIDENCE} <= set(ids)
    assert {claim.name for claim in CLAIMS} <= set(ids)


def test_nothing_is_loaded_from_elsewhere(page):
    text = page.read_text(encoding="utf-8")
    reader = Reader(text)
    sources = [value for _, name, value in reader.attributes if name in ("src", "srcset", "data", "poster")]
    assert len(sources) == N_PICTURES
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    assert not {tag for tag, *_ in reader.attributes} & {"script", "link", "iframe", "object", "base"}
    assert not re.search(r"https?:|@import|url\(|//[a-z]", text.split("</head>")[0])
    assert not re.search(r'(href|src)\s*=\s*"?(https?:)?//', text)


def test_every_claim_and_every_erratum_is_there(page):
    text = Reader(page.read_text(encoding="utf-8")).text
    items = errata()
    assert [item["id"] for item in items] == [f"E{i}" for i in range(1, 51)]
    for item in items:
        assert item["id"] in text
        for part in ("where", "printed", "reading", "code"):
            assert read_typeset(item[part]) in text, item["id"]
    for claim in CLAIMS:
        ours = "ours " if claim.ours else ""
        assert f"{read_typeset(claim.where)} {claim.name} {ours}{read_typeset(claim.says)}" in text
    for name in FIGURES:
        experiment = read_experiment(Path(paper_file(f"figure{name}.toml")))
        assert read_typeset(experiment.title) in text
        for reading in experiment.readings:
            assert read_typeset(reading) in text
        for panel in experiment.panels:
            assert read_typeset(panel.title) in text
            for curve in panel.curves:
                assert squeezed(curve.policy or curve.bound) in text
    for whose, ours in (("of the paper", False), ("of ours", True)):
        counts = Counter(finding.verdict for claim, finding in examine(agreeing()) if claim.ours == ours)
        assert counts[REPRODUCED] > counts.total() / 2
        open_ones = f", {counts[DEPENDS]} that depend on an unstated setting" if counts[DEPENDS] else ""
        assert (
            f"{counts.total()} claims {whose}: {counts[REPRODUCED]} reproduced{open_ones}, {counts[NOT_REPRODUCED]} not "
            "reproduced" in text
        )


def test_what_is_ours_and_what_is_undecided_is_marked(page, tmp_path):
    text = page.read_text(encoding="utf-8")
    rows = dict(re.findall(r'<tr class="claim" id="([\w-]+)">(.*?)</tr>', text, flags=re.DOTALL))
    assert {name for name, row in rows.items() if '<span class="ours">' in row} == {c.name for c in CLAIMS if c.ours}
    assert "9 of 10 comparisons hold" in rows["introduction-posterior"]
    whole = reproduction(tmp_path)
    findings = tuple((claim, dataclasses.replace(found, verdict=UNDECIDED)) for claim, found in whole.findings)
    write(dataclasses.replace(whole, findings=findings), tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    n_ours = sum(claim.ours for claim in CLAIMS)
    assert [int(n) for n in re.findall(r"<strong>(\d+)</strong> <span>undecided</span>", text)] == [
        len(CLAIMS) - n_ours,
        n_ours,
    ]


def test_text_is_escaped(tmp_path):
    whole = reproduction(tmp_path)
    evil = '<script>alert("1")</script> & <b>'
    claim = dataclasses.replace(CLAIMS[0], where=evil, says=evil)
    finding = Finding(DEPENDS, evil, (ReportedNumber(evil, 1.0),), Power(None, evil), evil)
    experiment = whole.chapters[0].experiment.model_copy(update={"title": evil, "readings": (evil,)})
    chapters = (dataclasses.replace(whole.chapters[0], experiment=experiment),)
    item = dict.fromkeys(("id", "where", "printed", "reading", "code"), evil)
    whole = Reproduction(chapters, ((claim, finding),), 7, 2, lack=(experiment,))
    sentences = (Sentence(part="1", place=evil, says=evil, reason=evil),)
    write_report(whole, [item], sentences, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert "<script" not in text
    assert "<b>" not in text
    # Claim and finding; chapter, its link, its glance and its reading; what it lacks, twice; sentence; erratum.
    assert Reader(text).text.count("alert(") == 6 + 4 + 2 + 3 + 5


def test_the_matrix_has_a_marked_cell_for_every_claim_that_leads_to_it(page):
    text = page.read_text(encoding="utf-8")
    matrix = text[text.index('<table class="matrix">') : text.index('<div class="glances">')]
    cells = re.findall(
        r'<a class="([\w-]+)(| of-ours)" href="#([\w-]+)" title="([^"]+)" aria-label="([^"]+)">(.*?)</a>', matrix
    )
    findings = dict(examine(agreeing()))
    assert len(cells) == len(CLAIMS)
    for claim in CLAIMS:
        ((verdict, ours, _, title, label, mark),) = [cell for cell in cells if cell[2] == claim.name]
        assert bool(ours) == (" (ours), " in title) == claim.ours
        assert verdict == findings[claim].verdict.replace(" ", "-")
        assert f'href="#mark-{verdict}"' in mark  # a shape as well as a colour
        assert f'<symbol id="mark-{verdict}"' in text
        assert title == label
        assert findings[claim].verdict in title
    assert re.findall(r'<th scope="row">(.*?)</th>', matrix) == [
        part for part in SECTIONS if part in {claim.section for claim in CLAIMS}
    ]
    places = [text.index(f'<tr class="claim" id="{claim.name}">') for claim in CLAIMS]
    by_part = [place for part in SECTIONS for claim, place in zip(CLAIMS, places, strict=True) if claim.section == part]
    assert by_part == sorted(places)  # the details are in the order of the matrix


def test_every_part_counts_the_claims_of_the_paper_and_ours_apart(page):
    text = page.read_text(encoding="utf-8")
    matrix = text[text.index('<table class="matrix">') : text.index('<div class="glances">')]
    scores = re.findall(r'<td class="n">(.*?)</td><td class="n">(.*?)</td>', matrix)
    findings = examine(agreeing())
    parts = [part for part in SECTIONS if part in {claim.section for claim in CLAIMS}]
    for part, score in zip(parts, scores, strict=True):
        for ours, shown in zip((False, True), score, strict=True):
            found = [each.verdict for claim, each in findings if (claim.section, claim.ours) == (part, ours)]
            assert shown == (f"{found.count(REPRODUCED)} of {len(found)}" if found else "-")


def test_what_was_not_run_is_said_to_be_missing(tmp_path):
    whole = reproduction(tmp_path)
    chapters = tuple(chapter for chapter in whole.chapters if chapter.name == "figure6")
    lack = tuple(chapter.experiment for chapter in whole.chapters if chapter.name != "figure6")
    findings = tuple((claim, finding) for claim, finding in whole.findings if claim.name in ("theorem-4", "figure-6"))
    partial = Reproduction(chapters, findings, 7, 20, lack=lack)
    write(partial, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    reader = Reader(text)
    assert f"2 claims of the paper: 2 reproduced, 0 not reproduced; {len(CLAIMS) - 2} more not" in (reader.text)
    assert "Not run here with seed 7 and 20 replications: Figure 1, Figure 2" in reader.text
    assert "its claim is undecided" in reader.text
    assert text.count('<use href="#mark-not-checked"/>') >= 2 * (len(CLAIMS) - 2)
    ids = {value for _, name, value in reader.attributes if name == "id"}
    assert {claim.name for claim in CLAIMS} <= ids
    assert "figure2" not in ids
    links = {value.removeprefix("#") for tag, name, value in reader.attributes if (tag, name) == ("a", "href")}
    assert links <= ids


def test_how_to_cite_names_version_seed_and_replications_and_nothing_that_changes(page):
    text = Reader(page.read_text(encoding="utf-8")).text
    assert "@inproceedings{hao2019bootstrapping," in text
    assert "pages = {12123--12133}," in text
    assert f"version {version('bandstrap')}, " in text
    assert f"year = {{{YEAR}}}," in text
    assert "note = {Seed 7, 200 replications; computed with python" in text
    entry = text[text.index("@misc") :]
    assert entry.count("{") == entry.count("}")


def test_the_year_is_that_of_the_release():
    citation = (Path(__file__).parents[2] / "CITATION.cff").read_text(encoding="utf-8")
    assert f"date-released: {YEAR}-" in citation
    assert f"version: {version('bandstrap')}" in citation


COMMIT = "0123456789abcdef0123456789abcdef01234567"


@each(
    ("known", "named", "cited", "url"),
    [
        (None, [], "source digest", ""),
        (None, ["Changes, ftp://example.org", "Source, https://example.org/source"], "source digest", "source"),
        ({"url": "file:///home/me/b", "dir_info": {"editable": True}}, [], "source digest", ""),
        ({"url": "file:///home/me/b", "vcs_info": {"commit_id": COMMIT}}, [], f"commit {COMMIT}", ""),
        (
            {"url": "https://example.org/b", "vcs_info": {"commit_id": COMMIT}},
            ["S, https://x.org"],
            f"commit {COMMIT}",
            "b",
        ),
        ({"url": "https://example.org/b.whl", "archive_info": {}}, [], "source digest", ""),
    ],
)
def test_code_is_cited_by_its_commit_or_its_digest_and_never_by_a_folder(known, named, cited, url):
    found = origin(known and json.dumps(known), named)
    assert found["code"].startswith(cited)
    assert re.fullmatch(r"commit [0-9a-f]{40}|source digest [0-9a-f]{16}", found["code"])
    assert found["url"].strip() == (f"url          = {{https://example.org/{url}}}," if url else "")


# --- why claims are not reproduced --------------------------------------------------------------------------------------


def rows_of(path):
    text = path.read_text(encoding="utf-8")
    return dict(re.findall(r'<tr class="claim" id="([\w-]+)">(.*?)\n</tr>', text, flags=re.DOTALL))


def test_every_claim_that_is_not_reproduced_has_a_reason_and_a_link_to_its_erratum(tmp_path):
    whole = reproduction(tmp_path)
    findings = tuple((claim, dataclasses.replace(found, verdict=NOT_REPRODUCED)) for claim, found in whole.findings)
    write(dataclasses.replace(whole, findings=findings), tmp_path / "report.html")
    rows, reasons = rows_of(tmp_path / "report.html"), read_reasons()
    assert set(rows) == {claim.name for claim in CLAIMS}
    for name, row in rows.items():
        (why,) = re.findall(r'<p class="why soft">(.*?)</p>', row)
        links = re.findall(r'href="#(\w+)"', why)
        if name in reasons:
            assert links == list(reasons[name].errata)
            assert Reader(str(typeset(reasons[name].because))).text in Reader(why).text
        else:
            assert links == ["errata"]


def test_reasons_are_given_where_the_verdict_asks_for_one_and_are_known(page):
    reasons, known = read_reasons(), {item["id"] for item in errata()}
    assert set(reasons) <= {claim.name for claim in CLAIMS}
    assert all(set(reason.errata) <= known and reason.errata for reason in reasons.values())
    asked = {claim.name for claim, found in examine(agreeing()) if found.verdict == NOT_REPRODUCED}
    assert asked  # or the next line says nothing
    assert {name for name, row in rows_of(page).items() if 'class="why' in row} == asked
    assert asked <= set(reasons)


def test_numbers_have_the_columns_they_need_and_the_signs_of_print(tmp_path):
    whole = reproduction(tmp_path)
    numbers = {
        "naive-small": (ReportedNumber("alone", -0.5), ReportedNumber("tiny", 2.5e-19)),
        "sharper": (ReportedNumber("with error", 1.0, 0.25), ReportedNumber("without", 2.0)),
        "bounded": (ReportedNumber("published", 1.0, None, 3.0),),
    }
    findings = tuple(
        (claim, dataclasses.replace(found, numbers=numbers.get(claim.name, found.numbers)))
        for claim, found in whole.findings
    )
    write(dataclasses.replace(whole, findings=findings), tmp_path / "report.html")
    rows = rows_of(tmp_path / "report.html")
    heads = {name: re.findall(r'<th class="n">(.*?)</th>', rows[name]) for name in numbers}
    assert heads == {"naive-small": ["ours"], "sharper": ["ours", "± s.e."], "bounded": ["ours", "published"]}
    cells = {name: re.findall(r'<td class="n">(.*?)</td>', rows[name]) for name in numbers}
    assert cells["naive-small"] == ["−0.5", "2.5·10<sup>−19</sup>"]
    assert cells["sharper"] == ["1", "0.25", "2", "-"]
    assert cells["bounded"] == ["1", "3"]


def test_sentences_begin_with_a_capital_and_end(page):
    rows = rows_of(page)
    for name, row in rows.items():
        statistic = Reader(re.findall(r"</td>\n<td>(.*?)\n", row)[-1]).text
        assert not re.match(r"[a-z]{2}", statistic), name
        assert statistic.endswith("."), name
    captions = re.findall(r'<figcaption class="soft">(.*?)</figcaption>', page.read_text(encoding="utf-8"))
    assert all(caption[0].isupper() and ". The seed is 7. " in caption for caption in captions)


def test_settings_name_panels_as_pictures_and_numbers_do(page):
    text = page.read_text(encoding="utf-8")
    assert '<h3>(b) Gaussian, ten arms</h3>\n<p class="soft">Panel 6b: <code>gaussian:n_arms=10</code>' in text
    assert '<h3>(c) Bernoulli, two arms, as in figure\xa06 (a)</h3>\n<p class="soft">Panel C6a: ' in text


def test_claims_that_reasons_speak_of_are_linked():
    known = {"E5", "theorem-4"}
    assert str(linked(typeset("see claim theorem-4 and E5, not E6 or claim x"), known)) == (
        'see claim <a href="#theorem-4">theorem-4</a> and <a href="#E5">E5</a>, not E6 or claim x'
    )


def test_one_is_not_called_several(page, tmp_path):
    text = Reader(page.read_text(encoding="utf-8")).text
    assert "(1 note)" in text
    assert not re.search(r"\b1 (notes|numbers)\b", text)


def test_figures_are_announced_in_every_form_and_panels_by_their_letters(page):
    text = page.read_text(encoding="utf-8")
    assert "<code>figures/theorem3.svg</code> beside this page, and <code>.pdf</code> and <code>.png</code>" in text
    assert 'alt="Figure\xa06: linear regret without a correction, (b) Gaussian, ten arms"' in text


def test_every_sentence_is_there_with_its_claims(page):
    text = Reader(page.read_text(encoding="utf-8")).text
    for sentence in read_sentences():
        assert read_typeset(sentence.says) in text
        assert read_typeset(sentence.reason) in text


def test_pictures_lose_decimals_of_their_curves_and_nothing_else(tmp_path):
    glyph = '<path id="g" d="M 1 2.123456 L -3.5 1e-05 " transform="scale(0.015625)" stroke-width="0.123456"/>'
    (tmp_path / "a.svg").write_text(glyph)
    drawn = base64.b64decode(as_data(tmp_path / "a.svg").split(",")[1]).decode()
    assert drawn == glyph.replace("2.123456", "2.12")


def test_words_and_marks_stand_out_from_the_page_by_day_and_by_night(page):
    themes = [
        dict(re.findall(r"--(\w+): (#[0-9a-f]{3,6});", theme))
        for theme in re.findall(r":root \{([^}]*--ink[^}]*)\}", page.read_text(encoding="utf-8"))
    ]
    assert len(themes) == 2
    for theme in themes:
        for name in ("ink", "soft", "link", "good", "bad", "open"):
            for ground in ("paper", "tint"):
                assert contrast(theme[name], theme[ground]) >= 4.5, (name, ground)


def test_a_missing_value_stops_the_report_and_leaves_the_old_one(tmp_path):
    from jinja2 import UndefinedError

    (tmp_path / "report.html").write_text("old")
    with pytest.raises(UndefinedError):
        write(reproduction(tmp_path), tmp_path / "report.html", [{"id": "E1"}])
    assert (tmp_path / "report.html").read_text() == "old"


@each(
    ("value", "shown"),
    [
        (None, "-"),
        (float("nan"), "-"),
        (float("inf"), "-"),
        (0, "0"),
        (1.23456, "1.23"),
        (99.94, "99.9"),
        (1234.56, "1235"),
        (-250.4, "-250"),
        (0.000123, "0.000123"),
    ],
)
def test_numbers_are_short(value, shown):
    assert show_number(value) == shown


CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
MEASURE = """<script>
for (const one of document.querySelectorAll("details")) one.open = true;
const wide = [...document.querySelectorAll("body *")].filter(
  one => one.getBoundingClientRect().right > innerWidth + 1 && !one.parentElement.closest(".wide")).map(one => one.tagName);
const inner = document.querySelector("details td.n");
parent.postMessage(JSON.stringify({
  inner: innerWidth, scroll: document.documentElement.scrollWidth, wide: wide,
  cell: getComputedStyle(inner).display, head: getComputedStyle(inner.closest("table").tHead).display,
  columns: new Set([...document.querySelectorAll(".panels img")].map(
    one => Math.round(one.getBoundingClientRect().left))).size,
  images: [...document.images].map(one => one.complete && one.naturalWidth > 0)}), "*");
</script>"""
# In a frame, because a window of chromium's is at least 500 wide.
FRAME = """<script>onmessage = event => { document.title = event.data; }</script>
<iframe src="measured.html" style="border: 0; width: %dpx; height: 900px"></iframe>"""


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)")
@pytest.mark.parametrize("width", [390, 1280])
def test_in_a_browser_nothing_sticks_out_and_nothing_goes_wrong(page, tmp_path, width):
    measured = tmp_path / "measured.html"
    measured.write_text(page.read_text(encoding="utf-8").replace("</body>", f"{MEASURE}</body>"), encoding="utf-8")
    (tmp_path / "frame.html").write_text(FRAME % width)
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--enable-logging=stderr",
        f"--user-data-dir={tmp_path}/profile",
    ]
    command = [CHROMIUM, *options, "--window-size=1400,1000", "--virtual-time-budget=2000", "--dump-dom"]
    done = subprocess.run(
        [*command, (tmp_path / "frame.html").as_uri()], capture_output=True, text=True, timeout=300, check=True
    )
    found = json.loads(re.search(r"<title>(.*?)</title>", done.stdout, re.S)[1].replace("&quot;", '"'))
    assert found["inner"] == width
    assert found["scroll"] <= width
    assert found["wide"] == []
    assert (found["cell"], found["head"]) == ("table-cell", "table-header-group")  # numbers keep their heads on a phone
    assert found["columns"] == (1 if width < 500 else 2)  # one panel per row on a phone
    assert len(found["images"]) == N_PICTURES
    assert all(found["images"])
    assert "CONSOLE" not in done.stderr, done.stderr

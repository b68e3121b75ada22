"""The report: one HTML page with everything in it, for phones and desktops."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from importlib.metadata import distribution, version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bandstrap.basics.sources import code_here, versions
from bandstrap.experiments.toml import Strict, read_table
from bandstrap.pages import show_number, write_page
from bandstrap.paper.claims import (
    CLAIMS,
    ERROR_RATE,
    NOT_REPRODUCED,
    REPRODUCED,
    SECTIONS,
    Claim,
    Finding,
)
from bandstrap.paper.formulas import GREEK, in_symbols, typeset
from bandstrap.paper.sentences import Sentence

if TYPE_CHECKING:
    from markupsafe import Markup

    from bandstrap.paper.reproduce import Reproduction

NOT_CHECKED = "not checked"

PAPER_ENTRY = """\
@inproceedings{hao2019bootstrapping,
  title     = {Bootstrapping Upper Confidence Bound},
  author    = {Hao, Botao and Abbasi-Yadkori, Yasin and Wen, Zheng and Cheng, Guang},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {32},
  pages     = {12123--12133},
  year      = {2019},
  url       = {https://arxiv.org/abs/1906.05247}
}"""
REPORT_ENTRY = """\
@misc{{bandstrap-report,
  title        = {{Bootstrapping Upper Confidence Bound, reproduced}},
  author       = {{{{The authors of bandstrap}}}},
  year         = {{{year}}},
  howpublished = {{Report of \\texttt{{bandstrap paper}}, version {version}, {code}}},{url}
  note         = {{Seed {seed}, {replications} replications; computed with {libraries}}}
}}"""
# Of the release whose version the report names.
YEAR = 2026


class Reason(Strict):
    """Reason why claims are not reproduced, in a sentence, and the errata that say more."""

    claims: tuple[str, ...]
    errata: tuple[str, ...]
    because: str


class Reasons(Strict):
    """The file."""

    reasons: tuple[Reason, ...]


def read_reasons() -> dict[str, Reason]:
    """Reasons by the names of claims."""
    reasons = read_table(Path(str(files("bandstrap.paper") / "reasons.toml")), Reasons).reasons
    return {name: reason for reason in reasons for name in reason.claims}


def write_report(
    reproduction: Reproduction, errata: list[dict[str, str]], sentences: tuple[Sentence, ...], path: Path
) -> None:
    """Fill the template and write the page, whole or not at all."""
    from bandstrap.plots.panels import explanation, shown_panels

    findings = dict(reproduction.findings)
    verdicts = {claim.name: finding.verdict for claim, finding in reproduction.findings}
    known = [*findings, *reproduction.unchecked]
    package = distribution("bandstrap")
    write_page(
        path,
        "bandstrap.paper",
        "report.html.j2",
        filters={
            "slug": slug,
            "short": short_title,
            "explain": explanation,
            "letters": lambda panels: {shown.panel.drawn_on: shown.panel.title for shown in shown_panels(panels)},
            "shown": shown_panels,
            "typeset": typeset,
            "symbols": in_symbols,
            "linked": lambda text: linked(
                typeset(text), {item["id"] for item in errata} | {one.name for one in CLAIMS}
            ),
            "counted": counted_noun,
            "capital": capital,
            "sentence": lambda text: f"{capital(text).removesuffix('.')}.",
            "number": lambda value: typeset(show_number(value)),
        },
        reproduction=reproduction,
        reproduced=REPRODUCED,
        counts=shown_counts(reproduction),
        ours={claim.name for claim in CLAIMS if claim.ours},
        not_reproduced=NOT_REPRODUCED,
        parts=by_section(known, findings),
        verdicts={claim.name: NOT_CHECKED for claim in CLAIMS} | verdicts,
        resting=resting_on(reproduction),
        sentences=sentences,
        errata=errata,
        reasons=read_reasons(),
        error_rate=ERROR_RATE,
        paper_entry=PAPER_ENTRY,
        report_entry=REPORT_ENTRY.format(
            year=YEAR,
            version=version("bandstrap"),
            **origin(package.read_text("direct_url.json"), package.metadata.get_all("Project-URL") or []),
            seed=reproduction.seed,
            replications=reproduction.replications,
            libraries=versions(),
        ),
    )


def origin(direct_url: str | None, project_urls: Sequence[str]) -> dict[str, str]:
    """The code that made a report, and its address, as an entry cites them.

    What was installed from a repository knows its commit and address (PEP 610, ``direct_url.json``). Else a digest of the
    sources tells the code from others, and the address is the first that the package names ("Source, https://..."). A
    folder of some machine is no address.
    """
    known: dict[str, Any] = json.loads(direct_url or "{}")
    commit = known.get("vcs_info", {}).get("commit_id")
    named = [*([str(known.get("url", ""))] if commit else []), *(text.rpartition(", ")[2] for text in project_urls)]
    address = next((each for each in named if each.startswith("https://")), "")
    return {
        "code": f"commit {commit}" if commit else f"source digest {code_here().digest}",
        "url": f"\n  url          = {{{address}}}," if address else "",
    }


def linked(text: Markup, known: set[str]) -> Markup:
    """Typeset text whose numbers of errata and names of claims lead to them."""

    def link(found: re.Match[str]) -> str:
        return f'<a href="#{found[0]}">{found[0]}</a>' if found[0] in known else found[0]

    return type(text)(re.sub(r"\bE\d+\b|(?<=\bclaim )[a-z][a-z0-9-]*[a-z0-9]", link, str(text)))


def capital(text: str) -> str:
    """A text with a capital at its beginning, unless it begins with a symbol.

    >>> capital("gap: 1"), capital("a coin"), capital("n = 5"), capital("beta = 2")
    ('Gap: 1', 'A coin', 'n = 5', 'beta = 2')
    """
    word = rf"^(?!(?:{'|'.join(GREEK)})\b)([a-z])(?=[a-z]+[ ,:]| [a-z]{{2}})"
    return re.sub(word, lambda found: found[1].upper(), str(text))


def counted_noun(number: int, noun: str) -> str:
    """A number and what it counts.

    >>> counted_noun(1, "note"), counted_noun(0, "number")
    ('1 note', '0 numbers')
    """
    return f"{number} {noun}{'s' * (number != 1)}"


def slug(text: str) -> str:
    """A verdict as part of a name in HTML."""
    return text.replace(" ", "-")


def short_title(title: str) -> str:
    """A title up to its colon.

    >>> short_title("Figure 6: linear regret without a correction")
    'Figure 6'
    """
    return title.split(":")[0]


def shown_counts(reproduction: Reproduction) -> dict[str, dict[str, int]]:
    """Number of claims of the paper, and of ours, per verdict, unchecked ones included."""
    titles = {"paper": "Claims of the paper", "ours": "Claims of ours"}
    counts = {}
    for whose, found in reproduction.counts.items():
        unchecked = sum(claim.ours == (whose == "ours") for claim in reproduction.unchecked)
        counts[titles[whose]] = {name: n for name, n in (found | {NOT_CHECKED: unchecked}).items() if n}
    return counts


def by_section(claims: list[Claim], findings: dict[Claim, Finding]) -> dict[str, list[tuple[Claim, Finding | None]]]:
    """Claims with what was found, by part of the paper, in the paper's order; parts without claims are left out."""
    order = {claim.name: i for i, claim in enumerate(CLAIMS)}
    ordered = sorted(claims, key=lambda claim: order[claim.name])
    parts = {part: [(claim, findings.get(claim)) for claim in ordered if claim.section == part] for part in SECTIONS}
    return {part: members for part, members in parts.items() if members}


def resting_on(reproduction: Reproduction) -> dict[str, list[tuple[Claim, Finding]]]:
    """Claims that rest on the panels of each chapter."""
    return {
        chapter.name: [
            (claim, finding)
            for claim, finding in reproduction.findings
            if not {panel.panel.name for panel in chapter.panels}.isdisjoint(claim.panels)
        ]
        for chapter in reproduction.chapters
    }

"""The report: one HTML page with everything in it, for phones and desktops."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from bandstrap.pages import write_page
from bandstrap.paper.claims import (
    CLAIMS,
    ERROR_RATE,
    REPRODUCED,
    SECTIONS,
    Claim,
    Finding,
)
from bandstrap.paper.sentences import Sentence
from bandstrap.sources import versions

if TYPE_CHECKING:
    from bandstrap.paper.reproduce import Reproduction

NOT_CHECKED = "not checked"

PAPER_ENTRY = """\
@inproceedings{hao2019bootstrapping,
  title     = {Bootstrapping Upper Confidence Bound},
  author    = {Hao, Botao and Abbasi-Yadkori, Yasin and Wen, Zheng and Cheng, Guang},
  booktitle = {Advances in Neural Information Processing Systems},
  volume    = {32},
  pages     = {12123--12133},
  year      = {2019}
}"""
REPORT_ENTRY = """\
@misc{{bandstrap-report,
  title        = {{Bootstrapping Upper Confidence Bound, reproduced}},
  author       = {{{{The authors of bandstrap}}}},
  howpublished = {{Report of \\texttt{{bandstrap paper}}, version {version}}},
  note         = {{Seed {seed}, {replications} replications; computed with {libraries}}}
}}"""


def write_report(
    reproduction: Reproduction, errata: list[dict[str, str]], sentences: tuple[Sentence, ...], path: Path
) -> None:
    """Fill the template and write the page, whole or not at all."""
    from bandstrap.plots.panels import explanation

    findings = dict(reproduction.findings)
    verdicts = {claim.name: finding.verdict for claim, finding in reproduction.findings}
    known = [*findings, *reproduction.unchecked]
    write_page(
        path,
        "bandstrap.paper",
        "report.html.j2",
        filters={"slug": slug, "short": short_title, "explain": explanation},
        reproduction=reproduction,
        reproduced=REPRODUCED,
        counts=shown_counts(reproduction),
        ours={claim.name for claim in CLAIMS if claim.ours},
        parts=by_section(known, findings),
        verdicts={claim.name: NOT_CHECKED for claim in CLAIMS} | verdicts,
        resting=resting_on(reproduction),
        sentences=sentences,
        errata=errata,
        error_rate=ERROR_RATE,
        paper_entry=PAPER_ENTRY,
        report_entry=REPORT_ENTRY.format(
            version=version("bandstrap"),
            seed=reproduction.seed,
            replications=reproduction.replications,
            libraries=versions(),
        ),
    )


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
    """How many claims of the paper, and how many of ours, had which verdict, those that were not checked among them."""
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
    """For each chapter the claims that rest on its panels."""
    return {
        chapter.name: [
            (claim, finding)
            for claim, finding in reproduction.findings
            if not {panel.panel.name for panel in chapter.panels}.isdisjoint(claim.panels)
        ]
        for chapter in reproduction.chapters
    }

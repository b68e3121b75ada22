"""The report: one HTML page with everything in it, for phones and desktops."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bandstrap.pages import write_page
from bandstrap.paper.claims import ERROR_RATE, TOLERANCE

if TYPE_CHECKING:
    from bandstrap.paper.reproduce import Reproduction


def write_report(reproduction: Reproduction, errata: list[dict[str, str]], path: Path) -> None:
    """Fill the template and write the page, whole or not at all."""
    write_page(
        path,
        "bandstrap.paper",
        "report.html.j2",
        reproduction=reproduction,
        errata=errata,
        error_rate=ERROR_RATE,
        tolerance=TOLERANCE,
    )

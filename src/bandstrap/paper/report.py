"""The report: one HTML page with everything in it, for a phone and for a desk."""

from __future__ import annotations

import base64
import math
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bandstrap.paper.claims import ERROR_RATE, TOLERANCE
from bandstrap.storage import write_text

if TYPE_CHECKING:
    from bandstrap.paper.reproduce import Reproduction


def write_report(reproduction: Reproduction, errata: list[dict[str, str]], path: Path) -> None:
    """Fill the template and write the page, whole or not at all."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"number": show_number, "picture": as_data}
    template = environment.from_string((files("bandstrap.paper") / "report.html.j2").read_text(encoding="utf-8"))
    page = template.render(reproduction=reproduction, errata=errata, error_rate=ERROR_RATE, tolerance=TOLERANCE)
    write_text(path, page)


def show_number(value: Any) -> str:
    """Three significant digits, whole numbers from a hundred on; a dash for none."""
    if value is None or not math.isfinite(value):
        return "-"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def as_data(path: Path) -> str:
    """A picture as an address that holds it."""
    return "data:image/svg+xml;base64," + base64.b64encode(path.read_bytes()).decode()

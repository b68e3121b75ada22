"""A page with everything in it, for phones, desktops and paper."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

from bandstrap.basics.extras import need
from bandstrap.basics.storage import write_text
from bandstrap.basics.text import visible


def write_page(
    path: Path, package: str, template: str, *, filters: dict[str, Callable[..., Any]] | None = None, **content: object
) -> None:
    """Fill a package's template, and write the page, whole or not at all."""
    write_text(path, render_page(package, template, filters=filters, **content))


def render_page(
    package: str, template: str, *, filters: dict[str, Callable[..., Any]] | None = None, **content: object
) -> str:
    """Fill a package's template, which extends ``page.html.j2``.

    Where a page is served, ``script`` is the address of its script, and ``home`` that of the list it belongs to.
    """
    need("An HTML page", "jinja2")
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("bandstrap", "pages"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": show_number, "picture": as_data} | (filters or {})
    source = environment.from_string((files(package) / template).read_text(encoding="utf-8"))
    return source.render(content)


def shown(value: object) -> Any:
    """Value put into a template: text without control characters; what is HTML already stays as it is."""
    return visible(value, keep="\n\t") if isinstance(value, str) and not hasattr(value, "__html__") else value


def show_number(value: Any) -> str:
    """Three significant digits, whole numbers from a hundred on; a dash for none."""
    if value is None or not math.isfinite(value):
        return "-"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def as_data(path: Path) -> str:
    """An SVG in a file as a data URL."""
    return drawn_as_data(path.read_text("utf-8"))


def drawn_as_data(drawn: str) -> str:
    """An SVG as a data URL, its curves to a hundredth of a point, which takes a third less room."""
    short = re.sub(r'(?<= d=")[^"]*', lambda curve: re.sub(r"(\.\d\d)\d+", r"\1", curve[0]), drawn)
    return "data:image/svg+xml;base64," + base64.b64encode(short.encode()).decode()

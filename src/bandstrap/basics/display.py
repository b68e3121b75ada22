"""Results for people: a table with sentences around it, as aligned text and as HTML for notebooks."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bandstrap.basics.text import shortened, visible

# Significant digits of a number, unless its row has others.
DIGITS = 4
SHARE = re.compile(r"-?[\d.]+ %")
# Characters of a cell.
LONGEST_CELL = 1000


@dataclass(frozen=True)
class Display:
    """A table, and what is said around it.

    Attributes
    ----------
    above
        Sentences that hold for all rows.
    columns
        The cells of each column by its name: text, numbers, and ``None`` for what does not exist.
    below
        Sentences on single rows.
    warnings
        Sentences that are warned of.
    digits
        Significant digits of the floats of each row; four by default.
    """

    above: Sequence[str]
    columns: Mapping[str, Sequence[object]]
    below: Sequence[str] = ()
    warnings: Sequence[str] = ()
    digits: Sequence[int] | None = None

    @property
    def rows(self) -> list[tuple[object, ...]]:
        """The cells, row by row."""
        return list(zip(*self.columns.values(), strict=True))

    def formatted(self) -> Iterator[tuple[str, list[str], bool]]:
        """Name, texts and whether it holds numbers, of each column."""
        for name, cells in self.columns.items():
            digits = self.digits or [DIGITS] * len(cells)
            texts = [format_cell(cell, places) for cell, places in zip(cells, digits, strict=True)]
            yield visible(name), texts, is_numeric(cells)


def is_numeric(cells: Sequence[object]) -> bool:
    """Return whether cells are numbers or shares in per cent, but for some that do not exist."""
    return any(isinstance(cell, int | float) or SHARE.fullmatch(str(cell)) for cell in cells)


def format_cell(cell: object, digits: int = DIGITS) -> str:
    """So many significant digits for floats, ``-`` for what does not exist, other text fit to be shown.

    >>> format_cell(0.123456), format_cell(float("nan")), format_cell(123_456), format_cell("red")
    ('0.1235', '-', '123456', 'red')
    """
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "-"
    if isinstance(cell, float):
        return f"{cell:.{digits}g}"
    return shortened(visible(str(cell)), LONGEST_CELL)


def as_text(display: Display) -> str:
    r"""The table with its sentences; numbers stand flush right.

    >>> arms = {"arm": ["red", "green"], "rewards": [7, 12], "mean": [0.5, None]}
    >>> print(as_text(Display(["Two arms"], arms)))
    Two arms
    arm    rewards  mean
    red          7   0.5
    green       12     -
    """
    padded = []
    for name, texts, numeric in display.formatted():
        width = max(map(len, (name, *texts)))
        padded.append([text.rjust(width) if numeric else text.ljust(width) for text in (name, *texts)])
    table = ("  ".join(row).rstrip() for row in zip(*padded, strict=True))
    return "\n".join([*map(visible, display.above), *table, *map(visible, (*display.below, *display.warnings))])


def as_html(display: Display) -> str:
    """The same for a notebook, with everything escaped.

    >>> print(as_html(Display(["Two & more"], {"arm": ["<b>"], "mean": [0.5]})))
    <div>
    <p>Two &amp; more</p>
    <table>
    <thead><tr><th style="text-align: left">arm</th><th style="text-align: right">mean</th></tr></thead>
    <tbody>
    <tr><td style="text-align: left">&lt;b&gt;</td><td style="text-align: right">0.5</td></tr>
    </tbody>
    </table>
    </div>
    """
    columns = list(display.formatted())
    aligned = ["right" if numeric else "left" for _, _, numeric in columns]

    def row(tag: str, texts: Sequence[str]) -> str:
        cells = (
            f'<{tag} style="text-align: {side}">{html.escape(text)}</{tag}>'
            for side, text in zip(aligned, texts, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"

    def paragraphs(sentences: Sequence[str]) -> list[str]:
        return [f"<p>{html.escape(visible(sentence))}</p>" for sentence in sentences]

    head = row("th", [name for name, _, _ in columns])
    body = [row("td", texts) for texts in zip(*(texts for _, texts, _ in columns), strict=True)]
    table = ["<table>", f"<thead>{head}</thead>", "<tbody>", *body, "</tbody>", "</table>"] if columns else []
    around = paragraphs(display.above), paragraphs([*display.below, *display.warnings])
    return "\n".join(["<div>", *around[0], *table, *around[1], "</div>"])


class Displayed:
    """Object that prints as a table, also in a notebook."""

    def _display(self) -> Display:
        raise NotImplementedError

    def __str__(self) -> str:
        return as_text(self._display())

    def _repr_html_(self) -> str:
        return as_html(self._display())

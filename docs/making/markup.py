"""Text as Markdown shows it: as it is, or with its formulas set."""

import re

from bandstrap.paper.formulas import typeset


def plain(text):
    """Text that Markdown shows as it is."""
    for mark in "\\*_`[]<>$":
        text = text.replace(mark, "\\" + mark)
    return text


def with_formulas(text):
    """Text with symbols, subscripts and superscripts; what stands between backticks is code.

    >>> print(with_formulas("`quantile` q_alpha*2 is at most n^(1/4)"))
    `quantile` q<sub>α</sub>\\*2 is at most n<sup>1/4</sup>
    """
    return "`".join(part if i % 2 else formulas(part) for i, part in enumerate(text.split("`")))


def formulas(text):
    parts = re.split("(<[^>]+>)", str(typeset(text)).replace("&#39;", "'").replace("&#34;", '"'))
    return "".join(part if i % 2 else re.sub(r"([\\*_\[\]$])", r"\\\1", part) for i, part in enumerate(parts))

"""Text as Markdown shows it: as it is, or with its formulas set."""

import re

from bandstrap.paper.formulas import raised_and_lowered, typeset, with_symbols


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


def page_with_formulas(text):
    """A page in Markdown whose formulas are spelled with symbols, such as ``e^(−n/c) Σ_k G_k``, with these set.

    Indented lines are formulas of their own. Code, tables and what stands in curly brackets of directives stay as they are.
    """
    parts = re.split(r"(^```.*?^```$|^\|[^\n]*$|^#[^\n]*$|(?:^    [^\n]+\n)+)", text, flags=re.S | re.M)
    return "".join(set_part(part) for part in parts)


def set_part(part):
    if part.startswith("    "):
        lines = [symbols(escape(line).replace("_*", "<sub>*</sub>")) for line in part.strip("\n").splitlines()]
        return f'<p class="formula">{"<br>".join(line.strip() for line in lines)}</p>\n'
    if part.startswith(("```", "|", "#")):
        return part
    part = part.replace("_\\*", "<sub>\\*</sub>")
    pieces = re.split(r"(`[^`]*`|\]\([^)]*\))", part)
    return "".join(piece if i % 2 else symbols(piece) for i, piece in enumerate(pieces))


def symbols(text):
    return raised_and_lowered(with_symbols(text.replace("n_max", "n<sub>max</sub>")))


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

"""Text from outside, made fit to be shown: in a sentence, on a terminal, in a picture, on a page.

Names of columns, groups, labels and files may hold anything. A terminal obeys escape sequences, marks of direction turn
around what is read, and an SVG with a control character is none. What is written for machines (CSV, JSON, Parquet) keeps
the data.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

# Control characters, separators of lines and paragraphs, marks and overrides of direction, and what no encoding or no XML
# has: halves of surrogate pairs and noncharacters.
UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufdd0-\ufdef\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff]"
)
# Markup of docstrings: a role such as :math:`x` or :class:`~a.B`, and literal text.
ROLE = re.compile(r":(?P<role>[a-z]+):`~?(?P<content>[^`]*)`")
LITERAL = re.compile(r"``(.+?)``")
# A word of TeX's, such as a Greek letter.
TEX_WORD = re.compile(r"\\(?:var)?([A-Za-z]+) ?")
# What a sentence shows of one thing, and of a list.
ONE = 60
SEVERAL = 40


def visible(text: str, keep: str = "") -> str:
    r"""Text whose control characters are written out; those in ``keep``, and all other Unicode, stay.

    >>> visible("\x1b[31mrot\x1b[0m, ελληνικά")
    '\\x1b[31mrot\\x1b[0m, ελληνικά'
    """
    return UNSEEN.sub(lambda found: found[0] if found[0] in keep else escaped(found[0]), text)


def escaped(character: str) -> str:
    """A character as Python writes it."""
    return character.encode("unicode_escape").decode()


def shortened(text: str, most: int) -> str:
    """Text of at most this many characters: the middle of a longer one is left out.

    >>> shortened("abcdefghijklmnop", 11)
    'abcd...mnop'
    """
    if len(text) <= most:
        return text
    rest = most - len("...")
    return text[: rest - rest // 2] + "..." + text[len(text) - rest // 2 :]


def listed(names: Iterable[object], most: int = SEVERAL) -> str:
    """Names separated by commas, each shortened; for a longer list, the first names and the total number.

    >>> listed("abcdef", 2)
    'a, b, ... (6 in all)'
    """
    texts = [str(name) for name in names]
    some = ", ".join(shortened(text, ONE) for text in texts[:most])
    return some if len(texts) <= most else f"{some}, ... ({len(texts)} in all)"


def unmarked(text: str) -> str:
    r"""Text of a docstring as plain text.

    >>> unmarked(r"A moment of order :math:`1 + \varepsilon`; see :class:`~bandstrap.UCB1` and ``2 alpha``.")
    'A moment of order 1 + ε; see UCB1 and 2 alpha.'
    """

    def content(found: re.Match[str]) -> str:
        if found["role"] == "math":
            return TEX_WORD.sub(lambda word: letter(word[1]), found["content"])
        return found["content"].rpartition(".")[2]

    return LITERAL.sub(r"\1", ROLE.sub(content, text))


def letter(name: str) -> str:
    """A Greek letter by its name, else the name itself."""
    size = "CAPITAL" if name[0].isupper() else "SMALL"
    try:
        return unicodedata.lookup(f"GREEK {size} LETTER {name.upper()}")
    except KeyError:
        return name


def duration(seconds: float) -> str:
    """Time in the unit that suits it.

    >>> duration(0.2), duration(40), duration(400), duration(40_000)
    ('less than 1 s', '40 s', '7 min', '11 h')
    """
    if 0 < seconds < 1:
        return "less than 1 s"
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
